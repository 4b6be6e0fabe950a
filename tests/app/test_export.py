import json
import math
import sqlite3
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc.columns import Curve, Levels, Line, Steps
from sparseauc_app.column_types import ColumnType
from sparseauc_app.export import to_sql
from sparseauc_app.model_files import model_bytes
from sparseauc_app.scorecard import RiskMap, ScoreCard, Term

duckdb = pytest.importorskip("duckdb")

# What makes trouble in SQL and elsewhere: quotes, comments, placeholders, other
# alphabets.
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
).filter(lambda text: text == text.strip())
WEIGHTS = st.floats(-1e3, 1e3).filter(lambda x: x != 0)


def card(terms, intercept=-0.25):
    return ScoreCard(
        tuple(terms), intercept, "no", "yes", "ill", tuple(t.name for t in terms)
    )


def line(column, coef, missing=None):
    """A term of a line; without what a missing value counts as, the value is needed."""
    found = Line(np.nan if missing is None else missing, coef=(coef,))
    return Term(column, found, missing is None)


def curve_at(x, says):
    """a x + b B(x), by the formula of ``columns/curve.py`` as it stands there."""
    x = min(max(x, says["low"]), says["high"])
    t1, t2, t3 = says["knots"]
    q = (t3 - t1) / (t3 - t2)
    cubes = [max(x - t, 0.0) ** 3 for t in says["knots"]]
    C = (cubes[0] - q * cubes[1] + (q - 1) * cubes[2]) / (t3 - t1) ** 2
    return says["coef"][0] * x + says["coef"][1] * (C - says["tilt"] * (x - t2))


def effect_of(value, says):
    """The effect of a value by the words of the JSON score card."""
    kind, coef = says["kind"], says["coef"]
    if kind == "levels":
        levels = says["levels"]
        place = levels.index(value) if value in levels else len(levels)
        return [0.0, *coef][says["taken_as"][place]]
    missing = says["knots"][1] if kind == "curve" else says["missing"]
    x = missing if value is None else value
    if kind == "curve":
        return curve_at(x, says)
    return coef[0] * x if kind == "line" else coef[sum(x > cut for cut in says["cuts"])]


def by_words(card, rows, unknown=True):
    """Scores by the JSON score card; None where a needed value is missing, or a text unknown."""
    content = json.loads(model_bytes(card))
    scores = []
    for row in rows:
        total = content["intercept"]
        for term in content["terms"]:
            value = row[term["column"]]
            new = value is not None and value not in term["encoding"].get(
                "levels", [value]
            )
            if (value is None and term["required"]) or (new and not unknown):
                total = None
                break
            total += effect_of(value, term["encoding"])
        scores.append(total)
    return scores


ENDS = st.floats(-100, 100)
WIDTHS = st.floats(0.1, 50)
PAIR = st.tuples(WEIGHTS, WEIGHTS)
SHAPES = {
    "line": st.builds(lambda coef, missing: Line(missing, coef=(coef,)), WEIGHTS, ENDS),
    "curve": st.builds(
        lambda start, one, other, tilt, coef: Curve(
            (start, start + one, start + one + other),
            start - 5.0,
            start + one + other + 7.0,
            tilt,
            coef,
        ),
        ENDS,
        WIDTHS,
        WIDTHS,
        st.floats(0, 1),
        PAIR,
    ),
    "steps": st.builds(
        lambda cuts, coef, missing: Steps(
            tuple(sorted(cuts)), missing, coef=coef[: len(cuts) + 1]
        ),
        st.lists(ENDS, min_size=1, max_size=3, unique=True),
        st.tuples(*[WEIGHTS] * 4),
        ENDS,
    ),
}


@st.composite
def cards_and_rows(draw, names=NAMES):
    # SQL does not tell names apart by case.
    columns = draw(st.lists(names, min_size=1, max_size=5, unique_by=str.casefold))
    terms, kinds, values = [], {}, {}
    for column in columns:
        kind = draw(st.sampled_from([*SHAPES, "levels"]))
        required = draw(st.booleans())
        if kind == "levels":
            levels = draw(st.lists(names, min_size=1, max_size=3, unique=True))
            coef = draw(st.tuples(*[WEIGHTS] * len(levels)))
            places = (*range(len(levels)), len(levels))
            found = Levels(tuple(levels), True, 0, places, coef)
            # Unknown texts count as a missing one, and a needed one has no score then.
            values[column] = st.sampled_from(levels) | (
                st.nothing() if required else names
            )
        else:
            found = draw(SHAPES[kind])
            known = [*found.knots, *getattr(found, "cuts", ())]
            values[column] = st.floats(-1e3, 1e3) | st.sampled_from([0.0, *known])
        kinds[column] = "text" if kind == "levels" else "number"
        terms.append(Term(column, found, required))
    some = {column: st.none() | of for column, of in values.items()}
    rows = draw(st.lists(st.fixed_dictionaries(some), min_size=1, max_size=6))
    return card(terms, draw(WEIGHTS)), kinds, rows


def assert_scores(found, expected):
    assert [score is None for score in found] == [score is None for score in expected]
    for one, other in zip(found, expected, strict=True):
        if other is not None:
            assert one == pytest.approx(other, rel=1e-9, abs=1e-6)


# ---------------------------------------------------------------------------------- SQL


def in_database(connection, card, kinds, rows):
    quoted = ['"' + name.replace('"', '""') + '"' for name in kinds]
    types = [
        "DOUBLE PRECISION" if kind == "number" else "VARCHAR" for kind in kinds.values()
    ]
    declared = ", ".join(
        f"{name} {kind}" for name, kind in zip(quoted, types, strict=True)
    )
    connection.execute(f"CREATE TABLE t (place INTEGER, {declared})")
    marks = ", ".join("?" * (1 + len(kinds)))
    for place, row in enumerate(rows):
        connection.execute(
            f"INSERT INTO t VALUES ({marks})", [place, *(row[c] for c in kinds)]
        )
    query = f"SELECT sparseauc_score FROM ({of_t(card)}) AS found ORDER BY place"
    return [score for (score,) in connection.execute(query).fetchall()]


def of_t(card):
    """The query, of the rows of t."""
    return to_sql(card).replace("my_table", "t")


@given(cards_and_rows())
def test_sql_in_sqlite(drawn):
    card, kinds, rows = drawn
    if "place" in {name.casefold() for name in kinds}:
        return
    with sqlite3.connect(":memory:") as connection:
        expected = by_words(card, rows, unknown=False)
        assert_scores(in_database(connection, card, kinds, rows), expected)


@settings(max_examples=40)
@given(cards_and_rows())
def test_sql_in_duckdb(drawn):
    card, kinds, rows = drawn
    if "place" in {name.casefold() for name in kinds}:
        return
    with duckdb.connect() as connection:
        expected = by_words(card, rows, unknown=False)
        assert_scores(in_database(connection, card, kinds, rows), expected)


def test_sql_of_whole_numbers_and_booleans_in_duckdb():
    flag = Term("flag", Line(reads="boolean", coef=(-2.5,)))
    terms = [line("whole", 1 / 3), flag, line("money", 1e-7)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 7::TINYINT AS whole, true AS flag, "
                           "123456.78::DECIMAL(18, 2) AS money")  # fmt: skip
        ((score,),) = connection.execute(
            f"SELECT sparseauc_score FROM ({of_t(card(terms))}) AS found"
        ).fetchall()
    assert score == pytest.approx(-0.25 + 7 / 3 - 2.5 + 123456.78e-7, rel=1e-14)


def test_sql_keeps_every_digit():
    terms = [line("x", 0.1 + 0.2), line("z", 5e-324), line("w", 1.7e308)]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1.0 AS x, 0.0 AS z, 0.0 AS w")
        ((score,),) = connection.execute(
            f"SELECT sparseauc_score FROM ({of_t(card(terms, 0.0))}) AS found"
        ).fetchall()
    assert score == 0.1 + 0.2


def test_sql_refuses_what_it_cannot_write():
    with pytest.raises(ValueError, match="zero character"):
        to_sql(card([line("a\0b", 1.0)]))
    with pytest.raises(ValueError, match="inf"):
        to_sql(card([line("a", float("inf"))]))


# --------------------------------------------------------------------------------- JSON


@settings(max_examples=40)
@given(cards_and_rows())
def test_the_card_scores_as_its_words_say(drawn):
    original, kinds, rows = drawn
    frame = pd.DataFrame(
        [[row[name] for name in kinds] for row in rows], columns=[*kinds]
    )
    types = {name: object if kind == "text" else float for name, kind in kinds.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = original.decision_function(frame.astype(types))
    assert_scores(
        [None if np.isnan(one) else one for one in found], by_words(original, rows)
    )


# ------------------------------------------------------------------------ probabilities


CALIBRATED = replace(card([line("x", 0.7, 0.25)]), risk_map=RiskMap(1.3, -2.1, 40, 160))
VALUES = [-900.0, -1.5, 0.0, 2.0, 1200.0]


def naive_probabilities(values):
    found = []
    for value in values:
        exponent = 1.3 * (-0.25 + 0.7 * value) - 2.1
        small = math.exp(-abs(exponent))
        found.append(1 / (1 + small) if exponent > 0 else small / (1 + small))
    return found


def test_the_card_makes_probabilities_of_scores():
    scores = CALIBRATED.scores(np.array(VALUES)[:, None])
    assert CALIBRATED.probabilities(scores) == pytest.approx(
        naive_probabilities(VALUES), rel=1e-13
    )
    assert np.isnan(CALIBRATED.probabilities(np.array([np.nan]))).all()
    with pytest.raises(ValueError, match="no probabilities"):
        card([line("x", 1.0)]).probabilities(scores)


def test_a_card_keeps_its_risk_map():
    content = json.loads(json.dumps(CALIBRATED.as_dict()))
    assert ScoreCard.from_dict(content) == CALIBRATED
    content["risk_map"]["slope"] = None
    with pytest.raises(ValueError, match="finite number"):
        ScoreCard.from_dict(content)


@pytest.mark.parametrize(
    "connect", [duckdb.connect, lambda: sqlite3.connect(":memory:")]
)
def test_sql_gives_the_risk(connect):
    connection = connect()
    connection.execute("CREATE TABLE t (x DOUBLE PRECISION)")
    for value in VALUES[1:-1]:
        connection.execute("INSERT INTO t VALUES (?)", [value])
    query = f"SELECT sparseauc_risk FROM ({of_t(CALIBRATED)}) AS found ORDER BY sparseauc_score"
    found = [probability for (probability,) in connection.execute(query).fetchall()]
    connection.close()
    assert found == pytest.approx(naive_probabilities(VALUES[1:-1]), rel=1e-12)


def test_json_says_how_a_score_becomes_a_probability():
    content = json.loads(model_bytes(CALIBRATED))
    assert RiskMap(**content["risk_map"]) == CALIBRATED.risk_map
    assert "slope * score + intercept" in content["how"]
    assert json.loads(model_bytes(card([line("x", 1.0)])))["risk_map"] is None


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize(
    "connect", [lambda: sqlite3.connect(":memory:"), duckdb.connect]
)
def test_numbers_and_truths_written_as_text_are_read_in_sql(connect, decimal):
    types = {
        "lab": ColumnType("number", decimal=decimal, limits=True),
        "flag": ColumnType("boolean"),
        "x": ColumnType("number"),
    }
    parts = {"lab": (1.0, 100.0), "flag": (1000.0, 0.25), "x": (1e6, 7.0)}
    terms = tuple(line(name, *part) for name, part in parts.items())
    of_text = ScoreCard(
        terms, 0.0, "no", "yes", "ill", ("lab", "flag", "x"), types=types
    )
    rows = [
        ("21.99", "true", "1.5"), (">30", "FALSE", " 2 "), ("neg", "", ""), ("<= 4.5", "1", "-3"),
        ("~-7", "f", "1e3"), ("1.5e-2", "0", "4"), (None, None, None),
    ]  # fmt: skip
    expected = [21.99 + 1000 + 1.5e6, 30 + 2e6, 100 + 250 + 7e6, 4.5 + 1000 - 3e6, -7 + 1e9,
                0.015 + 4e6, 100 + 250 + 7e6]  # fmt: skip
    with connect() as connection:
        connection.execute(
            "CREATE TABLE t (i INTEGER, lab VARCHAR, flag VARCHAR, x VARCHAR)"
        )
        for i, (lab, *rest) in enumerate(rows):
            lab = None if lab is None else lab.replace(".", decimal)
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", [i, lab, *rest])
        query = f"SELECT sparseauc_score FROM ({of_t(of_text)}) AS found ORDER BY i"
        found = connection.execute(query).fetchall()
    assert [score for (score,) in found] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lab", "flag", "x"),
    [
        ("12abc", "true", "1"),
        ("5", "maybe", "1"),
        ("5", "true", "21,99"),
        ("5", "true", "neg"),
    ],
)
def test_text_that_is_no_number_has_no_score_in_sql(lab, flag, x):
    types = {"lab": ColumnType("number", limits=True), "flag": ColumnType("boolean")}
    terms = tuple(line(name, 1.0, 0.5) for name in ("lab", "flag", "x"))
    of_text = ScoreCard(
        terms, 0.0, "no", "yes", "ill", ("lab", "flag", "x"), types=types
    )
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (lab VARCHAR, flag VARCHAR, x VARCHAR)")
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", [lab, flag, x])
        query = f"SELECT sparseauc_score FROM ({of_t(of_text)}) AS found"
        assert connection.execute(query).fetchall() == [(None,)]


def test_numbers_in_text_with_marks_between_thousands_are_refused_in_sql():
    types = {"lab": ColumnType("number", ".", ",", limits=True)}
    grouped = ScoreCard(
        (line("lab", 1.0),), 0.0, "no", "yes", "ill", ("lab",), types=types
    )
    with pytest.raises(ValueError, match="'lab' is text with ',' between thousands"):
        to_sql(grouped)
