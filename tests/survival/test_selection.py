"""Questions about a list of times to event, against naive answers."""

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold

from sparseauc import Limits, SparseConcordance, SparseConcordanceCV
from sparseauc.selection import near_equal_lists, point_score, replacements, stability_selection
from sparseauc.selection.confidence import nested_scores
from sparseauc.selection.fitted_list import FittedList
from sparseauc.selection.replacing import validated_aucs
from sparseauc.survival import ComparablePairs, SurvivalTimes, harrell_concordance

ALPHA = 0.3


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 8))
    X[:, 6] = X[:, 2] + 0.3 * rng.standard_normal(150)
    time = rng.exponential(np.exp(-X[:, 2] + 0.7 * X[:, 5]))
    y = np.array(
        list(zip(rng.random(150) < 0.6, time, strict=True)), dtype=[("event", "?"), ("time", "f8")]
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
    objectives = {columns: objective(X, y, list(columns)) for columns in combinations(range(8), 2)}
    least = min(objectives.values())
    expected = {columns for columns, value in objectives.items() if value <= 1.05 * least}
    assert found.complete
    assert {tuple(sorted(one)) for one in found.lists} == expected


@pytest.mark.parametrize("strata", [None, np.arange(150) % 2])
def test_stability(table, strata):
    X, y = table
    found = stability_selection(X, y, 3, alpha=ALPHA, n_pairs=10, strata=strata, random_state=0)
    assert_allclose(found.frequency.sum(), 3)
    assert found.frequency[5] == 1
    assert found.frequency[[2, 6]].sum() > 0.9


@pytest.mark.parametrize("strata", [None, np.arange(150) % 2])
def test_nested_scores(table, strata):
    X, y = table
    model = SparseConcordanceCV(ks=[1, 2], alphas=[1.0], cv=3, log=False, clip=None)
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
            found.fold_aucs[number], harrell_concordance(y[test], scores[test], strata=of_test)
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
            j: objective(X, y, sorted([rest, j]), weight) - objective(X, y, chosen, weight)
            for j in set(range(8)) - set(chosen.tolist())
        }
        expected = sorted(changes, key=changes.get)[:3]
        part = found[found["column"] == column]
        assert part["replacement"].tolist() == expected
        assert_allclose(part["objective_change"], [changes[j] for j in expected], rtol=1e-8)
    # A column that is nearly a copy costs least.
    copy = found[(found["column"] == 2) & (found["replacement"] == 6)]
    assert copy["auc_change"].item() == found["auc_change"].max()
    assert (found["low"] < found["auc_change"]).all()
    assert (found["auc_change"] < found["high"]).all()


def test_lists_are_judged_by_the_concordance_of_validation_rows(table):
    X, y = table
    model = SparseConcordance(2, ALPHA).fit(X, y)
    fitted = FittedList.from_model(model, X, y, times=True)
    lists, splits = [np.array([2, 5]), np.array([1, 5])], list(KFold(4).split(X))
    judged = validated_aucs(fitted, lists, splits)
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
    expected = np.sqrt(sum(side @ side * side.size / (side.size - 1) for side in sides)) / n_pairs
    assert_allclose(pairs.standard_error(one, other), expected, rtol=1e-10)
    assert pairs.standard_error(one, one) == 0


def test_points_are_of_two_classes(table):
    X, y = table
    model = SparseConcordanceCV(ks=[2], clip=None).fit(X, y)
    with pytest.raises(ValueError, match="model must be a SparseAUCClassifier"):
        point_score(model, X, y)
