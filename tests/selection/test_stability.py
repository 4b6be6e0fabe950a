"""Stability selection against naive loops, and its error bounds against simulated noise."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sparseauc import Limits
from sparseauc.datasets import make_outbreak
from sparseauc.selection.stability import (
    StabilityResult,
    complementary_halves,
    stability_selection,
)


def best_columns(X, positive, k, alpha):
    """The best k columns by trying all of them."""
    Z = X / X.std(axis=0)
    ones, zeros = Z[positive], Z[~positive]
    delta = zeros.mean(axis=0) - ones.mean(axis=0)
    H = np.cov(ones.T, bias=True) + np.cov(zeros.T, bias=True) + np.outer(delta, delta)
    H += alpha * np.eye(delta.size)

    def objective(columns):
        at = list(columns)
        return 1 - delta[at] @ np.linalg.solve(H[np.ix_(at, at)], delta[at])

    return min(combinations(range(delta.size), k), key=objective)


@pytest.fixture(scope="module")
def small():
    return make_outbreak(n=61, d=7, k=2, mu=0.6, r=0.4, correlation=0.5, random_state=3)


def result_with(n_pairs=50, k=5, n_free=100, n_forced=0):
    """A result of which only the numbers that bounds depend on matter."""
    return StabilityResult(np.zeros(n_free), k, n_pairs, n_free, n_forced)


# -------------------------------------------------------------------------- frequencies


def test_equals_a_naive_loop(small):
    X, y = small
    k, n_pairs, alpha = 3, 8, 0.5
    result = stability_selection(X, y, k, alpha=alpha, n_pairs=n_pairs, random_state=5)

    strata = [np.flatnonzero(y < 0), np.flatnonzero(y > 0)]
    seeds = np.random.RandomState(5).randint(np.iinfo(np.int32).max, size=n_pairs)
    counts = np.zeros(7)
    for seed in seeds:
        for rows in complementary_halves(strata, seed):
            counts[list(best_columns(X[rows], y[rows] > 0, k, alpha))] += 1

    np.testing.assert_array_equal(result.frequency, counts / (2 * n_pairs))


def test_halves_are_disjoint_alike_and_leave_out_the_odd_row():
    strata = [np.arange(0, 11), np.arange(11, 17)]
    left_out = set()
    for seed in range(60):
        first, second = complementary_halves(strata, seed)
        assert not set(first) & set(second)
        for half in (first, second):
            assert [np.isin(half, rows).sum() for rows in strata] == [5, 3]
        left_out |= set(range(17)) - set(first) - set(second)
    assert left_out == set(range(11))


def test_frequencies_are_consistent(small):
    result = stability_selection(*small, 3, n_pairs=6, random_state=0)
    assert result.frequency.sum() == pytest.approx(3)


def test_true_columns_are_stable_and_others_are_not():
    data = make_outbreak(n=500, d=150, k=5, mu=0.8, r=0.2, random_state=0)
    result = stability_selection(data.X, data.y, 8, n_pairs=10, random_state=0)
    assert result.frequency[data.support].min() >= 0.95
    assert np.delete(result.frequency, data.support).max() < 0.6
    assert set(result.selected(0.9)) == set(data.support)
    ordered = result.frequency[result.selected(0.01)]
    assert np.all(np.diff(ordered) <= 0)
    assert "frequency" not in repr(result)


def test_same_seed_same_answer_whatever_the_threads(small):
    alone, together, other = (
        stability_selection(*small, 2, n_pairs=10, random_state=seed, n_jobs=n_jobs)
        for seed, n_jobs in ((1, 1), (1, 2), (2, 1))
    )
    np.testing.assert_array_equal(alone.frequency, together.frequency)
    assert not np.array_equal(alone.frequency, other.frequency)
    state = np.random.RandomState(1)
    drawn = stability_selection(*small, 2, n_pairs=10, random_state=state)
    np.testing.assert_array_equal(drawn.frequency, alone.frequency)


def test_any_table_and_any_labels(small):
    X, y = small
    X.setflags(write=False)
    expected = stability_selection(X, y, 2, n_pairs=4, random_state=0).frequency
    named = np.where(y > 0, "ill", "hale")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    for table, labels in (
        (sp.csr_array(X), y),
        (np.asfortranarray(X), y > 0),
        (frame, named),
    ):
        found = stability_selection(table, labels, 2, n_pairs=4, random_state=0)
        np.testing.assert_array_equal(found.frequency, expected)
    by_name = stability_selection(
        frame, y, 2, n_pairs=4, limits=Limits(exclude=["b"]), random_state=0
    )
    assert by_name.frequency[1] == 0


def test_rows_of_weight_zero_are_no_rows(small):
    X, y = small
    weight = np.random.default_rng(0).integers(0, 2, y.size).astype(float)
    weighted = stability_selection(
        X, y, 2, n_pairs=5, sample_weight=weight, random_state=0
    )
    kept = weight > 0
    without = stability_selection(X[kept], y[kept], 2, n_pairs=5, random_state=0)
    np.testing.assert_array_equal(weighted.frequency, without.frequency)


def test_forced_and_excluded_columns_do_not_count(small):
    result = stability_selection(
        *small,
        4,
        n_pairs=3,
        limits=Limits(always_include=[0, 6], exclude=[2]),
        random_state=0,
    )
    np.testing.assert_array_equal(result.frequency[[0, 2, 6]], [1, 0, 1])
    assert (result.n_free, result.n_forced) == (4, 2)
    assert result.error_bound(1.0) == 2 * 2 / 4


# ------------------------------------------------------------------------- error bounds


def test_worst_case_is_the_formula():
    result = result_with(n_pairs=50, k=5, n_free=100)
    assert result.error_bound(0.6) == pytest.approx(25 / (0.2 * 100))
    assert result.error_bound(0.9) == pytest.approx(25 / (0.8 * 100))
    # Between two counts of halves the upper one decides; just above one half it is 51
    # of 100.
    assert result.error_bound(0.8999) == result.error_bound(0.9)
    assert result_with(k=1).error_bound(0.5 + 1e-12) == pytest.approx(1 / (0.02 * 100))
    # No more than q/τ columns can be chosen in a share τ of the halves.
    assert result_with(k=50, n_free=60).error_bound(0.6) == pytest.approx(50 / 0.6)


def test_bounds_hold_on_noise():
    # All columns are alike, so all have probability q/p: the case the bounds are for.
    rng = np.random.default_rng(0)
    y = np.arange(40) < 15
    thresholds = (0.6, 0.8)
    counts = []
    for seed in range(25):
        X = rng.standard_normal((40, 20))
        result = stability_selection(X, y, 2, n_pairs=5, random_state=seed)
        counts.append([result.selected(threshold).size for threshold in thresholds])
    for threshold, average in zip(thresholds, np.mean(counts, axis=0), strict=True):
        assert average <= result.error_bound(threshold)


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"k": 0}, "'k' parameter"),
        ({"k": 8}, "k=8 is more than the 7 columns"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"n_pairs": 0}, "n_pairs"),
        ({"limits": Limits(always_include=[0, 1, 2])}, "leaves none of k=3"),
        ({"limits": Limits(always_include=[7])}, "always_include names column 7"),
        ({"limits": Limits(always_include=["age"])}, "no column names"),
    ],
)
def test_options_are_checked(small, options, match):
    with pytest.raises(ValueError, match=match):
        stability_selection(*small, **({"k": 3} | options))


def test_data_are_checked(small):
    X, y = small
    with pytest.raises(ValueError, match="one class only"):
        stability_selection(X, np.ones(61), 2)
    one = np.arange(61) == 4
    with pytest.raises(ValueError, match="class True has a single row"):
        stability_selection(X, one, 2)
    weight = np.where(y > 0, np.cumsum(y > 0) == 1, 1.0)
    with pytest.raises(ValueError, match="class 1 has a single row"):
        stability_selection(X, y, 2, sample_weight=weight)
    holed = X.copy()
    holed[3, 2] = np.inf
    with pytest.raises(ValueError, match="row 3, column 2"):
        stability_selection(holed, y, 2)


@pytest.mark.parametrize("threshold", [0.0, 1.1, np.nan])
def test_thresholds_are_checked(threshold):
    with pytest.raises(ValueError, match="threshold"):
        result_with().selected(threshold)
    with pytest.raises(ValueError, match="threshold"):
        result_with().error_bound(threshold)


def test_a_bound_needs_more_than_one_half():
    with pytest.raises(ValueError, match="1/2"):
        result_with().error_bound(0.5)


def test_limits_of_a_frame_are_by_name():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "c", "d"])
    y = frame["b"] + rng.normal(size=60) > 0
    with pytest.raises(ValueError, match=r"'bb'.*did you mean 'b'\?"):
        stability_selection(frame, y, 2, limits=Limits(always_include=["bb"]))
