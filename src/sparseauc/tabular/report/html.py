"""The page: one HTML file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from . import drawing, palette
from .checks import check, elements, section_anchor
from .elements import LINK, Code, Comparison, Element, Figure, Note, Report
from .files import figure_to_csv, to_csv
from .tables import columns, grid, key

# A table of more rows than this scrolls inside its box; one of fewer is not cut when printed.
_TALL = 24
_SHORT = 14


def render(report: Report, *, files: bool = False) -> str:
    """Turn a report into one self-contained HTML page.

    Figures are pictures in the page. It follows the reader's choice of light or dark, fits a phone,
    prints, and needs no script to be read; a small one sorts tables, copies code, hides series and
    shows values under the pointer.

    With ``files`` it links to those of :func:`sparseauc.tabular.report.files.files` beside it.
    The same report gives the same page.
    """
    check(report)
    looks = palette.slots(element for element in elements(report) if isinstance(element, Figure))
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            files=files,
            sections=[
                {
                    "anchor": section_anchor(section.name),
                    "heading": section.heading,
                    "elements": [_view(element, looks, files) for element in section.elements],
                }
                for section in report.sections
            ],
            themes={"light": palette.LIGHT, "dark": palette.DARK},
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sparseauc.tabular.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = _words
    environment.filters["linked"] = _linked
    environment.filters["breakable"] = _breakable
    environment.filters["paragraphs"] = _paragraphs
    return environment


def _view(element: Element, looks: dict[str, dict[str, int]], files: bool) -> dict[str, Any]:
    """Give a template what it shows of an element."""
    if isinstance(element, Note | Code):
        return {"kind": type(element).__name__.lower(), "element": element}
    view: dict[str, Any] = {"element": element}
    if isinstance(element, Figure):
        drawn = drawing.pictures(element, looks[element.name])
        return view | {
            "kind": "figure",
            "panels": drawn,
            "legend": drawing.legend_of(element, looks[element.name]),
            "abreast": drawing.columns_of(element),
            "not_in_paper": drawing.NOT_IN_PAPER,
            "csv": "" if files else _data(figure_to_csv(element)),
        }
    view["csv"] = "" if files else _data(to_csv(element))
    if isinstance(element, Comparison):
        table = grid(element)
        methods = sum(len(rows) for _, rows in table.blocks)
        return view | {
            "kind": "comparison",
            "grid": table,
            "key": " ".join(key(table, "underlined")),
            "tall": methods > _TALL,
            "short": methods <= _SHORT,
        }
    shown = columns(element)
    cells = [list(zip(column.values, column.numbers, strict=True)) for column in shown]
    rows = list(zip(*cells, strict=True))
    return view | {
        "kind": "listing",
        "key": "",
        "columns": shown,
        "rows": rows,
        "tall": len(rows) > _TALL,
        "short": len(rows) <= _SHORT,
    }


def _data(text: str) -> str:
    """Address of a file that is inside the page."""
    return f"data:text/csv;charset=utf-8,{quote(text)}"


def _words(text: str) -> Markup:
    """Escape a text; what stands between backquotes becomes code."""
    parts = _with_units(text).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _with_units(text: str) -> str:
    """Text in which no line ends between a number and per cent."""
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


def _linked(text: str) -> Markup:
    """Escape a text; one that is a link as a whole becomes one."""
    if link := LINK.fullmatch(text):
        return Markup('<a href="#{1}">{0}</a>').format(*link.groups())
    return escape(_with_units(text))


def _breakable(name: str) -> Markup:
    """Escape a name; a narrow screen may break it where CamelCase starts a new word."""
    words = re.split(r"(?<=[a-z])(?=[A-Z])", name)
    return Markup("<wbr>").join(escape(word) for word in words)


def _paragraphs(text: str) -> Markup:
    """Escape a text and make a paragraph of every part between blank lines."""
    return Markup("\n").join(
        Markup("<p>{}</p>").format(_words(part.strip()))
        for part in re.split(r"\n\s*\n", text)
        if part.strip()
    )
