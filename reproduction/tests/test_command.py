"""``reproduce`` is a command of the library's command line, found by its entry point."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import sparseauc
import sparseauc_app
from sparseauc_app.methods import all_methods
from sparseauc_paper.methods import METHODS


def test_the_entry_point():
    (point,) = (
        p for p in entry_points(group="sparseauc.commands") if p.name == "reproduce"
    )
    assert point.value == "sparseauc_paper.command:reproduce_command"
    assert point.load().__module__ == "sparseauc_paper.command"


@pytest.mark.parametrize("package", [sparseauc, sparseauc_app])
def test_the_product_does_not_know_the_paper(package):
    for path in Path(package.__file__).parent.rglob("*.py"):
        assert "sparseauc_paper" not in path.read_text(encoding="utf-8"), path


def test_help_imports_nothing_heavy():
    script = "import sparseauc_paper.command, sys; print('numpy' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "False"


def test_compare_knows_the_methods_by_the_same_names():
    only_here = {"spam-l2", "spam-l1l2", "shrunken-centroid"}
    assert set(METHODS) - set(all_methods()) == only_here
