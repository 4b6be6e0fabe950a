"""Files as strangers send them: read by what the model knows, odd, packed, or hostile."""

import csv
import gzip
import io
import json
import os
import sqlite3
import stat
import sys
import threading
import zipfile

import numpy as np
import pandas as pd
import pytest

import sparseauc
from commands import run
from sparseauc.utils.files import write_atomically
from sparseauc_app import load_model, save_model

N = 120
RNG = np.random.default_rng(0)
Y = np.arange(N) % 3 == 0
X = np.round(RNG.normal(size=N) + 0.5 * Y, 3)


def fitted(folder, text, *arguments, name="table.csv"):
    table, model = folder / name, folder / "model.json"
    table.write_text(text)
    result = run("fit", table, "-t", "y", "--alpha", 1, "--quick", "--out", model, "--force",
                 *arguments)  # fmt: skip
    assert result.exit_code == 0, result.output
    return model


def predicted(folder, model, text, *arguments):
    new = folder / "new.csv"
    new.write_text(text)
    result = run("predict", model, new, *arguments)
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def lines(head, *columns, delimiter=","):
    rows = [delimiter.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([head, *rows, ""])


# ------------------------------------------------------------------------ read as in
# training


@pytest.mark.parametrize(
    "levels",
    [
        ("true", "false", "unknown"),
        ("01", "02", "other"),
        ("1.0", "2.0", "other"),
        ("1e3", "1e4", "none"),
        ("2020-01-01 10:00", "2020-01-02 10:00", "later"),
    ],
)
def test_rows_are_scored_alike_alone_and_among_others(tmp_path, levels):
    texts = np.where(Y ^ (RNG.random(N) < 0.2), *levels[:2]).astype(object)
    texts[::10] = levels[2]
    text = lines("kind,x,y", texts, X, Y.astype(int))
    model = fitted(tmp_path, text, "-k", 2)
    together = [float(row["score"]) for row in predicted(tmp_path, model, text)]
    head, *rows = text.splitlines()
    # One file without the third level, and files of one row each.
    known = [i for i in range(N) if i % 10]
    without = predicted(tmp_path, model, "\n".join([head, *(rows[i] for i in known)]))
    assert [float(row["score"]) for row in without] == [together[i] for i in known]
    for i in range(3):
        (alone,) = predicted(tmp_path, model, f"{head}\n{rows[i]}\n")
        assert float(alone["score"]) == together[i]


def european(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def test_points_between_thousands_stay_such(tmp_path):
    amounts = np.round(3000 + 900 * X, 2)
    text = lines(
        "a;b;y", map(european, amounts), map(european, X), Y.astype(int), delimiter=";"
    )
    model = fitted(tmp_path, text, "-k", 2)
    whole = predicted(tmp_path, model, "a;b\n3.863;0,5\n3.863,00;0,5\n3863;0,5\n")
    assert len({row["score"] for row in whole}) == 1
    new = tmp_path / "bad.csv"
    new.write_text("a;b\n3.863,00;0,5\n3.86;0,5\n")
    result = run("predict", model, new)
    assert result.exit_code == 3
    assert "'a' must hold numbers, but is '3.86' in row 2" in result.stderr
    assert "decimal comma" in result.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "flag,x\ntrue,1\nmaybe,2\n",
            "'flag' must hold true or false, but is 'maybe' in row 2",
        ),
        ('flag,x\ntrue,"1,5"\n', "'x' must hold numbers, but is '1,5' in row 1"),
        (
            "flag,x\ntrue,2020-01-01\n",
            "'x' must hold numbers, but is '2020-01-01' in row 1",
        ),
        ("flag,x\ntrue,inf\n", "'x' must hold numbers, but is 'inf' in row 1"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, text, says):
    flags = np.where(Y ^ (RNG.random(N) < 0.2), "true", "false")
    model = fitted(tmp_path, lines("flag,x,y", flags, X, Y.astype(int)), "-k", 2)
    assert len(predicted(tmp_path, model, "flag,x\nTrue,1\n1,1e0\nFALSE,+2\n")) == 3
    (tmp_path / "new.csv").write_text(text)
    result = run("predict", model, tmp_path / "new.csv")
    assert result.exit_code == 3
    assert says in result.stderr


def test_ids_are_text(tmp_path):
    ids = [f"{i:05d}" for i in range(N)]
    model = fitted(
        tmp_path, lines("id,x,y", ids, X, Y.astype(int)), "--ids", "id", "-k", 1
    )
    strange = ["00002", "true", "1E3", "2020-01-03T10:00:00", "123456789012345678901",
               "123456789012345678902", "1.50"]  # fmt: skip
    new = lines("id,x", strange, X[: len(strange)])
    assert [row["id"] for row in predicted(tmp_path, model, new)] == strange


def test_texts_that_training_had_not(tmp_path):
    kinds = np.where(Y ^ (RNG.random(N) < 0.2), "a", "b")
    model = fitted(tmp_path, lines("kind,x,y", kinds, X, Y.astype(int)), "-k", 2)
    (tmp_path / "new.csv").write_text("kind,x\na,1\nc,1\n")
    kept = run("predict", model, tmp_path / "new.csv")
    assert "1 of 2 rows, the first is row 2, have no score" in kept.stderr
    assert (
        "'kind' has levels not seen in training in 1 of 2 rows, first 'c'"
        in kept.stderr
    )
    assert kept.stdout.splitlines()[2] == "2,,,"


def test_what_was_filled_in_is_said(tmp_path):
    gaps = [None if i % 7 == 0 else value for i, value in enumerate(X)]
    text = pd.DataFrame({"x": gaps, "z": X[::-1], "y": Y.astype(int)}).to_csv(
        index=False
    )
    model = fitted(tmp_path, text, "--missing", "median", "-k", 2)
    (tmp_path / "new.csv").write_text("x,z\n,1\n0.5,\n")
    result = run("predict", model, tmp_path / "new.csv")
    assert "Note: 'x' is missing in 1 of 2 rows: imputed by" in result.stderr
    (tmp_path / "new.csv").write_text("x,z\n,1\n,1e6\n")
    warned = run("predict", model, tmp_path / "new.csv").stderr
    assert "Warning: 'x' is missing in 2 of 2 rows" in warned
    assert "Warning: 'z' is outside its training range" in warned


def test_python_scores_as_the_command_by_name(tmp_path):
    kinds = np.where(Y ^ (RNG.random(N) < 0.2), "a", "b")
    frame = pd.DataFrame(
        {"x": X, "kind": kinds, "z": X[::-1], "y": np.where(Y, "ill", "well")}
    )
    frame.loc[3, "x"] = np.nan
    text = frame.to_csv(index=False)
    model = fitted(tmp_path, text, "--positive", "ill", "--missing", "median", "-k", 3)
    rows = predicted(tmp_path, model, text)
    loaded = load_model(model)
    assert loaded.classes_.tolist() == ["well", "ill"]
    backwards = frame[frame.columns[::-1]]
    for table in (frame, backwards, pd.DataFrame(backwards).convert_dtypes()):
        scores = loaded.decision_function(table)
        np.testing.assert_allclose(
            scores, [float(row["score"]) for row in rows], rtol=1e-12
        )
        above = loaded.predict_proba(table)[:, 1] > Y.mean()
        assert np.where(above, "ill", "well").tolist() == [row["label"] for row in rows]
    polars = pytest.importorskip("polars")
    np.testing.assert_allclose(
        loaded.decision_function(polars.from_pandas(backwards)), scores, rtol=1e-12
    )
    with pytest.raises(ValueError, match=r"no column 'x'; did you mean 'xx'\?"):
        loaded.decision_function(frame.rename(columns={"x": "xx"}))


# -------------------------------------------------------------------------------- any
# table


MESSY = pd.DataFrame(
    {
        "patient": [f"P{i // 2}" for i in range(N)],
        "seen": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        "sex": np.where(RNG.random(N) < 0.5, "f", "m"),
        "ferritin": [">2000" if i % 30 == 0 else f"{100 + i}" for i in range(N)],
        "x": [None if i % 11 == 0 else value for i, value in enumerate(X)],
        "stage": np.where(Y, "III", np.where(np.arange(N) % 2, "I", "II")),
    }
)


def test_all_problems_at_once_with_the_command(tmp_path, monkeypatch):
    table = tmp_path / "messy.csv"
    MESSY.to_csv(table, index=False)
    arguments = ["fit", str(table), "-t", "stage", "--quick"]
    monkeypatch.setattr(sys, "argv", ["sparseauc", *arguments])
    result = run(*arguments)
    assert result.exit_code == 3
    for part in ("3 problems", "3 classes", "missing values in",
                 "'ferritin': 116 of 120 values are numbers, 4 are like '>2000'"):  # fmt: skip
        assert part in result.stderr
    command = result.stderr.splitlines()[-1]
    assert command == (
        f"Try: sparseauc fit {table} -t stage --quick --positive III --negative I "
        "--numeric ferritin --missing median"
    )
    again = run(*command.split()[2:], "--json")
    assert again.exit_code == 0, again.output
    content = json.loads(again.stdout)
    assert content["left_out"].keys() == {"patient", "seen"}
    assert content["left_out"]["seen"] == "a date"
    assert any("--groups 'patient'" in warning for warning in content["warnings"])


@pytest.mark.parametrize("comma", [False, True])
def test_limits_among_numbers(tmp_path, comma):
    values = np.round(1000 + 700 * X, 1)
    texts = [
        ">2000" if value > 2000 else ("< 5" if value < 5 else str(value))
        for value in values
    ]
    texts[7] = "clotted"
    if comma:
        texts = [text.replace(".", ",") for text in texts]
    delimiter = ";" if comma else ","
    table = lines(f"lab{delimiter}y", texts, Y.astype(int), delimiter=delimiter)
    model = fitted(tmp_path, table, "--numeric", "lab", "--missing", "median", "-k", 1)
    entries = [">2000", "2000", "≥ 2000", "<5", "5", "", "clotted"]
    new = (
        "\n".join([f"lab{delimiter}z", *(f"{entry}{delimiter}0" for entry in entries)])
        + "\n"
    )
    scores = [float(row["score"]) for row in predicted(tmp_path, model, new)]
    assert scores[0] == scores[1] == scores[2]
    assert scores[3] == scores[4] != scores[0]
    assert scores[5] == scores[6]
    loaded = load_model(model)
    frame = pd.DataFrame({"lab": [entry or None for entry in entries]})
    np.testing.assert_allclose(loaded.decision_function(frame), scores, rtol=1e-12)
    sql = run("export", model, "sql").stdout
    with sqlite3.connect(":memory:") as connection:
        frame[:6].to_sql("my_table", connection, index=False)
        found = pd.read_sql(sql, connection)["sparseauc_score"]
    np.testing.assert_allclose(found, scores[:6], rtol=1e-12)
    (tmp_path / "bad.csv").write_text(f"lab{delimiter}z\n120/80{delimiter}0\n")
    result = run("predict", model, tmp_path / "bad.csv")
    assert "'lab' must hold numbers, but is '120/80' in row 1" in result.stderr


def test_gaps_that_tell_the_outcome(tmp_path):
    cause = np.where(Y, RNG.normal(size=N).round(2).astype(str), "")
    result_text = lines("cause,x,y", cause, X, Y.astype(int))
    (tmp_path / "t.csv").write_text(result_text)
    result = run("fit", tmp_path / "t.csv", "-t", "y", "--missing", "median", "--quick")
    assert "issing values predict the outcome in 'cause' (AUC 1.00)" in result.stderr


def test_max_levels(tmp_path):
    words = [f"w{i % 30}" for i in range(N)]
    (tmp_path / "t.csv").write_text(lines("word,x,y", words, X, Y.astype(int)))
    arguments = (
        "fit",
        tmp_path / "t.csv",
        "-t",
        "y",
        "--quick",
        "-k",
        2,
        "--alpha",
        1,
        "--json",
    )
    few = json.loads(run(*arguments, "--text", "auto").stdout)
    assert few["left_out"] == {"word": "text with 30 levels"}
    many = json.loads(run(*arguments, "--text", "auto:30").stdout)
    assert (few["columns_tried"], many["columns_tried"]) == (1, 2)
    assert "word" in {one["column"] for one in many["chosen"]}


@pytest.mark.parametrize("kind", ["stdin", "zip", "comments", "header", "xlsx"])
def test_other_ways_in(tmp_path, kind):
    text = lines("x,y", X, Y.astype(int))
    plain = tmp_path / "t.csv"
    plain.write_text(text)
    arguments = ("-t", "y", "--quick", "-k", 1, "--alpha", 1, "--json")
    expected = json.loads(run("fit", plain, *arguments).stdout)["chosen"]
    if kind == "stdin":
        result = run("fit", "-", *arguments, input=text)
    elif kind == "zip":
        with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
            archive.writestr("t.csv", text)
            archive.writestr("__MACOSX/._t.csv", "x")
        result = run("fit", tmp_path / "t.csv.zip", *arguments)
    elif kind == "xlsx":
        pytest.importorskip("openpyxl")
        pd.read_csv(plain).to_excel(tmp_path / "t.xlsx", index=False)
        result = run("fit", tmp_path / "t.xlsx", *arguments)
    else:
        head = "# exported by X\n# 3, 4\n" if kind == "comments" else "# one\n#"
        plain.write_text(head + text)
        result = run("fit", plain, *arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["chosen"]
    assert [row["coefficient"] for row in found] == [
        row["coefficient"] for row in expected
    ]


def test_errors_do_not_print_rows(tmp_path):
    (tmp_path / "t.csv").write_text("name,x,y\nJane Doe,1,0\nJohn Doe,secret,2,1\n")
    result = run("fit", tmp_path / "t.csv", "-t", "y")
    assert result.exit_code == 3
    assert "line 3 has 4 fields where the header has 3" in result.stderr
    assert "Doe" not in result.stderr


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("fit", "--report", "r.pdf"),
        ("predict", "--out", "s.json"),
    ],
)
def test_suffixes_that_are_not_written(tmp_path, command, option, name):
    text = lines("x,y", X, Y.astype(int))
    model = fitted(tmp_path, text, "-k", 1)
    first = (model,) if command == "predict" else ()
    result = run(command, *first, tmp_path / "table.csv", option, tmp_path / name,
                 *(() if command == "predict" else ("-t", "y")))  # fmt: skip
    assert result.exit_code == 2
    assert not (tmp_path / name).exists()


# ----------------------------------------------------------------------------- security


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    evil = "a\x1b]0;owned\x07\x1b[2J"
    frame = pd.DataFrame({evil: X, "y": np.where(Y, "1\x1b[2J", "0\u202e")})
    model = fitted(tmp_path, frame.to_csv(index=False), "-k", 1)
    for result in (run("show", model), run("predict", model, tmp_path / "table.csv", "--out",
                                           tmp_path / "s.csv")):  # fmt: skip
        assert result.exit_code == 0
        assert not {"\x1b", "\x07", "\u202e"} & {*(result.stdout + result.stderr)}
    assert "\\x1b]0;owned\\x07" in run("show", model).stdout


def test_formulas_are_not_computed_by_spreadsheets(tmp_path):
    ids = ["=HYPERLINK(1)", "+49", "-5", "-x", "@a", "plain"]
    table = lines("id,x,y", range(N), X, np.where(Y, "=1+1", "b"))
    model = fitted(tmp_path, table, "--ids", "id", "-k", 1)
    rows = predicted(tmp_path, model, lines("id,x", ids, [9] * 6))
    assert [row["id"] for row in rows] == [
        "'=HYPERLINK(1)",
        "+49",
        "-5",
        "'-x",
        "'@a",
        "plain",
    ]
    assert {row["label"] for row in rows} <= {"'=1+1", "b"}


def test_only_plain_files_are_replaced(tmp_path):
    text = lines("x,y", X, Y.astype(int))
    model = fitted(tmp_path, text, "-k", 1)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    result = run("predict", model, tmp_path / "table.csv", "--out", pipe, "--force")
    assert result.exit_code == 5
    assert "not a plain file" in result.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(FileExistsError, match="not a plain file"):
        write_atomically(pipe, b"x")


def test_links_are_not_written_through(tmp_path):
    victim, link = tmp_path / "victim", tmp_path / "link.txt"
    victim.write_text("precious")
    link.symlink_to(victim)
    write_atomically(link, b"new")
    assert victim.read_text() == "precious"
    assert (link.read_text(), link.is_symlink()) == ("new", False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "victim"]


def test_threads_that_save_to_one_path(tmp_path):
    model = sparseauc.SparseAUCClassifier(k=1).fit(X[:, None], Y)
    path, errors = tmp_path / "m.json", []

    def save():
        try:
            for _ in range(5):
                save_model(path, model)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert load_model(path).positive == "True"
    assert [one.name for one in tmp_path.iterdir()] == ["m.json"]


def test_archives_that_would_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("sparseauc_app.reading.source.MOST_BYTES", 1 << 20)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"0,1\n" * 1_000_000))
    result = run("fit", tmp_path / "t.csv.gz", "-t", "y")
    assert result.exit_code == 3
    assert "holds more than 0.000977 GiB of text: save it as Parquet" in result.stderr
    if os.path.exists("/dev/zero"):  # noqa: PTH110
        assert run("fit", "/dev/zero", "-t", "y").exit_code == 3


# ------------------------------------------------------------------------------- odd
# places


def test_links_in_a_circle_and_names_too_long(tmp_path):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    model = fitted(tmp_path, lines("x,y", X, Y.astype(int)), "-k", 1)
    long = tmp_path / ("n" * 300 + ".csv")
    table = tmp_path / "table.csv"
    for arguments, code in (
        (("fit", loop, "-t", "y", "--out", tmp_path / "new.json"), (3, 5)),
        (("fit", long, "-t", "y", "--out", tmp_path / "new.json"), (3, 5)),
        (("predict", model, loop), (3,)),
        (("predict", model, long), (3,)),
        (("predict", loop, table), (4,)),
        (("show", long), (4,)),
        (("predict", model, table, "--out", loop), (5,)),
        (("predict", model, table, "--out", long), (5,)),
    ):
        result = run(*arguments)
        assert isinstance(result.exception, SystemExit), (arguments, result.exception)
        assert result.exit_code in code, (arguments, result.output)
        assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
def test_a_folder_that_may_not_be_entered(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    text = lines("x,y", X, Y.astype(int))
    model = fitted(
        folder, text, "-k", 1
    )  # and all is imported that another user may not read
    table = tmp_path / "t.csv"
    table.write_text(text)
    folder.chmod(0o600)
    before = os.geteuid()
    results = []
    try:
        if before == 0:
            os.seteuid(65534)
        for arguments in (
            ("fit", folder / "table.csv", "-t", "y"),
            ("fit", table, "-t", "y", "--quick", "--out", folder / "new.json"),
            ("predict", model, table),
        ):
            results.append(run(*arguments))
    finally:
        os.seteuid(before)
        folder.chmod(0o700)
    for result, codes in zip(results, ((3,), (3, 5), (4,)), strict=True):
        assert isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code in codes, result.output


def test_models_that_cannot_be_exported(tmp_path):
    frame = pd.DataFrame({"": X}).to_numpy()
    nameless = sparseauc.SparseAUCClassifier(k=1).fit(frame, Y)
    save_model(tmp_path / "z.json", nameless, names=["a\0b"])
    result = run("export", tmp_path / "z.json", "sql")
    assert (result.exit_code, "zero character" in result.stderr) == (4, True)
    with pytest.raises(ValueError, match="not valid Unicode"):
        save_model(tmp_path / "s.json", nameless, names=["a\ud800"])
