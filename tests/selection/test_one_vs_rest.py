"""Every label against the rest equals what the moments of each problem alone say."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sparseauc.selection._one_vs_rest as one_vs_rest
from sparseauc.moments import class_moments
from sparseauc.selection._one_vs_rest import NO_FOLD, LabelledRows, fit_each_against_rest

pytestmark = pytest.mark.slow


def rows_of(X, label, fold, *, step=7, quick=True):
    def read():
        for first in range(0, X.shape[0], step):
            where = slice(first, min(first + step, X.shape[0]))
            yield where, X[where]

    return LabelledRows(
        read, label, fold, int(label.max()) + 1, int(fold.max()) + 1, X.shape[1], quick
    )


def alone(X, label, fold, target, left_out):
    """Moments of one problem by itself, both classes of the same weight."""
    train = (label >= 0) & (fold != left_out)
    positive = label[train] == target
    weight = np.where(positive, 1.0 / positive.sum(), 1.0 / (~positive).sum())
    return class_moments(X[train], positive, weight)


def every_model(label, fold):
    """Models whose training rows hold the label and others."""
    for target in np.unique(label[label >= 0]).tolist():
        for left_out in [NO_FOLD, *np.unique(fold).tolist()]:
            train = label[(label >= 0) & (fold != left_out)]
            if (train == target).any() and (train != target).any():
                yield target, left_out


def everything(moments):
    return (
        moments.means,
        moments.deviations,
        moments.diagonal,
        moments.columns(np.arange(moments.n_features)),
    )


@st.composite
def labelled_tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 40)), draw(st.integers(1, 6))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.3, 1.0])))
    X += draw(st.sampled_from([0.0, 100.0])) * (rng.random(d) < 0.5)
    label = rng.integers(-1, draw(st.integers(2, 5)), n)
    label[:2] = 0, 1
    fold = rng.integers(0, draw(st.integers(1, 4)), n)
    kind = draw(st.sampled_from([np.asarray, np.asfortranarray, sp.csr_matrix, sp.csr_array]))
    return kind(X), label, fold


@given(labelled_tables(), st.booleans(), st.integers(1, 50))
def test_moments_equal_those_of_each_problem_alone(table, quick, step):
    X, label, fold = table
    models = list(every_model(label, fold))
    found = fit_each_against_rest(
        rows_of(X, label, fold, step=step, quick=quick), models, everything
    )
    assert set(found) == set(models)
    for target, left_out in models:
        expected = everything(alone(X, label, fold, target, left_out))
        for mine, theirs in zip(found[target, left_out], expected, strict=True):
            assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_float32_is_summed_in_double_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 1.0, (200, 5)).astype(np.float32)
    label, fold = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    found = fit_each_against_rest(rows_of(X, label, fold), [(1, 0)], everything)
    expected = everything(alone(X.astype(np.float64), label, fold, 1, 0))
    for mine, theirs in zip(found[1, 0], expected, strict=True):
        assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_column_that_varies_elsewhere_only_has_no_difference_and_no_variance(kind):
    rng = np.random.default_rng(0)
    label, fold = np.repeat([0, 1, 2], 20), np.tile([0, 1], 30)
    X = rng.random((60, 3))
    X[:, 0] = 0.1  # varies nowhere
    X[:, 1] = np.where(fold == 1, rng.random(60), 0.3)  # varies in fold 1 only
    found = fit_each_against_rest(
        rows_of(kind(X), label, fold),
        every_model(label, fold),
        lambda moments: (moments.delta, moments.deviations),
    )
    for target in range(3):
        delta, deviations = found[target, 1]
        assert_array_equal(delta[:2], 0.0)
        assert_array_equal(deviations[:2], 0.0)
        assert found[target, 0][1][1] > 0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_few_passes_and_labels_in_batches_give_the_same(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = kind(rng.normal(size=(90, 8)) * (rng.random((90, 8)) < 0.6))
    label, fold = rng.integers(0, 5, 90), rng.integers(0, 3, 90)
    models = list(every_model(label, fold))
    passes = []

    def two_columns(moments):
        """Ask for the columns one after the other, as a path does."""
        return moments.columns([3])[:, 0], moments.columns([5, 1])[:, 0]

    def fit(**how):
        rows = rows_of(X, label, fold, **how)
        count = [0]

        def counted():
            count[0] += 1
            return rows.read()

        found = fit_each_against_rest(
            LabelledRows(counted, label, fold, 5, 3, 8, rows.quick), models, two_columns
        )
        passes.append(count[0])
        return found

    at_once, patiently = fit(quick=True), fit(quick=False)
    monkeypatch.setattr(one_vs_rest, "_BUDGET", 1)
    one_by_one = fit(quick=False)
    for model in models:
        for other in (patiently, one_by_one):
            assert_allclose(other[model], at_once[model], rtol=1e-12)
    # One pass for the means; then two for all labels together, or for each label.
    assert passes == [1 + 2 * 5, 1 + 2, 1 + 2 * 5]
