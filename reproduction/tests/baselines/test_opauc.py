"""OPAUC: equal to the naive algorithm, its sketches right on average, its automatic step safe."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparseauc.datasets import make_outbreak
from sparseauc.metrics import fast_auc
from sparseauc.objective import AUCObjective, minimise_on_support
from sparseauc.rows import as_table
from sparseauc_paper.baselines.opauc import OPAUCState, opauc

# -------------------------------------------------------------------------- the oracles, row by row


def scatter(rows, _):
    centred = rows - rows.mean(axis=0)
    return centred.T @ centred


def sketched_scatter(rows, draws):
    Z = (rows - rows.mean(axis=0)).T @ draws
    return Z @ Z.T


def naive_opauc(X, y, step_size, alpha, draws=None):
    """The module's formula, with all rows kept and all moments computed anew for each row."""
    w = np.zeros(X.shape[1])
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        others = np.flatnonzero(y[:t] == -label)
        if others.size == 0:
            continue
        c = X[others].mean(axis=0)
        if draws is None:
            S = scatter(X[others], None) / others.size
        else:
            S = sketched_scatter(X[others], draws[others]) / others.size
        step = step_size
        if step_size == "auto":
            own = X[: t + 1][y[: t + 1] == label]
            usual = own.var(axis=0).sum()
            bound = max((x - c) @ (x - c), usual) + X[others].var(axis=0).sum() + alpha
            step = 0.5 / bound
        w = w - step * (alpha * w + (x - c) * ((x - c) @ w - label) + S @ w)
    return w


def problem(seed, n=50, d=7):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    y[-2:] = 1, -1
    X = rng.standard_normal((n, d)) + 0.5
    X[rng.random((n, d)) < 0.3] = 0.0
    X[y > 0, :2] += 0.7
    return X, y


def test_the_step_is_the_gradient_over_all_pairs():
    X, y = problem(0)
    X, y = np.vstack([X[y < 0], X[y > 0][0]]), np.append(y[y < 0], 1)
    start = np.random.default_rng(0).standard_normal(7)
    result = opauc(
        AUCObjective(X, y), step_size=0.1, alpha=0.0, shuffle=False, start=start,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    # Only the last row has partners: one step over its pairs with all the others.
    pairs = X[-1] - X[:-1]
    gradient = -((1 - pairs @ start)[:, None] * pairs).mean(axis=0)
    np.testing.assert_allclose(result.dense(7), start - 0.1 * gradient, atol=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    step_size=st.sampled_from([0.003, 0.02, "auto"]),
    alpha=st.sampled_from([0.0, 0.5]),
)
def test_equals_the_naive_algorithm(seed, step_size, alpha):
    X, y = problem(seed)
    expected = naive_opauc(X, y, step_size, alpha)
    for table in (X, np.asfortranarray(X), sp.csr_array(X)):
        result = opauc(AUCObjective(table, y), step_size=step_size, alpha=alpha, shuffle=False)
        np.testing.assert_allclose(result.dense(7), expected, rtol=1e-10, atol=1e-12)


def test_rows_are_visited_in_random_orders():
    X, y = problem(1)
    rng, orders = np.random.default_rng(5), np.random.default_rng(5)
    rows = np.concatenate([orders.permutation(50) for _ in range(3)])
    result = opauc(AUCObjective(X, y), step_size=0.01, alpha=0.1, max_epochs=3, rng=rng)
    expected = naive_opauc(X[rows], y[rows], 0.01, 0.1)
    np.testing.assert_allclose(result.dense(7), expected, rtol=1e-10, atol=1e-12)


def test_float32_stays_float32():
    X, y = problem(2)
    result = opauc(AUCObjective(X.astype(np.float32), y), step_size=0.01, shuffle=False)
    assert result.values.dtype == np.float32
    expected = naive_opauc(X, y, 0.01, 1e-4)
    np.testing.assert_allclose(result.dense(7), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exact_limit", [0, 100])
def test_parts_equal_the_whole(exact_limit):
    X, y = problem(3, n=700)

    def state():
        return OPAUCState(
            7, np.float64, rank=4, exact_limit=exact_limit, rng=np.random.default_rng(1)
        )

    whole = state().partial_fit(as_table(X), y > 0)
    parts = state()
    for rows in np.split(np.arange(700), [1, 2, 30, 31, 500]):
        table = X[rows] if rows.size % 2 else sp.csr_array(X[rows])
        parts.partial_fit(as_table(table), y[rows] > 0)
    np.testing.assert_array_equal(parts.w, whole.w)
    np.testing.assert_array_equal(parts.counts, [np.sum(y > 0), np.sum(y < 0)])
    np.testing.assert_allclose(parts.centres, [X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)])


def test_ends_at_the_minimiser():
    X, y = make_outbreak(n=300, d=6, k=3, mu=1.0, r=0.3, correlation=0.6, random_state=0)
    objective = AUCObjective(X, y)
    expected, least = minimise_on_support(objective.moments, np.arange(6), 0.1)
    result = opauc(
        objective, step_size=2e-3, alpha=0.1, max_epochs=200, rng=np.random.default_rng(0)
    )
    w = result.dense(6)
    np.testing.assert_allclose(w, expected, atol=0.03)
    assert objective.value(w) + 0.1 * w @ w < 1.01 * least


def test_a_common_offset_costs_few_digits():
    X, y = problem(4)
    for exact_limit in (0, 100):
        runs = [
            opauc(
                AUCObjective(X + offset, y), step_size=0.01, exact_limit=exact_limit,
                rng=np.random.default_rng(0),
            ).dense(7)
            for offset in (0.0, 2.0**20)
        ]  # fmt: skip
        np.testing.assert_allclose(runs[1], runs[0], rtol=1e-6, atol=1e-8)


def test_constant_columns_stay_zero():
    X, y = problem(5)
    X[:, 3] = 0.1
    w = opauc(AUCObjective(X, y), rng=np.random.default_rng(0)).dense(7)
    assert w[3] == 0
    assert np.count_nonzero(w) == 6


# ------------------------------------------------------------------------------------- the sketches


class UnitVectors:
    """Stands in for the random generator: √rank·e_i is drawn for row i."""

    def __init__(self):
        self.drawn = 0

    def standard_normal(self, shape):
        n, rank = shape
        self.drawn += n
        return np.sqrt(rank) * np.eye(rank)[self.drawn - n : self.drawn]


@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 9))
def test_sketch_equals_the_naive_algorithm(seed, rank):
    X, y = problem(seed)
    draws = np.random.default_rng(seed).standard_normal((50, rank)) / np.sqrt(rank)
    expected = naive_opauc(X, y, 0.01, 0.1, draws)
    for table in (X, sp.csr_array(X)):
        state = OPAUCState(
            7, np.float64, step_size=0.01, alpha=0.1, rank=rank, exact_limit=6,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        state.partial_fit(as_table(table), y > 0)
        np.testing.assert_allclose(state.w, expected, rtol=1e-9, atol=1e-12)


def test_a_sketch_along_orthonormal_vectors_is_exact():
    # ZZᵀ = Σ_ij (x_i − c)(x_j − c)ᵀ r_i·r_j is the scatter itself when the r_i are orthonormal.
    X, y = problem(6)
    state = OPAUCState(
        7, np.float64, step_size=0.01, rank=50, exact_limit=0, rng=UnitVectors()
    ).partial_fit(as_table(X), y > 0)
    np.testing.assert_allclose(state.w, naive_opauc(X, y, 0.01, 1e-4), rtol=1e-10)


def test_sketches_are_right_on_average():
    X, y = problem(7, n=30, d=3)
    X += 3.0  # a sketch that is not centred would show 9 in every place
    total = np.zeros((2, 3, 3))
    runs = 4000
    for seed in range(runs):
        state = OPAUCState(
            3, np.float64, rank=2, exact_limit=0, rng=np.random.default_rng(seed)
        ).partial_fit(as_table(X), y > 0)
        total += state._sketches @ state._sketches.transpose(0, 2, 1)
    for mean, mask in zip(total / runs, (y > 0, y < 0), strict=True):
        expected = scatter(X[mask], None)
        deviation = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
        assert np.max(np.abs(mean - expected) / deviation) < 0.08


def test_a_larger_rank_comes_closer():
    X, y = make_outbreak(n=600, d=80, k=10, mu=0.8, r=0.3, correlation=0.7, random_state=0)
    objective = AUCObjective(X, y)
    exact = opauc(objective, shuffle=False)
    errors = []
    for rank in (2, 20, 400):
        runs = [
            opauc(
                objective, shuffle=False, rank=rank, exact_limit=0, rng=np.random.default_rng(seed)
            ).dense(80)
            for seed in range(8)
        ]
        errors.append(np.mean([np.sum((w - exact.dense(80)) ** 2) for w in runs]))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02 * np.sum(exact.values**2)
    auc = fast_auc(X @ exact.dense(80), y > 0)
    assert fast_auc(X @ runs[0], y > 0) == pytest.approx(auc, abs=0.01)


# ------------------------------------------------------------------------------- the automatic step


def test_automatic_step_follows_the_scale():
    X, y = problem(8)
    expected = opauc(AUCObjective(X, y), alpha=0.0, shuffle=False).dense(7)
    for scale in (2.0**-40, 2.0**13, 2.0**300):
        w = opauc(AUCObjective(X * scale, y), alpha=0.0, shuffle=False).dense(7)
        np.testing.assert_allclose(w * scale, expected, rtol=1e-12)


def test_automatic_step_never_overshoots():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) % 9 == 0, 1, -1)
    for seed in range(5):
        # Heavy tails: some rows are a thousand times longer than the usual one.
        X = np.random.default_rng(seed).standard_cauchy((300, 10))
        before = np.zeros(10)
        state = OPAUCState(10, np.float64, rng=rng)
        for i in range(300):
            state.partial_fit(as_table(X[i : i + 1]), y[i : i + 1] > 0)
            others = X[:i][y[:i] == -y[i]]
            if others.size:
                pairs = y[i] * (X[i] - others)
                losses = [np.mean((1 - pairs @ w) ** 2) + 1e-4 * w @ w for w in (before, state.w)]
                assert losses[1] <= losses[0] * (1 + 1e-9)
            before = state.w.copy()


def test_equal_rows_give_no_step():
    X, y = np.ones((6, 3)), np.array([1, -1, 1, -1, 1, -1])
    state = OPAUCState(3, np.float64, alpha=0.0, rng=np.random.default_rng(0))
    state.partial_fit(as_table(X), y > 0)
    np.testing.assert_array_equal(state.w, np.zeros(3))


# ---------------------------------------------------------------------------------- what is refused


def test_overflow_is_reported():
    X, y = problem(0)
    with pytest.raises(ValueError, match="OPAUC diverged within 50 rows with step_size=1000"):
        opauc(AUCObjective(X * 1e20, y), step_size=1e3)


def test_weights_are_refused():
    X, y = problem(0)
    with pytest.raises(ValueError, match="defines no sample weights"):
        opauc(AUCObjective(X, y, np.full(50, 2.0)))
