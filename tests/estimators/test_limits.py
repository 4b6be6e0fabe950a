"""signs=, costs= and budget= of both classifiers and the path, wherever rows live."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone

from sparseauc import (
    Limits,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    sparse_auc_path,
)
from sparseauc.chunks import chunks_in_memory
from sparseauc.datasets import make_outbreak
from sparseauc.estimators import EmptyListWarning, RequiredColumnWarning
from sparseauc.limits import budgets_to_try
from sparseauc.moments import chunked, class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.plotting import AUCPathDisplay
from sparseauc.rules import auc_by_k, best
from sparseauc.selection import near_equal_lists, point_score, replacements
from sparseauc.selection.stability import stability_selection
from sparseauc.solvers import exchange_columns, working_set
from sparseauc.solvers.logistic import logistic_regression
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.signed import minimise_signed

NAMES = [f"marker {j}" for j in range(10)]
SIGNS = {"marker 0": 1, "marker 1": -1, "marker 6": 1, "marker 8": 0}
COSTS = dict.fromkeys(NAMES[:3], 4.0) | dict.fromkeys(NAMES[3:], 2.5)
MONEY = {"costs": COSTS}


def table(seed=0, n=250):
    X, y = make_outbreak(
        n=n, d=10, k=4, mu=0.8, r=0.3, correlation=0.7, random_state=seed
    )
    return pd.DataFrame(X, columns=NAMES), y


def least_objective(
    X, y, k, alpha, signs=None, costs=None, budget=np.inf, families=None
):
    gram = StandardisedGram(class_moments(X, y))
    H = gram.block(np.arange(10), np.arange(10)) + alpha * np.eye(10)
    least = 1.0
    for size in range(1, k + 1):
        for columns in combinations(range(10), size):
            at = np.array(columns)
            w = -np.linalg.solve(H[np.ix_(at, at)], gram.delta[at])
            right = signs is None or (signs[at] * w >= 0).all()
            right &= families is None or np.unique(families[at]).size == size
            if right and (costs is None or costs[at].sum() <= budget):
                least = min(least, 1 + gram.delta[at] @ w)
    return least


def objective_of(model, X, alpha):
    standardised = model.coef_[0] * model.scale_
    return model.objective_ + alpha * standardised @ standardised


def test_signs_by_name_by_number_and_as_an_array():
    X, y = table()
    array = np.array([SIGNS.get(name, 0) for name in NAMES])
    model = SparseAUCClassifier(k=4, alpha=0.1, limits=Limits(signs=SIGNS)).fit(X, y)
    assert (array * model.coef_[0] >= 0).all()
    assert objective_of(model, X, 0.1) == pytest.approx(
        least_objective(X.values, y, 4, 0.1, array)
    )
    for signs in (
        array,
        list(array),
        pd.Series(SIGNS),
        dict(enumerate(array.tolist())),
    ):
        other = clone(model).set_params(limits=Limits(signs=signs)).fit(X, y)
        np.testing.assert_array_equal(other.coef_, model.coef_)
    anything = SparseAUCClassifier(
        k=4, alpha=0.1, limits=Limits(signs=np.zeros(10))
    ).fit(X, y)
    free = SparseAUCClassifier(k=4, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(anything.coef_, free.coef_, rtol=1e-9)


def test_a_list_may_be_shorter_than_k():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 4)) + np.outer(y, [1.0, -1.0, -1.0, 0.5])
    model = SparseAUCClassifier(k=4, limits=Limits(signs=[1, 1, 1, 1])).fit(X, y)
    assert model.get_support().tolist() == [True, False, False, True]
    # A required column whose sign sets it to 0 is left out, and says so.
    model.set_params(
        k=2, limits=Limits(signs=[1, 1, 1, 1], always_include=[1], budget=2)
    )
    with pytest.warns(
        RequiredColumnWarning, match="always_include: 1 cannot be on the list"
    ):
        model.fit(X, y)
    assert model.not_included_.tolist() == [1]
    assert model.get_support().tolist() == [
        True,
        False,
        False,
        True,
    ]  # its place is refunded
    assert model.cost_ == 2
    assert model.certify(X, y).certificate_status_ == "optimal"


def test_a_constant_column_that_is_required_is_left_out():
    X, y = table(0)
    X["marker 9"] = 3.0
    limits = Limits(
        always_include=["marker 9"], costs=dict.fromkeys(NAMES, 2), budget=6
    )
    for model in (
        SparseAUCClassifier(3, limits=limits),
        SparseAUCClassifierCV([3], [1.0], cv=3, coefficients="auc", limits=limits),
    ):
        with pytest.warns(
            RequiredColumnWarning, match="'marker 9' cannot be on the list"
        ):
            model.fit(X, y)
        assert model.not_included_.tolist() == [9]
        assert model.get_support().sum() == 3
        assert model.cost_ == 6
        free = clone(model).set_params(limits=Limits(exclude=[9])).fit(X, y)
        assert not free.not_included_.size
        np.testing.assert_allclose(model.coef_, free.coef_, rtol=1e-9)
    # The lists that are validated are without it too: three columns, not two.
    assert model.best_score_ == pytest.approx(free.best_score_, rel=1e-12)
    np.testing.assert_allclose(
        model.out_of_fold_scores_, free.out_of_fold_scores_, rtol=1e-9
    )


@pytest.mark.parametrize("groups", [list("abcdefghij"), list("aabbccddej")])
def test_a_constant_group_that_is_required_leaves_its_place(groups):
    X, y = table(0)
    X["marker 9"] = 3.0
    limits = Limits(always_include=["marker 9"], column_groups=groups)
    free = Limits(exclude=["marker 9"], column_groups=groups)
    for model in (
        SparseAUCClassifier(3),
        SparseAUCClassifierCV([3], [1.0], cv=3, coefficients="auc"),
    ):
        with pytest.warns(
            RequiredColumnWarning, match="'marker 9' cannot be on the list"
        ):
            model.set_params(limits=limits).fit(X, y)
        assert model.not_included_.tolist() == [9]
        without = clone(model).set_params(limits=free).fit(X, y)
        np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-9)


def test_a_constant_column_of_a_required_group_is_no_loss():
    X, y = table(0)
    X["marker 9"] = 3.0
    limits = Limits(always_include=["marker 9"], column_groups=list("abcdefghii"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RequiredColumnWarning)
        model = SparseAUCClassifier(3, limits=limits).fit(X, y)
    assert model.not_included_.size == 0
    assert model.get_support()[8]


def test_an_excluded_column_keeps_its_group_out():
    X, y = table(0)
    limits = Limits(exclude=["marker 1"], column_groups=list("aabbccddee"))
    model = SparseAUCClassifier(5, limits=limits)
    with pytest.warns(UserWarning, match="the 4 that the limits allow"):
        model.fit(X, y)
    assert model.get_support().tolist() == [False] * 2 + [True] * 8


def test_costs_and_a_budget():
    X, y = table(1)
    costs = np.array(list(COSTS.values()))
    for budget, k in ((3.0, 10), (5.0, 10), (9.0, 10), (9.0, 2), (100.0, 3)):
        model = SparseAUCClassifier(k, 0.1, limits=Limits(budget=budget, **MONEY)).fit(
            X, y
        )
        assert model.cost_ == costs[model.get_support()].sum() <= budget
        least = least_objective(X.values, y, k, 0.1, None, costs, budget)
        assert objective_of(model, X, 0.1) == pytest.approx(least)
    # By default every column costs 1.
    by_budget = SparseAUCClassifier(10, 0.1, limits=Limits(budget=3)).fit(X, y)
    by_number = SparseAUCClassifier(3, 0.1).fit(X, y)
    np.testing.assert_allclose(by_budget.coef_, by_number.coef_, rtol=1e-9)
    assert by_budget.cost_ == 3
    told = SparseAUCClassifier(3, 0.1, limits=Limits(**MONEY)).fit(X, y)
    np.testing.assert_array_equal(told.coef_, by_number.coef_)
    assert told.cost_ == costs[told.get_support()].sum()
    assert not hasattr(by_number, "cost_")


BY_NUMBER = {
    "signs": {"signs": {0: 1, 1: -1, 6: 1}},
    "budget": {
        "costs": [4.0] * 3 + [2.5] * 7,
        "budget": 7.0,
    },
}


@pytest.mark.parametrize("limit", ["signs", "budget"])
def test_every_home_gives_the_same(limit):
    X, y = table(2)
    X, limits = X.to_numpy(), BY_NUMBER[limit]
    weight = np.random.default_rng(0).uniform(0.5, 2, y.size)
    model = SparseAUCClassifier(4, 0.1, limits=Limits(**limits))
    expected = clone(model).fit(X, y, weight).coef_
    in_chunks = clone(model).fit(chunks_in_memory(X), y, weight).coef_
    np.testing.assert_allclose(in_chunks, expected, rtol=1e-6, atol=1e-12)
    summary = class_moments(X, y, weight).summary()
    without_rows = clone(model).fit_moments(summary, classes=(-1, 1)).coef_
    np.testing.assert_allclose(without_rows, expected, rtol=1e-6, atol=1e-12)
    sparse = clone(model).fit(sp.csr_array(X), y, weight).coef_
    np.testing.assert_allclose(sparse, expected, rtol=1e-6, atol=1e-12)
    dask = pytest.importorskip("dask.array")
    parts = (dask.from_array(one, chunks=100) for one in (X, y, weight))
    on_workers = clone(model).fit(*parts).coef_
    np.testing.assert_allclose(on_workers, expected, rtol=1e-6, atol=1e-12)
    tuned = SparseAUCClassifierCV([2, 4], [0.1], cv=3, limits=Limits(**limits))
    expected = clone(tuned).fit(X, y, weight).coef_
    in_chunks = clone(tuned).fit(chunks_in_memory(X), y, weight).coef_
    np.testing.assert_allclose(in_chunks, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("limit", ["signs", "budget"])
def test_wide_tables_in_chunks(limit, monkeypatch):
    """Of which neither H nor all columns are at hand at first."""
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    monkeypatch.setattr(working_set, "_PER_CEILING", 0)
    search = exchange_columns.ColumnSearch.__init__
    monkeypatch.setattr(
        search, "__kwdefaults__", {**search.__kwdefaults__, "first": 20}
    )
    d = 120
    X, y = make_outbreak(
        n=150, d=d, k=20, mu=0.5, r=0.3, correlation=0.5, random_state=0
    )
    rng = np.random.default_rng(0)
    signs, costs = rng.integers(-1, 2, d), rng.integers(1, 9, d)
    limits = {"signs": {"signs": signs}, "budget": {"costs": costs, "budget": 20}}[
        limit
    ]
    expected = SparseAUCClassifier(6, 0.1, limits=Limits(**limits)).fit(X, y).coef_
    chunks = chunks_in_memory(X)
    model = SparseAUCClassifier(6, 0.1, limits=Limits(**limits)).fit(chunks, y)
    assert model.n_passes_ > 2
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6, atol=1e-12)
    # No single exchange improves it, of any column.
    gram = StandardisedGram(class_moments(X, y))
    H = gram.block(np.arange(d), np.arange(d)) + 0.1 * np.eye(d)
    chosen = model.get_support(indices=True)
    found = objective_of(model, X, 0.1)
    for i in chosen:
        for j in set(range(d)) - set(chosen.tolist()):
            at = np.append(chosen[chosen != i], j)
            if limit == "signs":
                explained = minimise_signed(
                    H[np.ix_(at, at)], gram.delta[at], signs[at], np.zeros(at.size)
                )[1]
            elif costs[at].sum() <= 20:
                explained = gram.delta[at] @ np.linalg.solve(
                    H[np.ix_(at, at)], gram.delta[at]
                )
            else:
                continue
            assert 1 - explained >= found - 1e-9


@pytest.mark.parametrize("coefficients", ["auc", "logistic"])
def test_cross_validation_keeps_to_signs(coefficients):
    X, y = table(3)
    signs = dict.fromkeys(NAMES, 1)
    model = SparseAUCClassifierCV(
        cv=3, limits=Limits(signs=signs), coefficients=coefficients
    ).fit(X, y)
    assert model.coefficients_ == coefficients
    assert (model.coef_ >= 0).all()
    assert (model.coef_ > 0).any()


def test_cross_validation_over_budgets():
    X, y = table(4)
    model = SparseAUCClassifierCV(
        cv=3, limits=Limits(budget=20.0, signs=SIGNS, **MONEY)
    ).fit(X, y)
    tried = model.cv_results_["param_budget"]
    assert np.unique(tried).size > 3
    assert tried.max() == 20
    assert tried[0] == 2.5  # the cheapest column
    assert model.budget_ == tried[model.best_index_]
    assert model.best_index_ == best(model.cv_results_)
    assert model.cost_ <= model.budget_
    assert model.k_ == model.get_support().sum()
    close = (
        model.cv_results_["mean_test_score"]
        >= model.cv_results_["mean_test_score"].max() - 1e-3
    )
    assert model.budget_ == tried[close].min()
    assert model.cv_results_["params"][0]["budget"] == 2.5
    some = SparseAUCClassifierCV(
        [1, 2], cv=3, limits=Limits(budget=[5.0, 10.0], **MONEY)
    ).fit(X, y)
    assert np.unique(some.cv_results_["param_budget"]).tolist() == [5.0, 10.0]
    assert np.unique(some.cv_results_["param_k"]).tolist() == [2]
    by_k = SparseAUCClassifierCV(
        [1, 2, 3], cv=3, limits=Limits(budget=8.0, **MONEY)
    ).fit(X, y)
    assert np.unique(by_k.cv_results_["param_k"]).tolist() == [1, 2, 3]
    assert by_k.cost_ <= by_k.budget_ == 8.0
    grouped = SparseAUCClassifierCV(
        cv=3,
        limits=Limits(
            column_groups=list("aaabbcdefg"),
            costs=[3] * 3 + [2] * 2 + [1] * 5,
            budget=6,
        ),
    ).fit(X, y)
    whole = [grouped.get_support()[part].all() or not grouped.get_support()[part].any()
             for part in (slice(0, 3), slice(3, 5))]  # fmt: skip
    assert all(whole)
    assert grouped.cost_ <= grouped.budget_ <= 6


@pytest.mark.parametrize(
    "model", [SparseAUCClassifier(k=1), SparseAUCClassifierCV(ks=[1])]
)
def test_a_group_counts_as_one_column(model):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + [0, 0, 3, 3] * y[:, None]
    fitted = model.set_params(limits=Limits(column_groups=[0, 0, 1, 1])).fit(X, y)
    assert fitted.get_support().tolist() == [False, False, True, True]
    with pytest.warns(UserWarning, match="Lists have 2 columns at most"):
        more = SparseAUCClassifier(k=3, limits=Limits(column_groups=[0, 0, 1, 1])).fit(
            X, y
        )
    assert more.get_support().all()
    limits = Limits(column_groups=[0, 0, 1, 1], always_include=[0, 2])
    with pytest.raises(
        ValueError, match="always_include names 2 columns, more than k=1"
    ):
        SparseAUCClassifier(k=1, limits=limits).fit(X, y)


def test_budgets_that_are_tried():
    def tried(amounts, most, fixed=()):
        restrictions = Restrictions(np.array(fixed, np.int64), costs=np.array(amounts))
        return budgets_to_try(most, restrictions, len(amounts)).tolist()

    assert tried([1.0] * 9, 5.0) == [1, 2, 3, 4, 5]
    assert tried([2.5, 5.0, 10.0], 20.0) == np.arange(2.5, 21, 2.5).tolist()
    assert tried([2.5, 5.0, 10.0], 20.0, fixed=[2]) == [10.0, 12.5, 15.0, 17.5, 20.0]
    assert len(tried([np.pi, np.e], 20.0)) == 20
    assert tried([3.0, 4.0], 3.0) == [3.0]


def test_path():
    X, y = table(5)
    signs, costs = np.ones(10), np.arange(1, 11.0)
    path = sparse_auc_path(
        X.values, y, [1, 2, 3], [0.1, 1.0], limits=Limits(signs=signs)
    )
    assert all((s.coef >= 0).all() for row in path.solutions for s in row)
    assert path.budgets is None
    path = sparse_auc_path(
        X.values, y, range(1, 5), limits=Limits(costs=costs, budget=[3, 6, 12])
    )
    assert path.ks.tolist() == [4, 4, 4]
    for budget in path.budgets:
        assert costs[path.support(4, 1.0, budget)].sum() <= budget
    assert (np.diff(path.objectives) <= 0).all()
    with pytest.raises(KeyError, match="several lists of k=4: say of which budget"):
        path.support(4, 1.0)
    with pytest.raises(KeyError, match="budget=5 is not on the path"):
        path.support(4, 1.0, 5)


def test_bounds_are_never_above_the_least_objective():
    for seed in range(12):
        X, y = table(seed)
        rng = np.random.default_rng(seed)
        signs = rng.integers(-1, 2, 10) if seed % 2 else None
        amounts, budget = rng.integers(1, 9, 10) * 1.0, [None, 9.0][seed // 2 % 2]
        families = rng.integers(0, 6, 10) if seed % 3 == 0 else None
        limits = Limits(signs=signs, costs=amounts, budget=budget, families=families)
        model = SparseAUCClassifier(3, 0.1, limits=limits).fit(X, y).certify(X, y)
        costs = None if budget is None else amounts
        least = least_objective(
            X.values, y, 3, 0.1, signs, costs, budget or np.inf, families
        )
        found = objective_of(model, X, 0.1)
        assert model.lower_bound_ <= least + 1e-9
        assert found >= least - 1e-9
        assert model.certificate_status_ == "optimal"
        assert found == pytest.approx(least, rel=2e-6)
        assert model.optimality_gap_ >= (found - model.lower_bound_) / found - 1e-6


def test_logistic_regression_with_signs():
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
        y = (X @ rng.normal(size=5) + rng.normal(size=200) > 0).astype(float)
        signs = rng.integers(-1, 2, 5)
        coef, intercept = logistic_regression(X, y, signs=signs)
        assert (signs * coef >= 0).all()
        deviation = X.std(axis=0)

        def loss(parameters, X=X, y=y, deviation=deviation):
            scores = X @ parameters[:5] + parameters[5]
            ridge = 0.0025 * ((parameters[:5] * deviation) ** 2).sum()
            return np.mean(np.logaddexp(0, scores) - y * scores) + ridge

        bounds = [(0 if s > 0 else None, 0 if s < 0 else None) for s in signs] + [
            (None, None)
        ]
        naive = minimize(loss, np.zeros(6), bounds=bounds, method="L-BFGS-B", tol=1e-14)
        assert loss(np.append(coef, intercept)) <= naive.fun + 1e-9


def test_refusals():
    X, y = table(6)
    for kind in (SparseAUCClassifier, SparseAUCClassifierCV):
        for given, message in (
            ({"signs": {"marker 11": 1}}, "signs names 'marker 11', .* did you mean 'marker 1'"),
            ({"signs": {10: 1}}, "signs names column 10; there are 10"),
            ({"signs": [1, 1]}, "each of the 10 columns; got 2 values"),
            ({"costs": dict.fromkeys(NAMES[2:], 1)},
             "no cost for column 'marker 0', column 'marker 1'"),
            ({"costs": {"weight": 1}}, "costs names 'weight', which is no column of X"),
            ({"costs": [2.5] * 10, "budget": 2}, "the cheapest, column 'marker 0', costs 2.5"),
            ({"budget": 1, "always_include": NAMES[:2]},
             r"\(column 'marker 0', column 'marker 1'\) costs 2"),
            ({"costs": range(10), "budget": 9, "column_groups": list("aabbccddee")},
             "'marker 0' costs 0 and column 'marker 1' 1, but they are paid for once"),
            ({"always_include": [0], "exclude": [1], "column_groups": list("aabbccddee")},
             "column 'marker 0' is in always_include, and another column of its group in exclude"),
            ({"always_include": [0], "exclude": ["marker 0"]},
             "column 'marker 0' is in both always_include and exclude"),
            ({"exclude": NAMES}, "exclude names every column"),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=message):
                kind(limits=Limits(**given)).fit(X, y)
    with pytest.raises(
        ValueError, match="signs names 'marker 0', but X has no column names"
    ):
        SparseAUCClassifier(limits=Limits(signs=SIGNS)).fit(X.values, y)
    with pytest.raises(ValueError, match="SparseAUCClassifierCV chooses among several"):
        SparseAUCClassifier(limits=Limits(budget=[2, 3])).fit(X, y)


def test_questions_about_a_list_obey():
    X, y = table(7)
    signs = np.array([SIGNS.get(name, 1) for name in NAMES])
    amounts = np.arange(1.0, 11)
    model = SparseAUCClassifier(
        3, 0.1, limits=Limits(signs=signs, costs=amounts, budget=18)
    ).fit(X.values, y)
    chosen = model.get_support(indices=True)
    assert chosen.size == 3
    gram = StandardisedGram(class_moments(X.values, y))
    H = gram.block(np.arange(10), np.arange(10)) + 0.1 * np.eye(10)

    def obeys(at):
        w = -np.linalg.solve(H[np.ix_(at, at)], gram.delta[at])
        return amounts[at].sum() <= 18 and (signs[at] * w >= 0).all()

    expected = {
        (i, j)
        for i in chosen.tolist()
        for j in set(range(10)) - set(chosen.tolist())
        if obeys(np.append(chosen[chosen != i], j))
    }
    replaced = replacements(model, X.values, y, n_best=10)
    assert (
        set(zip(replaced["column"], replaced["replacement"], strict=True)) == expected
    )
    assert 0 < len(expected) < 21
    others = near_equal_lists(model, X.values, y, within=100.0)
    assert others.complete
    assert set(others.lists) == {
        c for c in combinations(range(10), 3) if obeys(np.array(c))
    }
    score = point_score(model, X.values, y)
    for column, one in score.model.points_.items():
        assert (signs[column] * np.diff(one.coef) >= 0).all()


def test_stability_keeps_to_limits():
    X, y = table(8)
    signs = np.where(class_moments(X.values, y).delta < 0, -1, 1)
    # Each column alone would have the other sign, so few can be chosen at all.
    free = stability_selection(X, y, 3, n_pairs=5, random_state=0)
    held = stability_selection(
        X, y, 3, n_pairs=5, random_state=0, limits=Limits(signs=signs)
    )
    assert held.frequency.sum() < free.frequency.sum() == pytest.approx(3)
    cheap = stability_selection(
        X, y, 3, n_pairs=5, random_state=0, limits=Limits(costs=range(10), budget=3)
    )
    assert not cheap.frequency[4:].any()
    assert cheap.frequency[:4].any()


def test_plots_against_money():
    X, y = table(9)
    model = SparseAUCClassifierCV(
        cv=3, alphas=[0.1], limits=Limits(budget=9, **MONEY)
    ).fit(X, y)
    display = AUCPathDisplay.from_estimator(model)
    budgets = np.unique(model.cv_results_["param_budget"])
    np.testing.assert_array_equal(display.line_.get_xdata(), budgets)
    assert display.ax_.get_xlabel() == "budget"
    assert display.points_["chosen"].get_xdata() == [model.budget_]
    assert display.points_["chosen"].get_label() == f"chosen: budget {model.budget_:g}"
    rows = auc_by_k(model.cv_results_)
    assert [row["budget"] for row in rows] == budgets.tolist()


@pytest.mark.parametrize("why", ["signs", "constant"])
@pytest.mark.parametrize(
    "model", [SparseAUCClassifier(k=1), SparseAUCClassifierCV(ks=[1])]
)
def test_an_empty_list_warns(why, model):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = (
        np.ones((60, 4))
        if why == "constant"
        else rng.normal(size=(60, 4)) + 3 * y[:, None]
    )
    limits = {
        "signs": Limits(signs=[-1] * 4),
        "constant": Limits(),
    }
    with pytest.warns(EmptyListWarning, match="no column is on the list"):
        fitted = clone(model).set_params(limits=limits[why]).fit(X, y)
    assert not fitted.coef_.any()


def test_lengths_tried_by_default_leave_groups_the_rows_of_their_columns():
    X, y = make_outbreak(n=60, d=24, k=3, mu=2.0, random_state=0)
    tried = {}
    for size in (1, 2, 4):
        limits = Limits(column_groups=np.arange(24) // size)
        model = SparseAUCClassifierCV(cv=3, limits=limits, coefficients="auc").fit(X, y)
        tried[size] = int(model.path_.ks[-1])
    assert tried == {1: 24, 2: 12, 4: 6}
