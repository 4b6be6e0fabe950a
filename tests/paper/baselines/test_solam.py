"""SOLAM: equal to the formulas, dense or CSR; as published; the right minimiser."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from online_problems import problem, storages

from sparseauc.objective import AUCObjective, minimise_on_support
from sparseauc.rows import as_table
from sparseauc_paper.baselines.solam import SOLAMState, solam

# ------------------------------------------------------ the oracle: SOLAM as its authors write it


def naive_solam(X, y, order, R, xi, w=None, kappa=None):
    """γ-weighted mean of the iterates before each step, and the last iterate."""
    d = X.shape[1]
    w = np.full(d, R / math.sqrt(d)) if w is None else w.copy()
    kappa = np.linalg.norm(X, axis=1).max() if kappa is None else kappa
    a, b, alpha = R * kappa, R * kappa, 2 * R * kappa
    mean, mass, positives = np.zeros(d), 0.0, 0
    for t, i in enumerate(order, start=1):
        x, gamma = X[i], xi / math.sqrt(t)
        mean = (mass * mean + gamma * w) / (mass + gamma)
        mass += gamma
        positives += y[i] > 0
        p = positives / t
        if y[i] > 0:
            gradient_w = 2 * (1 - p) * (w @ x - a - 1 - alpha) * x
            gradient_a, gradient_b = -2 * (1 - p) * (w @ x - a), 0.0
            gradient_alpha = -2 * (1 - p) * (w @ x) - 2 * p * (1 - p) * alpha
        else:
            gradient_w = 2 * p * (w @ x - b + 1 + alpha) * x
            gradient_a, gradient_b = 0.0, -2 * p * (w @ x - b)
            gradient_alpha = 2 * p * (w @ x) - 2 * p * (1 - p) * alpha
        w = w - gamma * gradient_w
        w = w * min(1.0, R / max(np.linalg.norm(w), 1e-300))
        a = np.clip(a - gamma * gradient_a, -R * kappa, R * kappa)
        b = np.clip(b - gamma * gradient_b, -R * kappa, R * kappa)
        alpha = np.clip(alpha + gamma * gradient_alpha, -2 * R * kappa, 2 * R * kappa)
    return mean, w


# ----------------------------------------------------------------------------------------- equality


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kappa", [1.0, None])
@pytest.mark.parametrize(("R", "xi"), [(0.1, 3.0), (1.0, 0.3), (20.0, 0.1)])
def test_equals_the_naive_algorithm(R, xi, kappa, warm):
    X, y = problem(1, 41, 17, density=0.8)
    start = np.random.default_rng(0).standard_normal(17)
    start *= 0.9 * R / np.linalg.norm(start)
    draws = np.random.default_rng(7)
    order = np.concatenate([draws.permutation(41) for _ in range(3)])
    expected, _ = naive_solam(X, y, order, R, xi, start if warm else None, kappa)
    for name, table in storages(X).items():
        result = solam(
            AUCObjective(table, y), radius=R, step_size=xi, max_epochs=3, tol=0.0,
            max_norm="auto" if kappa is None else kappa, start=start if warm else None,
            rng=np.random.default_rng(7),
        )  # fmt: skip
        np.testing.assert_allclose(result.dense(17), expected, atol=1e-10, rtol=0, err_msg=name)


@pytest.mark.parametrize("seed", range(50))
def test_csr_equals_dense(seed):
    X, y = problem(seed)
    # Some steps overshoot the ball a hundredfold, others never reach its surface.
    radius, step_size = 10.0 ** (seed % 4 - 1), 10.0 ** (seed % 3 - 1)
    dense, sparse = (
        solam(
            AUCObjective(table, y), radius=radius, step_size=step_size, max_epochs=4, tol=0.0,
            rng=np.random.default_rng(seed),
        ).dense(X.shape[1])
        for table in (X, sp.csr_array(X))
    )  # fmt: skip
    np.testing.assert_allclose(sparse, dense, atol=1e-10 * max(radius, 1), rtol=0)


def test_equals_the_published_program(golden):
    X, y = golden["X"], golden["y"]
    keys = [key for key in golden if key.startswith("solam|")]
    assert keys
    for key in keys:
        given = dict(part.split("=") for part in key.split("|")[1:])
        for table in (X, sp.csr_array(X)):
            result = solam(
                AUCObjective(table, y), radius=float(given["R"]), step_size=float(given["xi"]),
                max_norm=1.0, max_epochs=int(given["epochs"]), tol=0.0, shuffle=False,
            )  # fmt: skip
            np.testing.assert_allclose(result.dense(40), golden[key], atol=1e-10, rtol=0)


@pytest.mark.parametrize("storage", ["C", "F", "CSR"])
def test_chunks_equal_one_chunk_and_the_naive_algorithm(storage):
    dense, y = problem(3, 60, 12)
    X = storages(dense)[storage]

    def after(edges):
        state = SOLAMState(12, np.float64, radius=2.0, step_size=0.5, max_norm=1.5)
        for low, high in itertools.pairwise(edges):
            state.partial_fit(as_table(X[low:high]), y[low:high] > 0)
        return state

    mean, last = naive_solam(dense, y, range(60), 2.0, 0.5, kappa=1.5)
    for state in (after([0, 60]), after([0, 5, 6, 31, 60])):
        np.testing.assert_allclose(state.coef, mean, atol=1e-10, rtol=0)
        np.testing.assert_allclose(state.w, last, atol=1e-10, rtol=0)
        np.testing.assert_array_equal(state.seen, [(y > 0).sum(), 60])
        for found, mask in zip(state.sums.means, (y > 0, y < 0), strict=True):
            np.testing.assert_allclose(found, dense[mask].mean(axis=0), atol=1e-12)


# ---------------------------------------------------------------------------------------- behaviour


def test_answer_approaches_the_closed_form_when_the_ball_is_large():
    X, y = problem(4, 80, 4, density=1.0)
    objective = AUCObjective(X, y)
    best, _ = minimise_on_support(objective.moments, np.arange(4))

    def distance(epochs):
        result = solam(
            objective, radius=1.5 * float(np.linalg.norm(best)), step_size=0.5, max_epochs=epochs,
            tol=0.0, rng=np.random.default_rng(0),
        )  # fmt: skip
        return np.linalg.norm(result.dense(4) - best) / np.linalg.norm(best)

    distances = [distance(epochs) for epochs in (20, 400, 8000)]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 2e-2


def test_rows_longer_than_one_need_wider_bounds():
    X, y = problem(4, 200, 6, density=1.0)
    X[y > 0, :2] += 2.0, 1.0
    objective = AUCObjective(3.0 * X, y)
    best, least = minimise_on_support(objective.moments, np.arange(6))

    def loss(max_norm):
        result = solam(
            objective, radius=1.2 * np.linalg.norm(best), step_size=0.5 / 9, max_norm=max_norm,
            max_epochs=500, tol=0.0, rng=np.random.default_rng(0),
        )  # fmt: skip
        return objective.value(result.dense(6))

    assert loss("auto") < least + 1e-3
    assert loss(1.0) > least + 0.03


def test_answer_stays_in_the_ball():
    X, y = problem(6, 60, 9)
    for radius in (1e-3, 0.3, 10.0):
        for table in (X, sp.csr_array(X)):
            result = solam(AUCObjective(table, y), radius=radius, step_size=100.0, max_epochs=3)
            assert np.linalg.norm(result.values) <= radius * (1 + 1e-12)


def test_same_seed_same_answer_and_input_untouched():
    for kind in (np.asarray, sp.csr_array):
        X, y = problem(9, 90, 20)
        X = kind(X)
        before = X.copy()
        first, second, other = (
            solam(AUCObjective(X, y), rng=np.random.default_rng(seed)).dense(20)
            for seed in (5, 5, 6)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)
        assert abs(X - before).max() == 0


def test_float32_stays_float32_and_near_float64():
    X, y = problem(10, 100, 15)
    for kind in (np.asarray, sp.csr_array):
        single, double = (
            solam(
                AUCObjective(kind(X.astype(dtype)), y), radius=1.0, step_size=0.1,
                rng=np.random.default_rng(0),
            )
            for dtype in (np.float32, np.float64)
        )  # fmt: skip
        assert single.values.dtype == np.float32
        np.testing.assert_allclose(single.dense(15), double.dense(15), atol=1e-5)


def test_stops_when_the_answer_moves_little_and_reports_every_epoch():
    X, y = problem(11, 70, 5)
    records = []
    result = solam(
        AUCObjective(X, y), step_size=0.1, max_epochs=500, tol=1e-2,
        callback=lambda record: records.append(record),
    )  # fmt: skip
    assert result.converged
    assert result.n_epochs == len(records) < 500
    assert records[-1].step_size == pytest.approx(0.1 / math.sqrt(70 * result.n_epochs))
    np.testing.assert_array_equal(records[-1].values, result.values)


def test_weights_are_refused():
    X, y = problem(12, 30, 4)
    with pytest.raises(ValueError, match=r"SOLAM defines no sample weights"):
        solam(AUCObjective(X, y, np.arange(1.0, 31.0)))


def test_numbers_out_of_range_are_reported():
    X, y = problem(12, 30, 4)
    with pytest.raises(ValueError, match=r"SOLAM diverged in epoch 1 with step_size=1:"):
        solam(AUCObjective(X * 1e200, y), tol=0.0)
