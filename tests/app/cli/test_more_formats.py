"""Sheets, Stata files, hidden members of archives, outcomes that are not named, exact numbers."""

import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import run_to_end as run
from sparseauc_app.reading import read_source

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {"a": (RNG.normal(size=N) + Y).round(3), "b": RNG.normal(size=N), "dead": Y}
)
HOW = ["-t", "dead", "-k", 2, "--alpha", 1, "--quick"]


def chosen(result):
    content = json.loads(result.stdout)
    return {row["column"]: row["coefficient"] for row in content["chosen"]}


@pytest.fixture
def expected(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    return chosen(run("fit", tmp_path / "t.csv", *HOW, "--json"))


def test_a_sheet_of_several(tmp_path, expected, monkeypatch):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        FRAME.iloc[:3].to_excel(book, sheet_name="Notes", index=False)
        FRAME.to_excel(book, sheet_name="Data", index=False)
    arguments = ["fit", str(tmp_path / "t.xlsx"), *map(str, HOW)]
    monkeypatch.setattr(sys, "argv", ["sparseauc", *arguments])
    said = run(*arguments, code=3).stderr
    assert "has 2 sheets, 'Notes', 'Data'" in said
    assert said.splitlines()[-1].endswith("--format sheet=Data")
    assert chosen(run(*arguments, "--format", "sheet=Data", "--json")) == pytest.approx(
        expected
    )
    assert "no sheet 'data'; there are 'Notes', 'Data'" in run(
        *arguments, "--format", "sheet=data", code=3
    ).stderr  # fmt: skip


def test_stata(tmp_path, expected):
    FRAME.to_stata(tmp_path / "t.dta", write_index=False)
    found = run("fit", tmp_path / "t.dta", *HOW, "--json")
    assert chosen(found) == pytest.approx(expected)
    labelled = FRAME.assign(dead=pd.Categorical(np.where(Y, "dead", "alive")))
    labelled.to_stata(tmp_path / "l.dta", write_index=False)
    found = run("fit", tmp_path / "l.dta", *HOW, "--json")
    assert json.loads(found.stdout)["positive"] == "dead"
    assert chosen(found) == pytest.approx(expected)


def test_hidden_members_of_an_archive_and_headers_with_a_mark(tmp_path):
    text = "#a;b;y\n0,5;1,25;0\n1,5;2,5;1\n"
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t/t.csv", text)
        archive.writestr("t/.DS_Store", b"\0\0")
        archive.writestr("__MACOSX/t/._t.csv", b"\0")
    frame = read_source(tmp_path / "t.zip").frame
    assert frame.column_names == ["#a", "b", "y"]
    assert frame.column("b").to_pylist() == [1.25, 2.5]


def test_outcomes_that_are_not_named_are_listed(tmp_path, monkeypatch):
    FRAME.assign(sex=RNG.integers(0, 2, N)).to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", str(tmp_path / "t.csv"), "--quick", "-k", "1"]
    monkeypatch.setattr(sys, "argv", ["sparseauc", *arguments])
    said = run(*arguments, code=3).stderr
    assert "perhaps 'dead' (2 values), 'sex' (2 values)" in said
    run(*said.splitlines()[-1].split()[2:])


def test_predictions_as_a_workbook(tmp_path, expected):
    named = FRAME.assign(id=[f"=p{i}" for i in range(N)])
    named.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.json"
    run("fit", tmp_path / "t.csv", *HOW[:-1], "--ids", "id", "--out", model)
    found = pd.read_csv(io.StringIO(run("predict", model, tmp_path / "t.csv").stdout))
    assert len(found) == N
    assert set(found["label"]) == {0, 1}
    run("predict", model, tmp_path / "t.csv", "--out", tmp_path / "s.xlsx")
    sheet = pd.read_excel(tmp_path / "s.xlsx")
    assert sheet["id"].tolist()[:2] == ["'=p0", "'=p1"]
    np.testing.assert_allclose(sheet["score"], found["score"])


@pytest.mark.parametrize(
    "big",
    [pa.array([2**60 + i for i in range(N)], pa.int64()),
     pa.array([2**63 + 5 * i for i in range(N)], pa.uint64())],
)  # fmt: skip
def test_whole_numbers_beyond_double_precision_are_refused_by_name(tmp_path, big):
    table = pa.table({**{name: FRAME[name].to_numpy() for name in FRAME}, "big": big})
    pq.write_table(table, tmp_path / "t.parquet")
    said = run("fit", tmp_path / "t.parquet", *HOW, code=3).stderr
    assert "'big': numbers beyond 2^53" in said
    assert "--exclude big" in said.splitlines()[-1]
    small = table.set_column(3, "big", pa.array(RNG.permutation(N) + 2**50))
    pq.write_table(small, tmp_path / "t.parquet")
    run("fit", tmp_path / "t.parquet", *HOW)
