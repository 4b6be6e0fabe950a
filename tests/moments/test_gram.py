"""StandardisedGram against H of columns that StandardScaler has divided."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram

STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sp.csr_array}

# ------------------------------------------------------------------------------- naive
# version


def naive_standardised(X, positive, weight):
    """δ, H and the deviations, from a table that really is standardised."""
    scaler = StandardScaler().fit(X, sample_weight=weight)
    Z = scaler.transform(X)
    means, covariances = [], []
    for rows in (positive, ~positive):
        share = weight[rows] / weight[rows].sum()
        means.append(share @ Z[rows])
        centred = Z[rows] - means[-1]
        covariances.append((share[:, None] * centred).T @ centred)
    delta = means[1] - means[0]
    return delta, sum(covariances) + np.outer(delta, delta), scaler.scale_


def table(seed, n, d, density=1.0, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(-3, 3, d)
    X[rng.random((n, d)) >= density] = 0.0
    positive = rng.random(n) < 0.4
    positive[:4] = True, True, False, False
    weight = rng.integers(1, 4, n) * 0.5 if weighted else np.ones(n)
    return X, positive, weight


# ----------------------------------------------------------------------------- equality


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(6, 40),
    d=st.integers(1, 12),
    density=st.sampled_from([1.0, 0.4]),
    weighted=st.booleans(),
    storage=st.sampled_from(list(STORAGES)),
)
def test_equals_h_of_standardised_columns(seed, n, d, density, weighted, storage):
    X, positive, weight = table(seed, n, d, density, weighted)
    delta, h, scale = naive_standardised(X, positive, weight)
    moments = class_moments(
        STORAGES[storage](X), positive, weight if weighted else None
    )
    actual = StandardisedGram(moments)
    assert_allclose(actual.scale, scale, rtol=1e-10)
    assert_allclose(actual.delta, delta, atol=1e-10)
    assert_allclose(actual.diagonal, h.diagonal(), atol=1e-10)
    assert_allclose(actual.rows(np.arange(d)), h, atol=1e-10)


def test_columns_that_do_not_vary_are_worth_nothing():
    X, positive, weight = table(0, 60, 9)
    X[:, 1] = 0.0
    X[:, 3] = 0.1
    X[:, 5] = 1e9
    X[:, 7] = 1e6 + np.spacing(1e6) * (np.arange(60) % 2)  # as if computed in two ways
    flat = [1, 3, 5, 7]
    for convert in STORAGES.values():
        actual = StandardisedGram(class_moments(convert(X), positive))
        assert_array_equal(actual.delta[flat], 0.0)
        assert_array_equal(actual.diagonal[flat], 0.0)
        assert_array_equal(actual.scale[flat], 1.0)
        rest = np.setdiff1d(np.arange(9), flat)
        delta, h, _ = naive_standardised(X[:, rest], positive, weight)
        assert_allclose(actual.delta[rest], delta, atol=1e-10)
        assert_allclose(actual.rows(rest)[:, rest], h, atol=1e-10)


def test_columns_may_lie_far_from_zero_and_differ_in_scale():
    X, positive, weight = table(1, 200, 6)
    delta, h, _ = naive_standardised(X, positive, weight)
    moved = StandardisedGram(class_moments(X + 1e3 * X.std(axis=0), positive))
    assert_allclose(moved.delta, delta, atol=1e-10)
    assert_allclose(moved.rows(np.arange(6)), h, atol=1e-10)


@given(seed=st.integers(0, 2**32 - 1), storage=st.sampled_from(list(STORAGES)))
def test_a_block_is_part_of_the_rows(seed, storage):
    X, positive, weight = table(seed, 30, 12, density=0.6, weighted=True)
    actual = StandardisedGram(class_moments(STORAGES[storage](X), positive, weight))
    rng = np.random.default_rng(seed)
    some, others = (rng.permutation(12)[: rng.integers(1, 12)] for _ in range(2))
    assert_allclose(
        actual.block(some, others), actual.rows(some)[:, others], atol=1e-10
    )
    assert_allclose(actual.block(some, some), actual.rows(some)[:, some], atol=1e-10)


@pytest.mark.filterwarnings("error")
def test_values_too_large_to_square_are_named():
    X, positive, _ = table(5, 20, 6)
    X[:, 4] *= 1e180
    with pytest.raises(ValueError, match="column 4 are too large to square"):
        StandardisedGram(class_moments(X, positive))
    X[:, 4] = X[:, 5] * 1e-200
    with pytest.raises(ValueError, match="column 4 are too small to square"):
        StandardisedGram(class_moments(X, positive))
