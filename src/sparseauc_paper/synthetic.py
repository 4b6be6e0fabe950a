"""The simulated outbreak: a method tuned and tested on one split of one draw (Tables I, II)."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from sparseauc.datasets import OutbreakData, make_outbreak
from sparseauc.metrics import fast_auc
from sparseauc.projections import top_k

from .methods import METHODS, NEGLIGIBLE
from .presets import Preset, points
from .protocols import Protocol
from .row_space import Indices, Mask
from .seeds import generator
from .supports import support_f1, support_jaccard
from .tasks import Task
from .tuning import N_FOLDS, Fits, Split, best_of, scale_columns, scale_rows, stratified_folds

SHIFT = 0.3


def synthetic_task(preset: Preset, protocol: Protocol, method: str, **part: Any) -> Task:
    """Name the work of one method on a test part: k, ratio, trial, fold and seed."""
    grid = {name: list(axis) for name, axis in preset.synthetic_grid(method, protocol).items()}
    switches = protocol.switches_of("synthetic", method)
    size = {"n": preset.n, "d": preset.d, "epochs": preset.epochs}
    return Task("synthetic", {"method": method, "grid": grid, "switches": switches, **size, **part})


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tune, fit and test; see ``synthetic_task`` for the settings."""
    protocol = Protocol(**settings["switches"])
    method = METHODS[settings["method"]]
    grid = points(settings["grid"])
    draw = tuple(settings[name] for name in ("seed", "k", "ratio", "trial", "n", "d"))
    data = outbreak(*draw)
    positive = data.y > 0
    split = outer_split(protocol, positive, draw, settings["fold"])
    if positive[split.test].all() or not positive[split.test].any():
        raise ValueError("all test rows are of one class: this split has no AUC")
    inner = inner_splits(protocol, positive, split.train, (*draw, settings["fold"]))

    def scale(train: Indices) -> Any:
        return data.X if method.raw else scaled(protocol, data, train, draw)

    work = Fits(settings, protocol, positive, inner, (*draw, settings["fold"]), scale)
    best, validation = 0, None
    if len(grid) > 1:
        scores = work.tune(grid)
        best = best_of(scores, range(len(grid)))
        validation = float(scores[best])
    X_test, W = work.fit(split, len(inner), [grid[best]])
    coef = W[:, 0]
    if not np.isfinite(coef).all():
        raise FloatingPointError(f"the final fit of {method.name} diverged at {grid[best]}")
    cut = np.where(np.abs(coef) < NEGLIGIBLE, 0.0, coef) if method.truncated else coef
    chosen = np.flatnonzero(cut)
    # Of a dense answer the k* largest, which do not depend on its scale.
    largest = top_k(coef, settings["k"]) if method.truncated else chosen
    judged = positive[split.test]
    return {
        "auc": fast_auc(X_test @ coef, judged),
        "auc_cut": fast_auc(X_test @ cut, judged),
        "f1": support_f1(chosen, data.support),
        "f1_largest": support_f1(largest, data.support),
        "jaccard": support_jaccard(chosen, data.support),
        "jaccard_largest": support_jaccard(largest, data.support),
        "columns": chosen.size,
        "chosen": grid[best],
        "validation_auc": validation,
        "bayes_auc": data.bayes_auc,
    }


@lru_cache(maxsize=2)
def outbreak(seed: int, k: int, ratio: float, trial: int, n: int, d: int) -> OutbreakData:
    """Draw the data of a trial, the same for every method, protocol and fold."""
    rng = generator("outbreak", seed, k, ratio, trial, n, d)
    return make_outbreak(n=n, d=d, k=k, mu=SHIFT, r=ratio, random_state=rng)


@lru_cache(maxsize=2)
def _scaled_as_one(draw: tuple[Any, ...]) -> Any:
    X = outbreak(*draw).X
    return scale_rows(scale_columns(X, np.arange(X.shape[0])))


def scaled(protocol: Protocol, data: OutbreakData, train: Indices, draw: tuple[Any, ...]) -> Any:
    """Z-score columns by the training rows, or by all if so switched; then unit rows."""
    if protocol.scale_with_test_rows:
        return _scaled_as_one(draw)
    return scale_rows(scale_columns(data.X, train))


def outer_split(protocol: Protocol, positive: Mask, draw: tuple[Any, ...], fold: int) -> Split:
    """Training and test rows of one of the five test parts of a trial."""
    n = positive.size
    if protocol.independent_splits:
        order = generator("independent split", *draw, fold).permutation(n)
        start, stop = fold * n // N_FOLDS, (fold + 1) * n // N_FOLDS
        return Split(np.concatenate([order[:start], order[stop:]]), order[start:stop])
    return stratified_folds(positive, "folds", *draw)[fold]


def inner_splits(
    protocol: Protocol, positive: Mask, train: Indices, seed: tuple[Any, ...]
) -> list[Split]:
    """Five tuning splits of the training rows, as row numbers of the whole table."""
    n = train.size
    if protocol.unstratified_tuning:
        bounds = [fold * n // N_FOLDS for fold in range(N_FOLDS + 1)]
        places = np.arange(n)
        parts = [
            Split(np.delete(places, places[start:stop]), places[start:stop])
            for start, stop in pairwise(bounds)
        ]
    else:
        parts = stratified_folds(positive[train], "tuning folds", *seed)
    return [Split(train[fit], train[judge]) for fit, judge in parts]
