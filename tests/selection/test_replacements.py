"""Replacements for chosen columns against trying every exchange by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from sparseauc import (
    Limits,
    MeanDifferenceClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
)
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import delong_test
from sparseauc.outcome import Binary
from sparseauc.selection import near_equal_lists, replacements


def naive_fit(X, y, columns, alpha):
    """Coefficients of standardised columns and the least loss with ridge, from the definition."""
    Z = StandardScaler().fit_transform(X[:, columns])
    high, low = Z[y > 0], Z[y <= 0]
    delta = low.mean(axis=0) - high.mean(axis=0)
    H = np.cov(high.T, bias=True) + np.cov(low.T, bias=True) + np.outer(delta, delta)
    w = -np.linalg.solve(np.atleast_2d(H) + alpha * np.eye(len(columns)), delta)
    return w, 1 + delta @ w


@pytest.fixture(scope="module")
def outbreak():
    data = make_outbreak(
        n=300, d=9, k=3, mu=0.7, r=0.3, correlation=0.6, random_state=1
    )
    data.X[:] *= 10.0 ** np.arange(-4, 5)
    return data


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 10), st.data())
def test_every_exchange_as_by_hand(seed, d, data):
    k = data.draw(st.integers(1, d - 1))
    alpha = data.draw(st.sampled_from([0.0, 0.1, 10.0]))
    X, y = make_outbreak(
        n=80, d=d, k=1, mu=1.0, r=0.4, correlation=0.5, random_state=seed
    )
    model = SparseAUCClassifier(k=k, alpha=alpha).fit(X, y)
    chosen = model.get_support(indices=True)
    table = replacements(model, X, y, n_best=d, cv=2)
    assert len(table) == k * (d - k)
    _, objective = naive_fit(X, y, chosen, alpha)
    for row in table.itertuples():
        after = [*chosen[chosen != row.column], row.replacement]
        assert row.objective_change == pytest.approx(
            naive_fit(X, y, after, alpha)[1] - objective, abs=1e-10
        )
        assert row.correlation == pytest.approx(
            np.corrcoef(X[:, [row.column, row.replacement]].T)[0, 1]
        )


def naive_exchanges(X, y, k, alpha, n_best):
    """The best list, and the best replacements of each of its columns, by trying them all."""
    chosen = SparseAUCClassifier(k=k, alpha=alpha).fit(X, y).get_support(indices=True)
    variants = []
    for column in chosen:
        rest = [j for j in chosen if j != column]
        others = [j for j in range(X.shape[1]) if j not in chosen]
        others.sort(key=lambda j: naive_fit(X, y, [*rest, j], alpha)[1])
        variants += [[*rest, j] for j in others[:n_best]]
    return chosen, variants


def naive_change_and_variance(X, y, before, after, alpha, splits):
    """AUC with the new list, change of AUC and its variance, averaged over the splits."""
    found = []
    for train, test in splits:
        scores = []
        for columns in (after, before):
            w, _ = naive_fit(X[train], y[train], columns, alpha)
            scaler = StandardScaler().fit(X[train][:, columns])
            scores.append(scaler.transform(X[test][:, columns]) @ w)
        paired = delong_test(y[test], *scores)
        areas = [roc_auc_score(y[test], score) for score in scores]
        found.append([areas[0], areas[0] - areas[1], paired.standard_error**2])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("repeats", [1, 2])
def test_changes_are_those_of_cross_validation(outbreak, repeats):
    X, y = outbreak
    model = SparseAUCClassifier(k=3).fit(X, y)
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=repeats, random_state=0)
    table = replacements(model, X, y, n_best=2, cv=cv)
    splits = list(cv.split(X, y))
    chosen, variants = naive_exchanges(X, y, 3, 1.0, 2)
    assert table["column"].tolist() == np.repeat(chosen, 2).tolist()
    for row, variant in zip(table.itertuples(), variants, strict=True):
        assert row.replacement == variant[-1]
        naive = naive_change_and_variance(X, y, chosen, variant, 1.0, splits)
        assert row.auc == pytest.approx(naive[0], abs=1e-9)
        assert row.auc_change == pytest.approx(naive[1], abs=1e-9)
        # Four folds of independent rows; a repeat has the same rows.
        error = np.sqrt(naive[2] / 4)
        assert row.standard_error == pytest.approx(error, rel=1e-6)
        assert row.low == pytest.approx(row.auc_change - 1.96 * error)
        assert row.high == pytest.approx(row.auc_change + 1.96 * error)


def test_the_verdict_says_where_rows_cannot_tell():
    """One column carries nearly all signal; the other two are noise, as is what replaces them."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 8))
    X[:, 0] += 2.0 * y
    limits = Limits(always_include=[1])
    table = replacements(
        SparseAUCClassifier(k=2, limits=limits).fit(X, y), X, y, n_best=2
    )
    assert set(table["column"]) == {0}
    assert set(table["verdict"]) == {"worse"}
    table = replacements(SparseAUCClassifier(k=2).fit(X, y), X, y, n_best=3)
    of_noise = table[table["column"] != 0]
    assert (of_noise["low"] < 0).all()
    assert (of_noise["high"] > 0).all()
    assert set(of_noise["verdict"]) == {"rows cannot tell"}


@pytest.mark.parametrize("with_strata", [False, True])
def test_weights_count_as_repeated_rows(outbreak, with_strata):
    X, y = outbreak
    rng = np.random.default_rng(3)
    weight, sites = rng.integers(1, 4, y.size), rng.integers(0, 2, y.size)
    rows = np.repeat(np.arange(y.size), weight)
    strata = sites if with_strata else None
    again = sites[rows] if with_strata else None
    model = SparseAUCClassifier(k=3).fit(X, y, weight, strata=strata)
    with pytest.raises(
        ValueError, match="if it was fitted with sample_weight, give that too"
    ):
        replacements(model, X, y, strata=strata)
    with pytest.raises(
        ValueError, match="if it was fitted with sample_weight, give that too"
    ):
        near_equal_lists(model, X, y, strata=strata)
    repeated = SparseAUCClassifier(k=3).fit(X[rows], y[rows], strata=again)
    found = near_equal_lists(
        model, X, y, sample_weight=weight, strata=strata, within=0.1
    )
    expected = near_equal_lists(repeated, X[rows], y[rows], strata=again, within=0.1)
    assert found.lists == expected.lists
    np.testing.assert_allclose(found.objectives, expected.objectives)
    kept = ["column", "replacement", "objective_change"]
    one = replacements(model, X, y, sample_weight=weight, strata=strata)
    other = replacements(repeated, X[rows], y[rows], strata=again)
    pd.testing.assert_frame_equal(one[kept], other[kept])
    # AUCs too are weighted, where folds keep repeated rows together.
    weighted = Binary(y > 0, weight.astype(float))
    assert weighted.score(X[:, 0]) == pytest.approx(
        Binary(y[rows] > 0).score(X[rows, 0])
    )


def test_a_copy_takes_the_place_for_nothing(outbreak):
    X, y = outbreak
    model = SparseAUCClassifier(k=3).fit(X, y)
    column = int(model.get_support(indices=True)[1])
    twice = np.column_stack([X, -3.0 * X[:, column]])
    model = SparseAUCClassifier(k=3).fit(twice, y)
    row = replacements(model, twice, y, n_best=1).set_index("column").loc[column]
    assert row["replacement"] == 9
    assert row["correlation"] == pytest.approx(-1)
    assert row["auc_change"] == pytest.approx(0, abs=1e-12)
    assert row["objective_change"] == pytest.approx(0, abs=1e-12)


def test_names_sparse_tables_and_cross_validated_models(outbreak):
    X, y = outbreak
    names = [f"gene {j}" for j in range(9)]
    frame = pd.DataFrame(X, columns=names)
    model = SparseAUCClassifierCV(ks=[3], limits=Limits(exclude=["gene 8"])).fit(
        frame, y
    )
    table = replacements(model, frame, y)
    assert set(table["column"]) == set(model.get_feature_names_out())
    assert "gene 8" not in set(table["replacement"])
    assert (table.groupby("column").size() == 5).all()
    plain = SparseAUCClassifier(k=3, alpha=model.alpha_).fit(X, y)
    pd.testing.assert_frame_equal(
        replacements(plain, sp.csr_matrix(X), y), replacements(plain, X, y), rtol=1e-9
    )


def test_no_replacement_where_all_are_chosen_or_constant(outbreak):
    X, y = outbreak
    assert replacements(SparseAUCClassifier(k=9).fit(X, y), X, y).empty
    constant = np.column_stack([X[:, :2], np.ones(300)])
    table = replacements(SparseAUCClassifier(k=1).fit(constant, y), constant, y)
    assert len(table) == 1
    assert 2 not in set(table["replacement"])


def test_groups_are_replaced_as_a_whole(outbreak):
    X, y = outbreak
    units = {"0 + 1": [0, 1], "2 + 3": [2, 3], 4: [4], 5: [5], "6 + 7 + 8": [6, 7, 8]}
    labels = np.repeat(np.arange(5), [2, 2, 1, 1, 3])
    limits = Limits(column_groups=labels, always_include=[0])
    model = SparseAUCClassifier(k=3, limits=limits).fit(X, y)
    chosen = {name for name, own in units.items() if model.coef_[0, own].any()}
    table = replacements(model, X, y)
    assert {*table["column"]} == chosen - {"0 + 1"}
    assert {*table["replacement"]} == units.keys() - chosen
    assert len(table) == 4
    before = naive_fit(X, y, np.concatenate([units[name] for name in chosen]), 1.0)[1]
    for row in table.itertuples():
        after = chosen - {row.column} | {row.replacement}
        after = np.concatenate([units[name] for name in after])
        assert row.objective_change == pytest.approx(
            naive_fit(X, y, after, 1.0)[1] - before, abs=1e-10
        )


def test_refusals(outbreak):
    X, y = outbreak
    model = SparseAUCClassifier(k=3).fit(X, y)
    with pytest.raises(
        ValueError, match="SparseConcordanceCV, got MeanDifferenceClassifier"
    ):
        replacements(MeanDifferenceClassifier(k=3).fit(X, y), X, y)
    with pytest.raises(ValueError, match="n_best == 0"):
        replacements(model, X, y, n_best=0)
    with pytest.raises(ValueError, match="8 features"):
        replacements(model, X[:, :8], y)
    with pytest.raises(ValueError, match="y holds 5, not among the classes"):
        replacements(model, X, np.where(y > 0, 5, -1))
    free = SparseAUCClassifier(k=2, alpha=0.0).fit(X, y)
    with pytest.raises(
        ValueError, match="not those of the fit: column 0 has a standard deviation"
    ):
        replacements(free, np.zeros_like(X), y)


@pytest.mark.parametrize("cv", [False, True])
def test_required_columns_are_not_replaced(outbreak, cv):
    X, y = outbreak
    limits = Limits(always_include=[2])
    model = SparseAUCClassifierCV(ks=[3], limits=limits) if cv else SparseAUCClassifier(
        k=3, limits=limits
    )  # fmt: skip
    table = replacements(model.fit(X, y), X, y, n_best=2)
    chosen = {*model.get_support(indices=True).tolist()}
    assert {*table["column"]} == chosen - {2}
    assert 2 in chosen
    assert len(table) == 4
