"""What the progress bar says."""

import io
import re
import time

from rich.console import Console

from sparseauc.utils.jit import NOTICE
from sparseauc_app.cli.output import progress


def test_a_stage_on_a_terminal(monkeypatch):
    """Stages, elapsed time and time left, as a person sees them."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("sparseauc_app.cli.output.Console", lambda **_: screen)
    with progress("Reading t.csv") as report:
        for done in range(4):
            report("Choosing columns", done, 3)
            time.sleep(0.01)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.file.getvalue())
    assert "Choosing columns" in shown
    assert "· left 0:00:00" in shown


def test_compilation_on_a_terminal(monkeypatch):
    """The bar tells of a kernel that is compiled, then of its stage again."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("sparseauc_app.cli.output.Console", lambda **_: screen)
    alone = NOTICE.show
    with progress("Reading t.csv") as report:
        report("Choosing columns", 0, 4)
        NOTICE.show("compiling kernel 1 of 3")
        assert "Compiling kernel 1 of 3" in screen.file.getvalue()
        NOTICE.show("")
        assert "Choosing columns" in screen.file.getvalue().rpartition("Compiling")[2]
    assert NOTICE.show is alone
