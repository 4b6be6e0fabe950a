"""Checks of a report before it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np

from .elements import Comparison, Element, Figure, Listing, Note, Panel, Report

CELL_COLUMNS = (
    "method", "in_paper", "group", "column", "mean", "se", "std", "n", "failed", "printed",
    "printed_std", "difference",
)  # fmt: skip
STYLES = ("line", "dashed", "points", "steps", "bars")
# Safe as the stem of a file on any system and as an anchor in any browser.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check(report: Report) -> None:
    """Refuse a report of which a page or a file would come out wrong."""
    seen: dict[str, str] = {}
    for section in report.sections:
        anchor = section_anchor(section.name)
        _check_name(section.name, anchor, f"section {section.heading!r}", seen)
        for element in section.elements:
            if isinstance(element, Comparison | Listing):
                _check_name(element.name, element.name, f"table {element.title!r}", seen)
            if isinstance(element, Comparison):
                _check_comparison(element)
            elif isinstance(element, Figure):
                _check_name(element.name, element.name, f"figure {element.title!r}", seen)
                _check_figure(element)
            elif isinstance(element, Note) and element.kind not in ("plain", "caution", "finding"):
                raise ValueError(f"a note of section {section.name!r} is of kind {element.kind!r}")
            elif not isinstance(element, get_args(Element)):
                raise TypeError(
                    f"section {section.name!r} holds a {type(element).__name__}; sections are made "
                    "of Comparison, Listing, Figure, Note and Code"
                )


def _check_name(name: str, anchor: str, what: str, seen: dict[str, str]) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{what} is named {name!r}: a name starts with a letter and goes on with letters, "
            "digits, - and _, because files and links are called after it"
        )
    # Not every file system tells A from a.
    if anchor.lower() in seen:
        raise ValueError(f"{what} has the name of {seen[anchor.lower()]}: {name!r}")
    seen[anchor.lower()] = what


def elements(report: Report) -> Iterator[Element]:
    """Go through all elements of a report in their order."""
    for section in report.sections:
        yield from section.elements


def section_anchor(name: str) -> str:
    """Anchor of a section; a table in it may well have the same name."""
    return f"section-{name}"


def _check_comparison(comparison: Comparison) -> None:
    missing = [name for name in CELL_COLUMNS if name not in comparison.cells.columns]
    if missing:
        raise ValueError(f"table {comparison.name!r} lacks the columns {', '.join(missing)}")
    twice = comparison.cells.duplicated(["method", "group", "column"])
    if twice.any():
        first = comparison.cells.loc[twice].iloc[0]
        raise ValueError(
            f"table {comparison.name!r} has two cells of method {first['method']!r}, group "
            f"{first['group']!r}, column {first['column']!r}"
        )


def _check_figure(figure: Figure) -> None:
    if not figure.panels:
        raise ValueError(f"figure {figure.name!r} has no panel")
    for panel in figure.panels:
        for series in panel.series if isinstance(panel, Panel) else ():
            where = f"series {series.label!r} of figure {figure.name!r}"
            if series.style not in STYLES:
                raise ValueError(f"{where} has the style {series.style!r}, not one of {STYLES}")
            error: Any = series.error
            both = isinstance(error, tuple) and len(error) == 2 and np.ndim(error[0])
            given: list[tuple[str, Any]] = [("y", series.y), ("text", series.text)]
            for name, values in given + [("error", end) for end in (error if both else [error])]:
                if values is not None and len(values) != len(series.x):
                    raise ValueError(f"{where} has {len(series.x)} x and {len(values)} {name}")
