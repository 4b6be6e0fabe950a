from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestCentroid

from fits import run_algorithm
from sparseauc.datasets import make_outbreak
from sparseauc_paper.blocks import RowBlocks
from sparseauc_paper.methods import METHODS, find_methods, shrunken_centroids
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.presets import PAPER, QUICK, points
from sparseauc_paper.protocols import CORRECTED, PUBLISHED, one_switch_on
from sparseauc_paper.training import Training


def training(protocol=CORRECTED, *, tuning=True, n=120, d=20, **changes):
    data = make_outbreak(n=n, d=d, k=5, mu=0.8, r=0.25, random_state=0)
    settings = {"epochs": 4, "seed": ("test",), "tuning_rows": 96} | changes
    return Training(data.X, data.y > 0, protocol, tuning=tuning, **settings)


def run_sto_iht(X, positive, k, *, batch_size, step_size, n_epochs, rng):
    """StoIHT written out, as Algorithm 1 is."""
    blocks = RowBlocks.partition(positive.size, batch_size, shuffle=True, rng=rng)
    parts = np.split(blocks.rows, blocks.starts[1:-1])
    draws = [
        parts[i]
        for _ in range(n_epochs)
        for i in rng.integers(0, len(parts), len(parts))
    ]
    w, sign, intercept = np.zeros(X.shape[1]), np.where(positive, 1.0, -1.0), 0.0
    for rows in draws:
        pull = sign[rows] / (1 + np.exp(sign[rows] * (X[rows] @ w + intercept)))
        pull *= step_size * len(parts) / positive.size
        w, intercept = w + pull @ X[rows], intercept + pull.sum()
        w[np.argsort(np.abs(w))[:-k]] = 0
    return w


GRID = points({"k": (1, 3, 6), "blocks": (1, 4)})


@pytest.mark.parametrize("key", METHODS)
def test_one_column_of_coefficients_for_each_point(key):
    data = training()
    grid = points(QUICK.grids[key])[:5]
    W = METHODS[key].solve(data, grid)
    assert W.shape == (20, len(grid))
    again = METHODS[key].solve(training(), grid)
    np.testing.assert_array_equal(W, again)


@pytest.mark.parametrize(
    "protocol", [CORRECTED, PUBLISHED], ids=["corrected", "published"]
)
@pytest.mark.parametrize("key", [key for key in METHODS if key != "sparse-auc"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_other_signs_of_columns_give_the_coefficients_other_signs(key, protocol, seed):
    """Bit by bit, but for SOLAM's start: draws with either signs can be compared."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], 20)
    grid = points(QUICK.grids[key])[1::4]
    plain = METHODS[key].solve(training(protocol), grid)
    data = training(protocol)
    turned = METHODS[key].solve(replace(data, X=data.X * signs), grid)
    same = np.array_equal(turned, signs[:, None] * plain, equal_nan=True)
    assert same == (key != "solam" or bool((signs > 0).all()))


@pytest.mark.parametrize(
    ("key", "solve"), [("sht-auc", run_algorithm), ("sto-iht", run_sto_iht)]
)
def test_blockwise_methods_are_the_solvers_one_k_at_a_time(key, solve):
    data = training()
    W = METHODS[key].solve(data, GRID)
    r = data.positive.mean()
    step = r * (1 - r) if key == "sht-auc" else 1.0
    for place, point in enumerate(GRID):
        w = solve(
            data.X,
            data.positive,
            point["k"],
            batch_size=120 // point["blocks"],
            step_size=step,
            n_epochs=4,
            rng=data.rng({"blocks": point["blocks"]}),
        )
        np.testing.assert_allclose(W[:, place], w, atol=1e-12)


@pytest.mark.parametrize("key", ["sht-auc", "sto-iht", "hsg-ht"])
def test_one_column_fewer(key):
    grid = GRID if key != "hsg-ht" else points({"k": (1, 3, 6), "tau": (1, 50)})
    fit = METHODS[key].solve
    sizes = np.count_nonzero(fit(training(), grid), axis=0)
    np.testing.assert_array_equal(sizes, [p["k"] for p in grid])
    sizes = np.count_nonzero(fit(training(one_switch_on("one_fewer")), grid), axis=0)
    np.testing.assert_array_equal(sizes, [p["k"] - 1 for p in grid])


def logistic_by_hand(data, k, batches, step, intercept):
    """Hard thresholding of the logistic loss, written out, on these batches of rows."""
    w, sign = np.zeros(data.X.shape[1]), np.where(data.positive, 1.0, -1.0)
    for rows in batches:
        pull = (
            sign[rows]
            / (1 + np.exp(sign[rows] * (data.X[rows] @ w + intercept)))
            / rows.size
        )
        w, intercept = w + step * (pull @ data.X[rows]), intercept + step * pull.sum()
        w[np.argsort(np.abs(w))[:-k]] = 0
    return w


@pytest.mark.parametrize("switch", ["log_odds_intercept", ""])
def test_intercept_starts_at_the_log_odds(switch):
    """From 0 or from the log odds, as programs written out do, with one block of all rows."""
    protocol = (
        one_switch_on(switch, one_switch_on("fixed_order")) if switch else CORRECTED
    )
    data = training(protocol)
    start = np.log(30 / 90) if switch else 0.0
    everything = [np.arange(120)] * 4
    for key, point, step in (
        ("sto-iht", {"k": 3, "blocks": 1}, 1.0),
        ("hsg-ht", {"k": 3, "tau": 120}, 3.0),
    ):
        (w,) = METHODS[key].solve(data, [point]).T
        np.testing.assert_allclose(
            w, logistic_by_hand(data, 3, everything, step, start), atol=1e-12
        )


def shrunk_by_hand(data, k, n_blocks):
    """The published programs' tuning fit: a step, division by 1.1, the k largest."""
    objective = AUCObjective(data.X, data.positive)
    n, d = data.X.shape
    r = data.positive.mean()
    rng = data.rng({"blocks": n_blocks})
    w = np.zeros(d)
    for _ in range(data.epochs):
        for i in rng.integers(0, n_blocks, size=n_blocks):
            rows = np.arange(i * n // n_blocks, (i + 1) * n // n_blocks)
            w = w - r * (1 - r) * objective.block_gradient(w, rows, n_blocks)
            w /= 1.1
            w[np.argsort(np.abs(w))[: d - k]] = 0
    return w


def test_ridge_while_tuning_and_only_then():
    protocol = one_switch_on("fixed_order", one_switch_on("ridge_while_tuning"))
    W = METHODS["sht-auc"].solve(training(protocol), GRID)
    for place, point in enumerate(GRID):
        expected = shrunk_by_hand(training(protocol), point["k"], point["blocks"])
        np.testing.assert_allclose(W[:, place], expected, atol=1e-12)
    final = METHODS["sht-auc"].solve(training(protocol, tuning=False), GRID)
    without = METHODS["sht-auc"].solve(
        training(one_switch_on("fixed_order"), tuning=False), GRID
    )
    np.testing.assert_array_equal(final, without)
    assert not np.allclose(final, W)


@pytest.mark.parametrize(
    ("blocks", "expected"), [(1, 1), (2, 2), (4, 5), (8, 10), (10, 12)]
)
def test_blocks_of_the_final_fit(blocks, expected):
    final = {"n": 800, "d": 5, "tuning_rows": 640, "tuning": False}
    assert training(CORRECTED, **final).n_blocks({"blocks": blocks}) == blocks
    assert training(PUBLISHED, **final).n_blocks({"blocks": blocks}) == expected


def test_switches_that_change_the_iterates():
    for key, switch in (
        ("spam-l1", "last_iterate"),
        ("fsauc", "fixed_order"),
        ("hsg-ht", "restart_batches"),
        ("sht-auc", "automatic_step"),
    ):
        grid = points(QUICK.grids[key])[:3]
        assert not np.allclose(
            METHODS[key].solve(training(), grid),
            METHODS[key].solve(training(one_switch_on(switch)), grid),
        ), switch


def test_diverged_fits_are_nan_and_other_errors_are_errors():
    data = training()
    for key in ("spam-l1", "spam-l2"):
        grid = [{"xi": xi, "l1": 0.0, "l2": 0.0} for xi in (1e200, 0.1)]
        W = METHODS[key].solve(data, grid)
        assert np.isnan(W[:, 0]).all()
        assert np.isfinite(W[:, 1]).all()
    with pytest.raises(ValueError, match="l1 and l2 must be"):
        METHODS["spam-l1"].solve(data, [{"xi": 0.1, "l1": -1.0}])


def test_shrunken_centroids_against_scikit_learn():
    data = training()
    n, k = data.positive.size, 7
    (w,) = shrunken_centroids(data.X, data.positive, [k]).T
    assert np.count_nonzero(w) == k
    # The threshold that leaves seven columns, on scikit-learn's scale.
    plain = NearestCentroid().fit(data.X, data.positive)
    s = plain.within_class_std_dev_ + np.median(plain.within_class_std_dev_)
    z = np.abs(plain.centroids_[1] - plain.centroids_[0]) / s
    scale = np.sqrt(data.positive.sum() * (~data.positive).sum() / n)
    model = NearestCentroid(shrink_threshold=np.sort(z)[-k - 1] * scale).fit(
        data.X, data.positive
    )
    # Its discriminant is linear with these coefficients, up to a factor.
    expected = (model.centroids_[1] - model.centroids_[0]) / s**2
    np.testing.assert_allclose(
        w / np.abs(w).max(), expected / np.abs(expected).max(), atol=1e-12
    )


def test_grids_are_the_papers():
    sizes = {key: len(points(grid)) for key, grid in PAPER.grids.items()}
    assert sizes["sht-auc"] == sizes["sto-iht"] == 50
    assert sizes["hsg-ht"] == 40
    assert sizes["spam-l1"] == sizes["spam-l2"] == 64
    assert sizes["spam-l1l2"] == 512
    assert sizes["solam"] == 84
    assert sizes["fsauc"] == 147
    assert set(PAPER.grids) == set(QUICK.grids) == set(METHODS)


def test_find_methods():
    assert find_methods(None) == tuple(METHODS)
    assert find_methods("FSAUC, sht-auc,") == ("sht-auc", "fsauc")
    assert find_methods("top-k mean difference") == ("mean-difference",)
    with pytest.raises(
        ValueError, match="no method is named 'lasso'; there are sht-auc"
    ):
        find_methods("sht-auc,lasso")
    with pytest.raises(ValueError, match="no method"):
        find_methods(" , ")
