"""Curves: a restricted cubic spline by its definition, and what it may never do."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from splines import curve_basis, repeated

from sparseauc.columns import Curve, Line

SETTINGS = settings(max_examples=60, deadline=None)
SAMPLES = st.builds(
    lambda seed, n, skew: np.random.default_rng(seed).gamma(skew, size=n),
    st.integers(0, 2**16),
    st.integers(12, 80),
    st.floats(0.2, 5.0),
)
COEF = st.tuples(st.floats(-3, 3), st.floats(-3, 3))


@SETTINGS
@given(SAMPLES, COEF)
def test_it_is_the_spline_of_its_definition(train, coef):
    curve = Curve.learn(train).weighted(coef)
    x = np.linspace(train.min() - 1.0, train.max() + 1.0, 40)
    expected = curve_basis(x, train)
    np.testing.assert_allclose(curve.basis(x), expected, atol=1e-9)
    np.testing.assert_allclose(curve.effect(x), expected @ coef, atol=1e-8)


@SETTINGS
@given(SAMPLES)
def test_the_bend_says_nothing_that_a_line_could_say(train):
    line, bend = Curve.learn(train).basis(train).T
    assert abs(np.corrcoef(line, bend)[0, 1]) < 1e-6


@SETTINGS
@given(SAMPLES, COEF)
def test_tails_are_lines_and_values_beyond_the_range_count_as_its_ends(train, coef):
    curve = Curve.learn(train).weighted(coef)
    first, _, last = curve.knots
    for start, end in ((train.min(), first), (last, train.max())):
        tail = curve.effect(np.linspace(start, end, 5))
        np.testing.assert_allclose(np.diff(tail, 2), 0.0, atol=1e-9)
    beyond = curve.effect([train.min() - 9.0, train.max() + 9.0])
    assert np.array_equal(beyond, curve.effect([train.min(), train.max()]))


@SETTINGS
@given(SAMPLES, COEF)
def test_it_turns_once_at_most_and_never_where_both_outer_slopes_agree(train, coef):
    curve = Curve.learn(train).weighted(coef)
    steps = np.diff(curve.effect(np.linspace(train.min(), train.max(), 400)))
    rounding = 1e-9 * np.abs(steps).max(initial=1.0)
    signs = np.sign(steps[np.abs(steps) > rounding])
    assert np.count_nonzero(np.diff(signs)) <= 1
    below, above = curve.outer_slopes
    if min(below, above) > 1e-6:
        assert (steps >= -rounding).all()
    if max(below, above) < -1e-6:
        assert (steps <= rounding).all()
    slopes = steps / np.diff(np.linspace(train.min(), train.max(), 400))
    assert slopes.min() >= min(below, above) - 1e-6
    assert slopes.max() <= max(below, above) + 1e-6


@SETTINGS
@given(SAMPLES, st.floats(0.01, 100.0), st.floats(-50, 50))
def test_another_unit_gives_the_same_curve(train, scale, shift):
    one = Curve.learn(train)
    other = Curve.learn(scale * train + shift)
    expected = one.basis(train) * scale
    np.testing.assert_allclose(
        other.basis(scale * train + shift)[:, 1], expected[:, 1], atol=1e-6 * scale
    )


def test_huge_offsets_lose_no_more_than_the_numbers_do():
    train = np.random.default_rng(0).normal(size=200)
    far = Curve.learn(train + 1e8).basis(train + 1e8)[:, 1]
    np.testing.assert_allclose(far, Curve.learn(train).basis(train)[:, 1], atol=1e-6)


def test_heavy_tails_stay_exact():
    train = np.append(np.random.default_rng(0).normal(size=200), 1e12)
    curve = Curve.learn(train).weighted((0.0, 1.0))
    steps = np.diff(curve.effect([1e11, 2e11, 3e11]))
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(30),
        np.append(np.zeros(29), 1.0),
        np.repeat([0.0, 1.0], 15),
        np.array([1.0]),
        np.full(5, np.nan),
        np.array([-1e308, 0.0, 1e308]),
    ],
)
def test_without_three_different_quantiles_the_bend_is_nothing(values):
    curve = Curve.learn(values)
    assert not curve.bends
    basis = curve.basis(values)
    assert not basis[:, 1].any()
    known = ~np.isnan(values)
    assert np.array_equal(basis[known, 0], values[known])
    assert len(curve.weighted((2.0, 5.0)).formula().pieces) == 1


def test_a_missing_value_counts_as_the_median():
    values = np.array([4.0, np.nan, 1.0, 2.0, 3.0, 10.0, np.nan])
    curve = Curve.learn(values).weighted((1.0, 0.5))
    assert curve.missing == 3.0
    assert curve.effect([np.nan])[0] == curve.effect([3.0])[0]
    assert np.array_equal(curve.basis(np.array([np.nan])), curve.basis(np.array([3.0])))


@SETTINGS
@given(SAMPLES, st.integers(0, 2**16), st.sampled_from([Curve, Line]))
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(train, seed, kind):
    weight = np.random.default_rng(seed).integers(0, 4, train.size)
    assume(weight.any())
    one = kind.learn(train, weight.astype(float))
    other = kind.learn(repeated(train, weight))
    np.testing.assert_allclose(one.basis(train), other.basis(train), atol=1e-9)
    assert one.missing == pytest.approx(other.missing)


@pytest.mark.parametrize("kind", [Curve, Line])
def test_single_precision_stays(kind):
    values = np.random.default_rng(0).normal(size=50).astype(np.float32)
    values[3] = np.nan
    assert kind.learn(values).basis(values).dtype == np.float32
