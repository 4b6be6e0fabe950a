"""One list for all classes, against all lists, whose loss is computed from the rows."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sparseauc.chunks import Chunks, TableInMemory
from sparseauc.moments.base import Gram
from sparseauc.moments.many_classes import ManyClasses
from sparseauc.solvers import shared
from sparseauc.solvers.exchange import make_state, moves, sweeps
from sparseauc.solvers.exchange.state import explained
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
    """Shares, class means, covariance within classes, variances in each; columns standardised."""
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
    own = np.array([w[y == c] @ centred[y == c] ** 2 for c in classes]) / shares[:, None]
    return shares, means, (centred * w[:, None]).T @ centred, own


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans(), st.sampled_from([0.0, 1e4]))
def test_means_and_covariances_are_those_of_the_rows(seed, n_classes, weighted, offset):
    X, label, weight = problem(seed, n_classes=n_classes, weighted=weighted, offset=offset)
    shares, means, within, own = in_rows(X, label, weight)
    for kind in (np.asarray, sp.csr_matrix):
        found = ManyClasses(TableInMemory(kind(X)), label, n_classes, weight)
        found.gather(np.array([0, 5]))
        assert_allclose(found.weights / found.weights.sum(), shares)
        assert_allclose(found.means, means - means[0], atol=1e-7)
        assert_allclose(found.variances, within.diagonal(), atol=1e-7)
        assert_allclose(found.class_variances, own, atol=1e-7)
        rows = [found.covariances(column) for column in range(X.shape[1])]
        assert_allclose(rows, within, atol=1e-7)
        assert_array_equal(found.means[:, CONSTANT], 0.0)
        assert_array_equal(rows[CONSTANT], 0.0)


class Oracle:
    """The loss of lists, every distance from the rows and the whole covariance of two classes."""

    def __init__(self, X, label, weight, alpha):
        shares, means, within, own = in_rows(X, label, weight)
        self.d = len(within)
        self.pairs = list(combinations(range(shares.size), 2))
        on_aucs = [shares[b] / (1 - shares[a]) + shares[a] / (1 - shares[b]) for a, b in self.pairs]
        self.weights = (np.array(on_aucs) / sum(on_aucs) + 1 / len(self.pairs)) / 2
        ridged = (within + alpha * np.eye(self.d)) / (1 + alpha)
        scale = np.sqrt(ridged.diagonal())
        self.correlations = ridged / np.outer(scale, scale)
        self.gaps = np.array([means[a] - means[b] for a, b in self.pairs])
        self.deviations = np.sqrt(
            [((own[a] + own[b]) / 2 + alpha) / (1 + alpha) for a, b in self.pairs]
        )

    def losses(self, lists):
        """Of many lists of one length."""
        lists = np.asarray(lists, int)
        losses = np.zeros(len(lists))
        for weight, gaps, deviations in zip(self.weights, self.gaps, self.deviations, strict=True):
            sigma = self.correlations * np.outer(deviations, deviations)
            blocks = sigma[lists[:, :, None], lists[:, None, :]]
            on_lists = gaps[lists][:, :, None]
            distances = on_lists.transpose(0, 2, 1) @ np.linalg.solve(blocks, on_lists)
            losses += weight / (1 + distances[:, 0, 0] / 2)
        return losses

    def every_list(self, k, fixed, excluded):
        free = set(range(self.d)) - {*fixed, *excluded}
        return [(*fixed, *more) for more in combinations(sorted(free), k - len(fixed))]

    def exchanges(self, columns, fixed, excluded):
        """All lists that differ in one column."""
        others = set(range(self.d)) - {*columns, *excluded}
        return [[*(set(columns) - {out}), new] for out in set(columns) - {*fixed} for new in others]

    def next_column(self, columns, candidates):
        """The one that lowers the loss most beside others."""
        return min(candidates, key=lambda j: self.losses([[*columns, j]])[0])


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_gains_of_a_state_are_those_of_its_definition(seed, n_pairs):
    rng = np.random.default_rng(seed)
    d, alpha = 8, 0.3
    root = rng.normal(size=(d, 12))
    H, delta, pairs = root @ root.T / 12, rng.normal(size=(n_pairs, d)), rng.random(n_pairs)
    nobody = np.zeros(d, np.bool_)
    state = make_state(Gram(delta, H), alpha, d, nobody, nobody, pairs=pairs)
    columns = rng.permutation(d)[: rng.integers(1, 6)].tolist()
    for column in columns:
        sweeps.join(state, column)

    def value(support):
        block = H[np.ix_(support, support)] + alpha * np.eye(len(support))
        on = delta[:, support]
        distances = np.sum(on.T * np.linalg.solve(block, on.T), axis=0)
        return pairs @ (1 - 1 / (1 + distances / 2))

    now = value(columns)
    assert_allclose(explained(state), now)
    others = [j for j in range(d) if j not in columns]
    gains = moves.join_gains(state)
    assert_allclose(gains[others], [value([*columns, j]) - now for j in others], atol=1e-12)
    assert not gains[columns].any()
    rests = [[i for i in columns if i != out] for out in columns]
    assert_allclose(moves.leaving_losses(state), [now - value(rest) for rest in rests], atol=1e-12)
    changes = np.array([[value([*rest, j]) - now for j in others] for rest in rests])
    position, column = moves.best_exchange(state, 1e-9)
    if position >= 0:
        assert_allclose(changes[position, others.index(column)], changes.max(), atol=1e-12)
    else:
        assert changes.max() < 2e-9


def found_list(X, label, weight, k, alpha, fixed=(), excluded=()):
    classes = ManyClasses(TableInMemory(X), label, label.max() + 1, weight)
    restrictions = Restrictions(np.array(fixed, np.int64), np.array(excluded, np.int64))
    return shared_list(classes, k, alpha, restrictions).tolist()


def test_lists_are_the_best_of_all():
    rng = np.random.default_rng(0)
    n_problems, best = 300, 0
    for seed in range(n_problems):
        n_classes = int(rng.integers(3, 9))
        X, label, weight = problem(
            seed, d=int(rng.integers(9, 13)), n=n_classes * int(rng.choice([4, 10, 40])),
            n_classes=n_classes, correlation=rng.choice([0.0, 0.6, 2.0]), weighted=seed % 3 == 0,
        )  # fmt: skip
        k, alpha = int(rng.integers(2, 7)), float(rng.choice([0.1, 1.0, 5.0]))
        fixed = ((), (4,), (CONSTANT, 6))[seed % 3]
        excluded = ((), (2, 7))[seed % 2]
        found = found_list(X, label, weight, k, alpha, fixed, excluded)
        assert len(set(found)) == k
        assert set(fixed) <= set(found)
        assert not set(excluded) & set(found)
        oracle = Oracle(X, label, weight, alpha)
        least = oracle.losses(oracle.every_list(k, fixed, excluded)).min()
        best += oracle.losses([found])[0] <= least * (1 + 1e-9)
    assert best >= 0.97 * n_problems


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5),
    st.integers(1, 9),
    st.sampled_from([0.1, 5.0]),
    st.sampled_from([(), (4,), (CONSTANT, 6)]),
    st.booleans(),
)
def test_no_exchange_of_one_column_lowers_the_loss(seed, n_classes, k, alpha, fixed, weighted):
    X, label, weight = problem(seed, n_classes=n_classes, weighted=weighted)
    fixed, excluded = fixed[:k], (2, 7)
    found = found_list(X, label, weight, k, alpha, fixed, excluded)
    oracle = Oracle(X, label, weight, alpha)
    # Columns 1 (constant, unless fixed), 2 and 7 are never on the list.
    assert len(found) == min(k, 6 + (CONSTANT in fixed))
    loss = oracle.losses([found])[0]
    others = oracle.exchanges(found, fixed, excluded)
    assert not others or loss <= oracle.losses(others).min() * (1 + 1e-9)
    # Fixed ones first, then each time the one that adds most to those before it.
    assert found[: len(fixed)] == list(fixed)
    for place in range(len(fixed), len(found)):
        best = oracle.next_column(found[:place], found[place:])
        assert_allclose(*oracle.losses([[*found[:place], j] for j in (found[place], best)]))


def test_columns_go_to_the_classes_that_are_hard_to_tell_apart():
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(3), 100)
    X = rng.normal(size=(300, 6))
    X[label == 0, :3] += 3.0  # three columns for the first class
    X[label == 1, 3] += 1.0  # one that tells the other two apart
    classes = ManyClasses(TableInMemory(X), label, 3)
    found = shared_list(classes, 2, 5.0, Restrictions())
    assert found[0] in {0, 1, 2}
    assert found[1] == 3


def test_a_difference_counts_by_the_variances_of_the_two_classes():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], [300, 300, 20])
    X = rng.normal(size=(620, 2))
    X[label == 2] *= [8.0, 1.0]
    X -= np.array([X[label == c].mean(axis=0) for c in range(3)])[label]
    X[label == 2] += [4.0, 3.0]  # further apart in the first column, but for its wide spread
    classes = ManyClasses(TableInMemory(X), label, 3)
    assert shared_list(classes, 1, 0.1, Restrictions()).tolist() == [1]


def test_copies_of_columns_are_not_taken_for_news_next_to_no_ridge():
    X, label, _ = problem(7)
    X = np.delete(X, CONSTANT, axis=1)
    classes = ManyClasses(TableInMemory(np.hstack([X, X, 2 * X])), label, 4)
    found = shared_list(classes, 24, 1e-200, Restrictions())
    assert sorted(found % 8) == list(range(8))


def test_columns_that_help_only_beside_fixed_ones_are_found():
    rng = np.random.default_rng(0)
    label = np.tile([0, 1], 200)
    noise = rng.normal(size=400)
    X = np.column_stack([noise + 0.4 * rng.normal(size=400), noise, rng.normal(size=(400, 3))])
    X -= np.array([X[label == c].mean(axis=0) for c in range(2)])[label]
    X[:, 0] += label
    X[:, 2:] = 0.0
    found = found_list(X, label, None, 2, 0.01, fixed=(0,))
    assert found == [0, 1]


def test_where_pairs_of_classes_are_many_the_best_columns_are_kept(monkeypatch):
    X, label, _ = problem(3, d=40, n=400, n_classes=8)
    expected = found_list(X, label, None, 4, 5.0, (30,), (0,))
    monkeypatch.setattr(shared, "_NUMBERS", 28 * 15)  # 15 of 40 columns
    assert found_list(X, label, None, 4, 5.0, (30,), (0,)) == expected


def test_products_are_gathered_in_few_passes(monkeypatch):
    rng = np.random.default_rng(0)
    label = np.arange(600) % 6
    X = rng.normal(size=(600, 4000)) + 0.4 * rng.normal(size=(6, 4000))[label]
    passes = []
    run = Chunks.run
    monkeypatch.setattr(Chunks, "run", lambda *given: passes.append(given[1]) or run(*given))
    assert len(found_list(X, label, None, 20, 5.0)) == 20
    assert len(passes) <= 8
