"""Measured means beside printed ones: a table that the report sets in blocks of cells."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from .page import NOTHING, escaped, fixed, markdown_line

# A difference of more standard errors than this is pointed out.
FAR = 2.0


@dataclass(frozen=True)
class Comparison:
    """Measured means beside printed ones: a row for each method, a column for each setting.

    Attributes
    ----------
    cells : DataFrame
        One line for each cell: ``method`` (str), ``in_paper`` (bool), ``group`` (str: "AUC", "F1",
        …; tables with several groups show one block for each), ``column`` (str), ``mean``, ``se``
        (standard error of the mean), ``std``, ``n`` (values behind it), ``failed`` (values that
        ended in an error), ``printed``, ``printed_std`` (NaN where nothing was printed),
        ``difference`` (mean − printed, in standard errors of the difference). Methods, groups and
        columns appear in the order of their first line.
    higher_is_better : bool
    digits : int
        Digits after the point of means and standard errors.
    """

    name: str
    title: str
    caption: str
    cells: pd.DataFrame
    higher_is_better: bool = True
    digits: int = 3

    @property
    def frame(self) -> pd.DataFrame:
        """All its cells, a line for each."""
        return self.cells

    def to_markdown(self) -> list[str]:
        """Write a table for each block, and how to read them."""
        shown = lay_out(self)
        lines = []
        for group, rows in shown.blocks:
            lines += [
                markdown_line([group, *shown.columns]),
                markdown_line([":---"] + ["---:"] * len(shown.columns), raw=True),
            ]
            for row in rows:
                method = escaped(row.method)
                if shown.beside_paper and not row.in_paper:
                    method += " *(not in the paper)*"
                compared = shown.has_printed and row.in_paper
                cells = [_cell_in_markdown(cell, compared) for cell in row.cells]
                lines.append(markdown_line([method, *cells], raw=True))
            lines.append("")
        return [*lines, " ".join(_key(shown))]


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


def lay_out(comparison: Comparison) -> Grid:
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


def _key(table: Grid) -> Iterable[str]:
    """Say how to read a comparison, in sentences that fit what it holds."""
    yield (
        "Mean ± standard error; ★ marks the best mean of each column, of those with the most "
        "values."
    )
    if table.has_printed:
        yield (
            "Beneath: the printed value, in brackets its standard deviation over values (sd, not a "
            "standard error), ☆ where it is the best; and our mean minus it in standard errors "
            f"(SE) of the difference, in italics beyond ±{FAR:g}."
        )
    if table.has_failures:
        yield "Values that ended in an error are counted and left out of the mean."


def _cell_in_markdown(cell: Cell | None, compared: bool) -> str:
    if cell is None:
        return NOTHING
    mean = cell.mean or NOTHING
    if cell.mean and cell.se:
        mean += f" ± {cell.se}"
    parts = [f"**★ {mean}**" if cell.best else mean]
    if compared:
        printed = f"printed {cell.printed}" if cell.printed else "not printed"
        parts.append(printed + " ☆" * cell.best_printed)
    if cell.difference:
        parts.append(f"*{cell.difference}*" if cell.far else cell.difference)
    if cell.failed:
        parts.append(cell.failed)
    return "<br>".join(parts)
