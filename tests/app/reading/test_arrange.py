"""Tables that are arranged before they are read: codes, titles, genes in rows, labels apart."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from commands import run_to_end as run
from sparseauc_app import load_model
from sparseauc_app.reading import DataError, Source, read_source
from sparseauc_app.reading.arrange import empty_codes, join_labels, turn

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 2
SAMPLES = [f"S{i}" for i in range(N)]
GENES = pd.DataFrame(
    RNG.normal(size=(N, 9)) + np.outer(Y, np.eye(9)[3]), SAMPLES, list("abcdefghi")
)
LABELS = pd.DataFrame(
    {"sample": SAMPLES, "state": np.where(Y, "mutant", "wild"), "age": 50 + Y}
)


def read(folder, name, frame, **how):
    frame.to_csv(folder / name, **how)
    return read_source(folder / name)


def test_codes_are_empty_fields(tmp_path):
    (tmp_path / "t.csv").write_text(
        "who,a,b,c,y\n-9,-9,x,1.5,1\n8,2.5,-9,99,0\n7,99.0,y,-99,1\n"
    )
    found = empty_codes(read_source(tmp_path / "t.csv"), ["-9", "99"], "who")
    assert found.frame.to_pydict() == {
        "who": [-9, 8, 7], "a": [None, 2.5, None], "b": ["x", None, "y"], "c": [1.5, None, -99.0],
        "y": [1, 0, 1],
    }  # fmt: skip
    assert found.notes[-1] == "-9, 99 read as empty in 'a' (2), 'b' (1), 'c' (1)"


def test_a_model_knows_its_codes(tmp_path):
    """Codes in training, and in new rows without the option, are as good as empty fields."""
    frame = GENES.assign(
        y=Y, d=np.where(np.arange(N) % 3 == 0, np.nan, GENES["d"].round(3))
    )
    for name, code in (("empty", ""), ("coded", "-9")):
        frame.to_csv(tmp_path / f"{name}.csv", index=False, na_rep=code)
    plain = ["--target", "y", "-k", 2, "--alpha", 1, "--quick", "--missing", "median"]
    run("fit", tmp_path / "empty.csv", *plain, "-o", tmp_path / "empty.json")
    out = tmp_path / "coded.json"
    run("fit", tmp_path / "coded.csv", *plain, "-o", out, "--missing-codes", "-9")
    assert load_model(out).summary["missing_codes"] == ["-9"]
    scores = [
        run("predict", tmp_path / f"{name}.json", tmp_path / f"{name}.csv").stdout
        for name in ("empty", "coded")
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("named", ["gene", ""])
def test_genes_in_rows_with_labels_apart(tmp_path, named):
    genes = read(tmp_path, "g.tsv", GENES.T, sep="\t", index_label=named or None)
    labels = read(
        tmp_path, "l.csv", LABELS[5:].sample(frac=1, random_state=0), index=False
    )
    found = join_labels(genes, labels).frame.to_pandas()
    np.testing.assert_array_equal(found[[*GENES]], GENES[5:])
    assert found["state"].tolist() == LABELS["state"][5:].tolist()


def test_labels_are_joined_by_name(tmp_path):
    table = read(tmp_path, "t.csv", GENES, index_label="who")
    labels = read(tmp_path, "l.csv", LABELS[::-1][3:], index=False)
    found = join_labels(table, labels)
    wanted = [*LABELS["age"][:-3], *[None] * 3]
    assert found.frame.column("age").to_pylist() == wanted
    assert "3 rows of t.csv are not in l.csv" in found.notes
    with pytest.raises(DataError, match="both have a column 'a': rename one"):
        join_labels(table, read(tmp_path, "l.csv", LABELS.assign(a=1), index=False))
    with pytest.raises(
        DataError, match=r"no column of l.csv has the names of rows or columns of t"
    ):
        join_labels(
            table, read(tmp_path, "l.csv", LABELS.assign(sample=range(N)), index=False)
        )


def test_a_table_that_is_as_the_model_wants_it_stays():
    table = Source("t", pa.table({"name": ["a", "b"], "a": [1, 2], "b": [3, 4]}))
    assert turn(table, {"a", "b"}) is table
    assert turn(table, {"c", "d"}) is table


def test_genes_in_rows_from_fit_to_predict(tmp_path):
    GENES.T.to_csv(tmp_path / "genes.csv", index_label="gene")
    LABELS.drop(columns="age").to_csv(tmp_path / "labels.csv", index=False)
    few = ["-k", 1, "--alpha", 1, "--quick", "-o", tmp_path / "m.json"]
    run(
        "fit",
        tmp_path / "genes.csv",
        "--labels",
        tmp_path / "labels.csv",
        "-t",
        "state",
        *few,
    )
    card = load_model(tmp_path / "m.json")
    printed = run("predict", tmp_path / "m.json", tmp_path / "genes.csv").stdout
    found = pd.read_csv(io.StringIO(printed))
    assert found["row"].tolist() == SAMPLES
    np.testing.assert_allclose(found["score"], card.decision_function(GENES))


TITLES = {
    "plain": "Penguins\n{}",
    "with a comma and a date": "Penguins of Palmer, 2007-2009\nexported 1 May\n\n{}",
    "as spreadsheets write it": "Penguins,,,,\n,,,,\n{}",
    "quoted": '"Penguins\n(three lines,\nin all)"\n{}',
}
ROWS = "species,mass,bill,depth,sex\nA,1,2.5,3,m\nB,4,5.5,6,f\nA,7,8.5,9,m\n"


@pytest.mark.parametrize("name", TITLES)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_rows_above_the_header(tmp_path, name, delimiter):
    text = (
        TITLES[name].replace(",,,,", delimiter * 4).format(ROWS.replace(",", delimiter))
    )
    (tmp_path / "plain.csv").write_text(ROWS)
    (tmp_path / "t.csv").write_text(text)
    found = read_source(tmp_path / "t.csv")
    assert found.frame.equals(read_source(tmp_path / "plain.csv").frame)
    assert any("above the header left out" in note for note in found.notes)


def test_rows_above_the_header_of_a_spreadsheet(tmp_path):
    rows = [
        ["Penguins"] + 4 * [None],
        5 * [None],
        *[line.split(",") for line in ROWS.splitlines()],
    ]
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", header=False, index=False)
    found = read_source(tmp_path / "t.xlsx")
    assert found.frame.column_names == ["species", "mass", "bill", "depth", "sex"]
    assert found.n_rows == 3
    assert found.notes == ("2 rows above the header left out, such as a title",)


@pytest.mark.parametrize(
    "text", ["a,b,c\n1,,\n2,,\n3,,4\n", "x\n1,2,3\n4,5,6\n", "a,,,\n1,2,3,4\n5,6,7,8\n"]
)
def test_headers_are_no_titles(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    try:
        found = read_source(tmp_path / "t.csv")
    except DataError:
        return
    assert not any("above the header" in note for note in found.notes)
