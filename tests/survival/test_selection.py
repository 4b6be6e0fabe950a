"""Questions about a list of times to event: near-equal lists and stability."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold

from sparseauc import Limits, SparseConcordance, SparseConcordanceCV
from sparseauc.selection import near_equal_lists, point_score, replacements, stability_selection
from sparseauc.selection.confidence import nested_scores
from sparseauc.survival import harrell_concordance

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


def objective(X, y, columns):
    limits = Limits(exclude=np.setdiff1d(np.arange(8), columns))
    model = SparseConcordance(len(columns), ALPHA, limits=limits).fit(X, y)
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


@pytest.mark.parametrize("ask", [point_score, replacements])
def test_some_questions_are_about_two_classes(table, ask):
    X, y = table
    model = SparseConcordanceCV(ks=[2], clip=None).fit(X, y)
    with pytest.raises(ValueError, match="model must be a SparseAUCClassifier"):
        ask(model, X, y)
