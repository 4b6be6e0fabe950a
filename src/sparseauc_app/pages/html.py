"""The page: one HTML file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np
from markupsafe import Markup, escape

from ..formatting import for_spreadsheets, make_environment
from ..text import printable
from . import drawing
from .elements import Listing, Report

if TYPE_CHECKING:
    from jinja2 import Environment

NOTHING = "–"
# An address in a text, without the full stop or comma that follows it.
_URL = re.compile(r"https://[\w./-]*[\w/]")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Column(NamedTuple):
    """A column of a listing as text, with the numbers behind it (None: not a number)."""

    name: str
    numeric: bool
    values: list[str]
    numbers: list[Any]


def columns(listing: Listing) -> list[Column]:
    """Turn every column of a listing into text."""
    frame = listing.frame.astype(object).where(listing.frame.notna(), None)
    shown = []
    for place, name in enumerate(frame.columns):
        # A column of mixed types hands out NumPy's scalars as they are.
        values = [
            value.item() if isinstance(value, np.generic) else value
            for value in frame.iloc[:, place].tolist()
        ]
        numbers = [value if type(value) in (int, float) else None for value in values]
        numeric = any(number is not None for number in numbers) and numbers == values
        form = listing.formats.get(name) if numeric else None
        texts = [_text(value, form or _default_form(values)) for value in values]
        shown.append(
            Column(
                str(name), numeric, texts, numbers if numeric else [None] * len(values)
            )
        )
    return shown


def to_csv(listing: Listing) -> str:
    """Write a table with all its digits, of which a spreadsheet computes nothing."""
    text: str = for_spreadsheets(listing.frame).to_csv(index=False, lineterminator="\n")
    return text


def _default_form(values: list[Any]) -> str:
    # A column of whole numbers with a gap arrives as floats; a point would say nothing.
    given = [
        value for value in values if isinstance(value, float) and math.isfinite(value)
    ]
    whole = (
        all(value == int(value) for value in given)
        and max(map(abs, given), default=0) < 1e6
    )
    return ".0" if whole else ".3"


def _text(value: Any, form: str) -> str:
    """Text of a cell; a form such as ".3" allows for powers of ten, ".3f" does not."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if form.endswith("f"):
        return fixed(value, int(form[1:-1]))
    if form.endswith("g"):
        return significant(value, int(form[1:-1]))
    if isinstance(value, float):
        return number(value, int(form[1:]))
    return _signed(f"{value}") if isinstance(value, int) else str(value)


def number(value: float, digits: int) -> str:
    """Show a number to some digits after the point, by a power of ten where they show nothing."""
    if math.isinf(value):
        return _signed(f"{value}").replace("inf", "∞")
    rounds_to_nothing = value != 0 and round(value, digits) == 0
    if rounds_to_nothing or abs(value) >= 1e6:
        return _with_power(f"{value:.1e}")
    return _signed(f"{value:.{digits}f}")


def significant(value: float, digits: int) -> str:
    """Show a number to some significant digits, by a power of ten where it is far from one."""
    return _with_power(f"{value:#.{digits}g}".removesuffix("."))


def _with_power(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    power = f"×10{str(int(exponent)).translate(_SUPERSCRIPTS)}" if exponent else ""
    return _signed(mantissa) + power


def fixed(value: float, digits: int) -> str:
    """Show a number to exactly ``digits`` digits after the point; nothing where there is none."""
    if not math.isfinite(value):
        return ""
    # Rounded first: −0.04 to one digit is 0.0, not −0.0.
    return _signed(f"{round(float(value), digits) + 0.0:.{digits}f}")


def _signed(text: str) -> str:
    return text.replace("-", "−")


def render(report: Report) -> str:
    """Turn a report into one self-contained HTML page.

    Figures are pictures in the page. It follows the reader's choice of light or dark,
    fits a phone, prints, and needs no script to be read; a small one sorts tables,
    copies code, hides series and shows values under the pointer.

    The same report gives the same page.
    """
    page = _environment().get_template("page.html.j2")
    themes = {"light": drawing.LIGHT, "dark": drawing.DARK}
    return page.render(report=report, themes=themes)


@cache
def _environment() -> Environment:
    made = make_environment("sparseauc_app.pages")
    made.filters |= {"words": _words, "units": _with_units, "paragraphs": _paragraphs}
    made.filters["printable"] = printable
    made.globals |= {"columns": columns, "draw": drawing.draw, "csv_link": _csv_link}
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
    return Markup(_URL.sub(r'<a href="\g<0>">\g<0></a>', escape(text)))


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
