"""At most so many columns of a family: against all feasible lists."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.chunks import chunks_in_memory
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.selection import near_equal_lists, replacements
from sparseauc.solvers import working_set
from sparseauc.solvers.exchange import solve_on
from sparseauc.solvers.exchange_columns import exchange_path
from sparseauc.solvers.restrictions import Restrictions


def problem(seed, d=12, n=80):
    rng = np.random.default_rng(seed)
    X, y = make_outbreak(
        n=n, d=d, k=d // 2, mu=0.7, r=0.4, correlation=0.7, random_state=seed
    )
    return X, y, rng.integers(0, 5, d)


def feasible(support, families, most):
    counts = np.bincount(families[list(support)], minlength=1)
    return (counts[1:] <= most).all()


def naive_best(gram, k, alpha, families, most):
    best = np.inf
    for columns in combinations(range(gram.n_features), k):
        if feasible(columns, families, most):
            support = np.array(columns)
            block = gram.block(support, support)
            best = min(
                best, solve_on(block, gram.delta[support], support, alpha).objective
            )
    return best


@pytest.mark.slow
@pytest.mark.parametrize("first", [500, 4])
def test_always_feasible_and_nearly_always_optimal(first, monkeypatch):
    """Whether all columns are in the working set at first, or few are."""
    monkeypatch.setattr(working_set, "_PER_CEILING", 0)
    optimal = total = 0
    for seed in range(40):
        X, y, families = problem(seed)
        most = 1 + seed % 2
        gram = StandardisedGram(class_moments(X, y))
        alpha = [0.0, 0.1, 1.0][seed % 3]
        restrictions = Restrictions(families=families, max_per_family=most)
        top = restrictions.most_columns(12)
        path = exchange_path(gram, top, alpha, restrictions, first=first)
        assert len(path) == top + 1
        for k in range(1, top + 1):
            assert path[k].support.size == k
            assert feasible(path[k].support, families, most)
            total += 1
            best = naive_best(gram, k, alpha, families, most)
            assert path[k].objective >= best - 1e-9
            optimal += path[k].objective <= best + 1e-9
    assert optimal >= 0.97 * total


def test_families_that_bind_nothing_change_nothing():
    X, y, _ = problem(1)
    gram = StandardisedGram(class_moments(X, y))
    free = exchange_path(gram, 6, 1.0)
    for families, most in (
        (np.arange(1, 13), 1),
        (np.ones(12, np.int64), 12),
        (np.zeros(12, int), 1),
    ):
        bound = exchange_path(
            gram, 6, 1.0, Restrictions(families=families, max_per_family=most)
        )
        for one, other in zip(free, bound, strict=True):
            np.testing.assert_array_equal(one.support, other.support)
            assert one.objective == other.objective


def test_the_first_of_equal_columns_must_be_of_a_family_with_room():
    X, y, _ = problem(2, d=4)
    X = np.column_stack([X[:, 3], X[:, 0], X[:, 0]])  # columns 1 and 2 are equal
    families = np.array([1, 1, 0])
    gram = StandardisedGram(class_moments(X, y))
    path = exchange_path(gram, 2, 1.0, Restrictions(families=families))
    assert feasible(path[2].support, families, 1)


def test_both_classifiers():
    X, y, _ = problem(3, n=200)
    labels = ["a", "a", "a", "b", "b", "b", None, np.nan, "c", "c", "c", "c"]
    numbers = np.array([1, 1, 1, 2, 2, 2, 0, 0, 3, 3, 3, 3])
    model = SparseAUCClassifier(k=4, limits=Limits(families=labels)).fit(X, y)
    gram = StandardisedGram(class_moments(X, y))
    chosen = model.get_support(indices=True)
    assert feasible(chosen, numbers, 1)
    block = gram.block(chosen, chosen)
    assert solve_on(block, gram.delta[chosen], chosen, 1.0).objective == pytest.approx(
        naive_best(gram, 4, 1.0, numbers, 1)
    )
    series = pd.Series(
        [None if label is np.nan else label for label in labels], dtype="string"
    )
    by_number = {j: label for j, label in enumerate(labels) if isinstance(label, str)}
    of_dict = SparseAUCClassifier(k=4, limits=Limits(families=by_number)).fit(X, y)
    np.testing.assert_array_equal(of_dict.coef_, model.coef_)
    of_series = SparseAUCClassifier(k=4, limits=Limits(families=series)).fit(X, y)
    np.testing.assert_array_equal(of_series.coef_, model.coef_)
    chunks = chunks_in_memory(X)
    in_chunks = SparseAUCClassifier(k=4, limits=Limits(families=labels)).fit(chunks, y)
    np.testing.assert_array_equal(in_chunks.get_support(), model.get_support())
    tuned = SparseAUCClassifierCV(
        ks=[2, 4], limits=Limits(families=labels, max_per_family=2)
    ).fit(X, y)
    assert feasible(tuned.get_support(indices=True), numbers, 2)
    with pytest.warns(
        UserWarning, match="k=6 is greater than the 5 that the limits allow"
    ):
        all_there_are = SparseAUCClassifier(k=6, limits=Limits(families=labels)).fit(
            X, y
        )
    assert all_there_are.get_support().sum() == 5
    summary = class_moments(X, y).summary()
    without_rows = SparseAUCClassifier(k=4, limits=Limits(families=labels)).fit_moments(
        summary
    )
    np.testing.assert_array_equal(without_rows.get_support(), model.get_support())


def test_replacements_and_near_equal_lists_obey():
    X, y, families = problem(4, n=200)
    labels = np.where(families > 0, families, np.nan)
    model = SparseAUCClassifier(k=3, limits=Limits(families=labels)).fit(X, y)
    chosen = model.get_support(indices=True)
    table = replacements(model, X, y, n_best=12)
    expected = {
        (i, j)
        for i in chosen.tolist()
        for j in set(range(12)) - set(chosen.tolist())
        if feasible([*chosen[chosen != i], j], families, 1)
    }
    assert set(zip(table["column"], table["replacement"], strict=True)) == expected
    found = near_equal_lists(model, X, y, within=100.0)
    assert found.complete
    assert set(found.lists) == {
        c for c in combinations(range(12), 3) if feasible(c, families, 1)
    }


def test_refusals():
    X, y, _ = problem(5)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    labels = ["a"] * 6 + ["b"] * 6
    for kind in (SparseAUCClassifier, SparseAUCClassifierCV):
        with pytest.raises(ValueError, match="each of the 12 columns; got 11 values"):
            kind(limits=Limits(families=labels[1:])).fit(X, y)
        two = Limits(families=labels, always_include=["gene 7", "gene 8"])
        with pytest.raises(
            ValueError, match="names 2 columns of family 'b', more than max_per"
        ):
            kind(limits=two).fit(frame, y)
