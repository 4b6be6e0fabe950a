"""Cautions about a fitted list: the same in the terminal, JSON, report and notebook."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sparseauc.utils.text import listed
from sparseauc.utils.types import Array

from .formatting import as_sentence, percent

# Multiplications that looking for near copies may take: about a second.
_MOST_PRODUCTS = 1e9
# Limits on the number of rows of the rarer class.
SOME_ROWS = 50
FEW_ROWS = 20
# Selection frequency below which a column is unstable.
UNSTABLE = 0.5
# Drop of the AUC from training rows to nested cross-validation that indicates
# overfitting.
LARGE_FALL = 0.1
# AUC of nested cross-validation above which a leak is likely.
TOO_GOOD = 0.99
# Share of missing values above which a chosen column is worth a caution.
MANY_MISSING = 0.2
# Columns with a higher correlation are the same but for rounding.
SAME = 0.999

Copies = Sequence[Sequence[tuple[str, float]]]


def find_cautions(
    about: Mapping[str, Any], warnings: Iterable[str] = (), copies: Copies = ()
) -> list[str]:
    """Return reasons not to rely on a result, as sentences, the most serious first.

    ``about`` is what ``FitResult.summary`` has, and ``copies`` has for each chosen
    column its near copies and their correlation.
    """
    return [
        *_check_ranking(about),
        *(as_sentence(text) for text in warnings),
        *_check_rows(about),
        *_check_size(about),
        *_check_columns(about, copies),
    ]


def warn_of_chance(
    auc: Mapping[str, Any], what: str, measure: str = "AUC"
) -> Iterator[str]:
    """Warn if an AUC or C may be chance, or is below it; ``what`` is a list or a model."""
    interval = (
        f"The {100 * auc['confidence']:g} % CI of the {measure}, {auc['low']:.2f} to "
        f"{auc['high']:.2f},"
    )
    if auc["high"] < 0.5:
        turned = "negatives above positives. Check which label is positive, and"
        if measure == "C":
            turned = (
                "later events above earlier ones. Check which value is the event, and"
            )
        yield (
            f"{interval} is below 0.5: the {what} ranks the wrong way round, {turned} the sign and "
            "unit of the columns."
        )
    elif auc["low"] <= 0.5:
        yield (
            f"{interval} includes 0.5: these rows do not show that the {what} ranks better than "
            "chance."
        )


def _check_ranking(about: Mapping[str, Any]) -> Iterator[str]:
    nested = about["auc"]
    training = about["training_auc"]
    measure = about.get("measure", "AUC")
    if nested is None:
        if about["settings"].get("folds", 0):
            yield "A class has too few rows or groups for nested cross-validation."
        else:
            yield (
                f"Nested cross-validation was skipped (`--quick`). The {measure} of {training:.2f} "
                "is that of the training rows. With many columns, pure noise can reach it."
            )
        return
    yield from warn_of_chance(nested, "list", measure)
    if training - nested["auc"] > LARGE_FALL:
        yield (
            f"The {measure} falls from {training:.2f} on the training rows to {nested['auc']:.2f} "
            "in nested cross-validation: the model overfits. Fewer columns (`-k`, or `--rule 1se`) "
            "or more rows would help."
        )
    if nested["auc"] > TOO_GOOD:
        yield (
            f"The {measure} of {nested['auc']:.3f} is too good for most outcomes: make sure that "
            "no column was recorded after the outcome, or derived from it."
        )
    known = [area for area in nested["folds"] if area is not None]
    apart = abs(np.mean(known) - nested["auc"]) if known else 0.0
    if apart > max(nested["standard_error"], 0.01):
        yield (
            f"The mean {measure} within folds ({np.mean(known):.3f}) differs from the pooled one "
            f"({nested['auc']:.3f}), because the folds' models score on different scales. Report "
            "the mean within folds."
        )


def _check_rows(about: Mapping[str, Any]) -> Iterator[str]:
    measure = about.get("measure", "AUC")
    counts = {about["positive"]: about["positives"]}
    if measure == "AUC":  # few censored rows are no harm
        counts[about["negative"]] = about["rows"] - about["positives"]
    label = min(counts, key=counts.__getitem__)
    if counts[label] < FEW_ROWS:
        yield (
            f"Only {counts[label]} rows are {label!r}: the choice of columns and the {measure} are "
            "very uncertain."
        )
    elif counts[label] < SOME_ROWS:
        yield (
            f"{counts[label]} rows are {label!r}. Another sample of this size could lead to other "
            "columns: validate the list on new data."
        )
    if about["groups"] is not None:
        yield (
            f"Rows come in {about['groups']} groups. Cross-validation kept groups together, and "
            f"the interval of the {measure} allows for related rows. Those of rates, probabilities "
            "and curves treat rows as independent: they are too narrow if rows of a group are "
            "alike."
        )


def _check_size(about: Mapping[str, Any]) -> Iterator[str]:
    tried = [row["k"] for row in about["auc_by_k"]]
    if len(tried) > 1 and max(tried) <= about["k"] < about["columns_tried"]:
        yield (
            f"The number of columns chosen, {about['k']}, is the largest tried. More might rank "
            "better: raise `--columns`."
        )


def _check_columns(about: Mapping[str, Any], copies: Copies) -> Iterator[str]:
    chosen = about["chosen"]
    if not chosen:
        yield (
            "No column was chosen, and all rows have the same score: all columns are constant, or "
            "the limits on the list (signs, groups, budget) leave none."
        )
    unstable = [
        f"{one['column']!r} ({percent(one['frequency'])})"
        for one in chosen
        if one.get("frequency", 1.0) < UNSTABLE
    ]
    if unstable:
        yield (
            f"Chosen in fewer than half of the refits on random halves of the rows: "
            f"{', '.join(unstable)}. Another sample may lead to other columns."
        )
    same = {
        " and ".join(sorted((repr(one["column"]), repr(other))))
        for one, others in zip(chosen, copies, strict=False)
        for other, correlation in others
        if abs(correlation) > SAME
    }
    if same:
        yield (
            f"Columns that differ only in scale: {listed(sorted(same))}. They carry the same "
            "information; keep one."
        )
    gaps = {
        str(one["column"]): missing_share(about, str(one["column"])) for one in chosen
    }
    holes = [
        f"{name!r} ({percent(share)})"
        for name, share in gaps.items()
        if share > MANY_MISSING
    ]
    if holes and about["imputation"] is not None:
        yield (
            f"Chosen columns with many missing values, which were imputed: {', '.join(holes)}. If "
            "missingness depends on the outcome, their value is overstated."
        )


def missing_share(about: Mapping[str, Any], name: str) -> float:
    """Share of rows in which a chosen column is missing."""
    return float(about["missing"].get(name, 0) / about["rows"])


def near_copies(
    X: Any, chosen: Sequence[int], least: float = 0.9
) -> list[list[tuple[int, float]]]:
    """Columns highly correlated with each chosen one, and the correlation, the strongest first.

    Of many rows a hundred to a thousand are looked at, spread evenly.
    """
    n, d = X.shape
    count = min(n, int(np.clip(_MOST_PRODUCTS / (d * max(1, len(chosen))), 100, 1000)))
    part = X[np.unique(np.linspace(0, n - 1, count).astype(np.intp))]
    part = part.tocsc() if hasattr(part, "tocsc") else part
    own = _standardised(part[:, list(chosen)])
    found: list[list[tuple[int, float]]] = [[] for _ in chosen]
    width = max(1, 4_000_000 // count)
    for start in range(0, d, width):
        correlation = own.T @ _standardised(part[:, start : start + width])
        for place, j in np.argwhere(np.abs(correlation) >= least).tolist():
            if start + j != chosen[place]:
                found[place].append((start + j, float(correlation[place, j])))
    return [sorted(copies, key=lambda copy: -abs(copy[1])) for copies in found]


def _standardised(X: Any) -> Array:
    """Columns of mean 0 and length 1; constant ones are 0."""
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    centred = dense - dense.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    # What rounding leaves of a constant column is no variation.
    constant = lengths <= 1e-12 * (1 + np.abs(dense).max(axis=0, initial=0)) * np.sqrt(
        len(dense)
    )
    unit: Array = np.where(constant, 0.0, centred / np.where(constant, 1.0, lengths))
    return unit
