"""Numbers of the page, computed anew without any store: one of every method."""

import re
from pathlib import Path

import pytest

from sparseauc_paper import plan
from sparseauc_paper.methods import METHODS
from sparseauc_paper.presets import PAPER
from sparseauc_paper.tasks import Task

PAGE = Path(__file__).parents[1] / "docs" / "paper_results.md"
NOTE = PAGE.with_name("note.md")
REQUEST = plan.Request(PAPER, "corrected", tuple(METHODS), seed=0, datasets=())
TASKS = {
    METHODS[method].name: task
    for (method, column, draw, fold), task in plan.table_tasks(
        REQUEST, "corrected"
    ).items()
    if (column, draw, fold) == ("20", 0, 0)
}
# Dearer tasks are computed with the grid point that the page names, cheaper ones tune
# again.
MOST_SECONDS = 2.0


def values_on(page):
    """Chosen grid point and test AUC of every method, as the page has them."""
    table = page.partition("(single-values)=")[2].partition("\n(")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([\d.]+) \|$", table, re.M)
    return {method: (chosen, float(auc)) for method, chosen, auc in rows}


def narrowed(task, chosen):
    """The same task with one grid point, and nothing to tune."""
    point = dict(part.split(" = ") for part in chosen.split(", "))
    grid = {
        name: [min(axis, key=lambda value: abs(value - float(point[name])))]
        for name, axis in task.settings["grid"].items()
    }
    return Task("synthetic", {**task.settings, "grid": grid, "limits": []})


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_every_method_is_there(page):
    assert set(values_on(page)) == set(TASKS)


@pytest.mark.parametrize("method", TASKS)
def test_the_pages_number_is_computed_anew(page, method):
    chosen, auc = values_on(page)[method]
    task = TASKS[method]
    if plan.estimate_seconds(task) > MOST_SECONDS:
        task = narrowed(task, chosen)
    anew = task.compute()["auc"]
    assert anew == pytest.approx(auc, abs=1e-5)
    # A number edited by one in the fourth digit would be noticed.
    edited = page.replace(
        f"| {chosen} | {auc:.6f} |", f"| {chosen} | {auc + 1e-4:.6f} |"
    )
    assert values_on(edited)[method][1] != pytest.approx(anew, abs=1e-5)


def test_the_page_names_its_commit_and_the_programs(page):
    assert "2f338cd" in page
    assert re.search(r"computed at commit [0-9a-f]{7}", page)


def decimals(text):
    return set(re.findall(r"[+−]?\d+\.\d+", text))


def test_the_note_has_the_pages_numbers(page):
    note = NOTE.read_text(encoding="utf-8")
    assert len(decimals(note)) > 50
    assert decimals(note) <= decimals(page) | decimals("arXiv 2011.02396")
    assert not decimals(note.replace("0.614", "0.613", 1)) <= decimals(page)
    counts = re.findall(r"(?:Published|Corrected) protocol: \d+ hold, [^.]*\.", note)
    assert len(counts) == 2
    assert all(count in page for count in counts)
