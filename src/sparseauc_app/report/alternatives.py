"""Replacements of single columns, and near-equal lists, as parts of a report."""

from collections.abc import Iterable
from typing import Any

from sparseauc._text import quoted
from sparseauc.selection.near_equal import NearEqualLists

from ..alternatives import WITHIN, Alternatives
from ..formatting import count
from .elements import Element, Listing, Note

_REPLACEMENTS = {
    "column": "Column",
    "replacement": "Replacement",
    "correlation": "Correlation",
    "auc": "AUC",
    "auc_change": "Change",
    "standard_error": "± SE",
}


def show_alternatives(found: Alternatives, order: list[str]) -> list[Element]:
    """List replacements of each column, in the order given, and other lists."""
    frame = found.replacements.sort_values(
        "column", key=lambda names: names.map(order.index), kind="stable"
    )
    replaced = Listing(
        "replacements",
        "Replacements",
        "What to use if a column is not available. AUC: over the outer folds, with the replacement "
        "and refitted coefficients. Change: compared with this list, with its standard error. "
        "List and replacements were chosen on all rows: the AUCs are slightly optimistic, but "
        "comparable.",
        frame[list(_REPLACEMENTS)].rename(columns=_REPLACEMENTS),
        formats=dict.fromkeys(("Correlation", "Change", "± SE"), ".3f"),
    )
    others = [] if len(found.near_equal.lists) < 2 else [_list_others(found)]
    return [replaced, Note(" ".join(_describe_lists(found.near_equal)), "finding"), *others]


def _describe_lists(near: NearEqualLists) -> Iterable[str]:
    nearly = f"reach at least {100 - 100 * WITHIN:g} % of the best list's reduction of the loss"
    if len(near.lists) < 2:
        found = "No other list" if near.complete else "No other list that was found"
        yield f"{found} of the same length would {nearly}."
        return
    others = "There are no others." if near.complete else "There may be more."
    yield f"{len(near.lists)} lists of the same length {nearly}. {others}"
    for what, names in (("all lists", near.in_all), ("most, but not all", near.in_most)):
        if names:
            yield f"In {what}: {quoted(names, 20)}."
    if near.in_none:
        yield f"In no list: {count(len(near.in_none), 'column')}."


def _list_others(found: Alternatives) -> Listing:
    lists = found.lists
    own = set(lists["columns"][0])
    frame = lists.assign(
        List=range(1, len(lists) + 1),
        Without=["–", *(_join_names(own - set(names)) for names in lists["columns"][1:])],
        Instead=["–", *(_join_names(set(names) - own) for names in lists["columns"][1:])],
        AUC=lists["auc"],
        Gain=100 * lists["gain"],
    )
    more = len(found.near_equal.lists) - len(lists)
    return Listing(
        "other-lists",
        "Other lists that are nearly as good",
        "First the list of this report, then each time the one that differs most from those before"
        + (f"; {more} more are not shown" if more > 0 else "")
        + ". Without, Instead: how it differs from this list. AUC: over the outer folds, slightly "
        "optimistic. Gain: reduction of the loss, in per cent of the best list's. Cost or ease of "
        "measurement can decide.",
        frame[["List", "Without", "Instead", "AUC", "Gain"]],
        formats={"Gain": ".1f"},
    )


def _join_names(names: set[Any]) -> str:
    return ", ".join(sorted(map(str, names)))
