"""Replacements of chosen columns, and what they cost in AUC."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_scalar

from ..folds import Split, SplitPlan
from ..moments.base import StandardisedGram
from ..solvers.signed import minimise_signed
from ..utils.types import Array, Indices
from .fitted_list import FittedList

if TYPE_CHECKING:
    import pandas as pd

# Standard errors on either side of an interval that holds 95 %.
_NORMAL = 1.96
# Verdict where an interval holds 0.
CANNOT_TELL = "rows cannot tell"


def replacements(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    n_best: int = 5,
    cv: Any = None,
    random_state: Any = 0,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """For each chosen column, the columns that can best take its place.

    The objective after every exchange of a chosen column with another follows exactly
    from class moments; the best exchanges are then cross-validated.

    Parameters
    ----------
    model : SparseAUCClassifier or SparseAUCClassifierCV
        Fitted. Columns that it excludes are no replacements, and those that it must
        include stay. Groups of columns are replaced as a whole. Or a SparseConcordance
        or SparseConcordanceCV, whose concordance is then in the place of the AUC.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit.
    y : array-like of shape (n,)
    n_best : int, default=5
        Replacements for each column.
    cv : int, splitter or iterable, optional
        As in scikit-learn. By default five stratified folds, repeated where rows are
        few.
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    sample_weight : array-like of shape (n,), optional
        Those that the model was fitted with.
    strata : array-like of shape (n,), optional
        Those that the model was fitted with; AUCs are then within them.

    Returns
    -------
    pandas.DataFrame
        A row for each chosen column and replacement, the best replacement first:

        - ``column``, ``replacement``: names, or numbers if the model was fitted without
          names; of a group those of its columns, with " + " between;
        - ``correlation``: of the two; for a text its first level counts, and for a
          group its first column;
        - ``objective_change``: of the loss with ridge, on all rows;
        - ``auc``: of the list with the replacement, the mean over the validation folds;
        - ``auc_change``: its difference from that of the list as it is;
        - ``standard_error``, ``low``, ``high``: of ``auc_change``, and its 95 % CI;
        - ``verdict``: "worse" or "better" where the CI leaves out 0, else "rows cannot
          tell".

    Notes
    -----
    Every list is fitted to the training rows of each fold, with coefficients of the
    least loss with ridge, also where the model's are logistic, and judged on its
    validation rows. The standard error is DeLong's of the paired difference within the
    folds. List and replacements were chosen on all rows, the list as the best of all:
    so its replacements look a little worse than they are.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> table = selection.replacements(SparseAUCClassifier(k=3).fit(X, y), X, y, n_best=2)
    >>> len(table), bool((table["auc_change"] < 0).all())
    (6, True)
    """
    check_scalar(n_best, "n_best", Integral, min_val=1)
    fitted = FittedList.from_model(
        model, X, y, sample_weight=sample_weight, strata=strata
    )
    splits = fitted.outcome.split(cv, fitted.X, None, random_state)
    return best_replacements(fitted, n_best, splits)


def best_replacements(
    fitted: FittedList, n_best: int, splits: list[Split]
) -> pd.DataFrame:
    """Find replacements for a checked list, rows and folds; see :func:`replacements`."""
    import pandas as pd

    support = fitted.support
    objective, after = fitted.exchanges(support)
    best = np.argsort(after, axis=1, kind="stable")[:, :n_best]
    place, rank = np.nonzero(np.isfinite(np.take_along_axis(after, best, axis=1)))
    joining = best[place, rank]
    lists = [support]
    lists += [
        np.append(np.delete(support, i), j) for i, j in zip(place, joining, strict=True)
    ]
    used = np.unique(np.concatenate(lists))
    values = fitted.values(np.array([fitted.in_unit[one][0] for one in used]))
    aucs, variances = judge_lists(fitted, lists, splits)
    change = (aucs[:, 1:] - aucs[:, :1]).mean(axis=0)
    # Repeats validate the same rows again, and tell no more.
    repeats = SplitPlan.from_splits(
        splits, fitted.outcome.positive.size, None
    ).n_repeats
    error = np.sqrt(variances.mean(axis=0) / max(1.0, len(splits) / repeats))
    low = change - _NORMAL * error
    high = change + _NORMAL * error
    return pd.DataFrame(
        {
            "column": _titles(fitted, support[place]),
            "replacement": _titles(fitted, joining),
            "correlation": [
                np.asarray(np.corrcoef(values[:, np.searchsorted(used, pair)].T))[0, 1]
                for pair in zip(support[place], joining, strict=True)
            ],
            "objective_change": after[place, joining] - objective,
            "auc": aucs[:, 1:].mean(axis=0),
            "auc_change": change,
            "standard_error": error,
            "low": low,
            "high": high,
            "verdict": np.select([high < 0, low > 0], ["worse", "better"], CANNOT_TELL),
        }
    )


def _titles(fitted: FittedList, units: Indices) -> list[Any]:
    """Name each of some units."""
    names = [fitted.names_of(np.array([one])) for one in units]
    return [one[0] if len(one) == 1 else " + ".join(map(str, one)) for one in names]


def judge_lists(
    fitted: FittedList, lists: list[Indices], splits: list[Split]
) -> tuple[Array, Array]:
    """Judge lists on the validation rows of splits, with coefficients of the training rows.

    Returns AUCs, (n_splits, n_lists), and variances of their changes from the first
    list.
    """
    lists = [fitted.in_basis(one) for one in lists]
    used = np.unique(np.concatenate(lists))
    values = fitted.values(used)
    signs = fitted.restrictions.signs_of(used)
    lists = [np.searchsorted(used, one) for one in lists]
    aucs = np.empty((len(splits), len(lists)))
    variances = np.empty((len(splits), len(lists) - 1))
    for number, (train, test) in enumerate(splits):
        of_train = fitted.outcome.take(train).quadratic(values[train])
        gram = StandardisedGram(of_train)
        delta, H = gram.gram()
        coef = np.zeros((values.shape[1], len(lists)))
        for place, columns in enumerate(lists):
            ridged = H[np.ix_(columns, columns)] + fitted.alpha * np.eye(columns.size)
            coef[columns, place] = minimise_signed(
                ridged, delta[columns], signs[columns], np.zeros(columns.size)
            )[0]
        scores = (values[test] / gram.scale) @ coef
        outcome = fitted.outcome.take(test)
        aucs[number] = [outcome.score(score) for score in scores.T]
        variances[number] = [
            outcome.difference_variance(score, scores[:, 0])
            for score in scores[:, 1:].T
        ]
    return aucs, variances
