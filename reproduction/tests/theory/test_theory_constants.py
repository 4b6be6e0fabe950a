"""The printed formulas against literal transcriptions, and the slips against numbers."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm

from sparseauc_paper.projections import hard_threshold
from sparseauc_paper.theory.constants import (
    GaussianConstants,
    contraction,
    expansion_of_lemma,
    expansion_of_theorem,
    tolerance,
    tolerance_parameter,
)
from sparseauc_paper.theory.section import SLIPS

ratios = st.floats(0.001, 0.5)
deviations = st.floats(0.05, 1.0)


@st.composite
def designs(draw):
    """(n, d, k, k*, r, b) that Theorem 2 allows, with rows from tens to beyond any table."""
    k_star = draw(st.integers(1, 50))
    k = draw(st.integers(k_star, 200))
    d = draw(st.integers(k + 1, 10**6))
    n = 10 ** draw(st.floats(1, 12))
    return n, d, k, k_star, draw(ratios), n ** draw(st.floats(0, 1))


# ------------------------------------------------------------------- literal
# transcriptions (TeX)


def printed_rho_minus(n, d, k, k_star, r, lam):
    s = 2 * k + k_star
    return (
        1 / 2 * lam - 6 * 2**0.5 * (s * np.log(d) / (r * n)) ** 0.5
    ) ** 2 - 32 / 3 * (s * np.log(d)) / (r * n)


def printed_rho_plus(d, k, k_star, r, b):
    return 16 * (2 * k + k_star) * np.log(d) * (1 / 2 * np.log(b) + np.log(d)) / r


def printed_kappa(rho, k, k_star):
    nu = 1 + k_star / k + (k_star / k) ** 0.5
    return (nu * (1 - 1 / rho)) ** 0.5


@given(designs(), deviations)
def test_constants_are_those_printed(design, lam):
    n, d, k, k_star, r, b = design
    constants = GaussianConstants(n, d, k, k_star, r, b, lam)
    assert_allclose(constants.rho_minus, printed_rho_minus(n, d, k, k_star, r, lam))
    assert_allclose(constants.rho_plus, printed_rho_plus(d, k, k_star, r, b))
    assert_allclose(constants.kappa, printed_kappa(constants.condition, k, k_star))


def test_dependent_columns():
    constants = GaussianConstants(1e6, 6, 2, 1, 0.3, 10, deviation=0.4)
    assert_allclose(constants.rho_minus, printed_rho_minus(1e6, 6, 2, 1, 0.3, 0.4))
    assert constants.rho_plus == GaussianConstants(1e6, 6, 2, 1, 0.3, 10).rho_plus


# ------------------------------------------------------------------------- limits and
# monotonicity


@given(designs(), deviations)
def test_convexity_tends_to_a_quarter_of_the_least_variance(design, lam):
    n, d, k, k_star, r, _ = design
    needed = GaussianConstants(n, d, k, k_star, r, 1, lam).rows_needed
    rows = needed * np.array([1.001, 2, 10, 1e3, 1e6, 1e14])
    values = [GaussianConstants(n, d, k, k_star, r, 1, lam).rho_minus for n in rows]
    assert values[0] > 0
    assert np.all(np.diff(values) > 0)
    assert_allclose(values[-1], lam**2 / 4, rtol=1e-5)
    assert values[-1] < lam**2 / 4


@given(designs(), deviations, st.floats(0.01, 100))
def test_convexity_is_a_bound_from_the_rows_needed_on(design, lam, factor):
    assume(abs(factor - 1) > 1e-6)
    n, d, k, k_star, r, _ = design
    n = factor * GaussianConstants(n, d, k, k_star, r, 1, lam).rows_needed
    assert GaussianConstants(n, d, k, k_star, r, 1, lam).is_bound == (factor > 1)


@given(designs(), st.floats(1, 1e9))
def test_smoothness_falls_with_balance_and_grows_with_blocks(design, b):
    _, d, k, k_star, _, _ = design

    def smoothness(r, b):
        return GaussianConstants(1e10, d, k, k_star, r, b).rho_plus

    shares = np.linspace(0.05, 0.5, 10)
    values = np.array([smoothness(r, b) for r in shares])
    assert_allclose(values * shares, values[0] * shares[0])  # exactly 1/r
    assert smoothness(0.3, 2 * b) > smoothness(0.3, b)
    # from blocks of one row to one block of all n = d rows: half as much again, no more
    assert_allclose(smoothness(0.3, d) / smoothness(0.3, 1), 1.5)


@given(st.integers(1, 1000), st.integers(0, 1000))
def test_expansions(k_star, more):
    k = k_star + more
    lemma, theorem = expansion_of_lemma(k, k_star), expansion_of_theorem(k, k_star)
    assert 1 < lemma < theorem <= 3
    assert theorem / lemma < 1.146  # "up to 7 %" of κ
    assert expansion_of_lemma(k, k_star, d=k) == 1
    assert expansion_of_lemma(k, k_star, d=k + k_star) == lemma
    assert expansion_of_lemma(k, k_star, d=k + 1) <= lemma
    assert expansion_of_lemma(k + 1, k_star) < lemma
    # it solves ν² = μ(1 + ν)
    nu = lemma - 1
    assert_allclose(nu**2, k_star / k * (1 + nu))


def test_expansion_vanishes_for_many_columns_kept():
    assert expansion_of_lemma(10**12, 1) == pytest.approx(1, abs=1e-5)
    assert expansion_of_theorem(10**12, 1) == pytest.approx(1, abs=1e-5)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 5), st.integers(0, 6)
)
def test_hard_thresholding_expands_no_more_than_the_lemma_says(
    seed, k_star, more, rest
):
    rng = np.random.default_rng(seed)
    k = k_star + more
    d = k + rest
    target = np.zeros(d)
    target[rng.choice(d, k_star, replace=False)] = rng.normal(size=k_star)
    # near the target, and spread so that the threshold goes wrong
    v = target + rng.normal(size=d) * rng.choice([0.1, 0.5, 1, 3])
    expanded = np.sum((hard_threshold(v, k) - target) ** 2)
    assert expanded <= expansion_of_lemma(k, k_star, d) * np.sum((v - target) ** 2) * (
        1 + 1e-12
    )


def test_the_lemma_is_attained():
    # k = k* = 1 and w* = (1, 0): of two entries all but equal the wrong one is kept
    target = np.array([1.0, 0.0])
    points = [np.array([a, a * (1 + 1e-9)]) for a in np.linspace(0.01, 1.5, 2000)]
    worst = max(
        np.sum((hard_threshold(v, 1) - target) ** 2) / np.sum((v - target) ** 2)
        for v in points
    )
    assert worst == pytest.approx(expansion_of_lemma(1, 1), rel=1e-5)


def test_contraction_and_tolerance():
    assert contraction(1, 2.0) == 0
    assert contraction(math.inf, 2.0) == math.sqrt(2)
    assert_allclose(contraction(4, 1.2), math.sqrt(1.2 * 0.75))
    assert tolerance(0.3, 0.4) == pytest.approx(0.5)
    assert tolerance(0.3, 1.0) == tolerance(0.3, 1.5) == math.inf
    assert_allclose(tolerance_parameter(3.0, 2.0, 4.0), 3.0)


# ------------------------------------------------------------------------------- the
# slips, in turn


def kappa_of_lemma(constants):
    """κ with the sharper factor of the proof."""
    return contraction(
        constants.condition,
        expansion_of_lemma(constants.k, constants.k_star, constants.d),
    )


@given(st.floats(1.0001, 50), st.integers(1, 50), st.integers(1, 5000))
def test_condition_on_k_is_kappa_below_one_with_the_factor_of_the_lemma(rho, k_star, k):
    assume(k >= k_star)
    needed = rho * (rho - 1) * k_star
    assume(abs(k - needed) > 1e-6 * needed)
    assert (k > needed) == (contraction(rho, expansion_of_lemma(k, k_star)) < 1)


def test_condition_on_k_is_not_enough_with_the_factor_of_the_theorem():
    k, k_star, rho = 21, 10, 2.0
    assert k > rho * (rho - 1) * k_star
    assert contraction(rho, expansion_of_theorem(k, k_star)) == pytest.approx(
        1.04, abs=0.005
    )


@settings(max_examples=500)
@given(designs())
def test_theorems_together_never_say_anything(design):
    constants = GaussianConstants(*design)
    assert constants.condition > 100 * constants.k
    assert (
        constants.condition * (constants.condition - 1) * constants.k_star > constants.k
    )
    assert constants.kappa >= 1
    assert kappa_of_lemma(constants) >= 1


def test_more_rows_do_not_help():
    for n in (1e7, 1e9, 1e15):
        constants = GaussianConstants(n, 1000, 200, 1, 0.5, 50)
        assert constants.is_bound
        assert kappa_of_lemma(constants) > 1


def test_convexity_squares_a_negative_number_on_the_papers_tables():
    for r in np.linspace(0.05, 0.5, 10):
        for k in (20, 40, 60, 80):
            constants = GaussianConstants(1000, 1000, k, k, r, 50)
            assert (
                0.5 - 6 * math.sqrt(2) * math.sqrt(3 * k * math.log(1000) / (r * 1000))
                < 0
            )
            # columns have variance 1, so that no curvature of F along one of them
            # exceeds 4 by much
            assert constants.rho_minus > 10
            assert not constants.is_bound
            assert constants.condition == math.inf
    # fewer rows, "more" convexity
    fewer, more = (GaussianConstants(n, 1000, 20, 20, 0.5, 1) for n in (10, 100))
    assert fewer.rho_minus > more.rho_minus


def test_condition_rises_with_balance_left_of_the_vertex_and_falls_right_of_it():
    shares = np.linspace(0.05, 0.5, 10)
    at_its_word = [
        GaussianConstants(1000, 1000, 20, 20, r, 50).condition_as_printed
        for r in shares
    ]
    assert np.all(np.diff(at_its_word) > 0)
    sound = [GaussianConstants(1e8, 1000, 20, 20, r, 50).condition for r in shares]
    assert np.all(np.diff(sound) < 0)
    assert 288 * 60 * math.log(1000) / 1000 > 100  # the vertex, beyond r = 100


@given(designs(), deviations)
def test_coefficients_of_the_condition_number(design, lam):
    n, d, k, k_star, r, b = design
    s = 2 * k + k_star
    logs = math.log(b) / 2 + math.log(d)
    a = lam**2 / (4 * s * math.log(d) * logs)
    c = 184 / (3 * n * logs)
    mended = -6 * math.sqrt(2) * lam / (math.sqrt(n * s * math.log(d)) * logs)
    printed = -6 * math.sqrt(2) * lam / math.sqrt(n * s * math.log(d) * logs)
    constants = GaussianConstants(n, d, k, k_star, r, b, lam)
    bottom = constants.rho_minus / constants.rho_plus * 16
    largest = max(a * r, -mended * math.sqrt(r), c)
    assert_allclose(a * r + mended * math.sqrt(r) + c, bottom, atol=1e-12 * largest)
    if abs(logs - 1) > 0.01:
        assert abs(printed / mended - 1) > 1e-3
    # the vertex is where the number that is squared vanishes
    vertex = (-mended / (2 * a)) ** 2
    assert_allclose(
        lam / 2, 6 * math.sqrt(2) * math.sqrt(s * math.log(d) / (vertex * n))
    )
    assert a > 0  # convex in √r


def test_logarithms_and_probabilities_of_the_proof():
    d, b = 1000, 50
    for s in (1, 3, 60):
        t = 16 * math.log(2 * math.sqrt(b) * d) / (3 * math.log(2 * d))
        bound = t * math.log(2 * d / s)
        printed = 16 / 3 * math.log(d) * (math.log(b) / 2 + math.log(d))
        assert bound <= 16 / 3 * math.log(2 * d * math.sqrt(b)) * (1 + 1e-12)
        assert printed / bound > 0.8 * math.log(d)
        failure = (2 * d / s) ** (1 - 3 * t / 8)
        claimed = s / (2 * b * d)
        if s == 1:
            assert failure == pytest.approx(claimed)
        else:
            assert failure > 1.3 * claimed


def test_sum_of_the_largest_squares_is_as_the_lemma_says():
    # What ρ⁺ rests on, by simulation: the s largest of d squared normals.
    d, s = 1000, 60
    rng = np.random.default_rng(0)
    sums = np.sort(rng.normal(size=(500, d)) ** 2, axis=1)[:, -s:].sum(axis=1)
    tight = s * 16 / 3 * math.log(2 * d / s)
    assert sums.max() < tight
    # about half the squares' bound already holds on average
    threshold = norm.isf(s / (2 * d))
    assert sums.mean() == pytest.approx(
        2 * d * (threshold * norm.pdf(threshold) + norm.sf(threshold)), rel=0.02
    )


def test_reading_of_the_tolerance_depends_on_an_unnamed_constant():
    r = np.linspace(0.001, 0.5, 500)

    def form(c):
        return r / (1 - c * np.sqrt(1 - r))

    assert np.all(np.diff(form(1.0)) < 0)
    assert np.all(np.diff(form(0.8)) > 0)


def test_slips_say_something_of_everything():
    assert len({slip.where for slip in SLIPS}) == len(SLIPS) >= 12
    for slip in SLIPS:
        assert all(part.strip() for part in slip)
