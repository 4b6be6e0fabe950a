"""Replacements of single columns, and near-equal lists, as parts of a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..._text import listed
from ..alternatives import WITHIN
from .elements import Element, Listing, Note
from .model_words import count_columns

if TYPE_CHECKING:
    from ...selection.near_equal import NearEqualLists
    from ..alternatives import Alternatives

_REPLACEMENTS = {
    "column": "Column",
    "replacement": "Replacement",
    "correlation": "Correlation",
    "auc": "AUC",
    "auc_change": "Change",
    "standard_error": "± SE",
}


def show_alternatives(found: Alternatives) -> list[Element]:
    """List replacements of each column, and other lists."""
    replaced = Listing(
        "replacements",
        "Replacements",
        "If a column is not available: the best replacements. Change: of the AUC over the outer "
        "folds with the replacement and refitted coefficients, with its standard error. List and "
        "replacements were chosen on all rows: the AUCs are slightly optimistic, but comparable.",
        found.replacements[list(_REPLACEMENTS)].rename(columns=_REPLACEMENTS),
        digits=3,
    )
    others = [] if len(found.near_equal.lists) < 2 else [_lists(found)]
    return [replaced, Note(" ".join(_count(found.near_equal)), "finding"), *others]


def _count(near: NearEqualLists) -> Iterable[str]:
    as_good = f"lowers the loss by at least {100 - 100 * WITHIN:g} % of what the best one does"
    if len(near.lists) < 2:
        found = "No other list" if near.complete else "No other list that was found"
        yield f"{found} of the same length {as_good}."
        return
    all_of_them = "these are all" if near.complete else "there may be more"
    yield f"Each of {len(near.lists)} lists of the same length {as_good}; {all_of_them}."
    for what, names in (("all", near.in_all), ("most, not all", near.in_most)):
        yield f"In {what}: {listed([repr(name) for name in names], 20) or 'no column'}."
    yield f"In none: {count_columns(len(near.in_none))}."


def _lists(found: Alternatives) -> Listing:
    lists = found.lists
    own = set(lists["columns"][0])
    frame = lists.assign(
        List=range(1, len(lists) + 1),
        Without=[_named(own - set(names)) for names in lists["columns"]],
        Instead=[_named(set(names) - own) for names in lists["columns"]],
        AUC=lists["auc"],
        Gain=100 * lists["gain"],
    )
    more = len(found.near_equal.lists) - len(lists)
    return Listing(
        "other-lists",
        "Other lists that are nearly as good",
        "First the list of this report, then each time the one that differs most from those before"
        + (f"; {more} more are not shown" if more > 0 else "")
        + ". AUC: over the outer folds, slightly optimistic. Gain: reduction of the loss, in per "
        "cent of the best. Cost or ease of measurement can decide.",
        frame[["List", "Without", "Instead", "AUC", "Gain"]],
        significant={"Gain": 4},
    )


def _named(names: set[Any]) -> str:
    return ", ".join(sorted(map(str, names)))
