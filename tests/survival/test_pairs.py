"""Comparable pairs: concordance and the quadratic against sums over all pairs."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sksurv.metrics import brier_score, cumulative_dynamic_auc
from sksurv.util import Surv

from sparseauc.metrics import auc_confidence_interval
from sparseauc.moments.base import StandardisedGram
from sparseauc.moments.pairs import PairMoments
from sparseauc.outcome import Binary, Times
from sparseauc.path import path_of_moments
from sparseauc.solvers.certificate import certify
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.survival import (
    ComparablePairs,
    SurvivalTimes,
    censoring_distribution,
    harrell_concordance,
    horizon_weights,
    kaplan_meier,
    uno_concordance,
    uno_weights,
)


def naive_pairs(times, weight, strata, event_weight, weighting="pairs"):
    """All pairs (i, j) of which i has its event first, and what they count."""
    n = len(times)
    found = []
    for i in range(n):
        for j in range(n):
            later = times.time[j] > times.time[i] or (
                times.time[j] == times.time[i] and not times.event[j]
            )
            if times.event[i] and later and strata[i] == strata[j] >= 0:
                found.append((i, j, weight[i] * weight[j] * event_weight[i]))
    found = [one for one in found if one[2] > 0]
    if weighting == "equal":
        totals = {
            s: sum(c for i, _, c in found if strata[i] == s)
            for s in set(strata.tolist())
        }
        found = [(i, j, count / totals[strata[i]]) for i, j, count in found]
    return found


@st.composite
def problems(draw, d=5):
    n = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    time = rng.exponential(size=n)
    if draw(st.booleans()):
        time = np.ceil(4 * time)
    times = SurvivalTimes(time, rng.random(n) < draw(st.sampled_from([0.3, 0.8, 1.0])))
    weight = rng.integers(0, 3, n) * 0.5 if draw(st.booleans()) else np.ones(n)
    strata = rng.integers(-1, 3, n) if draw(st.booleans()) else np.zeros(n, np.int64)
    event_weight = rng.random(n) if draw(st.booleans()) else np.ones(n)
    weighting = draw(st.sampled_from(["pairs", "equal"]))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d)
    X += draw(st.sampled_from([0.0, 100.0])) * strata[:, None]
    return X, times, weight, strata, event_weight, weighting


@given(
    problems(),
    st.booleans(),
    st.sampled_from([np.asarray, sp.csr_array]),
    st.integers(1, 9),
)
def test_moments_are_those_of_all_pairs(problem, integer, convert, tile):
    X, times, weight, strata, event_weight, weighting = problem
    if integer:
        X = np.round(X)
    d = X.shape[1]
    naive = naive_pairs(times, weight, strata, event_weight, weighting)
    pairs = ComparablePairs.from_times(
        times, weight, strata, event_weight=event_weight, weighting=weighting
    )
    total = sum(count for _, _, count in naive)
    assert_allclose(pairs.total, total, rtol=1e-12, atol=1e-300)
    if not naive:
        with pytest.raises(ValueError, match="no pair of rows"):
            PairMoments(convert(X), pairs)
        return
    differences = np.array([X[i] - X[j] for i, j, _ in naive])
    counts = np.array([count for _, _, count in naive])
    moments = PairMoments(convert(X), pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparseauc.moments.pairs._TILE_NUMBERS", tile * d)
        assert_allclose(
            moments.delta,
            -counts @ differences / total,
            rtol=1e-9,
            atol=1e-12 * abs(X).max(),
        )
        expected = (differences.T * counts) @ differences / total
        size = np.sqrt(np.diag(expected))
        scale = np.maximum(np.abs(X).max(axis=0), size)
        scale[scale == 0] = 1.0
        every = np.arange(d)
        for columns, others in [
            (every, every),
            (every[:2], every),
            (every, every[1:]),
            (every[3:], every[:2]),
            (every[::-1], every[::-1]),
            (np.array([2, 0, 4]), np.array([4, 0, 2])),
            (np.array([3, 1, 3]), np.array([1, 3])),
        ]:
            block = moments.block(columns, others)
            assert_allclose(
                block / np.outer(scale[columns], scale[others]),
                expected[np.ix_(columns, others)] / np.outer(scale[columns], scale[others]),
                atol=1e-12,
            )  # fmt: skip
        assert_allclose(
            moments.diagonal / scale**2, np.diag(expected) / scale**2, atol=1e-12
        )
        assert_allclose(moments.columns([1, 3]), moments.block(every, np.array([1, 3])))
        w = np.linspace(-1, 1, d) / scale
        assert_allclose(
            moments.loss(w), counts @ (1 - differences @ w) ** 2 / total, rtol=1e-9
        )
        unit, magnitude = moments.rounding()
        assert unit < 1e-11
        assert (
            np.abs(moments.delta + counts @ differences / total) <= unit * magnitude
        ).all()
        bound = unit * np.outer(magnitude, magnitude)
        assert (np.abs(moments.block(every, every) - expected) <= bound).all()


@given(problems())
def test_an_offset_costs_no_digits(problem):
    X, times, weight, strata, event_weight, _ = problem
    X = np.round(X * 64) / 64
    pairs = ComparablePairs.from_times(times, weight, strata, event_weight=event_weight)
    if not pairs.total > 0:
        return
    far = X + 2.0**30
    far[:, 4] = 1e9 / 3
    near, moved = PairMoments(X, pairs), PairMoments(far, pairs)
    every = np.arange(4)
    unit, magnitude = near.rounding()
    bound = 2 * unit * np.outer(magnitude, magnitude)[:4, :4] + 1e-300
    assert (np.abs(moved.block(every, every) - near.block(every, every)) <= bound).all()
    assert not moved.varies[4]
    assert moved.deviations[4] == moved.delta[4] == moved.diagonal[4] == 0


def structured(times):
    y = np.empty(len(times), dtype=[("event", "?"), ("time", "f8")])
    y["event"], y["time"] = times.event, times.time
    return y


@given(problems(), st.booleans())
def test_concordance_is_that_of_all_pairs(problem, ties):
    X, times, weight, strata, event_weight, weighting = problem
    scores = np.round(X[:, 0] / np.abs(X[:, 0]).max(), 1 if ties else 12)
    naive = naive_pairs(times, weight, strata, event_weight, weighting)
    pairs = ComparablePairs.from_times(
        times, weight, strata, event_weight=event_weight, weighting=weighting
    )
    if not naive:
        return
    right = sum(
        count * (0.5 + 0.5 * np.sign(scores[i] - scores[j])) for i, j, count in naive
    ) / sum(count for _, _, count in naive)
    assert_allclose(pairs.concordance(scores), right, rtol=1e-12)


@given(problems(), st.booleans())
def test_concordance_equals_that_of_scikit_survival(problem, ties):
    metrics = pytest.importorskip("sksurv.metrics")
    X, times, _, _, _, _ = problem
    scores = np.round(X[:, 0] / np.abs(X[:, 0]).max(), 1 if ties else 12)
    y = structured(times)
    naive = naive_pairs(
        times, np.ones(len(times)), np.zeros(len(times)), np.ones(len(times))
    )
    if not naive or len(times) < 2:
        with pytest.raises(ValueError, match=r"events|equal|compared"):
            harrell_concordance(y, scores)
        return
    expected = metrics.concordance_index_censored(y["event"], y["time"], scores)[0]
    assert_allclose(harrell_concordance(y, scores), expected, atol=1e-10)
    for horizon in (None, float(np.quantile(times.time, 0.7))):
        try:
            expected = metrics.concordance_index_ipcw(y, y, scores, tau=horizon)[0]
        except ValueError:
            continue
        if np.isnan(expected):
            continue
        found = uno_concordance(y, y, scores, horizon=horizon)
        assert_allclose(found, expected, atol=1e-10)


@given(problems())
def test_kaplan_meier_equals_that_of_scikit_survival(problem):
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    times = problem[1]
    for reverse, estimate in ((False, kaplan_meier), (True, censoring_distribution)):
        known, expected = nonparametric.kaplan_meier_estimator(
            times.event, times.time, reverse=reverse
        )
        assert_allclose(estimate(times)(known), expected, atol=1e-12)
        assert_array_equal(estimate(times)([-1.0]), 1.0)


@given(problems(d=7), st.integers(1, 3), st.sampled_from([0.01, 0.3, 5.0]))
def test_lists_are_the_best_of_all_and_bounds_hold(problem, k, alpha):
    X, times, weight, strata, event_weight, _ = problem
    pairs = ComparablePairs.from_times(times, weight, strata, event_weight=event_weight)
    if not pairs.total > 0:
        return
    moments = PairMoments(X, pairs)
    if not (moments.deviations > 1e-8 * np.abs(X).max(axis=0)).all():
        return
    gram = StandardisedGram(moments)
    path = path_of_moments(
        moments, np.array([k]), np.array([alpha]), Restrictions(), thorough=True
    )
    ((found,),) = path.solutions
    whole = gram.gram()
    best = np.inf
    for columns in combinations(range(7), k):
        H, delta = whole.H[np.ix_(columns, columns)], whole.delta[list(columns)]
        best = min(best, 1 - delta @ np.linalg.solve(H + alpha * np.eye(k), delta))
    proof = certify(gram, found, k, alpha, restrictions=Restrictions(), time_limit=10)
    assert proof.lower_bound <= best + 1e-9
    assert_allclose(proof.solution.objective, best, atol=1e-7)
    assert proof.solution.objective - proof.lower_bound <= 1e-4


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        ([1.0, -2.0], [1, 1], "time is -2 at row 1"),
        ([1.0, np.nan], [1, 1], "time is nan at row 1"),
        ([1.0, np.inf], [1, 1], "time is inf at row 1"),
        ([1.0, 2.0], [0, 0], "no events"),
        ([3.0, 3.0], [1, 1], "all times are equal, 3"),
        ([1.0, 2.0], [0, 1], "no row is followed beyond the first event"),
        ([1.0, 2.0, 3.0], [0, 1, 2], r"it holds 0\.0, 1\.0, 2\.0\. Say which"),
        ([1.0, 2.0], [1, 2], r"Say which of them is the event"),
        ([1.0, 2.0], [np.nan, 1], "event is missing"),
    ],
)
def test_times_that_cannot_be_used_are_refused(time, event, message):
    y = np.column_stack([event, time]).astype(float)
    with pytest.raises(ValueError, match=message):
        harrell_concordance(y, np.arange(len(y)))


def test_the_target_is_read_from_arrays_and_frames():
    pd = pytest.importorskip("pandas")
    times = SurvivalTimes(np.array([2.0, 5.0, 3.0]), np.array([True, False, True]))
    y = structured(times)
    frame = pd.DataFrame({"days": times.time, "dead": times.event})
    for given_as in (y, np.column_stack([times.event, times.time]), frame, frame[["dead", "days"]],
                     frame.rename(columns={"dead": "status"}).astype(float)):  # fmt: skip
        read = SurvivalTimes.from_target(given_as)
        assert_array_equal(read.time, times.time)
        assert_array_equal(read.event, times.event)
    with pytest.raises(ValueError, match="two columns"):
        SurvivalTimes.from_target(np.ones((3, 3)))
    with pytest.raises(ValueError, match="must say for each row"):
        SurvivalTimes.from_target(times.time)


@pytest.mark.parametrize(
    ("horizon", "message"),
    [(0.0, "above 0"), (9.0, "beyond the last"), (1.5, "no event comes")],
)
def test_horizons_with_nothing_to_compare_are_refused(horizon, message):
    times = SurvivalTimes(np.array([2.0, 5.0, 3.0]), np.array([True, False, True]))
    with pytest.raises(ValueError, match=message):
        times.check_horizon(horizon)


def test_weights_of_events_are_those_of_uno():
    times = SurvivalTimes(
        np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    )
    weights = uno_weights(times, censoring_distribution(times), horizon=4.0)
    assert_allclose(weights, [1.0, 0.0, (2 / 3) ** -2, 0.0])


@given(problems())
def test_standard_error_is_that_of_the_sums_over_the_pairs_of_each_row(problem):
    X, times, weight, strata, event_weight, weighting = problem
    found = naive_pairs(times, weight, strata, event_weight, weighting)
    if not found:
        return
    pairs = ComparablePairs.from_times(
        times, weight, strata, event_weight=event_weight, weighting=weighting
    )
    scores = np.round(X[:, 0] / np.abs(X[:, 0]).max(), 1)
    total = sum(count for _, _, count in found)
    won = {
        (i, j): (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j])
        for i, j, _ in found
    }
    area = sum(count * won[i, j] for i, j, count in found) / total
    apart = np.zeros(len(times))
    for i, j, count in found:
        apart[i] += count * (won[i, j] - area)
        apart[j] += count * (won[i, j] - area)
    counted = (weight > 0) & (strata >= 0)
    first = counted & times.event & (event_weight > 0)
    if weighting == "equal":  # events of strata without a pair count nothing
        first &= np.isin(strata, [strata[i] for i, _, _ in found])
    variance = sum(
        np.sum(apart[side] ** 2) * side.sum() / max(1, side.sum() - 1)
        for side in (first, counted & ~first)
    )
    assert pairs.concordance(scores) == pytest.approx(area, abs=1e-12)
    assert pairs.standard_error(scores) == pytest.approx(
        np.sqrt(variance) / total, abs=1e-9
    )


def test_standard_error_of_related_rows_sums_what_a_group_adds():
    rng = np.random.default_rng(3)
    n, groups = 60, np.arange(60) // 4
    times = SurvivalTimes(np.ceil(rng.exponential(8.0, n)), rng.random(n) < 0.6)
    scores = np.round(rng.normal(size=n) + rng.normal(size=15)[groups], 1)
    outcome = Times(times, groups=groups)
    pairs = naive_pairs(times, np.ones(n), np.zeros(n, int), np.ones(n), "pairs")
    won = [
        (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]) for i, j, _ in pairs
    ]
    area = np.mean(won)
    apart = np.zeros((2, 15))  # by class of the row, and group
    for (i, j, _), win in zip(pairs, won, strict=True):
        for row in (i, j):
            apart[int(times.event[row]), groups[row]] += win - area
    sizes = [np.unique(groups[times.event == event]).size for event in (False, True)]
    variance = 2 * np.sum(apart[0] * apart[1]) * 15 / 14
    for sums, size in zip(apart, sizes, strict=True):
        variance += np.sum(sums**2) * size / (size - 1)
    found = outcome.interval(scores)
    assert found.auc == pytest.approx(area)
    assert found.standard_error == pytest.approx(np.sqrt(variance) / len(pairs))
    assert found.standard_error > Times(times).interval(scores).standard_error
    assert outcome.informative == sizes[1]


@given(st.integers(0, 10_000), st.integers(2, 20), st.integers(2, 20))
def test_standard_error_of_two_classes_is_delongs(seed, n_positive, n_negative):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_positive, n_negative])
    scores = np.round(rng.normal(size=y.size) + y, 1)
    expected = auc_confidence_interval(y, scores)
    weighted = Binary(y == 1, np.full(y.size, 2.0)).interval(scores)
    for name in ("auc", "low", "high", "standard_error"):
        assert getattr(weighted, name) == pytest.approx(
            getattr(expected, name), abs=1e-9
        )
    groups = rng.integers(0, 5, y.size)
    expected = auc_confidence_interval(y, scores, groups=groups)
    weighted = Binary(y == 1, np.full(y.size, 2.0), groups=groups).interval(scores)
    for name in ("auc", "low", "high", "standard_error"):
        assert getattr(weighted, name) == pytest.approx(
            getattr(expected, name), abs=1e-6
        )


def test_standard_error_is_that_of_repeated_samples():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        x = rng.normal(size=120)
        time, end = rng.exponential(np.exp(-x)), rng.exponential(2.0, size=120)
        times = SurvivalTimes(np.minimum(time, end), time <= end)
        one = Times(times, horizon=1.0).interval(x)
        found.append((one.auc, one.standard_error, one.low, one.high))
    areas, errors, low, high = np.array(found).T
    assert errors.mean() == pytest.approx(areas.std(), rel=0.1)
    covered = np.mean((low <= areas.mean()) & (areas.mean() <= high))
    assert 0.92 <= covered <= 0.98


def test_weights_at_a_horizon_give_scikit_survivals_auc_and_brier_score():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    time, end = rng.exponential(np.exp(-x)), rng.exponential(2.0, size=200)
    times = SurvivalTimes(np.minimum(time, end), time <= end)
    y = Surv.from_arrays(times.event, times.time)
    horizon = float(np.quantile(times.time, 0.6))
    weights = horizon_weights(times, horizon)
    by_then = times.event & (times.time <= horizon)
    assert np.all(weights[~times.event & (times.time <= horizon)] == 0)
    p = 1 / (1 + np.exp(-x))
    _, brier = brier_score(y, y, 1 - p[:, None], [horizon])
    assert np.mean(weights * (by_then - p) ** 2) == pytest.approx(brier[0], abs=1e-12)
    area, _ = cumulative_dynamic_auc(y, y, x, [horizon])
    assert Binary(by_then, weights).interval(x).auc == pytest.approx(area[0], abs=1e-12)
    assert weights.sum() == pytest.approx(200, rel=0.05)
    with pytest.raises(ValueError, match="no row is followed beyond the horizon"):
        horizon_weights(
            SurvivalTimes(np.array([1.0, 2.0, 2.0]), np.array([0, 1, 0]) > 0), 2.0
        )
