"""The page: one HTML file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import dataclasses
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from . import palette, plots
from .checks import check, elements, section_anchor
from .elements import LINK, Comparison, Element, Figure, Listing, Note, Report
from .tables import columns, grid, key

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# A table of more rows than this scrolls inside its box; one of fewer is not cut when printed.
_TALL = 24
_SHORT = 14


def render(report: Report, *, files: bool = False) -> str:
    """Turn a report into one self-contained HTML page.

    Figures are drawn by plotly.js, which is inside the page (nearly 5 MB of it). The page follows
    the reader's choice of light or dark, fits a phone, and prints.

    Parameters
    ----------
    report : Report
    files : bool
        Whether the files of :func:`sparseauc.tabular.report.files.files` stand beside the page; if
        so, it links to them.

    Returns
    -------
    page : str
        The same report gives the same page.

    Raises
    ------
    ImportError
        jinja2 or plotly is not installed.
    ValueError
        A name is used twice or cannot be a link, a table or series is not whole.
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
                    "elements": [_view(element, looks) for element in section.elements],
                }
                for section in report.sections
            ],
            themes={"light": palette.LIGHT, "dark": palette.DARK},
            themes_json=_json(
                {
                    "light": dataclasses.asdict(palette.LIGHT),
                    "dark": dataclasses.asdict(palette.DARK),
                }
            ),
            plotly=_plotly() if looks else "",
        )
    )


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    return str(get_plotlyjs())


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

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


def _view(element: Element, looks: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Give a template what it shows of an element."""
    if isinstance(element, Note):
        return {"kind": "note", "note": element}
    view: dict[str, Any] = {"element": element}
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
    if isinstance(element, Listing):
        shown = columns(element)
        rows = list(zip(*(column.values for column in shown), strict=True))
        return view | {
            "kind": "listing",
            "columns": shown,
            "rows": rows,
            "tall": len(rows) > _TALL,
            "short": len(rows) <= _SHORT,
        }
    slots = looks[element.name]
    panels = plots.plot(element, slots)
    return view | {
        "kind": "figure",
        "panels": [
            {"title": panel.title, "label": plot["label"]}
            for panel, plot in zip(element.panels, panels, strict=True)
        ],
        "json": _json(panels),
        "legend": _legend(element, slots),
        "not_in_paper": plots.NOT_IN_PAPER,
    }


def _legend(figure: Figure, slots: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "in_paper": series.in_paper,
            "style": series.style,
            "look": palette.look(slots[label]),
        }
        for label, series in plots.legend_entries(figure).items()
    ]


def _json(value: Any) -> Markup:
    """Write JSON that no text inside can break out of, not even ``</script>``."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def _words(text: str) -> Markup:
    """Escape a text; what stands between backquotes becomes code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _linked(text: str) -> Markup:
    """Escape a text; one that is a link as a whole becomes one."""
    from markupsafe import Markup, escape

    if link := LINK.fullmatch(text):
        return Markup('<a href="#{1}">{0}</a>').format(*link.groups())
    return escape(text)


def _breakable(name: str) -> Markup:
    """Escape a name; a narrow screen may break it where CamelCase starts a new word."""
    from markupsafe import Markup, escape

    words = re.split(r"(?<=[a-z])(?=[A-Z])", name)
    return Markup("<wbr>").join(escape(word) for word in words)


def _paragraphs(text: str) -> Markup:
    """Escape a text and make a paragraph of every part between blank lines."""
    from markupsafe import Markup

    return Markup("\n").join(
        Markup("<p>{}</p>").format(_words(part.strip()))
        for part in re.split(r"\n\s*\n", text)
        if part.strip()
    )
