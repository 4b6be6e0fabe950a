"""Projections against naive versions: a full sort instead of a selection, a sweep over a sort."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from naive import naive_hard_threshold, naive_top_k
from sparseauc_paper.projections import (
    hard_threshold,
    l1_ball_threshold,
    largest_magnitudes,
    project_l1_ball,
    project_l2_ball,
    select_largest,
    soft_threshold,
    top_k,
)

# ------------------------------------------------------------------------------ naive versions


def naive_soft_threshold(v, amount):
    return np.sign(v) * np.maximum(np.abs(v) - amount, 0)


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


def naive_project_l2_ball(v, radius):
    """In Python's own numbers; ``hypot`` guards against overflow by itself."""
    norm = math.hypot(*map(float, v))
    return np.array([float(x) if norm <= radius else float(x) / norm * radius for x in v])


# ------------------------------------------------------------------------------ inputs

SHAPES = {
    "gaussian": lambda d, rng: rng.standard_normal(d),
    "heavy tails": lambda d, rng: rng.standard_cauchy(d),
    "few values": lambda d, rng: rng.integers(-2, 3, d),
    "ten values": lambda d, rng: rng.integers(0, 10, d),
    "constant": lambda d, rng: np.full(d, -1.5),
    "constant but for one": lambda d, rng: np.where(np.arange(d) == rng.integers(max(d, 1)), 2, 1),
    "zeros of both signs": lambda d, rng: rng.choice([0.0, -0.0], d),
    "mostly zero": lambda d, rng: rng.standard_normal(d) * (rng.random(d) < 0.01),
    "ascending": lambda d, rng: np.arange(d),
    "descending": lambda d, rng: np.arange(d)[::-1],
    "organ pipe": lambda d, rng: np.minimum(np.arange(d), np.arange(d)[::-1]),
    "valley": lambda d, rng: np.maximum(np.arange(d), np.arange(d)[::-1]),
    # An evenly spaced sample sees only one of the two values whenever its step is even.
    "alternating": lambda d, rng: np.arange(d) % 2,
    # Small enough to stay denormal in float32 (the least is 1.4e-45).
    "denormal": lambda d, rng: rng.integers(-5, 6, d) * 2e-45,
    "denormal in float64": lambda d, rng: rng.integers(-5, 6, d) * 5e-324,
    "huge": lambda d, rng: rng.standard_normal(d) * 1e37,
}


def shaped(shape, d, dtype, seed):
    return SHAPES[shape](d, np.random.default_rng(seed)).astype(dtype)


@st.composite
def vectors(draw, max_size=3000):
    """A vector of some shape, or a short one of arbitrary finite floats."""
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    if draw(st.booleans()):
        width = np.dtype(dtype).itemsize * 8
        numbers = st.floats(allow_nan=False, allow_infinity=False, width=width)
        return draw(arrays(dtype, st.integers(0, 40), elements=numbers))
    # Both sides of 600, above which ranges are sampled.
    d = draw(st.integers(0, 30) | st.integers(500, 700) | st.integers(0, max_size))
    return shaped(draw(st.sampled_from(sorted(SHAPES))), d, dtype, draw(st.integers(0, 2**32 - 1)))


@st.composite
def vectors_and_k(draw):
    v = draw(vectors())
    d = v.size
    return v, draw(
        st.integers(0, 10) | st.integers(0, d + 3) | st.sampled_from([d // 10, d, 2 * d])
    )


def run_largest_magnitudes(v, k, floor):
    """Call the kernel; -1, or the indices."""
    support = np.full(k, -7)
    size = largest_magnitudes(v, k, floor, np.empty_like(v), support)
    return size if size < 0 else support[:size]


# ------------------------------------------------------------------------------ the k largest


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
    assert result.dtype == v.dtype
    assert_array_equal(result, naive_hard_threshold(v, k), strict=True)
    assert np.count_nonzero(result) == min(k, np.count_nonzero(v))
    assert_array_equal(hard_threshold(result, k), result)
    assert_array_equal(v, before)
    assert not np.shares_memory(result, v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_shape_at_every_scale_of_k(shape, dtype):
    # The certain version of the properties above, at a size where samples are sampled themselves.
    v = shaped(shape, 20_000, dtype, seed=0)
    for k in (1, 2, 20, 2_000, 10_000, 19_999, 20_000):
        assert_array_equal(top_k(v, k), naive_top_k(v, k))


@given(vectors_and_k())
def test_select_largest_partitions(vector_and_k):
    v, k = vector_and_k
    k = min(k, v.size)
    if k == 0:
        return
    values = v.copy()
    select_largest(values, k)
    assert_array_equal(np.sort(values), np.sort(v))
    assert_array_equal(np.sort(values[:k]), np.sort(v)[v.size - k :])
    assert values[k - 1] == values[:k].min()


@given(vectors_and_k(), st.floats(0, 1))
def test_floor_changes_nothing(vector_and_k, share):
    v, k = vector_and_k
    k = min(k, v.size)
    magnitudes = np.sort(np.abs(v))[::-1]
    # Any magnitude that at least k entries reach, the k-th largest included.
    floor = float(magnitudes[k - 1 + int(share * (v.size - k))]) if k else math.inf
    with_floor = run_largest_magnitudes(v, k, floor)
    assert_array_equal(with_floor, run_largest_magnitudes(v, k, 0.0))
    assert_array_equal(with_floor, naive_top_k(v, k))


def test_wrong_guess_of_the_sample_is_mended():
    # The sample of 1000 entries takes every 10th and finds them all large; but for those, the
    # vector is small, so that fewer than k entries reach the guess.
    v = np.full(1000, 1.0)
    v[::10] = np.arange(100) + 2.0
    assert_array_equal(top_k(v, 200), naive_top_k(v, 200))
    assert_array_equal(top_k(v, 90), naive_top_k(v, 90))


@given(vectors_and_k(), st.sampled_from([math.nan, math.inf, -math.inf]), st.floats(0, 1))
def test_kernel_reports_non_finite_entries(vector_and_k, bad, where):
    v, k = vector_and_k
    if v.size == 0:
        return
    k = min(k, v.size)
    at = min(int(where * v.size), v.size - 1)
    # A floor above every finite entry, one that lets some pass, and none.
    largest = float(np.abs(v).max())
    v[at] = bad
    for floor in (0.0, largest / 2, largest, math.inf):
        assert run_largest_magnitudes(v, k, floor) == -1


def test_read_only_and_strided_vectors():
    v = shaped("gaussian", 3000, np.float64, seed=1)
    v.flags.writeable = False
    assert_array_equal(top_k(v, 50), naive_top_k(v, 50))
    for strided in (v[::3], v[::-1]):
        assert_array_equal(top_k(strided, 50), naive_top_k(strided, 50))
        assert_allclose(project_l1_ball(strided, 5.0), naive_project_l1_ball(strided, 5.0))


@pytest.mark.parametrize("dtype", ["i8", "u2", "?", "f2", "g", ">f8", ">f4"])
def test_other_real_numbers_are_converted(dtype):
    result = hard_threshold(np.array([1, 0, 3, 2]).astype(dtype), 2)
    assert result.dtype == np.float64
    assert_array_equal(result, [1, 0, 1, 0] if dtype == "?" else [0, 0, 3, 2])
    assert_array_equal(hard_threshold([1, -3, 2], 1), [0, -3, 0])


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "project",
    [top_k, hard_threshold, soft_threshold, project_l1_ball, project_l2_ball],
)
@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0, 2.0, math.nan, math.nan], "nan at index 2"),
        ([1.0, math.inf], "inf at index 1"),
        ([-math.inf, math.nan], "-inf at index 0"),
        (np.array([1.0, math.nan], np.float32), "nan at index 1"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        (1.0, r"shape \(\)"),
        ([1.0 + 2.0j], "complex128"),
        (np.array([1.0, None]), "object"),
        (["1.0"], "<U3"),
    ],
)
def test_bad_vectors_are_named(project, vector, message):
    with pytest.raises(ValueError, match=message):
        project(vector, 1)


@pytest.mark.parametrize("operator", [top_k, hard_threshold])
def test_negative_k_is_named(operator):
    with pytest.raises(ValueError, match="k must be 0 or more, got -1"):
        operator([1.0, 2.0], -1)


@pytest.mark.parametrize("project", [project_l1_ball, project_l2_ball])
@pytest.mark.parametrize("radius", [-1.0, math.nan, math.inf])
def test_bad_radius_is_named(project, radius):
    with pytest.raises(ValueError, match=f"radius must be .* got {radius}"):
        project([1.0, 2.0], radius)


@pytest.mark.parametrize("amount", [-1e-9, math.nan])
def test_bad_amount_is_named(amount):
    with pytest.raises(ValueError, match=f"amount must be 0 or more, got {amount}"):
        soft_threshold([1.0, 2.0], amount)


# ------------------------------------------------------------------------------ the L1 ball


@st.composite
def vectors_and_radius(draw):
    """Vectors of every scale from 1e-6 to 1e6, and a radius of a scale of its own."""
    v = draw(vectors(max_size=1000))
    largest = np.abs(v).max(initial=0)
    if largest > 0:
        v = v / largest * v.dtype.type(10.0 ** draw(st.integers(-6, 6)))
    return v, draw(st.just(0.0) | st.floats(0.1, 9.9)) * 10.0 ** draw(st.integers(-6, 6))


@given(vectors_and_radius())
def test_l1_ball_equals_sort(vector_and_radius):
    v, radius = vector_and_radius
    before = v.copy()
    result = project_l1_ball(v, radius)
    assert result.dtype == v.dtype
    assert not np.shares_memory(result, v)
    assert_array_equal(v, before)
    expected = naive_project_l1_ball(v, radius)
    largest = float(np.abs(v).max(initial=0))
    narrowing = float(np.finfo(v.dtype).eps)
    assert_allclose(result, expected, rtol=narrowing, atol=1e-12 * largest)
    # Feasible, but for the rounding of a sum of d entries and of the threshold, shared by them.
    norm = math.fsum(np.abs(result.astype(np.float64)))
    summing = v.size * np.finfo(np.float64).eps
    assert norm <= radius * (1 + narrowing + summing) + v.size * np.spacing(largest)
    if math.fsum(np.abs(v.astype(np.float64))) <= radius * (1 - 1e-12):
        assert_array_equal(result, v)
    if radius == 0:
        assert not result.any()


@given(vectors_and_radius(), st.integers(0, 2**32 - 1))
def test_l1_projection_is_the_nearest_point(vector_and_radius, seed):
    v, radius = vector_and_radius
    if v.size == 0 or radius == 0:
        return
    v = v.astype(np.float64)
    u = project_l1_ball(v, radius)
    slack = 1e-12 * float(np.abs(v).max())
    # u is the nearest point if and only if (v − u)·(z − u) ≤ 0 for all z in the ball; the largest
    # of these products is at a vertex, radius·‖v − u‖_∞.
    residual = v - u
    reached = math.fsum(residual * u)
    assert radius * np.abs(residual).max() <= reached + slack * (radius + np.abs(residual).sum())
    # And the same in plain words: no random point of the ball is nearer.
    rng = np.random.default_rng(seed)
    z = rng.laplace(size=(20, v.size)) * (rng.random((20, v.size)) < 0.5)
    norms = np.abs(z).sum(axis=1, keepdims=True)
    z *= radius * rng.random((20, 1)) / np.where(norms > 0, norms, 1)
    nearest = np.linalg.norm(v - z, axis=1).min()
    assert np.linalg.norm(residual) <= nearest * (1 + 1e-12) + slack


@pytest.mark.parametrize(
    "v",
    [
        [1e20, 1.0],
        [1.0, -1e20],
        [1e20, 1e20, -1e20, 0.0],
        list(np.nextafter(1e20, [0, 1e30])),
    ],
)
def test_l1_radius_lost_beside_the_entries(v):
    # The threshold rounds to the largest entry: nearly nothing survives, but never everything.
    result = project_l1_ball(v, 1.0)
    assert np.abs(result).sum() <= 1.0 + 2 * np.spacing(1e20)
    assert_allclose(result, naive_project_l1_ball(np.array(v), 1.0), atol=1e-12 * 1e20)


def test_l1_norm_may_overflow():
    assert_allclose(project_l1_ball(np.full(10, -1e308), 1e308), np.full(10, -1e307))
    assert_allclose(project_l1_ball(np.full(10, 3e38, np.float32), 1.0), np.zeros(10), atol=1e26)


def test_l1_float32_rounds_entries_and_not_the_threshold():
    # A threshold near 1 rounded to float32 would be off by up to 6e-8 for each of the entries,
    # which should be 1e-5.
    v = np.full(100_000, 1.0, np.float32) + np.float32(1e-3)
    result = project_l1_ball(v, 1.0)
    assert result.dtype == np.float32
    assert_allclose(math.fsum(result), 1.0, rtol=1e-6)


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
            assert l1_ball_threshold(v, radius, guess) == pytest.approx(expected, abs=1e-12)


# ------------------------------------------------------------------------------ the L2 ball


@given(vectors_and_radius())
def test_l2_ball_equals_definition(vector_and_radius):
    v, radius = vector_and_radius
    before = v.copy()
    result = project_l2_ball(v, radius)
    assert result.dtype == v.dtype
    assert not np.shares_memory(result, v)
    assert_array_equal(v, before)
    eps = float(np.finfo(v.dtype).eps)
    # The norm of d numbers is known to about d roundings.
    rtol = eps * (10 + v.size)
    atol = np.finfo(v.dtype).tiny
    assert_allclose(result, naive_project_l2_ball(v, radius), rtol=rtol, atol=atol)
    assert math.hypot(*map(float, result)) <= radius * (1 + rtol)
    if math.hypot(*map(float, v)) <= radius * (1 - rtol):
        assert_array_equal(result, v)


@pytest.mark.parametrize(
    ("v", "radius"),
    [
        ([3e200, -4e200], 1.0),
        ([3e200, -4e200], 1e300),
        ([3e200, -4e200], 0.0),
        ([3e-200, -4e-200], 1e-200),
        ([3e-200, -4e-200], 1.0),
        ([5e-324, 0.0], 1.0),
        ([1.7e308] * 4, 1.0),  # the norm itself overflows
        ([1.7e308] * 4, 1.7e308),
        ([0.0, -0.0], 0.0),
        ([], 1.0),
    ],
)
def test_l2_ball_at_the_ends_of_the_range(v, radius):
    largest = max(map(abs, v), default=0.0)
    expected = np.array(v)
    if largest > 0:
        unit = np.array(v) / largest
        norm = math.hypot(*unit)
        expected = expected if norm <= radius / largest else unit / norm * radius
    assert_allclose(project_l2_ball(np.array(v), radius), expected, rtol=1e-14)


def test_l2_ball_at_the_end_of_float32():
    result = project_l2_ball(np.full(4, 3e38, np.float32), 1.0)
    assert result.dtype == np.float32
    assert_allclose(result, np.full(4, 0.5), rtol=1e-6)


# ------------------------------------------------------------------------------ soft threshold


@given(vectors(), st.sampled_from([0.0, 1e-300, 0.5, 1.0, 2.0, 1e300, math.inf]))
def test_soft_threshold_equals_definition(v, amount):
    before = v.copy()
    result = soft_threshold(v, amount)
    assert result.dtype == v.dtype
    assert not np.shares_memory(result, v)
    assert_array_equal(v, before)
    with np.errstate(over="ignore"):
        expected = naive_soft_threshold(v, v.dtype.type(amount))
    assert_array_equal(result, expected)


@given(vectors(max_size=100), st.floats(0.01, 10))
def test_soft_threshold_minimises_its_objective(v, amount):
    # Coordinate by coordinate: z ↦ (z − v)²/2 + amount·|z|, in the range where squares are finite.
    v = np.clip(v.astype(np.float64), -1e6, 1e6)
    u = soft_threshold(v, amount)

    def cost(z):
        return (z - v) ** 2 / 2 + amount * np.abs(z)

    for step in (-1.0, -1e-3, 1e-3, 1.0):
        assert np.all(cost(u) <= cost(u + step) * (1 + 1e-12))
