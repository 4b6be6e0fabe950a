"""sparse_auc_path against enumeration, and the scale, storage and bounds of what it returns."""

from itertools import chain, combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from sparseauc import Limits, sparse_auc_path
from sparseauc.datasets import make_outbreak

# --------------------------------------------------------- the oracle: all supports,
# one by one


def naive_best_support(X, y, k, alpha, fixed=(), excluded=(), groups=None):
    """Support of k columns, or groups, with least F(w) + alpha‖w‖², and that value."""
    Z = StandardScaler().fit_transform(X)
    positive, negative = Z[y > 0], Z[y < 0]
    delta = negative.mean(axis=0) - positive.mean(axis=0)
    h = (
        np.cov(positive.T, bias=True)
        + np.cov(negative.T, bias=True)
        + np.outer(delta, delta)
    )
    free = [j for j in range(X.shape[1]) if j not in {*fixed, *excluded}]
    best = (np.inf, None)
    for others in combinations(groups or free, k - len(fixed)):
        support = sorted([*fixed, *(others if groups is None else chain(*others))])
        block = h[np.ix_(support, support)] + alpha * np.eye(len(support))
        value = 1.0 - delta[support] @ np.linalg.solve(block, delta[support])
        best = min(best, (value, support))
    return best[1], best[0]


def table(seed, n=80, d=8, correlation=0.3):
    return make_outbreak(
        n, d, 3, mu=0.7, r=0.3, correlation=correlation, random_state=seed
    )


@given(
    seed=st.integers(0, 2**31),
    d=st.integers(2, 7),
    fixed=st.sampled_from([(), (1,)]),
    excluded=st.sampled_from([(), (0,)]),
)
def test_equals_exhaustive_search(seed, d, fixed, excluded):
    X, y = make_outbreak(60, d, 2, mu=0.7, r=0.3, correlation=0.3, random_state=seed)
    alphas = (0.0, 0.5, 20.0)
    path = sparse_auc_path(
        X, y, alphas=alphas, limits=Limits(always_include=fixed, exclude=excluded)
    )
    assert_array_equal(path.ks, np.arange(1, d - len(excluded) + 1))
    assert path.objectives.shape == (3, path.ks.size)
    for a, alpha in enumerate(alphas):
        for i, k in enumerate(path.ks.tolist()):
            support, value = naive_best_support(X, y, k, alpha, fixed, excluded)
            # Exchanges may end in a support that only a double exchange would improve;
            # at this size and correlation they do not.
            assert path.objectives[a, i] == pytest.approx(value, abs=1e-9)
            assert path.support(k, alpha).tolist() == support


# -------------------------------------------------------------------------------- scale


def test_coefficients_are_on_the_original_scale():
    X, y = table(0)
    X = X * np.logspace(-6, 6, 8) + np.linspace(-5, 5, 8)
    scaler = StandardScaler().fit(X)
    path = sparse_auc_path(X, y, alphas=(0.1, 10.0))
    assert_allclose(path.scale, scaler.scale_, rtol=1e-10)
    for a, alpha in enumerate(path.alphas):
        for i, k in enumerate(path.ks):
            solution = path.solutions[a][i]
            standardised = scaler.transform(X)[:, solution.support] @ solution.coef
            difference = X @ path.coef(k, alpha) - standardised
            assert np.ptp(difference) < 1e-8
            assert np.count_nonzero(path.coef(k, alpha)) == k


def test_units_of_columns_do_not_matter():
    X, y = table(1, d=20)
    factors = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 20)
    path, rescaled = (
        sparse_auc_path(table, y, alphas=(1.0,)) for table in (X, X * factors)
    )
    for k in path.ks:
        assert_array_equal(path.support(k, 1.0), rescaled.support(k, 1.0))
        assert_allclose(path.coef(k, 1.0), rescaled.coef(k, 1.0) * factors, rtol=1e-7)


def test_columns_are_those_of_any_list():
    X, y = table(2, d=30)
    path = sparse_auc_path(X, y, ks=[1, 3, 7], alphas=(0.1, 1.0, 10.0))
    supports = [path.support(k, alpha) for alpha in path.alphas for k in path.ks]
    assert_array_equal(path.columns, np.unique(np.concatenate(supports)))


def test_a_large_ridge_chooses_the_largest_differences_of_means():
    X, y = table(3, d=40, correlation=0.9)
    Z = StandardScaler().fit_transform(X)
    difference = np.abs(Z[y > 0].mean(axis=0) - Z[y < 0].mean(axis=0))
    order = np.argsort(-difference)
    path = sparse_auc_path(X, y, ks=range(1, 16), alphas=(0.1, 1e6, 1e9))
    for k in path.ks.tolist():
        for alpha in (1e6, 1e9):
            assert_array_equal(path.support(k, alpha), np.sort(order[:k]))
    assert any(set(path.support(k, 0.1)) != set(order[:k]) for k in path.ks.tolist())


# ------------------------------------------------------------------------------ storage


@pytest.mark.parametrize("weighted", [False, True])
def test_storage_does_not_matter(weighted):
    X, y = make_outbreak(150, 500, 10, mu=0.5, r=0.2, correlation=0.5, random_state=0)
    X[np.abs(X) < 0.7] = 0.0
    weight = np.random.default_rng(0).integers(1, 4, 150) * 1.0 if weighted else None
    read_only = X.copy()
    read_only.flags.writeable = False
    expected = sparse_auc_path(X, y, range(1, 21), (0.1, 10.0), sample_weight=weight)
    for stored in (np.asfortranarray(X), read_only, sp.csr_array(X), sp.csr_matrix(X)):
        path = sparse_auc_path(
            stored, y, range(1, 21), (0.1, 10.0), sample_weight=weight
        )
        assert_allclose(path.objectives, expected.objectives, atol=1e-8)
        for alpha in (0.1, 10.0):
            for k in (1, 7, 20):
                assert_array_equal(path.support(k, alpha), expected.support(k, alpha))
                assert_allclose(path.coef(k, alpha), expected.coef(k, alpha), atol=1e-8)


def test_float32_is_close():
    X, y = make_outbreak(300, 60, 5, mu=0.7, r=0.2, random_state=0)
    double, single = (
        sparse_auc_path(X.astype(t), y, ks=[5]) for t in (np.float64, np.float32)
    )
    assert_array_equal(single.support(5, 1.0), double.support(5, 1.0))
    assert_allclose(single.coef(5, 1.0), double.coef(5, 1.0), rtol=1e-4)


def test_input_is_left_alone():
    X, y = table(4)
    before = X.copy()
    sparse_auc_path(X, y)
    assert_array_equal(X, before)


def test_weights_are_repetitions():
    X, y = table(5)
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    weighted = sparse_auc_path(X, y, sample_weight=weight)
    repeated = sparse_auc_path(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for k in weighted.ks:
        assert_array_equal(weighted.support(k, 1.0), repeated.support(k, 1.0))
        assert_allclose(weighted.coef(k, 1.0), repeated.coef(k, 1.0), atol=1e-10)


# ------------------------------------------------------------------------------- bounds


def test_sizes_are_sorted_and_come_once():
    X, y = table(6)
    path = sparse_auc_path(X, y, ks=[5, 2, 5], alphas=0.3)
    assert path.ks.tolist() == [2, 5]
    assert path.alphas.tolist() == [0.3]
    assert path.support(2, 0.3).size == 2
    with pytest.raises(KeyError, match=r"k=3, alpha=0.3 is not on the path"):
        path.support(3, 0.3)
    with pytest.raises(KeyError, match="alpha=1"):
        path.coef(2, 1.0)


def test_default_sizes():
    X, y = make_outbreak(40, 70, 3, random_state=0)
    assert sparse_auc_path(X, y).ks.tolist() == list(range(1, 51))
    assert sparse_auc_path(X[:, :6], y, limits=Limits(exclude=[2])).ks.tolist() == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert sparse_auc_path(
        X[:, :6], y, limits=Limits(always_include=[4, 2])
    ).ks.tolist() == [
        2,
        3,
        4,
        5,
        6,
    ]


def test_supports_end_where_everything_is_explained():
    X, y = table(7)
    X[:, 3] = y
    path = sparse_auc_path(X, y, ks=[1, 2, 8], alphas=(0.0,))
    for k in (1, 2, 8):
        assert path.support(k, 0.0).tolist() == [3]
    assert_allclose(path.objectives, 0.0, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_columns_always_included_and_never(alpha):
    X, y = table(8, d=12)
    X[:, 0] = 3.0
    X[:, 1] = X[:, 2]
    path = sparse_auc_path(
        X,
        y,
        ks=range(4, 9),
        alphas=(alpha,),
        limits=Limits(always_include=[0, 1, 2], exclude=[5, 6]),
    )
    for k in path.ks.tolist():
        support = set(path.support(k, alpha).tolist())
        assert not support & {5, 6}
        # A constant takes no coefficient, nor does a copy without a ridge.
        assert 1 in support
        assert (2 in support) == (alpha > 0)
        assert 0 not in support
        assert len(support) == k
        assert np.isfinite(path.coef(k, alpha)).all()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"ks": [0, 3]}, "ks must be numbers of 1 or more"),
        ({"ks": []}, "ks must be numbers of 1 or more"),
        ({"ks": [2.5]}, "ks holds 2.5, which is no whole number"),
        ({"ks": ["2"]}, "ks must be a list of whole numbers"),
        ({"ks": [9]}, "k=9 is more than the 8 columns there are"),
        (
            {"ks": [8], "limits": Limits(exclude=[1])},
            "k=8 is more than the 7 columns there are",
        ),
        (
            {"ks": [1], "limits": Limits(always_include=[1, 2])},
            "k=1 is less than the 2 columns always included",
        ),
        (
            {"limits": Limits(always_include=[8])},
            "always_include names column 8; there are 8",
        ),
        ({"limits": Limits(exclude=[-1])}, "exclude names column -1; there are 8"),
        (
            {"ks": [6], "limits": Limits(column_groups=[0, 0, 0, 0, 1, 2, 3, 4])},
            "k=6 is more than the 5 columns there are",
        ),
        ({"alphas": ()}, "alphas must be finite numbers of 0 or more"),
        ({"alphas": (1.0, -0.5)}, "alphas must be finite numbers of 0 or more"),
        ({"alphas": (np.nan,)}, "alphas must be finite numbers of 0 or more"),
        ({"alphas": (np.inf,)}, "alphas must be finite numbers of 0 or more"),
    ],
)
def test_arguments_are_checked(arguments, match):
    X, y = table(9)
    with pytest.raises(ValueError, match=match):
        sparse_auc_path(X, y, **arguments)


def test_lists_of_whole_groups_equal_exhaustive_search():
    labels, alphas = np.array([0, 0, 0, 1, 2, 2, 3, 4]), (0.01, 1.0)
    members = [np.flatnonzero(labels == group).tolist() for group in range(5)]
    for seed in range(5):
        X, y = table(seed)
        path = sparse_auc_path(X, y, alphas=alphas, limits=Limits(column_groups=labels))
        assert_array_equal(path.ks, np.arange(1, 6))
        for a, alpha in enumerate(alphas):
            for i, k in enumerate(path.ks.tolist()):
                support, value = naive_best_support(X, y, k, alpha, groups=members)
                assert path.objectives[a, i] == pytest.approx(value, abs=1e-9)
                assert path.support(k, alpha).tolist() == support


def test_one_class_is_refused():
    X, y = table(10)
    with pytest.raises(ValueError, match="no negative rows"):
        sparse_auc_path(X, np.ones_like(y))
