"""What takes the place of a chosen column, and what that costs in AUC."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_scalar

from ..metrics import fast_auc_within, fold_standard_error
from ..moments import class_moments
from ..moments.gram import StandardisedGram
from ..objective import Array, Indices
from ..path.folds import Split, SplitPlan, check_splits, make_splits
from ..solvers.signed import minimise_signed
from ._fitted_list import FittedList, exchange_table

if TYPE_CHECKING:
    import pandas as pd


def replacements(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    n_best: int = 5,
    cv: Any = None,
    random_state: Any = 0,
    strata: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """For each chosen column, the columns that can best take its place.

    The objective after every exchange of a chosen column with another follows exactly from class
    moments; the best exchanges are then cross-validated.

    Parameters
    ----------
    model : SparseAUCClassifier or SparseAUCClassifierCV
        Fitted, without ``groups``. Columns that it excludes are no replacements.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit. Each counts once.
    y : array-like of shape (n,)
    n_best : int, default=5
        Replacements for each column.
    cv : int, splitter or iterable, optional
        As in scikit-learn. By default five stratified folds, repeated where rows are few.
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    strata : array-like of shape (n,), optional
        Those that the model was fitted with; AUCs are then within them.

    Returns
    -------
    pandas.DataFrame
        A row for each chosen column and replacement, the best replacement first:

        - ``column``, ``replacement``: names, or numbers if the model was fitted without names;
        - ``correlation``: of the two;
        - ``objective_change``: of the loss with ridge, on all rows;
        - ``auc``: mean over validation folds, with coefficients fitted to the training folds;
        - ``auc_change``: ``auc`` less that of the list as it is, over the same folds;
        - ``standard_error``: of ``auc_change``, over folds.

    Notes
    -----
    Coefficients are those of the least loss with ridge, also where the model's are logistic.
    Validation rows are not used for coefficients, but all rows were used to choose the list and
    the replacements. So ``auc`` is a little too good, for the list as for its variants.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.selection import replacements
    >>> X, y = make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> table = replacements(SparseAUCClassifier(k=3).fit(X, y), X, y, n_best=2)
    >>> len(table), bool((table["auc_change"] < 0).all())
    (6, True)
    """
    check_scalar(n_best, "n_best", Integral, min_val=1)
    fitted = FittedList.from_model(model, X, y, strata=strata)
    splits = make_splits(cv, fitted.X, fitted.positive, None, fitted.strata, random_state)
    check_splits(splits, fitted.positive, None, fitted.strata)
    return best_replacements(fitted, n_best, splits)


def best_replacements(
    fitted: FittedList, n_best: int, splits: list[Split], origins: npt.NDArray[Any] | None = None
) -> pd.DataFrame:
    """Do what :func:`replacements` does, for a list, rows and folds that were checked.

    Columns of the same label in ``origins`` are had together or not at all, and so no replacements.
    """
    import pandas as pd

    positive, support, gram = fitted.positive, fitted.support, fitted.gram
    objective, after = exchange_table(
        gram, gram.rows(support), support, fitted.alpha, fitted.restrictions
    )
    if origins is not None:
        after = np.where(origins[support][:, None] == origins, np.inf, after)
    order = np.argsort(after, axis=1, kind="stable")[:, :n_best]
    pairs = [
        (place, j)
        for place, best in enumerate(order.tolist())
        for j in best
        if np.isfinite(after[place, j])
    ]
    lists = [support, *(np.append(np.delete(support, place), j) for place, j in pairs)]
    used = np.unique(np.concatenate(lists))
    values = fitted.values(used)
    aucs = validated_aucs(fitted, lists, splits)
    change = aucs[:, 1:] - aucs[:, :1]
    repeats = SplitPlan.from_splits(splits, positive.size, None).n_repeats
    leaving = support[[place for place, _ in pairs]] if pairs else support[:0]
    joining = np.array([j for _, j in pairs], np.int64)
    return pd.DataFrame(
        {
            "column": fitted.names[leaving],
            "replacement": fitted.names[joining],
            "correlation": [
                np.asarray(np.corrcoef(values[:, np.searchsorted(used, pair)].T))[0, 1]
                for pair in zip(leaving, joining, strict=True)
            ],
            "objective_change": [after[pair] - objective for pair in pairs],
            "auc": aucs[:, 1:].mean(axis=0),
            "auc_change": change.mean(axis=0),
            "standard_error": fold_standard_error(change, repeats),
        }
    )


def validated_aucs(fitted: FittedList, lists: list[Indices], splits: list[Split]) -> Array:
    """Validation AUC of each list, with coefficients of the training rows, (n_splits, n_lists)."""
    used = np.unique(np.concatenate(lists))
    values, positive, strata = fitted.values(used), fitted.positive, fitted.strata
    signs = fitted.restrictions.signs_of(used)
    lists = [np.searchsorted(used, one) for one in lists]
    aucs = np.empty((len(splits), len(lists)))
    for number, (train, test) in enumerate(splits):
        times = np.bincount(train, minlength=positive.size).astype(np.float64)
        gram = StandardisedGram(class_moments(values, positive, times, strata=strata))
        delta, H, _ = gram.gram()
        coef = np.zeros((values.shape[1], len(lists)))
        for place, columns in enumerate(lists):
            ridged = H[np.ix_(columns, columns)] + fitted.alpha * np.eye(columns.size)
            coef[columns, place] = minimise_signed(
                ridged, delta[columns], signs[columns], np.zeros(columns.size)
            )[0]
        scores = (values[test] / gram.scale) @ coef
        part = None
        if strata is not None:
            part = replace(strata, code=strata.code[test]).with_both_classes(positive[test])
        aucs[number] = [fast_auc_within(score, positive[test], part) for score in scores.T]
    return aucs
