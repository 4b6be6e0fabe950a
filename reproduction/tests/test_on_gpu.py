"""Grids on a GPU, or by Triton's interpreter without one, against one point at a time."""

import os

import numpy as np
import pytest
import torch

from sparseauc.datasets import make_outbreak
from sparseauc_paper import runner
from sparseauc_paper.methods import METHODS
from sparseauc_paper.plan import Request, table_tasks
from sparseauc_paper.presets import points
from sparseauc_paper.protocols import CORRECTED, PUBLISHED
from sparseauc_paper.store import Store
from sparseauc_paper.training import Training
from sparseauc_paper.tuning import scale_rows
from tiny import TINY

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

pytest.importorskip("triton")

GRIDS = {
    # Within the ball, on its surface, and steps so large that w bounces on it.
    "fsauc": points({"radius": (0.1, 1.0, 1e3), "eta": (2.0**-6, 1.0, 2.0**8)}),
    "spam-l2": points({"xi": (1e-3, 1.0), "l2": (1e-4, 0.3)}),
    "spam-l1": points({"xi": (1e-3, 1.0), "l1": (1e-4, 0.03)}),
    "spam-l1l2": points({"xi": (1e-3, 1.0), "l1": (1e-4,), "l2": (1e-2, 10.0)}),
    "solam": points({"xi": (0.1, 10.0), "radius": (0.1, 10.0)}),
}


@pytest.mark.parametrize(
    "protocol", [CORRECTED, PUBLISHED], ids=["corrected", "published"]
)
@pytest.mark.parametrize("method", GRIDS)
def test_grids_are_their_points_one_by_one(method, protocol):
    """Of three training sets, one with a row less: as many fits to each as there are points."""
    # Not a power of two: the last columns of a program are empty.
    data = make_outbreak(n=16, d=11, k=3, mu=0.8, r=0.3, random_state=0)
    data.X[:, 7] = data.X[:, 3]  # of equal entries the first is kept
    parts = [np.arange(14), np.arange(1, 14), np.arange(2, 16)]

    def fit(device):
        trainings = [
            Training(
                scale_rows(data.X[rows]),
                data.y[rows] > 0,
                protocol,
                epochs=2,
                seed=("test", i),
                tuning_rows=14,
                tuning=True,
                stop_tol=0.02,
                device=device,
            )
            for i, rows in enumerate(parts)
        ]
        return list(METHODS[method].fit(trainings, GRIDS[method]))

    for found, expected in zip(fit(DEVICE), fit(None), strict=True):
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_a_diverged_fit_is_nan():
    data = make_outbreak(n=14, d=5, k=3, mu=0.8, r=0.3, random_state=0)
    training = Training(
        data.X,
        data.y > 0,
        CORRECTED,
        epochs=2,
        seed=("test",),
        tuning_rows=14,
        tuning=True,
        device=DEVICE,
    )
    (W,) = METHODS["spam-l1"].fit(
        [training], [{"xi": xi, "l1": 0.0} for xi in (1e200, 0.1)]
    )
    assert np.isnan(W[:, 0]).all()
    assert np.isfinite(W[:, 1]).all()


@pytest.mark.slow
def test_cores_and_the_device_share_the_tasks_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_ON_DEVICE", 1)
    request = Request(TINY, "corrected", ("mean-difference", "spam-l2"), seed=0)
    tasks = [
        task
        for key, task in table_tasks(request, "corrected").items()
        if key[2:] == (0, 0)
    ]
    with Store(tmp_path / "store.sqlite") as store:
        progressed = runner.run_tasks(tasks, store, jobs=1, device=DEVICE)
        assert (progressed.done, progressed.failed) == (len(tasks), 0)
        outcomes = store.get(tasks)
        (run,) = store.runs()
    assert "NVIDIA" in run.machine or run.machine.endswith(", cpu")
    for task, outcome in outcomes.items():
        expected = runner.compute(task)[1].result
        assert outcome.result["auc"] == pytest.approx(expected["auc"], abs=1e-12)
        assert outcome.result["chosen"] == expected["chosen"]
