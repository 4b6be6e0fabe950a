"""Simple methods on the outer folds of a fit, for comparison with the list."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..comparison import MethodResult, fit_method, judge_method
from ..fit_result import FitResult
from ..folds import Progress, Rows, score_folds, splits_of
from ..methods import L1_LOGISTIC, simple_methods
from ..reading import Table

L1 = "L1 logistic regression"
# Half of the penalties that ``compare`` tries, in half of the time.
_L1 = replace(L1_LOGISTIC, grid={"C": L1_LOGISTIC.grid["C"][1::2]})
# Seconds that a method may take, judged by its first fold.
_PATIENCE = 30.0
# Inner folds and penalties of the L1 logistic regression, and one final fit.
_L1_FITS = 5 * len(_L1.grid["C"]) + 1


@dataclass(frozen=True)
class Baselines:
    """The list and simple methods on the same outer folds; and methods left out for time."""

    results: tuple[MethodResult, ...]
    left_out: tuple[str, ...]

    @property
    def l1(self) -> MethodResult | None:
        """The result of L1 logistic regression, if there was time for it."""
        return next((one for one in self.results if one.method == L1), None)


class _TooSlow(Exception):
    """A method would take longer than anybody waits for a report."""


def judge_baselines(fit: FitResult, report: Progress = lambda *_: None) -> Baselines | None:
    """Compare the fit with simple methods in the same outer folds; None without nested folds.

    A method is left out if its first fold says that it would take minutes.
    """
    table = fit.table
    nested = fit.nested
    if nested is None:
        return None
    splits = splits_of(nested.folds)
    sizes = [one.size for one in nested.fold_columns]
    seed = int(fit.settings.get("seed") or 0)

    def fit_l1(fold: int, train: Rows) -> Any:
        if fold == 0 and _L1_FITS * len(splits) * _time_of_l1(table, train) > _PATIENCE:
            raise _TooSlow
        return fit_method(_L1, table, train, seed)

    def fit_simply(make: Callable[[int], Any], fold: int, train: Rows) -> Any:
        fill = SimpleImputer(strategy=table.imputation or "median", keep_empty_features=True)
        return make_pipeline(fill, make(sizes[fold])).fit(table.X[train], outcome.y[train])

    outcome = table.outcome
    methods: dict[str, Callable[[int, Rows], Any]] = {
        title: partial(fit_simply, make) for title, make in simple_methods(outcome).items()
    }
    if table.follow_up is None and table.weight is None:
        methods[L1] = fit_l1
    results = [judge_method("this list", table, [nested], None)]
    left_out = []
    for title, method in methods.items():
        try:
            judged = score_folds(table, splits, _within_time(method, title, len(splits), report))
        except _TooSlow:
            left_out.append(title)
            continue
        results.append(judge_method(title, table, [judged], results[0]))
    return Baselines(tuple(results), tuple(left_out))


def _within_time(
    fit: Callable[[int, Rows], Any], title: str, folds: int, report: Progress
) -> Callable[[int, Rows], Any]:
    """Fit folds, but stop after the first if all of them would take too long."""

    def timed(fold: int, train: Rows) -> Any:
        report(f"{title}, fold {fold + 1} of {folds}", fold, folds)
        started = time.perf_counter()
        model = fit(fold, train)
        if fold == 0 and folds * (time.perf_counter() - started) > _PATIENCE:
            raise _TooSlow
        return model

    return timed


def _time_of_l1(table: Table, train: Rows) -> float:
    """Seconds of a fit: a third of that of the weakest penalty, which takes longest."""
    rows = train[:: max(1, train.size // 1000)]
    fill = SimpleImputer(strategy=table.imputation or "median", keep_empty_features=True)
    scale = StandardScaler(with_mean=not sp.issparse(table.X))
    X = make_pipeline(fill, scale).fit_transform(table.X[rows])
    model = _L1.make().set_params(C=_L1.grid["C"][-1])
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, table.y[rows])
    return (time.perf_counter() - started) / 3 * train.size / rows.size
