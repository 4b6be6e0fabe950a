"""Honest scores and permutation test against naive loops, on noise and on signal."""

import itertools
from dataclasses import astuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.folds import make_splits
from sparseauc.metrics import auc_confidence_interval, stratified_auc
from sparseauc.outcome import Binary
from sparseauc.selection.confidence import (
    comparable_scores,
    honest_interval,
    nested_scores,
    permutation_test,
)

MODEL = SparseAUCClassifier(k=2)


@pytest.fixture(scope="module")
def signal():
    return make_outbreak(n=160, d=12, k=3, mu=0.9, r=0.3, random_state=0)


@pytest.fixture(scope="module")
def noise():
    return make_outbreak(n=160, d=12, k=0, r=0.3, random_state=1)


# ------------------------------------------------------------------------ nested scores


def test_scores_equal_a_naive_loop(signal):
    X, y = signal
    model = SparseAUCClassifierCV(ks=[1, 2, 4], alphas=[1.0, 10.0], cv=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    result = nested_scores(model, X, y, cv=folds)
    for number, (train, test) in enumerate(folds.split(X, y)):
        fitted = clone(model).fit(X[train], y[train])
        scores = fitted.decision_function(X[test])
        seen = fitted.decision_function(X[train])
        high, low = seen[y[train] > 0].mean(), seen[y[train] < 0].mean()
        np.testing.assert_allclose(
            result.scores[test], (scores - (high + low) / 2) / (high - low), atol=1e-12
        )
        assert set(result.folds[test]) == {number}
        assert result.fold_aucs[number] == pytest.approx(roc_auc_score(y[test], scores))
    centred = result.fold_scores.copy()
    for label in (-1, 1):
        centred[:, y == label] -= centred[:, y == label].mean(axis=1, keepdims=True)
    pairs = np.corrcoef(centred)[np.triu_indices(4, 1)]
    assert result.agreement == pytest.approx(pairs.mean())
    plain = auc_confidence_interval(y, result.scores)
    fewer = int(min((y > 0).sum(), (y < 0).sum()))
    assert result.interval == honest_interval(plain, result.agreement, fewer)


def test_choosing_on_all_rows_is_not_honest():
    # Columns picked on all rows of pure noise look good in cross-validation; refitted,
    # they do not.
    X, y = make_outbreak(n=80, d=300, k=0, r=0.4, random_state=0)
    chosen = SparseAUCClassifier(k=10).fit(X, y).get_support()
    cheating = nested_scores(SparseAUCClassifier(k=10), X[:, chosen], y, random_state=0)
    honest = nested_scores(SparseAUCClassifier(k=10), X, y, random_state=0)
    assert cheating.interval.low > 0.7
    assert honest.interval.low < 0.5
    # Over draws of the noise the mean of the folds deviates by 0.11 (measured).
    assert honest.fold_aucs.mean() == pytest.approx(0.5, abs=0.22)


def test_pooled_auc_is_near_that_of_the_folds(signal):
    result = nested_scores(MODEL, *signal, random_state=0)
    interval = result.interval
    assert interval.auc == pytest.approx(
        result.fold_aucs.mean(), abs=interval.standard_error
    )
    assert 0.6 < interval.low < interval.auc < interval.high


class AnyRidge(SparseAUCClassifier):
    """Ridges that alternate from fold to fold: scores of one are 1000 times those of the next."""

    alphas = itertools.cycle([0.1, 1000.0])

    def fit(self, X, y=None):
        self.alpha = next(self.alphas)
        return super().fit(X, y)


def test_folds_of_very_different_ridges_are_pooled_on_one_scale(signal):
    X, y = signal
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    raw = np.empty(y.size)
    for alpha, (train, test) in zip(
        itertools.cycle([0.1, 1000.0]), folds, strict=False
    ):
        model = SparseAUCClassifier(k=3, alpha=alpha).fit(X[train], y[train])
        raw[test] = model.decision_function(X[test])
    result = nested_scores(AnyRidge(k=3), X, y, cv=folds)
    # Within folds nothing changes, and pooled as they come the scores are worth less.
    for (_, test), area in zip(folds, result.fold_aucs, strict=True):
        assert roc_auc_score(y[test], raw[test]) == area
    within = result.fold_aucs.mean()
    assert abs(result.interval.auc - within) < 0.02
    assert roc_auc_score(y, raw) < within - 0.02
    spreads = [result.scores[test].std() for _, test in folds]
    assert max(spreads) < 2 * min(spreads)
    assert max(raw[test].std() for _, test in folds) > 100 * min(
        raw[test].std() for _, test in folds
    )


@given(st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
def test_comparable_scores_know_no_scale_or_shift(factor, shift):
    class Given:
        def decision_function(self, X):
            return factor * X[:, 0] + shift

    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(20, 1)), np.arange(20) % 2 == 0
    X[positive] += 1
    train, test = np.arange(14), np.arange(14, 20)
    found = comparable_scores(Given(), X, Binary(positive), train)[test]
    high, low = X[:14][positive[:14]].mean(), X[:14][~positive[:14]].mean()
    expected = (X[test, 0] - (high + low) / 2) / (high - low)
    np.testing.assert_allclose(
        found, expected, rtol=1e-6, atol=1e-6 * (1 + abs(shift) / factor)
    )


def test_a_model_that_tells_nothing_apart_has_scores_nonetheless():
    class Constant:
        def decision_function(self, X):
            return np.full(len(X), 3.0)

    positive = np.arange(10) % 2 == 0
    found = comparable_scores(
        Constant(), np.zeros((10, 1)), Binary(positive), np.arange(8)
    )
    np.testing.assert_array_equal(found, np.zeros(10))


def test_every_row_is_tested_once(noise):
    X, y = noise
    twice = [(np.arange(80, 160), np.arange(80)), (np.arange(100), np.arange(60, 160))]
    with pytest.raises(ValueError, match="row 60 is tested 2 times"):
        nested_scores(MODEL, X, y, cv=twice)
    with pytest.raises(ValueError, match="row 80 is tested 0 times"):
        nested_scores(MODEL, X, y, cv=twice[:1])


def test_confidence_widens_the_interval(signal):
    narrow, wide = (
        nested_scores(MODEL, *signal, random_state=0, confidence=c).interval
        for c in (0.5, 0.99)
    )
    assert wide.low < narrow.low < narrow.auc == wide.auc < narrow.high < wide.high


def test_groups_stay_together(signal):
    X, y = signal
    groups = np.arange(y.size) // 4
    for cv in (4, GroupKFold(4)):
        result = nested_scores(MODEL, X, y, cv=cv, groups=groups, random_state=0)
        assert all(
            np.unique(result.folds[groups == g]).size == 1 for g in np.unique(groups)
        )


def test_folds_of_one_class_have_no_auc(signal):
    X, y = signal
    result = nested_scores(MODEL, X[:20], y[:20], cv=LeaveOneOut())
    assert np.isnan(result.fold_aucs).all()
    assert np.isfinite(result.interval.auc)


def test_any_table_labels_and_classifier(signal):
    X, y = signal
    expected = nested_scores(MODEL, X, y, random_state=0).scores
    names = [f"gene{j}" for j in range(12)]
    tables = (
        sp.csr_array(X),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(dict(zip(names, X.T, strict=True))),
    )
    for table in tables:
        named = np.where(y > 0, "yes", "no")
        found = nested_scores(MODEL, table, named, random_state=0)
        np.testing.assert_allclose(found.scores, expected)
    # Without a decision function probabilities of the positive class do, as they are.
    bayes = nested_scores(GaussianNB(), X, y, random_state=0)
    assert bayes.interval.auc > 0.7
    assert np.all((bayes.scores >= 0) & (bayes.scores <= 1))


# --------------------------------------------------------------------- permutation test


def test_permutation_equals_a_naive_loop(noise):
    X, y = noise
    model = make_pipeline(StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(3)

    def mean_auc(labels):
        return np.mean(
            [
                roc_auc_score(
                    labels[test],
                    clone(model)
                    .fit(X[train], labels[train])
                    .decision_function(X[test]),
                )
                for train, test in folds.split(X, labels)
            ]
        )

    result = permutation_test(model, X, y, n_permutations=4, cv=folds, random_state=4)
    rng = np.random.RandomState(4)
    null = [mean_auc(y[rng.permutation(y.size)]) for _ in range(4)]
    np.testing.assert_allclose(result.null, null)
    assert result.auc == pytest.approx(mean_auc(y))
    assert result.pvalue == (1 + np.sum(np.array(null) >= result.auc)) / 5


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_permutation_of_an_estimator_that_chooses(noise, n_jobs):
    """One fit a permutation, compared by the score it chose by; against a naive loop."""
    X, y = noise
    model = SparseAUCClassifierCV(ks=[1, 2], alphas=[1.0, 10.0], cv=3)
    done = []
    result = permutation_test(
        make_pipeline(StandardScaler(), model), X, y, n_permutations=5, random_state=4,
        n_jobs=n_jobs, progress=lambda *steps: done.append(steps),
    )  # fmt: skip
    rng = np.random.RandomState(4)
    X = StandardScaler().fit_transform(X)
    null = [
        clone(model).fit(X, y[rng.permutation(y.size)]).best_score_ for _ in range(5)
    ]
    np.testing.assert_array_equal(result.null, null)
    assert result.auc == model.fit(X, y).best_score_
    assert result.pvalue == (1 + np.sum(np.array(null) >= result.auc)) / 6
    assert done == [("Permuting outcomes", i, 5) for i in range(6)]


@pytest.mark.parametrize("chooses", [True, False])
def test_permutation_within_strata_equals_a_naive_loop(noise, chooses):
    X, y = noise
    sites = np.arange(y.size) % 3
    model = SparseAUCClassifierCV(ks=[1, 2], alphas=[1.0], cv=3) if chooses else MODEL
    result = permutation_test(
        model,
        X,
        y,
        n_permutations=4,
        cv=None if chooses else 3,
        strata=sites,
        random_state=4,
    )
    rng, null = np.random.RandomState(4), []
    splits = None
    if not chooses:
        outcome = Binary(y == np.unique(y)[1]).within(sites)
        splits = make_splits(
            3, X, outcome.positive, None, rng, n_repeats=1, strata=outcome.strata
        )
    for _ in range(5):
        labels = y.copy()
        if null:
            uniform = rng.uniform(size=y.size)
            for site in range(3):
                rows = np.flatnonzero(sites == site)
                labels[rows] = y[rows[np.argsort(uniform[rows])]]
        if chooses:
            null.append(clone(model).fit(X, labels, strata=sites).best_score_)
            continue
        null.append(0.0)
        for train, test in splits:
            fitted = clone(model).fit(X[train], labels[train], strata=sites[train])
            scores = fitted.decision_function(X[test])
            null[-1] += stratified_auc(labels[test], scores, sites[test]).auc / 3
    assert result.auc == pytest.approx(null[0])
    assert result.null == pytest.approx(null[1:])


@pytest.mark.slow
def test_permutation_pvalues_of_noise_are_uniform_with_choices():
    """The score chosen by is too high, for shuffled labels as much."""
    rng = np.random.default_rng(0)
    y = np.arange(60) < 20
    model = SparseAUCClassifierCV(ks=[1, 2, 3], alphas=[1.0], cv=2)
    pvalues = [
        permutation_test(
            model, rng.standard_normal((60, 4)), y, n_permutations=9, random_state=seed
        ).pvalue
        for seed in range(12)
    ]
    # Uniform on 0.1, 0.2 … 1: mean 0.55, variance 0.0825.
    assert np.mean(pvalues) == pytest.approx(0.55, abs=3 * np.sqrt(0.0825 / 12))


def test_permutation_tells_signal(signal):
    result = permutation_test(MODEL, *signal, n_permutations=19, cv=3, random_state=0)
    assert result.pvalue == 1 / 20
    assert result.auc > result.null.max()
    # Shuffled labels rank by chance: their mean AUC is 1/2 within its standard error.
    error = result.null.std(ddof=1) / np.sqrt(19)
    assert result.null.mean() == pytest.approx(0.5, abs=4 * error)


@pytest.mark.slow
def test_permutation_pvalues_of_noise_are_uniform():
    rng = np.random.default_rng(0)
    y = np.arange(60) < 20
    pvalues = [
        permutation_test(
            MODEL,
            rng.standard_normal((60, 4)),
            y,
            n_permutations=9,
            cv=2,
            random_state=seed,
        ).pvalue
        for seed in range(12)
    ]
    # Uniform on 0.1, 0.2 … 1: mean 0.55, variance 0.0825.
    assert np.mean(pvalues) == pytest.approx(0.55, abs=3 * np.sqrt(0.0825 / 12))


# ----------------------------------------------------------------------- seeds,
# threads, bad input


def test_same_seed_same_answer_whatever_the_jobs(noise):
    # A model that starts in no time in the processes of scikit-learn's own loops.
    model = LogisticRegression()
    alone, together = (
        permutation_test(
            model, *noise, n_permutations=6, cv=2, random_state=0, n_jobs=n_jobs
        )
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(alone.null, together.null)
    alone, together = (
        nested_scores(model, *noise, random_state=0, n_jobs=n) for n in (1, 2)
    )
    np.testing.assert_array_equal(alone.scores, together.scores)
    np.testing.assert_array_equal(alone.folds, together.folds)


FUNCTIONS = [nested_scores, permutation_test]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_data_are_checked(noise, function):
    X, y = noise
    with pytest.raises(ValueError, match="one class only"):
        function(MODEL, X, np.ones(160))
    with pytest.raises(ValueError, match="3 classes"):
        function(MODEL, X, np.arange(160) % 3)
    with pytest.raises(ValueError, match="single row of class True"):
        function(MODEL, X, np.arange(160) == 3)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        function(MODEL, X, y[:-1])
    with pytest.raises(ValueError, match="one-dimensional"):
        function(MODEL, X, y[:, None])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_folds_are_checked(noise, function):
    X, y = noise
    with pytest.raises(
        ValueError, match="3 positive rows, fewer than the 5 folds: use cv=3"
    ):
        function(MODEL, X, np.arange(160) < 3)
    with pytest.raises(ValueError, match="cv=1: cross-validation needs two folds"):
        function(MODEL, X, y, cv=1)


def test_folds_without_both_classes_have_no_null(noise):
    X, y = noise
    sorted_rows = np.argsort(y)
    with pytest.raises(ValueError, match="a fold has no two rows to compare"):
        permutation_test(MODEL, X[sorted_rows], y[sorted_rows], cv=KFold(5))
    two_a_fold = np.arange(40) % 5 == 0
    with pytest.raises(ValueError, match="shuffled labels left a fold with one class"):
        permutation_test(
            GaussianNB(),
            X[:40],
            two_a_fold,
            cv=KFold(4),
            n_permutations=20,
            random_state=0,
        )


def test_numbers_are_checked(noise):
    with pytest.raises(ValueError, match="n_permutations"):
        permutation_test(MODEL, *noise, n_permutations=0)
    for confidence in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="confidence"):
            nested_scores(MODEL, *noise, confidence=confidence)


def test_interval_is_wider_the_less_the_folds_agree():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 4 == 0
    plain = auc_confidence_interval(y, y + rng.normal(size=100))
    found = [
        honest_interval(plain, agreement, 25)
        for agreement in (1.0, 0.95, 0.85, 0.2, -0.1)
    ]
    widths = [one.high - one.low for one in found]
    assert widths == sorted(widths)
    assert widths[2] == pytest.approx(widths[4])
    assert plain.high - plain.low < widths[0] < 1.3 * (plain.high - plain.low)
    ratio = found[-1].standard_error / found[0].standard_error
    assert ratio == pytest.approx(np.sqrt(2.2))
    assert {one.auc for one in found} == {plain.auc}


@pytest.mark.parametrize("turned", [False, True])
def test_interval_of_classes_that_are_told_apart(turned):
    y = np.arange(60) % 3 == 0
    plain = auc_confidence_interval(y, np.where(turned, ~y, y))
    assert honest_interval(plain, 1.0, 20) == plain  # exact, of twenty pairs that agree
    found = honest_interval(plain, 0.5, 20)
    half = auc_confidence_interval(y[:27], np.where(turned, ~y, y)[:27])
    assert found.high - found.low == pytest.approx(half.high - half.low, rel=0.01)
    assert found.low <= plain.auc <= found.high
    same = auc_confidence_interval(y, np.zeros(60))
    wider = honest_interval(same, 0.0, 20)
    assert wider.low < same.low < 0.5 < same.high < wider.high


@pytest.mark.slow
def test_interval_on_noise_lies_above_one_half_in_few_tables():
    rng = np.random.default_rng(1)
    above, covered = 0, 0
    for seed in range(60):
        X, y = rng.normal(size=(80, 8)), np.arange(80) % 3 == 0
        interval = nested_scores(
            SparseAUCClassifier(k=2, alpha=1.0), X, y, random_state=seed
        ).interval
        above += interval.low > 0.5
        covered += interval.low <= 0.5 <= interval.high
    assert above <= 3
    assert covered >= 55


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "size"), [(30, 4), (20, 10)])
def test_intervals_of_related_rows_cover_chance(n_groups, size):
    """On noise, intervals that took rows as independent covered one half in 63 to 71 of 100."""
    model = SparseAUCClassifier(k=3)
    groups = np.repeat(np.arange(n_groups), size)
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(n_groups) % 2)[groups]
        X = rng.normal(size=(n_groups, 10))[groups] + 0.3 * rng.normal(
            size=(groups.size, 10)
        )
        found.append(
            nested_scores(model, X, y, groups=groups, random_state=seed).interval
        )
    low, high = np.array([(one.low, one.high) for one in found]).T
    assert np.mean((low <= 0.5) & (high >= 0.5)) >= 0.9
    assert np.mean(low > 0.5) <= 0.05


def test_the_interval_of_related_rows_is_that_of_groups(signal):
    X, y = signal
    groups = np.arange(160) // 2
    X = X[groups * 2]
    y = y[groups * 2]
    found = nested_scores(MODEL, X, y, groups=groups, random_state=0)
    plain = auc_confidence_interval(y, found.scores, groups=groups)
    fewer = min(np.unique(groups[y > 0]).size, np.unique(groups[y < 0]).size)
    expected = honest_interval(plain, found.agreement, fewer)
    assert astuple(found.interval) == pytest.approx(astuple(expected), rel=1e-12)
    apart = auc_confidence_interval(y, found.scores)
    assert found.interval.standard_error > 1.3 * apart.standard_error
