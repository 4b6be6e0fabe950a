"""The exchange solver against brute force: every formula, every support, and the global optimum."""

from itertools import combinations
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from inner_kernels import (
    TILE,
    cheapest,
    exchange,
    explained,
    look,
    move_to,
    refactorise,
)
from naive import minimise_on_support
from sparseauc.datasets import make_outbreak
from sparseauc.moments import base, class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.moments.chunked import NotGathered
from sparseauc.solvers import working_set
from sparseauc.solvers.exchange import make_state
from sparseauc.solvers.exchange_columns import ColumnSearch, exchange_path
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.working_set import stages

# ----------------------------------------------------- the oracle: least squares on
# each support


def naive_system(X, y):
    """A and b with F(w) = ‖Aw + b‖², columns standardised: class-centred rows, and δ under them."""
    deviation = X.std(axis=0)
    Z = StandardScaler().fit_transform(
        np.where(deviation > 1e-12 * np.abs(X).max(), X, 0.0)
    )
    means = [Z[y > 0].mean(axis=0), Z[y < 0].mean(axis=0)]
    rows = [
        (Z[y == s] - m) / np.sqrt((y == s).sum())
        for s, m in zip((1, -1), means, strict=True)
    ]
    A = np.vstack([*rows, means[1] - means[0]])
    return A, np.append(np.zeros(len(X)), 1.0)


def naive_minimum(A, b, support, alpha):
    """Least F(w) + alpha‖w‖² over w on the support, which may be linearly dependent."""
    support = list(support)
    if not support:
        return 1.0
    stacked = np.vstack([A[:, support], np.sqrt(alpha) * np.eye(len(support))])
    target = np.append(b, np.zeros(len(support)))
    w = np.linalg.lstsq(stacked, -target, rcond=1e-10)[0]
    return float(np.sum((stacked @ w + target) ** 2))


def problem(seed, n, d, integer=False):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    y[:4] = 1, 1, -1, -1
    X = rng.integers(0, 3, (n, d)) * 1.0 if integer else rng.standard_normal((n, d))
    for j in range(1, d):  # neighbours are correlated
        if not integer:
            X[:, j] = 0.7 * X[:, j - 1] + 0.7 * X[:, j]
    X[y > 0, ::3] += 1.0
    return X, y


def gram_of(X, y):
    return StandardisedGram(class_moments(X, y))


def no_columns(d):
    return np.zeros(d, np.bool_)


# -------------------------------------------------------------------------- the state
# of a sweep


def naive_state(H, delta, alpha, members):
    """M, T, w, q and g from their definitions."""
    M = np.linalg.inv(H[np.ix_(members, members)] + alpha * np.eye(len(members)))
    T = M @ H[members]
    w = -M @ delta[members]
    q = H.diagonal() + alpha - (T * H[members]).sum(axis=0)
    return M, T, w, q, delta + w @ H[members]


def members_of(state):
    return state.units[: state.n_units[0]]


def assert_state(state, alpha):
    k, members = state.n_units[0], state.support[: state.n_units[0]]
    assert sorted(members) == sorted(members_of(state))
    M, T, w, q, g = naive_state(state.H, state.delta, alpha, members)
    outside = np.setdiff1d(np.arange(len(state.H)), members)
    assert_allclose(state.M[:k, :k], M, rtol=1e-9, atol=1e-10)
    assert_allclose(state.T[:k, outside], T[:, outside], rtol=1e-9, atol=1e-10)
    assert_allclose(state.w[:k], w, rtol=1e-9, atol=1e-10)
    assert_allclose(state.q[outside], q[outside], rtol=1e-9, atol=1e-10)
    assert_allclose(state.g[outside], g[outside], rtol=1e-9, atol=1e-10)
    assert np.isinf(state.q[members]).all()
    assert explained(state) == pytest.approx(-state.delta[members] @ w, abs=1e-10)


def wander(state, rng, steps):
    """Join and leave at random."""
    for _ in range(steps):
        k = int(state.n_units[0])
        if k and (k == state.support.size or rng.random() < 0.4):
            exchange(state, int(rng.integers(k)), -1)
        else:
            outside = np.setdiff1d(np.arange(state.q.size), members_of(state))
            exchange(state, -1, int(rng.choice(outside)))


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 12),
    alpha=st.sampled_from([0.0, 0.01, 1.0, 1000.0]),
    steps=st.integers(1, 40),
)
def test_state_equals_its_definition(seed, d, alpha, steps):
    X, y = problem(seed, 60, d)
    state = make_state(gram_of(X, y).gram(), alpha, d - 1, no_columns(d))
    wander(state, np.random.default_rng(seed), steps)
    assert_state(state, alpha)
    refactorise(state)
    assert_state(state, alpha)


def test_state_when_columns_fill_several_tiles():
    X, y = problem(0, 80, TILE * 2 + 7)
    d = X.shape[1]
    for alpha in (0.0, 1.0):
        state = make_state(gram_of(X, y).gram(), alpha, 15, no_columns(d))
        wander(
            state, np.random.default_rng(0), 150
        )  # more than go without a fresh start
        assert_state(state, alpha)
        move_to(state, np.array([3, 600, 1030]))
        assert sorted(members_of(state)) == [3, 600, 1030]
        assert_state(state, alpha)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(12, 30),
    d=st.integers(2, 9),
    alpha=st.sampled_from([0.0, 0.1, 10.0]),
    n_fixed=st.integers(0, 2),
    n_excluded=st.integers(0, 2),
)
def test_every_change_equals_brute_force(seed, n, d, alpha, n_fixed, n_excluded):
    rng = np.random.default_rng(seed)
    X, y = problem(seed, n + d, d)
    A, b = naive_system(X, y)
    fixed, excluded = no_columns(d), no_columns(d)
    fixed[rng.choice(d, min(n_fixed, d), replace=False)] = True
    excluded[rng.choice(d, min(n_excluded, d), replace=False)] = True
    state = make_state(gram_of(X, y).gram(), alpha, d, fixed)
    state.min_q[excluded] = np.inf
    wander(state, rng, int(rng.integers(1, 2 * d)))
    k, members = int(state.n_units[0]), state.support[: state.n_units[0]].tolist()
    M, w, T, g, q = state.M, state.w, state.T, state.g, state.q
    now = naive_minimum(A, b, members, alpha)
    assert 1.0 - explained(state) == pytest.approx(now, abs=1e-10)

    def change(support):
        return naive_minimum(A, b, support, alpha) - now

    outside = [j for j in range(d) if j not in members]
    joins = {j: change([*members, j]) for j in outside}
    leaves = {p: change(members[:p] + members[p + 1 :]) for p in range(k)}
    exchanges = {
        (p, j): change([*members[:p], *members[p + 1 :], j])
        for p in leaves
        for j in joins
    }

    for j, expected in joins.items():
        assert -(g[j] ** 2) / q[j] == pytest.approx(expected, abs=1e-10)
    for p, expected in leaves.items():
        assert w[p] ** 2 / M[p, p] == pytest.approx(expected, abs=1e-10)
    for (p, j), expected in exchanges.items():
        shift = w[p] / M[p, p]
        gain = (g[j] - T[p, j] * shift) ** 2 / (q[j] + T[p, j] ** 2 / M[p, p])
        assert w[p] * shift - gain == pytest.approx(expected, abs=1e-10)

    # The kernels choose among those allowed, and as well as looking at each in turn
    # does.
    joins = {j: value for j, value in joins.items() if not excluded[j]}
    leaves = {p: value for p, value in leaves.items() if not fixed[members[p]]}
    exchanges = {
        (p, j): v for (p, j), v in exchanges.items() if p in leaves and j in joins
    }
    _, gain, _, joined = look(state, 1e-20, True)
    assert (joined >= 0) == bool(joins)
    if joins:
        assert joins[joined] == pytest.approx(min(joins.values()), abs=1e-10)
        assert gain == pytest.approx(-joins[joined], abs=1e-10)
    left = cheapest(state, look(state, np.inf, False)[0])
    assert (left >= 0) == bool(leaves)
    if leaves:
        assert leaves[members.index(state.units[left])] == pytest.approx(
            min(leaves.values()), abs=1e-10
        )
    best = min(exchanges.values(), default=0.0)
    for least in (1e-8, 0.01):
        position, column = look(state, least, False)[2:]
        if position >= 0:
            out = members.index(state.units[position])
            assert exchanges[out, column] == pytest.approx(best, abs=1e-10)
            assert best < -least + 1e-10
        else:
            assert best > -least - 1e-10


# ------------------------------------------------------------------------------- whole
# supports


def assert_exchange_optimal(solution, A, b, alpha, fixed, excluded):
    """No exchange of one column improves the support, by brute force."""
    support = solution.support.tolist()
    tolerance = 1e-9
    assert solution.objective == pytest.approx(
        naive_minimum(A, b, support, alpha), abs=tolerance
    )
    if solution.objective < 1e-6:  # everything is explained, whichever the columns
        return
    candidates = set(range(A.shape[1])) - set(support) - set(excluded)
    for i in set(support) - set(fixed):
        for j in candidates:
            other = [j, *(c for c in support if c != i)]
            value = naive_minimum(A, b, other, alpha)
            assert value > solution.objective - tolerance, f"{i} for {j} at {support}"


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(5, 12),
    d=st.integers(1, 12),
    k=st.integers(1, 12),
    alpha=st.sampled_from([0.0, 1e-3, 0.1, 1.0, 100.0]),
    integer=st.booleans(),
    duplicates=st.integers(0, 3),
    constants=st.integers(0, 2),
    n_fixed=st.integers(0, 3),
    n_excluded=st.integers(0, 3),
    first=st.sampled_from([1, 3, 100]),
)
def test_no_exchange_improves_any_support(
    seed, n, d, k, alpha, integer, duplicates, constants, n_fixed, n_excluded, first
):
    rng = np.random.default_rng(seed)
    X, y = problem(seed, n, d, integer)
    for _ in range(duplicates):
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    X[:, rng.integers(d, size=constants)] = 0.1
    shuffled = rng.permutation(d)
    fixed = np.sort(shuffled[: min(n_fixed, k)])
    excluded = np.sort(
        shuffled[1:][min(n_fixed, k) :][:n_excluded]
    )  # one column at least is left
    k = min(k, d - excluded.size)
    A, b = naive_system(X, y)
    restrictions = Restrictions(fixed, excluded)
    # A working set of a column or a few must come to the same as one of all columns.
    with mock.patch.object(working_set, "_PER_CEILING", 0):
        path = exchange_path(gram_of(X, y), k, alpha, restrictions, first=first)

    sizes = [solution.support.size for solution in path]
    assert sizes == list(range(sizes[0], sizes[-1] + 1))
    assert sizes[-1] <= k
    objectives = np.array([solution.objective for solution in path])
    assert np.all(np.diff(objectives) <= 1e-9)
    for solution in path:
        support = set(solution.support.tolist())
        assert_array_equal(solution.support, sorted(support))
        assert not support & set(excluded.tolist())
        assert_exchange_optimal(solution, A, b, alpha, fixed, excluded)
        # A fixed column is only missing where it would add nothing to the fixed ones
        # there are.
        present = [j for j in fixed.tolist() if j in support]
        assert naive_minimum(A, b, present, alpha) == pytest.approx(
            naive_minimum(A, b, fixed, alpha), abs=1e-9
        )
    if sizes[-1] < k:  # then nothing is left that would help
        everything = np.setdiff1d(np.arange(d), excluded)
        assert objectives[-1] == pytest.approx(
            naive_minimum(A, b, everything, alpha), abs=1e-6
        )


def test_coefficients_minimise_on_the_support():
    X, y = problem(1, 100, 30)
    standardised = class_moments(StandardScaler().fit_transform(X), y)
    for alpha in (0.0, 0.5):
        for solution in exchange_path(gram_of(X, y), 12, alpha):
            w, value = minimise_on_support(standardised, solution.support, alpha)
            assert_allclose(solution.coef, w, atol=1e-10)
            assert solution.objective == pytest.approx(value, abs=1e-12)


def test_same_answer_again():
    X, y = make_outbreak(120, 500, 10, mu=0.5, r=0.3, correlation=0.8, random_state=0)
    first, second = (exchange_path(gram_of(X, y), 15, 0.1) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one.support, other.support)
        assert_array_equal(one.coef, other.coef)


class PartlyGathered(StandardisedGram):
    """Gives the rows of H, and H among the columns, that were gathered."""

    def __init__(self, quadratic):
        super().__init__(quadratic)
        self.known_rows, self.known_block = set(), set()
        self.missing = None

    def rows(self, columns):
        if missing := set(columns.tolist()) - self.known_rows:
            self.missing = self.known_rows, missing
            raise NotGathered(self)
        return super().rows(columns)

    def block(self, columns, others):
        if missing := {*columns.tolist(), *others.tolist()} - self.known_block:
            self.missing = self.known_block, missing
            raise NotGathered(self)
        return super().block(columns, others)

    def gather(self):
        known, missing = self.missing
        assert missing - known
        known |= missing


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 40),
    k=st.integers(1, 12),
    alphas=st.lists(st.sampled_from([0.0, 0.01, 1.0, 100.0]), min_size=1, max_size=3),
    integer=st.booleans(),
    first=st.sampled_from([1, 5, 20]),
    n_fixed=st.integers(0, 2),
    thorough=st.booleans(),
    kept=st.sampled_from([0, 2**23]),
)
def test_what_is_gathered_when_changes_no_list(
    seed, d, k, alphas, integer, first, n_fixed, thorough, kept
):
    X, y = problem(seed, 60, d, integer)
    restrictions = Restrictions(np.arange(min(n_fixed, k, d)))
    gram = PartlyGathered(class_moments(X, y))
    settings = {"first": first, "thorough": thorough}
    with (
        mock.patch.object(working_set, "_PER_CEILING", 0),
        mock.patch.object(base, "_KEPT_NUMBERS", kept),
    ):
        for alpha in alphas:
            expected = exchange_path(
                gram_of(X, y), min(k, d), alpha, restrictions, **settings
            )
            search = ColumnSearch(gram, alpha, restrictions, **settings)
            path = None
            while path is None:
                try:
                    path = search.path(min(k, d))
                except NotGathered as missing:
                    missing.source.gather()
            for one, other in zip(path, expected, strict=True):
                assert_array_equal(one.support, other.support)
                assert_allclose(one.coef, other.coef, atol=1e-12)


@pytest.mark.parametrize("first", [40, 1000])
def test_a_list_does_not_depend_on_the_other_lengths_asked_for(first):
    X, y = make_outbreak(200, 300, 20, mu=0.3, r=0.1, correlation=0.9, random_state=0)
    whole = exchange_path(gram_of(X, y), 60, 0.1, first=first)
    for k_max in (1, 2, 5, 12, 20, 33):
        some = exchange_path(gram_of(X, y), k_max, 0.1, first=first)
        assert len(some) == k_max + 1
        for one, other in zip(some, whole, strict=False):
            assert_array_equal(one.support, other.support)


@pytest.mark.parametrize("kept", [0, 2**23])
def test_equal_columns_outside_the_working_set(monkeypatch, kept):
    # Rows of H are fetched again where there is no room to keep them.
    monkeypatch.setattr(base, "_KEPT_NUMBERS", kept)
    monkeypatch.setattr(working_set, "_PER_CEILING", 0)
    monkeypatch.setattr(working_set, "_ADDED", (1, 1))
    X, y = problem(4, 60, 40)
    # Turned round and in other units: which of the two is found is rounding.
    X = np.hstack([X, -3.7 * X])
    for solution in exchange_path(gram_of(X, y), 12, 0.1, first=5):
        original, times = np.unique(solution.support % 40, return_counts=True)
        first = [
            j + 40 * copy
            for j, t in zip(original, times, strict=True)
            for copy in range(t)
        ]
        assert_array_equal(solution.support, sorted(first))


@pytest.mark.parametrize("thorough", [True, False])
def test_stages_settle_every_length_once_below_their_ceilings(thorough):
    for k_max in (0, 1, 7, 50, 150, 1000):
        found = stages(k_max, thorough=thorough)
        lengths = [k for sizes, ceiling in found for k in sizes if k <= ceiling]
        assert lengths == list(range(len(lengths)))
        assert lengths[-1] >= k_max


def naive_best_exchange(H, delta, support, alpha):
    """Least objective that any single exchange reaches, from H itself."""
    best = np.inf
    for i in support:
        kept = support[support != i]
        for j in np.setdiff1d(np.arange(delta.size), support):
            A = np.append(kept, j)
            w = np.linalg.solve(H[np.ix_(A, A)] + alpha * np.eye(A.size), -delta[A])
            best = min(best, 1.0 + delta[A] @ w)
    return best


@pytest.mark.parametrize("kind", ["float64", "float32", "CSR", "weights"])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_no_exchange_with_any_of_many_columns_improves_a_list(kind, alpha):
    X, y = make_outbreak(150, 120, 8, mu=0.5, r=0.2, correlation=0.9, random_state=3)
    weight = None
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "CSR":
        X[np.abs(X) < 0.5] = 0.0
        X = sp.csr_array(X)
    elif kind == "weights":
        weight = np.random.default_rng(0).integers(0, 3, y.size) * 1.0
    gram = StandardisedGram(class_moments(X, y, weight))
    with mock.patch.object(working_set, "_PER_CEILING", 0):
        path = exchange_path(gram, 12, alpha, first=10)
    H = gram.rows(np.arange(120))
    for solution in path[1:]:
        best = naive_best_exchange(H, gram.delta, solution.support, alpha)
        assert best > solution.objective - (1e-5 if kind == "float32" else 1e-9)


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 10),
    alpha=st.sampled_from([0.0, 0.1, 10.0]),
)
def test_of_equal_columns_the_first_is_chosen(seed, d, alpha):
    X, y = problem(seed, 40, d)
    X = np.hstack(
        [X, X, X]
    )  # with a ridge, twins share a coefficient and both are worth having
    for solution in exchange_path(gram_of(X, y), 6, alpha):
        original, times = np.unique(solution.support % d, return_counts=True)
        first = [
            j + d * copy
            for j, t in zip(original, times, strict=True)
            for copy in range(t)
        ]
        assert_array_equal(solution.support, sorted(first))


# ------------------------------------------------------------------------- the global
# optimum


def naive_best_subsets(H, delta, k_max, alpha):
    """Least objective over all supports of each size 1 … k_max."""
    best = []
    for k in range(1, k_max + 1):
        supports = np.array(list(combinations(range(delta.size), k)))
        blocks = H[supports[:, :, None], supports[:, None, :]] + alpha * np.eye(k)
        sides = delta[supports]
        w = np.linalg.solve(blocks, sides[:, :, None])[:, :, 0]
        best.append(1.0 - (sides * w).sum(axis=1).max())
    return np.array(best)


def test_finds_the_global_optimum_of_nearly_all_small_problems():
    found = []
    for seed in range(300):
        n = (30, 60, 100, 200)[seed % 4]
        X, y = make_outbreak(
            n, 16, 5, mu=0.5, r=0.3, correlation=0.8, random_state=seed
        )
        moments = gram_of(X, y)
        alpha = (0.0, 0.1)[seed % 2]
        optimum = naive_best_subsets(
            moments.rows(np.arange(16)), moments.delta, 5, alpha
        )
        reached = np.array([s.objective for s in exchange_path(moments, 5, alpha)[1:]])
        assert np.all(reached >= optimum - 1e-10)
        found.append(reached <= optimum + 1e-9)
    assert np.mean(found) >= 0.97, f"{np.mean(found):.3f}"


def test_shrinkage_towards_the_largest_differences_of_means():
    X, y = problem(3, 60, 40)
    moments = gram_of(X, y)
    largest = np.argsort(-np.abs(moments.delta))
    for k, solution in enumerate(exchange_path(moments, 10, 1e8)):
        assert_array_equal(solution.support, np.sort(largest[:k]))


# ------------------------------------------------------------------------------- odd
# proportions


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_more_columns_than_rows_can_tell_apart(alpha):
    X, y = make_outbreak(150, 300, 10, mu=0.5, r=0.2, correlation=0.5, random_state=0)
    A, b = naive_system(X, y)
    path = exchange_path(gram_of(X, y), 200, alpha)
    objectives = np.array([solution.objective for solution in path])
    assert np.all(np.diff(objectives) <= 1e-12)
    for solution in path[::20]:
        value = naive_minimum(A, b, solution.support, alpha)
        assert solution.objective == pytest.approx(value, abs=1e-10)
    if alpha == 0:
        # 148 directions within classes and one between them: then everything is
        # explained.
        assert 100 < len(path) - 1 <= 149
        assert abs(objectives[-1]) < 1e-6
    else:
        assert len(path) - 1 == 200
        assert objectives[-1] > naive_minimum(A, b, range(300), alpha)


def test_few_columns_and_many_rows():
    X, y = make_outbreak(20_000, 6, 2, mu=1.0, r=0.01, random_state=0)
    path = exchange_path(gram_of(X, y), 6)
    assert [solution.support.size for solution in path] == [0, 1, 2, 3, 4, 5, 6]
    A, b = naive_system(X, y)
    assert path[-1].objective == pytest.approx(
        naive_minimum(A, b, range(6), 0.0), abs=1e-10
    )


def test_nothing_to_tell_the_classes_apart():
    X, y = np.ones((10, 4)), np.array([1, -1] * 5)
    (only,) = exchange_path(gram_of(X, y), 3, 0.0, Restrictions(fixed=np.array([2])))
    assert only.support.size == only.coef.size == 0
    assert only.objective == 1.0
    # Equal class means: no column is worth choosing either.
    X = np.repeat(np.random.default_rng(0).standard_normal((5, 4)), 2, axis=0)
    assert len(exchange_path(gram_of(X, y), 3)) == 1


def test_a_perfect_column_ends_the_path():
    X, y = problem(5, 40, 8)
    X[:, 4] = y
    path = exchange_path(gram_of(X, y), 5)
    assert len(path) == 2
    assert_array_equal(path[1].support, [4])
    assert path[1].objective == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "design", ["near copies", "indicators", "low rank", "random walk"]
)
def test_collinear_columns_neither_crash_nor_mislead(design, dtype):
    # Rounding makes all that is left of dependent columns: chosen by it, supports would
    # be singular, the updates lose every digit, and exchanges go round in circles.
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(10, 60)), 40
        y = np.where(rng.random(n) < 0.3, 1, -1)
        y[:4] = 1, 1, -1, -1
        noise = rng.standard_normal((n, d))
        X = {
            "near copies": noise[:, np.arange(d) // 2]
            + 10.0 ** -rng.integers(0, 9, d) * noise,
            "indicators": np.eye(d)[rng.integers(0, d, n)],
            "low rank": noise[:, :3] @ rng.standard_normal((3, d)) + 1e-5 * noise,
            "random walk": noise.cumsum(axis=1),
        }[design].astype(dtype)
        X[y > 0, :10] += 1
        A, b = naive_system(X.astype(np.float64), y)
        for alpha in (0.0, 1e-9, 1e-6):
            path = exchange_path(gram_of(X, y), 20, alpha)
            objectives = [solution.objective for solution in path]
            assert np.all(np.diff(objectives) <= 0)
            limit = 1e-7 if dtype == np.float64 else 1e-3
            for solution in path[1::5]:
                value = naive_minimum(A, b, solution.support, alpha)
                assert solution.objective == pytest.approx(value, abs=limit)


@pytest.mark.filterwarnings("error")
def test_constant_columns_are_never_chosen():
    X, y = problem(0, 40, 700)
    X[:, 5:20] = 1.0
    path = exchange_path(gram_of(X, y), 10)
    assert not np.isin(path[-1].support, np.arange(5, 20)).any()
