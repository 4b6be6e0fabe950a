"""Units of columns and weights, and offsets, change nothing but the units of the coefficients."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sparseauc import (
    MeanDifferenceClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    sparse_auc_path,
)
from sparseauc.chunks import chunks_in_memory
from sparseauc.moments import class_moments

HOMES = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "csr": sp.csr_array,
    "chunks": lambda X: chunks_in_memory(np.ascontiguousarray(X)),
}


def table(seed, n=50, d=7):
    """Multiples of 1/256, of which large offsets lose no digit."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    X[y == 1, :3] += 0.8
    return np.round(256 * X) / 256, y, rng


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    home=st.sampled_from(list(HOMES)),
    reach=st.sampled_from([3, 100, 500]),
    offset=st.sampled_from([0.0, 2.0**20, -(2.0**40)]),
    weights=st.sampled_from([None, -900, -300, 0, 300, 900]),
    alpha=st.sampled_from([0.0, 0.01, 1.0]),
)
def test_units_and_offsets_do_not_matter(seed, home, reach, offset, weights, alpha):
    X, y, rng = table(seed)
    weight = None if weights is None else rng.choice([0.5, 1.0, 3.0], y.size)
    expected = SparseAUCClassifier(k=3, alpha=alpha).fit(X, y, weight)
    units = 2.0 ** rng.integers(-reach, reach, X.shape[1])
    moved = HOMES[home]((X + offset) * units)
    heavy = None if weight is None else np.ldexp(weight, weights)
    actual = SparseAUCClassifier(k=3, alpha=alpha).fit(moved, y, heavy)
    # In chunks the means are kept as they are, offset and all, to their last digit.
    last_digit = np.finfo(np.float64).eps * abs(offset)
    precision = max(last_digit, 1e-9) if home == "chunks" else 1e-9
    assert_array_equal(np.flatnonzero(actual.coef_), np.flatnonzero(expected.coef_))
    assert_allclose(
        actual.coef_ * units, expected.coef_, rtol=precision, atol=precision
    )
    assert actual.objective_ == pytest.approx(
        expected.objective_, rel=1e-3 if offset else 1e-9
    )


@pytest.mark.parametrize("home", ["rows", "columns", "csr"])
@pytest.mark.parametrize("exponent", [-120, -70, -40, 40, 100])
def test_units_of_single_precision_do_not_matter(home, exponent):
    X, y, _ = table(0)
    expected = SparseAUCClassifier(k=3, alpha=0.1).fit(X.astype(np.float32), y)
    units = np.where(np.arange(X.shape[1]) < 2, 2.0**exponent, 1.0)
    moved = HOMES[home]((X * units).astype(np.float32))
    actual = SparseAUCClassifier(k=3, alpha=0.1).fit(moved, y)
    assert_allclose(actual.coef_ * units, expected.coef_, rtol=1e-4)
    assert actual.objective_ == pytest.approx(expected.objective_, rel=1e-4)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_coefficients_too_large_for_single_precision_are_refused():
    X, y, _ = table(0)
    X[:, 0] *= 1e-40
    with pytest.raises(
        ValueError, match="column 0 are too small for coefficients in float32"
    ):
        SparseAUCClassifier(k=7).fit(X.astype(np.float32), y)


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e200, np.finfo(np.float64).max])
@pytest.mark.parametrize("home", list(HOMES))
def test_equal_weights_are_none_however_large(weight, home):
    X, y, _ = table(1)
    expected = SparseAUCClassifier(k=3).fit(HOMES[home](X), y)
    actual = SparseAUCClassifier(k=3).fit(HOMES[home](X), y, np.full(y.size, weight))
    assert_allclose(actual.coef_, expected.coef_, rtol=1e-12)
    path = sparse_auc_path(X, y, ks=[3], sample_weight=np.full(y.size, weight))
    assert_allclose(path.coef(3, 1.0), expected.coef_[0], rtol=1e-9)


@pytest.mark.parametrize("weight", [5e-324, 1e-250, 1e200, np.finfo(np.float64).max])
def test_rows_that_weigh_too_much_to_be_merged_are_refused(weight):
    X, y, _ = table(1)
    weights = np.full(y.size, weight)
    model = SparseAUCClassifier(k=3)
    if 1e-270 < weight < 1e270:
        expected = SparseAUCClassifier(k=3).fit(X, y).coef_
        summary = class_moments(chunks_in_memory(X), y, weights).summary()
        assert_allclose(model.fit_moments(summary).coef_, expected, rtol=1e-9)
    else:
        with pytest.raises(ValueError, match="multiply all weights"):
            class_moments(chunks_in_memory(X), y, weights).summary()


def test_parts_of_huge_and_of_ordinary_weight_are_merged_by_weight():
    X, y, rng = table(2)
    weight = np.where(np.arange(y.size) < 25, 2.0**300, 1.0) * rng.choice(
        [1.0, 2.0], y.size
    )
    whole = class_moments(X, y, weight).summary()
    parts = [class_moments(X[r], y[r], weight[r]).summary() for r in
             (slice(0, 25), slice(25, None))]  # fmt: skip
    merged = parts[0] + parts[1]
    assert_allclose(merged.weights, whole.weights, rtol=1e-12)
    assert_allclose(
        merged.columns(range(7)), whole.columns(range(7)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("offset", [1e15, -1e15, 3e14])
@pytest.mark.parametrize("home", list(HOMES))
def test_a_signal_of_a_few_last_digits_is_seen(offset, home):
    X, y, _ = table(3)
    X[:, 4] = offset + y
    model = SparseAUCClassifier(k=1).fit(HOMES[home](X), y)
    assert_array_equal(np.flatnonzero(model.coef_), [4])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("factor", "reason"),
    [(1e200, "too large to square"), (1e-200, "too small to square")],
)
@pytest.mark.parametrize(
    "model",
    [SparseAUCClassifier(k=2), SparseAUCClassifierCV(), MeanDifferenceClassifier(k=2)],
)
def test_columns_that_cannot_be_squared_are_named(model, factor, reason):
    X, y, _ = table(4)
    X[:, 2] *= factor
    with pytest.raises(ValueError, match=f"column 2 are {reason}: rescale it"):
        model.fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    with pytest.raises(ValueError, match=f"column 'c' are {reason}: rescale it"):
        model.fit(frame, y)


@pytest.mark.parametrize("home", ["rows", "columns", "csr"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
@pytest.mark.parametrize("function", [class_moments, sparse_auc_path])
def test_what_is_no_number_is_called_so(home, value, word, function):
    X, y, _ = table(5)
    X[31, 2] = X[40, 0] = value
    with pytest.raises(
        ValueError, match=f"X contains {word}: first at row 31, column 2"
    ):
        function(HOMES[home](X), y)


@pytest.mark.parametrize(
    "model", [SparseAUCClassifier(k=9), MeanDifferenceClassifier(k=9)]
)
def test_warnings_point_to_the_line_that_fits(model):
    X, y, _ = table(6)
    with pytest.warns(UserWarning, match="k=9 is greater than n_features=7") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
