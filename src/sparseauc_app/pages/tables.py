"""The contents of a table: as the page shows them, and as CSV."""

import math
from typing import Any, NamedTuple

import numpy as np

from sparseauc.utils.text import spreadsheet_safe

from .elements import Listing

NOTHING = "–"
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
        numeric = values != [None] * len(values) and numbers == values
        form = listing.formats.get(name, "") if numeric else ""
        texts = [_text(value, form) for value in values] if form else _texts(values, listing.digits)
        shown.append(
            Column(str(name), numeric, texts, numbers if numeric else [None] * len(values))
        )
    return shown


def to_csv(listing: Listing) -> str:
    """Write a table with all its digits, of which a spreadsheet computes nothing."""
    safe = listing.frame.map(spreadsheet_safe).rename(columns=spreadsheet_safe)
    text: str = safe.to_csv(index=False, lineterminator="\n")
    return text


def _texts(values: list[Any], digits: int) -> list[str]:
    # A column of whole numbers with a gap arrives as floats; a point would say nothing.
    given = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    whole = all(value == int(value) for value in given) and max(map(abs, given), default=0) < 1e6
    return [_text(value, f".{0 if whole else digits}") for value in values]


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


def fixed(value: float, digits: int, *, sign: bool = False) -> str:
    """Show a number to exactly ``digits`` digits after the point; nothing where there is none."""
    if not math.isfinite(value):
        return ""
    # Rounded first: −0.04 to one digit is 0.0, not −0.0.
    rounded = round(float(value), digits) + 0.0
    return _signed(f"{rounded:{'+' if sign and rounded else ''}.{digits}f}")


def _signed(text: str) -> str:
    return text.replace("-", "−")
