import numpy as np
import pytest
from tiny import TINY

from sparseauc.datasets import make_outbreak
from sparseauc.objective import AUCObjective
from sparseauc_paper.convergence import SCALES, convergence_cell, largest_curvature


def test_largest_curvature_is_that_of_the_gradients():
    data = make_outbreak(n=60, d=8, k=3, r=0.3, random_state=1)
    objective = AUCObjective(data.X, data.y)
    largest = 0.0
    for start in range(0, 60, 20):
        rows = np.arange(start, start + 20)
        at_zero = objective.block_gradient(np.zeros(8), rows, 3)
        hessian = [objective.block_gradient(e, rows, 3) - at_zero for e in np.eye(8)]
        largest = max(largest, np.linalg.eigvalsh(np.array(hessian))[-1])
    assert largest_curvature(objective, 20) == pytest.approx(largest)


@pytest.mark.parametrize("scale", SCALES)
def test_a_run(scale):
    cell = convergence_cell(TINY, k=3, ratio=0.25, fold=0, scale=scale, seed=0)
    result = cell.compute()
    assert result["epochs"] == [0, 1, 10, 20]
    assert result["auc"][0] == 0.5
    assert result["objective"][-1] < result["objective"][1] < 1
    if scale == "published":
        assert result["step"] == pytest.approx(0.25 * 0.75)
    assert result == cell.compute()
