"""SHT-AUC: equal to the naive algorithm, equal to the published program, never divergent."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from naive import naive_hard_threshold, shifted_table, storages
from sparseauc.blocks import RowBlocks, visiting_order
from sparseauc.datasets import make_outbreak
from sparseauc.objective import AUCObjective
from sparseauc.solvers import sht_auc
from sparseauc.solvers.sht_auc import exact_first_step

# ------------------------------------------------------------------ the oracle: Algorithm 1, naive


def naive_loss(X, y, w, weight):
    positive, negative = X[y > 0], X[y < 0]
    pairs = np.outer(weight[y > 0], weight[y < 0])
    margins = 1 - (positive @ w)[:, None] + (negative @ w)[None, :]
    return (pairs * margins**2).sum() / pairs.sum()


def naive_block_gradient(X, y, w, weight, block, m):
    """∇f_B of Proposition 1, row by row; the mean over m equally likely blocks is ∇F."""
    positive, negative = y > 0, y < 0
    mean_positive = np.average(X[positive], axis=0, weights=weight[positive])
    mean_negative = np.average(X[negative], axis=0, weights=weight[negative])
    delta = mean_negative - mean_positive
    gradient = 2 * (1 + w @ delta) * delta
    for i in block:
        mean, total = (
            (mean_positive, weight[positive].sum())
            if y[i] > 0
            else (mean_negative, weight[negative].sum())
        )
        gradient += 2 * m * weight[i] / total * (w @ (X[i] - mean)) * (X[i] - mean)
    return gradient


def naive_sht_auc(X, y, k, gamma, blocks, drawn, weight, w):
    for i in drawn:
        block = blocks.rows[blocks.starts[i] : blocks.starts[i + 1]]
        gradient = naive_block_gradient(X, y, w, weight, block, len(blocks))
        w = naive_hard_threshold(w - gamma * gradient, k)
    return w


def problem(seed, n, d, ratio=0.4, scale=1.0):
    X, positive = shifted_table(seed, n, d, ratio, scale)
    return X, np.where(positive, 1, -1)


# ------------------------------------------------------------------------------------- equality


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 40),
    d=st.integers(1, 25),
    k=st.integers(1, 25),
    batch_size=st.integers(1, 45),
    block_order=st.sampled_from(["replacement", "permutation", "cyclic"]),
    shuffle=st.booleans(),
    weighted=st.booleans(),
    warm=st.booleans(),
)
def test_equals_the_naive_algorithm(
    seed, n, d, k, batch_size, block_order, shuffle, weighted, warm
):
    X, y = problem(seed, n, d)
    rng = np.random.default_rng(seed + 1)
    weight = rng.integers(1, 4, n) * 0.5 if weighted else np.ones(n)
    start = naive_hard_threshold(rng.standard_normal(d), k) if warm else np.zeros(d)
    gamma, epochs = 0.01, 2

    draws = np.random.default_rng(seed)
    blocks = RowBlocks.partition(n, min(batch_size, n), shuffle=shuffle, rng=draws)
    drawn = np.concatenate([visiting_order(len(blocks), block_order, draws) for _ in range(epochs)])
    expected = naive_sht_auc(X, y, k, gamma, blocks, drawn, weight, start)

    for name, table in storages(X).items():
        result = sht_auc(
            AUCObjective(table, y, weight if weighted else None), k, batch_size=batch_size,
            step_size=gamma, max_epochs=epochs, tol=0.0, block_order=block_order, shuffle=shuffle,
            start=start if warm else None, rng=np.random.default_rng(seed),
        )  # fmt: skip
        np.testing.assert_allclose(result.dense(d), expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_equals_the_published_program(golden):
    X, y = golden["X"], golden["y"]
    r = (y > 0).mean()
    keys = [key for key in golden if key.startswith("sht_auc|")]
    assert keys
    for key in keys:
        given_as = dict(part.split("=") for part in key.split("|")[1:])
        result = sht_auc(
            AUCObjective(X, y), int(given_as["k"]), batch_size=int(given_as["batch_size"]),
            step_size=float(given_as["c"]) * r * (1 - r), max_epochs=int(given_as["epochs"]),
            tol=0.0, block_order="cyclic", shuffle=False,
        )  # fmt: skip
        np.testing.assert_allclose(result.dense(X.shape[1]), golden[key], atol=1e-10, rtol=0)


def test_float32_stays_float32_and_near_float64():
    X, y = problem(0, 300, 50)
    single = sht_auc(
        AUCObjective(X.astype(np.float32), y), 8, step_size=0.02, rng=np.random.default_rng(0)
    )
    double = sht_auc(AUCObjective(X, y), 8, step_size=0.02, rng=np.random.default_rng(0))
    assert single.values.dtype == np.float32
    np.testing.assert_array_equal(single.support, double.support)
    np.testing.assert_allclose(single.values, double.values, rtol=1e-4)


def test_rows_of_weight_zero_are_as_good_as_absent():
    X, y = problem(1, 80, 15)
    keep = np.random.default_rng(0).random(80) < 0.7
    keep[:2] = True
    arguments = {"k": 5, "batch_size": 16}
    weighted = sht_auc(
        AUCObjective(X, y, keep.astype(float)), **arguments, rng=np.random.default_rng(3)
    )
    absent = sht_auc(AUCObjective(X[keep], y[keep]), **arguments, rng=np.random.default_rng(3))
    np.testing.assert_allclose(weighted.dense(15), absent.dense(15), rtol=1e-9)


# ------------------------------------------------------------------------------------ behaviour


def test_same_seed_same_answer_and_input_untouched():
    X, y = problem(2, 200, 30)
    before = X.copy()
    first, second = (
        sht_auc(AUCObjective(X, y), 6, rng=np.random.default_rng(5)).dense(30) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, before)
    other = sht_auc(AUCObjective(X, y), 6, rng=np.random.default_rng(6)).dense(30)
    assert not np.array_equal(first, other)


def test_callback_sees_every_epoch_and_can_stop():
    X, y = problem(3, 120, 20)
    records = []

    def watch(record):
        records.append((record, record.scores.copy()))
        return record.epoch == 4

    result = sht_auc(
        AUCObjective(X, y), 5, step_size=0.01, tol=0.0, callback=watch,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert [record.epoch for record, _ in records] == [1, 2, 3, 4]
    assert result.n_epochs == 4
    for record, scores in records:
        w = np.zeros(20)
        w[record.support] = record.values
        assert record.objective == pytest.approx(naive_loss(X, y, w, np.ones(120)))
        pairs = scores[y > 0][:, None] - scores[y < 0][None, :]
        assert record.auc == pytest.approx(((pairs > 0) + 0.5 * (pairs == 0)).mean())
        assert record.support_size == record.support.size <= 5
        np.testing.assert_allclose(scores, X @ w, atol=1e-12)


def test_stops_when_w_moves_little_over_an_epoch():
    X, y = problem(4, 100, 10)
    moves, last = [], [np.zeros(10)]

    def watch(record):
        w = np.zeros(10)
        w[record.support] = record.values
        moves.append(np.linalg.norm(w - last[0]) / max(np.linalg.norm(last[0]), 1e-300))
        last[0] = w

    result = sht_auc(
        AUCObjective(X, y), 4, batch_size=100, step_size=0.05, max_epochs=5000, tol=1e-5,
        callback=watch,
    )  # fmt: skip
    assert result.converged
    assert result.n_epochs < 5000
    assert moves[-1] < 1e-5 <= min(moves[1:-1])


def test_constant_columns_are_never_chosen():
    X, y = problem(5, 90, 8)
    X[:, 2] = 0.1
    X[:, 5] = 1e6
    for table in storages(X).values():
        result = sht_auc(AUCObjective(table, y), 8, rng=np.random.default_rng(0))
        assert set(result.support) <= {0, 1, 3, 4, 6, 7}


def test_too_large_a_step_is_reported():
    X, y = problem(6, 100, 10)
    with pytest.raises(ValueError, match=r"diverged in epoch \d+ with step_size=1000"):
        sht_auc(AUCObjective(X, y), 5, step_size=1000.0, max_epochs=200, tol=0.0)


# ------------------------------------------------------------------------------ the automatic step


def test_first_step_is_exact_along_the_gradient():
    X, y = problem(7, 60, 12)
    objective = AUCObjective(X, y)
    gamma = exact_first_step(objective, 4)
    direction = naive_hard_threshold(objective.gradient(np.zeros(12)), 4)
    values = [objective.value(-t * gamma * direction) for t in (0.99, 1.0, 1.01)]
    assert values[1] < values[0]
    assert values[1] < values[2]
    # F of a scaled table is F of a scaled w.
    for scale in (1e-9, 1e9, 1e100):
        assert exact_first_step(AUCObjective(X * scale, y), 4) == pytest.approx(gamma / scale**2)


def hard_designs():
    rng = np.random.default_rng(0)
    n, d = 120, 60
    y = np.where(np.arange(n) % 8 == 0, 1, -1)
    gaussian = rng.standard_normal((n, d))
    gaussian[y > 0, :5] += 1.0
    raw = np.abs(gaussian) * np.logspace(0, 4.85, d) + 20.0  # intensities up to 7e4
    twin = gaussian.copy()
    twin[:, 1] = twin[:, 0] + 1e-9 * rng.standard_normal(n)
    return {
        "z-scored": (gaussian, y),
        "raw intensities": (raw, y),
        "unit rows": (gaussian / np.linalg.norm(gaussian, axis=1)[:, None], y),
        "CSR counts": (sp.csr_array(rng.poisson(0.3, (n, d)) * rng.integers(1, 90, d) * 1.0), y),
        "near-duplicate column": (twin, y),
        "tiny": (gaussian * 1e-9, y),
        "huge": (gaussian * 1e100, y),
        "offset 1e6": (gaussian + 1e6, y),
        "one positive": (gaussian, np.where(np.arange(n) == 3, 1, -1)),
        "equal class means": (np.tile(gaussian[:15], (8, 1)), np.tile([1, -1], 60)),
        "all constant": (np.ones((n, d)), y),
    }


@pytest.mark.parametrize("name", hard_designs())
@pytest.mark.parametrize("batch_size", [1, 8, 1000])
def test_automatic_step_never_diverges(name, batch_size):
    X, y = hard_designs()[name]
    result = sht_auc(AUCObjective(X, y), 6, batch_size=batch_size, rng=np.random.default_rng(0))
    assert np.isfinite(result.values).all()
    # F(0) = 1, and the best iterate is returned.
    assert AUCObjective(X, y).value(result.dense(X.shape[1])) <= 1.0


def test_automatic_step_on_real_intensities(data_folder):
    for name in ("colon", "leukemia"):
        with np.load(data_folder / f"{name}.npz") as file:
            X, y = file["X"], file["y"]
        for table in (X, X / np.linalg.norm(X, axis=1)[:, None]):
            result = sht_auc(
                AUCObjective(table, y), 20, batch_size=16, rng=np.random.default_rng(0)
            )
            assert AUCObjective(table, y).value(result.dense(X.shape[1])) < 0.35


def test_automatic_step_keeps_up_with_the_best_constant_step():
    # The full table is benchmarks/sht_auc_step.py; this is one small design with room to spare.
    X, y = make_outbreak(400, 200, 10, mu=0.5, r=0.2, correlation=0.6, random_state=0)
    objective = AUCObjective(X, y)

    def reached(step_size):
        try:
            result = sht_auc(objective, 10, step_size=step_size, rng=np.random.default_rng(1))
        except ValueError:
            return np.inf
        return objective.value(result.dense(200))

    assert reached("auto") <= 1.2 * min(map(reached, np.logspace(-4, 0, 20)))
