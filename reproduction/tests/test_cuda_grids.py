"""Grids on a GPU: the same answers as on the CPU."""

import numpy as np
import pytest

from naive import shifted_table
from sparseauc_paper.grids import sht_auc_grid, sto_iht_grid

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
]


def problem(seed, n, d, dtype=np.float64):
    X, positive = shifted_table(seed, n, d)
    return X.astype(dtype), positive


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [50, 1000, 20_000])
@pytest.mark.parametrize("step_size", ["auto", 1e-4])
def test_a_grid_on_the_gpu_equals_that_on_the_cpu(dtype, d, step_size):
    X, positive = problem(0, 200, d, dtype)
    arguments = {"ks": [3, 10, 20], "step_sizes": step_size, "ridges": [0.0, 0.1, 1.0]}
    on_cpu = sht_auc_grid(X, positive, rng=np.random.default_rng(1), **arguments)
    on_gpu = sht_auc_grid(
        torch.from_numpy(X).cuda(), positive, rng=np.random.default_rng(1), **arguments
    )
    assert on_gpu.coef.is_cuda
    tolerance = (1e-9 if dtype == np.float64 else 1e-4) * np.abs(on_cpu.coef).max()
    np.testing.assert_allclose(on_gpu.coef.cpu().numpy(), on_cpu.coef, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(on_gpu.n_epochs, on_cpu.n_epochs)


@pytest.mark.parametrize("d", [300, 20_000])
def test_sto_iht_on_the_gpu_equals_that_on_the_cpu(d):
    X, positive = problem(0, 80, d, np.float32)
    arguments = {"ks": [2, 8], "step_sizes": 1e-3, "batch_size": 16, "max_epochs": 10}
    on_cpu = sto_iht_grid(X, positive, rng=np.random.default_rng(1), **arguments)
    on_gpu = sto_iht_grid(
        torch.from_numpy(X).cuda(), positive, rng=np.random.default_rng(1), **arguments
    )
    np.testing.assert_allclose(on_gpu.coef.cpu().numpy(), on_cpu.coef, rtol=0, atol=1e-5)
    np.testing.assert_allclose(on_gpu.intercept.cpu().numpy(), on_cpu.intercept, atol=1e-5)


@pytest.mark.parametrize("d", [100, 30_000])
def test_a_model_that_diverges_leaves_the_others_alone(d):
    X, positive = problem(0, 40, d, np.float32)
    both = sht_auc_grid(
        torch.from_numpy(X).cuda(), positive, ks=3, step_sizes=[1e30, 1e-6], tol=0.0
    )
    assert both.diverged.tolist() == [True, False]
