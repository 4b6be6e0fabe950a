"""Reading rows equals plain NumPy, wherever the table lies and however it is laid out."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sparseauc_paper.rows import CSR, accumulate_rows, as_table, compute_scores, read_only

# ------------------------------------------------------------------------------ naive versions


def naive_scores(X, rows, w):
    return np.array([sum(float(x) * float(v) for x, v in zip(X[r], w, strict=True)) for r in rows])


def naive_sum_of_rows(X, rows, multipliers, total):
    result = total.astype(np.float64)
    for r, multiplier in zip(rows, multipliers, strict=True):
        result += float(multiplier) * X[r].astype(np.float64)
    return result


# ------------------------------------------------------------------------------ tables


def numbers(n, d, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def memory_mapped(X, folder):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def thinned(X):
    """About a quarter of the entries, the first and every fifth row empty."""
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.25, X, 0).astype(X.dtype)
    X[::5] = 0
    return X


def csr(X, index_type):
    table = sp.csr_array(thinned(X))
    table.indices = table.indices.astype(index_type)
    table.indptr = table.indptr.astype(index_type)
    return table


LAYOUTS = {
    "C": lambda X, folder: np.ascontiguousarray(X),
    "Fortran": lambda X, folder: np.asfortranarray(X),
    "strided": lambda X, folder: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X, folder: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X, folder: frozen(X),
    "read-only Fortran": lambda X, folder: frozen(np.asfortranarray(X)),
    "memory-mapped": lambda X, folder: memory_mapped(X, folder),
    "memory-mapped Fortran": lambda X, folder: memory_mapped(np.asfortranarray(X), folder),
    "CSR, 32-bit indices": lambda X, folder: csr(X, np.int32),
    "CSR, 64-bit indices": lambda X, folder: csr(X, np.int64),
}


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def check_against_naive(X, rows, dtype, k=5):
    """Both operations on some rows of X, with a w of at most k non-zeros."""
    rng = np.random.default_rng(2)
    d = X.shape[1]
    table = as_table(X)
    reference = dense(X)
    # Room for rounding in sums of unit normal numbers.
    atol = 1e-4 if dtype == np.float32 else 1e-12

    support = np.sort(rng.choice(d, min(k, d), replace=False))
    w = np.zeros(d, dtype)
    w[support] = rng.standard_normal(support.size)
    # Solvers keep one array of scores for the largest block; what lies beyond stays as it is.
    scores = np.full(rows.size + 3, 99.0, dtype)
    compute_scores(table, rows, w, support, w[support], scores)
    assert_allclose(scores[: rows.size], naive_scores(reference, rows, w), rtol=0, atol=atol)
    assert_array_equal(scores[rows.size :], 99.0)

    multipliers = rng.standard_normal(rows.size).astype(dtype)
    total = rng.standard_normal(d).astype(dtype)
    expected = naive_sum_of_rows(reference, rows, multipliers, total)
    accumulate_rows(table, rows, multipliers, total)
    assert_allclose(total, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_every_layout_equals_naive(layout, dtype, tmp_path):
    X = LAYOUTS[layout](numbers(61, 37, dtype), tmp_path)
    assert X.dtype == dtype
    rng = np.random.default_rng(0)
    # No row, fewer than the kernels look ahead or take at a time, multiples of 8, and all.
    for size in (0, 1, 7, 8, 9, 16, 23, 61):
        check_against_naive(X, rng.permutation(61)[:size], dtype)


@pytest.mark.parametrize("layout", ["C", "Fortran", "strided", "CSR, 32-bit indices"])
def test_rows_may_repeat(layout, tmp_path):
    X = LAYOUTS[layout](numbers(10, 12, np.float64), tmp_path)
    check_against_naive(X, np.array([3, 3, 3, 0, 9, 9, 1, 3, 3, 3, 5]), np.float64)


@pytest.mark.parametrize("layout", ["C", "Fortran", "strided", "CSR, 32-bit indices"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 20), (20, 1), (3, 2)])
def test_thin_tables(layout, shape, tmp_path):
    X = LAYOUTS[layout](numbers(*shape, np.float64), tmp_path)
    check_against_naive(X, np.arange(shape[0]), np.float64)


@pytest.mark.parametrize("d", [16383, 16384, 16385, 40000])
def test_wide_tables_are_read_in_tiles(d):
    X = numbers(11, d, np.float64)
    check_against_naive(X, np.arange(11), np.float64)


@pytest.mark.parametrize("layout", ["C", "Fortran", "strided", "CSR, 32-bit indices"])
def test_empty_support_scores_zero(layout, tmp_path):
    X = LAYOUTS[layout](numbers(10, 12, np.float64), tmp_path)
    check_against_naive(X, np.arange(10), np.float64, k=0)


@pytest.mark.parametrize("lengths", [[0, 0, 0], [0, 3, 0, 1, 2, 0], [0] * 20, [4] * 20])
def test_empty_and_short_csr_rows(lengths):
    # The two running sums of a row end differently for even and odd lengths.
    indices = np.concatenate([np.arange(length) for length in lengths]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = np.random.default_rng(0).standard_normal(indices.size)
    X = sp.csr_array((data, indices, indptr), (len(lengths), 6))
    check_against_naive(X, np.arange(len(lengths))[::-1].copy(), np.float64)


# ------------------------------------------------------------------------------ as_table


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_table_is_a_read_only_view(layout, tmp_path):
    X = LAYOUTS[layout](numbers(10, 12, np.float64), tmp_path)
    table = as_table(X)
    if sp.issparse(X):
        assert isinstance(table, CSR)
        pairs = [(X.data, table.data), (X.indices, table.indices), (X.indptr, table.indptr)]
    else:
        pairs = [(X, table)]
    for theirs, ours in pairs:
        assert type(ours) is np.ndarray
        assert np.shares_memory(theirs, ours)
        assert ours.strides == theirs.strides
        assert not ours.flags.writeable


def test_as_table_leaves_the_callers_array_writable():
    X = numbers(4, 3, np.float64)
    as_table(X)
    X[0, 0] = 7.0
    S = sp.csr_array(X)
    as_table(S)
    S.data[0] = 8.0
    assert S[0, 0] == 8.0


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_duplicate_csr_entries_are_summed_in_a_copy(kind):
    data = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    indices = np.array([2, 0, 2, 1, 1], np.int32)
    indptr = np.array([0, 3, 3, 5], np.int32)
    X = kind((data.copy(), indices.copy(), indptr.copy()), (3, 4))
    table = as_table(X)
    assert_array_equal(table.data, [2, 5, 24])
    assert_array_equal(table.indices, [0, 2, 1])
    assert_array_equal(table.indptr, [0, 2, 2, 3])
    # The caller's matrix is as it was.
    assert_array_equal(X.data, data)
    assert_array_equal(X.indices, indices)
    assert_array_equal(X.indptr, indptr)
    check_against_naive(X, np.arange(3), np.float64)


def test_read_only_view_of_an_integer_array():
    labels = np.arange(5)
    view = read_only(labels)
    assert np.shares_memory(labels, view)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    assert labels.flags.writeable
