"""Metrics against their definitions: every pair of rows visited, every set written out."""

import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from sparseauc.errors import InputError
from sparseauc.metrics import (
    AUCInterval,
    DeLongTest,
    auc,
    auc_confidence_interval,
    delong_test,
    fast_auc,
    stratified_auc,
)

# ------------------------------------------------------------------------------ naive
# versions


def pair_wins(scores, positive):
    """ψ, shape (n₊, n₋): 1 where the positive scores above the negative, 1/2 where they tie."""
    difference = scores[positive][:, None] - scores[~positive][None, :]
    return (np.sign(difference) + 1) / 2


def naive_auc(scores, positive, weights=None):
    weights = np.ones(len(scores)) if weights is None else weights
    pair_weights = np.outer(weights[positive], weights[~positive])
    return (pair_weights * pair_wins(scores, positive)).sum() / pair_weights.sum()


def naive_delong_variance(wins):
    """Variance of the mean of ψ (or of a difference of two ψ) from its structural components."""
    n_positive, n_negative = wins.shape
    return (
        np.var(wins.mean(axis=1), ddof=1) / n_positive
        + np.var(wins.mean(axis=0), ddof=1) / n_negative
    )


# ------------------------------------------------------------------------------ drawn
# problems


@st.composite
def ranking_problems(draw, min_per_class=1):
    """Labels, two scores with many ties, on one of several scales, and some zero weights."""
    n_positive = draw(st.integers(min_per_class, 12))
    n_negative = draw(st.integers(min_per_class, 12))
    n = n_positive + n_negative
    positive = np.zeros(n, dtype=bool)
    positive[:n_positive] = True
    positive = positive[draw(st.permutations(range(n)))]
    levels = st.lists(st.integers(-4, 4), min_size=n, max_size=n)
    scale = draw(st.sampled_from([1.0, 1e-300, 1e300]))
    scores = np.array([draw(levels), draw(levels)]) * scale
    weights = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 7.5]), min_size=n, max_size=n))
    )
    weights[positive.argmax()] = weights[positive.argmin()] = 1.0
    return positive, scores[0], scores[1], weights


quick = settings(max_examples=150, deadline=None)


# ---------------------------------------------------------------------------------- AUC


@quick
@given(ranking_problems())
def test_auc_equals_the_share_of_pairs(problem):
    positive, scores, _, weights = problem
    assert_allclose(fast_auc(scores, positive), naive_auc(scores, positive), atol=1e-12)
    assert_allclose(
        fast_auc(scores, positive, weights),
        naive_auc(scores, positive, weights),
        atol=1e-12,
    )
    assert auc(positive, scores) == fast_auc(scores, positive)
    assert auc(positive, scores, weights) == fast_auc(scores, positive, weights)


@quick
@given(ranking_problems())
def test_auc_equals_scikit_learn(problem):
    positive, scores, _, weights = problem
    assert_allclose(auc(positive, scores), roc_auc_score(positive, scores), atol=1e-12)
    assert_allclose(
        auc(positive, scores, weights),
        roc_auc_score(positive, scores, sample_weight=weights),
        atol=1e-12,
    )


@pytest.mark.parametrize("share_positive", [0.002, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("decimals", [1, 12])
def test_auc_of_many_rows_equals_scikit_learn(share_positive, decimals):
    rng = np.random.default_rng(0)
    positive = rng.random(5000) < share_positive
    scores = np.round(rng.normal(size=5000) + positive, decimals)
    weights = rng.exponential(size=5000)
    assert_allclose(auc(positive, scores), roc_auc_score(positive, scores), rtol=1e-12)
    assert_allclose(
        auc(positive, scores, weights),
        roc_auc_score(positive, scores, sample_weight=weights),
        rtol=1e-12,
    )


@quick
@given(ranking_problems())
def test_auc_of_reversed_scores_or_labels_is_the_complement(problem):
    positive, scores, _, weights = problem
    for w in (None, weights):
        forward = fast_auc(scores, positive, w)
        assert_allclose(fast_auc(-scores, positive, w), 1 - forward, atol=1e-12)
        assert_allclose(fast_auc(scores, ~positive, w), 1 - forward, atol=1e-12)
        assert 0.0 <= forward <= 1.0


def test_whole_weights_count_as_repeated_rows():
    rng = np.random.default_rng(1)
    positive = rng.random(60) < 0.4
    scores = rng.integers(0, 8, size=60)
    repeats = rng.integers(0, 4, size=60)
    repeated = auc(np.repeat(positive, repeats), np.repeat(scores, repeats))
    assert_allclose(auc(positive, scores, repeats), repeated, rtol=1e-14)
    assert_allclose(
        auc(positive, scores, repeats.astype(np.float32)), repeated, rtol=1e-14
    )


@pytest.mark.parametrize("n_positive", [1, 3, 60])
def test_separated_classes_give_exactly_one_and_zero(n_positive):
    weights = np.random.default_rng(2).exponential(size=63)
    positive = np.arange(63) >= 63 - n_positive
    scores = np.arange(63.0)
    for w in (None, weights):
        assert auc(positive, scores, w) == 1.0
        assert auc(positive, -scores, w) == 0.0


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1, 0],
        [-1, 1, 1, -1],
        [False, True, True, False],
        [2.5, 3.5, 3.5, 2.5],
        ["control", "tumour", "tumour", "control"],
        np.array(["a", "b", "b", "a"], dtype=object),
    ],
)
def test_the_larger_label_is_positive(labels):
    assert auc(labels, [0.1, 0.4, 0.35, 0.8]) == 0.5
    assert auc(labels, [1, 3, 2, 0]) == 1.0


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.uint64, object]
)
def test_scores_of_any_real_type(dtype):
    scores = np.array([3, 1, 2, 2, 0], dtype=dtype)
    assert auc([1, 0, 1, 0, 0], scores) == 5.5 / 6
    assert auc([1, 0, 1, 0], [True, False, True, True]) == 0.75


def test_large_integer_scores_are_not_rounded_into_ties():
    assert auc([0, 1], [2**60, 2**60 + 1]) == 1.0


def test_inputs_are_left_alone():
    scores, positive, weights = (
        np.array([2.0, 1.0, 3.0]),
        np.array([True, False, True]),
        np.ones(3),
    )
    for array in (scores, positive, weights):
        array.setflags(write=False)
    auc(positive, scores, weights)
    assert fast_auc(scores, positive) == 1.0
    assert isinstance(fast_auc(scores, positive), float)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "y_true is empty"),
        ([0, 0, 0], "holds one class only, 0: two classes are needed"),
        (["yes", "yes", "yes"], "holds one class only, 'yes'"),
        ([0, 1, 2], r"3 classes: 0, 1, 2\). Pass y_true == label"),
        (list("abcdefg"), r"7 classes: 'a', 'b', 'c', 'd', 'e', …\)"),
        ([0.0, np.nan, 1.0], "y_true is nan in row 1"),
        (np.array(["a", "a", np.nan], dtype=object), "y_true is nan in row 2"),
        (np.array([0, 0, np.nan], dtype=object), "y_true is nan in row 2"),
        (np.array([0, "a", 1], dtype=object), "cannot be ordered, or has missing ones"),
        (
            np.array([0, 1, pd.NA], dtype=object),
            "cannot be ordered, or has missing ones",
        ),
        ([[0], [1], [1]], r"y_true must be one-dimensional, got shape \(3, 1\)"),
    ],
)
def test_bad_labels(labels, message):
    scores = np.zeros(len(labels))
    with pytest.raises(ValueError, match=message):
        auc(labels, scores)
    with pytest.raises(ValueError, match=message):
        auc_confidence_interval(labels, scores)
    with pytest.raises(ValueError, match=message):
        delong_test(labels, scores, scores)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, 0.2, 0.3], " has 3 rows, the labels 4"),
        ([0.1, 0.2, np.nan, np.nan], " is nan in row 2: it must be finite"),
        ([0.1, -np.inf, 0.3, 0.4], " is -inf in row 1: it must be finite"),
        (
            [[0.1, 0.9]] * 4,
            r" must be one-dimensional, got shape \(4, 2\): .* take the second",
        ),
        (["a", "b", "c", "d"], " must hold real numbers, got dtype <U1"),
        ([1j, 2j, 3j, 4j], " must hold real numbers, got dtype complex128"),
        (np.array([1, 2, 3, "x"], dtype=object), " has entries that are not numbers"),
        (np.array([1, 2, 3, None], dtype=object), " is nan in row 3"),
    ],
)
def test_bad_scores(scores, message):
    labels = [0, 1, 0, 1]
    good = [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(ValueError, match="y_score" + message):
        auc(labels, scores)
    with pytest.raises(ValueError, match="y_score" + message):
        auc_confidence_interval(labels, scores)
    with pytest.raises(ValueError, match="score_a" + message):
        delong_test(labels, scores, good)
    with pytest.raises(ValueError, match="score_b" + message):
        delong_test(labels, good, scores)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, 1], "sample_weight has 3 rows, the labels 4"),
        ([1, 1, -0.5, 1], "sample_weight is -0.5 in row 2: give 0 or more"),
        ([1, np.nan, 1, 1], "sample_weight is nan in row 1: it must be finite"),
        ([1, 1, 1, np.inf], "sample_weight is inf in row 3"),
        ([1, 0, 1, 0], "sample_weight is zero on all rows of class 'sick'"),
        ([0, 1, 0, 1], "sample_weight is zero on all rows of class 'healthy'"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        auc(["healthy", "sick", "healthy", "sick"], [0.1, 0.2, 0.3, 0.4], weights)


# --------------------------------------------------------------------------- confidence
# interval


@quick
@given(ranking_problems(min_per_class=2))
def test_standard_error_equals_the_one_over_pairs(problem):
    positive, scores, _, _ = problem
    interval = auc_confidence_interval(positive, scores)
    wins = pair_wins(scores, positive)
    assert interval.auc == auc(positive, scores)
    assert_allclose(interval.standard_error**2, naive_delong_variance(wins), atol=1e-12)
    assert 0.0 <= interval.low <= interval.auc <= interval.high <= 1.0
    assert interval.low < interval.high


def naive_obuchowski_variance(wins, positive, groups):
    """Variance of the mean of ψ of related rows: equation 4 of Obuchowski (1997)."""
    n_positive, n_negative = wins.shape
    area = wins.mean()
    of_positives, of_negatives = wins.mean(axis=1), wins.mean(axis=0)
    names = np.unique(groups)
    rows = np.array([
        [
            np.sum(of_positives[groups[positive] == name] - area),
            np.sum(of_negatives[groups[~positive] == name] - area),
        ]
        for name in names
    ])  # fmt: skip
    both = len(names)
    sizes = [np.unique(groups[side]).size for side in (positive, ~positive)]
    within = [
        np.sum(sums**2) * size / max(1, size - 1)
        for sums, size in zip(rows.T, sizes, strict=True)
    ]
    between = np.sum(rows[:, 0] * rows[:, 1]) * both / (both - 1)
    return (
        within[0] / n_positive**2
        + within[1] / n_negative**2
        + 2 * between / (n_positive * n_negative)
    )


@quick
@given(ranking_problems(min_per_class=2), st.integers(2, 6), st.integers(0, 1000))
def test_standard_errors_of_related_rows_are_obuchowskis(problem, n_groups, seed):
    positive, one, other, _ = problem
    groups = np.random.default_rng(seed).permutation(
        np.arange(positive.size) % n_groups
    )
    names = np.array(list("badcfe"))[groups]
    interval = auc_confidence_interval(positive, one, groups=names)
    wins = pair_wins(one, positive)
    expected = max(0.0, naive_obuchowski_variance(wins, positive, groups))
    assert_allclose(interval.standard_error**2, expected, atol=1e-12)
    assert interval.low <= interval.auc <= interval.high
    paired = delong_test(positive, one, other, groups=names)
    apart = wins - pair_wins(other, positive)
    expected = max(0.0, naive_obuchowski_variance(apart, positive, groups))
    assert_allclose(paired.standard_error**2, expected, atol=1e-12)
    alone = auc_confidence_interval(positive, one, groups=np.arange(positive.size))
    plain = auc_confidence_interval(positive, one)
    for name in ("auc", "low", "high", "standard_error"):
        assert getattr(alone, name) == pytest.approx(getattr(plain, name), abs=1e-12)


def test_groups_that_do_not_fit_the_rows_are_refused():
    with pytest.raises(
        InputError, match=r"groups must label each of the 4 rows, got shape \(3,\)"
    ):
        auc_confidence_interval([0, 0, 1, 1], [1, 2, 3, 4], groups=[0, 1, 2])


def test_interval_is_symmetric_on_the_logit_scale():
    rng = np.random.default_rng(3)
    positive = rng.random(200) < 0.3
    scores = rng.normal(size=200) + positive
    interval = auc_confidence_interval(positive, scores, confidence=0.9)
    logits = np.log(np.array([interval.low, interval.auc, interval.high]))
    logits -= np.log1p(-np.array([interval.low, interval.auc, interval.high]))
    slope = 1 / (interval.auc * (1 - interval.auc))
    half_width = stats.norm.ppf(0.95) * interval.standard_error * slope
    assert_allclose(np.diff(logits), half_width, rtol=1e-10)
    assert interval.confidence == 0.9


def test_interval_mirrors_when_scores_are_reversed():
    rng = np.random.default_rng(4)
    positive = rng.random(80) < 0.4
    scores = rng.normal(size=80) + positive
    forward = auc_confidence_interval(positive, scores)
    backward = auc_confidence_interval(positive, -scores)
    assert_allclose(
        [backward.low, backward.high], [1 - forward.high, 1 - forward.low], rtol=1e-12
    )


def test_interval_widens_with_confidence():
    labels, scores = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    narrow = auc_confidence_interval(labels, scores, confidence=0.5)
    wide = auc_confidence_interval(labels, scores, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("n_positive", [2, 9, 40])
def test_unanimous_pairs_get_the_bound_of_clopper_and_pearson(n_positive):
    positive = np.arange(50) >= 50 - n_positive
    n_pairs = min(n_positive, 50 - n_positive)
    bound = stats.binomtest(n_pairs, n_pairs).proportion_ci(0.95, method="exact").low

    perfect = auc_confidence_interval(positive, np.arange(50))
    assert (perfect.auc, perfect.high, perfect.standard_error) == (1.0, 1.0, 0.0)
    assert_allclose(perfect.low, bound, rtol=1e-10)

    reversed_ = auc_confidence_interval(positive, -np.arange(50))
    assert (reversed_.auc, reversed_.low, reversed_.standard_error) == (0.0, 0.0, 0.0)
    assert_allclose(reversed_.high, 1 - bound, rtol=1e-10)

    tied = auc_confidence_interval(positive, np.full(50, 0.1))
    assert (tied.auc, tied.standard_error) == (0.5, 0.0)
    assert_allclose([tied.low, tied.high], [bound / 2, 1 - bound / 2], rtol=1e-10)


@quick
@given(ranking_problems(min_per_class=2))
def test_zero_variance_means_that_all_pairs_agree(problem):
    positive, scores, _, _ = problem
    unanimous = np.ptp(pair_wins(scores, positive)) == 0
    assert (auc_confidence_interval(positive, scores).standard_error == 0) == unanimous


@pytest.mark.parametrize("shift", [0.0, 1.0, 1.8])
def test_interval_covers_the_true_auc(shift):
    rng = np.random.default_rng(5)
    n_runs, confidence = 600, 0.95
    positive = np.arange(140) < 40
    truth = stats.norm.cdf(shift / np.sqrt(2))
    covered = 0
    for _ in range(n_runs):
        interval = auc_confidence_interval(
            positive, rng.normal(size=140) + shift * positive, confidence
        )
        covered += interval.low <= truth <= interval.high
    # Four binomial standard errors below 95 %, and two per cent for the normal
    # approximation.
    spread = 4 * np.sqrt(confidence * (1 - confidence) / n_runs)
    assert confidence - spread - 0.02 < covered / n_runs < confidence + spread


def test_interval_covers_when_most_samples_are_separated():
    rng = np.random.default_rng(6)
    positive = np.arange(24) < 8
    shift = 3.5
    truth = stats.norm.cdf(shift / np.sqrt(2))
    covered = []
    for _ in range(400):
        interval = auc_confidence_interval(
            positive, rng.normal(size=24) + shift * positive
        )
        if interval.standard_error == 0:
            covered.append(interval.low <= truth <= interval.high)
    assert len(covered) > 100
    assert all(covered)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95, np.nan])
def test_bad_confidence(confidence):
    with pytest.raises(
        ValueError, match="confidence must lie strictly between 0 and 1, got"
    ):
        auc_confidence_interval([0, 1, 0, 1], [1, 2, 3, 4], confidence)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 0, 1], "single row of class 1: 2 of each are needed"),
        (["a", "b", "b", "b"], "single row of class 'a'"),
    ],
)
def test_variance_needs_two_rows_of_each_class(labels, message):
    with pytest.raises(ValueError, match=message):
        auc_confidence_interval(labels, [1, 2, 3, 4])
    with pytest.raises(ValueError, match=message):
        delong_test(labels, [1, 2, 3, 4], [4, 3, 2, 1])


# -------------------------------------------------------------------------- DeLong test


@quick
@given(ranking_problems(min_per_class=2))
def test_delong_equals_the_one_over_pairs(problem):
    positive, score_a, score_b, _ = problem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = delong_test(positive, score_a, score_b)
    wins = pair_wins(score_a, positive) - pair_wins(score_b, positive)
    variance = naive_delong_variance(wins)
    assert result.auc_a == auc(positive, score_a)
    assert result.auc_b == auc(positive, score_b)
    assert_allclose(result.difference, wins.mean(), atol=1e-12)
    assert_allclose(result.standard_error**2, variance, atol=1e-12)
    if result.standard_error > 0:
        z = wins.mean() / np.sqrt(variance)
        assert_allclose(result.statistic, z, rtol=1e-9, atol=1e-12)
        assert_allclose(result.pvalue, 2 * stats.norm.sf(abs(z)), rtol=1e-9)


@quick
@given(ranking_problems(min_per_class=2))
def test_delong_of_swapped_scores_changes_sign_only(problem):
    positive, score_a, score_b, _ = problem
    one, other = (
        delong_test(positive, score_a, score_b),
        delong_test(positive, score_b, score_a),
    )
    assert one.pvalue == other.pvalue
    assert one.statistic == -other.statistic
    assert one.difference == -other.difference


def test_delong_of_scores_that_rank_alike():
    rng = np.random.default_rng(7)
    positive, scores = rng.random(99) < 0.3, rng.normal(size=99)
    for twin in (scores, 3 * scores, np.exp(scores)):
        result = delong_test(positive, scores, twin)
        assert (result.difference, result.standard_error) == (0.0, 0.0)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_delong_without_variance_falls_back_on_a_bound():
    few = delong_test([0, 0, 1, 1], [1, 2, 3, 4], [4, 3, 2, 1])
    assert (few.difference, few.standard_error, few.statistic) == (1.0, 0.0, np.inf)
    assert_allclose(few.pvalue, 2 * np.exp(-1))

    labels = np.repeat([0, 1], [80, 60])
    many = delong_test(labels, -labels, labels)
    assert (many.difference, many.statistic) == (-1.0, -np.inf)
    assert_allclose(many.pvalue, 2 * np.exp(-30))

    # Neither score is unanimous here, yet the components differ by one half throughout.
    subtle = delong_test([1, 1, 0, 0], [2, 4, 1, 3], [1, 3, 2, 4])
    assert (subtle.difference, subtle.standard_error, subtle.pvalue) == (0.5, 0.0, 1.0)


def test_delong_pvalues_are_uniform_when_the_aucs_are_equal():
    rng = np.random.default_rng(8)
    positive = np.arange(160) < 50
    pvalues = []
    for _ in range(500):
        shared = rng.normal(size=160) + 1.2 * positive
        score_a, score_b = shared + rng.normal(size=(2, 160))
        pvalues.append(delong_test(positive, score_a, score_b).pvalue)
    pvalues = np.array(pvalues)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01
    assert 0.02 < np.mean(pvalues < 0.05) < 0.09


def test_delong_notices_a_better_score():
    rng = np.random.default_rng(9)
    positive = np.arange(200) < 60
    result = delong_test(
        positive, rng.normal(size=200) + 1.5 * positive, rng.normal(size=200)
    )
    assert result.difference > 0.2
    assert result.pvalue < 1e-4


def test_results_are_frozen():
    interval = auc_confidence_interval([0, 0, 1, 1], [1, 3, 2, 4])
    result = delong_test([0, 0, 1, 1], [1, 3, 2, 4], [1, 2, 3, 4])
    assert isinstance(interval, AUCInterval)
    assert isinstance(result, DeLongTest)
    with pytest.raises(FrozenInstanceError):
        interval.auc = 1.0
    with pytest.raises(FrozenInstanceError):
        result.pvalue = 0.0
    for value in (*vars(interval).values(), *vars(result).values()):
        assert type(value) is float


# ------------------------------------------------------------------------ within strata


def naive_stratified_auc(y, scores, strata, weights):
    """Share of pairs of one stratum in the right order, stratum by stratum, by a double loop."""
    aucs, shares = [], []
    for stratum in sorted(set(strata)):
        rows = [i for i, one in enumerate(strata) if one == stratum]
        pairs = [
            (scores[i], scores[j]) for i in rows for j in rows if y[i] and not y[j]
        ]
        if pairs:
            aucs.append(sum((a > b) + 0.5 * (a == b) for a, b in pairs) / len(pairs))
            shares.append(len(pairs) if weights == "pairs" else 1)
    return np.average(aucs, weights=shares)


@pytest.mark.filterwarnings("ignore:.*one class only")
@given(st.data())
def test_stratified_auc_is_the_mean_over_pairs_of_one_stratum(data):
    n = data.draw(st.integers(4, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    y, strata = rng.random(n) < 0.5, rng.integers(data.draw(st.integers(1, 8)), size=n)
    y[:2], strata[:2] = [True, False], 0
    scores = rng.integers(0, 6, n) * 1.0
    weights = data.draw(st.sampled_from(["pairs", "equal"]))
    found = stratified_auc(y, scores, strata, weights=weights)
    expected = naive_stratified_auc(y, scores, strata.tolist(), weights)
    assert found.auc == pytest.approx(expected)
    assert 0 <= found.low <= found.auc <= found.high <= 1


def test_one_stratum_is_the_auc_with_its_interval():
    rng = np.random.default_rng(0)
    y, scores = rng.random(50) < 0.4, rng.normal(size=50)
    plain = auc_confidence_interval(y, scores, 0.9)
    within = stratified_auc(y, scores, np.zeros(50), confidence=0.9)
    for name in ("auc", "low", "high", "standard_error", "confidence"):
        assert getattr(within, name) == pytest.approx(getattr(plain, name))


@pytest.mark.parametrize(
    ("sizes", "prevalence"), [((30, 50, 40), 0.4), ((3,) * 60, None)]
)
def test_intervals_within_strata_hold_the_truth(sizes, prevalence):
    """Normal classes one apart have AUC Φ(1/√2), whatever the level of their stratum."""
    truth, hits = stats.norm.cdf(1 / np.sqrt(2)), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        strata = np.repeat(np.arange(len(sizes)), sizes)
        y = (
            np.arange(strata.size) % 3 == 0  # matched sets of one and two
            if prevalence is None
            else rng.random(strata.size) < prevalence
        )
        scores = rng.normal(size=y.size) + y + 10 * rng.normal(size=len(sizes))[strata]
        found = stratified_auc(y, scores, strata)
        hits += found.low <= truth <= found.high
    assert 180 <= hits <= 200


def test_what_stratified_auc_refuses_and_says():
    y, scores = [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="missing in row 2"):
        stratified_auc(y, scores, ["a", "a", None, "a"])
    with pytest.warns(UserWarning, match="'b'"):
        found = stratified_auc(y, scores, ["a", "a", "a", "b"])
    assert found.auc == 0.5
    perfect = stratified_auc([0, 1] * 20, [0.0, 1.0] * 20, np.repeat(np.arange(10), 4))
    assert perfect.auc == 1.0
    assert 0.8 < perfect.low < 1.0


def test_an_interval_over_strata_covers_the_mean_over_sites():
    rng = np.random.default_rng(3)
    separations = 1.0 + 0.4 * rng.normal(size=10**5)
    truth = float(norm.cdf(separations / np.sqrt(2)).mean())
    held = {"fixed": 0, "random": 0}
    site = np.repeat(np.arange(8), 100)
    for _ in range(150):
        y = rng.random(800) < 0.3
        separation = (1.0 + 0.4 * rng.normal(size=8))[site]
        scores = rng.normal(size=800) + separation * y + 3 * rng.normal(size=8)[site]
        for effects in held:
            found = stratified_auc(y, scores, site, effects=effects)
            held[effects] += found.low <= truth <= found.high
    assert held["fixed"] < 0.85 * 150
    assert held["random"] >= 0.9 * 150
    with pytest.raises(ValueError, match="needs two strata"):
        stratified_auc(y, scores, np.zeros(800), effects="random")
    with pytest.raises(ValueError, match="effects must be"):
        stratified_auc(y, scores, site, effects="both")
