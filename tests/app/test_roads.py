"""A model means the same by every road: command, Python, JSON card, SQL, page, workbook, R.

Tables are generated with what is read differently elsewhere: texts that look like
booleans, numbers or dates, booleans, missing values, decimal commas, points between
thousands, limits such as >30, wrong values, ids that are digits, labels that are
numbers, dates that are no features. New rows hold some of it only, so that nothing can
be found out from them. Every option of ``fit`` that changes the model is drawn at
random; ``SPARSEAUC_EXAMPLES`` sets the number of tables.
"""

import csv
import inspect
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from calculator import computed, page_results
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sparseauc_app import load_model
from sparseauc_app.cli import app
from sparseauc_app.cli.fit import fit_command

duckdb = pytest.importorskip("duckdb")

LEVELS = [
    ("true", "false", "unknown"),
    ("01", "02", "other"),
    ("1.0", "2.0", "n/k"),
    ("1e3", "1e4", "none"),
    ("2020-01-01", "2020-02-01", "later"),
    ("=1+1", "it's", 'a "b", c;'),
    ("yes", "no"),
    ("f", "m"),
]
# Options of ``fit``, and those of them that leave the roads as they are.
DRAWN = {"missing", "text", "points", "numeric", "limits", "quick", "columns",
         "alpha", "ids", "target", "time", "horizon", "weights"}  # fmt: skip
ELSEWHERE = {
    "table", "positive", "negative", "exclude", "groups", "strata",
    "format", "rule",
    "seed", "jobs", "out", "report", "force", "as_json", "labels", "missing_codes",
}  # fmt: skip
LABELS = [
    ("0", "1"),
    ("1.0", "2.0"),
    ("no", "yes"),
    ("false", "true"),
    ("01", "02"),
    ("-1", "+1"),
]
N = 80


class Drawn(dict):
    """What was drawn; shown in a line, without the rows."""

    def __repr__(self):
        return repr(
            {
                name: self[name]
                for name in (
                    "seed",
                    "comma",
                    "date",
                    "days",
                    "weights",
                    "signed",
                    "options",
                )
            }
        )


@st.composite
def tables(draw):
    """A table to fit and rows to score, as values; how both are written, and how it is fitted."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    levels = draw(st.sampled_from(LEVELS))
    gaps = draw(st.booleans())
    y = np.arange(N) % 3 == 0
    scale = draw(st.sampled_from([1.0, 1500.0, 250_000.0]))
    wrong = np.where(rng.random(N) < draw(st.sampled_from([0.0, 0.08])), 50.0, 1.0)
    rare = draw(st.booleans())
    lab = np.round(np.abs(20 + 3 * (rng.normal(size=N) + y)), 1)
    signed = draw(st.booleans())
    above_zero = draw(st.sampled_from([0.5, -0.5]))
    # Both ends of a dose speak for the event: a curve.
    apart = 3.0 * y * rng.choice([-1, 1], N) if draw(st.booleans()) else y
    columns = {
        "the dose": (np.round(scale * wrong * (rng.normal(size=N) + apart), 2), "number"),
        "count": (rng.integers(0, 40, N) + 5.0 * y, "whole"),
        "flag": (rng.random(N) < (np.where(y, 0.2, 0.02) if rare else np.where(y, 0.8, 0.3)),
                 "boolean"),
        "kind": (np.where(y ^ (rng.random(N) < (0.03 if rare else 0.3)), levels[0], levels[1])
                 .astype(object), "text"),
        "crp": (np.round(np.exp(rng.normal(size=N) + y) + above_zero).clip(0), "number"),
        "lab": (np.array([limit_of(value, rng) for value in lab], object), "limits"),
    }  # fmt: skip
    for name in ("flag", "kind"):  # both values are there
        columns[name][0][:4] = (
            [True, True, False, False] if name == "flag" else levels[:2] * 2
        )
    columns["kind"][0][4 + rng.permutation(N - 4)[:6]] = levels[-1]
    rows = [
        {name: values[i].item() if hasattr(values[i], "item") else values[i]
         for name, (values, _) in columns.items()}
        for i in range(N)
    ]  # fmt: skip
    if gaps:
        for i, row in enumerate(rows):
            for name in row:
                if rng.random() < 0.1 and i > 5:
                    row[name] = None
    new = [
        dict(rows[i]) for i in rng.permutation(N)[: draw(st.sampled_from([1, 3, 8]))]
    ]
    for row in new:
        for name in row:
            chance = rng.random()
            if chance < 0.15:
                row[name] = None
            elif chance < 0.3 and name == "kind":
                row[name] = "never seen"
            elif chance < 0.5 and name in ("kind", "lab") and row[name] is not None:
                before, after = rng.choice(
                    ["", " ", "\t", "\u00a0", "  \n"], 2
                ).tolist()
                row[name] = before + row[name] + after
            elif chance < 0.4 and name == "crp":  # below all of the training rows
                row[name] = -3.0
    date = draw(st.booleans())
    text = draw(st.sampled_from(["auto", "auto:9", None]))
    points = draw(st.sampled_from([None, None, 5]))
    alpha = draw(st.sampled_from([None, "1"]))
    k = draw(st.sampled_from([2, 7, 7]))
    include = draw(st.sampled_from([None, "flag", "kind", "lab", "the dose"]))
    return Drawn({
        "seed": seed,
        "signed": signed,
        "rows": rows,
        "new": new,
        "kinds": {name: kind for name, (_, kind) in columns.items()},
        "labels": np.where(y, *LABELS[draw(st.integers(0, len(LABELS) - 1))][::-1]).tolist(),
        "comma": draw(st.booleans()),
        "date": date,
        "days": (np.ceil(300 * rng.exponential(size=N) * np.where(y, 0.5, 1.5)) + 1).tolist()
        if draw(st.sampled_from([False, False, True])) else None,
        "weights": rng.choice([0.5, 1.0, 2.0], N).tolist() if draw(st.booleans()) else None,
        "order": draw(st.permutations([*columns])),
        "options": [
            *(["--text", text] if text else []),
            "-k", k,
            *(["--points", points] if points else []),
            *(["--alpha", alpha] if alpha else []),
            *(["--quick"] if draw(st.sampled_from([True, True, False])) else []),
            *(["--limits", f"always_include={include}"] if include and not signed else []),
            "--missing", "median",  # text without a digit is missing
        ],
    })  # fmt: skip


def limit_of(value, rng):
    """A laboratory value, some of them a limit or words."""
    chance = rng.random()
    return ("neg" if chance < 0.08 else f">{value}" if chance < 0.16
            else f"<= {value}" if chance < 0.2 else str(value))  # fmt: skip


def written(value, kind, *, comma):
    """An entry of a text file, whole numbers with points or commas between thousands."""
    if value is None:
        return ""
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "text":
        return value
    if kind == "limits":
        return value.replace(".", ",") if comma else value
    if kind == "whole":
        return str(int(value))
    text = f"{value:,.2f}"
    return text.translate(str.maketrans(",.", ".,")) if comma else text


def write_csv(path, drawn, rows, labels=None):
    delimiter = ";" if drawn["comma"] else ","
    order = drawn["order"] if labels is None else [*drawn["kinds"]]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        dated = ["when"] if drawn["date"] and labels is not None else []
        more = (
            []
            if labels is None
            else [name for name in ("days", "weights") if drawn[name]]
        )
        writer.writerow(
            ["id", *order, *dated, *more, *([] if labels is None else ["state"])]
        )
        for i, row in enumerate(rows):
            cells = [written(row[name], drawn["kinds"][name], comma=drawn["comma"])
                     for name in order]  # fmt: skip
            when = [f"2024-03-{1 + i % 28:02d}"] if dated else []
            numbers = [
                written(drawn[name][i], "number", comma=drawn["comma"]) for name in more
            ]
            writer.writerow(
                [
                    ids(i),
                    *cells,
                    *when,
                    *numbers,
                    *([] if labels is None else [labels[i]]),
                ]
            )


def ids(i):
    return f"{i:05d}" if i % 2 else f"1234567890123456789{i:02d}"


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


# ---------------------------------------------------------------------------- the roads


def by_command(model, new, *, calibrated):
    printed = run("predict", model, new)
    table = list(csv.DictReader(io.StringIO(printed)))
    assert [row["id"] for row in table] == [ids(i) for i in range(len(table))]
    score = "total" if "total" in table[0] else "score"
    return [
        [float(row[name]) if row[name] else None for row in table]
        for name in (score, *(["risk"] if calibrated else []))
    ]


def by_python(model, drawn):
    rows = [
        {name: written(row[name], kind, comma=drawn["comma"]) or None
         if kind == "limits" else row[name] for name, kind in drawn["kinds"].items()}
        for row in drawn["new"]
    ]  # fmt: skip
    frame = pd.DataFrame(rows)[list(drawn["order"])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load_model(model)
        if drawn["days"]:  # what is predicted is the score
            return [
                None if np.isnan(score) else score for score in loaded.predict(frame)
            ]
        scores = loaded.decision_function(frame)
        labels = loaded.predict(frame)
    named = [
        None if np.isnan(score) else loaded.classes_[int(score > 0)] for score in scores
    ]
    assert labels.tolist() == named
    return [None if np.isnan(score) else score for score in scores]


def number_of(value, kind):
    """A value of a row as a number; a limit as the number in it."""
    if value is None:
        return None
    if kind != "limits":
        return float(value)
    digits = value.lstrip("<>= \t\n\u00a0")
    return float(digits) if digits[0].isdigit() else None


def effect_of(value, says):
    """The effect of a value by the words of a term's encoding, None for missing ones."""
    kind, coef = says["kind"], says["coef"]
    if kind == "levels":
        levels = says["levels"]
        effects = [*coef]
        if says["against"] >= 0:
            effects.insert(says["against"], 0.0)
        return effects[
            says["taken_as"][levels.index(value) if value in levels else len(levels)]
        ]
    if value is None:
        value = says["knots"][1] if kind == "curve" else says["missing"]
    if kind == "steps":
        return coef[sum(value > cut for cut in says["cuts"])]
    if kind == "line":
        return coef[0] * value
    x = min(max(value, says["low"]), says["high"])
    t1, t2, t3 = says["knots"]
    q = (t3 - t1) / (t3 - t2)
    cubes = [max(x - t, 0.0) ** 3 for t in says["knots"]]
    C = (cubes[0] - q * cubes[1] + (q - 1) * cubes[2]) / (t3 - t1) ** 2
    return coef[0] * x + coef[1] * (C - says["tilt"] * (x - t2))


def by_card(card, drawn):
    """By the words of the JSON card alone."""
    scores = []
    for row in drawn["new"]:
        score = card["intercept"]
        for term in card["terms"]:
            name = term["column"]
            value = row[name]
            if term["encoding"]["kind"] == "levels":
                value = value.strip() if isinstance(value, str) else value
                value = value if value in term["encoding"]["levels"] else None
            else:
                value = number_of(value, drawn["kinds"][name])
            needed = value is None and term["required"]
            if score is not None:
                score = None if needed else score + effect_of(value, term["encoding"])
        scores.append(score)
    return scores


def probabilities(card, scores):
    how = card["risk_map"]

    def risk(score):
        if card.get("follow_up") is not None:
            return 1 - np.exp(-np.exp(how["slope"] * score + how["intercept"]))
        return 1 / (1 + np.exp(-(how["slope"] * score + how["intercept"])))

    return [None if score is None else risk(score) for score in scores]


SQL_TYPES = {"number": "DOUBLE PRECISION", "whole": "INTEGER", "boolean": "BOOLEAN",
             "text": "VARCHAR", "limits": "VARCHAR"}  # fmt: skip


def created(drawn):
    declared = ", ".join(
        f'"{name}" {SQL_TYPES[kind]}' for name, kind in drawn["kinds"].items()
    )
    return f"CREATE TABLE t (place INTEGER, {declared})"


def stored(value, kind, drawn):
    """A value as a table of a database has it, limits as text."""
    return value if kind != "limits" or not drawn["comma"] or value is None else value.replace(
        ".", ",")  # fmt: skip


def by_database(connection, sql, card, drawn, *, nan):
    connection.execute(created(drawn))
    marks = ", ".join("?" * (1 + len(drawn["kinds"])))
    for place, row in enumerate(drawn["new"]):
        values = [
            float("nan") if nan and row[name] is None and kind == "number"
            else stored(row[name], kind, drawn)
            for name, kind in drawn["kinds"].items()
        ]  # fmt: skip
        connection.execute(f"INSERT INTO t VALUES ({marks})", [place, *values])
    found = connection.execute(by_place(sql, card)).fetchall()
    if card["risk_map"] is not None:
        expected = probabilities(card, [score for score, _ in found])
        same([risk for _, risk in found], expected)
    return [row[0] for row in found]


def by_place(sql, card):
    """What the exported query adds to the rows of t, in their order."""
    added = "sparseauc_score"
    added += "" if card["risk_map"] is None else ", sparseauc_risk"
    return (
        f"SELECT {added} FROM ({sql.replace('my_table', 't')}) AS found ORDER BY place"
    )


def by_postgres(server, sql, card, drawn, *, nan):
    def literal(value, kind):
        if value is None:
            return "'NaN'" if nan and kind == "number" else "NULL"
        if kind in ("text", "limits"):
            value = stored(value, kind, drawn)
            return "'" + value.replace("'", "''") + "'"
        return str(value)

    rows = ", ".join(
        "(" + ", ".join([str(place), *(literal(row[name], kind)
                                       for name, kind in drawn["kinds"].items())]) + ")"
        for place, row in enumerate(drawn["new"])
    )  # fmt: skip
    script = (
        f"SET client_min_messages = error; DROP TABLE IF EXISTS t; {created(drawn)}; "
        f"INSERT INTO t VALUES {rows}; {by_place(sql, card)};"
    )
    scores = [line.split("|")[0] for line in server(script).splitlines()]
    return [float(score) if score else None for score in scores]


@pytest.fixture(scope="module")
def postgres():
    """A function that runs a script in a server of its own; skipped where none is installed."""
    if not all(shutil.which(name) for name in ("initdb", "postgres", "psql")):
        yield None
        return
    # Not in the folder of the tests, which others must not enter: the server refuses to
    # be root.
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder, who = Path(name) / "data", {}
        if os.getuid() == 0:
            who = {"user": "nobody", "group": "nogroup"}
            shutil.chown(name, **who)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, **who}
        subprocess.run(["initdb", "-D", folder, "-U", "tester", "-A", "trust", "-E", "UTF8",
                        "--locale=C"], **quiet)  # fmt: skip
        server = subprocess.Popen(
            ["postgres", "-D", folder, "-k", name, "-c", "listen_addresses=", "-c", "fsync=off"],
            stderr=subprocess.DEVNULL, **who,
        )  # fmt: skip
        psql = ["psql", "-h", name, "-U", "tester", "-d", "postgres", "-qAtX",
                "-v", "ON_ERROR_STOP=1"]  # fmt: skip
        try:
            for _ in range(100):
                if (
                    subprocess.run(
                        [*psql, "-c", "SELECT 1"], capture_output=True
                    ).returncode
                    == 0
                ):
                    break
                if server.poll() is not None:
                    break
                time.sleep(0.1)

            def script(text):
                done = subprocess.run(psql, input=text, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
                return done.stdout

            yield script
        finally:
            server.terminate()
            server.wait()


def same(found, expected, within=1e-9):
    assert [score is None for score in found] == [score is None for score in expected]
    for one, other in zip(found, expected, strict=True):
        if other is not None:
            assert one == pytest.approx(other, rel=within, abs=within)


def without_unknown(scores, card, drawn, blanks=None):
    """Scores of a road that warns of nothing: none of a text that training had not.

    ``blanks`` are those that the road leaves out around a text; all by default.
    """
    levels = {
        term["column"]: term["encoding"]["levels"]
        for term in card["terms"]
        if term["encoding"]["kind"] == "levels"
    }
    return [
        None
        if any(
            row[name] is not None and row[name].strip(blanks) not in (*known, "")
            for name, known in levels.items()
        )
        else score
        for score, row in zip(scores, drawn["new"], strict=True)
    ]


def as_in_sql(found, expected, card, drawn):
    """As predict has it, but unknown texts have no score, nor numbers in other blanks than spaces.

    Databases differ in whether a no-break space is a space.
    """
    columns = {term["column"] for term in card["terms"]}
    scores = without_unknown(expected, card, drawn, " \u00a0")
    for one, score, row in zip(found, scores, drawn["new"], strict=True):
        texts = [row[name] or "" for name in ("kind", "lab") if name in columns]
        if "lab" in columns and not any(map(str.isdigit, texts[-1])):
            del texts[-1]  # missing, whatever is around it
        if any(text.strip() != text.strip(" \u00a0") for text in texts):
            assert one is None
        elif one is not None or all(text.strip() == text.strip(" ") for text in texts):
            same([one], [score])


def test_options_of_fit_are_drawn_or_leave_the_roads_as_they_are():
    assert {*inspect.signature(fit_command).parameters} == DRAWN | ELSEWHERE


@pytest.mark.slow
@settings(
    max_examples=int(os.environ.get("SPARSEAUC_EXAMPLES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(drawn=tables())
def test_every_road_gives_the_same_score(drawn, postgres, tmp_path_factory):
    folder = tmp_path_factory.mktemp("roads")
    table, new, model = folder / "table.csv", folder / "new.csv", folder / "model.json"
    write_csv(table, drawn, drawn["rows"], drawn["labels"])
    write_csv(new, drawn, drawn["new"])
    signs = folder / "signs.csv"
    signs.write_text("name,sign\ncount,+\nthe dose,-\n")
    outcome = ["--time", "days", "--event"] if drawn["days"] else ["--target"]
    run(
        "fit", table, *outcome, "state", "--ids", "id", "--numeric", "lab", "--out", model,
        *drawn["options"], *(["--limits", signs] if drawn["signed"] else []),
        *(["--weights", "weights"] if drawn["weights"] else []),
    )  # fmt: skip
    card = json.loads(model.read_text())
    if not card["terms"]:
        return
    expected = by_card(card, drawn)
    calibrated = card["risk_map"] is not None
    score, *risk = by_command(model, new, calibrated=calibrated)
    same(score, expected)
    if calibrated:
        same(risk[0], probabilities(card, expected))
    in_python = expected
    if (
        "--points" in drawn["options"] and calibrated and not drawn["days"]
    ):  # decision_function is in log odds
        how = card["risk_map"]
        in_python = [
            None if total is None else how["slope"] * total + how["intercept"]
            for total in expected
        ]
    same(by_python(model, drawn), in_python)

    sql = run("export", model, "sql")
    for nan in (False, True):
        with duckdb.connect() as connection:
            found = by_database(connection, sql, card, drawn, nan=nan)
            as_in_sql(found, expected, card, drawn)
        with sqlite3.connect(":memory:") as connection:
            found = by_database(connection, sql, card, drawn, nan=nan)
            as_in_sql(found, expected, card, drawn)
        if postgres is not None:
            found = by_postgres(postgres, sql, card, drawn, nan=nan)
            as_in_sql(found, expected, card, drawn)
    by_hand_over(model, card, drawn, expected, folder)
    shutil.rmtree(folder)


def by_hand_over(model, card, drawn, expected, folder):
    """Page, R and workbook, as far as what runs them is installed; their text is made anyway."""
    page, code = run("export", model, "html"), run("export", model, "r")
    risks = probabilities(card, expected) if card["risk_map"] is not None else None
    rows = [
        {
            name: stored(value, drawn["kinds"][name], drawn)
            for name, value in row.items()
        }
        for row in drawn["new"]
    ]
    if shutil.which("node") is not None:
        typed = [{name: int(value) if value is True or value is False else value
                  for name, value in row.items()} for row in rows]  # fmt: skip
        score, risk = page_results(page, typed, ["lab"])
        same(score, expected)
        if risks is not None:
            same(risk, risks)
    if shutil.which("Rscript") is not None:
        same(by_r(code, rows, drawn, folder), expected)
    run("export", model, "xlsx", "--out", folder / "model.xlsx")
    book = openpyxl.load_workbook(folder / "model.xlsx")
    assert {"Calculator", "Rows"} <= {*book.sheetnames}
    if shutil.which("soffice") is not None:
        # A row without any value in the cells of the model is left blank.
        columns = {term["column"] for term in card["terms"]}
        scores = [
            score if any(row[name] is not None for name in columns) else known
            for score, row, known in zip(
                by_workbook(book, rows, folder), rows, expected, strict=True
            )
        ]
        same(scores, without_unknown(expected, card, drawn))


def by_workbook(book, rows, folder):
    sheet = book["Rows"]
    names = [cell.value for cell in sheet[1]]
    read = {name for name in rows[0] if name in names}
    for place, row in enumerate(rows, start=2):
        for name in read:
            cell = sheet.cell(place, names.index(name) + 1)
            cell.value = row[name]
            if isinstance(row[name], str):  # and no formula
                cell.data_type = "s"
    content = io.BytesIO()
    book.save(content)
    result = names.index("Score")
    lines = computed(content.getvalue(), folder)["Rows"].iter_rows(
        min_row=2, max_row=len(rows) + 1, values_only=True
    )
    return [None if line[result] in ("", None) else line[result] for line in lines]


def by_r(code, rows, drawn, folder):
    (folder / "score.R").write_text(code, "utf-8")
    frame = pd.DataFrame(rows)[list(drawn["order"])]
    frame.to_csv(folder / "rows.csv", index=False)
    (folder / "run.R").write_text(
        'source("score.R", encoding = "UTF-8")\n'
        'rows <- read.csv("rows.csv", check.names = FALSE, na.strings = "", encoding = "UTF-8",\n'
        '                 colClasses = c(kind = "character", lab = "character"))\n'
        "rows$flag <- as.logical(rows$flag)\n"
        'writeLines(sprintf("%.17g", predict_risk(rows)[[1]]))\n'
    )
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=folder, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return [
        None if line.startswith("NA") else float(line) for line in done.stdout.split()
    ]
