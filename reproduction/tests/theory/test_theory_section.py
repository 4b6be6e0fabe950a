"""The theory's part of the report: complete, the same for the same seed, true to its numbers."""

import numpy as np
import pytest

from sparseauc_paper import plan
from sparseauc_paper.page import Note, Section, Table
from sparseauc_paper.presets import QUICK
from sparseauc_paper.report import make_report
from sparseauc_paper.results import Results
from sparseauc_paper.runner import compute
from sparseauc_paper.theory.measurements import (
    EASY,
    PAPER,
    Setting,
    grouped,
    theory_task,
)
from sparseauc_paper.theory.section import SLIPS

pytest.importorskip("pandas")

TINY = Setting(n=300, d=30, k_star=2, mu=0.6, k=4, b=60, n_epochs=5)


REQUEST = plan.Request(QUICK, "corrected", (), seed=0, datasets=())


def theory_section(outcomes):
    report = make_report(
        Results(REQUEST, outcomes), ("theory",), facts={}, missing_data={}
    )
    return report.sections[-1]


def measure(ratio, table=0, seed=0, least_ratio=0.2):
    task = theory_task(
        TINY, ratio=ratio, least_ratio=least_ratio, table=table, seed=seed
    )
    return task.compute()


@pytest.fixture(scope="module")
def section():
    outcomes = dict(map(compute, plan.theory_tasks(REQUEST).values()))
    assert [o.error for o in outcomes.values() if o.error] == []
    return theory_section(outcomes)


@pytest.fixture(scope="module")
def listings(section):
    return {e.name: e.frame for e in section.elements if isinstance(e, Table)}


def elements(section, kind):
    return [element for element in section.elements if isinstance(element, kind)]


@pytest.mark.slow
def test_section_is_complete(section):
    assert isinstance(section, Section)
    names = [element.name for element in elements(section, Table)]
    assert names == [
        "theory-paper-task",
        "theory-easy-task",
        "theory-printed",
        "theory-slips",
    ]
    for element in elements(section, Table):
        assert element.title
        assert element.caption
    assert {note.kind for note in elements(section, Note)} == {
        "plain",
        "caution",
        "finding",
    }


def test_listings_are_consistent(listings):
    printed = listings["theory-printed"]
    paper, easy = listings["theory-paper-task"], listings["theory-easy-task"]
    assert not printed.isna().any(axis=None)
    assert not paper.isna().any(axis=None)
    assert not easy.isna().any(axis=None)
    assert (printed["a bound"] == "no").all()
    assert (printed["rows needed"] > PAPER.n).all()
    assert (printed["κ, n = 10⁸"] >= 1).all()
    assert np.allclose(paper["ρ ≥"], paper["ρ⁺ ≥"] / paper["ρ⁻ ≤"])
    assert (paper["ρ, random"] < paper["ρ ≥"]).all()
    assert (paper["κ ≥"] > 1).all()
    assert (easy["ρ ≥"] <= easy["ρ ≤"]).all()
    assert (easy["κ ≤"] < 1).all()
    assert (easy["rate of a step"] < easy["κ ≤"]).all()
    assert (easy["left of ‖w − w*‖"] < easy["promised tolerance"]).all()
    assert len(listings["theory-slips"]) == len(SLIPS)


def test_imbalance_shortens_the_step_and_does_little_else(listings):
    paper = listings["theory-paper-task"]
    assert paper["ρ⁺ ≥"].is_monotonic_decreasing
    assert paper["rate of a step"].is_monotonic_decreasing
    assert np.ptp(paper["rate, same step"]) < 0.25 * np.ptp(paper["rate of a step"])


def test_notes_state_the_numbers_listed(section, listings):
    text = " ".join(note.text for note in elements(section, Note))
    paper, easy = listings["theory-paper-task"], listings["theory-easy-task"]
    assert grouped(int(listings["theory-printed"]["rows needed"].iloc[0])) in text
    assert f"{paper['κ ≥'].min():.2f} to {paper['κ ≥'].max():.2f}" in text
    assert f"at most {easy['κ ≤'].max():.2f} for certain" in text
    assert "Theorem 1's condition is not met there" in text
    assert "holds in every step" in text
    assert "nan" not in text
    assert "inf" not in text


def test_without_measurements_what_is_printed_stands_alone():
    section = theory_section({})
    assert [e.name for e in elements(section, Table)] == [
        "theory-printed",
        "theory-slips",
    ]


def test_same_seed_same_numbers():
    for r in (0.2, 0.5):
        first, again = measure(r, seed=3), measure(r, seed=3)
        assert first == again
        assert first["remaining"] != measure(r, seed=4)["remaining"]
        assert first["kappa"] != measure(r, table=1, seed=3)["kappa"]


def test_the_least_ratio_changes_the_other_step_alone():
    one, other = measure(0.5), measure(0.5, least_ratio=0.5)
    changed = {name for name in one if one[name] != other[name]}
    assert changed == {"same_rate"}


def test_silence_is_an_infinite_bound():
    measured = measure(0.5)
    assert measured["kappa"][1] >= 1
    assert measured["promised"] == np.inf
    assert measured["slack"] == np.inf


def test_settings_describe_themselves():
    assert str(PAPER) == "1000 rows × 1000 columns, k = 20, blocks of 50"
    assert str(EASY) == "50 000 rows × 40 columns, k = 10, one block"
