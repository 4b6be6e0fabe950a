"""How SHT-AUC's training AUC rises with the epochs, for two scales of its step (Figure 1)."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from sparseauc.blocks import RowBlocks
from sparseauc.objective import AUCObjective
from sparseauc.solvers import EpochRecord, sht_auc

from .presets import Preset
from .protocols import CORRECTED, PUBLISHED
from .seeds import generator
from .synthetic import outbreak, outer_split, scaled
from .tasks import Task
from .theory.empirical import largest_curvature

Scale = Literal["published", "paper"]
SCALES: Mapping[Scale, str] = {
    "published": "step of the published programs, γ = r(1 − r)",
    "paper": "step of the paper's theorem, γ = 1/ρ⁺",
}
BATCH_SIZE = 50
RECORDED_EVERY = 10


def convergence_task(preset: Preset, **run: Any) -> Task:
    """Name a run on a training part of the first trial: k, ratio, fold, scale and seed."""
    size = {"n": preset.n, "d": preset.d, "epochs": preset.figure1_epochs}
    return Task("convergence", {"batch_size": BATCH_SIZE, "every": RECORDED_EVERY, **size, **run})


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run SHT-AUC with k = k*; see ``convergence_task`` for the settings."""
    draw = (settings["seed"], settings["k"], settings["ratio"], 0, settings["n"], settings["d"])
    data = outbreak(*draw)
    positive = data.y > 0
    rows = outer_split(CORRECTED, positive, draw, settings["fold"]).train
    X = np.ascontiguousarray(scaled(PUBLISHED, data, rows, draw)[rows])
    objective = AUCObjective(X, positive[rows])
    n, r = rows.size, objective.moments.ratio
    step = r * (1 - r)
    if settings["scale"] == "paper":
        blocks = RowBlocks.partition(
            n, settings["batch_size"], shuffle=False, rng=np.random.default_rng(0)
        )
        step = 1.0 / largest_curvature(objective, blocks)
    epochs, aucs, values = [0], [0.5], [1.0]

    def record(now: EpochRecord) -> None:
        if now.epoch == 1 or now.epoch % settings["every"] == 0:
            epochs.append(now.epoch)
            aucs.append(now.auc)
            values.append(now.objective)

    rng = generator("convergence", *draw, settings["fold"], settings["scale"])
    sht_auc(
        objective, settings["k"], batch_size=settings["batch_size"], step_size=step, shuffle=False,
        max_epochs=settings["epochs"], tol=0.0, callback=record, rng=rng,
    )  # fmt: skip
    return {"epochs": epochs, "auc": aucs, "objective": values, "step": step, "rows": n}
