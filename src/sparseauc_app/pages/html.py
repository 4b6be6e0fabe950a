"""The page: one HTML file that opens from disk and asks the network for nothing."""

import re
from functools import cache
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from ..templates import make_environment
from . import drawing, palette
from .elements import URL, Listing, Report, check
from .tables import columns, to_csv


def render(report: Report) -> str:
    """Turn a report into one self-contained HTML page.

    Figures are pictures in the page. It follows the reader's choice of light or dark, fits a phone,
    prints, and needs no script to be read; a small one sorts tables, copies code, hides series and
    shows values under the pointer.

    The same report gives the same page.
    """
    check(report)
    page = _environment().get_template("page.html.j2")
    themes = {"light": palette.LIGHT, "dark": palette.DARK}
    return page.render(report=report, themes=themes)


@cache
def _environment() -> Environment:
    made = make_environment("sparseauc_app.pages")
    made.filters |= {"words": _words, "units": _with_units, "paragraphs": _paragraphs}
    made.globals |= {"columns": columns, "drawing": drawing, "csv_link": _csv_link}
    return made


def _csv_link(listing: Listing) -> str:
    """Address of the numbers of a table, in a file that is inside the page."""
    return f"data:text/csv;charset=utf-8,{quote(to_csv(listing))}"


def _words(text: str) -> Markup:
    """Escape a text; what stands between backquotes becomes code."""
    parts = _with_units(text).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else _with_addresses(part)
        for place, part in enumerate(parts)
    )


def _with_addresses(text: str) -> Markup:
    """Escape a text; addresses in it become links."""
    addresses = URL.findall(text)
    parts = [escape(part) for part in URL.split(text)]
    links = [Markup('<a href="{0}">{0}</a>').format(address) for address in addresses]
    return Markup("").join(
        piece for pair in zip(parts, [*links, ""], strict=True) for piece in pair
    )


def _with_units(text: str) -> str:
    """Text in which no line ends between a number and per cent."""
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


def _paragraphs(text: str) -> Markup:
    """Escape a text and make a paragraph of every part between blank lines."""
    return Markup("\n").join(
        Markup("<p>{}</p>").format(_words(part.strip()))
        for part in re.split(r"\n\s*\n", text)
        if part.strip()
    )
