"""Stored results as report elements, and what the report says about them."""

from dataclasses import replace
from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_ind
from scipy.stats import t as student

from sparseauc_paper import plan, printed
from sparseauc_paper.audit import (
    Effect,
    about_scaling,
    clear_effects,
    effects,
)
from sparseauc_paper.estimates import (
    Mean,
    difference_in_errors,
    difference_of,
    draws_of,
    mean_of,
    resampled_mean,
    unpaired_difference,
)
from sparseauc_paper.figures import figure1, figure2, figure3, figure4, scatter
from sparseauc_paper.methods import METHODS, PAPER_METHODS
from sparseauc_paper.page import Figure, Note, Table
from sparseauc_paper.plan import EXPERIMENTS, Request, find_experiments, tasks_of
from sparseauc_paper.presets import PRESETS
from sparseauc_paper.protocols import CORRECTED, PROTOCOLS, PUBLISHED, SWITCHES
from sparseauc_paper.report import make_report
from sparseauc_paper.results import Results, found_by, read_genes
from sparseauc_paper.store import Outcome
from sparseauc_paper.tables import (
    ONE_SIDED,
    agreement_words,
    compared_cells,
    table1,
    table2,
    table3,
)
from tiny import TINY

REQUEST = Request(TINY, "corrected", tuple(METHODS), seed=0)


def synthetic(auc, f1=0.5, truncated=None):
    return Outcome(
        {
            "auc": auc,
            "auc_cut": auc if truncated is None else truncated,
            "f1": f1,
            "f1_tuned": f1,
            "f1_told": f1,
            "jaccard": f1 / (2 - f1),
            "jaccard_tuned": f1 / (2 - f1),
            "jaccard_told": f1 / (2 - f1),
            "auc_tuned": auc,
            "columns": 3,
            "chosen": {},
            "seconds": 0.1,
            "validation_auc": None,
            "bayes_auc": 0.9,
        },
        None,
        1.0,
    )


def genes(aucs, best, markers=2):
    by_k = {
        k: {
            "auc": auc,
            "columns": 4,
            "markers": {"corrected": markers, "published": markers - 1},
            "validation_auc": 0.5,
            "point": {},
        }
        for k, auc in aucs.items()
    }
    return Outcome({"by_k": by_k, "best": best}, None, 1.0)


def invented(request, seed=0):
    """Outcomes of all tasks, without computing any."""
    rng = np.random.default_rng(seed)
    outcomes = {}
    for task in tasks_of(request, EXPERIMENTS):
        if task.kind == "synthetic":
            outcomes[task] = synthetic(rng.uniform(0.4, 1), rng.uniform())
        elif task.kind == "real":
            ks = [f"{k:g}" for k in task.settings["grid"].get("k", [])] or [""]
            outcomes[task] = genes({k: rng.uniform(0.5, 1) for k in ks}, ks[-1])
        elif task.kind == "convergence":
            outcomes[task] = Outcome(
                {
                    "epochs": [0, 1, 10],
                    "auc": [0.5, rng.uniform(0.6, 0.7), 0.9],
                    "objective": [1, 0.5, 0.2],
                    "step": 0.1,
                    "rows": 160,
                },
                None,
                1.0,
            )
    return outcomes


def sample(values):
    """Values by trial, as lists, by trial and part."""
    return {(t, i): value for t, some in values.items() for i, value in enumerate(some)}


def test_mean_of_trials():
    values = sample({0: [1.0, 3.0], 1: [2.0, nan], 2: [8.0]})
    summary = mean_of(values)
    good = np.array([1.0, 3.0, 2.0, 8.0])
    assert summary.mean == good.mean()
    assert summary.std == good.std()
    assert (summary.n, summary.failed) == (4, 1)
    by_value = good.std(ddof=1) / 2
    by_trial = np.std([2.0, 2.0, 8.0], ddof=1) / sqrt(3)
    assert summary.se == pytest.approx(max(by_value, by_trial))
    assert isnan(mean_of({(0, 0): 1.0}).se)
    assert mean_of({(0, 0): nan}).failed == 1
    assert mean_of({}).n == 0
    # Values that judge the same rows tell no more than one of them.
    assert mean_of(values, by_trial=True).se == pytest.approx(by_trial)
    assert isnan(mean_of(sample({0: [1.0, 1.0, 1.0]}), by_trial=True).se)


def test_differences_are_taken_pair_by_pair():
    """A part that only one of the two has is left out, wherever it stands."""
    one, other = (
        {(0, 0): 1.0, (0, 1): 5.0, (1, 0): 2.0},
        {(0, 1): 1.0, (1, 0): 1.0, (1, 1): 9.0},
    )
    assert difference_of(one, other) == {(0, 1): 4.0, (1, 0): 1.0}
    values = {
        ("m", "20"): {(0, 0): 1.0, (1, 0): 2.0},
        ("m", "40"): {(0, 0): 3.0},
        ("other", "40"): {(0, 0): 4.0},
    }
    assert draws_of(values, "m") == {(0, 0): 1.0, (2, 0): 2.0, (1, 0): 3.0}
    assert draws_of(values, "m", ["40"]) == {(0, 0): 3.0}


def test_resampled_mean_is_that_of_nadeau_and_bengio():
    """Twenty trials of five folds of the same rows: the error does not vanish with their number."""
    rng = np.random.default_rng(0)
    values = {
        (trial, fold): rng.normal(0.1, 0.05) for trial in range(20) for fold in range(5)
    }
    known = resampled_mean(values, 0.25, by_trial=False)
    spread = np.var(list(values.values()), ddof=1)
    assert known.se == pytest.approx(sqrt((1 / 100 + 0.25) * spread))
    assert (known.df, known.n, known.draws) == (99, 100, 20)
    assert known.mean == pytest.approx(np.mean(list(values.values())))
    means = [np.mean([values[trial, fold] for fold in range(5)]) for trial in range(20)]
    by_trial = resampled_mean(values, 12 / 50, by_trial=True)
    assert by_trial.se == pytest.approx(
        sqrt((1 / 20 + 12 / 50) * np.var(means, ddof=1))
    )
    assert by_trial.df == 19


def test_unpaired_difference_is_welchs():
    rng = np.random.default_rng(1)
    one, other = rng.normal(1, 1, 12), rng.normal(0, 3, 20)
    found = unpaired_difference(
        *(mean_of({(i, 0): v for i, v in enumerate(values)}) for values in (one, other))
    )
    expected = ttest_ind(one, other, equal_var=False)
    assert found.mean / found.se == pytest.approx(expected.statistic)
    assert found.df == pytest.approx(expected.df)


def test_difference_in_errors():
    theirs = Mean(0.5, 0.1 / 5, 24, 25, 0.1)
    # With many values Student's t is the normal distribution.
    mine = Mean(0.6, 0.03, 10**6, 10**6)
    expected = (0.6 - 0.5) / sqrt(0.03**2 + 0.1**2 / 25)
    assert difference_in_errors(mine, replace(theirs, df=10**6)) == pytest.approx(
        expected, abs=1e-4
    )
    few = difference_in_errors(Mean(0.6, 0.03, 4, 10), theirs)
    assert 0 < few < expected
    # Values that happen to agree do not make the error small.
    agreeing = difference_in_errors(Mean(0.6, 0.0, 9, 10), theirs)
    assert agreeing < (0.6 - 0.5) / sqrt(0.1**2 / 10 + 0.1**2 / 25)
    for n, df in ((1, 0), (9, 8)):
        assert isnan(difference_in_errors(Mean(0.6, 0.01, df, n), theirs))


def test_half_width():
    mean = mean_of(sample({0: [1.0], 1: [2.0], 2: [4.0]}))
    assert mean.df == 2
    assert mean.half_width(0.05) == pytest.approx(student.isf(0.025, 2) * mean.se)
    assert isnan(mean_of({(0, 0): 1.0}).half_width(0.05))


@pytest.mark.usefixtures("data_folder")
def test_tables_show_every_method_and_count_failures():
    outcomes = invented(REQUEST)
    tasks = plan.table_tasks(REQUEST, "corrected")
    outcomes[tasks["fsauc", "3", 0, 1]] = Outcome(None, "Traceback …", 1.0)
    table = table1(Results(REQUEST, outcomes), "corrected")
    frame = table.frame
    assert table.name == "table1"
    assert list(frame["method"].unique()) == [
        *(m.name for m in METHODS.values() if m.key != "spam-l1l2"),
        ONE_SIDED,
    ]
    assert ONE_SIDED in table.caption
    line = frame[(frame["method"] == "FSAUC") & (frame["column"] == "k* = 3")].iloc[0]
    assert (line["n"], line["failed"]) == (3, 1)
    kept = [outcomes[tasks["fsauc", "3", t, f]].result for t in (0, 1) for f in (0, 1)]
    assert line["mean"] == pytest.approx(np.mean([r["auc"] for r in kept if r]))
    assert not frame["mean"].isna().any()
    both = table2(Results(REQUEST, outcomes), "corrected").frame
    assert list(both["group"].unique()) == ["F1", "Jaccard"]
    given = table2(Results(REQUEST, outcomes), "corrected", given=True)
    assert given.name == "table2-given"
    assert "k* given to every method" in given.title
    # Under the other protocol, which is there to be compared, only the paper's methods.
    other = table1(Results(REQUEST, outcomes), "published")
    assert other.name == "table1-published"
    assert other.frame["in_paper"].all()
    assert other.frame["method"].nunique() == 7


def test_solam_has_a_row_for_either_arm():
    """Which arm a number is from is decided by the task, not by the order of the rows."""
    request = Request(TINY, "corrected", ("solam",), seed=0)
    outcomes = dict.fromkeys(
        plan.table_tasks(request, "corrected").values(), synthetic(0.6, 0.3)
    )
    outcomes |= dict.fromkeys(
        plan.one_sided_tasks(request).values(), synthetic(0.7, 0.5)
    )
    assert len(outcomes) == 2 * 8
    for table, of_arm in ((table1, (0.6, 0.7)), (table2, (0.3, 0.5))):
        cells = table(Results(request, outcomes), "corrected").frame
        cells = cells[cells["group"] != "Jaccard"]
        for method, value in zip(("SOLAM", ONE_SIDED), of_arm, strict=True):
            assert set(cells.loc[cells["method"] == method, "mean"]) == {value}
        assert not cells.loc[cells["method"] == ONE_SIDED, "printed"].notna().any()
    assert table1(Results(request, outcomes), "published").frame.empty, (
        "it has one arm, the paper's"
    )


def test_every_method_tunes_k_over_the_same_values():
    for preset in PRESETS.values():
        for grids in (preset.grids, {**preset.grids, **preset.real_grids}):
            assert len({grid["k"] for grid in grids.values() if "k" in grid}) == 1


def test_truncation_is_read_off_the_same_fits():
    request = Request(TINY, "published", ("solam", "sht-auc"), seed=0)
    tasks = plan.table_tasks(request, "published")
    outcomes = {task: synthetic(0.8, truncated=0.5) for task in tasks.values()}
    assert set(table1(Results(request, outcomes), "published").frame["mean"]) == {0.5}
    request = Request(TINY, "corrected", ("solam",), seed=0)
    outcomes = {
        task: synthetic(0.8, truncated=0.5)
        for task in plan.table_tasks(request, "corrected").values()
    }
    assert set(table1(Results(request, outcomes), "corrected").frame["mean"]) == {0.8}


@pytest.mark.usefixtures("data_folder")
def test_best_k_on_test_is_read_off_the_same_fits():
    request = Request(TINY, "published", ("sht-auc", "mean-difference"), seed=0)
    tasks = plan.real_tasks(request, "published")
    outcomes = {
        task: genes({"1": 0.7 + 0.01 * fold, "3": 0.9}, best="1")
        for (_, _, _, fold), task in tasks.items()
    }
    chosen = read_genes(found_by(tasks, outcomes), PUBLISHED)
    assert chosen.best_k["sht-auc", "colon"] == "3"
    assert mean_of(chosen.tuned["sht-auc", "colon"]).mean == pytest.approx(0.9)
    # Only for the methods for which the programs did so.
    assert mean_of(chosen.tuned["mean-difference", "colon"]).mean == pytest.approx(0.72)
    honest = read_genes(found_by(tasks, outcomes), CORRECTED)
    assert mean_of(honest.tuned["sht-auc", "colon"]).mean == pytest.approx(0.72)
    assert mean_of(honest.precision["sht-auc", "colon", "3"]).mean == pytest.approx(
        2 / 4
    )
    assert mean_of(chosen.precision["sht-auc", "colon", "3"]).mean == pytest.approx(
        1 / 4
    )
    failed = next(task for key, task in tasks.items() if key[0] == "sht-auc")
    outcomes[failed] = Outcome(None, "Traceback …", 1.0)
    chosen = read_genes(found_by(tasks, outcomes), PUBLISHED)
    assert mean_of(chosen.tuned["sht-auc", "colon"]).failed == 1
    frame = table3(Results(request, outcomes), "published").frame
    assert frame.loc[frame["method"] == "SHT-AUC", "failed"].tolist() == [1, 0]


@pytest.mark.usefixtures("data_folder")
def test_figures_hold_every_method_and_ratio():
    outcomes = invented(REQUEST)
    assert figure2(Results(REQUEST, outcomes), "published").name == "figure2-published"
    figure = figure2(Results(REQUEST, outcomes), "corrected")
    assert [panel.title for panel in figure.panels] == ["test AUC", "F1 of the columns"]
    for panel in figure.panels:
        assert {s.label for s in panel.series} == {
            m.name for m in METHODS.values() if m.in_paper
        }
        assert all(tuple(s.x) == TINY.ratios and len(s.y) == 2 for s in panel.series)
    curves = figure1(Results(REQUEST, outcomes))
    assert [f.name for f in curves] == [
        "figure1",
        "figure1-paper-step",
        "figure1-objective",
    ]
    assert [len(panel.series) for panel in curves[-1].panels] == [3, 3]
    for figure in curves[:2]:
        assert len(figure.panels) == len(TINY.sparsities)
        for panel in figure.panels:
            assert len(panel.series) == 3
            assert all(max(s.y) == 1 for s in panel.series)
            assert all(len(s.error) == len(s.y) for s in panel.series)
    third, fourth = (
        draw(Results(REQUEST, outcomes), "corrected") for draw in (figure3, figure4)
    )
    assert [p.title for p in third.panels] == ["colon", "leukemia"]
    level = next(s for s in third.panels[0].series if s.label == "SOLAM")
    assert level.y[0] == level.y[1]
    assert "SOLAM" not in {s.label for s in fourth.panels[0].series}


def names(report):
    return {
        element.name
        for section in report.sections
        for element in section.elements
        if isinstance(element, Table | Figure)
    }


@pytest.mark.usefixtures("data_folder")
def test_report_has_everything_and_no_empty_task():
    outcomes = invented(REQUEST)
    wanted = tuple(name for name in EXPERIMENTS if name != "theory")
    report = make_report(
        Results(REQUEST, outcomes), wanted, facts={"seed": "0"}, missing_data={}
    )
    assert names(report) >= {
        "table1",
        "table1-published",
        "table2",
        "table2-given",
        "table2-published",
        "table3",
        "table3-published",
        "figure1",
        "figure1-paper-step",
        "figure2",
        "figure2-published",
        "figure3",
        "figure4",
        "agreement",
    }
    for section in report.sections:
        for element in section.elements:
            if isinstance(element, Table) and "mean" in element.frame:
                assert not element.frame["mean"].isna().any(), element.name
    assert report.facts == {"seed": "0"}


def test_report_without_the_gene_data_says_so():
    request = Request(TINY, "corrected", ("sht-auc",), 0, datasets=())
    outcomes = invented(request)
    report = make_report(
        Results(request, outcomes),
        ("table3", "figure3", "audit"),
        facts={},
        missing_data={"colon": "no file", "leukemia": "no network"},
    )
    texts = [
        e.text for s in report.sections[2:] for e in s.elements if isinstance(e, Note)
    ]
    assert any("colon" in text and "no file" in text for text in texts)
    assert not {name for name in names(report) if name.startswith(("table", "figure"))}


def with_printed_means(request, protocol, move):
    """Outcomes whose means are the printed ones, moved."""
    outcomes = {}
    for (method, column, trial, fold), task in plan.table_tasks(
        request, protocol
    ).items():
        noise = 0.01 * (-1) ** (trial + fold)
        outcomes[task] = synthetic(move(printed.AUC[method][column].mean) + noise)
    return outcomes


@pytest.mark.usefixtures("data_folder")
def test_effects_are_differences_of_pairs():
    request = Request(TINY, "corrected", tuple(METHODS), seed=0)
    outcomes = {}
    for measured in plan.audit_tasks(request):
        for without, with_it in measured.pairs.values():
            build = (
                synthetic
                if without.kind == "synthetic"
                else lambda a: genes({"3": a}, "3")
            )
            outcomes.setdefault(without, build(0.6))
            if with_it != without:
                outcomes.setdefault(with_it, build(0.7))
    found = {
        (e.switch.name, e.where, e.method): e.change
        for e in effects(Results(request, outcomes))
        if e.measure in ("test AUC", "share of markers")
    }
    assert found["one_fewer", "synthetic", "sht-auc"].mean == pytest.approx(0.1)
    assert found["one_fewer", "colon", "hsg-ht"].mean == pytest.approx(0.1)
    assert found["truncate_before_auc", "synthetic", "spam-l2"].mean == 0
    assert found["published_markers", "colon", "sht-auc"].mean == pytest.approx(-0.25)
    assert ("one_fewer", "synthetic", "spam-l2") not in found
    # The second permutation is measured against the hold-out that it spoils.
    assert found["permute_twice", "colon", "sht-auc"].mean == pytest.approx(0.0)


def test_clear_effects_are_those_of_benjamini_and_hochberg():
    rng = np.random.default_rng(0)

    def effect(mean, n=12):
        values = mean + rng.normal(0, 0.01, n)
        change = mean_of({(i, 0): v for i, v in enumerate(values)})
        return Effect(SWITCHES[0], "synthetic", "sht-auc", "F1", change, 0.5)

    found = [
        effect(0.05),
        effect(-0.03),
        effect(0.2, n=9),
        *(effect(0.0) for _ in range(40)),
    ]
    p = [e.p_value for e in found]
    accepted = false_discovery_control(p) <= 0.05
    assert clear_effects(found) == sorted(
        (e for e, yes in zip(found, accepted, strict=True) if yes),
        key=lambda e: e.p_value,
    )
    assert accepted[:2].all()
    assert found[2].p_value == 1.0  # nine values tell nothing
    assert clear_effects([]) == []


def test_find_experiments():
    assert find_experiments([]) == find_experiments(["all"]) == EXPERIMENTS
    assert find_experiments(["figure2", "Table1"]) == ("table1", "figure2")
    with pytest.raises(
        ValueError, match="no experiment is named 'table9'; there are all, table1"
    ):
        find_experiments(["table9"])


def test_shared_tasks_are_the_same_task():
    """Figure 2 at the share of positives of Table I, and the audit, compute nothing anew."""
    preset = replace(TINY, ratios=(0.05,), sparsities=(20,))
    request = Request(preset, "corrected", ("sht-auc",), seed=0)
    assert set(plan.figure2_tasks(request, "corrected").values()) <= set(
        plan.table_tasks(request, "corrected").values()
    )
    assert PROTOCOLS["corrected"] is CORRECTED


def test_agreement_is_counted():
    request = Request(
        replace(TINY, sparsities=(20, 40, 60, 80), trials=6),
        "published",
        PAPER_METHODS,
        0,
        datasets=(),
    )
    outcomes = with_printed_means(request, "published", lambda mean: mean + 0.03)
    results = Results(request, outcomes)
    cells = [c for c in compared_cells(results, "published") if c.group == "Table I"]
    assert len(cells) == 28
    words = " ".join(agreement_words(results))
    assert "of 84 printed numbers differ" in words
    assert "Table I is on average +0.030 from print" in words
    (panel,) = scatter(results).panels
    assert [s.label for s in panel.series] == [
        "Table I",
        "Table II, F1",
        "Table II, Jaccard",
    ]


@pytest.mark.parametrize(
    ("from_log_odds", "words"), [(0.38, "that of an intercept"), (0.16, "not explain")]
)
def test_sentences_on_scaling_are_made_from_the_numbers(from_log_odds, words):
    preset = replace(TINY, audit_sparsities=(3,), audit_trials=6)
    request = Request(preset, "corrected", ("sht-auc", "sto-iht"), 0, datasets=())
    rng = np.random.default_rng(0)
    outcomes = {}
    for (scaling, start), tasks in plan.scaling_tasks(request).items():
        for (method, *_), task in tasks.items():
            f1 = 0.4 if method == "sht-auc" else 0.15 + 0.05 * (scaling != "no_scaling")
            if start:
                f1 = from_log_odds
            outcomes[task] = synthetic(0.7, f1 + rng.normal(0, 0.01))
    (text,) = about_scaling(Results(request, outcomes))
    assert words in text
    assert "changes StoIHT by +0.0" in text
    assert about_scaling(Results(request, {})) == []


def test_draws_are_taken_from_the_seeds_in_turn():
    request = Request(
        replace(TINY, trials=7), "corrected", ("mean-difference",), 10, datasets=()
    )
    tasks = plan.table_tasks(request, "corrected")
    drawn = [
        (task.settings["seed"], task.settings["trial"])
        for (_, column, _, fold), task in tasks.items()
        if (column, fold) == ("3", 0)
    ]
    assert drawn == [(10, 0), (11, 0), (12, 0), (13, 0), (14, 0), (10, 1), (11, 1)]
