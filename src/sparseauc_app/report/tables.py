"""What a table shows, as text: the same on the page and in Markdown."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .elements import Comparison, Listing

NOTHING = "–"
# A difference of more standard errors than this is pointed out.
FAR = 2.0
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Cell(NamedTuple):
    """A cell of a comparison: text, empty where there is no number, and what is remarkable."""

    mean: str
    se: str
    printed: str
    difference: str
    failed: str
    best: bool
    best_printed: bool
    far: bool


class Row(NamedTuple):
    """A method of a block, with a cell for each column (None: no such setting)."""

    method: str
    in_paper: bool
    cells: list[Cell | None]


class Grid(NamedTuple):
    """A comparison ready to be set: a block of rows for each group.

    ``beside_paper`` is False where neither a method nor a number is the paper's.
    """

    columns: list[str]
    blocks: list[tuple[str, list[Row]]]
    beside_paper: bool
    has_printed: bool
    has_failures: bool


class Column(NamedTuple):
    """A column of a listing as text, with the numbers behind it (None: not a number)."""

    name: str
    numeric: bool
    values: list[str]
    numbers: list[Any]


def grid(comparison: Comparison) -> Grid:
    """Lay out the cells of a comparison; every block marks the best mean of each column."""
    frame = comparison.cells
    columns = list(dict.fromkeys(map(str, frame["column"])))
    blocks = []
    for group, lines in frame.groupby("group", sort=False):
        part = lines.copy()
        # A mean over fewer values is of other data: it cannot be called the best.
        tried = part["n"] + part["failed"]
        complete = part["mean"].where(tried == tried.groupby(part["column"]).transform("max"))
        part["best"] = _is_best(complete, part["column"], comparison.higher_is_better)
        part["best_printed"] = _is_best(
            part["printed"], part["column"], comparison.higher_is_better
        )
        rows: dict[str, Row] = {}
        for line in part.to_dict("records"):
            row = Row(str(line["method"]), bool(line["in_paper"]), [None] * len(columns))
            place = columns.index(str(line["column"]))
            rows.setdefault(row.method, row).cells[place] = _cell(line, comparison.digits)
        blocks.append((str(group), list(rows.values())))
    has_printed = bool(frame["printed"].notna().any())
    return Grid(
        columns=columns,
        blocks=blocks,
        beside_paper=has_printed or bool(frame["in_paper"].any()),
        has_printed=has_printed,
        has_failures=bool((frame["failed"] > 0).any()),
    )


def _is_best(values: pd.Series, columns: pd.Series, higher_is_better: bool) -> pd.Series:
    """Whether each value is the best of its column; all of them where several tie."""
    return values.groupby(columns).rank(method="min", ascending=not higher_is_better) == 1


def _cell(line: dict[Any, Any], digits: int) -> Cell:
    difference = float(line["difference"])
    failed, n = int(line["failed"]), int(line["n"])
    printed, deviation = (fixed(line[name], digits) for name in ("printed", "printed_std"))
    return Cell(
        mean=fixed(line["mean"], digits),
        se=fixed(line["se"], digits),
        printed=f"{printed} (sd {deviation})" if printed and deviation else printed,
        difference=f"{fixed(difference, 1, sign=True)} SE" if math.isfinite(difference) else "",
        failed=f"{failed} of {failed + n} failed" if failed else "",
        best=bool(line["best"]),
        best_printed=bool(line["best_printed"]),
        far=abs(difference) > FAR,
    )


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


def key(table: Grid, far: str) -> Iterable[str]:
    """Say how to read a comparison, in sentences that fit what it holds.

    ``far`` says how differences beyond the limit are set, such as "in italics".
    """
    yield (
        "Mean ± standard error; ★ marks the best mean of each column, of those with the most "
        "values."
    )
    if table.has_printed:
        yield (
            "Beneath: the printed value, in brackets its standard deviation over values (sd, not a "
            "standard error), ☆ where it is the best; and our mean minus it in standard errors "
            f"(SE) of the difference, {far} beyond ±{FAR:g}."
        )
    if table.has_failures:
        yield "Values that ended in an error are counted and left out of the mean."
