"""Logistic regression on few columns against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sparseauc.solvers.logistic import logistic_regression, logistic_regressions


def oracle(X, positive, weight, ridge):
    scaler = StandardScaler().fit(X, sample_weight=weight)
    total = len(X) if weight is None else weight.sum()
    model = LogisticRegression(
        C=1.0 / (ridge * total), tol=1e-12, solver="newton-cholesky", max_iter=1000
    )
    model.fit(scaler.transform(X), positive, sample_weight=weight)
    return model.decision_function(scaler.transform(X))


@settings(max_examples=40)
@given(
    st.integers(4, 60), st.integers(1, 5), st.floats(-3, 3), st.sampled_from([0.1, 0.001]),
    st.booleans(), st.integers(0, 1000),
)  # fmt: skip
def test_scores_are_those_of_scikit_learn(n, k, exponent, ridge, weighted, seed):
    random = np.random.default_rng(seed)
    X = 10.0**exponent * (random.normal(size=(n, k)) + random.normal(size=k))
    positive = X @ random.normal(size=k) / 10.0**exponent + random.normal(size=n) > 0
    positive[:2] = True, False
    weight = random.uniform(0.1, 3.0, n) if weighted else None
    coef, intercept = logistic_regression(X, positive, weight, ridge=ridge)
    np.testing.assert_allclose(
        X @ coef + intercept, oracle(X, positive, weight, ridge), rtol=1e-6, atol=1e-6
    )


@settings(max_examples=30)
@given(st.integers(6, 80), st.integers(1, 7), st.integers(1, 8), st.integers(0, 1000))
def test_lists_are_fitted_as_each_on_its_own(n, d, n_lists, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) @ random.normal(size=(d, d))
    positive = X[:, 0] + random.normal(size=n) > 0.5
    positive[:2] = True, False
    weight = random.uniform(0.1, 3.0, n)
    order = random.permutation(d)
    # Some nest, some do not, and some are the same.
    lists = [
        np.sort(order[:k] if random.random() < 0.6 else random.permutation(d)[:k])
        for k in np.sort(random.integers(1, d + 1, n_lists))
    ]
    ridges = (0.1, 0.001)
    coefs, intercepts = logistic_regressions(X, positive, weight, lists, ridges)
    ends = np.cumsum([len(chosen) for chosen in lists])
    for i, ridge in enumerate(ridges):
        for j, coef in enumerate(np.split(coefs[i], ends[:-1])):
            chosen = lists[j]
            np.testing.assert_allclose(
                X[:, chosen] @ coef + intercepts[i, j],
                oracle(X[:, chosen], positive, weight, ridge),
                rtol=1e-6, atol=1e-6,
            )  # fmt: skip


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.integers(0, 1000))
def test_nothing_is_lower_under_signs_and_within_strata(k, n_strata, signed, seed):
    random = np.random.default_rng(seed)
    n, ridge = 60, 0.01
    X = random.normal(size=(n, k)) + random.normal(size=k)
    code = np.arange(n) % n_strata
    positive = X @ random.normal(size=k) + code + random.normal(size=n) > 1
    positive[: 2 * n_strata] = np.repeat([True, False], n_strata)
    signs = random.integers(-1, 2, k) if signed else np.zeros(k, np.int64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    coef, _ = logistic_regression(
        X, positive, ridge=ridge, signs=signs, intercept_of=code
    )
    assert (signs * coef >= 0).all()
    # Intercepts by Newton's method in one dimension each.
    height = np.zeros(n_strata)
    for _ in range(200):
        p = expit(X @ coef + height[code])
        height -= np.bincount(code, p - positive) / np.bincount(
            code, p * (1 - p) + 1e-3
        )
    gradient = X.T @ (expit(X @ coef + height[code]) - positive) / n + ridge * coef
    # Zero, but for coefficients that their sign keeps at 0.
    kept = (signs != 0) & (coef == 0)
    np.testing.assert_allclose(gradient[~kept], 0, atol=1e-7)
    assert (signs * gradient)[kept].min(initial=0) >= -1e-7


def test_separated_rows_and_steps_too_long_end_at_the_minimum():
    # A heavy tail: full steps of Newton's method go too far.
    random = np.random.default_rng(3)
    X = random.standard_cauchy(size=(200, 3)) ** 3
    positive = X[:, 0] + random.normal(size=200) > 0
    coef, intercept = logistic_regression(X, positive, ridge=1e-3)
    np.testing.assert_allclose(
        X @ coef + intercept, oracle(X, positive, None, 1e-3), rtol=1e-5, atol=1e-5
    )


def test_a_weight_of_two_counts_as_two_rows():
    random = np.random.default_rng(0)
    X, positive = random.normal(size=(30, 2)), random.random(30) < 0.4
    weight = random.integers(1, 4, 30)
    coef, intercept = logistic_regression(X, positive, weight.astype(float))
    repeated = logistic_regression(
        np.repeat(X, weight, axis=0), np.repeat(positive, weight)
    )
    np.testing.assert_allclose(
        [*coef, intercept], [*repeated[0], repeated[1]], rtol=1e-8
    )


@pytest.mark.parametrize("gap", [1.0, 1e6])
def test_separated_classes_have_finite_coefficients(gap):
    X = np.concatenate([np.full((20, 1), -gap), np.full((5, 1), gap)])
    positive = X[:, 0] > 0
    coef, intercept = logistic_regression(X, positive, ridge=1e-9)
    assert np.isfinite(coef).all()
    assert ((X @ coef + intercept > 0) == positive).all()


def test_a_constant_column_has_no_coefficient():
    random = np.random.default_rng(1)
    X = np.column_stack([random.normal(size=40), np.full(40, 0.1)])
    coef, _ = logistic_regression(X, random.random(40) < 0.5)
    assert coef[1] == 0


def test_no_columns_leave_the_share_of_positives():
    positive = np.arange(40) < 10
    coef, intercept = logistic_regression(np.empty((40, 0)), positive)
    assert coef.size == 0
    assert intercept == pytest.approx(np.log(10 / 30))


@pytest.mark.parametrize("unit", [1e-150, 1e200])
def test_units_do_not_matter(unit):
    random = np.random.default_rng(2)
    X, positive = random.normal(size=(50, 2)), random.random(50) < 0.4
    coef, intercept = logistic_regression(X, positive)
    scaled, same = logistic_regression(unit * X, positive, np.full(50, 1 / unit))
    np.testing.assert_allclose([*(scaled * unit), same], [*coef, intercept], rtol=1e-9)
