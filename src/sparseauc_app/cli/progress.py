"""A progress bar on the error stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

Report = Callable[[str, float, int], None]


@contextmanager
def progress(stage: str) -> Iterator[Report]:
    """Show the current stage and a progress bar, on terminals only; removed at the end.

    Yields a function to call with the stage, its steps done and their number. Every stage begins
    with a step of 0, and has a time left of its own.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            known = task.elapsed or 0.0, task.fields["stepped"], task.completed, task.total
            return Text(time_left(*known))

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeLeft(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(stage, total=None, stepped=0.0)

        def report(stage: str, done: float, total: int) -> None:
            if done == 0:  # steps of another kind, which take another time
                bar.reset(task, total=total)
            elapsed = bar.tasks[0].elapsed
            bar.update(task, description=stage, completed=done, total=total, stepped=elapsed)

        yield report


def time_left(elapsed: float, stepped: float, done: float, total: float | None) -> str:
    """Say how long a stage will take from now on, if a step of it is done.

    ``stepped`` are the seconds until its last step. The time left becomes less while a step takes
    as long as those before it, and then stands still.
    """
    if not done or total is None:
        return ""
    each = stepped / done
    seconds = max(each * total - elapsed, each * (total - done - 1), 0.0)
    return f"· left {timedelta(seconds=round(seconds))}"
