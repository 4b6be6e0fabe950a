"""What a reader should know before relying on a list, found in the numbers themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..reading.source import listed

if TYPE_CHECKING:
    from ..summary import FitSummary

# With fewer rows of the rarer class than this the list is a suggestion; with far fewer the fit
# warns by itself.
SOME_ROWS = 50
FEW_ROWS = 20
# Columns that fewer halves than this choose owe their place to the rows at hand.
UNSTABLE = 0.5
# A fit whose AUC falls by more than this on new rows has learned its own rows by heart.
LARGE_FALL = 0.1
# A column with a larger share of missing values is in good part made up.
MANY_MISSING = 0.2
# Columns of this correlation are the same but for rounding.
SAME = 0.999

Copies = Sequence[Sequence[tuple[int, float]]]


def cautions(summary: FitSummary, copies: Copies | None) -> list[str]:
    """Say what speaks against relying on the result, the gravest first.

    Parameters
    ----------
    summary : FitSummary
    copies : sequence, or None
        Near copies of each chosen column, in the order of ``summary.columns``, as
        :func:`~sparseauc.tabular.report.model_curves.near_copies` finds them.

    Returns
    -------
    list of str
        Sentences; empty if nothing stood out.
    """
    return [
        *_of_the_ranking(summary),
        *(as_sentence(text) for text in summary.warnings),
        *_of_the_rows(summary),
        *_of_the_size(summary),
        *_of_the_columns(summary, copies),
    ]


def as_sentence(text: str) -> str:
    """Begin with a capital and end with a stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _of_the_ranking(summary: FitSummary) -> Iterator[str]:
    nested = summary.nested
    if nested is None:
        if not summary.settings.get("folds", 0):
            yield (
                "The list was not judged on rows it had not seen, because that was left out "
                f"(`--quick`). The AUC of {summary.training_auc.auc:.2f} is that of the rows it "
                "was fitted to; with many columns to choose from, pure noise can reach it."
            )
        return
    interval = nested.interval
    if interval.low <= 0.5:
        yield (
            f"The {100 * interval.confidence:g} % interval of the AUC, {interval.low:.2f} to "
            f"{interval.high:.2f}, reaches 0.5: these rows do not show that the list ranks better "
            "than chance."
        )
    if summary.permutation is not None and summary.permutation.pvalue > 0.05:
        yield (
            "With the outcome shuffled, the same procedure often did as well "
            f"(p = {summary.permutation.pvalue:.2g}): what was found may be chance."
        )
    fall = summary.training_auc.auc - interval.auc
    if fall > LARGE_FALL:
        yield (
            f"The AUC falls from {summary.training_auc.auc:.2f} on the rows used for fitting to "
            f"{interval.auc:.2f} on others: much of what the model learned holds for its own rows "
            "only. Fewer columns (`-k`, or `--rule 1se`) or more rows would help."
        )
    known = nested.fold_aucs[~np.isnan(nested.fold_aucs)]
    if known.size and abs(known.mean() - interval.auc) > interval.standard_error:
        yield (
            f"Rows compared within folds give an AUC of {known.mean():.2f}, all rows together "
            f"{interval.auc:.2f}. The models of the folds score on different scales: believe the "
            "former."
        )


def _of_the_rows(summary: FitSummary) -> Iterator[str]:
    table = summary.table
    counts = {table.positive: int(table.y.sum()), table.negative: int((1 - table.y).sum())}
    label = min(counts, key=counts.__getitem__)
    if FEW_ROWS <= counts[label] < SOME_ROWS:
        yield (
            f"{counts[label]} rows are {label!r}. That is enough to see a strong signal, but "
            "another sample of this size could lead to other columns: take the list as a "
            "suggestion to be checked on new data."
        )
    if table.groups is not None:
        yield (
            f"Rows come in {np.unique(table.groups).size} groups. Rows of a group were kept "
            "together when the list was judged, but the interval counts them as independent, and "
            "is too narrow if they are alike."
        )


def _of_the_size(summary: FitSummary) -> Iterator[str]:
    tried = [row["k"] for row in summary.auc_by_k()]
    if len(tried) > 1 and summary.k >= max(tried) and max(tried) < len(summary.table.inputs):
        yield (
            f"The number of columns chosen, {summary.k}, is the largest that was tried: more might "
            "rank better. `--max-k` tries more."
        )


def _of_the_columns(summary: FitSummary, copies: Copies | None) -> Iterator[str]:
    columns, table = summary.columns, summary.table
    names = columns["column"].tolist()
    if "frequency" in columns:
        unstable = [
            f"{name!r} ({share:.0%})"
            for name, share in zip(names, columns["frequency"], strict=True)
            if share < UNSTABLE
        ]
        if unstable:
            yield (
                f"Fewer than half of the refits on half of the rows chose {listed(unstable)}. With "
                "other rows, other columns may well take their place."
            )
    same = {
        frozenset((str(name), str(table.columns[other])))
        for name, others in zip(names, copies or [], strict=False)
        for other, correlation in others
        if abs(correlation) > SAME
    }
    if same:
        yield (
            f"Columns that are the same but for their scale: {listed(_pairs(same))}. Which of them "
            "is chosen says nothing."
        )
    rows = table.y.size
    sources = {one.name: one.column for one in table.inputs}
    gaps = {name: table.missing.get(sources[str(name)], 0) / rows for name in names}
    holes = [f"{name!r} ({share:.0%})" for name, share in gaps.items() if share > MANY_MISSING]
    if holes and table.imputation is not None:
        yield (
            f"Chosen, though many of the values were missing and filled in: {listed(holes)}. If "
            "that a value is missing depends on the outcome, the column tells less than it seems."
        )


def _pairs(same: set[frozenset[str]]) -> list[str]:
    return sorted(" and ".join(repr(name) for name in sorted(pair)) for pair in same)
