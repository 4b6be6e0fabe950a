from dataclasses import asdict

import pytest

from sparseauc_paper import plan, presets
from sparseauc_paper.audit import DISCREPANCIES
from sparseauc_paper.methods import METHODS
from sparseauc_paper.protocols import (
    CORRECTED,
    PUBLISHED,
    SWITCHES,
    one_switch_on,
)


def test_corrected_has_every_switch_off_and_published_the_programs():
    assert not any(asdict(CORRECTED).values())
    assert [name for name, on in asdict(PUBLISHED).items() if not on] == [
        "automatic_step",
        "paper_step",
        "paper_spam_steps",
        "paper_gene_ranges",
        "no_scaling",
        "log_odds_intercept",
    ]


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda s: s.name)
def test_each_switch_can_be_turned_alone(switch):
    on = {name for name, value in asdict(one_switch_on(switch.name)).items() if value}
    companions = {"permute_twice": {"hold_out_fifty"}}.get(switch.name, set())
    assert on == {switch.name} | companions
    assert switch.description
    assert set(switch.discrepancies) <= {d.number for d in DISCREPANCIES}
    assert set(switch.methods) <= set(METHODS)


def test_a_fit_depends_only_on_switches_that_touch_it():
    names = set(PUBLISHED.switches_of("synthetic", "sht-auc"))
    assert {"one_fewer", "ridge_while_tuning", "scale_with_test_rows"} <= names
    assert not names & {
        "last_iterate",
        "permute_twice",
        "best_k_on_test",
        "truncate_before_auc",
    }
    assert "last_iterate" in PUBLISHED.switches_of("real", "spam-l1")


def test_the_discrepancies_are_all_there():
    assert [d.number for d in DISCREPANCIES] == list(range(1, 35))
    switched = {number for switch in SWITCHES for number in switch.discrepancies}
    for discrepancy in DISCREPANCIES:
        assert discrepancy.number in switched or discrepancy.here, discrepancy


@pytest.mark.usefixtures("data_folder")
def test_our_own_method_runs_as_users_run_it_or_not_at_all():
    for preset in (presets.QUICK, presets.PAPER):
        assert preset.grids["sparse-auc"] == {}, "nothing is tuned but by itself"
        request = plan.Request(preset, "corrected", tuple(METHODS), seed=0)
        assert "sparse-auc" not in request.table_methods
        assert any(
            method == "sparse-auc"
            for method, *_ in plan.real_tasks(request, "corrected")
        )
    assert METHODS["sparse-auc"].raw, "it is given the table as it is"
