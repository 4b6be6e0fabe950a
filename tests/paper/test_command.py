"""``reproduce`` is a command of the library's command line, found by its entry point."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import sparseauc


def test_the_entry_point():
    (point,) = (p for p in entry_points(group="sparseauc.commands") if p.name == "reproduce")
    assert point.value == "sparseauc_paper.command:reproduce_command"
    assert point.load().__module__ == "sparseauc_paper.command"


def test_the_library_does_not_know_the_paper():
    for path in Path(sparseauc.__file__).parent.rglob("*.py"):
        assert "sparseauc_paper" not in path.read_text(encoding="utf-8"), path


def test_help_imports_nothing_heavy():
    script = "import sparseauc_paper.command, sys; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
