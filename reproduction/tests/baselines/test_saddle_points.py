"""SOLAM and FSAUC: equal to the formulas, inside their balls, at their minimiser in the end."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from online_problems import orders, problem, run

from naive import minimise_on_support
from sparseauc_paper.baselines import FSAUCClassifier, SOLAMClassifier
from sparseauc_paper.baselines.classifier import row_norms
from sparseauc_paper.baselines.fsauc import FSAUC, count_stages
from sparseauc_paper.baselines.solam import SOLAM
from sparseauc_paper.objective import AUCObjective

# ------------------------------------------------- the oracles: both methods as their
# authors write


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
        mean_positive = (
            X[seen[y[seen] > 0]].mean(axis=0) if (y[seen] > 0).any() else 0.0
        )
        mean_negative = (
            X[seen[y[seen] < 0]].mean(axis=0) if (y[seen] < 0).any() else 0.0
        )
        alpha1 = v1[:d] @ (mean_negative - mean_positive)
        r /= 2
        root = min(p, 1 - p) * n0 - math.sqrt(2 * n0 * log)
        D = 1e7
        if root > 0:
            D = 2 * math.sqrt(2) * kappa * r
            D += (
                4
                * math.sqrt(2)
                * kappa
                * (1 + 2 * kappa)
                * (2 + math.sqrt(2 * log))
                * R
                / math.sqrt(root)
            )
        gap = min(p, 1 - p) - math.sqrt(2 * log / n0)
        new_beta = 1e7
        if gap > 0:
            new_beta = 1 + 8 * kappa**2
            new_beta += (
                32 * (kappa * (1 + 2 * kappa) * (2 + math.sqrt(2 * log))) ** 2 / gap
            )
        eta = min(math.sqrt(new_beta / beta) * eta / 2, eta)
        beta = new_beta
    return v1[:d]


# --------------------------------------------------------------------------------- what
# they share


@dataclass(frozen=True)
class Method:
    """A method, its oracle, and settings at which its tests tell right from wrong."""

    solver: type
    classifier: type
    naive: Callable  # X, y, order, R, step, start, kappa -> the answer
    norm: Callable  # that its ball bounds
    epochs: int  # of 41 rows; FSAUC has two stages then
    settings: tuple  # (R, step): outside of the ball, on its surface and inside
    long_step: float  # where rows are three times as long
    overflow: tuple  # factor of the rows and step_size that leave the range of numbers


def one_stage_or_two(X, y, order, R, step, w=None, kappa=None):
    return naive_fsauc(X, y, order, R, step, count_stages(len(order)), w, kappa)


METHODS = [
    Method(
        SOLAM,
        SOLAMClassifier,
        lambda *args: naive_solam(*args)[0],
        np.linalg.norm,
        3,
        ((0.1, 3.0), (1.0, 0.3), (20.0, 0.1)),
        0.5,
        (1e200, 1.0),
    ),
    Method(
        FSAUC,
        FSAUCClassifier,
        one_stage_or_two,
        lambda w: np.abs(w).sum(),
        8,
        ((0.2, 1.0), (1.0, 0.1), (20.0, 0.5)),
        0.1,
        (1e100, 1e300),
    ),
]
both = pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: method.solver.__name__
)


@both
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kappa", [1.0, None])
@pytest.mark.parametrize("place", range(3))
def test_equals_the_naive_algorithm(method, place, kappa, warm):
    R, step = method.settings[place]
    X, y = problem(1, 41, 17, density=0.8)
    start = None
    if warm:
        start = np.random.default_rng(0).standard_normal(17)
        start *= 0.9 * R / method.norm(start)
    assert count_stages(41 * 8) == 2
    order = np.concatenate(orders(41, method.epochs))
    expected = method.naive(X, y, order, R, step, start, kappa)
    max_norm = row_norms(X).max() if kappa is None else kappa
    found = run(
        method.solver,
        X,
        y,
        method.epochs,
        radius=R,
        step_size=step,
        max_norm=max_norm,
        start=start,
    )
    np.testing.assert_allclose(found.coef, expected, atol=1e-10, rtol=0)


@both
def test_a_start_outside_the_ball_is_projected(method):
    X, y = problem(1, 41, 17, density=0.8)
    far = np.random.default_rng(0).standard_normal(17) * 100
    inside = naive_l1_projection(far, 2.0)
    if method.solver is SOLAM:
        inside = far * 2.0 / np.linalg.norm(far)
    found = run(
        method.solver, X, y, 0, radius=2.0, step_size=0.1, max_norm=1.0, start=far
    )
    np.testing.assert_allclose(found.w, inside, atol=1e-12)


@both
def test_rows_longer_than_one_need_wider_bounds(method):
    X, y = problem(4, 200, 6, density=1.0)
    X[y > 0, :2] += 2.0, 1.0
    X *= 3.0
    objective = AUCObjective(X, y)
    best, least = minimise_on_support(objective.moments, np.arange(6))

    def loss(max_norm):
        model = method.classifier(
            1.2 * float(method.norm(best)),
            step_size=method.long_step / 9,
            max_norm=max_norm,
            max_epochs=500,
            tol=0.0,
            random_state=0,
            record_history=False,
        )
        return model.fit(X, y).objective_

    assert loss("auto") < least + 1e-3
    assert loss(1.0) > least + 0.03


@both
def test_answer_stays_in_the_ball(method):
    X, y = problem(6, 60, 9)
    for radius in (1e-3, 0.3, 10.0):
        found = run(
            method.solver, X, y, 30, radius=radius, step_size=100.0, max_norm=3.0
        )
        assert method.norm(found.coef) <= radius * (1 + 1e-12)


@both
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_out_of_range_are_reported(method):
    X, y = problem(12, 30, 4)
    factor, step = method.overflow
    with pytest.raises(ValueError, match="diverged in epoch 1 with step_size="):
        method.classifier(step_size=step, tol=0.0).fit(X * factor, y)


# ------------------------------------------------------------------------- each its own


def test_stages_follow_from_the_number_of_rows():
    # 640 to 1000 rows and 50 passes: five stages, as the published comparison had.
    assert count_stages(640 * 50) == count_stages(1000 * 50) == 5
    assert count_stages(1) == count_stages(2) == count_stages(40) == 1
    assert count_stages(840) == 2


def test_solam_approaches_the_closed_form_when_the_ball_is_large():
    X, y = problem(4, 80, 4, density=1.0)
    best, _ = minimise_on_support(AUCObjective(X, y).moments, np.arange(4))
    radius, longest = 1.5 * float(np.linalg.norm(best)), row_norms(X).max()

    def distance(epochs):
        found = run(SOLAM, X, y, epochs, radius=radius, step_size=0.5, max_norm=longest)
        return np.linalg.norm(found.coef - best) / np.linalg.norm(best)

    distances = [distance(epochs) for epochs in (20, 400, 8000)]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 2e-2


def test_fsauc_approaches_the_closed_form_when_the_ball_is_large():
    X, y = problem(4, 80, 4, density=1.0)
    best, _ = minimise_on_support(AUCObjective(X, y).moments, np.arange(4))
    radius, longest = 2 * float(np.abs(best).sum()), row_norms(X).max()
    found = run(FSAUC, X, y, 3000, radius=radius, step_size=0.1, max_norm=longest)
    assert np.linalg.norm(found.coef - best) < 2e-2 * np.linalg.norm(best)
