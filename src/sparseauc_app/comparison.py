"""Compare methods on a table by nested cross-validation.

Every method is scaled, imputed and tuned within the training rows of an outer fold.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing

from sparseauc.folds import Split
from sparseauc.outcome import Outcome
from sparseauc.selection.confidence import NestedScores, fit_rows, scores_by

from .column_types import Rows
from .folds import Progress, outer_splits, score_folds, split_rows
from .methods import Method, all_methods, methods_of_times
from .models import Numbers, fit_peer
from .reading import DataError, Table


@dataclass(eq=False, repr=False)
class MethodResult:
    """Result of one method.

    Attributes
    ----------
    method : str
    auc, low, high : float
        AUC over all rows scored out of fold, and its DeLong 95 % CI.
    fold_auc : float
        Mean AUC within folds, which compares rows scored by the same model only.
    columns : float
        Median number of columns used; all of them by models without coefficients.
    difference, difference_error, pvalue : float, optional
        AUC minus that of the first method, its standard error and the p-value of a
        paired test (both without strata).
    scores : ndarray of shape (n,)
        Out of fold, in units of the distance of the classes in training, zero midway.
    seconds : float
        For all its fits.
    """

    method: str
    auc: float
    low: float
    high: float
    fold_auc: float
    columns: float
    scores: npt.NDArray[np.float64]
    difference: float | None = None
    difference_error: float | None = None
    pvalue: float | None = None
    seconds: float = 0.0

    @property
    def lead(self) -> tuple[float, float, float] | None:
        """AUC of the first method minus this one's, with its 95 % CI, if its error is known."""
        if self.difference is None or self.difference_error is None:
            return None
        reach = 1.96 * self.difference_error
        return -self.difference, -self.difference - reach, -self.difference + reach

    def as_dict(self) -> dict[str, Any]:
        """All but the scores."""
        return {key: value for key, value in vars(self).items() if key != "scores"}


def compare_methods(
    table: Table,
    methods: Sequence[str] | None = None,
    *,
    folds: int = 5,
    progress: Progress = lambda *_: None,
) -> list[MethodResult]:
    """Compare methods on a table by nested cross-validation, all on the same folds.

    Parameters
    ----------
    table : Table
    methods : sequence of str, default=the usual ones that are installed
        Of ``all_methods``, or of ``methods_of_times``. The first is what the others are
        compared with.
    folds : int, default=5
        Outer folds; fewer if a class has fewer rows or groups.
    progress : callable, optional
        Called with the stage, the steps done and the number of steps.

    Returns
    -------
    list of MethodResult
        In the order asked for.
    """
    known = all_methods() if table.times is None else methods_of_times()
    if methods is None:
        methods = [name for name, one in known.items() if one.usual and one.installed]
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise DataError(f"unknown method {unknown[0]!r}; known: {', '.join(known)}")
    if table.within is None:
        splits = split_rows(table, np.arange(table.y.size), folds, 0)
    else:
        splits = outer_splits(table, folds, 0)
    if not splits:
        raise DataError(
            "--strata: some folds would have no stratum with rows of both classes"
        )
    results: list[MethodResult] = []
    for place, name in enumerate(methods):

        def fit_fold(
            fold: int, train: Rows, name: str = name, place: int = place
        ) -> Any:
            steps = len(methods) * len(splits)
            stage = f"{name}, fold {fold + 1} of {len(splits)}"
            progress(stage, place * len(splits) + fold, steps)
            return fit_method(known[name], table, train, 0)

        started = time.perf_counter()
        judged = score_folds(table, splits, fit_fold)
        results.append(
            judge_method(name, table, judged, results[0] if results else None)
        )
        results[-1].seconds = time.perf_counter() - started
    return results


def judge_method(
    name: str, table: Table, judged: NestedScores, first: MethodResult | None
) -> MethodResult:
    """Summarise the scores of a method, and compare it with the first."""
    used_columns: list[Any] = [*judged.fold_columns]
    if not used_columns:
        used_columns = [table.names]
    interval = judged.interval
    known = ~np.isnan(judged.fold_aucs)
    found = MethodResult(
        method=name,
        auc=interval.auc,
        low=interval.low,
        high=interval.high,
        fold_auc=float(np.mean(judged.fold_aucs[known]))
        if known.any()
        else float("nan"),
        columns=float(np.median([len(used) for used in used_columns])),
        scores=judged.scores,
    )
    if first is not None:
        found.difference = found.auc - first.auc
    if first is not None and table.within is None:
        # The paired test is of all rows, whatever their stratum.
        paired = table.outcome.compare(found.scores, first.scores)
        found.difference = paired.difference
        found.difference_error = paired.standard_error
        found.pvalue = paired.pvalue
    return found


def fit_method(method: Method, table: Table, train: Rows, seed: int) -> Any:
    """Tune and fit a method to training rows, without its convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not method.grid:
                model = method.make()
                if table.groups is not None:
                    model.set_params(cv=split_rows(table, train, 5, 1000 + seed))
                y = table.outcome.y
                return fit_rows(
                    model, table.X, y, train, groups=table.groups, **table.known()
                )
            splits = split_rows(table, train, 5, 1000 + seed)
            X = _safe_indexing(table.X, train)
            outcome = table.outcome.take(train)
            best = _best_parameters(method, X, outcome, splits)
            return fit_peer(lambda: method.make().set_params(**best), X, outcome.y)
        except ValueError as error:
            raise DataError(f"{method.key}: {error}") from error


def _best_parameters(
    method: Method, X: Any, outcome: Outcome, splits: Sequence[Split]
) -> dict[str, float]:
    """Parameters of the highest mean AUC over folds, in half the time of ``GridSearchCV``."""
    grid = list(ParameterGrid(method.feasible_grid(X.shape[1])))
    aucs = np.zeros(len(grid))
    y = outcome.y
    for train, test in splits:
        area = outcome.take(test).score
        # A fold is scaled once for all parameters.
        numbers = Numbers().fit(_safe_indexing(X, train))
        fitted = numbers.transform(_safe_indexing(X, train))
        left_out = numbers.transform(_safe_indexing(X, test))
        for place, parameters in enumerate(grid):
            model = method.make().set_params(**parameters).fit(fitted, y[train])
            aucs[place] += area(np.asarray(scores_by(model, left_out), np.float64))
    best: dict[str, float] = grid[int(np.argmax(aucs))]
    return best
