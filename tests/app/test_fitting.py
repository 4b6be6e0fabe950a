import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.errors import InputError
from sparseauc.metrics import auc
from sparseauc_app import fitting
from sparseauc_app.evaluation.alternatives import find_alternatives
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.reading import DataError, Table

X, labels = make_outbreak(n=150, d=15, k=3, mu=0.9, r=0.3, random_state=0)
Y = (labels > 0).astype(np.int64)


def table(X=X, **extra):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Table(
        pd.DataFrame(X, columns=names),
        names,
        Y,
        "ill",
        "no",
        "yes",
        source="t.csv",
        **extra,
    )


QUICK = FitSettings(k=3, alpha=1.0, stability_pairs=4)


@pytest.fixture(scope="module")
def tuned():
    return fit_table(table(), FitSettings(max_k=6, stability_pairs=4))


def test_the_model_is_the_estimators(tuned):
    expected = SparseAUCClassifierCV(ks=range(1, 7)).fit(X, Y)
    np.testing.assert_array_equal(tuned.model.coef_, expected.coef_)
    assert (tuned.k, tuned.summary["alpha"]) == (expected.k_, expected.alpha_)
    np.testing.assert_array_equal(tuned.training_scores, expected.decision_function(X))
    assert tuned.training_auc.auc == auc(Y, tuned.training_scores)


@pytest.mark.parametrize(
    "given", [{"k": 2, "alpha": 3.0}, {"k": 2}, {"alpha": 3.0, "max_k": 4}]
)
def test_what_is_given_is_not_tuned(given):
    settings = FitSettings(**given, folds=0, stability_pairs=0)
    summary = fit_table(table(), settings)
    if len(given) == 2 and settings.k is not None:  # only its scale is fitted by folds
        plain = SparseAUCClassifier(k=2, alpha=3.0).fit(X, Y)
        slope = summary.model.platt_["slope"]
        np.testing.assert_allclose(summary.model.coef_, slope * plain.coef_, atol=1e-12)
    assert summary.k == 2 or settings.k is None
    assert summary.summary["alpha"] == 3.0 or settings.alpha is None
    assert (summary.nested, summary.stability) == (None, None)


def test_honest_scores_against_a_loop():
    summary = fit_table(table(), QUICK)
    expected, folds = np.empty(Y.size), np.empty(Y.size, int)
    for number, (train, test) in enumerate(
        StratifiedKFold(5, shuffle=True, random_state=0).split(X, Y)
    ):
        model = SparseAUCClassifier(k=3, alpha=1.0).fit(X[train], Y[train])
        fitted = model.decision_function(X[train])
        high, low = fitted[Y[train] == 1].mean(), fitted[Y[train] == 0].mean()
        expected[test] = (model.decision_function(X[test]) - (high + low) / 2) / (
            high - low
        )
        folds[test] = number
    np.testing.assert_allclose(summary.nested.scores, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(summary.nested.folds, folds)
    assert summary.nested.interval.auc == auc(Y, summary.nested.scores)
    for number, area in enumerate(summary.nested.fold_aucs):
        assert area == auc(Y[folds == number], expected[folds == number])


def test_scores_of_folds_with_other_ridges_are_comparable(monkeypatch):
    """Ridges shrink scores by orders of magnitude; the AUC of all rows must not care."""
    same = fit_table(table(), QUICK).nested
    ridges = iter([1.0, 1.0, 1e4, 1.0, 1e4, 1.0])
    original = fitting._make_estimator

    def other_ridge(*arguments):
        return original(*arguments).set_params(alphas=[next(ridges)])

    monkeypatch.setattr(fitting, "_make_estimator", other_ridge)
    mixed = fit_table(table(), QUICK).nested
    assert abs(mixed.interval.auc - np.mean(mixed.fold_aucs)) < 0.02
    assert mixed.scores.std() == pytest.approx(same.scores.std(), rel=0.3)


def test_nothing_of_a_test_row_is_filled_in_from_itself(monkeypatch):
    """What missing values count as, a fold learns from its training rows alone."""
    seen = []
    original = fitting._fit_model

    def spy(*arguments):
        model, points = original(*arguments)
        seen.append((arguments[2], model))
        return model, points

    monkeypatch.setattr(fitting, "_fit_model", spy)
    gaps = X.copy()
    gaps[::5, :] = np.nan
    summary = fit_table(table(gaps, imputation="median"), QUICK)
    folds = [np.flatnonzero(summary.nested.folds == number) for number in range(5)]
    medians = []
    for rows, model in seen:
        # The lower one of two in the middle is the median of rows.
        each = np.nanquantile(gaps[rows], 0.5, axis=0, method="inverted_cdf")
        assert {j: one.missing for j, one in model.encodings_.items()} == {
            j: each[j] for j in np.flatnonzero(model.coef_[0]).tolist()
        }
        medians.append(each)
    (every, _), *parts = seen
    assert every.size == Y.size
    for (rows, _), test in zip(parts, folds, strict=True):
        np.testing.assert_array_equal(rows, np.delete(np.arange(Y.size), test))
    assert all((one != medians[0]).any() for one in medians[1:])
    for term in summary.card.terms:
        assert term.fill == medians[0][int(term.column[1:])]


def test_groups_are_never_parted(monkeypatch):
    groups = np.repeat(np.arange(50), 3)
    inner = []
    original = SparseAUCClassifierCV.fit

    def spy(self, X, y, sample_weight=None, groups=None):
        for train, test in self.cv:
            inner.append(np.intersect1d(groups[train], groups[test]).size)
        return original(self, X, y, sample_weight, groups)

    monkeypatch.setattr(SparseAUCClassifierCV, "fit", spy)
    settings = FitSettings(max_k=3, stability_pairs=0)
    summary = fit_table(table(groups=groups), settings)
    for group in range(50):
        assert np.unique(summary.nested.folds[groups == group]).size == 1
    assert len(inner) == 6 * 5
    assert set(inner) == {0}


def test_outer_folds_are_as_many_as_asked_for_with_groups_too():
    settings = FitSettings(k=2, alpha=1.0, folds=3, stability_pairs=0)
    for groups in (None, np.repeat(np.arange(50), 3)):
        assert fit_table(table(groups=groups), settings).nested.fold_aucs.size == 3


def test_too_few_groups():
    groups = np.where(Y == 1, 0, np.arange(Y.size))
    with pytest.raises(DataError, match="only 1 groups have rows that are 'yes'"):
        fit_table(table(groups=groups), FitSettings(max_k=3))


@pytest.mark.parametrize("n_positive", [2, 3, 4])
def test_few_positives_give_a_model_and_a_caution(n_positive):
    rows = np.r_[np.flatnonzero(Y == 1)[:n_positive], np.flatnonzero(Y == 0)]
    few = Table(table().X.iloc[rows], table().names, Y[rows], "ill", "no", "yes")
    summary = fit_table(few, FitSettings(max_k=2, alpha=1.0, stability_pairs=2))
    assert any(f"Only {n_positive} rows are 'yes'" in text for text in summary.cautions)
    assert (summary.nested is None) == (n_positive < 3)


def test_text_is_always_included_with_all_its_levels():
    frame = table().X.assign(
        c=pd.Categorical(np.array(["u", "v", "w"])[np.arange(Y.size) % 3])
    )
    with_text = replace(table(), X=frame, names=tuple(frame.columns))
    limits = Limits(always_include=("c", "x5"))
    settings = FitSettings(k=4, alpha=1.0, limits=limits, stability_pairs=2)
    summary = fit_table(with_text, settings)
    assert {"c", "x5"} < set(summary.columns["column"])
    (term,) = [term for term in summary.card.terms if term.column == "c"]
    assert term.encoding.levels == ("u", "v", "w")
    assert np.count_nonzero(term.encoding.coef) == 2
    with pytest.raises(DataError, match="always_include: there is no column 'x99'"):
        fit_table(table(), FitSettings(limits=Limits(always_include=("x99",))))


def unexpected(*_, **__):
    raise ValueError("a mistake in the code")


@pytest.mark.parametrize(
    ("step", "settings"),
    [
        ("sparseauc.SparseAUCClassifierCV.fit", {}),
        ("sparseauc_app.fitting.score_folds", {}),
        ("sparseauc_app.fitting.stability_selection", {"stability_pairs": 2}),
        ("sparseauc_app.fitting.point_score", {"points": 5}),
    ],
)
def test_only_the_librarys_refusals_are_errors_of_the_table(
    step, settings, monkeypatch
):
    settings = replace(QUICK, **{"stability_pairs": 0, **settings})
    monkeypatch.setattr(step, unexpected)
    with pytest.raises(ValueError, match="a mistake in the code") as raised:
        fit_table(table(), settings)
    assert raised.type is ValueError


def test_a_refusal_of_the_library_is_an_error_of_the_table():
    limits = Limits(always_include=("x0", "x1", "x2"))
    with pytest.raises(
        DataError, match="k=2 is less than the 3 columns always"
    ) as raised:
        fit_table(table(), FitSettings(k=2, limits=limits))
    assert isinstance(raised.value.__cause__, InputError)


def test_no_alternatives_only_where_no_column_can_be_exchanged(monkeypatch):
    groups = Limits(column_groups={f"x{j}": j // 5 for j in range(15)})
    grouped = FitSettings(k=5, alpha=1.0, limits=groups, stability_pairs=0)
    assert find_alternatives(fit_table(table(), grouped)) is None
    summary = fit_table(table(), replace(QUICK, stability_pairs=0))
    monkeypatch.setattr(
        "sparseauc_app.evaluation.alternatives.best_replacements", unexpected
    )
    with pytest.raises(ValueError, match="a mistake in the code"):
        find_alternatives(summary)


def test_a_warning_of_the_estimator_is_said_once():
    summary = fit_table(table(), FitSettings(k=40, alpha=1.0))
    assert sum("K=40 is greater" in text for text in summary.cautions) == 1


def test_summary_in_json(tuned):
    content = json.loads(json.dumps(tuned.summary, allow_nan=False))
    assert content["rows"] == 150
    assert content["positives"] == Y.sum()
    assert content["k"] == len(content["chosen"]) == tuned.k
    assert [row["k"] for row in content["auc_by_k"]] == [1, 2, 3, 4, 5, 6]
    assert max(row["auc"] for row in content["auc_by_k"]) == pytest.approx(
        max(tuned.model.cv_results_["mean_test_score"])
    )
    assert content["auc"]["low"] < content["auc"]["auc"] < content["auc"]["high"]
    assert tuned.card.summary == tuned.summary


def test_same_seed_same_answer(tuned):
    again = fit_table(table(), FitSettings(max_k=6, stability_pairs=4, jobs=2))
    np.testing.assert_array_equal(again.nested.scores, tuned.nested.scores)
    assert again.columns.equals(tuned.columns)


def test_progress_counts_up_to_the_end():
    steps = []
    fit_table(table(), QUICK, lambda *step: steps.append(step))
    pairs = QUICK.stability_pairs
    # What the fit to all rows reports, as many parts of a step has each fold.
    first = [
        *(("Choosing columns", done, 25) for done in range(26)),
        *(("Choosing columns", done, 5) for done in range(6)),  # with curves
        *(("Choosing columns", done, 1) for done in range(2)),
    ]
    parts = np.arange(len(first) + 1) / (len(first) + 1)
    assert steps == [
        *first,
        *(
            (
                f"Nested cross-validation, fold {fold + 1} of 5",
                pytest.approx(fold + part),
                5,
            )
            for fold in range(5)
            for part in parts
        ),
        *(("Stability selection", done, pairs) for done in range(pairs + 1)),
        ("Done", 1, 1),
    ]


@pytest.mark.parametrize("stage", ["Choosing columns", "Fitting coefficients"])
def test_every_training_set_of_a_search_is_a_step(stage):
    steps = []
    settings = FitSettings(max_k=3, folds=0, stability_pairs=0, jobs=2)
    fit_table(table(), settings, lambda *step: steps.append(step))
    searches = [(done, total) for name, done, total in steps if name == stage]
    starts = [place for place, (done, _) in enumerate(searches) if done == 0]
    rounds = [
        searches[low:high] for low, high in itertools.pairwise([*starts, len(searches)])
    ]
    # Cross-validation has several training sets; the final fit has one, of known
    # coefficients.
    assert rounds[0][0][1] >= 5
    assert (rounds[-1] == [(0, 1), (1, 1)]) == (stage == "Choosing columns")
    for steps in rounds:
        assert sorted(steps) == [(done, steps[0][1]) for done in range(steps[0][1] + 1)]


def test_limits_in_the_order_of_the_columns():
    settings = FitSettings(
        k=2, alpha=1.0, folds=0, stability_pairs=0,
        limits=Limits(signs=[1] * 15, costs=range(15), budget=9, always_include=[3]),
    )  # fmt: skip
    by_place = fit_table(table(), settings)
    names = by_place.table.columns.tolist()
    named = Limits(
        signs=dict.fromkeys(names, "+"), costs=dict(zip(names, range(15), strict=True)), budget=9,
        always_include=[names[3]],
    )  # fmt: skip
    by_name = fit_table(table(), replace(settings, limits=named))
    np.testing.assert_array_equal(by_place.model.coef_, by_name.model.coef_)
    short = replace(settings, limits=Limits(signs=[1, 1]))
    with pytest.raises(
        DataError, match="value for each of the 15 columns; got 2 values"
    ):
        fit_table(table(), short)
