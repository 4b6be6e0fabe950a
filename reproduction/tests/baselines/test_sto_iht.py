"""StoIHT and HSG-HT: equal to the naive algorithms, and at their minimiser in the end."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from naive import naive_hard_threshold
from sparseauc.datasets import make_outbreak
from sparseauc_paper.baselines import HSGHTClassifier, StoIHTClassifier
from sparseauc_paper.baselines.hsg_ht import growing_batches, visit_growing_batches
from sparseauc_paper.blocks import RowBlocks, visiting_order
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.thresholding import BlockDescent, visit_equal_blocks

# ------------------------------------------------------------------------- the oracles,
# row by row


def naive_logistic_thresholding(X, y, k, step, alpha, batches, scales):
    """Steps on each batch in turn; the batch's sum of gradients is multiplied by its scale."""
    w, intercept = np.zeros(X.shape[1]), 0.0
    for batch, scale in zip(batches, scales, strict=True):
        gradient, slope = alpha * w, 0.0
        for i in batch:
            pull = -y[i] / (1 + np.exp(y[i] * (w @ X[i] + intercept)))
            gradient = gradient + scale * pull * X[i]
            slope += scale * pull
        w = naive_hard_threshold(w - step * gradient, k)
        intercept -= step * slope
    return w, intercept


def problem(seed, n=40, d=15):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    y[:2] = 1, -1
    X = rng.standard_normal((n, d))
    X[y > 0, :3] += 0.7
    return X, y


def descend(objective, k, visits, n_epochs, **settings):
    solver = BlockDescent(objective, k, max_epochs=n_epochs, logistic=True, **settings)
    for visited in islice(visits, n_epochs):
        solver.run_epoch(visited)
    return solver.coef, solver.best[1][0]


@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 15),
    batch_size=st.integers(1, 45),
    alpha=st.sampled_from([0.0, 0.3]),
)
def test_sto_iht_equals_the_naive_algorithm(seed, k, batch_size, alpha):
    X, y = problem(seed)
    draws, again = np.random.default_rng(seed), np.random.default_rng(seed)
    blocks = RowBlocks.partition(
        y.size, min(batch_size, y.size), shuffle=True, rng=draws
    )
    drawn = np.concatenate(
        [visiting_order(len(blocks), "replacement", draws) for _ in range(2)]
    )
    batches = [blocks.rows[blocks.starts[i] : blocks.starts[i + 1]] for i in drawn]
    scales = np.full(drawn.size, len(blocks) / y.size)
    expected, intercept = naive_logistic_thresholding(
        X, y, k, 0.2, alpha, batches, scales
    )
    objective = AUCObjective(X, y)
    RowBlocks.partition(y.size, min(batch_size, y.size), shuffle=True, rng=again)
    visits = visit_equal_blocks(objective, blocks, "replacement", again, logistic=True)
    found = descend(objective, k, visits, 2, step_size=0.2, ridge=alpha)
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)
    assert found[1] == pytest.approx(intercept, rel=1e-9, abs=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 15),
    initial=st.sampled_from([1.0, 2.5, 10.0, 100.0]),
    growth=st.sampled_from([1.033, 1.5, 4.0]),
    restart=st.booleans(),
)
def test_hsg_ht_equals_the_naive_algorithm(seed, k, initial, growth, restart):
    X, y = problem(seed)
    n, epochs = y.size, 3
    draws = np.random.default_rng(seed)
    batches, t = [], 0
    most = int(np.ceil(np.log((growth - 1) * n / initial + 1) / np.log(growth))) + 1
    for _ in range(epochs):
        order, used = draws.permutation(n), 0
        t = 0 if restart else t
        while used < (n - 1 if restart else n) and not (restart and t >= most):
            size = int(initial * growth**t)
            batches.append(order[used : used + size])
            used, t = min(n, used + size), t + 1
    scales = [1 / len(batch) for batch in batches]
    expected, intercept = naive_logistic_thresholding(
        X, y, k, 0.1, 0.0, batches, scales
    )
    visits = visit_growing_batches(
        n, initial, growth, np.random.default_rng(seed), restart=restart, shuffle=True
    )
    found = descend(AUCObjective(X, y), k, visits, epochs, step_size=0.1)
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)
    assert found[1] == pytest.approx(intercept, rel=1e-9, abs=1e-12)


def test_batches_of_the_published_program():
    # Counts and rows used, as the published program has them (restarted in every
    # epoch).
    for n, initial, count, used in [
        (640, 1, 97, 630),
        (640, 10, 36, None),
        (640, 100, 6, None),
        (640, 1000, 1, 640),
        (800, 1, 103, 779),
        (800, 10, 41, None),
        (800, 100, 8, None),
        (800, 1000, 1, 800),
    ]:
        most = int(np.ceil(np.log(0.033 * n / initial + 1) / np.log(1.033))) + 1
        starts = growing_batches(n, initial, 1.033, 0, limit=most)
        assert starts.size - 1 == count
        assert used is None or starts[-1] == used


def test_batches_of_a_long_run_hold_all_rows():
    starts = growing_batches(1000, 1.0, 1.5, first=100_000)
    np.testing.assert_array_equal(starts, [0, 1000])


@pytest.mark.parametrize(
    "model",
    [StoIHTClassifier(5, batch_size=10_000), HSGHTClassifier(5)],
    ids=["StoIHT", "HSG-HT"],
)
def test_agrees_with_logistic_regression_on_its_support(model):
    X, y = make_outbreak(n=500, d=30, k=5, mu=1.0, r=0.3, random_state=0)
    model = clone(model).set_params(
        alpha=0.01, max_epochs=5000, tol=1e-10, random_state=0
    )
    model.set_params(record_history=False).fit(X, y)
    support = model.get_support()
    # scikit-learn sums the losses: C = 1 / (n·alpha).
    reference = LogisticRegression(C=1 / (500 * 0.01), tol=1e-12, max_iter=10_000)
    reference.fit(X[:, support], y)
    np.testing.assert_allclose(model.coef_[0, support], reference.coef_[0], rtol=1e-4)
    assert model.logistic_intercept_ == pytest.approx(reference.intercept_[0], rel=1e-4)


@pytest.mark.parametrize("classifier", [StoIHTClassifier, HSGHTClassifier])
def test_automatic_step_never_diverges(classifier):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20))
    y = np.where(np.arange(100) % 9 == 0, 1, -1)
    for scale in (1e-9, 1.0, 7e4, 1e100):
        model = classifier(5, random_state=0, record_history=False).fit(X * scale, y)
        margins = y * (X * scale @ model.coef_[0] + model.logistic_intercept_)
        assert np.logaddexp(0, -margins).mean() <= np.log(2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_reported():
    X, y = problem(0)
    with pytest.raises(
        ValueError, match="StoIHTClassifier diverged in epoch 1 with step_size=1e"
    ):
        StoIHTClassifier(5, step_size=1e200).fit(X * 1e200, y)
