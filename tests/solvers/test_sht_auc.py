"""SHT-AUC: equal to the naive algorithm, equal to the published program, never divergent."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from naive import naive_hard_threshold, naive_top_k, shifted_table, storages
from sparseauc.chunks import ArrayChunks
from sparseauc.datasets import make_outbreak
from sparseauc.solvers.rows import BLOCK_ORDERS, Blocks
from sparseauc.solvers.sht_auc import (
    TrainingSet,
    exact_first_step,
    hard_threshold,
    sht_auc,
)
from sparseauc.solvers.sht_auc_stream import TrainingChunks


def fit(X, y, k, weight=None, *, seed=0, **settings):
    """Run Algorithm 1; returns w and the number of epochs."""
    of_blocks = {
        name: settings.pop(name)
        for name in ("batch_size", "block_order", "shuffle")
        if name in settings
    }
    rng = np.random.default_rng(seed)
    home = TrainingChunks if isinstance(X, ArrayChunks) else TrainingSet
    w, n_epochs = sht_auc(home(X, y > 0, weight, **of_blocks, rng=rng), k, **settings)
    return w, n_epochs


def value(X, y, w, weight=None):
    """F of dense coefficients."""
    training = TrainingSet(X, y > 0, weight, rng=np.random.default_rng(0))
    return training.value(training.scores(w))


# ------------------------------------------------------------------ the oracle:
# Algorithm 1, naive


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
        block = blocks.order[blocks.starts[i] : blocks.starts[i + 1]]
        gradient = naive_block_gradient(X, y, w, weight, block, blocks.starts.size - 1)
        w = naive_hard_threshold(w - gamma * gradient, k)
    return w


def problem(seed, n, d, ratio=0.4, scale=1.0):
    X, positive = shifted_table(seed, n, d, ratio, scale)
    return X, np.where(positive, 1, -1)


# ----------------------------------------------------------------------------- equality


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 40),
    d=st.integers(1, 25),
    k=st.integers(1, 25),
    batch_size=st.integers(1, 45),
    block_order=st.sampled_from(BLOCK_ORDERS),
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
    blocks = Blocks.deal(np.arange(n), batch_size, shuffle, draws)
    drawn = np.concatenate([blocks.draw(block_order, draws) for _ in range(epochs)])
    expected = naive_sht_auc(X, y, k, gamma, blocks, drawn, weight, start)

    for name, table in storages(X).items():
        w, _ = fit(
            table,
            y,
            k,
            weight if weighted else None,
            seed=seed,
            batch_size=batch_size,
            block_order=block_order,
            shuffle=shuffle,
            step_size=gamma,
            max_epochs=epochs,
            tol=0.0,
            start=start if warm else None,
        )
        np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_float32_stays_float32_and_near_float64():
    X, y = problem(0, 300, 50)
    single, _ = fit(X.astype(np.float32), y, 8, step_size=0.02)
    double, _ = fit(X, y, 8, step_size=0.02)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single != 0, double != 0)
    np.testing.assert_allclose(single, double, rtol=1e-4)


def test_rows_of_weight_zero_are_as_good_as_absent():
    X, y = problem(1, 80, 15)
    keep = np.random.default_rng(0).random(80) < 0.7
    keep[:2] = True
    weighted, _ = fit(X, y, 5, keep.astype(float), batch_size=16)
    absent, _ = fit(X[keep], y[keep], 5, batch_size=16)
    np.testing.assert_allclose(weighted, absent, rtol=1e-9)


# ------------------------------------------------------------------------------- blocks
# and H_k


@given(n=st.integers(1, 60), batch_size=st.integers(1, 70), shuffle=st.booleans())
def test_blocks_hold_every_row_once_and_differ_by_one_row_at_most(
    n, batch_size, shuffle
):
    rows = np.arange(n) * 3
    order, starts = Blocks.deal(rows, batch_size, shuffle, np.random.default_rng(0))
    sizes = np.diff(starts)
    assert sorted(order) == rows.tolist()
    assert sizes.max() <= batch_size
    assert sizes.max() - sizes.min() <= 1
    assert sizes.size == -(-n // batch_size)
    if not shuffle:
        np.testing.assert_array_equal(order, rows)


def test_blocks_are_drawn_as_told():
    blocks = Blocks.deal(np.arange(100), 10, True, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    assert blocks.draw("cyclic", rng).tolist() == list(range(10))
    draws = [blocks.draw("permutation", rng).tolist() for _ in range(5)]
    assert all(sorted(draw) == list(range(10)) for draw in draws)
    assert draws[0] != draws[1]
    counts = np.bincount(
        np.concatenate([blocks.draw("replacement", rng) for _ in range(500)])
    )
    assert counts.size == 10
    assert abs(counts - 500).max() < 120  # five standard deviations


@given(
    values=st.lists(st.integers(-4, 4) | st.floats(-1e3, 1e3), min_size=1, max_size=80),
    k=st.integers(1, 90),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_h_k_keeps_the_k_largest_and_of_equal_ones_the_first(values, k, dtype):
    vector = np.array(values, dtype)
    kept = hard_threshold(vector, min(k, vector.size))
    support = np.flatnonzero(kept)
    np.testing.assert_array_equal(support, naive_top_k(vector, k))
    np.testing.assert_array_equal(kept[support], vector[support])


@pytest.mark.parametrize("k", [1, 17, 2000, 2999])
def test_h_k_of_long_vectors(k):
    rng = np.random.default_rng(k)
    for vector in (
        rng.standard_normal(3000),
        np.ones(3000),
        np.tile([1.0, 0.0, -2.0], 1000),
    ):
        np.testing.assert_array_equal(
            np.flatnonzero(hard_threshold(vector, k)), naive_top_k(vector, k)
        )


# ---------------------------------------------------------------------- rows in chunks


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("step_size", ["auto", 0.01])
def test_a_source_reaches_the_f_of_the_table(step_size, weighted):
    X, y = make_outbreak(1200, 60, 6, mu=0.7, r=0.2, random_state=0)
    weight = np.random.default_rng(1).integers(0, 3, 1200) * 1.0 if weighted else None
    source = ArrayChunks(X, chunk_bytes=200 * 60 * 8)
    assert len(list(source.read())) == 6
    settings = {"step_size": step_size, "max_epochs": 100, "tol": 0.0}
    in_memory, _ = fit(X, y, 6, weight, **settings)
    in_chunks, _ = fit(source, y, 6, weight, **settings)
    reached = value(X, y, in_chunks, weight)
    assert reached == pytest.approx(value(X, y, in_memory, weight), rel=0.01)
    assert np.count_nonzero(in_chunks) == 6


def test_blocks_of_one_chunk_are_those_of_the_table():
    X, y = problem(9, 90, 12)
    settings = {
        "block_order": "cyclic",
        "shuffle": False,
        "batch_size": 20,
        "step_size": 0.01,
    }
    expected, _ = fit(X, y, 4, **settings)
    found, _ = fit(ArrayChunks(X), y, 4, **settings)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_source_that_diverges_says_so():
    X, y = problem(6, 100, 10)
    with pytest.raises(ValueError, match=r"diverged in epoch \d+ with step_size=1000"):
        fit(
            ArrayChunks(X, chunk_bytes=800),
            y,
            5,
            step_size=1000.0,
            max_epochs=200,
            tol=0.0,
        )


# ---------------------------------------------------------------------------- behaviour


def test_same_seed_same_answer_and_input_untouched():
    X, y = problem(2, 200, 30)
    before = X.copy()
    first, second, other = (
        fit(X, y, 6, seed=seed, batch_size=64)[0] for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, before)
    assert not np.array_equal(first, other)


def test_callback_sees_every_epoch_and_can_stop():
    X, y = problem(3, 120, 20)
    records = []

    def watch(record):
        records.append((record, record.scores.copy()))
        return record.epoch == 4

    _, n_epochs = fit(X, y, 5, step_size=0.01, tol=0.0, callback=watch)
    assert [record.epoch for record, _ in records] == [1, 2, 3, 4]
    assert n_epochs == 4
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

    settings = {"batch_size": 100, "step_size": 0.05, "max_epochs": 5000, "tol": 1e-5}
    _, n_epochs = fit(X, y, 4, callback=watch, **settings)
    assert n_epochs < 5000
    assert moves[-1] < 1e-5 <= min(moves[1:-1])


def test_constant_columns_are_never_chosen():
    X, y = problem(5, 90, 8)
    X[:, 2] = 0.1
    X[:, 5] = 1e6
    for table in storages(X).values():
        assert not fit(table, y, 8)[0][[2, 5]].any()


def test_too_large_a_step_is_reported():
    X, y = problem(6, 100, 10)
    with pytest.raises(ValueError, match=r"diverged in epoch \d+ with step_size=1000"):
        fit(X, y, 5, step_size=1000.0, max_epochs=200, tol=0.0)


# ------------------------------------------------------------------------------ the
# automatic step


def test_first_step_is_exact_along_the_gradient():
    X, y = problem(7, 60, 12)

    def first_step(table):
        return exact_first_step(
            TrainingSet(table, y > 0, rng=np.random.default_rng(0)), 4
        )

    gamma = first_step(X)
    direction = naive_hard_threshold(
        2 * (X[y < 0].mean(axis=0) - X[y > 0].mean(axis=0)), 4
    )
    values = [value(X, y, -t * gamma * direction) for t in (0.99, 1.0, 1.01)]
    assert values[1] < values[0]
    assert values[1] < values[2]
    # F of a scaled table is F of a scaled w.
    for scale in (1e-9, 1e9, 1e100):
        assert first_step(X * scale) == pytest.approx(gamma / scale**2)


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
        "CSR counts": (
            sp.csr_array(rng.poisson(0.3, (n, d)) * rng.integers(1, 90, d) * 1.0),
            y,
        ),
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
    w, _ = fit(X, y, 6, batch_size=batch_size)
    assert np.isfinite(w).all()
    # F(0) = 1, and the best iterate is returned.
    assert value(X, y, w) <= 1.0


def test_automatic_step_on_real_intensities(data_folder):
    for name in ("colon", "leukemia"):
        with np.load(data_folder / f"{name}.npz") as file:
            X, y = file["X"], file["y"]
        for table in (X, X / np.linalg.norm(X, axis=1)[:, None]):
            assert value(table, y, fit(table, y, 20, batch_size=16)[0]) < 0.35


def test_automatic_step_keeps_up_with_the_best_constant_step():
    # The full table is benchmarks/sht_auc_step.py; this is one small design with room
    # to spare.
    X, y = make_outbreak(400, 200, 10, mu=0.5, r=0.2, correlation=0.6, random_state=0)

    def reached(step_size):
        try:
            return value(X, y, fit(X, y, 10, seed=1, step_size=step_size)[0])
        except ValueError:
            return np.inf

    assert reached("auto") <= 1.2 * min(map(reached, np.logspace(-4, 0, 20)))
