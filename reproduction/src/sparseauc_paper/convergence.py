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


def convergence_task(preset: Preset, **run: Any) -> Task:
    """Name a run on the first training part of a draw: k, ratio, scale, seed and trial."""
    size = {"n": preset.n, "d": preset.d, "epochs": preset.figure1_epochs}
    return Task("convergence", {"batch_size": BATCH_SIZE, **size, **run})


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run SHT-AUC with k = k*; see ``convergence_task`` for the settings."""
    draw = tuple(settings[name] for name in ("seed", "k", "ratio", "trial", "n", "d"))
    data = outbreak(*draw)
    positive = data.y > 0
    rows = outer_split(CORRECTED, positive, draw, 0).train
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
        epochs.append(now.epoch)
        aucs.append(now.auc)
        values.append(now.objective)

    rng = generator("convergence", *draw, settings["scale"])
    sht_auc(
        objective, settings["k"], batch_size=settings["batch_size"], step_size=step, shuffle=False,
        max_epochs=settings["epochs"], tol=0.0, callback=record, rng=rng,
    )  # fmt: skip
    return {"epochs": epochs, "auc": aucs, "objective": values, "step": step, "rows": n}
