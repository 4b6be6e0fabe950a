"""What the progress bar says."""

import io

import pytest
from rich.console import Console

from sparseauc.utils.jit import NOTICE
from sparseauc_app.cli.output import progress, time_left


@pytest.mark.parametrize(
    ("elapsed", "stepped", "done", "total", "left"),
    [
        (5.0, 0.0, 0, 10, ""),  # nothing is known before the first step
        (5.0, 0.0, 0, None, ""),
        (60.0, 60.0, 1, 5, "· left 0:04:00"),  # also of steps that take minutes
        (90.0, 60.0, 1, 5, "· left 0:03:30"),
        (300.0, 60.0, 1, 5, "· left 0:03:00"),  # the second step takes longer than the first
        (31.0, 30.0, 1.5, 5, "· left 0:01:09"),  # half of the second step is done
        (90.0, 90.0, 5, 5, "· left 0:00:00"),
        (3600.0, 3600.0, 1, 3, "· left 2:00:00"),
    ],
)
def test_time_left(elapsed, stepped, done, total, left):
    assert time_left(elapsed, stepped, done, total) == left


def test_a_stage_on_a_terminal(monkeypatch):
    """Stages, elapsed time and time left, as a person sees them."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("rich.console.Console", lambda **_: screen)
    with progress("Reading t.csv") as report:
        report("Choosing columns", 0, 4)
        report("Choosing columns", 1, 4)
    shown = screen.file.getvalue()
    assert "Choosing columns" in shown
    assert "· left 0:00:00" in shown


def test_compilation_on_a_terminal(monkeypatch):
    """The bar tells of a kernel that is compiled, then of its stage again."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("rich.console.Console", lambda **_: screen)
    alone = NOTICE.show
    with progress("Reading t.csv") as report:
        report("Choosing columns", 0, 4)
        NOTICE.show("compiling kernel 1 of 3")
        assert "Compiling kernel 1 of 3" in screen.file.getvalue()
        NOTICE.show("")
        assert "Choosing columns" in screen.file.getvalue().rpartition("Compiling")[2]
    assert NOTICE.show is alone
