"""Lines, levels, and what all encodings have in common."""

import json

import numpy as np
import pytest

from sparseauc.columns import Curve, Levels, Line, as_texts, encoding_from_dict
from sparseauc.errors import InputError

NUMBERS = np.random.default_rng(0).lognormal(size=60)
PLACES = np.array([0.0, 1.0, 1.0, np.nan, 2.0, 1.0])
NAMES = ("a", "b", "c")
FITTED = {
    "line": Line.learn(NUMBERS).weighted([0.3]),
    "line of a table read in chunks": Line().weighted([0.3]),
    "boolean": Line.learn(np.array([0.0, 1.0, 1.0]), reads="boolean").weighted([2.0]),
    "curve": Curve.learn(NUMBERS).weighted([0.3, -0.2]),
    "levels": Levels.learn(PLACES, levels=NAMES).weighted([0.1, 0.2, 0.3]),
    "levels without missing ones": Levels.learn(PLACES[:3], levels=NAMES[:2]).weighted(
        [0.1]
    ),
}


@pytest.mark.parametrize("encoding", FITTED.values(), ids=list(FITTED))
def test_json_brings_back_the_same(encoding):
    again = encoding_from_dict(
        json.loads(json.dumps(encoding.as_dict(), allow_nan=False))
    )
    assert repr(again) == repr(encoding)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match=r"kind 'step': known are line, curve, levels"):
        encoding_from_dict({"kind": "step"})


@pytest.mark.parametrize("encoding", FITTED.values(), ids=list(FITTED))
def test_the_effect_is_the_basis_times_the_coefficients(encoding):
    if encoding.reads == "text":
        values = np.append(np.arange(len(encoding.levels), dtype=float), np.nan)
        shown = [*encoding.levels, None]
    else:
        values = shown = np.array([0.2, 1.0, 5.0])
    assert encoding.basis(values).shape == (values.size, encoding.width)
    expected = encoding.basis(values) @ np.array(encoding.coef)
    np.testing.assert_allclose(encoding.effect(shown), expected, atol=1e-12)
    assert encoding.leading_coef != 0
    assert encoding.words()


def test_a_line_is_the_number_and_its_median_where_that_is_missing():
    values = np.array([3.0, np.nan, 1.0, 8.0])
    line = Line.learn(values).weighted([2.0])
    assert (line.missing, line.low, line.high) == (3.0, 1.0, 8.0)
    assert line.effect([100.0, np.nan]).tolist() == [200.0, 6.0]


def test_a_row_without_a_number_has_no_effect_where_nothing_is_known_of_it():
    assert np.isnan(Line().weighted([1.0]).effect([np.nan]))[0]


def test_levels_count_against_the_most_frequent():
    levels = FITTED["levels"]
    assert levels.formula().effects == {"a": 0.1, "b": 0.0, "c": 0.2}
    assert levels.effect(["a", " b ", "c", None, "", "new", np.nan]).tolist() == [
        0.1, 0.0, 0.2, 0.3, 0.3, 0.3, 0.3,
    ]  # fmt: skip


def test_without_missing_values_one_counts_as_the_most_frequent_level():
    levels = FITTED["levels without missing ones"]
    assert levels.levels == ("a", "b")
    assert levels.effect([None, "c", "a"]).tolist() == [0.0, 0.0, 0.1]


def test_a_level_that_a_fold_does_not_have_counts_there_as_missing():
    levels = Levels.learn(PLACES, levels=NAMES)
    everything = np.array([0.0, 1.0, 2.0, np.nan])
    with_missing = levels.learn_again(np.array([0.0, 1.0, np.nan]))
    assert np.array_equal(
        with_missing.basis(everything)[2], with_missing.basis(everything)[3]
    )
    without = levels.learn_again(np.array([0.0, 0.0, 1.0]))
    assert without.basis(everything)[2].tolist() == [
        1.0,
        0.0,
        0.0,
    ]  # as the most frequent, "a"
    assert without.basis(everything)[3].tolist() == [1.0, 0.0, 0.0]
    assert without.width == levels.width


def test_rows_of_weight_zero_are_absent():
    weight = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    coef = [0.1, 0.2]
    one = Levels.learn(PLACES, weight, NAMES).weighted(coef)
    other = Levels.learn(PLACES[weight > 0], None, NAMES[:2]).weighted(coef[:1])
    shown = [*NAMES, None]
    assert np.array_equal(one.effect(shown), other.effect(shown))


@pytest.mark.parametrize("values", [np.zeros(4), np.full(4, np.nan)])
def test_a_single_level_says_nothing(values):
    levels = Levels.learn(values, levels=("a",))
    assert levels.width == 1
    assert np.ptp(levels.basis(values)) == 0


def test_texts_are_read_as_a_person_writes_them():
    values = ["a ", 1.0, 2, 2.5, True, b"x", None, np.nan, "", "  "]
    assert as_texts(values).tolist() == ["a", "1", "2", "2.5", "True", "x", *[None] * 4]
