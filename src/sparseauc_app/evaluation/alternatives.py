"""Replacements of chosen columns, and lists that are nearly as good."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from sparseauc.errors import ExchangeError, FoldsError
from sparseauc.selection.fitted_list import FittedList
from sparseauc.selection.near_equal import NearEqualLists, lists_near
from sparseauc.selection.replacing import best_replacements, validated_aucs

from ..fit_result import FitResult
from ..folds import splits_of
from ..models import chooses_by_exchanges, fill_in, labels_for

# Lists count as good as the best that lose at most this share of what it lowers the loss by; the
# loss itself says little where a ridge shrinks all coefficients.
WITHIN = 0.02
# Near-equal lists that are looked for, and shown; multiplications to settle all: 0.1 seconds.
_MOST = 100
_SHOWN = 10
_OPERATIONS = 2e8
# Replacements for each column, and for each of more than twenty.
_REPLACEMENTS = 3
_REPLACEMENTS_OF_MANY = 1


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Replacements of columns, and other lists.

    ``lists`` has that of the model before all: ``columns`` (names), ``auc`` over the outer folds,
    ``gain``: what it lowers the loss by, as a share of the best.
    """

    replacements: pd.DataFrame
    near_equal: NearEqualLists
    lists: pd.DataFrame


def find_alternatives(fit: FitResult) -> Alternatives | None:
    """Find replacements and other lists.

    None without nested folds, if no column can be exchanged, or if folds are too small.
    """
    classifier = fit.classifier
    table = fit.table
    nested = fit.nested
    if nested is None or not chooses_by_exchanges(classifier):
        return None
    X = fill_in(fit.model, table.X)
    target = labels_for(classifier, table)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # The fit said what there is to warn of.
            fitted = FittedList.from_model(classifier, X, target, **table.known())
        fitted = replace(fitted, names=table.columns)
        outcome = table.outcome
        splits = [split for split in splits_of(nested.folds) if outcome.take(split[1]).informative]
        splits = fitted.outcome.split(splits, fitted.X, None, None)
        origins = np.array([one.column for one in table.inputs])
        n_best = _REPLACEMENTS if fitted.support.size <= 20 else _REPLACEMENTS_OF_MANY
        replacements = best_replacements(fitted, n_best, splits, origins)
        loss = fitted.solution(fitted.support).objective
        near = lists_near(fitted, WITHIN * (1 - loss) / loss, _MOST, _OPERATIONS)
    except (ExchangeError, FoldsError):
        return None
    if replacements.empty or not splits:
        return None
    places = {name: place for place, name in enumerate(table.columns.tolist())}
    own = tuple(table.columns[fitted.support].tolist())
    shown = dict(zip(near.lists, near.objectives.tolist(), strict=True))
    shown.pop(own, None)
    first = [(own, loss), *list(shown.items())[: _SHOWN - 1]]
    supports = [np.array([places[name] for name in names], np.int64) for names, _ in first]
    aucs = validated_aucs(fitted, supports, splits).mean(axis=0)
    gains = np.array([1 - objective for _, objective in first]) / (1 - near.objectives.min())
    lists = pd.DataFrame(
        {"columns": [list(names) for names, _ in first], "auc": aucs, "gain": gains}
    )
    return Alternatives(replacements, near, lists)
