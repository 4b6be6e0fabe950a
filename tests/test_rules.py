"""Rules against loops that do what their sentences say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV

from sparseauc import MeanDifferenceClassifier
from sparseauc.defaults import BEST_TOLERANCE, SHORT_TOLERANCE
from sparseauc.rules import (
    best,
    choose,
    one_standard_error,
    smooth_over_lengths,
)

AUCS = st.sampled_from([0.5, 0.7, 0.898, 0.899, 0.9, 0.9005, 0.95])


@st.composite
def cross_validations(draw):
    """Results of a few splits for every k and ridge, in the order of any search."""
    models = [(k, alpha) for k in (1, 2, 3, 5) for alpha in (1.0, 0.1)]
    models = draw(st.permutations(models))
    splits = draw(
        st.lists(st.lists(AUCS, min_size=8, max_size=8), min_size=2, max_size=6)
    )
    scores = np.array(splits)
    return {
        "param_k": np.array([k for k, _ in models]),
        "param_alpha": np.array([alpha for _, alpha in models]),
        **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        "mean_test_score": scores.mean(axis=0),
    }


def naive(results, below):
    """Go through all models, and keep the better by the sentence of the rules."""
    mean, k = results["mean_test_score"], results["param_k"]
    chosen = None
    for i in range(len(mean)):
        if mean[i] < max(mean) - below:
            continue
        if (
            chosen is None
            or k[i] < k[chosen]
            or (k[i] == k[chosen] and mean[i] > mean[chosen])
        ):
            chosen = i
    return chosen


@given(cross_validations())
def test_best_is_the_fewest_columns_within_the_tolerance(results):
    assert best(results) == naive(results, BEST_TOLERANCE)


@given(cross_validations())
def test_one_standard_error_is_that_of_the_highest_mean(results):
    splits = [
        results[f"split{i}_test_score"]
        for i in range(20)
        if f"split{i}_test_score" in results
    ]
    top = int(np.argmax(results["mean_test_score"]))
    values = [split[top] for split in splits]
    error = np.sqrt(sum((v - np.mean(values)) ** 2 for v in values) / (len(values) - 1))
    error = max(SHORT_TOLERANCE, error / np.sqrt(len(values)))
    # Equal up to rounding are models that are equally good.
    chosen, expected = one_standard_error(results), naive(results, error)
    mean, k = results["mean_test_score"], results["param_k"]
    near = np.isclose(mean, mean.max() - error, rtol=0, atol=1e-12)
    assert chosen == expected or near[chosen] or near[expected]
    assert k[chosen] <= k[best(results)]


@given(cross_validations(), st.sampled_from([best, one_standard_error]))
def test_no_shorter_list_is_better(results, rule):
    mean, k = results["mean_test_score"], results["param_k"]
    chosen = rule(results)
    assert (mean[k < k[chosen]] < mean[chosen]).all()


def test_one_standard_error_takes_the_error_that_is_given():
    """Repeated folds add no independent ones: who knows of repeats says so."""
    results = {
        "param_k": np.array([1, 2, 3]),
        "mean_test_score": np.array([0.80, 0.88, 0.90]),
        "standard_error_test_score": np.array([0.5, 0.5, 0.05]),
    }
    assert one_standard_error(results) == 1


def test_rules_are_what_grid_search_takes():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        MeanDifferenceClassifier(),
        {"k": [1, 2, 4, 8]},
        scoring="roc_auc",
        refit=best,
        cv=3,
    ).fit(X, y)
    assert search.best_index_ == naive(search.cv_results_, BEST_TOLERANCE)


def test_a_callable_is_applied_and_what_is_no_index_is_refused():
    results = {"param_k": np.array([1, 2]), "mean_test_score": np.array([0.8, 0.9])}
    assert choose(lambda found: int(np.argmin(found["mean_test_score"])), results) == 0
    assert choose("best", results) == 1
    for wrong in (2, -1, 0.5, None):
        with pytest.raises(ValueError, match="from 0 to 1; it returned"):
            choose(lambda _, wrong=wrong: wrong, results)


def test_few_rows_are_judged_by_neighbouring_lengths_too():
    # Two models of each of five lengths; a lone peak at the second.
    results = {
        "param_k": np.repeat([1, 2, 3, 4, 5], 2),
        "mean_test_score": np.array(
            [0.6, 0.5, 0.9, 0.5, 0.6, 0.5, 0.8, 0.5, 0.84, 0.5]
        ),
    }
    smooth = smooth_over_lengths(results)
    expected = [(0.6 + 1.2 + 0.9) / 4, (0.6 + 1.8 + 0.6) / 4, (0.9 + 1.2 + 0.8) / 4,
                (0.6 + 1.6 + 0.84) / 4, (0.8 + 3 * 0.84) / 4]  # fmt: skip
    np.testing.assert_allclose(smooth[::2], expected)
    np.testing.assert_allclose(smooth[1::2], 0.5)
    assert best(results) == 2
    assert best({**results, "smooth_test_score": smooth}) == 8
    again = {**results, "mean_test_score": smooth}
    np.testing.assert_allclose(
        smooth_over_lengths(results, 2), smooth_over_lengths(again)
    )
    # Lengths further apart than a column are no neighbours; those of budgets are.
    apart = {**results, "param_k": np.repeat([1, 3, 6, 10, 20], 2)}
    np.testing.assert_array_equal(
        smooth_over_lengths(apart, 4), results["mean_test_score"]
    )
    budgets = {**apart, "param_budget": np.repeat([10.0, 30.0, 60.0, 100.0, 200.0], 2)}
    np.testing.assert_array_equal(smooth_over_lengths(budgets), smooth)
    alone = {"param_k": [3, 3], "mean_test_score": [0.7, 0.8]}
    assert smooth_over_lengths(alone).tolist() == [0.7, 0.8]
