"""Moments within strata against the sum over all pairs of one stratum, written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc import ClassMoments, class_moments
from sparseauc.chunks import chunks_in_memory
from sparseauc.moments import moments_of
from sparseauc.moments.chunked import GatheredMoments, Partition, training_moments
from sparseauc.strata import Strata


def naive_loss(X, positive, strata, w, weight=None, weighting="pairs"):
    """Mean over the pairs of each stratum of (1 − w·(x_i − x_j))², then over strata."""
    weight = np.ones(len(X)) if weight is None else weight
    total = counts = 0.0
    for stratum in np.unique(strata):
        loss = pairs = 0.0
        for i in np.flatnonzero((strata == stratum) & positive):
            for j in np.flatnonzero((strata == stratum) & ~positive):
                pair = weight[i] * weight[j]
                loss += (
                    pair * (1.0 - w @ (X[i].astype(float) - X[j].astype(float))) ** 2
                )
                pairs += pair
        if pairs > 0:
            share = pairs if weighting == "pairs" else 1.0
            total += share * loss / pairs
            counts += share
    return total / counts


@st.composite
def problems(draw):
    """A table with shifts between strata, some strata of one class, and weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, s = draw(st.integers(8, 40)), draw(st.integers(1, 6)), draw(st.integers(1, 8))
    strata = rng.integers(s, size=n)
    positive = rng.random(n) < rng.uniform(0.2, 0.8, s)[strata]
    strata[:2], positive[:2] = 0, [True, False]
    X = rng.normal(size=(n, d)) + positive[:, None] * rng.normal(size=d)
    X += draw(st.sampled_from([0.0, 1.0, 100.0])) * rng.normal(size=(s, d))[strata]
    X[rng.random(n) < 0.2] = 0.0
    weight = rng.integers(1, 4, n) * 0.5 if draw(st.booleans()) else None
    if weight is not None:
        weight[rng.random(n) < 0.2] = 0.0
        weight[:2] = 1.0
    return X, positive, strata, weight, draw(st.sampled_from(["pairs", "equal"]))


def homes(X, positive, strata, weight):
    """The same rows as moments of every kind."""
    for weighting in ("pairs", "equal"):
        divided = Strata.of_classes(strata, positive, weighting, weight)
        for table in (X, np.asfortranarray(X), sp.csr_array(X)):
            yield weighting, moments_of(table, positive, weight, divided)
        yield weighting, moments_of(chunks_in_memory(X), positive, weight, divided)
        parts = []
        for stratum in np.unique(strata):
            rows = np.flatnonzero(strata == stratum)
            halves = [
                class_moments(
                    X[half], positive[half], None if weight is None else weight[half]
                ).summary()
                for half in (rows[::2], rows[1::2])
                if half.size
            ]
            parts.append(sum(halves[1:], halves[0]))
        yield weighting, ClassMoments.of_strata(parts, weighting)


@pytest.mark.filterwarnings("ignore:.*one class only")
@given(problems())
@settings(max_examples=60, deadline=None)
def test_the_loss_is_the_sum_over_pairs_within_strata(problem):
    X, positive, strata, weight, _ = problem
    rng = np.random.default_rng(0)
    d = X.shape[1]
    w = rng.normal(size=d)
    for weighting, moments in homes(X, positive, strata, weight):
        naive = naive_loss(X, positive, strata, w, weight, weighting)
        assert moments.loss(w) == pytest.approx(naive, rel=1e-10)
        H, every = moments.columns(range(d)), np.arange(d)
        quadratic = 1 + 2 * w @ moments.delta + w @ H @ w
        assert quadratic == pytest.approx(naive, rel=1e-9, abs=1e-9)
        scale = np.abs(H).max()
        np.testing.assert_allclose(moments.block(every, every), H, atol=1e-12 * scale)
        np.testing.assert_allclose(moments.diagonal, np.diag(H), atol=1e-12 * scale)
        unit, magnitude = moments.rounding()
        reference = [
            naive_loss(X, positive, strata, unit_vector, weight, weighting)
            for unit_vector in (*np.eye(d), *-np.eye(d))
        ]
        exact = (np.array(reference[:d]) - reference[d:]) / 4
        assert (
            np.abs(moments.delta - exact) <= unit * magnitude + 1e-12 * np.abs(exact)
        ).all()
        assert (
            moments.deviations
            == pytest.approx(
                next(homes(X, positive, strata, weight))[1].deviations,
                rel=1e-9,
                abs=1e-9,
            )
            or weighting == "equal"
        )


@pytest.mark.filterwarnings("ignore:.*one class only")
@given(problems(), st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_training_folds_merged_are_those_computed_alone(problem, n_folds):
    X, positive, strata, weight, weighting = problem
    divided = Strata.of_classes(strata, positive, weighting, weight)
    fold = np.random.default_rng(1).integers(n_folds, size=len(X))
    partition = Partition(fold.astype(np.int16), n_folds, weight)
    gathered = GatheredMoments(chunks_in_memory(X), positive, [partition], divided)
    for own in range(n_folds):
        inside = (fold != own).astype(float) * (1.0 if weight is None else weight)
        rows = np.flatnonzero(inside)
        if not len(divided.take(rows).with_both_classes(positive[rows])):
            continue
        alone = moments_of(X, positive, inside, divided)
        merged = training_moments(
            gathered, [other for other in range(n_folds) if other != own]
        )
        assert merged.shares == pytest.approx(alone.shares)
        H = alone.columns(range(X.shape[1]))
        np.testing.assert_allclose(merged.delta, alone.delta, atol=1e-9)
        np.testing.assert_allclose(
            merged.columns(range(X.shape[1])), H, atol=1e-10 * (1 + np.abs(H).max())
        )
        np.testing.assert_allclose(
            merged.deviations, alone.deviations, rtol=1e-8, atol=1e-12
        )


def test_shifts_of_strata_cost_no_digits():
    rng = np.random.default_rng(3)
    n, d = 400, 5
    strata, positive = rng.integers(4, size=n), rng.random(n) < 0.4
    X = rng.normal(size=(n, d)) + positive[:, None]
    near = class_moments(X, positive, strata=strata)
    far = (X + 1e5 * rng.normal(size=(4, d))[strata]).astype(np.float64)
    for table in (far, sp.csr_array(far)):
        moved = class_moments(table, positive, strata=strata)
        np.testing.assert_allclose(
            moved.columns(range(d)), near.columns(range(d)), rtol=1e-4
        )
    single = class_moments((X + 100 * np.arange(4)[strata, None]).astype(np.float32),
                           positive, strata=strata)  # fmt: skip
    np.testing.assert_allclose(
        single.columns(range(d)), near.columns(range(d)), atol=3e-4
    )


def test_a_column_constant_within_strata_is_never_worth_choosing():
    rng = np.random.default_rng(4)
    n = 300
    strata = rng.integers(5, size=n)
    positive = rng.random(n) < np.linspace(0.1, 0.9, 5)[strata]
    X = np.column_stack(
        [rng.normal(size=n), 0.1 + 0.3 * strata, strata == 2, np.full(n, 1 / 3)]
    )
    for table in (X, sp.csr_array(X)):
        moments = class_moments(table, positive, strata=strata)
        assert moments.varies.tolist() == [True, False, False, False]
        assert moments.deviations[1:].tolist() == [0.0, 0.0, 0.0]
    chunked = class_moments(chunks_in_memory(X), positive, strata=strata)
    assert chunked.varies.tolist() == [True, False, False, False]


def test_what_cannot_be_divided_is_refused():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="strata are missing in rows 1, 4"):
        class_moments(X, y, strata=["a", None, "a", "b", float("nan"), "b"])
    with pytest.raises(ValueError, match="strata is missing in row 2"):
        class_moments(X, y, strata=[0.0, 0.0, np.nan, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="each of the 6 rows"):
        class_moments(X, y, strata=[1, 2])
    with pytest.raises(ValueError, match="none of the 6 strata"):
        class_moments(X, y, strata=range(6))
    with pytest.raises(ValueError, match="'pairs' or 'equal'"):
        class_moments(X, y, strata=[0, 0, 0, 1, 1, 1], stratum_weights="rows")
    with pytest.warns(UserWarning, match="1 of 3 strata holds .* 1 row in all: 'c'"):
        moments = class_moments(X, y, strata=["a", "a", "b", "b", "c", "a"])
    with pytest.raises(ValueError, match=r"ClassMoments\.of_strata"):
        moments + moments
