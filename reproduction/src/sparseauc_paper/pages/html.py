"""The page: one HTML file that opens from disk and asks the network for nothing."""

import re
from functools import cache
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from . import drawing, palette
from .elements import LINK, URL, Figure, Listing, Report, Table, check
from .files import figure_to_csv, to_csv
from .tables import columns


def render(report: Report, *, files: bool = False) -> str:
    """Turn a report into one self-contained HTML page.

    Figures are pictures in the page. It follows the reader's choice of light or dark, fits a phone,
    prints, and needs no script to be read; a small one sorts tables, copies code, hides series and
    shows values under the pointer.

    With ``files`` it links to those of :func:`sparseauc_paper.pages.files.files` beside it.
    The same report gives the same page.
    """
    check(report)
    looks = palette.slots(element for element in report.elements() if isinstance(element, Figure))
    page = environment().get_template("page.html.j2")
    themes = {"light": palette.LIGHT, "dark": palette.DARK}
    return page.render(report=report, files=files, looks=looks, themes=themes)


@cache
def environment(package: str = "sparseauc_paper.pages") -> Environment:
    """Where the templates of a package find what all of them need."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "words": _words, "linked": _linked, "breakable": _breakable, "paragraphs": _paragraphs,
    }  # fmt: skip
    made.globals |= {
        "kind_of": _kind, "columns": columns, "drawing": drawing, "csv_link": _csv_link,
    }  # fmt: skip
    return made


def _kind(element: object) -> str:
    return "Table" if isinstance(element, Table) else type(element).__name__


def _csv_link(element: Table | Listing | Figure) -> str:
    """Address of an element's numbers, in a file that is inside the page."""
    text = figure_to_csv(element) if isinstance(element, Figure) else to_csv(element)
    return f"data:text/csv;charset=utf-8,{quote(text)}"


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
