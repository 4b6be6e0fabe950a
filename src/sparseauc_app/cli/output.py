"""Output of the commands: files, tables on the terminal, and a progress bar."""

import hashlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import fill
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sparseauc.utils.files import refuse_special, write_whole
from sparseauc.utils.text import either

from ..formatting import effects_in_words, point_row, short_list_row
from ..scorecard import ScoreCard
from ..text import printable
from .errors import OutputError


def check_outputs(
    *targets: Path | None, force: bool, inputs: Collection[Path | None] = ()
) -> None:
    """Refuse outputs that could not be written, that exist without ``force``, or are inputs."""
    taken = [os.path.realpath(source) for source in inputs if source is not None]
    seen: list[str] = []
    for target in targets:
        if target is None:
            continue
        place = os.path.realpath(target)
        if place in seen:
            raise OutputError(f"two outputs have the same name, {target}")
        if place in taken:
            raise OutputError(
                f"{target} is an input: choose another name for the output"
            )
        try:
            _check_target(target, force)
        except OSError as error:
            raise OutputError(
                f"cannot write {target}: {error.strerror or error}"
            ) from error
        seen.append(place)


def _check_target(target: Path, force: bool) -> None:
    folder = target.parent
    if target.is_dir():
        raise OutputError(f"{target} is a folder: give the name of a file")
    if target.is_symlink() and target.exists():
        raise OutputError(
            f"{target} is a link: give the file it leads to, {target.resolve()}"
        )
    if not folder.is_dir():
        raise OutputError(f"there is no folder {folder}")
    with suppress(FileNotFoundError):
        target.stat()  # fails on a link that leads in a circle
        if not force:
            raise OutputError(f"{target} exists: --force replaces it")
    refuse_special(target)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to folder {folder}: no permission")


def check_suffix(target: Path | None, option: str, allowed: Collection[str]) -> None:
    """Refuse a file name whose suffix is not a format that we write."""
    if target is not None and target.suffix.lower() not in allowed:
        raise typer.BadParameter(
            f"{option} writes {either([*allowed])}, not {target.suffix or 'a file without suffix'}"
        )


def check_writable(folder: Path) -> None:
    """Make a folder and check that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write to folder {folder}: {error.strerror or error}"
        ) from error


def write_outputs(contents: Mapping[Path, bytes]) -> list[str]:
    """Write files that appear together or not at all, and return their names."""
    try:
        return [str(path) for path in write_whole(contents)]
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"cannot write {error.filename}: {reason}") from error


def made_by(table: Path) -> dict[str, str]:
    """Facts for a report: the command, and the hash of the file."""
    facts = {"command": shlex.join(["sparseauc", *sys.argv[1:]])}
    if table.is_file():  # not what was piped in
        with table.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"sha256 of the data": digest, **facts}
    return facts


def finish(
    contents: Mapping[Path, bytes],
    result: Mapping[str, Any] | None,
    notes: Iterable[str],
    warnings: Iterable[str],
    show: Callable[[], None],
) -> None:
    """Write files, and print the result as JSON, or else notes, warnings and what ``show`` does."""
    written = write_outputs(contents)
    if result is not None:
        typer.echo(json.dumps({**result, "written": written}, ensure_ascii=False))
        return
    print_notes(notes, warnings)
    show()
    for name in written:
        typer.echo(f"Written: {name}")


def print_card(card: ScoreCard) -> None:
    """Print the outcome, the AUC, the chosen columns and the thresholds."""
    from ..formatting import risk_row, write_lines

    about = card.summary
    *lines, title = write_lines("terminal_card", card=card)
    for line in lines:
        typer.echo(printable(line))
    print_rows([short_list_row(line, card.measure) for line in card.chosen], title)
    for text in effects_in_words(card.chosen):
        typer.echo(
            fill(printable(text), 80, initial_indent=" ", subsequent_indent="   ")
        )
    if points := about.get("points"):
        print_rows(points["columns"], f"Points for {card.event}")
        until = f" until {points['horizon']:g}" if "horizon" in points else ""
        events = "Events" if until else "Positives"
        print_rows(
            [risk_row(one, events) for one in points["risk"]],
            f"Risk{until} by total, of rows left out",
        )
        typer.echo(
            f"Above {points['threshold']:g}, the risk is higher than that of all rows, "
            f"{points['prevalence']:.0%}.\n{card.measure} of rows left out "
            f"{points['auc']:.3f}, of the model {points['model_auc']:.3f}.\n"
        )
    if about.get("operating_points"):
        print_points(
            about["operating_points"], "Thresholds, by nested cross-validation"
        )


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
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, padding=(0, padding)
    )
    for key in rows[0] if rows else ():
        text = key in ("column", "class", "method", "threshold")
        table.add_column(
            key,
            justify="left" if text else "right",
            no_wrap=key != "column",
            overflow="fold",
            vertical="bottom",
        )
    for row in rows:
        cells = (
            f"{cell:.3g}" if isinstance(cell, float) else str(cell)
            for cell in row.values()
        )
        table.add_row(*(escape(printable(cell)) for cell in cells))
    if title is not None:
        typer.secho(printable(title), bold=True)
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def print_notes(notes: Iterable[str], warnings: Iterable[str]) -> None:
    """Print notes and warnings on the error stream."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for note in notes:
        console.print(f"Note: {escape(printable(note))}", style="dim")
    for warning in warnings:
        console.print(f"[yellow]Warning:[/yellow] {escape(printable(warning))}")


Report = Callable[[str, float, int], None]


@contextmanager
def progress(stage: str) -> Iterator[Report]:
    """Show the current stage and a progress bar, on terminals only; removed at the end.

    Yields a function to call with the stage, its steps done and their number. Every
    stage begins with a step of 0, and has a time left of its own.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("· left"),
        TimeRemainingColumn(),
        console=console,
        speed_estimate_period=600,  # a step may take minutes
        transient=True,
    )
    with bar:
        task = bar.add_task(stage, total=None)

        def report(new_stage: str, done: float, total: int) -> None:
            nonlocal stage
            stage = new_stage
            if done == 0:  # steps of another kind, which take another time
                bar.reset(task, total=total)
            bar.update(task, description=stage, completed=done, total=total)

        def report_compilation(text: str) -> None:
            bar.update(task, description=text.capitalize() or stage, refresh=True)

        from sparseauc.utils.jit import compilation_shown_by

        with compilation_shown_by(report_compilation):
            yield report
