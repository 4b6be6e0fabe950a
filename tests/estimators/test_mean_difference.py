"""Mean difference: equal to the loop over columns, exact with weights, sensible at the edges."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparseauc.datasets import make_outbreak
from sparseauc.estimators._mean_difference import (
    mean_difference,
    standardised_differences,
)
from sparseauc.moments import ClassMoments, class_moments

# --------------------------------------------------------------------- the oracle,
# column by column


def naive_mean_difference(X, y, k):
    z, coef = [], []
    for column in X.T:
        positive, negative = column[y > 0], column[y < 0]
        difference = positive.mean() - negative.mean()
        deviation = np.sqrt((positive.var() + negative.var()) / 2)
        deviation = max(deviation, abs(difference) / 1000)
        z.append(difference / deviation)
        coef.append(difference / deviation**2)
    order = sorted(range(len(z)), key=lambda j: (-abs(z[j]), j))
    w = np.zeros(len(z))
    w[order[:k]] = np.array(coef)[order[:k]]
    return w


def problem(seed, n=40, d=12):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    y[:2] = 1, -1
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d)
    X[rng.random((n, d)) < 0.4] = 0.0
    X[:2] = rng.standard_normal((2, d))  # no column is constant
    return X, y, rng.integers(0, 4, n) * 1.0


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 14))
def test_equals_the_naive_algorithm(seed, k):
    X, y, _ = problem(seed)
    expected = naive_mean_difference(X, y, k)
    for table in (X, np.asfortranarray(X), sp.csr_array(X)):
        result = mean_difference(class_moments(table, y), k)
        np.testing.assert_allclose(result, expected, rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_weights_are_repetitions(seed):
    X, y, weight = problem(seed)
    weight[:2] = 1.0
    repeated = np.repeat(np.arange(y.size), weight.astype(int))
    expected = naive_mean_difference(X[repeated], y[repeated], 5)
    for table in (X, sp.csr_array(X)):
        result = mean_difference(class_moments(table, y, weight), 5)
        np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_merged_summaries_are_enough():
    X, y, _ = problem(0)
    parts = [class_moments(X[i::3], y[i::3]).summary() for i in range(3)]
    merged = mean_difference(ClassMoments.merge(parts), 4)
    np.testing.assert_allclose(merged, naive_mean_difference(X, y, 4), rtol=1e-9)


# ------------------------------------------------------------------------ what it means


def test_differences_order_columns_by_their_auc():
    data = make_outbreak(n=40_000, d=30, k=30, mu=0.5, r=0.3, random_state=0)
    scales = np.linspace(0.5, 3.0, 30)
    # Noise of another size in each column, so that the columns differ in what they
    # tell.
    X = data.X + np.random.default_rng(1).standard_normal(data.X.shape) * scales
    z = standardised_differences(class_moments(X, data.y))
    np.testing.assert_allclose(z, 0.5 / np.sqrt(1 + scales**2), atol=0.05)


def test_nothing_beats_it_on_independent_columns():
    train = make_outbreak(n=20_000, d=40, k=8, mu=0.5, r=0.2, random_state=0)
    coef = mean_difference(class_moments(train.X, train.y), 8)
    np.testing.assert_array_equal(np.flatnonzero(coef), train.support)
    # The best direction is the shift over the variance: all ones up to a factor here.
    cosine = coef.sum() / np.sqrt(8 * coef @ coef)
    assert cosine > 0.999


def test_both_classes_weigh_the_same():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20_000) % 20 == 0, 1, -1)
    X = rng.standard_normal((20_000, 1)) * np.where(y > 0, 3.0, 1.0)[:, None]
    X[y > 0] += 1.0
    z = standardised_differences(class_moments(X, y))
    # The variance is (9 + 1)/2; weighted by rows it would be 1.4.
    assert z[0] == pytest.approx(1 / np.sqrt(5), abs=0.05)


# ---------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_perfect_separators_come_first(kind):
    X, y, _ = problem(3, d=20)
    X = X / X.std(axis=0)
    X[:, 7] = np.where(y > 0, 0.1, 0.3)  # rounding leaves a deviation of 1e-17 or so
    X[:, 13] = np.where(y > 0, 0.0, -1e-5)
    moments = class_moments(kind(X), y)
    result = mean_difference(moments, 2)
    np.testing.assert_array_equal(np.flatnonzero(result), [7, 13])
    np.testing.assert_allclose(result[[7, 13]], [1e6 / -0.2, 1e6 / 1e-5], rtol=1e-6)
    one = mean_difference(moments, 1)
    np.testing.assert_array_equal(
        np.flatnonzero(one), [7]
    )  # of equals, the smaller number
    scores = X @ mean_difference(moments, 10)
    assert scores[y > 0].min() > scores[y < 0].max()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_constant_columns_are_never_chosen(kind):
    X, y, weight = problem(1)
    X[:, 2], X[:, 5], X[:, 6] = 0.0, 0.1, 1e15 + 0.3
    for weights in (None, weight + 0.1):
        result = mean_difference(class_moments(kind(X), y, weights), 12)
        assert set(range(12)) - set(np.flatnonzero(result).tolist()) == {2, 5, 6}


def test_the_smaller_column_wins_a_tie():
    X, y, _ = problem(2)
    X = np.hstack(
        [X] * 3
    )  # every column three times, at all places of a vector register
    moments = class_moments(X, y)
    best = int(np.argmax(np.abs(standardised_differences(moments)[:12])))
    np.testing.assert_array_equal(np.flatnonzero(mean_difference(moments, 1)), [best])
    np.testing.assert_array_equal(
        np.flatnonzero(mean_difference(moments, 2)), [best, best + 12]
    )


def test_the_scale_of_a_column_does_not_matter():
    X, y, _ = problem(4)
    scales = 2.0 ** np.arange(-30, 30, 5)
    plain = mean_difference(class_moments(X, y), 6)
    scaled = mean_difference(class_moments(X * scales + 7.0 * scales, y), 6)
    np.testing.assert_array_equal(scaled != 0, plain != 0)
    np.testing.assert_allclose(scaled * scales, plain, rtol=1e-6)


def test_values_that_cannot_be_squared_are_named():
    X, y, _ = problem(0)
    X[:, 4] *= 1e200
    with pytest.raises(ValueError, match="column 4 are too large to square"):
        mean_difference(class_moments(X, y), 3)


def test_one_class_is_refused():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match="no negative rows"):
        mean_difference(class_moments(X[y > 0], y[y > 0]), 3)
