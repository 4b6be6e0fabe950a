"""Questions about a list of times to event, against naive answers."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold
from sksurv.linear_model import CoxPHSurvivalAnalysis

from sparseauc import Limits, SparseConcordance, SparseConcordanceCV
from sparseauc.metrics import delong_test
from sparseauc.outcome import Binary, Times
from sparseauc.selection import (
    near_equal_lists,
    point_score,
    replacements,
    stability_selection,
)
from sparseauc.selection.confidence import nested_scores, permutation_test
from sparseauc.selection.fitted_list import FittedList
from sparseauc.selection.replacing import judge_lists
from sparseauc.selection.table import column_table
from sparseauc.survival import (
    ComparablePairs,
    ProportionalHazards,
    SurvivalTimes,
    harrell_concordance,
    horizon_weights,
)

ALPHA = 0.3


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 8))
    X[:, 6] = X[:, 2] + 0.3 * rng.standard_normal(150)
    time = rng.exponential(np.exp(-X[:, 2] + 0.7 * X[:, 5]))
    y = np.array(
        list(zip(rng.random(150) < 0.6, time, strict=True)),
        dtype=[("event", "?"), ("time", "f8")],
    )
    return X, y


def fit_columns(X, y, columns, weight=None):
    limits = Limits(exclude=np.setdiff1d(np.arange(8), columns))
    return SparseConcordance(len(columns), ALPHA, limits=limits).fit(X, y, weight)


def objective(X, y, columns, weight=None):
    model = fit_columns(X, y, columns, weight)
    return model.objective_ + ALPHA * np.sum((model.coef_[0] * model.scale_) ** 2)


def test_near_equal_lists_are_all_of_them(table):
    X, y = table
    model = SparseConcordance(2, ALPHA).fit(X, y)
    found = near_equal_lists(model, X, y, within=0.05)
    objectives = {
        columns: objective(X, y, list(columns)) for columns in combinations(range(8), 2)
    }
    least = min(objectives.values())
    expected = {
        columns for columns, value in objectives.items() if value <= 1.05 * least
    }
    assert found.complete
    assert {tuple(sorted(one)) for one in found.lists} == expected


@pytest.mark.parametrize("strata", [None, np.arange(150) % 2])
def test_stability(table, strata):
    X, y = table
    found = stability_selection(
        X, y, 3, alpha=ALPHA, n_pairs=10, strata=strata, random_state=0
    )
    assert_allclose(found.frequency.sum(), 3)
    assert found.frequency[5] == 1
    assert found.frequency[[2, 6]].sum() > 0.9


@pytest.mark.parametrize("strata", [None, np.arange(150) % 2])
def test_nested_scores(table, strata):
    X, y = table
    model = SparseConcordanceCV(ks=[1, 2], alphas=[1.0], cv=3, curves=False)
    found = nested_scores(model, X, y, cv=KFold(4), strata=strata)
    scores, folds = np.empty(150), np.empty(150)
    for number, (train, test) in enumerate(KFold(4).split(X)):
        more = {} if strata is None else {"strata": strata[train]}
        fitted = clone(model).fit(X[train], y[train], **more)
        of_train = fitted.predict(X[train])
        scores[test] = (fitted.predict(X[test]) - of_train.mean()) / of_train.std()
        folds[test] = number
        of_test = None if strata is None else strata[test]
        assert_allclose(
            found.fold_aucs[number],
            harrell_concordance(y[test], scores[test], strata=of_test),
        )
    assert_allclose(found.scores, scores, rtol=1e-9)
    within = None if strata is None else 10 * strata + folds
    expected = harrell_concordance(y, scores, strata=within)
    assert_allclose(found.interval.auc, expected, rtol=1e-12)
    assert found.interval.low < expected < found.interval.high < 1


@pytest.mark.parametrize("weighted", [False, True])
def test_replacements(table, weighted):
    X, y = table
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 3, 150).astype(float) if weighted else None
    model = SparseConcordance(2, ALPHA).fit(X, y, weight)
    chosen = np.flatnonzero(model.coef_[0])
    found = replacements(model, X, y, n_best=3, cv=3, sample_weight=weight)
    assert len(found) == 6
    for place, column in enumerate(chosen.tolist()):
        rest = chosen[1 - place]
        changes = {
            j: objective(X, y, sorted([rest, j]), weight)
            - objective(X, y, chosen, weight)
            for j in set(range(8)) - set(chosen.tolist())
        }
        expected = sorted(changes, key=changes.get)[:3]
        part = found[found["column"] == column]
        assert part["replacement"].tolist() == expected
        assert_allclose(
            part["objective_change"], [changes[j] for j in expected], rtol=1e-8
        )
    # A column that is nearly a copy costs least.
    copy = found[(found["column"] == 2) & (found["replacement"] == 6)]
    assert copy["auc_change"].item() == found["auc_change"].max()
    assert (found["low"] < found["auc_change"]).all()
    assert (found["auc_change"] < found["high"]).all()


def test_lists_are_judged_by_the_concordance_of_validation_rows(table):
    X, y = table
    model = SparseConcordance(2, ALPHA).fit(X, y)
    fitted = FittedList.from_model(model, X, y)
    lists, splits = [np.array([2, 5]), np.array([1, 5])], list(KFold(4).split(X))
    judged, _ = judge_lists(fitted, lists, splits)
    for (train, test), row in zip(splits, judged, strict=True):
        for columns, value in zip(lists, row, strict=True):
            naive = fit_columns(X[train], y[train], columns)
            assert_allclose(value, naive.score(X[test], y[test]))


@pytest.mark.parametrize("rounded", [False, True])
def test_error_of_a_difference_of_concordances(table, rounded):
    X, y = table
    one, other = X[:, 2] - X[:, 5], X[:, 2]
    if rounded:
        one, other = np.round(one), np.round(other)
    times = SurvivalTimes(y["time"], y["event"])
    pairs = ComparablePairs.from_times(times)
    # What each row adds, from all of its pairs.
    adds, n_pairs = np.zeros((2, 150)), 0
    areas = [harrell_concordance(y, scores) for scores in (one, other)]
    for i, j in permutations(range(150), 2):
        if y["event"][i] and y["time"][i] < y["time"][j]:
            n_pairs += 1
            for row, scores, area in zip(adds, (one, other), areas, strict=True):
                right = (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]) - area
                row[i] += right
                row[j] += right
    apart = adds[0] - adds[1]
    sides = [apart[y["event"]], apart[~y["event"]]]
    expected = (
        np.sqrt(sum(side @ side * side.size / (side.size - 1) for side in sides))
        / n_pairs
    )
    assert_allclose(pairs.standard_error(one, other), expected, rtol=1e-10)
    assert pairs.standard_error(one, one) == 0


def left_out_totals(X, y, splits, largest, final):
    """Totals by the points of each training fold, of the mean and deviation of the final ones."""
    found = np.empty(len(X))
    for train, test in splits:
        part = SparseConcordance(2, ALPHA).fit(X[train], y[train])
        points = point_score(part, X[train], y[train], largest=largest)
        of_train, of_test = points.totals(X[train]), points.totals(X[test])
        found[test] = (of_test - of_train.mean()) / of_train.std()
    return found * final.std() + final.mean()


def test_risk_by_total_is_that_of_a_cox_model_of_totals_left_out(table):
    X, y = table
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = SparseConcordance(2, ALPHA, horizon=0.8).fit(X, y)
    score = point_score(model, X, y, largest=3, cv=splits)
    totals = score.totals(X)
    left_out = left_out_totals(X, y, splits, 3, totals)
    assert_allclose(score.model.out_of_fold_scores_, left_out, atol=1e-8)
    cox = CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12).fit(left_out[:, None], y)
    assert_allclose(score.slope, cox.coef_[0], rtol=1e-6)
    expected = 1 - np.array(
        [curve(0.8) for curve in cox.predict_survival_function(totals[:, None])]
    )
    assert_allclose(score.risks(totals), expected, rtol=1e-6)
    assert score.horizon == 0.8
    # The model of the points scores by their total, and has the same risks.
    assert_allclose(score.model.predict(X), totals, atol=1e-8)
    assert_allclose(score.model.predict_risk(X), score.risks(totals), atol=1e-8)
    assert_allclose(
        score.model.predict_survival_function(X[:1])[0](0.8),
        1 - score.risks(totals[:1])[0],
    )
    most = column_table(score.model, X, y).set_index("column")["points"]
    assert_allclose(most, score.columns.groupby("column")["points"].max()[most.index])
    assert not hasattr(model, "hazards_")
    by_hand = np.mean(
        [harrell_concordance(y[test], left_out[test]) for _, test in splits]
    )
    assert_allclose(score.auc, by_hand)


def test_shares_by_total_are_those_of_inverse_censoring_weights(table):
    X, y = table
    model = SparseConcordanceCV(ks=[2], horizon=0.8, curves=False).fit(X, y)
    score = point_score(model, X, y, largest=3, cv=KFold(5))
    times = SurvivalTimes(y["time"], y["event"])
    weight, left_out = (
        horizon_weights(times, 0.8),
        np.rint(score.model.out_of_fold_scores_),
    )
    positive, total = y["event"] & (y["time"] <= 0.8), 0
    for one in score.risk.itertuples():
        inside = (left_out > one.above) & (left_out <= one.up_to) & (weight > 0)
        assert one.rows == inside.sum()
        assert one.positives == positive[inside].sum()
        assert_allclose(one.risk, np.average(positive[inside], weights=weight[inside]))
        assert one.low < one.risk < one.high or one.risk in (0, 1)
        total += one.rows
    assert total == (weight > 0).sum()
    assert_allclose(score.prevalence, np.average(positive, weights=weight))
    assert (
        score.risks(score.threshold - 1)
        < score.prevalence
        < score.risks(score.threshold + 1)
    )
    assert json.loads(json.dumps(score.as_dict()))["horizon"] == 0.8


def test_risk_rests_on_every_round_and_counts_rows_once(table):
    """A Cox model of two rounds of totals is that of rows with half the weight, twice."""
    X, y = table
    times = SurvivalTimes(y["time"], y["event"])
    rng = np.random.default_rng(0)
    rounds = X[:, [5, 5]] * -1 + rng.normal(size=(150, 2))
    rounds[:10, 1] = np.nan
    found = ProportionalHazards.fit(rounds, times)
    twice = SurvivalTimes(np.tile(times.time, 2), np.tile(times.event, 2))
    weight = np.where(np.arange(150) < 10, 1.0, 0.5)
    plain = ProportionalHazards.fit(rounds.T.ravel(), twice, np.tile(weight, 2))
    assert (found.n_rows, found.n_events) == (150, times.event.sum())
    assert_allclose(found.slope, plain.slope)
    assert_allclose(found.log_hazard.y, plain.log_hazard.y)


def test_points_without_an_order_have_one_risk():
    """Totals of rows left out that rank the wrong way round have a slope of 0."""
    y = np.column_stack([np.ones(60), np.random.default_rng(1).exponential(size=60)])
    flat = 0
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((60, 3))
        score = point_score(SparseConcordance(1, horizon=1.0).fit(X, y), X, y, cv=3)
        if score.slope == 0:
            flat += 1
            assert np.ptp(score.risks([-5.0, 5.0])) == 0
    assert 0 < flat < 20


@pytest.mark.parametrize("strata", [None, np.arange(150) % 2])
def test_permutations_move_times_and_events_together(table, strata):
    """The same as by hand: rows of y in random order, or in random order within strata."""
    X, y = table
    model = SparseConcordanceCV(ks=[1, 2], alphas=[1.0], cv=KFold(3), curves=False)
    found = permutation_test(
        model, X, y, n_permutations=9, strata=strata, random_state=3
    )
    more = {} if strata is None else {"strata": strata}
    assert found.auc == clone(model).fit(X, y, **more).best_score_
    assert (found.auc > found.null).all()
    assert found.pvalue == 0.1
    rng = np.random.RandomState(3)
    for value in found.null:
        if strata is None:
            order = rng.permutation(150)
        else:
            order, drawn = np.empty(150, int), rng.uniform(size=150)
            for of in (0, 1):
                rows = np.flatnonzero(strata == of)
                order[rows] = rows[np.argsort(drawn[rows])]
        assert value == clone(model).fit(X, y[order], **more).best_score_


def test_permutations_of_a_model_without_a_choice(table):
    X, y = table
    folds = KFold(3)
    found = permutation_test(
        SparseConcordance(2), X, y, n_permutations=19, cv=folds, random_state=0
    )
    by_hand = [
        harrell_concordance(
            y[test], SparseConcordance(2).fit(X[train], y[train]).predict(X[test])
        )
        for train, test in folds.split(X)
    ]
    assert_allclose(found.auc, np.mean(by_hand))
    assert found.pvalue == 0.05


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30), st.integers(1, 6))
def test_paired_tests_of_pairs_are_delongs_where_they_can_be(seed, n, values):
    """With weights of 1, and of times without censoring before the last event at one time."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 2 == 0
    one, other = rng.integers(0, values, (2, n)).astype(float)
    expected = delong_test(positive, one, other)
    weighted = Binary(positive, np.ones(n))
    times = Times(SurvivalTimes(np.where(positive, 3.0, 5.0), positive))
    for found in (weighted.compare(one, other), times.compare(one, other)):
        assert_allclose(found.auc_a, expected.auc_a, atol=1e-12)
        assert_allclose(found.difference, expected.difference, atol=1e-12)
        assert_allclose(found.standard_error, expected.standard_error, atol=1e-12)
        if expected.standard_error > 1e-9:
            assert_allclose(found.pvalue, expected.pvalue, atol=1e-9)
    assert_allclose(weighted.score(one), expected.auc_a, atol=1e-12)
    assert_allclose(times.score(one), expected.auc_a, atol=1e-12)
