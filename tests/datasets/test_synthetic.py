"""The outbreak simulation against its own definition: dense Σ, sample moments, sampled AUC."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz
from scipy.stats import norm

from sparseauc.datasets import OutbreakData, make_outbreak
from sparseauc.datasets import _synthetic as synthetic

CORRELATIONS = [0.0, 0.8, -0.6]


def dense_covariance(d, rho):
    """Σ written out, straight from the docstring: the oracle of every O(d) formula."""
    # 0 ** 0 is 1 in NumPy too, so ρ = 0 gives the identity.
    return toeplitz(rho ** np.arange(d))


def auc_and_standard_error(score, y):
    """Sample AUC with DeLong's standard error, for scores without ties."""
    positives, negatives = np.sort(score[y == 1]), np.sort(score[y == -1])
    below = np.searchsorted(negatives, positives) / len(negatives)
    above = 1 - np.searchsorted(positives, negatives) / len(positives)
    variance = below.var(ddof=1) / len(positives) + above.var(ddof=1) / len(negatives)
    return below.mean(), math.sqrt(variance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rho", CORRELATIONS)
def test_sample_moments_match_the_design(rho, dtype):
    d, k, mu = 8, 3, 0.7
    data = make_outbreak(
        40_000,
        d,
        k,
        mu,
        0.4,
        correlation=rho,
        random_state=1,
        dtype=dtype,
    )
    sigma = dense_covariance(d, rho)
    delta = np.zeros(d)
    delta[data.support] = mu
    for label, mean in ((1, delta), (-1, np.zeros(d))):
        rows = data.X[data.y == label].astype(np.float64)
        # Each of some 70 entries a design is allowed 5 standard errors: √(1/m) for a
        # mean of unit variance, √((1 + Σ_ij²)/m) for a covariance of normal columns.
        assert np.all(np.abs(rows.mean(axis=0) - mean) < 5 / math.sqrt(len(rows)))
        error = np.abs(np.cov(rows, rowvar=False) - sigma)
        assert np.all(error < 5 * np.sqrt((1 + sigma**2) / len(rows)))


@pytest.mark.parametrize("d", [1, 2, 3, 31])
@pytest.mark.parametrize("rho", CORRELATIONS)
def test_bayes_direction_and_auc_match_a_dense_solve(rho, d):
    data = make_outbreak(
        4,
        d,
        min(d, 12),
        0.4,
        correlation=rho,
        random_state=d,
    )
    delta = np.zeros(d)
    delta[data.support] = 0.4
    expected = np.linalg.solve(dense_covariance(d, rho), delta)
    np.testing.assert_allclose(data.coef, expected, rtol=1e-12, atol=1e-12)
    expected_auc = norm.cdf(math.sqrt(delta @ expected / 2))
    assert data.bayes_auc == pytest.approx(expected_auc, abs=1e-12)


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_bayes_auc_is_what_sampling_gives(rho):
    data = make_outbreak(
        20_000,
        40,
        6,
        0.3,
        0.3,
        correlation=rho,
        random_state=2,
    )
    auc, error = auc_and_standard_error(data.X @ data.coef, data.y)
    assert abs(auc - data.bayes_auc) < 4 * error
    assert error < 0.005  # or the line above would not say much


def test_with_correlation_the_shifted_columns_alone_are_not_enough():
    data = make_outbreak(20_000, 40, 6, r=0.5, correlation=0.8, random_state=3)
    assert np.count_nonzero(data.coef) > data.k
    delta_auc, error = auc_and_standard_error(
        data.X[:, data.support].sum(axis=1), data.y
    )
    assert delta_auc < data.bayes_auc - 4 * error


@pytest.mark.parametrize(
    ("k", "auc"), [(20, 0.829), (40, 0.910), (60, 0.950), (80, 0.971)]
)
def test_the_papers_tasks_have_their_known_bayes_auc(k, auc):
    data = make_outbreak(n=20, k=k, random_state=0)
    assert round(data.bayes_auc, 3) == auc
    assert data.bayes_auc == pytest.approx(
        norm.cdf(0.3 * math.sqrt(k) / math.sqrt(2)), abs=1e-14
    )


def test_defaults_are_the_papers():
    data = make_outbreak(random_state=0)
    assert data.X.shape == (1000, 1000)
    assert data.X.dtype == np.float64
    assert int(np.sum(data.y == 1)) == 50
    assert (data.k, data.mu, data.r, data.correlation) == (20, 0.3, 0.05, 0.0)


def test_it_unpacks_into_X_and_y():
    data = make_outbreak(10, 5, 2, random_state=0)
    X, y = data
    assert X is data.X
    assert y is data.y
    assert isinstance(data, OutbreakData)
    with pytest.raises(AttributeError):
        data.mu = 1.0
    assert "bayes_auc=" in repr(data)
    assert "array" not in repr(data)


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_same_seed_same_data(rho):
    kwargs = {"correlation": rho}
    first = make_outbreak(30, 12, 3, random_state=7, **kwargs)
    for seed in (7, np.int64(7), np.random.default_rng(7)):
        again = make_outbreak(30, 12, 3, random_state=seed, **kwargs)
        np.testing.assert_array_equal(again.X, first.X)
        np.testing.assert_array_equal(again.y, first.y)
        np.testing.assert_array_equal(again.support, first.support)
    other = make_outbreak(30, 12, 3, random_state=8, **kwargs)
    assert not np.any(other.X == first.X)


def test_random_states_that_move_on():
    for make in (np.random.default_rng, np.random.RandomState):
        rng = make(7)
        first, second = (make_outbreak(30, 12, 3, random_state=rng) for _ in range(2))
        assert not np.any(first.X == second.X)
        again = make_outbreak(30, 12, 3, random_state=make(7))
        np.testing.assert_array_equal(again.X, first.X)
    first, second = make_outbreak(30, 12, 3), make_outbreak(30, 12, 3)
    assert not np.any(first.X == second.X)


def test_the_size_of_the_work_space_does_not_change_the_data(monkeypatch):
    kwargs = {"correlation": 0.5, "random_state": 0}
    whole = make_outbreak(50, 11, 3, **kwargs)
    monkeypatch.setattr(synthetic, "_CHUNK_ELEMENTS", 40)
    np.testing.assert_array_equal(make_outbreak(50, 11, 3, **kwargs).X, whole.X)


def test_float32_stays_float32():
    data = make_outbreak(9, 7, 2, correlation=0.5, random_state=0, dtype="float32")
    assert data.X.dtype == np.float32
    assert data.coef.dtype == np.float64


def test_without_shuffling_positives_come_first():
    data = make_outbreak(20, 5, 2, r=0.25, shuffle=False, random_state=0)
    np.testing.assert_array_equal(data.y, [1] * 5 + [-1] * 15)


def test_shuffling_spreads_the_positives():
    y = make_outbreak(1000, 1, 0, r=0.5, random_state=0).y
    # The first half holds 250 ± 8 of the 500 positives (hypergeometric).
    assert abs(int(np.sum(y[:500] == 1)) - 250) < 4 * 8


@pytest.mark.parametrize(
    ("n", "r", "expected"),
    [
        (100, 0.29, 29),  # 100 * 0.29 < 29 in floating point
        (1000, 0.29, 290),
        (1000, 0.05, 50),
        (3, 1 / 3, 1),
        (1000, 0.0509, 50),
        (10, 0.01, 1),  # at least one positive
        (2, 0.99, 1),  # at least one negative
        (10, 0.999, 9),
    ],
)
def test_number_of_positives(n, r, expected):
    y = make_outbreak(n, 1, 1, r=r, random_state=0).y
    assert int(np.sum(y == 1)) == expected


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40),
    d=st.integers(1, 40),
    share=st.floats(0, 1),
    percent=st.integers(1, 99),
    rho=st.floats(0, 0.99),
    shuffle=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_shapes_and_counts(n, d, share, percent, rho, shuffle, seed):
    k = round(share * d)
    data = make_outbreak(
        n,
        d,
        k,
        r=percent / 100,
        correlation=rho,
        shuffle=shuffle,
        random_state=seed,
    )
    assert data.X.shape == (n, d)
    assert np.isfinite(data.X).all()
    assert data.y.shape == (n,)
    assert data.y.dtype == np.int64
    # Integer arithmetic is the exact floor that the float product must reach.
    assert int(np.sum(data.y == 1)) == min(max(n * percent // 100, 1), n - 1)
    assert set(data.y.tolist()) == {-1, 1}
    assert data.support.shape == (k,)
    assert np.all(np.diff(data.support) > 0)
    assert np.all((data.support >= 0) & (data.support < d))
    assert data.coef.shape == (d,)
    assert 0.5 <= data.bayes_auc <= 1.0
    assert (data.bayes_auc == 0.5) == (k == 0)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"n": 1}, ValueError, "n == 1, must be >= 2"),
        ({"n": 10.0}, TypeError, "n must be an instance of int"),
        ({"d": 0}, ValueError, "d == 0, must be >= 1"),
        ({"k": -1}, ValueError, "k == -1, must be >= 0"),
        ({"k": 6}, ValueError, "k == 6, must be <= 5"),
        (
            {"mu": math.nan},
            ValueError,
            "mu must lie strictly between -inf and inf, got nan",
        ),
        (
            {"mu": math.inf},
            ValueError,
            "mu must lie strictly between -inf and inf, got inf",
        ),
        ({"mu": None}, TypeError, "mu must be a number, got None"),
        (
            {"r": 0.0},
            ValueError,
            "r, the share of positives, must lie strictly between 0 and 1",
        ),
        ({"r": 1.0}, ValueError, "strictly between 0 and 1, got 1.0"),
        ({"r": math.nan}, ValueError, "strictly between 0 and 1, got nan"),
        (
            {"correlation": 1.0},
            ValueError,
            "correlation must lie strictly between -1 and 1",
        ),
        (
            {"correlation": "high"},
            TypeError,
            "correlation must be a number, got 'high'",
        ),
        (
            {"dtype": np.int64},
            ValueError,
            "dtype must be float64 or float32, got int64",
        ),
        ({"random_state": -1}, ValueError, "non-negative"),
        ({"random_state": "7"}, TypeError, "SeedSequence"),
    ],
)
def test_bad_parameters_are_named(kwargs, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make_outbreak(**{"n": 10, "d": 5, "k": 2} | kwargs)
