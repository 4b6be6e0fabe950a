"""A short list as a person reads it, from a score card: the same after fitting and from a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from ..tabular.scorecard import ScoreCard


def print_card(card: ScoreCard) -> None:
    """Print what was fitted, how well it ranks, and the columns."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, soft_wrap=True)
    for line in headlines(card):
        console.print(escape(printable(line)))
    # Tables fold within the width; running text is left to the terminal.
    Console(highlight=False).print(short_list(card))


def headlines(card: ScoreCard) -> Iterable[str]:
    """Lines above the table; a card that was made without a summary has few."""
    about = card.summary
    yield f"{card.target}: {card.positive!r} against {card.negative!r}"
    if "rows" in about:
        yield (
            f"{about['source']}: {about['rows']} rows, {about['positives']} positive; "
            f"{about['columns_tried']} columns to choose from"
        )
        yield from _how_well(about)


def _how_well(about: Any) -> Iterable[str]:
    honest = about["auc"]
    if honest is not None:
        yield (
            f"AUC {honest['auc']:.3f} ({100 * honest['confidence']:g} % interval "
            f"{honest['low']:.3f} to {honest['high']:.3f}) on rows not used for fitting; "
            f"{about['training_auc']:.3f} on those used"
        )
    else:
        yield f"AUC {about['training_auc']:.3f} on the rows used for fitting, which flatters"
    if about["permutation"] is not None:
        shuffles = about["permutation"]
        yield f"p = {shuffles['pvalue']:.3g} from {shuffles['permutations']} shuffles"


def short_list(card: ScoreCard) -> Table:
    """One line for each chosen column, the weightiest first."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    chosen = card.summary.get("chosen") or [
        {"rank": rank, "column": term.name, "coefficient": term.coefficient}
        for rank, term in enumerate(
            sorted(card.terms, key=lambda term: -abs(term.coefficient)), start=1
        )
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("", justify="right")
    table.add_column("column", overflow="fold")
    headings = {
        "coefficient": ("coefficient", "{:.4g}"),
        "standardised": ("per\ndeviation", "{:+.3g}"),
        "auc": ("AUC\nalone", "{:.3f}"),
        "frequency": ("in halves", "{:.0%}"),
    }
    shown = [key for key in headings if key in chosen[0]] if chosen else []
    for key in shown:
        table.add_column(headings[key][0], justify="right", no_wrap=True, vertical="bottom")
    for line in chosen:
        cells = [headings[key][1].format(line[key]) for key in shown]
        table.add_row(str(line["rank"]), escape(printable(str(line["column"]))), *cells)
    ridge = card.summary.get("alpha")
    count = f"{len(card.terms)} column{'' if len(card.terms) == 1 else 's'}"
    table.title = count + ("" if ridge is None else f", ridge {ridge:g}")
    table.title_justify, table.title_style = "left", "bold"
    return table


def print_notes(notes: Iterable[str], warnings: Iterable[str]) -> None:
    """Print what was noticed, on the error stream."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for note in notes:
        console.print(f"Note: {escape(printable(note))}", style="dim")
    for warning in warnings:
        console.print(f"[yellow]Warning:[/yellow] {escape(printable(warning))}")
