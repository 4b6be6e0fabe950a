"""Rules that choose one of the models that cross-validation has judged.

A rule is a callable ``rule(cv_results) -> index``, as ``GridSearchCV(refit=rule)``
takes one too. Both rules here choose the fewest columns whose mean AUC is close enough
to the highest. So no shorter list that was tried can have a higher mean AUC than the
one chosen. Of several budgets (``param_budget``) they choose the smallest, and then the
fewest columns. Where the rarer class has few rows, ``smooth_test_score`` takes the
place of the mean AUC.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .defaults import BEST_TOLERANCE, SHORT_TOLERANCE
from .errors import InputError
from .folds import fold_standard_error

__all__ = ["ChanceWarning", "best", "one_standard_error"]

Rule = Callable[[Mapping[str, Any]], int]


class ChanceWarning(UserWarning):
    """The columns found cannot be told from chance."""


def best(cv_results: Mapping[str, Any]) -> int:
    """Choose the fewest columns whose mean AUC is within 0.002 of the highest.

    Parameters
    ----------
    cv_results : mapping of str to array
        With ``param_k`` and ``mean_test_score``, as ``SparseAUCClassifierCV`` and
        ``GridSearchCV`` over ``k`` have them.

    Returns
    -------
    int
        Index of the model; of several with as many columns that of the highest mean,
        the first of equals.

    Examples
    --------
    >>> from sparseauc.rules import best
    >>> best({"param_k": [1, 2, 3, 4], "mean_test_score": [0.8, 0.8995, 0.8994, 0.9]})
    1
    """
    return _fewest_columns(cv_results, BEST_TOLERANCE)


def one_standard_error(cv_results: Mapping[str, Any]) -> int:
    """Choose the fewest columns whose mean AUC is within one standard error of the highest.

    Within 0.005 where that is more: where nearly all pairs are ranked right, the
    standard error is next to nothing, and many columns would be paid for it.

    Parameters
    ----------
    cv_results : mapping of str to array
        As for :func:`best`, with ``standard_error_test_score`` or else
        ``split0_test_score`` ….

    Returns
    -------
    int
        Index of the model, as for :func:`best`.

    Examples
    --------
    >>> from sparseauc.rules import one_standard_error
    >>> results = {"param_k": [1, 2, 3], "mean_test_score": [0.8, 0.89, 0.9]}
    >>> one_standard_error({**results, "standard_error_test_score": [0.1, 0.03, 0.02]})
    1
    """
    error = cv_results.get("standard_error_test_score")
    if error is None:
        error = fold_standard_error(_split_scores(cv_results))
    return _fewest_columns(cv_results, np.maximum(SHORT_TOLERANCE, error))


RULES: dict[str, Rule] = {"best": best, "1se": one_standard_error}


def smooth_over_lengths(cv_results: Mapping[str, Any], times: int = 1) -> Any:
    """Mean scores averaged with those of one column less and one more, which count half as much.

    With few rows of a class a single mean may be high by chance; its neighbours, whose
    lists differ in a column, are high too if it is not. Models are in the order of
    their lengths. ``times`` says how often this is done, each time with what was found
    before.
    """
    mean = np.asarray(cv_results["mean_test_score"], np.float64)
    by_budget = "param_budget" in cv_results
    length = np.asarray(cv_results["param_budget" if by_budget else "param_k"])
    n_alike = np.count_nonzero(length == length[0])
    near = (np.diff(length[::n_alike]) == 1) | by_budget
    found = mean.reshape(-1, n_alike)
    for _ in range(times):
        before = found.copy()
        after = found.copy()
        before[1:][near] = found[:-1][near]
        after[:-1][near] = found[1:][near]
        found = (before + 2 * found + after) / 4
    return found.ravel()


def choose(rule: str | Rule, cv_results: Mapping[str, Any]) -> int:
    """Apply a rule, by its name or given as a callable, and check what it returns."""
    function = RULES[rule] if isinstance(rule, str) else rule
    index = function(cv_results)
    n_models = len(cv_results["mean_test_score"])
    if not isinstance(index, (int, np.integer)) or not 0 <= index < n_models:
        raise InputError(
            f"rule must return the index of a model, a whole number from 0 to {n_models - 1}; "
            f"it returned {index!r}"
        )
    return int(index)


def score_by_others(
    rule: str | Rule,
    tried: Sequence[Mapping[str, Any]],
    repeats: float,
    smoothing: int = 0,
) -> tuple[float, float]:
    """Mean AUC of every fold by the model that the other folds choose, and its standard error.

    Of each ``cv_results`` that was tried the rule chooses a model, and of these the
    highest mean AUC does. The score of a model that was chosen as the best of many is
    too good. Here the rows that judge have no part in the choice, though they had in
    training the models of other folds.
    """
    each = [_split_scores(cv_results) for cv_results in tried]
    n_splits = len(each[0])
    # Folds of other repeats validate the same rows: only those of the same repeat may
    # choose.
    size = n_splits / repeats
    size = int(size) if size % 1 == 0 and size >= 3 else n_splits
    if n_splits < 3:
        top = each[0][:, choose(rule, tried[0])]
        return float(top.mean()), float(fold_standard_error(top, repeats))
    found = []
    for split in range(n_splits):
        first = split - split % size
        chosen = []
        for cv_results, scores in zip(tried, each, strict=True):
            others = np.delete(scores[first : first + size], split - first, axis=0)
            seen = {
                **cv_results,
                "mean_test_score": others.mean(axis=0),
                "standard_error_test_score": fold_standard_error(others),
            }
            if smoothing:
                seen["smooth_test_score"] = smooth_over_lengths(seen, smoothing)
            index = choose(rule, seen)
            chosen.append((seen["mean_test_score"][index], scores[split, index]))
        found.append(max(chosen)[1])
    return float(np.mean(found)), float(fold_standard_error(found, repeats))


def auc_by_k(
    cv_results: Mapping[str, Any], repeats: float = 1.0
) -> list[dict[str, float]]:
    """Mean validation AUC at every k, or every budget, with the best other parameters for it.

    Parameters
    ----------
    cv_results : mapping of str to array
        With ``param_k`` and ``split0_test_score`` …, as ``SparseAUCClassifierCV`` and
        ``GridSearchCV`` over ``k`` have them; with ``param_budget`` where budgets were
        tried.
    repeats : float, default=1.0
        How often each row was validated, as for ``fold_standard_error``.

    Returns
    -------
    list of dict
        For each k, or each of several budgets, ascending: ``k``, ``auc``,
        ``standard_error`` and, where these were searched too, ``budget`` and ``alpha``.
    """
    if "param_k" not in cv_results or "split0_test_score" not in cv_results:
        raise InputError(
            "cv_results needs 'param_k' and 'split0_test_score', 'split1_…'"
        )
    scores = _split_scores(cv_results)
    mean = scores.mean(axis=0)
    error = fold_standard_error(scores, repeats)
    param_k = np.asarray(cv_results["param_k"], np.int64)
    budgets = np.asarray(cv_results.get("param_budget", np.zeros(0)), np.float64)
    along = budgets if np.unique(budgets).size > 1 else param_k
    rows = []
    for point in np.unique(along).tolist():
        best = int(np.argmax(np.where(along == point, mean, -np.inf)))
        row = {"k": int(param_k[best]), "auc": float(mean[best])}
        row["standard_error"] = float(error[best])
        if along is budgets:
            row["budget"] = point
        if "param_alpha" in cv_results:
            row["alpha"] = float(cv_results["param_alpha"][best])
        rows.append(row)
    return rows


def _fewest_columns(cv_results: Mapping[str, Any], below: Any) -> int:
    """Index of the model with the fewest columns that is no further below the highest mean.

    Means are smooth ones where the rarer class has few rows. ``below`` is a number, or
    one for each model, of which that of the highest mean counts.
    """
    name = (
        "smooth_test_score" if "smooth_test_score" in cv_results else "mean_test_score"
    )
    mean = np.asarray(cv_results[name], np.float64)
    least = mean.max() - np.broadcast_to(below, mean.shape)[np.argmax(mean)]
    fewest = np.ones(mean.size, np.bool_)
    close = mean >= least
    for limit in [name for name in ("param_budget", "param_k") if name in cv_results]:
        values = np.asarray(cv_results[limit], np.float64)
        fewest &= values == values[fewest & close].min()
    return int(np.argmax(np.where(fewest, mean, -np.inf)))


def _split_scores(cv_results: Mapping[str, Any]) -> Any:
    """Scores by split and model."""
    n_splits = sum(f"split{i}_test_score" in cv_results for i in range(len(cv_results)))
    return np.array([cv_results[f"split{i}_test_score"] for i in range(n_splits)])
