"""Many fits at once: equal to one fit at a time, on NumPy and on torch."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from fits import fit_sht_auc, generator_of
from naive import shifted_table
from sparseauc.datasets import make_outbreak
from sparseauc_paper.baselines import sto_iht
from sparseauc_paper.blocks import RowBlocks, visiting_order
from sparseauc_paper.grids import sht_auc_grid, sto_iht_grid
from sparseauc_paper.objective import AUCObjective

torch = pytest.importorskip("torch")

KINDS = ["numpy", "torch"]


def as_kind(kind, X):
    return torch.from_numpy(X) if kind == "torch" else X


def problem(seed, n, d, dtype=np.float64, constant=False):
    X, positive = shifted_table(seed, n, d)
    if constant:
        X[:, seed % d] = 1e4
    return X.astype(dtype), positive


def naive_ridge_run(X, positive, k, gamma, ridge, blocks, drawn):
    """Algorithm 1 with the published programs' shrinkage between gradient step and threshold."""
    mean_positive, mean_negative = X[positive].mean(axis=0), X[~positive].mean(axis=0)
    delta = mean_negative - mean_positive
    w = np.zeros(X.shape[1])
    for i in drawn:
        gradient = 2 * (1 + w @ delta) * delta
        for row in blocks.rows[blocks.starts[i] : blocks.starts[i + 1]]:
            mean = mean_positive if positive[row] else mean_negative
            total = (positive == positive[row]).sum()
            gradient += 2 * len(blocks) / total * (w @ (X[row] - mean)) * (X[row] - mean)
        w = (w - gamma * gradient) / (1 + gamma * ridge)
        order = sorted(range(w.size), key=lambda j: (-abs(w[j]), j))
        w[order[k:]] = 0
    return w


# ------------------------------------------------------------------------------------- equality


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 40),
    d=st.integers(1, 90),
    ks=st.lists(st.integers(1, 12), min_size=1, max_size=7),
    batch_size=st.integers(1, 45),
    block_order=st.sampled_from(["replacement", "permutation", "cyclic"]),
    shuffle=st.booleans(),
    weighted=st.booleans(),
    warm=st.booleans(),
    constant=st.booleans(),
)
@settings(max_examples=60)
def test_grid_equals_single_fits(
    kind, seed, n, d, ks, batch_size, block_order, shuffle, weighted, warm, constant
):
    X, positive = problem(seed, n, d, constant=constant)
    rng = np.random.default_rng(seed + 1)
    weight = rng.integers(0, 4, n) * 0.5 if weighted else None
    if weighted:
        weight[:2] = 1.0
    steps = rng.uniform(0.001, 0.01, len(ks))
    starts = rng.standard_normal((len(ks), d)) if warm else None
    common = {
        "batch_size": batch_size,
        "block_order": block_order,
        "shuffle": shuffle,
        "max_epochs": 3,
        "tol": 0.0,
    }
    grid = sht_auc_grid(
        as_kind(kind, X), positive, ks=ks, step_sizes=steps, starts=starts, sample_weight=weight,
        rng=generator_of(seed), **common,
    )  # fmt: skip
    for m, k in enumerate(ks):
        single = fit_sht_auc(
            X,
            positive,
            min(k, d),
            weight,
            step_size=steps[m],
            start=None if starts is None else starts[m],
            seed=seed,
            **common,
        )
        expected = single.coef_[0]
        np.testing.assert_allclose(np.asarray(grid.coef[m]), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [60, 3000])
@pytest.mark.parametrize("step_size", ["auto", 1e-3])
def test_stopping_and_automatic_steps_equal_those_of_single_fits(kind, dtype, d, step_size):
    X, y = make_outbreak(n=200, d=d, k=5, mu=1.0, r=0.3, random_state=1)
    X = X.astype(dtype)
    ks = [3, 5, 8]
    # A block of all rows, so that some of the models converge before the last epoch.
    common = {"batch_size": 200, "max_epochs": 60, "tol": 2e-3}
    grid = sht_auc_grid(
        as_kind(kind, X), y, ks=ks, step_sizes=step_size, rng=generator_of(0), **common
    )
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    assert np.asarray(grid.coef).dtype == dtype
    for m, k in enumerate(ks):
        single = fit_sht_auc(X, y, k, step_size=step_size, seed=0, **common)
        expected = single.coef_[0]
        np.testing.assert_allclose(
            np.asarray(grid.coef[m]), expected, rtol=0, atol=tolerance * np.abs(expected).max()
        )
        assert grid.n_epochs[m] == single.n_iter_


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_stopped_stays_while_others_go_on(kind):
    X, y = make_outbreak(n=200, d=40, k=5, mu=1.0, r=0.3, random_state=1)
    common = {"batch_size": 200, "max_epochs": 100, "tol": 1e-3}
    steps = [0.1, 1e-4]  # the first converges, the second crawls to the end
    both = sht_auc_grid(as_kind(kind, X), y, ks=5, step_sizes=steps, **common)
    assert both.converged.tolist() == [True, False]
    assert both.n_epochs[0] < both.n_epochs[1] == 100
    alone = sht_auc_grid(as_kind(kind, X), y, ks=5, step_sizes=steps[0], **common)
    np.testing.assert_allclose(np.asarray(both.coef[0]), np.asarray(alone.coef[0]), atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [30, 800])
@pytest.mark.parametrize("weighted", [False, True])
def test_sto_iht_grid_equals_single_fits(kind, dtype, d, weighted):
    X, positive = problem(3, 120, d, dtype)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 120) if weighted else None
    ks, steps, alphas = [2, 5, 9], [0.05, 0.1, 0.2], [0.0, 0.1, 0.5]
    common = {"batch_size": 25, "max_epochs": 10, "tol": 1e-3}
    grid = sto_iht_grid(
        as_kind(kind, X), positive, ks=ks, step_sizes=steps, alphas=alphas, sample_weight=weight,
        rng=np.random.default_rng(5), **common,
    )  # fmt: skip
    objective = AUCObjective(X, positive, weight)
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    for m, k in enumerate(ks):
        single = sto_iht(
            objective, k, step_size=steps[m], alpha=alphas[m], rng=np.random.default_rng(5),
            **common,
        )  # fmt: skip
        np.testing.assert_allclose(np.asarray(grid.coef[m]), single.dense(d), atol=tolerance)
        assert float(grid.intercept[m]) == pytest.approx(single.intercept, abs=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [8, 300])
@given(seed=st.integers(0, 2**32 - 1), ks=st.lists(st.integers(1, 9), min_size=1, max_size=6))
@settings(max_examples=25)
def test_of_equal_magnitudes_the_first_columns_win(kind, d, seed, ks):
    # Small whole numbers, and sizes that are powers of two: the arithmetic is exact, so columns
    # that agree have coefficients that agree to the last bit.
    rng = np.random.default_rng(seed)
    positive = np.arange(16) < 8
    X = rng.integers(-2, 3, (16, d)).astype(np.float64)
    X[:, rng.integers(0, d, d)] = X[:, rng.integers(0, d, d)]
    common = {"batch_size": 4, "max_epochs": 1, "tol": 0.0}
    grid = sht_auc_grid(
        as_kind(kind, X), positive, ks=ks, step_sizes=2.0**-6, rng=generator_of(seed), **common
    )
    for m, k in enumerate(ks):
        single = fit_sht_auc(X, positive, k, step_size=2.0**-6, seed=seed, **common)
        np.testing.assert_array_equal(np.asarray(grid.coef[m]), single.coef_[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [12, 400])
def test_ridge_shrinks_between_gradient_and_threshold(kind, d):
    X, positive = problem(7, 50, d)
    ks, ridges = [1, 3, 6], [0.0, 2.0, 30.0]
    grid = sht_auc_grid(
        as_kind(kind, X), positive, ks=ks, step_sizes=0.005, ridges=ridges, batch_size=10,
        max_epochs=4, tol=0.0, rng=np.random.default_rng(1),
    )  # fmt: skip
    rng = np.random.default_rng(1)
    blocks = RowBlocks.partition(50, 10, shuffle=True, rng=rng)
    drawn = np.concatenate([visiting_order(len(blocks), "replacement", rng) for _ in range(4)])
    for m, k in enumerate(ks):
        expected = naive_ridge_run(X, positive, k, 0.005, ridges[m], blocks, drawn)
        np.testing.assert_allclose(np.asarray(grid.coef[m]), expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_column_never_wins(kind):
    X, positive = problem(0, 40, 30)
    X[:, 3], X[:, 4] = 1e6, 0.1
    grid = sht_auc_grid(as_kind(kind, X), positive, ks=[5, 30], step_sizes=1e-3, max_epochs=5)
    assert not np.asarray(grid.coef)[:, [3, 4]].any()


@pytest.mark.parametrize("order", ["F", "strided", "read-only"])
def test_any_layout_of_an_array(order):
    X, positive = problem(0, 40, 30)
    table = {
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "read-only": X.copy(),
    }[order]
    table.flags.writeable = order != "read-only"
    expected = sht_auc_grid(X, positive, ks=5, rng=np.random.default_rng(0))
    for kind in [table] if order == "read-only" else [table, torch.from_numpy(table)]:
        found = sht_auc_grid(kind, positive, ks=5, rng=np.random.default_rng(0))
        np.testing.assert_allclose(np.asarray(found.coef), expected.coef, atol=1e-12)


# ------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grid", [sht_auc_grid, sto_iht_grid])
@pytest.mark.parametrize("d", [20, 500])
def test_a_model_that_diverges_says_so_and_leaves_the_others_alone(kind, grid, d):
    X, positive = problem(0, 40, d)
    scaled = X * 1e3
    arguments = {"ks": 3, "batch_size": 10, "max_epochs": 60, "tol": 1e-9}
    both = grid(
        as_kind(kind, scaled), positive, step_sizes=[1e300, 1e-9], rng=np.random.default_rng(0),
        **arguments,
    )  # fmt: skip
    if grid is sht_auc_grid:
        assert both.diverged.tolist() == [True, False]
        assert np.isnan(np.asarray(both.coef[0])).any()
    alone = grid(
        as_kind(kind, scaled), positive, step_sizes=1e-9, rng=np.random.default_rng(0), **arguments
    )
    np.testing.assert_allclose(np.asarray(both.coef[1]), np.asarray(alone.coef[0]), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ks": 0}, "ks must be"),
        ({"ks": 2.5}, "ks must be"),
        ({"ks": []}, "ks must be"),
        ({"step_sizes": -1.0}, "step_sizes must be positive"),
        ({"step_sizes": np.nan}, "step_sizes must be positive"),
        ({"step_sizes": "bold"}, "'auto'"),
        ({"ridges": -1.0}, "ridges and alphas must be 0 or more"),
        ({"ks": [1, 2], "ridges": [0.1, 0.2, 0.3]}, "agree on the number of models"),
        ({"starts": np.zeros(3)}, "starts must have shape"),
        ({"sample_weight": np.ones(3)}, r"sample_weight must have shape \(20,\)"),
    ],
)
def test_bad_grids_are_refused(change, message):
    X, positive = problem(0, 20, 6)
    with pytest.raises(ValueError, match=message):
        sht_auc_grid(X, positive, **({"ks": [1, 2], "step_sizes": 0.1} | change))


def test_bad_tables_are_refused():
    X, positive = problem(0, 20, 6)
    with pytest.raises(TypeError, match="dense"):
        sht_auc_grid(sp.csr_array(X), positive, ks=2)
    with pytest.raises(ValueError, match="float32 or float64"):
        sht_auc_grid(X.astype(int), positive, ks=2)
    with pytest.raises(ValueError, match=r"shape \(n, d\)"):
        sht_auc_grid(X[0], positive, ks=2)
    with pytest.raises(ValueError, match="positive must have shape"):
        sht_auc_grid(X, positive[:-1], ks=2)
    with pytest.raises(ValueError, match="one class only"):
        sht_auc_grid(X, np.ones(20), ks=2)
    with pytest.raises(ValueError, match="no automatic step"):
        sto_iht_grid(X, positive, ks=2, step_sizes="auto")


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_tensor_that_is_not_finite_names_the_place(value, name):
    X, positive = problem(0, 20, 6)
    X[7, 4] = value
    with pytest.raises(ValueError, match=f"contains {name}: first at row 7, column 4"):
        sht_auc_grid(torch.from_numpy(X), positive, ks=2)
