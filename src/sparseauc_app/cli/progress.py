"""A progress bar on the error stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str, int, int], None]


@contextmanager
def progress(quiet: bool, stage: str) -> Iterator[Report]:
    """Show the current stage and a progress bar, on terminals only; removed at the end.

    Yields a function to call with the stage, its steps done and their number. Every stage begins
    with a step of 0, and has a time left of its own.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
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
        transient=True,
    )
    with bar:
        task = bar.add_task(stage, total=None)

        def report(stage: str, done: int, total: int) -> None:
            if done == 0:  # steps of another kind, which take another time
                bar.reset(task, total=total)
            bar.update(task, description=stage, completed=done)

        yield report
