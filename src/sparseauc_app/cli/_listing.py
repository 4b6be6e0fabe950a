"""Print results: the same after fitting and from a model file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sparseauc.utils.text import printable

from ..formatting import auc_text, count, point_row, short_list_row
from ..scorecard import ScoreCard


def print_json(content: Mapping[str, Any], written: Sequence[str] = ()) -> None:
    """Print a result, and the files that were written, as JSON."""
    typer.echo(json.dumps({**content, "written": written}, ensure_ascii=False))


def print_written(written: Sequence[str]) -> None:
    """Print the names of files that were written."""
    for name in written:
        typer.echo(f"Written: {name}")


def print_card(card: ScoreCard) -> None:
    """Print the outcome, the AUC, the chosen columns and the thresholds."""
    about = card.summary
    for line in _headlines(card):
        typer.echo(printable(line))
    rows = [short_list_row(line, card.measure) for line in card.chosen]
    print_rows(rows, _title_of_list(card))
    if about.get("points"):
        from sparseauc.selection.points import write_points

        typer.echo(printable(write_points({**about["points"], "positive": card.event})) + "\n")
    if about.get("operating_points"):
        print_points(about["operating_points"], "Thresholds, by nested cross-validation")


def print_points(points: Iterable[Mapping[str, Any]], title: str) -> None:
    """Print thresholds, within 80 characters."""
    rows = [point_row(point) for point in points]
    for row in rows:
        name = str(row["threshold"])
        row["threshold"] = name.replace("itivity", ".").replace("ificity", ".")
    print_rows(rows, f"{title} (95 % CI)", padding=0)


def print_rows(
    rows: Sequence[Mapping[str, Any]], title: str | None = None, *, padding: int = 1
) -> None:
    """Print a table within the terminal's width: a line for each row, a column for each key."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, padding=(0, padding))
    for key in rows[0] if rows else ():
        text = key in ("column", "method", "threshold")
        table.add_column(
            key,
            justify="left" if text else "right",
            no_wrap=key != "column",
            overflow="fold",
            vertical="bottom",
        )
    for row in rows:
        cells = (f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row.values())
        table.add_row(*(escape(printable(cell)) for cell in cells))
    if title is not None:
        typer.secho(printable(title), bold=True)
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def _headlines(card: ScoreCard) -> Iterable[str]:
    """Lines above the table; few for a card without a summary."""
    about = card.summary
    if (times := card.times) is None:
        yield f"{card.target}: {card.positive!r} against {card.negative!r}"
    else:
        yield f"Time to {card.event}, in {times.time!r}"
    if times is not None and card.calibration is not None:
        how = card.calibration
        power = ("" if how.slope == 1 else f"{how.slope:.4g} x ") + card.score_name
        yield f"Risk until {times.horizon:g}: 1 - {how.baseline:.4f}^exp({power})"
    if "rows" not in about:
        return
    yield (
        f"{about['source']}: {about['rows']} rows, {about['positives']} "
        f"{'positive' if times is None else 'with the event'}; "
        f"{about['columns_tried']} columns to choose from"
    )
    area = card.measure if times is None else f"C until {times.horizon:g}"
    area += "" if card.within is None else f" within {card.within!r}"
    if about["auc"] is not None:
        area += f" {auc_text(about['auc'], long=True)} by nested cross-validation;"
    yield f"{area} {about['training_auc']:.3f} on the training rows (optimistic)"
    for update in about.get("updates") or ():
        yield str(update["text"])


def _title_of_list(card: ScoreCard) -> str:
    about = card.summary
    title = count(about.get("k", len(card.terms)), "column")
    if about.get("k", len(card.terms)) < len(card.terms):
        title += f" ({len(card.terms)} with the levels of text)"
    if about.get("alpha") is not None:
        title += f", ridge {about['alpha']:g}"
    if about.get("coefficients") == "logistic":
        ridge = about.get("logistic_ridge")
        title += ", logistic coefficients" + ("" if ridge is None else f" (ridge {ridge:g})")
    if card.times is not None and not card.total:
        title += ", in log hazard ratios"
    elif card.calibration is not None and not card.total and card.threshold != 0:
        title += ", in log odds"
    if any(term.high is not None for term in card.terms):
        title += ", values clipped"
    if any(term.log is not None for term in card.terms):
        title += ", skewed columns logged"
    if about.get("cost") is not None:
        title += f", cost {about['cost']:g}"
        title += "" if about.get("budget") is None else f" of {about['budget']:g}"
    return title


def print_notes(notes: Iterable[str], warnings: Iterable[str]) -> None:
    """Print notes and warnings on the error stream."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for note in notes:
        console.print(f"Note: {escape(printable(note))}", style="dim")
    for warning in warnings:
        console.print(f"[yellow]Warning:[/yellow] {escape(printable(warning))}")
