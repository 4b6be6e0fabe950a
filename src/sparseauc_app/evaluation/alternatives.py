"""Alternatives to a list: simple methods, replacements, other lists, and lists of fewer rows."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from sparseauc.errors import ExchangeError, FoldsError
from sparseauc.limits import Limits
from sparseauc.metrics import AUCInterval
from sparseauc.selection.confidence import fit_rows
from sparseauc.selection.fitted_list import FittedList
from sparseauc.selection.near_equal import NearEqualLists, lists_near
from sparseauc.selection.replacing import best_replacements, judge_lists

from ..column_types import Rows
from ..comparison import MethodResult, fit_method, judge_method
from ..fit_result import FitResult
from ..folds import Progress, score_folds, splits_of
from ..methods import L1_LOGISTIC, list_of_k, simple_methods
from ..models import Numbers, chooses_by_exchanges, fit_peer, labels_for
from ..reading import Table

L1 = "L1 logistic regression"
# Half of the penalties that ``compare`` tries, in half of the time.
_L1 = replace(L1_LOGISTIC, grid={"C": L1_LOGISTIC.grid["C"][1::2]})
# Seconds that L1 logistic regression may take, judged by one fit.
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


def judge_baselines(
    fit: FitResult, report: Progress = lambda *_: None
) -> Baselines | None:
    """Compare the fit with simple methods in the same outer folds; None without nested folds.

    L1 logistic regression is left out if a fit says that all of them would take minutes.
    """
    table = fit.table
    nested = fit.nested
    if nested is None:
        return None
    outcome = table.outcome
    splits = splits_of(nested.folds)
    sizes = [one.size for one in nested.fold_columns]
    seed = int(fit.settings.get("seed") or 0)

    def fit_l1(_: int, train: Rows) -> Any:
        return fit_method(_L1, table, train, seed)

    def fit_simply(make: Callable[[int], Any], fold: int, train: Rows) -> Any:
        X = _safe_indexing(table.X, train)
        model = make(sizes[fold])
        if chooses_by_exchanges(model):
            return model.fit(X, outcome.y[train])
        return fit_peer(lambda: model, X, outcome.y[train])

    methods: dict[str, Callable[[int, Rows], Any]] = {
        title: partial(fit_simply, make)
        for title, make in simple_methods(outcome).items()
    }
    left_out = []
    if table.follow_up is None and table.weight is None:
        seconds = _L1_FITS * len(splits) * _time_of_l1(table, splits[0][0])
        if seconds < _PATIENCE:
            methods[L1] = fit_l1
        else:
            left_out.append(L1)
    results = [judge_method("this list", table, nested, None)]
    for title, method in methods.items():

        def fit_fold(
            fold: int, train: Rows, title: str = title, method: Any = method
        ) -> Any:
            report(f"{title}, fold {fold + 1} of {len(splits)}", fold, len(splits))
            return method(fold, train)

        judged = score_folds(table, splits, fit_fold)
        results.append(judge_method(title, table, judged, results[0]))
    return Baselines(tuple(results), tuple(left_out))


def _time_of_l1(table: Table, train: Rows) -> float:
    """Seconds of a fit: a third of that of the weakest penalty, which takes longest."""
    rows = train[:: max(1, train.size // 1000)]
    X = Numbers().fit_transform(_safe_indexing(table.X, rows))
    model = _L1.make().set_params(C=_L1.grid["C"][-1])
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, table.y[rows])
    return (time.perf_counter() - started) / 3 * train.size / rows.size


# Lists count as good as the best that lose at most this share of what it lowers the
# loss by; the loss itself says little where a ridge shrinks all coefficients.
WITHIN = 0.02
# Near-equal lists that are looked for, and shown; multiplications to settle all: 0.1
# seconds.
_MOST = 100
_SHOWN = 10
_OPERATIONS = 2e8
# Replacements for each column, and for each of more than twenty.
_REPLACEMENTS = 3
_REPLACEMENTS_OF_MANY = 1


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Replacements of columns, and other lists.

    ``lists`` has that of the model before all: ``columns`` (names), ``auc`` over the
    outer folds, ``gain``: what it lowers the loss by, as a share of the best.
    """

    replacements: pd.DataFrame
    near_equal: NearEqualLists
    lists: pd.DataFrame


def find_alternatives(fit: FitResult) -> Alternatives | None:
    """Find replacements and other lists.

    None without nested folds, if no column can be exchanged, or if folds are too small.
    """
    classifier = fit.model
    table = fit.table
    nested = fit.nested
    if nested is None or not chooses_by_exchanges(classifier):
        return None
    target = labels_for(classifier, table)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # The fit said what there is to warn of.
            fitted = FittedList.from_model(classifier, table.X, target, **table.known())
        fitted = replace(fitted, names=table.columns)
        outcome = table.outcome
        splits = [
            split
            for split in splits_of(nested.folds)
            if outcome.take(split[1]).informative
        ]
        splits = fitted.outcome.split(splits, fitted.X, None, None)
        n_best = _REPLACEMENTS if fitted.support.size <= 20 else _REPLACEMENTS_OF_MANY
        replacements = best_replacements(fitted, n_best, splits)
        loss = fitted.solution(fitted.support).objective
        near = lists_near(fitted, WITHIN * (1 - loss) / loss, _MOST, _OPERATIONS)
    except (ExchangeError, FoldsError):
        return None
    if replacements.empty or not splits:
        return None
    places = {name: place for place, name in enumerate(table.columns.tolist())}
    own = fitted.names_of(fitted.support)
    shown = dict(zip(near.lists, near.objectives.tolist(), strict=True))
    shown.pop(own, None)
    first = [(own, loss), *list(shown.items())[: _SHOWN - 1]]
    supports = [fitted.units_of([places[name] for name in names]) for names, _ in first]
    aucs = judge_lists(fitted, supports, splits)[0].mean(axis=0)
    gains = np.array([1 - objective for _, objective in first]) / (
        1 - near.objectives.min()
    )
    lists = pd.DataFrame(
        {"columns": [list(names) for names, _ in first], "auc": aucs, "gain": gains}
    )
    return Alternatives(replacements, near, lists)


_SHARES = (0.3, 0.5, 0.75, 1.0)
# Seconds that the curve may take, judged by its first point.
_CURVE_PATIENCE = 20.0


def learning_curve(
    fit: FitResult, report: Progress = lambda *_: None
) -> list[tuple[int, AUCInterval]] | None:
    """AUC on the outer folds by the number of training rows; None where it would take minutes.

    Every fit chooses its columns anew, as many as the final list has, with the final
    ridge.
    """
    table = fit.table
    nested = fit.nested
    k = fit.k
    ours = chooses_by_exchanges(fit.model) and table.weight is None
    if nested is None or k == 0 or not ours:
        return None
    splits = splits_of(nested.folds)
    given = fit.model.limits
    groups = None if given is None else Limits(column_groups=given.column_groups)
    found: list[tuple[int, AUCInterval]] = []
    started = time.perf_counter()
    for share in _SHARES[::-1]:

        def fit_share(fold: int, train: Rows, share: float = share) -> Any:
            done = len(splits) * len(found) + fold
            report("Learning curve", done, len(splits) * len(_SHARES))
            rows = _share_of(train, table.y, share, fold)
            model = list_of_k(table.outcome, k, fit.summary["alpha"])
            model.set_params(limits=groups, curves=getattr(fit.model, "curves_", False))
            return fit_rows(model, table.X, table.outcome.y, rows, **table.known())

        fewest = _share_of(splits[0][0], table.y, share, 0)
        if table.outcome.take(fewest).informative < 3:
            break
        judged = score_folds(table, splits, fit_share)
        size = np.mean(
            [_share_of(train, table.y, share, 0).size for train, _ in splits]
        )
        found.append((round(float(size)), judged.interval))
        slow = (time.perf_counter() - started) * len(_SHARES) > _CURVE_PATIENCE
        if len(found) == 1 and slow:
            return None
    return found[::-1] if len(found) > 1 else None


def _share_of(train: Rows, y: Any, share: float, seed: int) -> Rows:
    """A share of the rows of each class, at random."""
    rng = np.random.default_rng(seed)
    parts = []
    for label in (0, 1):
        rows = train[y[train] == label]
        parts.append(rng.permutation(rows)[: max(1, round(share * rows.size))])
    return np.sort(np.concatenate(parts))
