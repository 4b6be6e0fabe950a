"""Print a score card: the same after fitting and from a model file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from .._text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from ..tabular.scorecard import ScoreCard


def print_card(card: ScoreCard) -> None:
    """Print the outcome, the AUC, the chosen columns and the thresholds."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, soft_wrap=True)
    for line in headlines(card):
        console.print(escape(printable(line)))
    print_table(short_list(card))
    if card.summary.get("points"):
        from ..selection.points import write_points

        typer.echo(printable(write_points(card.summary["points"])) + "\n")
    if card.summary.get("operating_points"):
        print_table(operating_table(card.summary["operating_points"]))


def print_table(table: Table) -> None:
    """Print a table within the terminal's width, without trailing blanks."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def headlines(card: ScoreCard) -> Iterable[str]:
    """Lines above the table; few for a card without a summary."""
    about = card.summary
    yield f"{card.target}: {card.positive!r} against {card.negative!r}"
    if "rows" in about:
        yield (
            f"{about['source']}: {about['rows']} rows, {about['positives']} positive; "
            f"{about['columns_tried']} columns to choose from"
        )
        within = "" if card.strata_column is None else f" within {card.strata_column!r}"
        yield from _auc_lines(about, within)


def _auc_lines(about: Any, within: str) -> Iterable[str]:
    from ..tabular.formatting import auc_text

    nested = about["auc"]
    training = f"{about['training_auc']:.3f} on the training rows (optimistic)"
    if nested is not None:
        yield (f"AUC{within} {auc_text(nested, long=True)} by nested cross-validation; {training}")
    else:
        yield f"AUC{within} {training}"
    if about["permutation"] is not None:
        test = about["permutation"]
        yield f"Permutation test: p = {test['pvalue']:.3g} ({test['permutations']} permutations)"


def short_list(card: ScoreCard) -> Table:
    """One line for each chosen column, by absolute standardised coefficient."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from ..tabular.formatting import HEADINGS, count

    chosen = card.chosen
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("", justify="right")
    table.add_column("column", overflow="fold")
    shown = [key for key in HEADINGS if key in chosen[0]] if chosen else []
    for key in shown:
        table.add_column(
            HEADINGS[key][0].replace(" ", "\n"), justify="right", no_wrap=True, vertical="bottom"
        )
    for line in chosen:
        cells = [HEADINGS[key][1].format(line[key]) for key in shown]
        table.add_row(str(line["rank"]), escape(printable(str(line["column"]))), *cells)
    ridge = card.summary.get("alpha")
    table.title = count(len(card.terms), "column") + ("" if ridge is None else f", ridge {ridge:g}")
    if card.summary.get("coefficients") == "logistic":
        table.title += ", logistic coefficients"
    if (cost := card.summary.get("cost")) is not None:
        budget = card.summary.get("budget")
        table.title += f", cost {cost:g}" + ("" if budget is None else f" of {budget:g}")
    table.title_justify, table.title_style = "left", "bold"
    return table


def operating_table(
    points: Sequence[Mapping[str, Any]], title: str = "Thresholds, by nested cross-validation"
) -> Table:
    """One line for each threshold, in per cent with 95 % intervals; within 80 characters."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from ..tabular.formatting import rate_text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    table.title = f"{escape(printable(title))}: % (95 % CI)"
    table.title_justify, table.title_style = "left", "bold"
    rates = {
        "sensitivity": "sensi-\ntivity",
        "specificity": "speci-\nficity",
        "ppv": "PPV",
        "npv": "NPV",
    }
    table.add_column("", no_wrap=True)
    for heading in ("score\nabove", *rates.values(), "of 1000\nflagged"):
        table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    for point in points:
        table.add_row(
            str(point["name"]).replace("itivity", ".").replace("ificity", "."),
            f"{point['threshold']:.3g}",
            *(rate_text(point[key]) for key in rates),
            f"{point['flagged_per_1000']:.0f}",
        )
    return table


def print_notes(notes: Iterable[str], warnings: Iterable[str]) -> None:
    """Print notes and warnings on the error stream."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for note in notes:
        console.print(f"Note: {escape(printable(note))}", style="dim")
    for warning in warnings:
        console.print(f"[yellow]Warning:[/yellow] {escape(printable(warning))}")
