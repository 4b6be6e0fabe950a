"""Certificates: never above the optimum that enumeration finds, and closed where they say so."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.solvers import certificate
from sparseauc.solvers._perspective import enumerate_supports, prove
from sparseauc.solvers.certificate import bound_all, certify
from sparseauc.solvers.exchange import Solution
from sparseauc.solvers.exchange_columns import exchange_path
from sparseauc.solvers.exchange_groups import Groups, GroupSearch
from sparseauc.solvers.restrictions import Restrictions

pytestmark = pytest.mark.slow


def lower_bound(gram, k, alpha=0.0, restrictions=None, *, upper=np.inf):
    restrictions = restrictions or Restrictions()
    return min(bound_all(gram, k, alpha, restrictions, upper)[1].bound, upper)


# ------------------------------------------------------- the oracle: all supports, from
# all pairs


def pairs(X, y):
    """Differences of all pairs of rows, columns divided by their deviations."""
    deviation = X.std(axis=0)
    Z = X / np.where(deviation > 1e-12 * np.abs(X).max(), deviation, 1.0)
    return (Z[y > 0][:, None, :] - Z[y < 0][None, :, :]).reshape(-1, X.shape[1])


def naive_objective(differences, alpha, support, coef):
    margins = 1 - differences[:, support] @ coef
    return (margins**2).mean() + alpha * coef @ coef


def naive_minimum(differences, alpha, support):
    """Least squares on the pairs, with the ridge as further rows."""
    table = differences[:, support] / np.sqrt(len(differences))
    table = np.vstack([table, np.sqrt(alpha) * np.eye(len(support))])
    target = np.zeros(len(table))
    target[: len(differences)] = 1 / np.sqrt(len(differences))
    w = np.linalg.lstsq(table, target, rcond=1e-12)[0]
    return naive_objective(differences, alpha, support, w)


def columns_of(labels, units):
    return np.flatnonzero(np.isin(labels, units)).tolist()


def naive_optimum(differences, labels, k, alpha, fixed=(), excluded=()):
    """Try all sets of units, given the unit of each column."""
    others = sorted({*labels.tolist()} - set(fixed) - set(excluded))
    size = min(k - len(fixed), len(others))
    return min(
        naive_minimum(differences, alpha, columns_of(labels, [*fixed, *chosen]))
        for chosen in itertools.combinations(others, size)
    )


# -------------------------------------------------------------------------------- drawn
# problems


@st.composite
def problems(draw):
    """Rows, the unit of each column, k, the ridge, and units that are fixed and excluded."""
    n, d = draw(st.integers(4, 30)), draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.where(rng.random(n) < draw(st.sampled_from([0.2, 0.5])), 1, -1)
    y[:2] = 1, -1
    correlation = draw(st.sampled_from([0.0, 0.7, 0.99]))
    X = rng.standard_normal((n, d))
    X += np.sqrt(correlation / (1 - correlation)) * rng.standard_normal((n, 1))
    X[y > 0, : max(1, d // 3)] += 0.7
    if draw(st.booleans()):
        X = np.column_stack([X, X[:, 0], -3 * X[:, -1]])
    if draw(st.booleans()):
        X = np.column_stack([np.full(n, 7.0), X])
    alpha = draw(st.sampled_from([0.0, 1e-3, 0.1, 1.0, 30.0]))
    labels = np.arange(X.shape[1])
    if draw(st.booleans()):  # groups of up to four columns, anywhere in the table
        sizes = rng.integers(1, 5, labels.size)
        labels = rng.permutation(np.repeat(labels, sizes)[: labels.size])
        labels = np.unique(labels, return_inverse=True)[1]
    # A constant column in `fixed` takes no place: it could as well be left out.
    order = rng.permutation(np.unique(labels[X.std(axis=0) > 1e-12])).tolist()
    fixed = order[: draw(st.integers(0, min(2, len(order))))]
    excluded = order[len(fixed) :][: draw(st.integers(0, 2))]
    k = draw(st.integers(max(1, len(fixed)), max(len(fixed), 4)))
    return X, y, labels, k, alpha, fixed, excluded


def restrictions_of(labels, fixed=(), excluded=(), **others):
    grouped = np.unique(labels).size < labels.size
    fixed, excluded = (
        np.array(columns_of(labels, units), np.int64) for units in (fixed, excluded)
    )
    return Restrictions(fixed, excluded, groups=labels if grouped else None, **others)


def holds_copies(X):
    """Whether columns are multiples of each other, but for rounding."""
    Z = (X - X.mean(axis=0))[:, X.std(axis=0) > 1e-12]
    Z /= np.sqrt((Z**2).sum(axis=0))
    return bool((np.abs(np.triu(Z.T @ Z, 1)) > 1 - 1e-12).any())


def holds_dependent_lists(differences, labels, k):
    """Whether the columns of some k units depend on each other."""
    varying = differences.std(axis=0) > 1e-12
    supports = itertools.combinations(np.unique(labels).tolist(), k)
    lists = [np.isin(labels, units) & varying for units in supports]
    return any(
        np.linalg.matrix_rank(differences[:, columns], tol=1e-6) < columns.sum()
        for columns in lists
    )


def gram_of(X, y):
    return StandardisedGram(class_moments(X, y))


def nothing_known():
    return Solution(np.empty(0, np.int64), np.empty(0), 1.0)


@pytest.fixture(params=["enumerated", "branched"])
def search(request, monkeypatch):
    """Small problems are enumerated, unless that is forbidden."""
    if request.param == "branched":
        monkeypatch.setattr(certificate, "_ENUMERABLE", 0)
    return request.param


def slack(optimum):
    """Rounding: relative, and what is left of 1 after a perfect fit."""
    return 1e-9 * optimum + 1e-11


@settings(max_examples=80)
@given(problem=problems(), whole=st.booleans())
def test_bound_never_exceeds_the_optimum(problem, whole):
    X, y, labels, k, alpha, fixed, excluded = problem
    optimum = naive_optimum(pairs(X, y), labels, k, alpha, fixed, excluded)
    limits = restrictions_of(labels, fixed, excluded)
    with pytest.MonkeyPatch.context() as patch:
        for limit in (1e8, 0):
            patch.setattr(certificate, "_ENUMERABLE", limit)
            if not whole:  # as if the columns were too many to form H
                patch.setattr(certificate, "_WHOLE", 3)
            for effort in (400, 3):
                patch.setattr(certificate, "_MAX_ITERATIONS", effort)
                bound = lower_bound(gram_of(X, y), k, alpha, limits)
                assert 0 <= bound <= optimum + slack(optimum)
            patch.setattr(certificate, "_MAX_ITERATIONS", 400)
            for upper in (optimum, 1.1 * optimum + 1e-3):
                bound = lower_bound(gram_of(X, y), k, alpha, limits, upper=upper)
                assert bound <= optimum + slack(optimum)
                assert bound <= upper


@settings(max_examples=60)
@given(problem=problems())
def test_search_finds_the_optimum_and_says_so(problem):
    X, y, labels, k, alpha, fixed, excluded = problem
    differences = pairs(X, y)
    optimum = naive_optimum(differences, labels, k, alpha, fixed, excluded)
    with pytest.MonkeyPatch.context() as patch:
        for limit in (1e8, 0):
            patch.setattr(certificate, "_ENUMERABLE", limit)
            found = certify(
                gram_of(X, y), nothing_known(), k, alpha,
                restrictions=restrictions_of(labels, fixed, excluded),
                time_limit=60.0,
            )  # fmt: skip
            assert found.lower_bound <= optimum + slack(optimum)
            grouped = np.unique(labels).size < labels.size
            if alpha == 0 and (
                holds_copies(X)
                or (grouped and holds_dependent_lists(differences, labels, k))
            ):
                # What the rounding of a copy is good for, with coefficients of 1e15, is
                # not known.
                assert found.status in ("optimal", "not_proven")
                continue
            assert found.status == "optimal"
            # Improvements that gap_tol does not count are not looked for.
            assert (
                found.solution.objective <= optimum + 1e-6 * max(optimum, 1e-3) + 1e-9
            )
            support = found.solution.support
            if optimum < 1 - 1e-6:
                units = set(labels[support].tolist())
                assert len(units) <= k
                assert set(fixed) <= units
                assert not set(excluded) & units
            assert np.array_equal(support, np.unique(support))
            assert found.solution.objective == pytest.approx(
                naive_objective(differences, alpha, support, found.solution.coef),
                abs=1e-9,
            )


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(2, 8),
    k=st.integers(1, 4),
    length=st.sampled_from([0.0, 0.1, 10.0]),
)
def test_any_point_and_any_diagonal_prove_a_bound(seed, m, k, length):
    k = min(k, m)
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((rng.integers(1, 2 * m), m))
    Q, D, delta = factor.T @ factor, rng.uniform(1e-3, 2, m), rng.standard_normal(m)
    point = length * rng.standard_normal(m)
    every, single = np.arange(m), np.ones(m, np.int64)
    bound, terms = prove(Q, every, point, every, D, delta, 1.0, k)

    def minimum(support):
        support = list(support)
        block = (Q + np.diag(D))[np.ix_(support, support)]
        return 1 - delta[support] @ np.linalg.solve(block, delta[support])

    supports = list(itertools.combinations(range(m), k))
    values = np.array([minimum(support) for support in supports])
    assert bound <= values.min() + 1e-12
    # The same point speaks of the supports with, and without, a column.
    descending = np.sort(terms)[::-1]
    for j in range(m):
        has = np.array([j in support for support in supports])
        among = terms[j] >= descending[k - 1]
        if not among:
            assert bound + descending[k - 1] - terms[j] <= values[has].min() + 1e-12
        elif k < m:
            assert bound + terms[j] - descending[k] <= values[~has].min() + 1e-12
    best, nothing = np.zeros((1, k), np.int64), np.zeros(m)
    _, gain, complete = enumerate_supports(
        Q + np.diag(D), delta, single, nothing, -1.0, best, True
    )
    assert complete
    assert 1 - gain == pytest.approx(values.min(), rel=1e-9, abs=1e-9)
    assert minimum(best[0]) == pytest.approx(values.min(), rel=1e-9, abs=1e-9)
    # The better half of the supports.
    cutoff = np.mean(np.sort(np.append(values, 1.0))[len(supports) // 2 :][:2])
    wanted = {
        support
        for support, value in zip(supports, values, strict=True)
        if value < cutoff
    }
    found = np.empty((len(supports), k), np.int64)
    count, _, _ = enumerate_supports(
        Q + np.diag(D), delta, single, nothing, 1 - cutoff, found, False
    )
    assert set(map(tuple, found[:count].tolist())) == wanted
    if wanted:  # no more than there is room for
        fewer = enumerate_supports(
            Q + np.diag(D),
            delta,
            single,
            nothing,
            1 - cutoff,
            found[: len(wanted) - 1],
            False,
        )
        assert fewer[0] == len(wanted)


# ---------------------------------------------------------------------------- behaviour


def outbreak(n=300, d=60, k=6, correlation=0.5, dtype=np.float64):
    return make_outbreak(
        n, d, k, mu=0.5, r=0.3, correlation=correlation, random_state=0, dtype=dtype
    )


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.1, 1.0])
def test_without_time_the_bound_is_valid_and_with_time_it_closes(alpha, monkeypatch):
    monkeypatch.setattr(certificate, "_ENUMERABLE", 0)
    gram = gram_of(*outbreak(d=40))
    start = exchange_path(gram, 4, alpha)[-1]
    hasty = certify(gram, start, 4, alpha, time_limit=0.0)
    patient = certify(gram, start, 4, alpha, time_limit=60.0)
    assert patient.status == "optimal"
    assert hasty.nodes == 1
    assert hasty.lower_bound <= patient.solution.objective
    if hasty.status == "time_limit":
        assert hasty.lower_bound < start.objective
    monkeypatch.undo()
    enumerated = certify(gram, start, 4, alpha, time_limit=0.0)
    assert enumerated.status == "optimal"
    assert enumerated.solution.objective == pytest.approx(
        patient.solution.objective, rel=2e-6
    )


def test_certificate_of_a_poor_solution_brings_the_best(search):
    gram = gram_of(*outbreak(d=30))
    best = certify(gram, exchange_path(gram, 5, 0.5)[-1], 5, 0.5)
    found = certify(gram, nothing_known(), 5, 0.5)
    assert best.status == found.status == "optimal"
    assert best.gap == found.gap == 0.0
    assert found.solution.objective == pytest.approx(best.solution.objective, rel=2e-6)
    again = certify(gram, nothing_known(), 5, 0.5)
    np.testing.assert_array_equal(found.solution.support, again.solution.support)
    assert found[1:] == again[1:]


def test_gap_is_relative_and_open_where_branching_was_not_allowed(monkeypatch):
    monkeypatch.setattr(certificate, "_ENUMERABLE", 0)
    gram = gram_of(*outbreak())
    solution = exchange_path(gram, 6, 0.01)[-1]
    found = certify(gram, solution, 6, 0.01, time_limit=0.0)
    assert found.status == "time_limit"
    assert found.solution is solution
    assert 0 < found.gap == pytest.approx(1 - found.lower_bound / solution.objective)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_bound_falls_with_k_and_lies_above_the_unconstrained_minimum(
    alpha, monkeypatch
):
    monkeypatch.setattr(certificate, "_ENUMERABLE", 0)
    gram = gram_of(*outbreak())
    bounds = [lower_bound(gram, k, alpha) for k in range(1, 13)]
    # Each k has a diagonal of its own.
    assert np.all(np.diff(bounds) < 1e-3)
    P = gram.rows(np.arange(60)) + alpha * np.eye(60)
    assert min(bounds) > 1 - gram.delta @ np.linalg.solve(P, gram.delta)


def test_bound_is_tight_when_the_ridge_is_large():
    gram = gram_of(
        *make_outbreak(200, 300, 10, mu=0.5, r=0.3, correlation=0.6, random_state=0)
    )
    gaps = []
    for alpha in (1.0, 10.0, 100.0, 1000.0):
        solution = exchange_path(gram, 10, alpha)[-1]
        gaps.append(1 - lower_bound(gram, 10, alpha) / solution.objective)
        if alpha > 1:
            assert certify(gram, solution, 10, alpha).status == "optimal"
    assert np.all(np.diff(gaps) < 1e-9)
    assert gaps[-1] < 1e-6


def test_known_solution_tightens_the_bound():
    gram = gram_of(
        *make_outbreak(200, 300, 10, mu=0.5, r=0.3, correlation=0.6, random_state=0)
    )
    solution = exchange_path(gram, 10, 10.0)[-1]
    alone = lower_bound(gram, 10, 10.0)
    informed = lower_bound(gram, 10, 10.0, upper=solution.objective)
    assert alone < informed <= solution.objective


@pytest.mark.parametrize(
    ("alpha", "status"), [(0.0, "too_wide"), (1.0, "too_wide"), (30.0, "optimal")]
)
def test_more_columns_than_h_is_formed_for(alpha, status):
    X, y = make_outbreak(100, 3500, 10, mu=0.7, r=0.3, correlation=0.5, random_state=0)
    gram = StandardisedGram(class_moments(X, y))
    solution = exchange_path(gram, 10, alpha)[-1]
    found = certify(
        gram, solution, 10, alpha, restrictions=Restrictions(solution.support[:1])
    )
    assert found.status == status
    assert 0 <= found.lower_bound <= solution.objective
    assert (found.lower_bound > 0) == (alpha > 0)


@pytest.mark.parametrize(("alpha", "status"), [(1.0, "too_wide"), (30.0, "optimal")])
def test_more_columns_in_groups_than_h_is_formed_for(alpha, status):
    X, y = make_outbreak(100, 3500, 10, mu=0.7, r=0.3, correlation=0.5, random_state=0)
    gram = gram_of(X, y)
    restrictions = Restrictions(groups=np.arange(3500) // 2)
    groups = Groups(gram, restrictions)
    solution = GroupSearch(gram, alpha, groups.restrictions, groups).path(6)[-1]
    found = certify(gram, solution, 6, alpha, restrictions=restrictions)
    assert found.status == status
    assert 0 < found.lower_bound <= solution.objective


def test_wide_and_whole_agree(monkeypatch):
    gram = gram_of(
        *make_outbreak(150, 300, 8, mu=0.5, r=0.3, correlation=0.5, random_state=1)
    )
    restrictions = Restrictions(np.array([5]), np.array([7]))
    solution = exchange_path(gram, 8, 20.0, restrictions)[-1]
    whole = certify(gram, solution, 8, 20.0, restrictions=restrictions)
    monkeypatch.setattr(certificate, "_WHOLE", 100)
    wide = certify(gram, solution, 8, 20.0, restrictions=restrictions)
    assert whole.status == wide.status == "optimal"
    assert wide.solution.objective == pytest.approx(whole.solution.objective, rel=2e-6)


def test_single_precision_and_offsets_cost_little():
    X, y = outbreak(d=40)
    exact = certify(gram_of(X, y), nothing_known(), 4, 0.1)
    moved = certify(gram_of(X + 1e5, y), nothing_known(), 4, 0.1)
    assert moved.status == "optimal"
    assert moved.lower_bound == pytest.approx(exact.lower_bound, rel=1e-9)
    # Blocks of H are of double precision for a table of single precision, too.
    rounded = X.astype(np.float32)
    single = certify(gram_of(rounded, y), nothing_known(), 4, 0.1)
    same = certify(gram_of(rounded.astype(np.float64), y), nothing_known(), 4, 0.1)
    assert single.status == "optimal"
    assert single.lower_bound == pytest.approx(same.lower_bound, rel=1e-9)
    np.testing.assert_array_equal(single.solution.support, exact.solution.support)


def test_contradictions_are_refused():
    gram = gram_of(*outbreak(d=10))
    with pytest.raises(ValueError, match="column 3 is both fixed and excluded"):
        lower_bound(gram, 4, 0.0, restrictions_of(np.arange(10), [3], [3, 4]))
    with pytest.raises(ValueError, match="k=1 is less than the 2 columns fixed"):
        lower_bound(gram, 1, 0.0, restrictions_of(np.arange(10), [3, 4]))
