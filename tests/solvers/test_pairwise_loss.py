"""F, its gradients and its minimiser against the sum over all pairs of rows."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive import minimise_on_support
from sparseauc import class_moments
from sparseauc.solvers.rows import Blocks
from sparseauc.solvers.sht_auc import TrainingSet, block_gradient

STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sp.csr_array}

# --------------------------------------------------------------------------------- as
# one calls it


class Objective(TrainingSet):
    """F and its gradients on the rows of a training set, at dense coefficients."""

    def __init__(self, X, y, weight=None):
        X = X.tocsr() if hasattr(X, "tocsr") else X
        positive = np.asarray(y) > 0
        super().__init__(
            X, positive, weight, batch_size=len(positive), rng=None, shuffle=False
        )

    def value_at(self, w):
        return self.value(self.scores(np.asarray(w, self.dtype)))

    def gradient(self, w):
        return self.block_gradient(w, np.arange(self.X.shape[0]), 1)

    def block_gradient(self, w, rows, n_blocks):
        scales = (
            n_blocks * self._loss.scale_positive,
            n_blocks * self._loss.scale_negative,
        )
        loss = self._loss._replace(scale_positive=scales[0], scale_negative=scales[1])
        w = np.asarray(w, self.dtype)
        gradient = np.empty_like(w)
        support = np.flatnonzero(w)
        block_gradient(self._rows, loss, np.asarray(rows), w, support, 1.0, gradient)
        return gradient


# ------------------------------------------------------------------------------ naive
# versions In extended precision, so that what differs is the rounding of the code under
# test.


def pairs(X, positive, weight):
    """x_i − x_j of every positive i and negative j, and the weight of the pair."""
    X, weight = X.astype(np.longdouble), weight.astype(np.longdouble)
    differences = X[positive][:, None, :] - X[~positive][None, :, :]
    pair_weight = weight[positive][:, None] * weight[~positive][None, :]
    return differences, pair_weight / pair_weight.sum()


def naive_value(X, positive, weight, w):
    """Σ pairs p (1 − w·(x_i − x_j))²."""
    differences, share = pairs(X, positive, weight)
    return (share * (1 - differences @ w.astype(np.longdouble)) ** 2).sum()


def naive_gradient(X, positive, weight, w):
    """−2 Σ pairs p (1 − w·(x_i − x_j)) (x_i − x_j)."""
    differences, share = pairs(X, positive, weight)
    slack = share * (1 - differences @ w.astype(np.longdouble))
    return -2 * (slack[:, :, None] * differences).sum(axis=(0, 1))


def naive_means(X, positive, weight):
    X, weight = X.astype(np.longdouble), weight.astype(np.longdouble)
    return (
        weight[rows] @ X[rows] / weight[rows].sum() for rows in (positive, ~positive)
    )


def naive_row_losses(X, positive, weight, w):
    """f̃(w; x) of Proposition 1, row by row."""
    mean_positive, mean_negative = naive_means(X, positive, weight)
    r = weight[positive].sum() / weight.sum()
    common = (1 + w @ (mean_negative - mean_positive)) ** 2
    return np.array(
        [
            (w @ (x - mean_positive)) ** 2 / r + common
            if is_positive
            else (w @ (x - mean_negative)) ** 2 / (1 - r) + common
            for x, is_positive in zip(X.astype(np.longdouble), positive, strict=True)
        ]
    )


def naive_row_gradient(X, positive, weight, w, row):
    """∇f̃(w; x) of one row; its weight is relative to the mean weight."""
    mean_positive, mean_negative = naive_means(X, positive, weight)
    r = weight[positive].sum() / weight.sum()
    delta = mean_negative - mean_positive
    mean, share = (mean_positive, r) if positive[row] else (mean_negative, 1 - r)
    centred = X[row].astype(np.longdouble) - mean
    own = 2 * (weight[row] / weight.mean()) * (w @ centred) * centred / share
    return own + 2 * (1 + w @ delta) * delta


# ------------------------------------------------------------------------------ drawn
# problems


@dataclass
class Problem:
    X: np.ndarray
    positive: np.ndarray
    weight: np.ndarray
    weighted: bool
    w: np.ndarray

    @property
    def rows(self):
        """What the naive versions take."""
        return self.X, self.positive, self.weight

    def objective(self, storage):
        weight = self.weight if self.weighted else None
        return Objective(STORAGES[storage](self.X), self.positive, weight)

    @property
    def size(self):
        """R_j = max|x_j| over the rows that count."""
        return np.abs(self.X[self.weight > 0].astype(np.float64)).max(axis=0)

    def margin_limit(self, w):
        """Rounding of a margin 1 − w·(x_i − x_j), and of its mean over rows.

        A score adds k products, a class mean n rows, each off by eps times |w|·|x|: n +
        k times eps times the largest such sum, for each of the two classes. At n = 40,
        k = 12 these are about 100 eps.
        """
        reach = 1 + (np.abs(self.X[self.weight > 0].astype(float)) @ np.abs(w)).max()
        n, d = self.X.shape
        return 2 * (n + d) * np.finfo(self.X.dtype).eps * reach

    def value_limit(self, w):
        """F is a mean of squared margins: off by 2·√F·e + e² where the margins are off by e."""
        e = self.margin_limit(w)
        return float(2 * np.sqrt(naive_value(*self.rows, w)) * e + e**2)

    def gradient_limit(self, w):
        """∇F is a mean of 2·margin·x over both classes: off by 4·e·R, as margins are ≤ 2·reach."""
        return 4 * self.margin_limit(w) * self.size


@st.composite
def problems(draw, dtypes=(np.float64, np.float32), offsets=(0.0, 1.0, -100.0)):
    """Columns on scales 1e-6 … 1e6 with offsets, copies and constants; rows may repeat."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_positive = draw(st.sampled_from([1, n - 1, (n + 1) // 2]) | st.integers(1, n - 1))
    positive = rng.permutation(n) < n_positive
    X = rng.normal(size=(n, d)) + 0.5 * positive[:, None]
    X *= rng.random((n, d)) < draw(st.sampled_from([1.0, 0.3]))
    for j in range(d):
        kind = draw(
            st.sampled_from(["plain", "plain", "offset", "constant", "copy", "zero"])
        )
        if kind == "offset":
            X[:, j] += draw(st.sampled_from(offsets))
        elif kind == "constant":
            X[:, j] = 0.1
        elif kind == "copy":
            X[:, j] = X[:, 0]
        elif kind == "zero":
            X[:, j] = 0.0
    exponents = st.lists(st.sampled_from([0, 0, -6, -3, 3, 6]), min_size=d, max_size=d)
    scale = 10.0 ** np.array(draw(exponents))
    X *= scale
    if draw(st.booleans()):  # repeated rows, of either class
        X = X[rng.integers(0, max(1, n // 3), n)]
    weights = draw(st.sampled_from(["none", "uneven", "zeros"]))
    weight = np.ones(n) if weights == "none" else rng.choice([0.1, 0.3, 1.0, 7.0], n)
    if weights == "zeros":
        weight *= rng.random(n) < 0.5
        weight[[positive.argmax(), positive.argmin()]] = 0.3
    # In units of the columns, so that every column takes part in the scores.
    w = rng.normal(size=d) / scale
    w *= rng.random(d) < draw(st.sampled_from([1.0, 0.3, 0.0]))
    dtype = draw(st.sampled_from(dtypes))
    return Problem(
        X.astype(dtype), positive, weight, weights != "none", w.astype(dtype)
    )


quick = settings(max_examples=150, deadline=None)


def assert_within(actual, expected, limit):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    off = np.abs(actual - expected) > limit
    assert not off.any(), (
        f"{actual[off]} is not {expected[off]} within {np.asarray(limit)[off]}"
    )


# ------------------------------------------------------------------------ Proposition 1


@quick
@given(problems(dtypes=(np.float64,)))
def test_proposition_1_f_is_a_mean_over_rows(problem):
    # Naive against naive, in extended precision: the mathematics the package rests on.
    X, positive, weight = problem.rows
    losses = naive_row_losses(X, positive, weight, problem.w)
    expected = naive_value(X, positive, weight, problem.w)
    assert_within(
        weight @ losses / weight.sum(), expected, problem.value_limit(problem.w)
    )


@quick
@given(problem=problems(), data=st.data())
def test_the_gradient_of_a_single_row_is_that_of_proposition_1(problem, data):
    X, positive, weight = problem.rows
    n = len(X)
    row = data.draw(st.integers(0, n - 1))
    expected = naive_row_gradient(X, positive, weight, problem.w, row)
    # One row stands for all: it counts w_i·n/W± times. A row of weight zero may lie
    # anywhere, but is multiplied by zero.
    share = 2 * n * weight[row] / weight[positive == positive[row]].sum()
    limit = (1 + share) * problem.gradient_limit(problem.w)
    for storage in STORAGES:
        actual = problem.objective(storage).block_gradient(problem.w, [row], n)
        assert_within(actual, expected, limit)


# -------------------------------------------------------------------------- value and
# gradients


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(problem=problems())
def test_value_equals_the_sum_over_pairs(storage, problem):
    value = problem.objective(storage).value_at(problem.w)
    assert type(value) is float
    assert_within(
        value, naive_value(*problem.rows, problem.w), problem.value_limit(problem.w)
    )


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(problem=problems())
def test_gradient_equals_the_sum_over_pairs(storage, problem):
    gradient = problem.objective(storage).gradient(problem.w)
    assert gradient.dtype == problem.X.dtype
    expected = naive_gradient(*problem.rows, problem.w)
    assert_within(gradient, expected, problem.gradient_limit(problem.w))


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(problem=problems(), batch_size=st.integers(1, 45), shuffle=st.booleans())
def test_block_gradients_average_to_the_gradient(storage, problem, batch_size, shuffle):
    objective = problem.objective(storage)
    every = np.arange(len(problem.X))
    blocks = Blocks.deal(every, batch_size, shuffle, np.random.default_rng(batch_size))
    m = blocks.starts.size - 1
    gradients = [
        objective.block_gradient(problem.w, blocks.order[start:stop], m)
        for start, stop in zip(blocks.starts[:-1], blocks.starts[1:], strict=True)
    ]
    mean = np.mean(gradients, axis=0, dtype=np.float64)
    # A block's own sums of multipliers meet the class means before they cancel over the
    # blocks, which adds as much again.
    limit = 2 * problem.gradient_limit(problem.w)
    assert_within(mean, naive_gradient(*problem.rows, problem.w), limit)
    assert_within(mean, objective.gradient(problem.w), limit)


@quick
@given(problems())
def test_storages_agree(problem):
    objectives = [problem.objective(storage) for storage in STORAGES]
    for objective in objectives[1:]:
        for name, limit in (
            ("value_at", 2 * problem.value_limit(problem.w)),
            ("gradient", 2 * problem.gradient_limit(problem.w)),
            ("scores", 2 * problem.margin_limit(problem.w)),
        ):
            first, other = (
                getattr(o, name)(problem.w) for o in (objectives[0], objective)
            )
            if name == "scores":  # rows of weight zero may lie further out
                first, other = first[problem.weight > 0], other[problem.weight > 0]
            assert_within(first, other, limit)


@pytest.mark.parametrize("storage", STORAGES)
def test_value_and_gradient_keep_their_digits_under_a_large_offset(storage):
    # Margins of scores near 1e6 are good to 1e6·eps = 2e-10; a loss in raw squares to
    # 1e-4.
    rng = np.random.default_rng(0)
    X, positive, weight = (
        1e6 + rng.normal(size=(50, 3)),
        np.arange(50) % 5 == 0,
        np.ones(50),
    )
    w = np.array([0.5, -0.3, 0.2])
    objective = Objective(STORAGES[storage](X), positive)
    assert_allclose(
        objective.value_at(w), float(naive_value(X, positive, weight, w)), rtol=2e-9
    )


@pytest.mark.parametrize("storage", STORAGES)
def test_doctest_numbers_for_every_label_convention(storage):
    X = STORAGES[storage](np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]]))
    for y in (
        [-1, -1, 1],
        [0, 0, 1],
        [False, False, True],
        np.array([-1.0, -1.0, 1.0]),
    ):
        objective = Objective(X, y)
        assert objective.value_at([0.0, 0.0]) == 1.0
        assert objective.value_at([0.5, 0.0]) == 0.125


# -------------------------------------------------------------------------------- X is
# left alone


def large_problem(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 250)).astype(dtype)
    X[X < 0.5] = 0.0
    return X, rng.random(2000) < 0.2, rng.normal(size=250).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
def test_x_is_neither_copied_nor_changed(storage, dtype):
    dense, y, w = large_problem(dtype)
    X = STORAGES[storage](dense)
    compiled = Objective(X, y)  # before memory is counted
    compiled.value_at(w)
    compiled.gradient(w)
    tracemalloc.start()
    objective = Objective(X, y)
    objective.value_at(w)
    objective.gradient(w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if storage == "CSR":
        for mine, theirs in zip(
            objective._rows[1:4], (X.data, X.indices, X.indptr), strict=True
        ):
            assert np.shares_memory(mine, theirs)
        assert X.data.flags.writeable
        assert_array_equal(X.toarray(), dense)
        assert peak < X.data.nbytes / 4
    else:
        assert np.shares_memory(objective._rows.dense, X)
        assert X.flags.writeable
        assert_array_equal(X, dense)
        assert peak < X.nbytes / 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_and_memory_mapped_tables(order, dtype, tmp_path):
    dense, y, w = large_problem(dtype)
    X = STORAGES[order](dense)
    expected = Objective(X, y)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    frozen = X.view()
    frozen.flags.writeable = False
    w.flags.writeable = False
    y.flags.writeable = False
    for table in (mapped, frozen):
        objective = Objective(table, y)
        assert np.shares_memory(objective._rows.dense, table)
        assert objective.value_at(w) == expected.value_at(w)
        assert_array_equal(objective.gradient(w), expected.gradient(w))


def test_read_only_csr_views_and_other_formats():
    dense, y, w = large_problem()
    dense = dense[:100, :20].copy()
    y, w = y[:100], w[:20]
    frozen = sp.csr_matrix(dense)
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.flags.writeable = False
    wide_indices = sp.csr_array(dense)
    wide_indices.indices = wide_indices.indices.astype(np.int64)
    wide_indices.indptr = wide_indices.indptr.astype(np.int64)
    wide = np.repeat(np.repeat(dense, 2, axis=0), 2, axis=1)
    expected = Objective(dense, y)
    for table in (frozen, wide_indices, sp.csc_array(dense), wide[::2, ::2]):
        objective = Objective(table, y)
        assert_allclose(objective.value_at(w), expected.value_at(w), rtol=1e-13)
        assert_allclose(
            objective.gradient(w), expected.gradient(w), rtol=1e-11, atol=1e-13
        )
    assert np.shares_memory(Objective(wide[::2, ::2], y)._rows.dense, wide)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_missing_class_is_refused(storage):
    X = STORAGES[storage](np.eye(4))
    with pytest.raises(ValueError, match="no positive rows"):
        Objective(X, np.zeros(4))
    with pytest.raises(ValueError, match="no negative rows"):
        Objective(X, np.ones(4))
    with pytest.raises(ValueError, match="no positive rows"):
        Objective(X, [0, 1, 0, 1], np.array([1.0, 0.0, 1.0, 0.0]))


# ----------------------------------------------------------------------- the minimiser
# on a support


def on_support(d, support, values):
    w = np.zeros(d)
    w[support] = values
    return w


@st.composite
def problems_with_support(draw, **options):
    problem = draw(problems(dtypes=(np.float64,), **options))
    columns = draw(st.permutations(range(problem.X.shape[1])))
    return problem, list(columns[: draw(st.integers(1, len(columns)))])


ALPHAS = st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 1e6])


def solution_limits(problem, w, alpha):
    """Rounding of value and gradient at a minimiser.

    Entries of H are sums over n rows of products up to R_i R_j, and the solver is
    backward stable: both leave a small multiple of (n + d)·eps·R_i R_j, to be
    multiplied with |w|. The ridge joins R² on the diagonal.
    """
    n, d = problem.X.shape
    size = np.sqrt(problem.size**2 + alpha)
    reach = 1 + np.abs(w) @ size
    unit = 4 * (n + d) * np.finfo(np.float64).eps
    return unit * reach**2, unit * reach * size


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(drawn=problems_with_support(), alpha=ALPHAS, data=st.data())
def test_minimiser_on_a_support(storage, drawn, alpha, data):
    problem, support = drawn
    X, positive, weight = problem.rows
    d = X.shape[1]
    moments = class_moments(STORAGES[storage](X), positive, weight)
    coefficients, value = minimise_on_support(moments, support, alpha)
    assert np.isfinite(coefficients).all()
    assert type(value) is float
    w = on_support(d, support, coefficients)
    value_limit, gradient_limit = solution_limits(problem, w, alpha)
    assert_within(
        value, naive_value(X, positive, weight, w) + alpha * (w @ w), value_limit
    )
    gradient = naive_gradient(X, positive, weight, w) + 2 * alpha * w
    assert_within(gradient[support], np.zeros(len(support)), gradient_limit[support])
    # No step on the support goes down, long or short, in units of the columns.
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for length in (1e-6, 1e-2, 1.0, 10.0):
        step = length * rng.normal(size=d) / np.sqrt(problem.size**2 + 1e-30)
        other = w + on_support(d, support, step[support])
        below = value - (
            naive_value(X, positive, weight, other) + alpha * (other @ other)
        )
        assert below <= value_limit + np.abs(step[support]) @ gradient_limit[support]


@quick
@given(drawn=problems_with_support(), alpha=ALPHAS)
def test_minimiser_does_not_depend_on_how_moments_are_held(drawn, alpha):
    problem, support = drawn
    X, positive, weight = problem.rows
    moments = class_moments(X, positive, weight)
    coefficients, value = minimise_on_support(moments, support, alpha)
    limit = (
        2
        * solution_limits(
            problem, on_support(X.shape[1], support, coefficients), alpha
        )[0]
    )
    for other in (
        moments.summary(),
        class_moments(sp.csr_array(X), positive, weight),
        class_moments(np.asfortranarray(X), positive, weight),
    ):
        assert_within(minimise_on_support(other, support, alpha)[1], value, limit)


def separated(n=60, d=6, seed=0):
    """Correlated columns, some of them informative."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 4 == 0
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + positive[
        :, None
    ] * rng.normal(size=d)
    return X, positive


def test_coefficients_come_in_the_order_of_the_support():
    moments = class_moments(*separated())
    forwards, value = minimise_on_support(moments, [0, 2, 5])
    for order in ([1, 0, 2], [2, 1, 0]):
        shuffled, same = minimise_on_support(moments, np.array([0, 2, 5])[order])
        assert_allclose(shuffled, forwards[order], rtol=1e-11)
        assert_allclose(same, value, rtol=1e-12)


def test_an_empty_support_leaves_the_loss_of_nothing():
    for support in ([], np.array([], dtype=int), ()):
        coefficients, value = minimise_on_support(
            class_moments(*separated()), support, 0.1
        )
        assert coefficients.shape == (0,)
        assert value == 1.0


def test_unconstrained_minimiser_is_fishers_discriminant_of_equally_weighted_classes():
    X, positive = separated()
    within = np.cov(X[positive].T, bias=True) + np.cov(X[~positive].T, bias=True)
    fisher = np.linalg.solve(
        within, X[positive].mean(axis=0) - X[~positive].mean(axis=0)
    )
    w, value = minimise_on_support(class_moments(X, positive), range(6))
    # The discriminant has no length; the squared loss chooses one. Condition 1e3 costs
    # 3 digits.
    assert_allclose(w / np.linalg.norm(w), fisher / np.linalg.norm(fisher), rtol=1e-11)
    # Sherman–Morrison: w = Fisher / (1 + δ·Fisher's length), F = 1 / (1 + Mahalanobis
    # distance²).
    distance = fisher @ (X[positive].mean(axis=0) - X[~positive].mean(axis=0))
    assert_allclose(w, fisher / (1 + distance), rtol=1e-11)
    assert_allclose(value, 1 / (1 + distance), rtol=1e-12)


def test_shares_of_the_classes_do_not_matter():
    # Every positive counted ten times changes neither mean nor covariance of the
    # positives.
    X, positive = separated()
    once = minimise_on_support(class_moments(X, positive), range(6))
    tenfold = minimise_on_support(
        class_moments(X, positive, 1 + 9.0 * positive), range(6)
    )
    assert_allclose(once[0], tenfold[0], rtol=1e-11)
    assert_allclose(once[1], tenfold[1], rtol=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_growing_ridge_tends_to_the_mean_difference(storage):
    X, positive = separated()
    moments = class_moments(STORAGES[storage](X), positive)
    values = []
    for alpha in (1.0, 1e3, 1e6, 1e9, 1e15, 1e100, 1e300):
        w, value = minimise_on_support(moments, [4, 1, 3], alpha)
        # (H + αI)⁻¹ = I/α up to a relative ‖H‖/α.
        off = np.trace(moments.columns(range(6))) / alpha
        assert_allclose(alpha * w, -moments.delta[[4, 1, 3]], rtol=1e-13, atol=10 * off)
        values.append(value)
    assert values == sorted(values)
    assert values[-1] == 1.0


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3])
def test_copies_of_a_column_add_nothing(storage, offset):
    X, positive = separated(d=3)
    X = X + offset
    # Copies, a copy on another scale, a sum of two others, a constant, and zeros.
    X = np.column_stack(
        [X, X[:, 0], 1e6 * X[:, 1], X[:, 1] + X[:, 2], np.full(60, 0.1), 0 * X[:, 0]]
    )
    moments = class_moments(STORAGES[storage](X), positive)
    alone, value = minimise_on_support(moments, [0, 1, 2])
    # H of columns offset by b is known to eps·b, amplified by its condition (1e2 here).
    digits = {"rtol": 1e-10 * max(1.0, offset)}
    for support in (
        [0, 1, 2, 3],
        [3, 4, 2],
        [0, 1, 2, 4, 5],
        range(8),
        [7, 6, 5, 4, 3, 2, 1, 0],
    ):
        w, same = minimise_on_support(moments, support)
        assert np.isfinite(w).all()
        assert_allclose(same, value, **digits)
    # The least norm in units of the columns shares equally between copies.
    w, _ = minimise_on_support(moments, [0, 1, 2, 3, 4])
    assert_allclose(w[[0, 3]], alone[0] / 2, **digits)
    assert_allclose(w[[1, 4]] * [1, 1e6], alone[1] / 2, **digits)


@pytest.mark.parametrize("storage", STORAGES)
def test_only_constant_columns_rank_nothing(storage):
    X = np.tile([0.1, 0.0, 1e15 / 3], (7, 1))
    weight = np.array([0.1, 0.2, 0.3, 0.1, 0.7, 0.1, 0.1])
    moments = class_moments(STORAGES[storage](X), np.arange(7) < 3, weight)
    w, value = minimise_on_support(moments, [0, 1, 2])
    assert_array_equal(w, np.zeros(3))
    assert value == 1.0


def test_perfect_separation_reaches_zero():
    moments = class_moments(np.array([[3.0, 1.0], [1.0, 1.0]]), [1, 0])
    w, value = minimise_on_support(moments, [0])
    assert_allclose(w, [0.5])
    assert_allclose(value, 0.0, atol=1e-15)


@pytest.mark.parametrize("storage", STORAGES)
def test_wildly_different_scales_change_units_only(storage):
    X, positive = separated()
    scale = 10.0 ** np.array([-6, 6, 0, -3, 3, 6])
    w, value = minimise_on_support(class_moments(X, positive), range(6))
    moments = class_moments(STORAGES[storage](X * scale), positive)
    scaled, same = minimise_on_support(moments, range(6))
    assert_allclose(
        scaled * scale, w, rtol=1e-10
    )  # condition 1e3 in units of the columns
    assert_allclose(same, value, rtol=1e-11)


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ([0, 6], "column 6 does not exist: there are 6"),
        ([-1], "column -1 does not exist"),
        ([0.7], "column numbers"),
        ([True, False, True, False, False, False], "column numbers"),
        (np.array([[0, 1]]), "one-dimensional"),
    ],
)
def test_columns_that_cannot_be_are_refused(support, message):
    X, positive = separated()
    for moments in (
        class_moments(X, positive),
        class_moments(X, positive).summary(),
    ):
        with pytest.raises(ValueError, match=message):
            moments.columns(support)


def test_one_class_only_has_no_minimiser():
    X, _ = separated()
    with pytest.raises(ValueError, match="no negative rows"):
        minimise_on_support(class_moments(X, np.ones(60)), [0, 1])
