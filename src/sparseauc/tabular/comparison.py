"""Compare methods on a table by nested cross-validation.

Every method is scaled, imputed and tuned within the training rows of an outer fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..metrics import delong_test
from ..selection.confidence import comparable_scores, pool_folds
from .methods import METHODS, Method
from .reading import DataError, Table

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class MethodResult:
    """Result of one method.

    Attributes
    ----------
    method : str
    auc, low, high : float
        AUC over all rows scored out of fold, and its DeLong 95 % interval; means over repeats.
    fold_auc : float
        Mean AUC within folds, which compares rows scored by the same model only.
    columns : float
        Median number of columns used.
    difference, pvalue : float, optional
        AUC minus that of the first method, and DeLong's paired p-value, of the first repeat.
    seconds : float
        For all its fits.
    scores : ndarray of shape (repeats, n)
        Out of fold, in units of the distance of the classes in training, zero midway.
    """

    method: str
    auc: float
    low: float
    high: float
    fold_auc: float
    columns: float
    difference: float | None
    pvalue: float | None
    seconds: float
    scores: Floats = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """All but the scores."""
        return {key: value for key, value in vars(self).items() if key != "scores"}


def compare_methods(
    table: Table,
    methods: Sequence[str] = tuple(METHODS),
    *,
    repeats: int = 1,
    folds: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[MethodResult]:
    """Compare methods on a table by nested cross-validation.

    Parameters
    ----------
    table : Table
    methods : sequence of str, default=all of ``METHODS``
        The first is what the others are compared with.
    repeats : int, default=1
        Repeats of the outer cross-validation. All methods use the same folds.
    folds : int, default=5
        Outer folds; fewer if a class has fewer rows or groups.
    seed : int, default=0
    progress : callable, optional
        Called with the stage, the steps done and the number of steps.

    Returns
    -------
    list of MethodResult
        In the order asked for.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise DataError(f"unknown method {unknown[0]!r}; known: {', '.join(METHODS)}")
    splits = [_splits(table, folds, seed + repeat) for repeat in range(repeats)]
    steps, done = len(methods) * sum(map(len, splits)), 0
    positive = table.y == 1
    results: list[MethodResult] = []
    for name in methods:
        started = time.perf_counter()
        judged, used = [], []
        for repeat, folds_of_rows in enumerate(splits):
            parts = []
            for number, (train, test) in enumerate(folds_of_rows):
                if progress:
                    progress(f"{name}, fold {number + 1} of {len(folds_of_rows)}", done, steps)
                done += 1
                model = fit_method(METHODS[name], table, train, seed + repeat)
                parts.append(comparable_scores(model, table.X, positive, train, test))
                used.append(_columns_used(model))
            judged.append(pool_folds(parts, [test for _, test in folds_of_rows], positive))
        scores = np.array([one.scores for one in judged])
        intervals = [one.interval for one in judged]
        fold_aucs = np.concatenate([one.fold_aucs for one in judged])
        fold_aucs = fold_aucs[~np.isnan(fold_aucs)]
        paired = delong_test(table.y, scores[0], results[0].scores[0]) if results else None
        results.append(
            MethodResult(
                method=name,
                auc=float(np.mean([one.auc for one in intervals])),
                low=float(np.mean([one.low for one in intervals])),
                high=float(np.mean([one.high for one in intervals])),
                fold_auc=float(np.mean(fold_aucs)) if fold_aucs.size else float("nan"),
                columns=float(np.median(used)),
                difference=None if paired is None else paired.difference,
                pvalue=None if paired is None else paired.pvalue,
                seconds=time.perf_counter() - started,
                scores=scores,
            )
        )
    return results


def _splits(table: Table, folds: int, seed: int) -> list[Any]:
    """Outer folds that leave both classes on either side."""
    return list(
        _folds(table.y, table.groups, folds, seed).split(
            np.zeros((table.y.size, 1)), table.y, table.groups
        )
    )


def _folds(y: Any, groups: Any, folds: int, seed: int) -> Any:
    """Stratified folds, as many as the rarer class allows, groups kept together."""
    units = np.arange(y.size) if groups is None else groups
    fewest = min(np.unique(units[y == label]).size for label in (0, 1))
    if fewest < 2:
        raise DataError(
            f"a class has only {fewest} rows or groups; comparing methods needs at least 4"
        )
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(min(folds, fewest), shuffle=True, random_state=seed)


def fit_method(method: Method, table: Table, train: npt.NDArray[np.intp], seed: int) -> Any:
    """Tune and fit a method to training rows, without its convergence warnings."""
    X, y = table.X[train], table.y[train]
    groups = None if table.groups is None else table.groups[train]
    inner = _folds(y, groups, 5, 1000 + seed)
    fill = (
        []
        if table.imputation is None
        else [("impute", SimpleImputer(strategy=table.imputation, keep_empty_features=True))]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not method.grid:
                model = method.make()
                extra = {}
                if groups is not None:
                    model.set_params(cv=inner)
                    extra = {"model__groups": groups}
                return Pipeline([*fill, ("model", model)]).fit(X, y, **extra)
            scale = StandardScaler(with_mean=not sp.issparse(X))
            pipeline = Pipeline([*fill, ("scale", scale), ("model", method.make())])
            grid = method.feasible_grid(X.shape[1])
            tuned = {f"model__{key}": values for key, values in grid.items()}
            search = GridSearchCV(pipeline, tuned, scoring="roc_auc", cv=inner)
            return search.fit(X, y, groups=groups).best_estimator_
        except ValueError as error:
            raise DataError(f"{method.key}: {error}") from error


def _columns_used(model: Any) -> int:
    return int(np.count_nonzero(model[-1].coef_))
