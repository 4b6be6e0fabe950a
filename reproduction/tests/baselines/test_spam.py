"""SPAM: equal to the formulas, dense or CSR; as published; the right minimiser."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from online_problems import problem

from naive import storages
from sparseauc import minimise_on_support
from sparseauc_paper.baselines.spam import SPAMState, spam
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.rows import as_table

# --------------------------------------------------------- the oracle: SPAM as its authors write it


def naive_spam(X, y, order, l1, l2, xi, weight=None, w=None, running=False):
    """Last iterate and mean of the iterates over the rows of ``order``."""
    weight = np.ones(len(y)) if weight is None else weight / weight[weight > 0].mean()
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    total = np.zeros_like(w)
    for t, i in enumerate(order, start=1):
        seen = np.array(order[:t] if running else range(len(y)))
        positive, negative = seen[y[seen] > 0], seen[y[seen] < 0]
        r = weight[positive].sum() / weight[seen].sum()
        u = w @ np.average(X[positive], axis=0, weights=weight[positive]) if positive.size else 0.0
        v = w @ np.average(X[negative], axis=0, weights=weight[negative]) if negative.size else 0.0
        eta = xi / math.sqrt(t)
        if y[i] > 0:
            factor = 2 * (1 - r) * (w @ X[i] - u) - 2 * (1 - r) * (1 + v - u)
        else:
            factor = 2 * r * (w @ X[i] - v) + 2 * r * (1 + v - u)
        w = w - eta * weight[i] * factor * X[i]
        w = np.sign(w) * np.maximum(np.abs(w) - eta * l1, 0) / (1 + eta * l2)
        total += w
    return w, total / len(order)


PENALTIES = {"l1": (0.02, 0.0), "l2": (0.0, 0.3), "elastic net": (0.01, 0.5), "none": (0.0, 0.0)}


# ----------------------------------------------------------------------------------------- equality


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_naive_algorithm(penalty, average, weighted):
    l1, l2 = PENALTIES[penalty]
    X, y = problem(1, 41, 17, density=0.8)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 41) * 0.5 if weighted else None
    start = rng.standard_normal(17)
    draws = np.random.default_rng(7)
    order = np.concatenate([draws.permutation(41) for _ in range(3)])
    expected = naive_spam(X, y, order, l1, l2, 0.3, weight, start)[int(average)]
    for name, table in storages(X).items():
        result = spam(
            AUCObjective(table, y, weight), l1=l1, l2=l2, step_size=0.3, average=average,
            max_epochs=3, tol=0.0, start=start, rng=np.random.default_rng(7),
        )  # fmt: skip
        np.testing.assert_allclose(result.dense(17), expected, atol=1e-10, rtol=0, err_msg=name)


@pytest.mark.parametrize("seed", range(50))
def test_csr_equals_dense(seed):
    # The last are wide: whole epochs pass between two sweeps over all columns.
    X, y = problem(seed) if seed < 40 else problem(seed, 150, 500, density=0.02)
    l1, l2 = list(PENALTIES.values())[seed % 4]
    # Of the wilder runs some shrink w to a hundredth in every step.
    scale = 10.0 ** (seed % 3 - 1)
    arguments = {
        "l1": l1 * scale, "l2": l2 * scale * (100 if seed % 7 == 0 else 1),
        "step_size": 0.2, "average": seed % 2 == 1, "max_epochs": 4, "tol": 0.0,
    }  # fmt: skip
    dense, sparse = (
        spam(AUCObjective(table, y), **arguments, rng=np.random.default_rng(seed))
        for table in (X, sp.csr_array(X))
    )
    d = X.shape[1]
    np.testing.assert_allclose(sparse.dense(d), dense.dense(d), atol=1e-10, rtol=0)
    np.testing.assert_array_equal(sparse.support, dense.support)


def test_equals_the_published_program(golden):
    X, y = golden["X"], golden["y"]
    keys = [key for key in golden if key.startswith(("spam_l1|", "spam_l2|"))]
    assert keys
    for key in keys:
        given = dict(part.split("=") for part in key.split("|")[1:])
        for table in (X, sp.csr_array(X)):
            result = spam(
                AUCObjective(table, y), l1=float(given.get("l1", 0)), l2=float(given.get("l2", 0)),
                step_size=float(given["xi"]), average=False, max_epochs=int(given["epochs"]),
                tol=0.0, shuffle=False,
            )  # fmt: skip
            np.testing.assert_allclose(result.dense(40), golden[key], atol=1e-10, rtol=0)


@pytest.mark.parametrize("storage", ["C", "F", "CSR"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_chunks_equal_one_chunk_and_the_naive_algorithm_with_running_means(penalty, storage):
    l1, l2 = PENALTIES[penalty]
    dense, y = problem(3, 60, 12)
    y[:6] = -1  # no positive in the first chunk
    X = storages(dense)[storage]

    def after(edges):
        state = SPAMState(12, np.float64, l1=l1, l2=l2, step_size=0.3, average=True)
        for low, high in itertools.pairwise(edges):
            state.partial_fit(as_table(X[low:high]), y[low:high] > 0)
        return state

    one, many = after([0, 60]), after([0, 5, 6, 31, 60])
    last, mean = naive_spam(dense, y, list(range(60)), l1, l2, 0.3, running=True)
    for state in (one, many):
        assert state.t == 60
        np.testing.assert_allclose(state.coef, mean, atol=1e-10, rtol=0)
        np.testing.assert_allclose(state.w, last, atol=1e-10, rtol=0)
        for found, mask in zip(state.sums.means, (y > 0, y < 0), strict=True):
            np.testing.assert_allclose(found, dense[mask].mean(axis=0), atol=1e-12)


# ---------------------------------------------------------------------------------------- behaviour


def test_mean_of_iterates_approaches_the_closed_form():
    # SPAM descends r(1 − r)F + l2/2‖w‖², so its ridge on the scale of F is l2 / (2r(1 − r)).
    X, y = problem(4, 80, 6, density=1.0)
    objective = AUCObjective(X, y)
    r, l2 = (y > 0).mean(), 0.05
    best, _ = minimise_on_support(objective.moments, np.arange(6), l2 / (2 * r * (1 - r)))

    def distance(epochs):
        result = spam(
            objective, l2=l2, step_size=0.5, max_epochs=epochs, tol=0.0,
            rng=np.random.default_rng(0),
        )  # fmt: skip
        return np.linalg.norm(result.dense(6) - best) / np.linalg.norm(best)

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
    result = spam(
        objective, l1=l1, l2=l2, step_size=0.3, max_epochs=20_000, tol=0.0,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert np.linalg.norm(result.dense(8) - best) < 3e-2 * np.linalg.norm(best)


def test_rows_of_weight_zero_are_as_good_as_absent():
    X, y = problem(8, 60, 9)
    keep = np.random.default_rng(0).random(60) < 0.7
    keep[:2] = True
    weighted, absent = (
        spam(objective, l1=0.01, l2=0.1, step_size=0.3, rng=np.random.default_rng(3)).dense(9)
        for objective in (AUCObjective(X, y, 3.0 * keep), AUCObjective(X[keep], y[keep]))
    )
    np.testing.assert_allclose(weighted, absent, atol=1e-10)


def test_same_seed_same_answer_and_input_untouched():
    for kind in (np.asarray, sp.csr_array):
        X, y = problem(9, 90, 20)
        X = kind(X)
        before = X.copy()
        first, second, other = (
            spam(AUCObjective(X, y), l1=1e-3, rng=np.random.default_rng(seed)).dense(20)
            for seed in (5, 5, 6)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)
        assert abs(X - before).max() == 0


@pytest.mark.parametrize("penalty", PENALTIES)
def test_float32_stays_float32_and_near_float64(penalty):
    l1, l2 = PENALTIES[penalty]
    X, y = problem(10, 100, 15)
    for kind in (np.asarray, sp.csr_array):
        single, double = (
            spam(
                AUCObjective(kind(X.astype(dtype)), y), l1=l1, l2=l2, step_size=0.1,
                rng=np.random.default_rng(0),
            )
            for dtype in (np.float32, np.float64)
        )  # fmt: skip
        assert single.values.dtype == np.float32
        np.testing.assert_allclose(single.dense(15), double.dense(15), atol=1e-5)


def test_stops_when_the_answer_moves_little_and_reports_every_epoch():
    X, y = problem(11, 70, 5)
    records = []
    result = spam(
        AUCObjective(X, y), l2=0.1, step_size=0.1, max_epochs=500, tol=1e-3,
        callback=lambda record: records.append(record),
    )  # fmt: skip
    assert result.converged
    assert result.n_epochs == len(records) < 500
    assert records[-1].step_size == pytest.approx(0.1 / math.sqrt(70 * result.n_epochs))
    assert records[-1].objective < 1.0
    np.testing.assert_array_equal(records[-1].values, result.values)


@pytest.mark.parametrize("name", ["l1", "l2", "step_size"])
def test_parameters_out_of_range_are_refused(name):
    X, y = problem(12, 30, 4)
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"{name} must be a finite number of 0 or more"):
            spam(AUCObjective(X, y), **{name: value})


@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_divergence_is_reported(l1):
    X, y = problem(12, 70, 5)
    for table in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"SPAM diverged in epoch \d+ with step_size=1e\+06"):
            spam(AUCObjective(table, y), l1=l1, step_size=1e6, tol=0.0)
