"""How SHT-AUC's training AUC rises with the epochs, for two scales of its step (Figure 1)."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal

import numpy as np

from sparseauc.metrics import auc

from .algorithm import iterates
from .blocks import RowBlocks
from .objective import AUCObjective
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
    X = np.ascontiguousarray(scaled(PUBLISHED, data, rows)[rows])
    objective = AUCObjective(X, positive[rows])
    blocks = RowBlocks.partition(
        rows.size, settings["batch_size"], shuffle=False, rng=np.random.default_rng(0)
    )
    r = objective.moments.ratio
    step = r * (1 - r)
    if settings["scale"] == "paper":
        step = 1.0 / largest_curvature(objective, blocks)
    run = iterates(
        objective,
        blocks,
        settings["k"],
        step_size=step,
        rng=generator("convergence", *draw, settings["scale"]),
        n_epochs=settings["epochs"],
    )
    ends = list(islice(run, len(blocks) - 1, None, len(blocks)))
    return {
        "epochs": list(range(len(ends) + 1)),
        "auc": [0.5, *(auc(objective.positive, X @ w) for w in ends)],
        "objective": [1.0, *(objective.value(w) for w in ends)],
        "step": step,
        "rows": rows.size,
    }
