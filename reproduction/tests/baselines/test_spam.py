"""SPAM: equal to the formulas, and at the right minimiser in the end."""

import math

import numpy as np
import pytest
from online_problems import orders, problem, run

from naive import minimise_on_support
from sparseauc_paper.baselines import SPAMClassifier
from sparseauc_paper.baselines.spam import SPAM
from sparseauc_paper.objective import AUCObjective

# --------------------------------------------------------- the oracle: SPAM as its
# authors write it


def naive_spam(X, y, order, l1, l2, xi, w=None):
    """Last iterate and mean of the iterates over the rows of ``order``."""
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    total = np.zeros_like(w)
    r, positive_mean, negative_mean = (
        (y > 0).mean(),
        X[y > 0].mean(axis=0),
        X[y < 0].mean(axis=0),
    )
    for t, i in enumerate(order, start=1):
        u, v = w @ positive_mean, w @ negative_mean
        eta = xi / math.sqrt(t)
        if y[i] > 0:
            factor = 2 * (1 - r) * (w @ X[i] - u) - 2 * (1 - r) * (1 + v - u)
        else:
            factor = 2 * r * (w @ X[i] - v) + 2 * r * (1 + v - u)
        w = w - eta * factor * X[i]
        w = np.sign(w) * np.maximum(np.abs(w) - eta * l1, 0) / (1 + eta * l2)
        total += w
    return w, total / len(order)


PENALTIES = {
    "l1": (0.02, 0.0),
    "l2": (0.0, 0.3),
    "elastic net": (0.01, 0.5),
    "none": (0.0, 0.0),
}


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("warm", [False, True])
def test_equals_the_naive_algorithm(penalty, average, warm):
    l1, l2 = PENALTIES[penalty]
    X, y = problem(1, 41, 17, density=0.8)
    start = np.random.default_rng(0).standard_normal(17) if warm else None
    expected = naive_spam(X, y, np.concatenate(orders(41, 3)), l1, l2, 0.3, start)[
        int(average)
    ]
    found = run(
        SPAM, X, y, 3, l1=l1, l2=l2, step_size=0.3, average=average, start=start
    )
    np.testing.assert_allclose(found.coef, expected, atol=1e-10, rtol=0)


def test_mean_of_iterates_approaches_the_closed_form():
    # SPAM descends r(1 − r)F + l2/2‖w‖², so its ridge on the scale of F is l2 / (2r(1 −
    # r)).
    X, y = problem(4, 80, 6, density=1.0)
    r, l2 = (y > 0).mean(), 0.05
    moments = AUCObjective(X, y).moments
    best, _ = minimise_on_support(moments, np.arange(6), l2 / (2 * r * (1 - r)))

    def distance(epochs):
        found = run(SPAM, X, y, epochs, l1=0.0, l2=l2, step_size=0.5, average=True)
        return np.linalg.norm(found.coef - best) / np.linalg.norm(best)

    distances = [distance(epochs) for epochs in (20, 300, 5000)]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 5e-3


def test_mean_of_iterates_approaches_the_minimiser_with_l1():
    X, y = problem(6, 80, 8, density=1.0)
    objective = AUCObjective(X, y)
    r, l1, l2 = (y > 0).mean(), 0.02, 0.01
    best = np.zeros(8)
    for _ in range(2000):  # proximal gradient on r(1 − r)F + l1‖w‖₁ + l2/2‖w‖²
        moved = best - 0.5 * r * (1 - r) * objective.gradient(best)
        best = np.sign(moved) * np.maximum(np.abs(moved) - 0.5 * l1, 0) / (1 + 0.5 * l2)
    assert 0 < np.count_nonzero(best) < 8
    found = run(SPAM, X, y, 20_000, l1=l1, l2=l2, step_size=0.3, average=True)
    assert np.linalg.norm(found.coef - best) < 3e-2 * np.linalg.norm(best)


def test_penalties_below_zero_are_refused():
    X, y = problem(12, 30, 4)
    with pytest.raises(ValueError, match="l1 and l2 must be 0 or more, got -1"):
        run(SPAM, X, y, 1, l1=-1.0, l2=0.0, step_size=1.0, average=True)


def test_penalties_follow_scikit_learns_elastic_net():
    X, y = problem(1, 41, 17, density=0.8)

    def coef(**parameters):
        model = SPAMClassifier(alpha=0.01, max_epochs=3, random_state=0, **parameters)
        return model.fit(X, y).coef_

    np.testing.assert_array_equal(
        coef(penalty="l1"), coef(penalty="elasticnet", l1_ratio=1.0)
    )
    np.testing.assert_array_equal(
        coef(penalty="l2"), coef(penalty="elasticnet", l1_ratio=0.0)
    )
    assert not np.array_equal(coef(penalty="l1"), coef(penalty="l2"))
