"""SPAM and SOLAM as the experiments run them, with the published stop rule, step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc_paper.methods import METHODS
from sparseauc_paper.protocols import Protocol
from sparseauc_paper.training import Training

EPOCHS = 4


def table(n, d, seed, ratio=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    positive = np.arange(n) < max(1, min(n - 1, round(ratio * n)))
    X[positive, : d // 3] += 1.0
    order = rng.permutation(n)
    return X[order] / np.linalg.norm(X[order], axis=1, keepdims=True), positive[order]


def naive_spam(X, positive, order, xi, l2, l1=0.0, tol=0.0, average=False):
    """SPAM as its module defines it; ends as the published programs do."""
    n, r = positive.size, positive.mean()
    means = X[positive].mean(0), X[~positive].mean(0)
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for t, i in enumerate(order, start=1):
        x, step, before = X[i], xi / np.sqrt(t), w
        factor = 2 * (1 - r) * (w @ (x - means[1]) - 1)
        if not positive[i]:
            factor = 2 * r * (w @ (x - means[0]) + 1)
        w = w - step * factor * x
        w = np.sign(w) * np.maximum(np.abs(w) - step * l1, 0) / (1 + step * l2)
        total += w
        length = np.linalg.norm(before)
        if (
            tol
            and t % n == 0
            and length > 0
            and np.linalg.norm(w - before) <= tol * length
        ):
            break
    return (total / t if average else w), t


def naive_solam(X, positive, order, xi, radius, tol=0.0, clip_below=True):
    n, d = X.shape
    w, a, b, alpha = np.full(d, radius / np.sqrt(d)), radius, radius, 2 * radius
    total, mass, mean = np.zeros(d), 0.0, np.zeros(d)
    seen = 0
    low = -radius if clip_below else -np.inf
    for t, i in enumerate(order, start=1):
        x, gamma, before = X[i], xi / np.sqrt(t), mean
        seen += positive[i]
        p, score = seen / t, w @ x
        total, mass = total + gamma * w, mass + gamma
        mean = total / mass
        if positive[i]:
            gradient = 2 * (1 - p) * (score - a - 1 - alpha) * x
            a += gamma * 2 * (1 - p) * (score - a)
            ascent = -2 * (1 - p) * score
        else:
            gradient = 2 * p * (score - b + 1 + alpha) * x
            b += gamma * 2 * p * (score - b)
            ascent = 2 * p * score
        alpha += gamma * (ascent - 2 * p * (1 - p) * alpha)
        w = w - gamma * gradient
        w *= min(1.0, radius / np.linalg.norm(w))
        a, b = np.clip(a, low, radius), np.clip(b, low, radius)
        alpha = np.clip(alpha, -2 * radius, 2 * radius)
        length = np.linalg.norm(before)
        if (
            tol
            and t % n == 0
            and length > 0
            and np.linalg.norm(mean - before) <= tol * length
        ):
            break
    return mean, t


def close(ours, theirs):
    scale = np.abs(theirs).max() or 1.0
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=1e-10)


def fit(method, point, X, positive, epochs, tol, **switches):
    """Coefficients of a method, and the rows in the order in which it sees them."""
    protocol = Protocol(stop_rule=tol > 0.0, **switches)
    n = positive.size
    training = Training(X, positive, protocol, epochs, ("test",), n, True, stop_tol=tol)
    return METHODS[method].solve(training, [point])[:, 0], training.orders(point)


@given(
    n=st.integers(2, 12),
    d=st.integers(12, 40),
    seed=st.integers(0, 99),
    xi=st.sampled_from([1e-3, 0.1, 1.0, 3.0]),
    l2=st.sampled_from([0.0, 1e-3, 1.0, 100.0]),
    last=st.booleans(),
    tol=st.sampled_from([0.0, 1e-4, 0.1]),
)
@settings(max_examples=60, deadline=None)
def test_spam(n, d, seed, xi, l2, last, tol):
    X, positive = table(n, d, seed)
    point = {"xi": xi, "l2": l2}
    found, order = fit("spam-l2", point, X, positive, EPOCHS, tol, last_iterate=last)
    close(found, naive_spam(X, positive, order, xi, l2, tol=tol, average=not last)[0])


@given(
    n=st.integers(2, 12),
    d=st.integers(12, 40),
    seed=st.integers(0, 99),
    xi=st.sampled_from([0.1, 1.0, 10.0, 100.0]),
    radius=st.sampled_from([0.1, 1.0, 100.0, 1e5]),
    above_only=st.booleans(),
    tol=st.sampled_from([0.0, 1e-4, 0.1]),
)
@settings(max_examples=60, deadline=None)
def test_solam(n, d, seed, xi, radius, above_only, tol):
    X, positive = table(n, d, seed)
    if above_only:
        xi = min(
            xi, 1.0
        )  # with longer steps a and b grow without bound, and rounding with them
    found, order = fit(
        "solam",
        {"xi": xi, "radius": radius},
        X,
        positive,
        EPOCHS,
        tol,
        clip_above_only=above_only,
    )
    close(found, naive_solam(X, positive, order, xi, radius, tol, not above_only)[0])


@pytest.mark.parametrize(("tol", "stops"), [(1e-9, False), (0.02, True)])
def test_with_an_l1_penalty(tol, stops):
    X, positive = table(30, 12, 3)
    point = {"xi": 1.0, "l1": 1e-3, "l2": 0.1}
    found, order = fit(
        "spam-l1l2", point, X, positive, 60, tol, fixed_order=True, last_iterate=True
    )
    expected, t = naive_spam(X, positive, order, 1.0, 0.1, l1=1e-3, tol=tol)
    assert (t < 60 * 30) == stops
    close(found, expected)
