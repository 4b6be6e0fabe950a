"""Restricted eigenvalues against enumeration, runs against the solver, Theorem 1 against runs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fits import fit_sht_auc, generator_of
from sparseauc.datasets import make_outbreak
from sparseauc_paper.blocks import RowBlocks
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.theory.constants import (
    GaussianConstants,
    expansion_of_lemma,
    tolerance,
    tolerance_parameter,
)
from sparseauc_paper.theory.empirical import (
    block_gradient_norm,
    empirical_constants,
    fit_rate,
    hessian_root,
    measure_course,
    restricted_eigenvalue,
)


def partition(n, batch_size):
    return RowBlocks.partition(
        n, batch_size, shuffle=False, rng=np.random.default_rng(0)
    )


def outbreak(n=400, d=12, k=2, r=0.3, mu=0.6, seed=0):
    data = make_outbreak(n, d, k, mu, r, random_state=seed)
    return data.X, data.y, AUCObjective(data.X, data.y)


def rows_of(blocks):
    return [
        blocks.rows[a:b]
        for a, b in zip(blocks.starts[:-1], blocks.starts[1:], strict=True)
    ]


# ----------------------------------------------------------------------------- Hessians


def test_root_of_all_rows_is_that_of_the_sum_over_pairs():
    X, y, objective = outbreak(n=60, d=5)
    pairs = (X[y > 0][:, None, :] - X[y < 0][None, :, :]).reshape(-1, 5)
    root = hessian_root(objective, np.arange(60), 1)
    assert_allclose(root.T @ root, pairs.T @ pairs / len(pairs), rtol=1e-10)


def test_hessians_are_twice_those_of_the_proof():
    _, _, objective = outbreak(n=60, d=5)
    rng = np.random.default_rng(1)
    w, step = rng.normal(size=(2, 5))
    root = hessian_root(objective, np.arange(60), 1)
    excess = (
        objective.value(w + step) - objective.value(w) - objective.gradient(w) @ step
    )
    assert_allclose(excess, np.sum((root @ step) ** 2))  # and so ρ/2‖Δ‖² with ρ = 2λ


def test_roots_of_blocks():
    X, y, _ = outbreak(n=103, d=6)
    rng = np.random.default_rng(2)
    objective = AUCObjective(X, y)
    blocks = partition(103, 20)
    hessians = []
    for rows in rows_of(blocks):
        root = hessian_root(objective, rows, len(blocks))
        hessians.append(root.T @ root)
        w = rng.normal(size=6)
        change = objective.block_gradient(
            w, rows, len(blocks)
        ) - objective.block_gradient(np.zeros(6), rows, len(blocks))
        assert_allclose(change, 2 * hessians[-1] @ w, rtol=1e-9)
    assert_allclose(
        np.mean(hessians, axis=0), objective.moments.columns(np.arange(6)), atol=1e-12
    )


# -------------------------------------------------------------------------- restricted
# eigenvalues


def enumerated(root, size):
    """(least, greatest) eigenvalue of ZᵀZ over all choices of columns."""
    matrix = root.T @ root
    values = [
        np.linalg.eigvalsh(matrix[np.ix_(chosen, chosen)])[[0, -1]]
        for chosen in combinations(range(len(matrix)), size)
    ]
    return np.min(values, axis=0)[0], np.max(values, axis=0)[1]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(1, 7),
    st.data(),
    st.integers(0, 3),
)
def test_brackets_hold_the_truth(seed, n_rows, d, data, n_random):
    size = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_rows, d)) * rng.choice(
        [0, 1, 10], size=d, p=[0.1, 0.8, 0.1]
    )
    least, greatest = enumerated(root, size)
    slack = 1e-9 * max(1.0, greatest)
    low = restricted_eigenvalue(root, size, -1.0, n_random=n_random, rng=rng)
    high = restricted_eigenvalue(root, size, 1.0, n_random=n_random, rng=rng)
    assert low.bound - slack <= least <= low.found + slack
    assert high.found - slack <= greatest <= high.bound + slack
    if n_random:
        assert low.found <= low.random + slack
        assert high.random - slack <= high.found
    else:
        assert np.isnan(low.random)
    matrix = root.T @ root
    for bracket, place in ((low, 0), (high, -1)):
        assert len(set(bracket.support.tolist())) == size
        on_support = matrix[np.ix_(bracket.support, bracket.support)]
        assert np.linalg.eigvalsh(on_support)[place] == pytest.approx(
            bracket.found, abs=slack
        )


def test_all_columns_leave_nothing_open():
    root = np.random.default_rng(3).normal(size=(30, 8))
    rng = np.random.default_rng(0)
    values = np.linalg.eigvalsh(root.T @ root)
    for bracket, truth in (
        (restricted_eigenvalue(root, 8, -1.0, rng=rng), values[0]),
        (restricted_eigenvalue(root, 8, 1.0, rng=rng), values[-1]),
    ):
        assert_allclose([bracket.found, bracket.bound, bracket.random], truth)


def test_search_finds_the_worst_columns_mostly_and_bad_ones_always():
    found, by_chance, short_of = 0, 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(30, 12))
        least, greatest = enumerated(root, 4)
        low = restricted_eigenvalue(root, 4, -1.0, n_random=10, rng=rng)
        high = restricted_eigenvalue(root, 4, 1.0, n_random=10, rng=rng)
        found += int(low.found <= least * (1 + 1e-9)) + int(
            high.found >= greatest * (1 - 1e-9)
        )
        by_chance += int(low.random <= least * 1.0001) + int(
            high.random >= greatest * 0.9999
        )
        short_of.append([low.found / least, greatest / high.found])
    assert found >= 60  # of 80
    assert by_chance <= 8  # the best of 10 among 495 choices
    assert np.all(np.mean(short_of, axis=0) < 1.05)


def test_certain_bounds_use_the_discs_where_they_are_sharper():
    # Ten equal groups of five columns that go together: all 50 columns have a greatest
    # eigenvalue of 5 ways, but on two columns there is no more than 2.
    root = np.kron(np.eye(10), np.ones((1, 5)))
    bracket = restricted_eigenvalue(root, 2, 1.0, rng=np.random.default_rng(0))
    assert_allclose([bracket.found, bracket.bound], 2)


def test_constants_of_a_table_by_enumeration():
    _, _, objective = outbreak(n=120, d=9)
    blocks = partition(120, 30)
    measured = empirical_constants(
        objective, blocks, 2, 1, rng=np.random.default_rng(0)
    )
    least, _ = enumerated(hessian_root(objective, np.arange(120), 1), 5)
    greatest = max(
        enumerated(hessian_root(objective, rows, 4), 5)[1] for rows in rows_of(blocks)
    )
    assert (measured.s, measured.n_blocks) == (5, 4)
    assert measured.rho_minus[1] <= 2 * least <= measured.rho_minus[0] * (1 + 1e-9)
    assert measured.rho_plus[0] * (1 - 1e-9) <= 2 * greatest <= measured.rho_plus[1]
    assert measured.condition[0] <= greatest / least * (1 + 1e-9)
    assert greatest / least <= measured.condition[1]
    assert 1 <= measured.condition_on_random <= measured.condition[0]
    assert measured.kappa[0] <= measured.kappa[1]


def test_more_columns_than_rows_leave_nothing_certain():
    _, _, objective = outbreak(n=20, d=30)
    measured = empirical_constants(
        objective, partition(20, 10), 3, 2, rng=np.random.default_rng(0)
    )
    assert measured.rho_minus[1] == 0
    assert measured.condition[1] == np.inf
    assert measured.kappa[1] == np.sqrt(expansion_of_lemma(3, 2, 30))


def test_smaller_blocks_are_curved_more_and_imbalance_makes_it_worse():
    def rho_plus(r, batch_size):
        _, _, objective = outbreak(n=2000, d=20, r=r)
        blocks = partition(2000, batch_size)
        return empirical_constants(
            objective, blocks, 4, 2, rng=np.random.default_rng(0)
        ).rho_plus

    assert rho_plus(0.5, 2000)[1] < rho_plus(0.5, 100)[0] < rho_plus(0.05, 100)[0]
    # With one block there is no 1/r, whatever the printed ρ⁺ says.
    assert rho_plus(0.05, 2000)[1] < 1.5 * rho_plus(0.5, 2000)[0]


def test_printed_constants_are_bounds_where_they_should_be():
    # Both classes from one N(0, I), and enough rows.
    n, d, k, k_star, b = 40_000, 6, 1, 1, 1000
    for r in (0.25, 0.5):
        _, _, objective = outbreak(n=n, d=d, k=0, r=r)
        measured = empirical_constants(
            objective, partition(n, b), k, k_star, rng=np.random.default_rng(0)
        )
        printed = GaussianConstants(n, d, k, k_star, r, b)
        assert printed.is_bound
        # on the safe side by the factor of 4 that the proof gives away, and more
        assert 4 * printed.rho_minus < measured.rho_minus[1]
        assert 4 * measured.rho_plus[1] < printed.rho_plus


def test_whole_gradient_is_not_bounded_by_the_restricted_smoothness():
    # Assumption 2 as written against the inequality it is said to be equivalent to.
    _, _, objective = outbreak(n=30, d=20)
    root = hessian_root(objective, np.arange(30), 1)
    matrix = root.T @ root
    chosen = restricted_eigenvalue(root, 3, 1.0, rng=np.random.default_rng(0)).support
    v = np.linalg.eigh(matrix[np.ix_(chosen, chosen)])[1][:, -1]
    rho_plus = 2 * enumerated(root, 3)[1]
    assert np.linalg.norm(2 * matrix[:, chosen] @ v) > 1.05 * rho_plus


# ---------------------------------------------------------------------------- gradients


def test_gradient_norm_is_the_greatest_over_all_choices():
    _, _, objective = outbreak(n=90, d=8)
    blocks = partition(90, 30)
    w = np.random.default_rng(4).normal(size=8)
    norms = []
    for rows in rows_of(blocks):
        gradient = objective.block_gradient(w, rows, 3)
        norms.append(
            max(np.linalg.norm(gradient[list(c)]) for c in combinations(range(8), 3))
        )
    assert_allclose(block_gradient_norm(objective, blocks, w, 3), np.mean(norms))


# --------------------------------------------------------------------------------- runs


def test_course_is_that_of_the_solver():
    _, _, objective = outbreak(n=200, d=15)
    target = np.zeros(15)
    target[[2, 7]] = 0.3
    settings = {"step_size": 0.02, "n_epochs": 7}
    blocks = partition(200, 20)
    course = measure_course(
        objective, blocks, target, 4, rng=generator_of(5), **settings
    )
    expected = [np.linalg.norm(target)]

    def watch(record):
        w = np.zeros(15)
        w[record.support] = record.values
        expected.append(np.linalg.norm(w - target))

    fit_sht_auc(
        objective.table,
        objective.positive,
        4,
        batch_size=20,
        step_size=0.02,
        max_epochs=7,
        tol=0.0,
        shuffle=False,
        callback=watch,
        seed=5,
    )
    assert_allclose(course.distances[::10], expected, rtol=1e-10)
    assert course.plateau == np.median(course.distances[-14:])
    again = measure_course(
        objective, partition(200, 20), target, 4, rng=generator_of(5), **settings
    )
    assert_array_equal(course.to_limit, again.to_limit)


def test_rate_of_a_quadratic_is_known():
    # One block, all columns kept: gradient descent, whose slowest mode is 1 − 2γλ_min.
    _, _, objective = outbreak(n=300, d=3, k=3, mu=1.0)
    root = hessian_root(objective, np.arange(300), 1)
    values, vectors = np.linalg.eigh(root.T @ root)
    minimiser = np.linalg.solve(root.T @ root, -objective.moments.delta)
    step = 0.2 / values[-1]
    course = measure_course(
        objective,
        partition(300, 300),
        minimiser,
        3,
        step_size=step,
        n_epochs=400,
        rng=np.random.default_rng(0),
    )
    factors = (1 - 2 * step * values) ** np.arange(401)[:, None]
    exact = np.linalg.norm(factors * (vectors.T @ minimiser), axis=1)
    assert_allclose(course.distances[:60], exact[:60], rtol=1e-6)
    assert 1 - 2 * step * values[-1] < course.rate < 1 - 2 * step * values[0]
    assert course.plateau < 1e-9


def test_step_from_the_printed_hessian_stands_still():
    # 1/λ_max(H) is 2/L: along the top eigenvector a step only changes sides.
    _, _, objective = outbreak(n=300, d=3, k=3, mu=1.0)
    root = hessian_root(objective, np.arange(300), 1)
    values, vectors = np.linalg.eigh(root.T @ root)
    minimiser = np.linalg.solve(root.T @ root, -objective.moments.delta)
    start = minimiser + vectors[:, -1]
    after = start - objective.gradient(start) / values[-1]
    assert_allclose(after, minimiser - vectors[:, -1], atol=1e-9)


@given(st.floats(0.05, 0.999), st.floats(0.01, 100))
def test_rate_of_a_geometric_course(rate, start):
    assert_allclose(fit_rate(start * rate ** np.arange(5000)), rate, rtol=1e-6)


def test_rate_is_that_of_the_first_descent():
    steps = np.arange(2000)
    noise = np.random.default_rng(6).normal(1, 0.1, steps.size)
    hovering = np.hypot(0.95**steps, 0.05 * noise)
    assert fit_rate(hovering) == pytest.approx(0.95, abs=0.002)
    # a slow second phase, when half the way is done
    two_phases = np.hypot(0.95**steps, 0.3 * 0.999**steps)
    assert fit_rate(two_phases) == pytest.approx(0.956, abs=0.005)


def test_rate_of_courses_without_descent():
    assert np.isnan(fit_rate(np.ones(10)))
    assert np.isnan(fit_rate(np.zeros(10)))
    assert np.isnan(fit_rate([1.0, 0.0, 0.0, 0.0]))
    assert fit_rate([4.0, 2.0, 1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.5)


# ---------------------------------------------------------------------------- Theorem 1


@pytest.mark.parametrize(("batch_size", "n_runs"), [(24_000, 1), (6000, 20)])
@pytest.mark.parametrize("r", [0.2, 0.5])
def test_theorem_1_holds(batch_size, n_runs, r):
    k, k_star, d = 8, 1, 20
    data = make_outbreak(24_000, d, k_star, 0.6, r, random_state=7)
    objective, blocks = AUCObjective(data.X, data.y), partition(24_000, batch_size)
    measured = empirical_constants(
        objective, blocks, k, k_star, rng=np.random.default_rng(0)
    )
    rho_plus, kappa = measured.rho_plus[1], measured.kappa[1]
    assert kappa < 1
    target = np.zeros(d)
    column = data.support[0]
    target[column] = (
        -objective.moments.delta[column] / objective.moments.diagonal[column]
    )
    sigma = tolerance_parameter(
        block_gradient_norm(objective, blocks, target, measured.s),
        rho_plus,
        expansion_of_lemma(k, k_star, d),
    )
    courses = [
        measure_course(
            objective,
            blocks,
            target,
            k,
            step_size=1 / rho_plus,
            n_epochs=10,
            rng=np.random.default_rng(run),
        ).distances
        for run in range(n_runs)
    ]
    steps = np.arange(len(courses[0]))
    bound = kappa**steps * np.linalg.norm(target) + tolerance(sigma, kappa)
    mean = np.mean(courses, axis=0)
    assert np.all(mean <= bound)
    assert bound[-1] < np.linalg.norm(target)  # and says something
