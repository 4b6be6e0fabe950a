"""One list for all classes, against the same steps taken on the rows themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sparseauc.chunks import chunks_in_memory
from sparseauc.moments.many_classes import ManyClasses
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.shared import shared_list

CONSTANT = 1


def problem(seed, d=9, n=60, n_classes=4, correlation=0.6, offset=0.0, weighted=False):
    rng = np.random.default_rng(seed)
    label = rng.integers(-1, n_classes, n)
    label[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n_classes + 1, d))[label]
    X += correlation * rng.normal(size=(n, 1)) * rng.normal(size=d) + offset
    X[:, CONSTANT] = 0.1
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    return X, label, weight


def in_rows(X, label, weight):
    """Shares, class means and pooled covariance within classes, columns standardised."""
    rows = label >= 0
    X, y = X[rows], label[rows]
    w = (np.ones(y.size) if weight is None else weight[rows]) / (
        y.size if weight is None else weight[rows].sum()
    )
    deviation = np.sqrt(w @ (X - w @ X) ** 2)
    deviation[CONSTANT] = np.inf
    X = (X - w @ X) / deviation
    classes = np.unique(y)
    shares = np.array([w[y == c].sum() for c in classes])
    means = np.array([w[y == c] @ X[y == c] for c in classes]) / shares[:, None]
    centred = X - means[y]
    return shares, means, (centred * w[:, None]).T @ centred


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans(), st.sampled_from([0.0, 1e4]))
def test_means_and_covariances_are_those_of_the_rows(seed, n_classes, weighted, offset):
    X, label, weight = problem(seed, n_classes=n_classes, weighted=weighted, offset=offset)
    shares, means, within = in_rows(X, label, weight)
    for kind in (np.asarray, sp.csr_matrix):
        found = ManyClasses(chunks_in_memory(kind(X)), label, n_classes, weight)
        found.gather(np.array([0, 5]))
        assert_allclose(found.weights / found.weights.sum(), shares)
        assert_allclose(found.means, means - means[0], atol=1e-7)
        assert_allclose(found.variances, within.diagonal(), atol=1e-7)
        rows = [found.covariances(column) for column in range(X.shape[1])]
        assert_allclose(rows, within, atol=1e-7)
        assert_array_equal(found.means[:, CONSTANT], 0.0)
        assert_array_equal(rows[CONSTANT], 0.0)


def step_by_step(X, label, weight, k, alpha, fixed, excluded):
    """The list, every distance from the inverse of the whole covariance on the list."""
    shares, means, within = in_rows(X, label, weight)
    rows = label >= 0
    counts = np.bincount(label[rows], None if weight is None else weight[rows])
    sigma = (within + alpha * np.eye(len(within))) / (1 + alpha)
    pairs = [(a, b) for a in range(shares.size) for b in range(shares.size) if a != b]
    on_aucs = np.array([shares[b] / (1 - shares[a]) for a, b in pairs])
    weights = (on_aucs / on_aucs.sum() + 1 / len(pairs)) / 2
    error = np.array([1 / counts[a] + 1 / counts[b] for a, b in pairs])
    gaps = np.array([means[a] - means[b] for a, b in pairs])

    def distances(columns):
        inverse = np.linalg.inv(sigma[np.ix_(columns, columns)])
        return np.einsum("pi,ij,pj->p", gaps[:, columns], inverse, gaps[:, columns])

    chosen = list(fixed)
    while len(chosen) < k:
        now = distances(chosen)
        for errors in (4.0, 0.0):
            gains = {}
            for j in set(range(len(within))) - {*chosen, *excluded}:
                more = distances([*chosen, j]) - now - errors * error * within[j, j] / sigma[j, j]
                after = now + np.maximum(more, 0)
                gains[j] = weights @ (1 / (1 + now / 2) - 1 / (1 + after / 2))
            best = max(gains, key=gains.__getitem__, default=None)
            if best is not None and gains[best] > 1e-12:
                break
        if best is None or gains[best] <= 1e-12:
            break
        chosen.append(best)
    return chosen


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5),
    st.integers(1, 9),
    st.sampled_from([0.1, 5.0]),
    st.sampled_from([(), (4,), (CONSTANT, 6)]),
    st.booleans(),
)
def test_every_column_is_the_one_that_gains_most(seed, n_classes, k, alpha, fixed, weighted):
    X, label, weight = problem(seed, n_classes=n_classes, weighted=weighted)
    fixed, excluded = fixed[:k], (2, 7)
    classes = ManyClasses(chunks_in_memory(X), label, n_classes, weight)
    restrictions = Restrictions(np.array(fixed, np.int64), np.array(excluded))
    found = shared_list(classes, k, alpha, restrictions)
    expected = step_by_step(X, label, weight, k, alpha, fixed, excluded)
    assert found.tolist() == expected


def test_columns_go_to_the_classes_that_are_hard_to_tell_apart():
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(3), 100)
    X = rng.normal(size=(300, 6))
    X[label == 0, :3] += 3.0  # three columns for the first class
    X[label == 1, 3] += 1.0  # one that tells the other two apart
    classes = ManyClasses(chunks_in_memory(X), label, 3)
    found = shared_list(classes, 2, 5.0, Restrictions())
    assert found[0] in {0, 1, 2}
    assert found[1] == 3


def test_a_difference_within_the_errors_of_a_rare_class_does_not_count():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], [200, 200, 3])
    X = rng.normal(size=(403, 2))
    X[label == 1, 0] += 0.5
    X[label == 2] -= X[label == 2].mean(axis=0)
    X[label == 2, 1] += 1.0  # 1.7 standard errors
    classes = ManyClasses(chunks_in_memory(X), label, 3)
    assert shared_list(classes, 2, 5.0, Restrictions()).tolist() == [0, 1]


@pytest.mark.parametrize("k", [1, 3])
def test_a_shorter_list_is_the_head_of_a_longer(k):
    X, label, _ = problem(5)
    classes = ManyClasses(chunks_in_memory(X), label, 4)
    long, short = (shared_list(classes, size, 5.0, Restrictions()) for size in (6, k))
    assert_array_equal(short, long[:k])


def test_copies_of_columns_are_not_taken_for_news_next_to_no_ridge():
    X, label, _ = problem(7)
    X = np.delete(X, CONSTANT, axis=1)
    classes = ManyClasses(chunks_in_memory(np.hstack([X, X, 2 * X])), label, 4)
    found = shared_list(classes, 24, 1e-200, Restrictions())
    assert sorted(found % 8) == list(range(8))
