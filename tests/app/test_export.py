import json
import math
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc_app.column_types import ColumnType
from sparseauc_app.export import to_sql
from sparseauc_app.model_files import model_bytes
from sparseauc_app.scorecard import Calibration, ScoreCard, Term

duckdb = pytest.importorskip("duckdb")

# What makes trouble in SQL and elsewhere: quotes, comments, placeholders, other alphabets.
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
).filter(lambda text: text == text.strip())
WEIGHTS = st.floats(-1e6, 1e6).filter(lambda x: x != 0)


def card(terms, intercept=-0.25):
    return ScoreCard(tuple(terms), intercept, "no", "yes", "ill", tuple(t.name for t in terms))


def naive(card, rows):
    """Scores by the words of the JSON score card; None where a value is missing."""
    scores = []
    for row in rows:
        total = card.intercept
        for term in card.terms:
            value = row[term.column]
            if value is not None and term.level is not None:
                value = float(value == term.level)
            if value is not None and term.above is not None:
                value = float(value > term.above)
            if value is not None and term.low is not None:
                value = min(max(value, term.low), term.high)
            if value is None:
                value = term.fill
            total = None if value is None or total is None else total + term.coefficient * value
        scores.append(total)
    return scores


@st.composite
def cards_and_rows(draw, names=NAMES):
    # SQL does not tell names apart by case.
    columns = draw(st.lists(names, min_size=1, max_size=5, unique_by=str.casefold))
    terms, kinds = [], {}
    for column in columns:
        kinds[column] = draw(st.sampled_from(["number", "text"]))
        levels = [None]
        if kinds[column] == "text":
            levels = draw(st.lists(names, min_size=1, max_size=3, unique=True))
        for level in levels:
            fill = draw(st.none() | st.floats(-10, 10))
            cut = st.floats(-100, 100) if kinds[column] == "number" else st.none()
            for above in draw(st.lists(st.none() | cut, min_size=1, max_size=2, unique=True)):
                ends = (None, None)
                if kinds[column] == "number" and above is None:
                    ends = draw(st.just(ends) | st.tuples(st.floats(-100, 0), st.floats(0, 100)))
                terms.append(Term(column, level, draw(WEIGHTS), fill, above, *ends))
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    column: st.none()
                    | (
                        st.floats(-1e6, 1e6)
                        | st.sampled_from([t.above or 0.0 for t in terms if t.column == column])
                        if kind == "number"
                        else st.sampled_from([t.level for t in terms if t.column == column]) | names
                    )
                    for column, kind in kinds.items()
                }
            ),
            min_size=1,
            max_size=6,
        )
    )
    return card(terms, draw(WEIGHTS)), kinds, rows


def assert_scores(found, expected):
    assert [score is None for score in found] == [score is None for score in expected]
    for one, other in zip(found, expected, strict=True):
        if other is not None:
            assert one == pytest.approx(other, rel=1e-9, abs=1e-6)


# ---------------------------------------------------------------------------------------------- SQL


def in_database(connection, card, kinds, rows):
    quoted = ['"' + name.replace('"', '""') + '"' for name in kinds]
    types = ["DOUBLE PRECISION" if kind == "number" else "VARCHAR" for kind in kinds.values()]
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, types, strict=True))
    connection.execute(f"CREATE TABLE t (place INTEGER, {declared})")
    marks = ", ".join("?" * (1 + len(kinds)))
    for place, row in enumerate(rows):
        connection.execute(f"INSERT INTO t VALUES ({marks})", [place, *(row[c] for c in kinds)])
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
        assert_scores(in_database(connection, card, kinds, rows), naive(card, rows))


@settings(max_examples=40)
@given(cards_and_rows())
def test_sql_in_duckdb(drawn):
    card, kinds, rows = drawn
    if "place" in {name.casefold() for name in kinds}:
        return
    with duckdb.connect() as connection:
        assert_scores(in_database(connection, card, kinds, rows), naive(card, rows))


def test_sql_of_whole_numbers_and_booleans_in_duckdb():
    terms = [Term("whole", None, 1 / 3), Term("flag", None, -2.5), Term("money", None, 1e-7)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 7::TINYINT AS whole, true AS flag, "
                           "123456.78::DECIMAL(18, 2) AS money")  # fmt: skip
        ((score,),) = connection.execute(
            f"SELECT sparseauc_score FROM ({of_t(card(terms))}) AS found"
        ).fetchall()
    assert score == pytest.approx(-0.25 + 7 / 3 - 2.5 + 123456.78e-7, rel=1e-14)


def test_sql_keeps_every_digit():
    terms = [Term("x", None, 0.1 + 0.2), Term("z", None, 5e-324), Term("w", None, 1.7e308)]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1.0 AS x, 0.0 AS z, 0.0 AS w")
        ((score,),) = connection.execute(
            f"SELECT sparseauc_score FROM ({of_t(card(terms, 0.0))}) AS found"
        ).fetchall()
    assert score == 0.1 + 0.2


def test_sql_refuses_what_it_cannot_write():
    with pytest.raises(ValueError, match="zero character"):
        to_sql(card([Term("a\0b", None, 1.0)]))
    with pytest.raises(ValueError, match="inf"):
        to_sql(card([Term("a", None, float("inf"))]))


# --------------------------------------------------------------------------------------------- JSON


@settings(max_examples=40)
@given(cards_and_rows())
def test_json_says_all_that_scoring_needs(drawn):
    original, _, rows = drawn
    content = json.loads(model_bytes(original))
    terms = [Term(**term) for term in content["terms"]]
    again = card(terms, content["intercept"])
    assert naive(again, rows) == naive(original, rows)
    assert "coefficient * value" in content["how"]


# ------------------------------------------------------------------------------------ probabilities


CALIBRATED = replace(
    card([Term("x", None, 0.7, fill=0.25)]), calibration=Calibration(1.3, -2.1, 40, 160)
)
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
    assert CALIBRATED.probabilities(scores) == pytest.approx(naive_probabilities(VALUES), rel=1e-13)
    assert np.isnan(CALIBRATED.probabilities(np.array([np.nan]))).all()
    with pytest.raises(ValueError, match="no probabilities"):
        card([Term("x", None, 1.0)]).probabilities(scores)


def test_a_card_keeps_its_calibration():
    content = json.loads(json.dumps(CALIBRATED.as_dict()))
    assert ScoreCard.from_dict(content) == CALIBRATED
    content["calibration"]["slope"] = None
    with pytest.raises(ValueError, match="finite number"):
        ScoreCard.from_dict(content)


@pytest.mark.parametrize("connect", [duckdb.connect, lambda: sqlite3.connect(":memory:")])
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
    assert Calibration(**content["calibration"]) == CALIBRATED.calibration
    assert "slope * score + intercept" in content["how"]
    assert json.loads(model_bytes(card([Term("x", None, 1.0)])))["calibration"] is None


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("connect", [lambda: sqlite3.connect(":memory:"), duckdb.connect])
def test_numbers_and_truths_written_as_text_are_read_in_sql(connect, decimal):
    types = {
        "lab": ColumnType("number", decimal=decimal, limits=True),
        "flag": ColumnType("boolean"),
        "x": ColumnType("number"),
    }
    parts = {"lab": (1.0, 100.0), "flag": (1000.0, 0.25), "x": (1e6, 7.0)}
    terms = tuple(Term(name, None, *part) for name, part in parts.items())
    of_text = ScoreCard(terms, 0.0, "no", "yes", "ill", ("lab", "flag", "x"), types=types)
    rows = [
        ("21.99", "true", "1.5"), (">30", "FALSE", " 2 "), ("neg", "", ""), ("<= 4.5", "1", "-3"),
        ("~-7", "f", "1e3"), ("1.5e-2", "0", "4"), (None, None, None),
    ]  # fmt: skip
    expected = [21.99 + 1000 + 1.5e6, 30 + 2e6, 100 + 250 + 7e6, 4.5 + 1000 - 3e6, -7 + 1e9,
                0.015 + 4e6, 100 + 250 + 7e6]  # fmt: skip
    with connect() as connection:
        connection.execute("CREATE TABLE t (i INTEGER, lab VARCHAR, flag VARCHAR, x VARCHAR)")
        for i, (lab, *rest) in enumerate(rows):
            lab = None if lab is None else lab.replace(".", decimal)
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", [i, lab, *rest])
        query = f"SELECT sparseauc_score FROM ({of_t(of_text)}) AS found ORDER BY i"
        found = connection.execute(query).fetchall()
    assert [score for (score,) in found] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lab", "flag", "x"),
    [("12abc", "true", "1"), ("5", "maybe", "1"), ("5", "true", "21,99"), ("5", "true", "neg")],
)
def test_text_that_is_no_number_has_no_score_in_sql(lab, flag, x):
    types = {"lab": ColumnType("number", limits=True), "flag": ColumnType("boolean")}
    terms = tuple(Term(name, None, 1.0, 0.5) for name in ("lab", "flag", "x"))
    of_text = ScoreCard(terms, 0.0, "no", "yes", "ill", ("lab", "flag", "x"), types=types)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (lab VARCHAR, flag VARCHAR, x VARCHAR)")
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", [lab, flag, x])
        query = f"SELECT sparseauc_score FROM ({of_t(of_text)}) AS found"
        assert connection.execute(query).fetchall() == [(None,)]


def test_numbers_in_text_with_marks_between_thousands_are_refused_in_sql():
    types = {"lab": ColumnType("number", ".", ",", limits=True)}
    grouped = ScoreCard((Term("lab", None, 1.0),), 0.0, "no", "yes", "ill", ("lab",), types=types)
    with pytest.raises(ValueError, match="'lab' is text with ',' between thousands"):
        to_sql(grouped)


@pytest.mark.parametrize("term", [Term("a", "x", 1.0, low=0.0, high=0.5),
                                  Term("a", None, 1.0, above=2.0, low=0.0, high=0.5),
                                  Term("a", None, 1.0, low=2.0, high=1.0)])  # fmt: skip
def test_cards_with_limits_of_indicators_or_in_the_wrong_order_are_refused(term):
    with pytest.raises(ValueError, match="limits"):
        card([term])
