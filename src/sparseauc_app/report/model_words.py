"""The Methods section of the report."""

from typing import Any

import numpy as np

from sparseauc._clipping import DEFAULT_CLIP
from sparseauc.estimators import ExchangeClassifier
from sparseauc.limits import Limits

from ..formatting import count
from ..reading import Table
from ..reading.columns import is_number
from ..summary import FitSummary


def describe_method(summary: FitSummary) -> list[str]:
    """Describe the analysis, one paragraph for each step."""
    told = [
        _describe_data(summary),
        _describe_score(summary),
        _describe_search(summary),
        _describe_validation(summary),
    ]
    if summary.stability is not None:
        told.append(
            f"Stability selection: the rows were split into halves {summary.stability.n_pairs} "
            f"times, and {count(summary.k, 'column')} chosen from each half."
        )
    return told


def _describe_data(summary: FitSummary) -> str:
    table = summary.table
    n, events = table.y.size, int(table.y.sum())
    text = (
        f"The table {table.source or 'given'} has {n} rows: {events} with {table.target} = "
        f"{table.positive} (events) and {n - events} with {table.negative}. There were "
        f"{count(len(table.inputs), 'column')} to choose from."
    )
    if not table.missing:
        return f"{text} No value was missing."
    gaps = [f"{name} ({count})" for name, count in table.missing.items()]
    text += (
        f" {sum(table.missing.values())} values were missing, in {count(len(gaps), 'column')}: "
        f"{', '.join(gaps)}."
    )
    if table.imputation is not None:
        text += (
            f" They were imputed by the {table.imputation} of the training rows, separately in "
            "each outer fold."
        )
    return text


def _describe_score(summary: FitSummary) -> str:
    if not isinstance(summary.classifier, ExchangeClassifier):
        return f"The score is a weighted sum of columns, fitted by {summary.classifier}."
    text = (
        "The score is a weighted sum of a few columns. Columns and weights were chosen together to "
        "maximise a quadratic surrogate of the AUC under a limit on the number of columns, by "
        f"exchanging columns until no exchange improves it, with a ridge of {summary.alpha:g} on "
        "standardised columns."
    )
    classifier: Any = summary.classifier
    if getattr(classifier, "coefficients_", "auc") == "logistic":
        ridge = classifier.cv_results_["param_logistic_ridge"][classifier.best_index_]
        text += (
            " The weights are those of a logistic regression on the chosen columns, with a ridge "
            f"of {ridge:g}, which ranked validation rows better."
        )
    if limits := summary.clip_limits:
        share, why = classifier.clip, ""
        if share == "auto":
            share, why = DEFAULT_CLIP, ", which ranked validation rows better"
        text += (
            f" In {', '.join(limits)}, values below the {100 * share:g} % quantile or above the "
            f"{100 - 100 * share:g} % quantile of the training rows were set to that quantile{why}."
        )
    if (largest := summary.settings.get("points")) is not None:
        text += (
            f" They were then replaced by whole points from −{largest} to {largest} per unit of a "
            "column: the points of the smallest loss, changed as long as that raised the AUC of "
            "the training rows."
        )
    if summary.table.strata is not None:
        strata = np.unique(summary.table.strata.astype(np.str_)).size
        text += (
            f" Only pairs of rows{of_the_same(summary.table)} were compared, in fitting and in "
            f"validation: {strata} strata, each weighted by its number of pairs. Differences "
            "between strata have no effect."
        )
    on_list: Limits = getattr(classifier, "limits", None) or Limits()
    text += "".join(f" {one}" for one in on_list.describe(summary.table.columns))
    if (budget := getattr(classifier, "budget_", on_list.budget)) is not None:
        text += f" A list could cost at most {budget:g}; this one costs {classifier.cost_:g}."
    return text


def _describe_search(summary: FitSummary) -> str:
    settings, results = summary.settings, summary.cv_results
    classifier: Any = summary.classifier
    if results is None:
        return f"The number of columns, {summary.k}, and the penalty were given."
    repeats = classifier.n_repeats_
    folds = round(classifier.n_splits_ / repeats)
    tried = sorted(set(np.asarray(results["param_k"]).tolist()))
    ridges = len(set(np.asarray(results["param_alpha"]).tolist()))
    what = [f"{tried[0]} to {tried[-1]} columns"] if len(tried) > 1 else []
    money = sorted(set(np.asarray(results.get("param_budget", ())).tolist()))
    what += [f"{len(money)} budgets up to {money[-1]:g}"] if len(money) > 1 else []
    what += [f"{ridges} ridge penalties"] if ridges > 1 else []
    often = f", repeated {round(repeats)} times" if repeats >= 1.5 else ""
    text = f"{' and '.join(what)} were compared by {folds}-fold cross-validated AUC{often}."
    if settings.get("k") is not None:
        text += f" The number of columns, {settings['k']}, was given."
    elif settings.get("alpha") is not None:
        text += " The ridge was given."
    return text


def _describe_validation(summary: FitSummary) -> str:
    nested, table = summary.nested, summary.table
    if nested is None:
        return "The list was not validated on rows that were not used to choose it."
    text = (
        f"Nested cross-validation: for each of {nested.fold_aucs.size} outer folds, stratified by "
        "outcome, the whole procedure was repeated without the fold, including the choice of "
        "columns and all tuning, and the fold was scored. AUC, curves and probabilities are based "
        "on these scores. The final list was fitted to all rows."
    )
    if table.groups is not None:
        text += f" The {np.unique(table.groups).size} groups were never split between folds."
    return text


def class_names(table: Table) -> tuple[str, str]:
    """Names of the positive and the negative class: "ill", but "state=1" rather than "1"."""

    def called(label: str) -> str:
        bare = is_number(label) or label.lower() in ("yes", "no", "true", "false", "y", "n")
        return f"{table.target}={label}" if bare else label

    positive = called(table.positive)
    rest = table.negative == f"not {table.positive}"
    return positive, f"not {positive}" if rest else called(table.negative)


def of_the_same(table: Table) -> str:
    """Return " of the same site" where rows are compared within sites, else nothing."""
    return "" if table.strata is None else f" of the same {table.strata_column or 'stratum'}"
