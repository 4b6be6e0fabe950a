"""The reproduction's pages, for ``make docs``: those of this folder, and tables of the audit."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from sparseauc_paper.audit import DISCREPANCIES, Discrepancy, impossible_jaccards
from sparseauc_paper.methods import METHODS
from sparseauc_paper.protocols import SWITCHES
from sparseauc_paper.theory.section import SLIPS

HERE = Path(__file__).parent


def write_pages(folder: Path) -> None:
    """Copy the pages and their pictures into a folder, and write the parts that they include."""
    pattern = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(HERE, folder, ignore=pattern, dirs_exist_ok=True)
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    (parts / "audit.md").write_text(audit_part(), encoding="utf-8")
    (parts / "slips.md").write_text(slips_part(), encoding="utf-8")


def audit_part() -> str:
    """Return where the paper and its programs disagree, and what cannot be in its Table II."""
    places = table(
        ("no.", "the paper", "the programs", "here"),
        (
            (one.number, one.paper, one.programs, _dealt_with(one))
            for one in DISCREPANCIES
        ),
    )
    meanings = table(
        ("switch", "when it is on", "data"),
        (
            (f"`{one.name}`", one.description, " and ".join(one.where))
            for one in SWITCHES
        ),
    )
    impossible = table(
        ("method", "k*", "printed Jaccard index", "at least"),
        (
            (METHODS[method].name, k, f"{index:.3f}", f"{least:.3f}")
            for method, k, index, least in impossible_jaccards()
        ),
    )
    return (
        f"{places}\n## What each switch does\n\n{meanings}\n"
        "## Printed Jaccard indices that the printed F1 rules out\n\n"
        "For one solution the Jaccard index is F1/(2 − F1), a convex function: the mean index is "
        "at least that of the mean F1. These printed means are below it, rounding allowed for.\n\n"
        f"{impossible}"
    )


def _dealt_with(one: Discrepancy) -> str:
    names = [
        f"`{switch.name}`" for switch in SWITCHES if one.number in switch.discrepancies
    ]
    switches = f"switch {', '.join(names)}" if names else ""
    return "; ".join(part for part in (switches, one.here) if part)


def slips_part() -> str:
    """Return where the paper's theory does not follow."""
    return table(("where", "printed", "what follows", "does it matter"), SLIPS)


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown."""
    lines = [list(headings), ["---"] * len(list(headings)), *rows]
    return "".join(
        "| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines
    )


def _cell(value: object) -> str:
    return str(value).replace("|", r"\|").replace("\n", " ")
