"""The gene data: one method, tuned and tested on one split (Table III, Figures 3 and 4).

For the methods with a limit k, every k is fitted and tested, with what else there is
tuned for it: that is what the figures show. The table takes the k with the best
validation AUC, or, if so switched, the k with the best mean test AUC.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseauc.metrics import auc

from .arrays import Array, Indices, Mask
from .gene_tables import genes
from .methods import METHODS
from .presets import Preset, points
from .protocols import Protocol
from .seeds import generator
from .tasks import Task
from .tuning import (
    N_FOLDS,
    Fits,
    Split,
    best_of,
    scale_columns,
    scale_rows,
    stratified_folds,
)

# The hold-out of the published programs, for both data sets.
TRAINING_ROWS, _POSITIVES, _LEAST_NEGATIVES = 50, (32, 33), 3
_STOP_TOL = 1e-6


def real_task(
    preset: Preset, protocol: Protocol, method: str, *, dataset: str, **part: Any
) -> Task:
    """Name the work of one method on a test part of a data set: trial, fold and seed."""
    axes = preset.real_grid(method, dataset, protocol)
    grid = {name: list(axis) for name, axis in axes.items()}
    switches = protocol.switches_of("real", method)
    data = {
        "dataset": dataset,
        "data": genes(dataset).fingerprint,
        "epochs": preset.real_epochs,
    }
    return Task(
        "real", {"method": method, "grid": grid, "switches": switches, **data, **part}
    )


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tune, fit and test; see ``real_task`` for the settings."""
    protocol = Protocol(**settings["switches"])
    method = METHODS[settings["method"]]
    grid = points(settings["grid"])
    X, positive, markers, fingerprint = genes(settings["dataset"])
    if fingerprint != settings["data"]:
        raise ValueError(
            f"the {settings['dataset']} data here are {fingerprint}, not {settings['data']}"
        )
    draw = (settings["seed"], settings["dataset"], settings["trial"])
    split, inner = splits(protocol, positive, draw, settings["fold"])

    def scale(train: Indices) -> Array:
        if method.raw:
            return X
        return scale_rows(X if protocol.row_scaling_only else scale_columns(X, train))

    seed = (*draw, settings["fold"])
    work = Fits(settings, protocol, positive, inner, seed, scale, _STOP_TOL)
    scores = None
    chosen = {"": 0}
    if len(grid) > 1:
        scores, _ = work.tune(grid)
        # One choice for every k where the method has one, a single choice where it has
        # none.
        families: dict[str, list[int]] = {}
        for place, point in enumerate(grid):
            families.setdefault(f"{point['k']:g}" if "k" in point else "", []).append(
                place
            )
        chosen = {k: best_of(scores, places) for k, places in families.items()}
    X_test, W, _ = work.fit(split, [grid[place] for place in chosen.values()])
    judged = positive[split.test]
    results: dict[str, dict[str, Any]] = {}
    for (k, place), coef in zip(chosen.items(), W.T, strict=True):
        support = np.flatnonzero(coef)
        finite = bool(np.isfinite(coef).all())
        results[k] = {
            "auc": auc(judged, X_test @ coef) if finite else None,
            "columns": support.size,
            "markers": {
                name: int(np.isin(support, known).sum())
                for name, known in markers.items()
            },
            "validation_auc": None if scores is None else _number(scores[place]),
            "point": grid[place],
        }
    # The best validation AUC; among equals the smallest k, as the grid ascends.
    best = max(results, key=lambda k: float(results[k]["validation_auc"] or 0.0))
    if results[best]["auc"] is None:
        raise FloatingPointError(
            f"the final fit of {method.name} diverged at {grid[chosen[best]]}"
        )
    return {"by_k": results, "best": best}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def splits(
    protocol: Protocol, positive: Mask, draw: tuple[Any, ...], fold: int
) -> tuple[Split, list[Split]]:
    """Training and test rows, and the tuning splits, as row numbers of the whole table."""
    if protocol.hold_out_fifty:
        return _hold_out(protocol, positive, draw, fold)
    split = stratified_folds(positive, "real folds", *draw)[fold]
    inner = stratified_folds(positive[split.train], "real tuning folds", *draw, fold)
    return split, [Split(split.train[a], split.train[b]) for a, b in inner]


def _hold_out(
    protocol: Protocol, positive: Mask, draw: tuple[Any, ...], fold: int
) -> tuple[Split, list[Split]]:
    """50 rows to train, the rest to test; one tuning split of 40 and 10 rows."""
    rng = generator("hold-out", *draw)
    while True:
        order = rng.permutation(positive.size)
        first = order[:TRAINING_ROWS]
        negatives = (~positive[first]).reshape(N_FOLDS, -1).sum(axis=1)
        if positive[first].sum() in _POSITIVES and negatives.min() >= _LEAST_NEGATIVES:
            break
    size = TRAINING_ROWS // N_FOLDS
    judged = np.arange(fold * size, (fold + 1) * size)
    inner = Split(np.delete(first, judged), first[judged])
    # The slip: the order is applied to the rows of the split, which it had ordered
    # already.
    final = order[order] if protocol.permute_twice else order
    return Split(final[:TRAINING_ROWS], final[TRAINING_ROWS:]), [inner]
