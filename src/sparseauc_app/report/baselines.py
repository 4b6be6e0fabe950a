"""Simple methods on the outer folds of a fit, for comparison with the list."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sparseauc.estimators import MeanDifferenceClassifier, SparseAUCClassifier

from ..comparison import fit_method, judge_method
from ..folds import Rows, score_folds, splits_of
from ..methods import L1_LOGISTIC
from ..summary import FitSummary
from .elements import Listing

# What each method is called, and numbers in the table beyond which it would take minutes.
_METHODS = {
    "one column": ("best single column", 1e8),
    "mean-difference": ("largest mean differences, as many columns", 1e8),
    "l1-logistic": ("L1 logistic regression, C tuned", 1.5e5),
}
# Half of the penalties that ``compare`` tries, in half of the time.
_L1 = replace(L1_LOGISTIC, grid={"C": L1_LOGISTIC.grid["C"][1::2]})


def judge_baselines(summary: FitSummary) -> Listing | None:
    """Compare the fit with simple methods in the same outer folds.

    Methods that would take minutes on a large table are left out; None if all would.
    """
    table, nested = summary.table, summary.nested
    assert nested is not None
    splits = splits_of(nested.folds)
    sizes = [one.size for one in nested.fold_columns]
    results = [judge_method("this list", table, [nested], None)]
    left_out = []
    for name, (title, most) in _METHODS.items():
        if table.y.size * len(table.inputs) > most:
            left_out.append(title)
            continue
        judged = score_folds(table, splits, partial(_fit, name, summary, sizes))
        results.append(judge_method(title, table, [judged], results[0]))
    if len(results) == 1:
        return None
    caption = (
        "All methods use the same outer folds. Columns: median over folds. Difference: AUC of this "
        "list minus that of the method"
        + (", with DeLong's paired test." if table.strata is None else ", both within strata.")
    )
    if left_out:
        caption += f" Skipped, because they would take long: {', '.join(left_out)}."
    frame = pd.DataFrame(
        {
            "Method": one.method,
            "AUC": one.auc,
            "95 % from": one.low,
            "to": one.high,
            "Columns": one.columns,
            "Difference": None if one.difference is None else round(-one.difference, 3) + 0.0,
            "p": one.pvalue,
        }
        for one in results
    )
    return Listing(
        "baselines", "Compared with simple methods", caption, frame, formats={"p": ".2g"}
    )


def _fit(name: str, summary: FitSummary, sizes: list[int], fold: int, train: Rows) -> Any:
    table, k = summary.table, sizes[fold]
    if name == "l1-logistic":
        return fit_method(_L1, table, train, int(summary.settings.get("seed", 0)))
    model = SparseAUCClassifier(k=1) if name == "one column" else MeanDifferenceClassifier(k=k)
    fill = SimpleImputer(strategy=table.imputation or "median", keep_empty_features=True)
    return make_pipeline(fill, model).fit(table.X[train], table.y[train])
