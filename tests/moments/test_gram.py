"""StandardisedGram against H of columns that StandardScaler has divided."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from sparseauc.moments import class_moments, gram
from sparseauc.moments.gram import StandardisedGram

STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sp.csr_array}

# ------------------------------------------------------------------------------- naive version


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


def nothing_else():
    return np.empty(0, np.int64)


@pytest.fixture
def few_rows_kept(monkeypatch):
    """Neither form H whole nor keep every row, small as the table is."""
    monkeypatch.setattr(gram, "_WHOLE", 0)
    monkeypatch.setattr(gram, "_ALWAYS_KEPT", 0)


# ------------------------------------------------------------------------------------ equality


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
    moments = class_moments(STORAGES[storage](X), positive, weight if weighted else None)
    actual = StandardisedGram(moments, capacity=d)
    assert_allclose(actual.scale, scale, rtol=1e-10)
    assert_allclose(actual.delta, delta, atol=1e-10)
    assert_allclose(actual.diagonal, h.diagonal(), atol=1e-10)
    assert_allclose(actual.rows(np.arange(d)), h, atol=1e-10)
    for j in range(d):
        assert_allclose(actual.row(j, nothing_else, frozenset()), h[j], atol=1e-10)


def test_columns_that_do_not_vary_are_worth_nothing():
    X, positive, weight = table(0, 60, 9)
    X[:, 1] = 0.0
    X[:, 3] = 0.1
    X[:, 5] = 1e9
    X[:, 7] = 1e6 + np.spacing(1e6) * (np.arange(60) % 2)  # as if computed in two ways
    flat = [1, 3, 5, 7]
    for convert in STORAGES.values():
        actual = StandardisedGram(class_moments(convert(X), positive), capacity=9)
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
    moved = StandardisedGram(class_moments(X + 1e3 * X.std(axis=0), positive), capacity=6)
    assert_allclose(moved.delta, delta, atol=1e-10)
    assert_allclose(moved.rows(np.arange(6)), h, atol=1e-10)


# ---------------------------------------------------------------------------------- bounded room


class Counting:
    """Moments that count which columns of H they were asked for."""

    def __init__(self, moments):
        self.moments = moments
        self.asked = []

    def __getattr__(self, name):
        return getattr(self.moments, name)

    def columns(self, columns):
        self.asked.append(list(columns))
        return self.moments.columns(columns)


@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(3, 25))
def test_never_more_rows_than_there_is_room_for(seed, capacity):
    X, positive, weight = table(0, 50, 30)
    _, h, _ = naive_standardised(X, positive, weight)
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram, "_WHOLE", 0)
        patch.setattr(gram, "_ALWAYS_KEPT", 0)
        actual = StandardisedGram(class_moments(X, positive), capacity)
    for _ in range(60):
        keep = rng.choice(30, size=rng.integers(0, capacity), replace=False)
        if rng.random() < 0.3:
            assert_allclose(actual.rows(keep), h[keep], atol=1e-10)
        kept = [j for j in keep.tolist() if j in actual._slot]
        column = int(rng.integers(30))
        row = actual.row(column, lambda: rng.permutation(30), frozenset(keep.tolist()))
        assert_allclose(row, h[column], atol=1e-10)
        # Those to keep are still there, and the places are no more than allowed, each used once.
        assert all(j in actual._slot for j in kept)
        assert len(actual._slot) <= capacity
        assert len(set(actual._slot.values())) == len(actual._slot)
        for j, slot in actual._slot.items():
            assert_allclose(actual._rows[slot], h[j], atol=1e-10)
    assert actual._rows.shape == (capacity, 30)


def test_the_row_used_longest_ago_makes_room(few_rows_kept):
    X, positive, weight = table(2, 40, 8)
    moments = Counting(class_moments(X, positive))
    actual = StandardisedGram(moments, capacity=3)
    for column in (0, 1, 2, 0, 3):  # 1 is the one not asked for longest when 3 comes
        actual.row(column, nothing_else, frozenset())
    assert moments.asked == [[0], [1], [2], [3]]
    actual.row(0, nothing_else, frozenset())
    assert len(moments.asked) == 4
    row = actual.row(1, nothing_else, frozenset())
    assert moments.asked[-1] == [1]
    _, h, _ = naive_standardised(X, positive, weight)
    assert_allclose(row, h[1], atol=1e-10)


def test_likely_rows_come_along_as_far_as_there_is_room(few_rows_kept):
    X, positive, _ = table(3, 40, 30)
    moments = Counting(class_moments(X, positive))
    actual = StandardisedGram(moments, capacity=10)
    actual.rows(np.arange(4))
    actual.row(20, lambda: np.arange(30), keep=frozenset(range(4)))
    assert moments.asked == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 20]]
    for column in (4, 8, 0, 20):
        actual.row(column, nothing_else, frozenset())
    assert len(moments.asked) == 2


def test_small_tables_are_read_once():
    X, positive, _ = table(4, 40, 30)
    moments = Counting(class_moments(X, positive))
    actual = StandardisedGram(moments, capacity=2)
    for column in range(30):
        actual.row(column, nothing_else, frozenset())
    assert moments.asked == [list(range(30))]


@pytest.mark.filterwarnings("error")
def test_values_too_large_to_square_are_named():
    X, positive, _ = table(5, 20, 6)
    X[:, 4] *= 1e180
    with pytest.raises(ValueError, match="column 4 are too large to square"):
        StandardisedGram(class_moments(X, positive), capacity=6)
    X[:, 4] = X[:, 5] * 1e-200
    with pytest.raises(ValueError, match="column 4 are too small to square"):
        StandardisedGram(class_moments(X, positive), capacity=6)
