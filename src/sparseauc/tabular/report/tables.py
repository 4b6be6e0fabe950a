"""What a table shows, as text: the same on the page and in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .elements import Comparison, Listing

if TYPE_CHECKING:
    import pandas as pd

NOTHING = "–"
# A difference of more standard errors than this is pointed out.
FAR = 2.0
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Cell:
    """A cell of a comparison: text, and what is remarkable about it.

    ``mean`` is empty where every value failed or the setting was not run; ``printed`` where the
    paper has no number.
    """

    mean: str
    se: str
    printed: str
    difference: str
    failed: str
    best: bool
    best_printed: bool
    far: bool


@dataclass(frozen=True)
class Row:
    """A method of a block, with a cell for each column (None: no such setting)."""

    method: str
    in_paper: bool
    cells: list[Cell | None]


@dataclass(frozen=True)
class Grid:
    """A comparison ready to be set: a block of rows for each group.

    ``beside_paper`` is False where neither a method nor a number is the paper's; then nothing is
    said of it.
    """

    columns: list[str]
    blocks: list[tuple[str, list[Row]]]
    beside_paper: bool
    has_printed: bool
    has_failures: bool


@dataclass(frozen=True)
class Column:
    """A column of a listing; ``raw`` are the values behind the text."""

    name: str
    numeric: bool
    values: list[str]
    raw: list[Any]

    @property
    def cells(self) -> list[tuple[str, Any]]:
        """Text of each cell, and the number behind it if there is one."""
        if not self.numeric:
            return [(text, None) for text in self.values]
        return [
            (text, value if _is_given(value) else None)
            for text, value in zip(self.values, self.raw, strict=True)
        ]


def grid(comparison: Comparison) -> Grid:
    """Lay out the cells of a comparison; every block marks the best mean of each column."""
    frame = comparison.cells
    columns = list(dict.fromkeys(map(str, frame["column"])))
    blocks = []
    for group, part in frame.groupby("group", sort=False):
        cells = {
            (str(line["method"]), str(line["column"])): line for line in part.to_dict("records")
        }
        # A mean over fewer values is of other data: it cannot be called the best.
        tried = part["n"] + part["failed"]
        complete = part[tried == tried.groupby(part["column"]).transform("max")]
        best = _winners(complete, "mean", comparison.higher_is_better)
        best_printed = _winners(part, "printed", comparison.higher_is_better)
        in_paper = {str(line["method"]): bool(line["in_paper"]) for line in cells.values()}
        rows = [
            Row(
                method,
                in_paper[method],
                [
                    _cell(cells[place], place in best, place in best_printed, comparison.digits)
                    if (place := (method, column)) in cells
                    else None
                    for column in columns
                ],
            )
            for method in dict.fromkeys(map(str, part["method"]))
        ]
        blocks.append((str(group), rows))
    has_printed = bool(frame["printed"].notna().any())
    return Grid(
        columns=columns,
        blocks=blocks,
        beside_paper=has_printed or bool(frame["in_paper"].any()),
        has_printed=has_printed,
        has_failures=bool((frame["failed"] > 0).any()),
    )


def _winners(part: pd.DataFrame, value: str, higher_is_better: bool) -> set[tuple[str, str]]:
    """(method, column) of the best value of each column; all of them where several tie."""
    ranks = part.groupby("column")[value].rank(method="min", ascending=not higher_is_better)
    first = part[ranks == 1]
    return {(str(m), str(c)) for m, c in zip(first["method"], first["column"], strict=True)}


def _cell(line: dict[Any, Any], best: bool, best_printed: bool, digits: int) -> Cell:
    difference = float(line["difference"])
    failed, n = int(line["failed"]), int(line["n"])
    return Cell(
        mean=fixed(line["mean"], digits),
        se=fixed(line["se"], digits),
        printed=_printed(line, digits),
        difference=f"{fixed(difference, 1, sign=True)} SE" if math.isfinite(difference) else "",
        failed=f"{failed} of {failed + n} failed" if failed else "",
        best=best,
        best_printed=best_printed,
        far=abs(difference) > FAR,
    )


def _printed(line: dict[Any, Any], digits: int) -> str:
    """The printed value, with its printed standard deviation if there is one."""
    printed, deviation = (fixed(line[name], digits) for name in ("printed", "printed_std"))
    return f"{printed} ± {deviation}" if printed and deviation else printed


def columns(listing: Listing) -> list[Column]:
    """Turn every column of a listing into text."""
    shown = []
    for place, name in enumerate(listing.frame.columns):
        # A column of mixed types hands out NumPy's scalars as they are.
        values = [
            value.item() if isinstance(value, np.generic) else value
            for value in listing.frame.iloc[:, place].tolist()
        ]
        numeric = all(_is_number(value) for value in values) and any(map(_is_given, values))
        texts = _texts(values, listing.digits)
        if numeric and name in listing.formats:
            form = listing.formats[name]
            write, digits = fixed if form.endswith("f") else significant, int(form[1:-1])
            texts = [write(value, digits) if _is_given(value) else NOTHING for value in values]
        shown.append(Column(str(name), numeric, texts, values))
    return shown


def _texts(values: list[Any], digits: int) -> list[str]:
    # A column of whole numbers with a gap arrives as floats; a point would say nothing.
    given = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    whole = all(value == int(value) for value in given) and max(map(abs, given), default=0) < 1e6
    return [_text(value, 0 if whole else digits) for value in values]


def _text(value: Any, digits: int) -> str:
    if not _is_given(value):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _signed(f"{value}")
    if isinstance(value, float):
        return number(value, digits)
    return str(value)


def _is_number(value: Any) -> bool:
    return not _is_given(value) or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_given(value: Any) -> bool:
    import pandas as pd

    return not (pd.api.types.is_scalar(value) and pd.isna(value))


def number(value: float, digits: int) -> str:
    """Show a number to some digits after the point, or by a power of ten where that shows nothing.

    Examples
    --------
    >>> number(0.87654, 3), number(-0.0000321, 3), number(float("inf"), 3)
    ('0.877', '−3.2×10⁻⁵', '∞')
    """
    if math.isinf(value):
        return _signed(f"{value}").replace("inf", "∞")
    rounds_to_nothing = value != 0 and round(value, digits) == 0
    if rounds_to_nothing or abs(value) >= 1e6:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{_signed(mantissa)}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return _signed(f"{value:.{digits}f}")


def significant(value: float, digits: int) -> str:
    """Show a number to some significant digits, by a power of ten where it is far from one.

    Examples
    --------
    >>> significant(0.012345, 3), significant(-1.5e-7, 3), significant(123456.0, 4)
    ('0.0123', '−1.50×10⁻⁷', '1.235×10⁵')
    """
    mantissa, _, exponent = f"{value:#.{digits}g}".removesuffix(".").partition("e")
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
            "Beneath: the printed value ± its standard deviation (☆ the best), and our "
            f"mean minus it in standard errors of the difference, {far} beyond ±{FAR:g}."
        )
    if table.has_failures:
        yield "Values that ended in an error are counted and left out of the mean."
