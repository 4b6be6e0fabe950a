"""SOLAM and FSAUC: equal to the formulas, dense or CSR; as published; inside their balls."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from online_problems import problem

from naive import storages
from sparseauc import minimise_on_support
from sparseauc_paper.baselines.fsauc import FSAUCState, count_stages, fsauc
from sparseauc_paper.baselines.solam import SOLAMState, solam
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.rows import as_table

# ------------------------------------------------- the oracles: both methods as their authors write


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


def naive_l1_projection(w, R):
    if np.abs(w).sum() <= R:
        return w
    magnitudes = np.sort(np.abs(w))[::-1]
    thresholds = (np.cumsum(magnitudes) - R) / np.arange(1, w.size + 1)
    threshold = thresholds[np.flatnonzero(magnitudes > thresholds)[-1]]
    return np.sign(w) * np.maximum(np.abs(w) - threshold, 0)


def naive_fsauc(X, y, order, R, eta, n_stages, w=None, kappa=None):
    """Mean of the last stage's iterates over the rows of ``order``, divided evenly."""
    d, delta = X.shape[1], 0.1
    n0 = len(order) // n_stages
    v1, alpha1 = np.zeros(d + 2), 0.0  # v = (w, a, b)
    if w is not None:
        v1[:d] = w
    kappa = np.linalg.norm(X, axis=1).max() if kappa is None else kappa
    r, beta = 2 * math.sqrt(1 + 2 * kappa**2) * R, 1 + 8 * kappa**2
    D = 2 * math.sqrt(2) * kappa * r
    log = math.log(12 / delta)
    for stage in range(n_stages):
        v, alpha, total = v1.copy(), alpha1, np.zeros(d + 2)
        for t in range(stage * n0, (stage + 1) * n0):
            x, label = X[order[t]], y[order[t]]
            p = (y[order[: t + 1]] > 0).mean()
            score, a, b = v[:d] @ x, v[d], v[d + 1]
            gradient = np.zeros(d + 2)
            if label > 0:
                gradient[:d] = (1 - p) * (score - a - 1 - alpha) * x
                gradient[d] = (p - 1) * (score - a)
                ascent = (p - 1) * (score + p * alpha)
            else:
                gradient[:d] = p * (score - b + 1 + alpha) * x
                gradient[d + 1] = p * (b - score)
                ascent = p * (score + (p - 1) * alpha)
            v, alpha = v - eta * gradient, alpha + eta * ascent
            v[:d] = naive_l1_projection(v[:d], R)
            v[d:] = np.clip(v[d:], -R * kappa, R * kappa)
            alpha = np.clip(alpha, -2 * R * kappa, 2 * R * kappa)
            distance = np.linalg.norm(v - v1)
            if distance > r:
                v = v1 + r / distance * (v - v1)
            alpha = np.clip(alpha, alpha1 - D, alpha1 + D)
            total += v
        v1 = total / n0
        seen = np.asarray(order[: (stage + 1) * n0])
        mean_positive = X[seen[y[seen] > 0]].mean(axis=0) if (y[seen] > 0).any() else 0.0
        mean_negative = X[seen[y[seen] < 0]].mean(axis=0) if (y[seen] < 0).any() else 0.0
        alpha1 = v1[:d] @ (mean_negative - mean_positive)
        r /= 2
        root = min(p, 1 - p) * n0 - math.sqrt(2 * n0 * log)
        D = 1e7
        if root > 0:
            D = 2 * math.sqrt(2) * kappa * r
            D += (
                4 * math.sqrt(2) * kappa * (1 + 2 * kappa) * (2 + math.sqrt(2 * log)) * R
                / math.sqrt(root)
            )  # fmt: skip
        gap = min(p, 1 - p) - math.sqrt(2 * log / n0)
        new_beta = 1e7
        if gap > 0:
            new_beta = 1 + 8 * kappa**2
            new_beta += 32 * (kappa * (1 + 2 * kappa) * (2 + math.sqrt(2 * log))) ** 2 / gap
        eta = min(math.sqrt(new_beta / beta) * eta / 2, eta)
        beta = new_beta
    return v1[:d]


# --------------------------------------------------------------------------------- what they share


@dataclass(frozen=True)
class Method:
    """A method, its oracle, and settings at which its tests tell right from wrong."""

    name: str
    solve: Callable
    state: type
    naive: Callable  # X, y, order, R, step, start, kappa -> the answer
    norm: Callable  # that its ball bounds
    step: str  # in the names of the published answers
    epochs: int  # of 41 rows; FSAUC has two stages then
    settings: tuple  # (R, step): outside of the ball, on its surface and inside
    exponents: tuple  # of the smallest radius and step where CSR is compared with dense rows
    csr_epochs: int
    long_step: float  # where rows are three times as long
    radii: tuple  # where single precision is compared with double
    overflow: tuple  # factor of the rows and step_size that leave the range of numbers


def one_stage_or_two(X, y, order, R, step, w=None, kappa=None):
    return naive_fsauc(X, y, order, R, step, count_stages(len(order)), w, kappa)


SOLAM = Method(
    "SOLAM", solam, SOLAMState, lambda *args: naive_solam(*args)[0], np.linalg.norm, "xi", 3,
    ((0.1, 3.0), (1.0, 0.3), (20.0, 0.1)), (-1, -1), 4, 0.5, (1.0,), (1e200, 1.0),
)  # fmt: skip
FSAUC = Method(
    "FSAUC", fsauc, FSAUCState, one_stage_or_two, lambda w: np.abs(w).sum(), "eta", 8,
    ((0.2, 1.0), (1.0, 0.1), (20.0, 0.5)), (-2, -2), 40, 0.1, (0.3, 5.0), (1e100, 1e300),
)  # fmt: skip
both = pytest.mark.parametrize("method", [SOLAM, FSAUC], ids=lambda method: method.name)


@both
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kappa", [1.0, None])
@pytest.mark.parametrize("place", range(3))
def test_equals_the_naive_algorithm(method, place, kappa, warm):
    R, step = method.settings[place]
    X, y = problem(1, 41, 17, density=0.8)
    start = np.random.default_rng(0).standard_normal(17)
    if method is FSAUC:
        start = 0.9 * naive_l1_projection(start, R)
    else:
        start *= 0.9 * R / np.linalg.norm(start)
    draws = np.random.default_rng(7)
    order = np.concatenate([draws.permutation(41) for _ in range(method.epochs)])
    assert count_stages(41 * FSAUC.epochs) == 2
    expected = method.naive(X, y, order, R, step, start if warm else None, kappa)
    for name, table in storages(X).items():
        result = method.solve(
            AUCObjective(table, y), radius=R, step_size=step, max_epochs=method.epochs, tol=0.0,
            max_norm="auto" if kappa is None else kappa, start=start if warm else None,
            rng=np.random.default_rng(7),
        )  # fmt: skip
        np.testing.assert_allclose(result.dense(17), expected, atol=1e-10, rtol=0, err_msg=name)


@both
@pytest.mark.parametrize("seed", range(50))
def test_csr_equals_dense(method, seed):
    X, y = problem(seed)
    if method is FSAUC:
        # Steps beyond 1/‖x‖² make the iterates chaotic: rounding alone would tell storages apart.
        X /= np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
    # Some steps overshoot the ball a hundredfold and project each time, others never reach it.
    radius = 10.0 ** (seed % 4 + method.exponents[0])
    step_size = 10.0 ** (seed % 3 + method.exponents[1])
    dense, sparse = (
        method.solve(
            AUCObjective(table, y), radius=radius, step_size=step_size, tol=0.0,
            max_epochs=method.csr_epochs, rng=np.random.default_rng(seed),
        ).dense(X.shape[1])
        for table in (X, sp.csr_array(X))
    )  # fmt: skip
    np.testing.assert_allclose(sparse, dense, atol=1e-10 * max(radius, 1), rtol=0)


@both
def test_equals_the_published_program(method, golden):
    X, y = golden["X"], golden["y"]
    keys = [key for key in golden if key.startswith(f"{method.name.lower()}|")]
    assert keys
    for key in keys:
        given = dict(part.split("=") for part in key.split("|")[1:])
        for table in (X, sp.csr_array(X)):
            result = method.solve(
                AUCObjective(table, y), radius=float(given["R"]),
                step_size=float(given[method.step]), max_norm=1.0,
                max_epochs=int(given["epochs"]), tol=0.0, shuffle=False,
            )  # fmt: skip
            np.testing.assert_allclose(result.dense(40), golden[key], atol=1e-10, rtol=0)


@pytest.mark.parametrize("storage", ["C", "F", "CSR"])
@pytest.mark.parametrize(("method", "radius"), [(SOLAM, 2.0), (FSAUC, 0.3), (FSAUC, 5.0)])
def test_chunks_equal_one_chunk_and_the_naive_algorithm(method, radius, storage):
    dense, y = problem(3, 60, 12)
    X = storages(dense)[storage]

    def after(edges):
        state = method.state(12, np.float64, radius=radius, step_size=0.5, max_norm=1.5)
        for low, high in itertools.pairwise(edges):
            state.partial_fit(as_table(X[low:high]), y[low:high] > 0)
        return state

    assert count_stages(60) == 1
    expected = method.naive(dense, y, range(60), radius, 0.5, None, 1.5)
    for state in (after([0, 60]), after([0, 5, 6, 31, 60])):
        np.testing.assert_allclose(state.coef, expected, atol=1e-10, rtol=0)
        if method is SOLAM:
            last = naive_solam(dense, y, range(60), radius, 0.5, kappa=1.5)[1]
            np.testing.assert_allclose(state.w, last, atol=1e-10, rtol=0)
        np.testing.assert_array_equal(state.seen, [(y > 0).sum(), 60])
        for found, mask in zip(state.sums.means, (y > 0, y < 0), strict=True):
            np.testing.assert_allclose(found, dense[mask].mean(axis=0), atol=1e-12)


@both
def test_rows_longer_than_one_need_wider_bounds(method):
    X, y = problem(4, 200, 6, density=1.0)
    X[y > 0, :2] += 2.0, 1.0
    objective = AUCObjective(3.0 * X, y)
    best, least = minimise_on_support(objective.moments, np.arange(6))

    def loss(max_norm):
        result = method.solve(
            objective, radius=1.2 * float(method.norm(best)), step_size=method.long_step / 9,
            max_norm=max_norm, max_epochs=500, tol=0.0, rng=np.random.default_rng(0),
        )  # fmt: skip
        return objective.value(result.dense(6))

    assert loss("auto") < least + 1e-3
    assert loss(1.0) > least + 0.03


@both
def test_answer_stays_in_the_ball(method):
    X, y = problem(6, 60, 9)
    for radius in (1e-3, 0.3, 10.0):
        for table in (X, sp.csr_array(X)):
            objective = AUCObjective(table, y)
            result = method.solve(objective, radius=radius, step_size=100.0, max_epochs=30)
            assert method.norm(result.values) <= radius * (1 + 1e-12)


@both
def test_same_seed_same_answer_and_input_untouched(method):
    for kind in (np.asarray, sp.csr_array):
        X, y = problem(9, 90, 20)
        X = kind(X)
        before = X.copy()
        first, second, other = (
            method.solve(AUCObjective(X, y), rng=np.random.default_rng(seed)).dense(20)
            for seed in (5, 5, 6)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)
        assert abs(X - before).max() == 0


@both
def test_float32_stays_float32_and_near_float64(method):
    X, y = problem(10, 100, 15)
    for kind in (np.asarray, sp.csr_array):
        for radius in method.radii:
            single, double = (
                method.solve(
                    AUCObjective(kind(X.astype(dtype)), y), radius=radius, step_size=0.1,
                    rng=np.random.default_rng(0),
                )
                for dtype in (np.float32, np.float64)
            )  # fmt: skip
            assert single.values.dtype == np.float32
            np.testing.assert_allclose(single.dense(15), double.dense(15), atol=1e-5)


@both
def test_weights_are_refused(method):
    X, y = problem(12, 30, 4)
    with pytest.raises(ValueError, match=rf"{method.name} defines no sample weights"):
        method.solve(AUCObjective(X, y, np.arange(1.0, 31.0)))


@both
def test_numbers_out_of_range_are_reported(method):
    X, y = problem(12, 30, 4)
    factor, step = method.overflow
    said = f"{method.name} diverged in epoch 1 with step_size={step:g}".replace("+", r"\+")
    with pytest.raises(ValueError, match=said):
        method.solve(AUCObjective(X * factor, y), step_size=step, tol=0.0)


# ------------------------------------------------------------------------------------ each its own


def test_stages_follow_from_the_number_of_rows():
    # 640 to 1000 rows and 50 passes: five stages, as the published comparison had.
    assert count_stages(640 * 50) == count_stages(1000 * 50) == 5
    assert count_stages(1) == count_stages(2) == count_stages(40) == 1
    assert count_stages(840) == 2


def test_solam_approaches_the_closed_form_when_the_ball_is_large():
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


def test_fsauc_approaches_the_closed_form_when_the_ball_is_large():
    X, y = problem(4, 80, 4, density=1.0)
    objective = AUCObjective(X, y)
    best, _ = minimise_on_support(objective.moments, np.arange(4))
    result = fsauc(
        objective, radius=2 * float(np.abs(best).sum()), step_size=0.1, max_epochs=3000, tol=0.0,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert np.linalg.norm(result.dense(4) - best) < 2e-2 * np.linalg.norm(best)


def test_callback_sees_the_mean_of_the_stage_so_far():
    # 8 epochs of 41 rows make two stages of 164 rows: epoch 4 ends with the first.
    X, y = problem(1, 41, 6)
    seen = []

    def watch(record):
        w = np.zeros(6)
        w[record.support] = record.values
        seen.append(w)

    result = fsauc(
        AUCObjective(X, y), radius=1.0, step_size=0.1, max_epochs=8, tol=0.0, shuffle=False,
        callback=watch,
    )  # fmt: skip
    order = np.tile(np.arange(41), 8)
    assert len(seen) == 8
    for epoch in (1, 4):
        expected = naive_fsauc(X, y, order[: 41 * epoch], 1.0, 0.1, n_stages=1)
        np.testing.assert_allclose(seen[epoch - 1], expected, atol=1e-10)
    np.testing.assert_array_equal(seen[-1], result.dense(6))


def test_solam_stops_when_the_answer_moves_little_and_reports_every_epoch():
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


def test_fsauc_stops_when_the_answer_moves_little():
    X, y = problem(11, 70, 5)
    result = fsauc(AUCObjective(X, y), max_epochs=500, tol=1e-2)
    assert result.converged
    assert result.n_epochs < 500
