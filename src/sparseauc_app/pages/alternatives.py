"""Replacements of single columns, and near-equal lists, as parts of a report."""

from typing import Any

from ..evaluation.alternatives import WITHIN, Alternatives
from .elements import Element, Listing, Note
from .model_words import SAY

_REPLACEMENTS = {
    "column": "Column",
    "replacement": "Replacement",
    "correlation": "Correlation",
    "auc": "AUC",
    "auc_change": "Change",
    "standard_error": "± SE",
}


def show_alternatives(found: Alternatives, order: list[str], measure: str) -> list[Element]:
    """List replacements of each column, in the order given, and other lists."""
    names = {**_REPLACEMENTS, "auc": measure}
    frame = found.replacements.sort_values(
        "column", key=lambda names: names.map(order.index), kind="stable"
    )
    replaced = Listing(
        "replacements",
        "Replacements",
        SAY("replacements", measure=measure),
        frame[list(names)].rename(columns=names),
        formats=dict.fromkeys(("Correlation", "Change", "± SE"), ".3f"),
    )
    near = found.near_equal
    told = SAY(
        "near_equal",
        lists=len(near.lists),
        complete=near.complete,
        within=f"{100 * WITHIN:g}",
        in_all=near.in_all,
        in_most=near.in_most,
        in_none=near.in_none,
    )
    others = [] if len(near.lists) < 2 else [_list_others(found, measure)]
    return [replaced, Note(told, "finding"), *others]


def _list_others(found: Alternatives, measure: str) -> Listing:
    lists = found.lists
    own = set(lists["columns"][0])
    frame = lists.assign(
        List=range(1, len(lists) + 1),
        Without=["–", *(_join_names(own - set(names)) for names in lists["columns"][1:])],
        Instead=["–", *(_join_names(set(names) - own) for names in lists["columns"][1:])],
        Gain=100 * lists["gain"],
        **{measure: lists["auc"]},
    )
    return Listing(
        "other-lists",
        "Other lists that are nearly as good",
        SAY("other_lists", more=len(found.near_equal.lists) - len(lists), measure=measure),
        frame[["List", "Without", "Instead", measure, "Gain"]],
        formats={"Gain": ".1f"},
    )


def _join_names(names: set[Any]) -> str:
    return ", ".join(sorted(map(str, names)))
