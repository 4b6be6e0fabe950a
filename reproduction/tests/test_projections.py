"""H_k and the threshold of the L1 ball against naive versions: a full sort, a sweep over a sort."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from naive import naive_hard_threshold, naive_top_k
from sparseauc_paper.projections import hard_threshold, l1_ball_threshold, top_k


def naive_project_l1_ball(v, radius):
    """Sort, and find the last ρ whose ρ largest all survive the threshold they imply.

    In fractions, where the radius is not lost to rounding beside large entries.
    """
    magnitudes = [Fraction(abs(float(x))) for x in v]
    if sum(magnitudes) <= radius:
        return v.astype(np.float64)
    threshold, total = max(magnitudes), Fraction(0)
    for rho, magnitude in enumerate(sorted(magnitudes, reverse=True), start=1):
        total += magnitude
        implied = (total - Fraction(radius)) / rho
        if magnitude <= implied:
            break
        threshold = implied
    return np.array(
        [
            math.copysign(max(0, magnitude - threshold), x)
            for magnitude, x in zip(magnitudes, v, strict=True)
        ]
    )


SHAPES = {
    "gaussian": lambda d, rng: rng.standard_normal(d),
    "heavy tails": lambda d, rng: rng.standard_cauchy(d),
    "few values": lambda d, rng: rng.integers(-2, 3, d),
    "ten values": lambda d, rng: rng.integers(0, 10, d),
    "constant": lambda d, rng: np.full(d, -1.5),
    "constant but for one": lambda d, rng: np.where(
        np.arange(d) == rng.integers(max(d, 1)), 2, 1
    ),
    "zeros of both signs": lambda d, rng: rng.choice([0.0, -0.0], d),
    "mostly zero": lambda d, rng: rng.standard_normal(d) * (rng.random(d) < 0.01),
    "ascending": lambda d, rng: np.arange(d),
    "descending": lambda d, rng: np.arange(d)[::-1],
    "organ pipe": lambda d, rng: np.minimum(np.arange(d), np.arange(d)[::-1]),
    "valley": lambda d, rng: np.maximum(np.arange(d), np.arange(d)[::-1]),
    "alternating": lambda d, rng: np.arange(d) % 2,
    "denormal in float64": lambda d, rng: rng.integers(-5, 6, d) * 5e-324,
    "huge": lambda d, rng: rng.standard_normal(d) * 1e37,
}


def shaped(shape, d, seed):
    return SHAPES[shape](d, np.random.default_rng(seed)).astype(np.float64)


@st.composite
def vectors_and_k(draw):
    """A vector of some shape, or a short one of arbitrary finite floats."""
    if draw(st.booleans()):
        numbers = st.floats(allow_nan=False, allow_infinity=False)
        v = draw(arrays(np.float64, st.integers(0, 40), elements=numbers))
    else:
        shape, d = draw(st.sampled_from(sorted(SHAPES))), draw(st.integers(0, 700))
        v = shaped(shape, d, draw(st.integers(0, 2**32 - 1)))
    d = v.size
    return v, draw(
        st.integers(0, 10)
        | st.integers(0, d + 3)
        | st.sampled_from([d // 10, d, 2 * d])
    )


@given(vectors_and_k())
@example((np.array([3.0, -4.0, 1.0, 4.0]), 2))
@example((np.array([]), 3))
def test_top_k_is_the_head_of_a_sort(vector_and_k):
    v, k = vector_and_k
    kept = top_k(v, k)
    assert kept.dtype == np.int64
    assert_array_equal(kept, naive_top_k(v, k))
    assert kept.size == min(k, np.count_nonzero(v))


@given(vectors_and_k())
def test_hard_threshold_equals_sort_exactly(vector_and_k):
    v, k = vector_and_k
    before = v.copy()
    result = hard_threshold(v, k)
    assert_array_equal(result, naive_hard_threshold(v, k), strict=True)
    assert_array_equal(hard_threshold(result, k), result)
    assert_array_equal(v, before)
    assert not np.shares_memory(result, v)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_shape_at_every_scale_of_k(shape):
    v = shaped(shape, 20_000, seed=0)
    for k in (1, 2, 20, 2_000, 10_000, 19_999, 20_000):
        assert_array_equal(top_k(v, k), naive_top_k(v, k))


@given(vectors_and_k(), st.floats(0, 1))
def test_floor_changes_nothing(vector_and_k, share):
    v, k = vector_and_k
    k = min(k, v.size)
    magnitudes = np.sort(np.abs(v))[::-1]
    # Any magnitude that at least k entries reach, the k-th largest included.
    floor = float(magnitudes[k - 1 + int(share * (v.size - k))]) if k else math.inf
    assert_array_equal(top_k(v, k, floor), naive_top_k(v, k))


@pytest.mark.parametrize(
    "vector", [[1.0, 2.0, math.nan, math.nan], [1.0, 3.0, -math.inf]]
)
def test_what_is_not_finite_is_named(vector):
    with pytest.raises(ValueError, match=r"(nan|-inf) at index 2"):
        hard_threshold(vector, 1)


def test_l1_threshold_from_any_guess():
    rng = np.random.default_rng(0)
    for _ in range(200):
        v = rng.standard_normal(int(rng.integers(1, 60))).round(int(rng.integers(0, 4)))
        v[rng.random(v.size) < 0.3] = 0.0
        norm = np.abs(v).sum()
        if norm == 0:
            continue
        radius = norm * rng.uniform(0.01, 0.99)
        largest = np.argmax(np.abs(v))
        expected = abs(v[largest]) - abs(naive_project_l1_ball(v, radius)[largest])
        for guess in (0.0, expected, 0.5 * expected, 2 * expected, 2 * abs(v[largest])):
            assert l1_ball_threshold(v, radius, guess) == pytest.approx(
                expected, abs=1e-12
            )
