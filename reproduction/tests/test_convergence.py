import numpy as np
import pytest

from fits import run_algorithm
from sparseauc.datasets import make_outbreak
from sparseauc_paper.blocks import RowBlocks
from sparseauc_paper.convergence import SCALES, convergence_task
from sparseauc_paper.methods import METHODS
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.protocols import one_switch_on
from sparseauc_paper.theory.empirical import largest_curvature
from sparseauc_paper.training import Training
from tiny import TINY


def test_largest_curvature_is_that_of_the_gradients():
    data = make_outbreak(n=60, d=8, k=3, r=0.3, random_state=1)
    objective = AUCObjective(data.X, data.y)
    largest = 0.0
    for start in range(0, 60, 20):
        rows = np.arange(start, start + 20)
        at_zero = objective.block_gradient(np.zeros(8), rows, 3)
        hessian = [objective.block_gradient(e, rows, 3) - at_zero for e in np.eye(8)]
        largest = max(largest, np.linalg.eigvalsh(np.array(hessian))[-1])
    blocks = RowBlocks.partition(60, 20, shuffle=False, rng=np.random.default_rng(0))
    assert largest_curvature(objective, blocks) == pytest.approx(largest)


def test_the_step_of_the_theorem_in_the_tables():
    data = make_outbreak(n=60, d=8, k=3, r=0.3, random_state=1)
    training = Training(
        data.X, data.y > 0, one_switch_on("paper_step"), 5, ("test",), 60, True
    )
    point = {"k": 3, "blocks": 4}
    (W,) = METHODS["sht-auc"].fit([training], [point])
    blocks = RowBlocks.partition(60, 15, shuffle=True, rng=training.rng(point))
    step = 1 / largest_curvature(training.objective, blocks)
    expected = run_algorithm(
        data.X,
        data.y > 0,
        3,
        batch_size=15,
        step_size=step,
        n_epochs=5,
        rng=training.rng(point),
    )
    np.testing.assert_allclose(W[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_a_run(scale):
    task = convergence_task(TINY, k=3, ratio=0.25, scale=scale, seed=0, trial=0)
    result = task.compute()
    assert result["epochs"] == list(range(21))
    assert result["auc"][0] == 0.5
    assert result["objective"][-1] < result["objective"][1] < 1
    if scale == "published":
        assert result["step"] == pytest.approx(0.25 * 0.75)
    assert result == task.compute()
