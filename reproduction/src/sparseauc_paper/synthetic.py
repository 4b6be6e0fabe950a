"""The simulated outbreak: a method tuned and tested on one split of one draw (Tables I, II)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sparseauc.datasets import OutbreakData, make_outbreak
from sparseauc.metrics import auc

from .arrays import Indices, Mask
from .methods import METHODS, NEGLIGIBLE
from .presets import Preset, points
from .projections import top_k
from .protocols import Protocol
from .seeds import generator
from .tasks import Task
from .training import Point
from .tuning import (
    N_FOLDS,
    Fits,
    Split,
    best_of,
    scale_columns,
    scale_rows,
    stratified_folds,
)

SHIFT = 0.3


def synthetic_task(
    preset: Preset, protocol: Protocol, method: str, **part: Any
) -> Task:
    """Name the work of one method on a test part: k, ratio, trial, fold and seed."""
    grid = {
        name: list(axis)
        for name, axis in preset.synthetic_grid(method, protocol).items()
    }
    switches = protocol.switches_of("synthetic", method)
    size: dict[str, Any] = {"n": preset.n, "d": preset.d, "epochs": preset.epochs}
    if METHODS[method].truncated:
        # Numbers of columns to choose from, those of the hard-thresholding methods.
        size["limits"] = list(preset.grids["sht-auc"]["k"])
    return Task(
        "synthetic",
        {"method": method, "grid": grid, "switches": switches, **size, **part},
    )


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tune, fit and test; see ``synthetic_task`` for the settings."""
    protocol = Protocol(**settings["switches"])
    method = METHODS[settings["method"]]
    grid = points(settings["grid"])
    draw = tuple(settings[name] for name in ("seed", "k", "ratio", "trial", "n", "d"))
    # Where the switch is not named, the method starts at 0, and signs are the same to
    # it.
    data = outbreak(
        *draw, random_signs=not settings["switches"].get("one_sided_shifts", True)
    )
    positive = data.y > 0
    split = outer_split(protocol, positive, draw, settings["fold"])
    if positive[split.test].all() or not positive[split.test].any():
        raise ValueError("all test rows are of one class: this split has no AUC")
    inner = inner_splits(protocol, positive, split.train, (*draw, settings["fold"]))

    def scale(train: Indices) -> Any:
        return data.X if method.raw else scaled(protocol, data, train)

    work = Fits(settings, protocol, positive, inner, (*draw, settings["fold"]), scale)
    chosen = choose(work, grid, settings["k"], settings.get("limits", ()))
    points_chosen = list(dict.fromkeys(choice.point for choice in chosen.values()))
    wanted = [dict(point) for point in points_chosen]
    if settings.get("timed"):
        work.fit(split, wanted)  # the first fit of a process loads kernels
    X_test, W, seconds = work.fit(split, wanted)
    fitted = dict(zip(points_chosen, W.T, strict=True))
    for point, coef in fitted.items():
        if not np.isfinite(coef).all():
            raise FloatingPointError(
                f"the final fit of {method.name} diverged at {dict(point)}"
            )
    judged = positive[split.test]
    result: dict[str, Any] = {
        "auc": auc(judged, X_test @ fitted[chosen["best"].point]),
        "chosen": dict(chosen["best"].point),
        "validation_auc": chosen["best"].auc,
        "bayes_auc": data.bayes_auc,
        "seconds": seconds,
    }
    for name, choice in chosen.items():
        coef = fitted[choice.point]
        columns = np.flatnonzero(coef)
        suffix = f"_{name}"
        if name == "best":
            suffix = ""
            if method.truncated:
                columns = np.flatnonzero(np.abs(coef) >= NEGLIGIBLE)
        elif choice.k is not None:
            columns = top_k(coef, choice.k)
        result |= {
            f"auc{suffix or '_cut'}": auc(judged, X_test[:, columns] @ coef[columns]),
            f"f1{suffix}": support_f1(columns, data.support),
            f"jaccard{suffix}": support_jaccard(columns, data.support),
            f"columns{suffix}": columns.size,
        }
    return result


def support_f1(selected: Indices, relevant: Indices) -> float:
    """F1 score of a selection of columns, 2|S∩R| / (|S| + |R|)."""
    return 2 * np.intersect1d(selected, relevant).size / (selected.size + relevant.size)


def support_jaccard(selected: Indices, relevant: Indices) -> float:
    """Jaccard index of a selection of columns, |S∩R| / |S∪R|."""
    return np.intersect1d(selected, relevant).size / np.union1d(selected, relevant).size


class Choice(NamedTuple):
    """A grid point, and how many of its largest coefficients are kept if the method keeps all."""

    point: tuple[tuple[str, float], ...]
    auc: float | None  # on validation rows; none where there was no choice
    k: int | None = None


def choose(
    work: Fits, grid: Sequence[Point], k_star: int, limits: Sequence[int]
) -> dict[str, Choice]:
    """Choose by validation AUC: the best point, the best with k tuned, and the best with k = k*.

    A method with a limit k has it in its grid. Of a dense answer the k largest
    coefficients count, with k from ``limits``; a method that decides itself how many
    columns it has keeps to that.
    """
    with_k = [{**point, "k": k_star} for point in grid if "k" in point]
    known = [tuple(point.items()) for point in grid]
    asked = list(dict.fromkeys([*known, *(tuple(point.items()) for point in with_k)]))
    ks = [*limits, k_star] if limits else []
    if len(asked) == 1 and not ks:
        best = Choice(asked[0], None)
        return {"best": best, "tuned": best, "told": best._replace(k=k_star)}
    scores, limited = work.tune([dict(point) for point in asked], ks)

    def choice(place: int, k: int | None = None) -> Choice:
        auc = scores[place] if k is None else limited[place, ks.index(k)]
        return Choice(asked[place], float(auc), k)

    best = choice(best_of(scores, range(len(known))))
    if with_k:
        places = [asked.index(tuple(point.items())) for point in with_k]
        return {"best": best, "tuned": best, "told": choice(best_of(scores, places))}
    if not ks:
        return {"best": best, "tuned": best, "told": best._replace(k=k_star)}
    flat = limited[:, : len(limits)].ravel()
    place, k = divmod(best_of(flat, range(flat.size)), len(limits))
    told = best_of(limited[:, -1], range(len(asked)))
    return {
        "best": best,
        "tuned": choice(place, limits[k]),
        "told": choice(told, k_star),
    }


@lru_cache(maxsize=2)
def outbreak(
    seed: int,
    k: int,
    ratio: float,
    trial: int,
    n: int,
    d: int,
    *,
    random_signs: bool = False,
) -> OutbreakData:
    """Draw the data of a trial, the same for every method, protocol and fold.

    All shifts are positive, as in the paper; with ``random_signs`` every column,
    shifted or not, is multiplied by a sign, which leaves the task as hard as it was.
    """
    place = seed, k, ratio, trial, n, d
    rng = generator("outbreak", *place)
    data = make_outbreak(n=n, d=d, k=k, mu=SHIFT, r=ratio, random_state=rng)
    if not random_signs:
        return data
    signs = generator("signs", *place).choice([-1.0, 1.0], d)
    return replace(data, X=data.X * signs, coef=data.coef * signs)


def scaled(protocol: Protocol, data: OutbreakData, train: Indices) -> Any:
    """Z-score columns by the training rows, or by all or not at all if switched; unit rows."""
    if protocol.no_scaling:
        return scale_rows(data.X)
    if protocol.scale_with_test_rows:
        return _scaled_as_one(data)
    return scale_rows(scale_columns(data.X, train))


@lru_cache(maxsize=2)
def _scaled_as_one(data: OutbreakData) -> Any:
    return scale_rows(scale_columns(data.X, np.arange(data.X.shape[0])))


def outer_split(
    protocol: Protocol, positive: Mask, draw: tuple[Any, ...], fold: int
) -> Split:
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
