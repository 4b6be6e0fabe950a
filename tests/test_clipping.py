"""Clipping: limits by quantiles, the choice by cross-validation, and scores of all homes."""

import json
import sqlite3
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import Limits, SparseAUCClassifierCV, load_model, save_model
from sparseauc._clipping import clip_columns, clip_limits
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import fast_auc
from sparseauc.selection import column_table, near_equal_lists, point_score, replacements
from sparseauc_app.card_making import make_card
from sparseauc_app.export import to_sql


def spoiled(seed=0, n=500, d=6, share=0.004, factor=300.0):
    """A table in which a few values have the wrong unit."""
    X, y = make_outbreak(n=n, d=d, k=3, mu=1.0, r=0.3, random_state=seed)
    wrong = np.random.default_rng(seed).random(X.shape) < share
    return np.where(wrong, factor * X, X), y


def naive_limits(values, share, weight):
    """The smallest and the largest value that has no less than the share up to it."""
    pairs = sorted(zip(values.tolist(), weight.tolist(), strict=True))
    pairs = [pair for pair in pairs if pair[1] > 0]
    total, ends = sum(pair[1] for pair in pairs), []
    for ordered in (pairs, pairs[::-1]):
        beyond = 0
        for value, count in ordered:
            beyond += count
            if beyond >= share * total:
                ends.append(value)
                break
    low, high = ends
    measured = len({pair[0] for pair in pairs}) > 3
    clips = measured and low < high and (pairs[0][0] < low or pairs[-1][0] > high)
    return (low, high) if clips else (-np.inf, np.inf)


@given(
    hnp.arrays(np.float64, (12, 3), elements=st.integers(-9, 9).map(float)),
    hnp.arrays(np.int64, 12, elements=st.integers(0, 3)).filter(lambda w: w.sum() > 0),
    st.sampled_from([0.05, 0.1, 0.25, 0.49]),
)
def test_limits_are_quantiles(X, weight, share):
    expected = np.array([naive_limits(column, share, weight) for column in X.T]).T
    found = clip_limits(X, share, weight.astype(float))
    if found is None:
        assert np.isinf(expected).all()
        return
    np.testing.assert_array_equal(found, expected)
    # A weight is a number of equal rows, and both ends are treated alike.
    np.testing.assert_array_equal(clip_limits(np.repeat(X, weight, axis=0), share, None), found)
    np.testing.assert_array_equal(-clip_limits(-X, share, weight.astype(float))[::-1], found)


@pytest.mark.parametrize("fill", [0.0, 0.03, 1.0])
def test_indicators_are_not_clipped_whatever_replaces_missing_values(fill):
    rng = np.random.default_rng(0)
    flag = (rng.random(600) < 0.03).astype(float)
    flag[rng.random(600) < 0.1] = fill
    for share in (0.02, 0.05, 0.2):
        assert clip_limits(flag[:, None], share, None) is None
        assert clip_limits(flag[:, None], share, None, heavy_only=True) is None


def test_only_heavy_tails_are_clipped_by_default():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=10_000), rng.standard_t(2, 10_000), rng.random(10_000)])
    limits = clip_limits(X, 0.05, None, heavy_only=True)
    assert np.isfinite(limits).all(axis=0).tolist() == [False, True, False]
    assert clip_limits(X[:, [0, 2]], 0.05, None, heavy_only=True) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_clipped_fit_is_that_of_clipped_columns(dtype):
    X, y = spoiled()
    X = X.astype(dtype)
    limits = clip_limits(X, 0.1, None)
    model = SparseAUCClassifierCV([1, 2, 3], clip=0.1).fit(X, y)
    plain = SparseAUCClassifierCV([1, 2, 3], clip=None).fit(clip_columns(X, limits), y)
    np.testing.assert_array_equal(model.clip_limits_, limits)
    assert plain.clip_limits_ is None
    for name in ("coef_", "intercept_", "out_of_fold_scores_", "scale_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    new = 3 * X[::7]
    expected = plain.decision_function(clip_columns(new, limits))
    np.testing.assert_array_equal(model.decision_function(new), expected)
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(new)), expected, rtol=1e-6)
    np.testing.assert_array_equal(
        column_table(model, X, y)["standardised"],
        column_table(plain, clip_columns(X, limits), y)["standardised"],
    )


@pytest.mark.parametrize(
    ("limits_of_list", "of_rows"),
    [
        ({"signs": [1, 1, 1, 1, 1, 1]}, {}),
        ({"costs": [1, 2, 3, 1, 2, 3], "budget": 5}, {}),
        ({"families": [0, 0, 1, 1, 2, 2]}, {}),
        ({"column_groups": [0, 0, 1, 1, 2, 2]}, {}),
        ({}, {"strata": np.arange(500) % 3}),
        ({}, {"sample_weight": np.arange(500) % 4.0}),
    ],
)
def test_clipping_with_what_else_a_list_obeys(limits_of_list, of_rows):
    X, y = spoiled()
    limits = clip_limits(X, 0.1, of_rows.get("sample_weight"))
    how = {"ks": [2, 4], "limits": Limits(**limits_of_list)}
    model = SparseAUCClassifierCV(clip=0.1, **how).fit(X, y, **of_rows)
    plain = SparseAUCClassifierCV(clip=None, **how).fit(clip_columns(X, limits), y, **of_rows)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.clip_limits_, limits)


def test_wrong_units_are_clipped_and_normal_columns_are_not():
    X, y = spoiled()
    model = SparseAUCClassifierCV().fit(X, y)
    alone = SparseAUCClassifierCV(clip=None).fit(X, y)
    assert np.isfinite(model.clip_limits_).any()
    assert model.best_score_ > alone.best_score_ + 0.02
    assert model.best_score_ == model.cv_results_["mean_test_score"][model.best_index_]
    new, labels = make_outbreak(n=2000, d=6, k=3, mu=1.0, r=0.3, random_state=9)
    scores = [fast_auc(each.decision_function(new), labels > 0) for each in (model, alone)]
    assert scores[0] > scores[1] + 0.02
    clean, labels = make_outbreak(n=500, d=6, k=3, mu=1.0, r=0.3, random_state=0)
    for table in (clean, sp.csr_matrix(X)):  # a sparse table has no quantiles of its own
        assert SparseAUCClassifierCV([2, 3]).fit(table, labels).clip_limits_ is None


def test_a_choice_that_is_within_noise_keeps_values_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(150, 5))  # heavy tails without any effect
    y = rng.random(150) < 0.4
    model = SparseAUCClassifierCV([1, 2]).fit(X, y)
    alone = SparseAUCClassifierCV([1, 2], clip=None).fit(X, y)
    assert model.clip_limits_ is None
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_questions_about_a_clipped_list_are_about_clipped_columns():
    X, y = spoiled()
    model = SparseAUCClassifierCV([3], clip=0.05, coefficients="auc").fit(X, y)
    clipped = clip_columns(X, model.clip_limits_)
    plain = SparseAUCClassifierCV([3], clip=None, coefficients="auc").fit(clipped, y)
    for question in (replacements, near_equal_lists):
        assert str(question(model, X, y)) == str(question(plain, clipped, y))


def test_all_homes_score_alike(tmp_path):
    X, y = spoiled()
    X[::11, 1] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), SparseAUCClassifierCV([4], clip=0.1))
    model.fit(X, y)
    new = X[:200]
    expected = model.decision_function(new)
    save_model(tmp_path / "m.skops", model)
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(loaded.decision_function(new), expected, rtol=1e-9, atol=1e-12)
    card = make_card(model)
    assert any(term.clips for term in card.terms)
    with sqlite3.connect(":memory:") as base:
        names = ", ".join(f'"{j}"' for j in range(X.shape[1]))
        base.execute(f"CREATE TABLE t ({names})")
        marks = ", ".join("?" * X.shape[1])
        rows = [[None if np.isnan(v) else v for v in row] for row in new.tolist()]
        base.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        found = [row[0] for row in base.execute(f"SELECT {to_sql(card)} FROM t")]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    head = json.loads(zipfile.ZipFile(tmp_path / "m.skops").read("sparseauc.json"))
    assert head["format"] == 4


def test_rows_in_chunks_are_scored_alike(tmp_path):
    X, y = spoiled()
    model = SparseAUCClassifierCV([3], clip=0.1).fit(X, y)
    np.save(tmp_path / "x.npy", X)
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X))
    with pytest.raises(ValueError, match="needs quantiles of whole columns"):
        SparseAUCClassifierCV([3], clip=0.1).fit(sp.csr_matrix(X), y)


def test_points_and_clipping_are_refused():
    X, y = spoiled()
    with pytest.raises(ValueError, match="fit one with clip=None"):
        point_score(SparseAUCClassifierCV([3], clip=0.1).fit(X, y), X, y)
    for wrong in (0.0, 0.5, "always"):
        with pytest.raises(ValueError, match="clip"):
            SparseAUCClassifierCV(clip=wrong).fit(X, y)
