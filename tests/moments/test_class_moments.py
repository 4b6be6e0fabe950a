"""Class moments against plain covariances of each class, and what may be done with summaries."""

import errno
import os
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive import naive_part
from sparseauc.moments import ClassMoments, class_moments
from sparseauc.moments.cells import CellSums

STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sp.csr_array}
EPS = np.finfo(np.float64).eps

# ------------------------------------------------------------------------------- naive
# version


def naive_h(X, positive, weight):
    """H = S₊ + S₋ + δδᵀ."""
    (a, mean_a, scatter_a), (b, mean_b, scatter_b) = (
        naive_part(X[rows], weight[rows]) for rows in (positive, ~positive)
    )
    delta = mean_b - mean_a
    return scatter_a / a + scatter_b / b + np.outer(delta, delta)


def limits(X, weight, rows, n_rows=None, eps_cross=EPS):
    """Rounding that the moments of the class ``rows`` may show: means, scatters, cross products.

    With R = max|x| over a column and D = max|x − mean| within the class, a sum over n
    rows is off by at most n·eps times the size of its terms. So means are known to
    n·eps·R (R of both classes, as dense sums are taken about the first row of either),
    each x − mean to that, and Σ w (x_c − mean_c)(x_j − mean_j) to W n eps (R_c D_j +
    R_j D_c) plus the square of the former. Cross products of a dense float32 table are
    computed in float32 (``eps_cross``). Four such sums (mean, drift, products, merging)
    make the factor: at n = 40, 160 eps.
    """
    X = X.astype(np.float64)
    size = np.abs(X[weight > 0]).max(axis=0, initial=0.0)
    mean = naive_part(X[rows], weight[rows])[1].astype(np.float64)
    spread = np.abs(X[rows & (weight > 0)] - mean).max(axis=0, initial=0.0)
    total = weight[rows].sum()
    n = len(X) if n_rows is None else n_rows
    unit, unit_cross = 4 * n * EPS, 4 * n * eps_cross
    cross = np.outer(size, spread)
    return (
        unit * size,
        total * (2 * unit * size * spread + (unit * size) ** 2),
        total
        * (unit_cross * (cross + cross.T) + unit_cross * unit * np.outer(size, size)),
    )


def assert_within(actual, expected, limit):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    off = np.abs(actual - expected) > limit
    assert not off.any(), f"{actual[off]} is not {expected[off]} within {limit[off]}"


def cells_of(summary):
    """Moments of both classes, with or without rows."""
    arrays = (getattr(summary.sums, name) for name in CellSums.NAMES)
    return [CellSums(*parts) for parts in zip(*arrays, strict=True)]


def assert_summary_equals_rows(
    summary, X, positive, weight, n_rows=None, eps_cross=EPS
):
    """Compare every number of ``summary`` with the naive moments of the rows."""
    for part, rows in zip(cells_of(summary), (positive, ~positive), strict=True):
        total, mean, scatter = naive_part(X[rows], weight[rows])
        limit_mean, limit_scatter, limit_cross = limits(
            X, weight, rows, n_rows, eps_cross
        )
        assert_allclose(part.weight, float(total), rtol=len(X) * EPS)
        assert_within(part.means, mean, limit_mean)
        assert_within(part.scatter, scatter.diagonal(), limit_scatter)
        assert_within(part.cross, scatter, limit_cross)


# -------------------------------------------------------------------------------- drawn
# tables


@st.composite
def tables(draw, min_rows=1, dtypes=(np.float64,), both_classes=False):
    """X, positive, weight; columns on any scale, with gaps, copies, constants and offsets."""
    n, d = draw(st.integers(min_rows, 40)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    X *= rng.random((n, d)) < draw(st.sampled_from([1.0, 0.3]))
    for j in range(d):
        kind = draw(
            st.sampled_from(["plain", "offset", "constant", "zero", "copy", "count"])
        )
        if kind == "offset":
            X[:, j] += draw(st.sampled_from([1.0, -1e3, 1e6]))
        elif kind == "constant":
            X[:, j] = 0.1
        elif kind == "zero":
            X[:, j] = 0.0
        elif kind == "copy":
            X[:, j] = X[:, 0]
        elif kind == "count":
            X[:, j] = rng.integers(0, 3, n)
    X *= 10.0 ** np.array(
        draw(st.lists(st.sampled_from([0, 0, 0, -6, 6]), min_size=d, max_size=d))
    )
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    positive = rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    weights = draw(st.sampled_from(["one", "uneven", "zeros"]))
    weight = np.ones(n) if weights == "one" else rng.choice([0.1, 0.3, 1.0, 7.0], n)
    if weights == "zeros":
        weight *= rng.random(n) < 0.6
    if both_classes:
        positive[:2] = [True, False]
        weight[:2] = 0.7
    return X.astype(draw(st.sampled_from(dtypes))), positive, weight


def summarise(X, positive, weight, storage="C"):
    return class_moments(STORAGES[storage](X), positive, weight).summary()


quick = settings(max_examples=150, deadline=None)


# ------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(table=tables(dtypes=(np.float64, np.float32)))
def test_summary_equals_plain_covariances(storage, table):
    X, positive, weight = table
    eps_cross = EPS if storage == "CSR" else np.finfo(X.dtype).eps
    assert_summary_equals_rows(
        summarise(X, positive, weight, storage),
        X,
        positive,
        weight,
        eps_cross=eps_cross,
    )


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(
    table=tables(min_rows=2, both_classes=True, dtypes=(np.float64, np.float32)),
    data=st.data(),
)
def test_columns_of_h_equal_the_formula(storage, table, data):
    X, positive, weight = table
    d = X.shape[1]
    # Any order, and a column may be asked for twice.
    asked = data.draw(st.lists(st.integers(0, d - 1), max_size=6))
    moments = class_moments(STORAGES[storage](X), positive, weight)
    h = naive_h(X, positive, weight)
    eps_cross = EPS if storage == "CSR" else np.finfo(X.dtype).eps
    # δ is known as well as both means are, and enters as δ_c δ_j.
    delta = np.abs(moments.means[0] - moments.means[1])
    off = 2 * limits(X, weight, positive)[0]
    limit = np.outer(off, delta) + np.outer(delta, off) + np.outer(off, off)
    for rows in (positive, ~positive):
        limit += limits(X, weight, rows, eps_cross=eps_cross)[2] / weight[rows].sum()
    assert_within(moments.columns(asked), h[:, asked], limit[:, asked])
    assert_within(moments.diagonal, h.diagonal(), limit.diagonal())
    assert_allclose(moments.ratio, weight[positive].sum() / weight.sum(), rtol=1e-14)
    summary = moments.summary()
    assert_within(summary.columns(asked), h[:, asked], limit[:, asked])


@pytest.mark.parametrize("storage", STORAGES)
@quick
@given(table=tables(min_rows=2))
def test_a_row_of_weight_zero_is_no_row(storage, table):
    X, positive, weight = table
    weight[0] = 0.0
    X[0] = 123.4
    kept = weight > 0
    if not kept.any():
        return
    with_them = class_moments(STORAGES[storage](X), positive, weight)
    without = class_moments(STORAGES[storage](X[kept]), positive[kept], weight[kept])
    assert_array_equal(with_them.varies, without.varies)
    assert_allclose(with_them.weights, without.weights, rtol=1e-14)
    assert_summary_equals_rows(with_them.summary(), X, positive, weight)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_repeated_row_is_a_row_of_weight_two(storage):
    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(12, 3)) + 1, np.arange(12) % 3 == 0
    times = rng.integers(0, 4, 12)
    repeated = summarise(
        np.repeat(X, times, axis=0), np.repeat(positive, times), None, storage
    )
    assert repeated.weights == (times[positive].sum(), times[~positive].sum())
    assert_summary_equals_rows(
        repeated, X, positive, times.astype(float), n_rows=times.sum()
    )


@pytest.mark.parametrize("storage", STORAGES)
def test_means_of_many_float32_rows_are_summed_in_double(storage):
    # Summed in float32, 200 000 values near 1000 would be off by about 1e-3.
    rng = np.random.default_rng(0)
    X = (1000 + rng.normal(size=(200_000, 2))).astype(np.float32)
    positive = rng.random(len(X)) < 0.3
    moments = class_moments(STORAGES[storage](X), positive)
    for mean, variance, rows in zip(
        moments.means, moments.variances, (positive, ~positive), strict=True
    ):
        assert_allclose(mean, X[rows].mean(axis=0, dtype=np.float64), rtol=1e-6)
        assert_allclose(variance, X[rows].var(axis=0, dtype=np.float64), rtol=1e-6)


def test_a_large_offset_costs_csr_no_more_digits_than_dense():
    # Raw second moments would be 1e12 and leave four digits of the unit variances.
    rng = np.random.default_rng(0)
    X, positive = 1e6 + rng.normal(size=(200, 4)), np.arange(200) % 4 == 0
    weight = rng.choice([0.1, 0.3, 0.7], 200)
    for storage in STORAGES:
        moments = class_moments(STORAGES[storage](X), positive, weight)
        h = naive_h(X, positive, weight).astype(float)
        assert_allclose(moments.columns(range(4)), h, atol=1e-8)
        assert_allclose(moments.diagonal, h.diagonal(), atol=1e-8)


@pytest.mark.parametrize("storage", STORAGES)
def test_views_read_only_and_memory_mapped_tables(storage, tmp_path):
    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(20, 6)), np.arange(20) % 3 == 0
    wide = np.empty((40, 12))
    wide[::2, ::2] = X
    np.save(tmp_path / "X.npy", STORAGES["F" if storage == "F" else "C"](X))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    X.flags.writeable = False
    positive.flags.writeable = False
    expected = summarise(X, positive, None)
    inputs = [X, mapped, wide[::2, ::2]]
    if storage == "CSR":
        frozen = sp.csr_array(X)
        for array in (frozen.data, frozen.indices, frozen.indptr):
            array.flags.writeable = False
        inputs = [frozen, sp.csc_array(X), sp.csr_matrix(X)]
    for table in inputs:
        summary = class_moments(table, positive).summary()
        assert_allclose(summary.sums.cross, expected.sums.cross, atol=1e-13)


def test_entries_stored_twice_are_summed_and_the_matrix_is_left_alone():
    data, indices, indptr = [1.0, 2.0, 5.0, 4.0], [1, 1, 0, 1], [0, 2, 4]
    X = sp.csr_array((data, indices, indptr), shape=(2, 2))
    moments = class_moments(X, [1, 0])
    assert_array_equal(moments.means, [[0, 3], [5, 4]])
    assert_array_equal(moments.columns([1]), [[5], [1]])
    assert X.nnz == 4


# --------------------------------------------------------------------- constant columns

CONSTANTS = {
    "varies": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    "constant": [0.1] * 7,
    "large constant": [1e15 / 3] * 7,
    "zero": [0.0] * 7,
    "constant in each class": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0],
    "one row differs": [0.1] * 6 + [np.nextafter(0.1, 1)],
    "first row differs": [0.2] + [0.1] * 6,
    "zero but for the last": [0.0] * 6 + [0.1],
    "zero but for the first": [0.1] + [0.0] * 6,
    "constant but for a gap": [0.1] * 3 + [0.0] + [0.1] * 3,
    "tiny": [1e-300] + [0.0] * 6,
}
VARIES = [name not in ("constant", "large constant", "zero") for name in CONSTANTS]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [None, [0.1, 0.2, 0.3, 0.1, 0.7, 0.1, 0.1]])
@pytest.mark.parametrize("storage", [*STORAGES, "CSR with explicit zeros"])
def test_varies_flags_exactly_the_constant_columns(storage, weight, dtype):
    X = np.array(list(CONSTANTS.values())).T.astype(dtype)
    expected = [len(np.unique(column)) > 1 for column in X.T]
    if dtype == np.float64:
        assert expected == VARIES
    if storage in STORAGES:
        table = STORAGES[storage](X)
    else:
        every = np.tile(np.arange(X.shape[1]), len(X))
        table = sp.csr_array((X.ravel(), every, np.arange(0, X.size + 1, X.shape[1])))
        assert table.nnz == X.size
    positive = np.arange(7) < 3
    moments = class_moments(table, positive, weight)
    assert_array_equal(moments.varies, expected)
    # Nothing is left of a constant column: rounding there would look like a perfect
    # marker.
    constant = np.flatnonzero(~moments.varies)
    assert not moments.delta[constant].any()
    assert not moments.diagonal[constant].any()
    assert not moments.columns(constant)[constant].any()


@pytest.mark.parametrize("storage", STORAGES)
def test_a_column_that_only_varies_in_rows_of_weight_zero_is_constant(storage):
    X = np.array(
        [[7.0, 0.0], [0.1, 0.0], [0.1, 0.0], [0.1, 0.0], [0.1, 9.0], [0.1, 0.0]]
    )
    weight = np.array([0.0, 0.3, 0.1, 0.7, 0.0, 0.3])
    moments = class_moments(STORAGES[storage](X), [1, 1, 1, 0, 0, 0], weight)
    assert not moments.varies.any()
    assert not moments.delta.any()
    assert not moments.diagonal.any()


# -------------------------------------------------------------------------------- merge


@st.composite
def splits(draw):
    """A table and the number of the chunk of each row; chunks may hold one class only."""
    X, positive, weight = draw(tables())
    n_chunks = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chunk = rng.integers(0, n_chunks, len(X))
    if draw(st.booleans()):
        chunk = 2 * chunk + positive
    return X, positive, weight, chunk


@quick
@given(split=splits(), data=st.data())
def test_chunks_merged_in_any_order_equal_the_whole(split, data):
    X, positive, weight, chunk = split
    names = data.draw(st.permutations(list(np.unique(chunk))))
    storages = data.draw(
        st.lists(
            st.sampled_from(list(STORAGES)), min_size=len(names), max_size=len(names)
        )
    )
    parts = [
        summarise(
            X[chunk == name], positive[chunk == name], weight[chunk == name], storage
        )
        for name, storage in zip(names, storages, strict=True)
    ]
    assert_summary_equals_rows(ClassMoments.merge(iter(parts)), X, positive, weight)
    while len(parts) > 1:  # as a tree, the way workers do
        parts = [ClassMoments.merge(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    assert_summary_equals_rows(parts[0], X, positive, weight)


@pytest.mark.parametrize("storage", STORAGES)
def test_moments_of_rows_are_added_as_they_are(storage):
    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(60, 4)) + 5, np.arange(60) % 3 == 0
    first, rest = (
        class_moments(STORAGES[storage](X[r]), positive[r])
        for r in (np.s_[:20], np.s_[20:])
    )
    both = first + rest
    assert isinstance(both, ClassMoments)
    whole = class_moments(X, positive)
    assert_allclose(both.columns(range(4)), whole.columns(range(4)), rtol=1e-12)
    assert_allclose((both + first.summary()).weights, (27, 53))


def test_all_of_h_of_many_columns_is_not_summarised():
    X = sp.random_array((40, 20_000), density=1e-3, format="csr", rng=0)
    moments = class_moments(X, np.arange(40) % 2)
    with pytest.raises(
        ValueError, match=r"choose those to take along, as by class_moments\(X\["
    ):
        moments + moments


def test_nothing_cannot_be_merged():
    with pytest.raises(ValueError, match="at least one summary"):
        ClassMoments.merge([])


@pytest.mark.parametrize("storage", STORAGES)
def test_a_class_without_rows(storage):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    X[:, 2] = 0.1
    chunk = class_moments(STORAGES[storage](X), np.ones(9))
    assert_array_equal(chunk.means[1], np.zeros(3))
    summary = chunk.summary()
    assert summary.weights == (9.0, 0.0)
    for moments in (chunk, summary):
        for ask in ("delta", "diagonal", "variances"):
            with pytest.raises(ValueError, match="no negative rows: merge in some"):
                getattr(moments, ask)
        with pytest.raises(ValueError, match="no negative rows"):
            moments.columns([0])
    others = class_moments(STORAGES[storage](X + 5), np.zeros(9)).summary()
    for whole in (summary + others, others + summary):
        # The empty class adds nothing, not even rounding.
        assert_array_equal(whole.sums.means[0], summary.sums.means[0])
        assert_array_equal(whole.sums.cross[0], summary.sums.cross[0])
        assert_array_equal(whole.sums.means[1], others.sums.means[1])
        assert_array_equal(whole.sums.scatter[1], others.sums.scatter[1])
        assert_allclose(whole.delta, X.mean(axis=0) + 5 - X.mean(axis=0), rtol=1e-14)


def test_different_tables_do_not_combine():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)), np.arange(10) % 2
    summary = class_moments(X, y).summary()
    narrow = class_moments(X[:, :2].copy(), y).summary()
    with pytest.raises(ValueError, match="over 3 and 2 columns"):
        summary + narrow


# ------------------------------------------------------------------------------ columns


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    "columns", [[6], [-1], [0, 99], [0.0], [True, False], [[0, 1]], 3, "a"]
)
def test_columns_that_do_not_exist(storage, columns):
    moments = class_moments(STORAGES[storage](np.eye(6)), np.arange(6) % 2)
    named = "|column (6|-1|99) does not exist: there are 6"
    for ask in (moments.columns, moments.summary().columns):
        with pytest.raises(
            ValueError, match="one-dimensional array of column numbers" + named
        ):
            ask(columns)


# -------------------------------------------------------------------------------- files


@pytest.fixture
def summary():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)) * 1e3, rng.random(30) < 0.4
    return class_moments(X, y, rng.random(30)).summary()


def stored_arrays(summary, **changes):
    arrays = {
        "format": 3,
        "shares": summary.shares,
    }
    arrays |= {name: getattr(summary.sums, name) for name in CellSums.NAMES}
    return {
        name: array for name, array in (arrays | changes).items() if array is not None
    }


def assert_identical(a, b):
    for kind in CellSums.NAMES:
        assert_array_equal(getattr(a.sums, kind), getattr(b.sums, kind), strict=True)
    assert_array_equal(a.shares, b.shares, strict=True)


@settings(max_examples=30, deadline=None)
@given(table=tables(dtypes=(np.float64, np.float32)))
@example(table=(np.ones((1, 1)), np.array([True]), np.ones(1)))
def test_save_and_load_give_the_same_bits(tmp_path_factory, table):
    X, positive, weight = table
    summary = class_moments(X, positive, weight).summary()
    path = tmp_path_factory.getbasetemp() / "moments"  # no suffix: none is added
    summary.save(path)
    assert_identical(summary, ClassMoments.load(path))
    assert_identical(summary, ClassMoments.load(str(path)))


def test_saving_over_a_file_leaves_nothing_else_behind(summary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    summary.save("moments.npz")
    (summary + summary).save("moments.npz")
    assert_identical(summary + summary, ClassMoments.load("moments.npz"))
    assert [file.name for file in tmp_path.iterdir()] == ["moments.npz"]


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_a_saved_file_is_as_readable_as_any_other(summary, tmp_path):
    # Summaries are made to be handed on; temporary files are private by default.
    (tmp_path / "any").touch()
    summary.save(tmp_path / "moments.npz")
    assert (tmp_path / "moments.npz").stat().st_mode == (
        tmp_path / "any"
    ).stat().st_mode


@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()]
)
def test_a_failing_save_leaves_the_old_file(summary, tmp_path, monkeypatch, failure):
    path = tmp_path / "moments.npz"
    summary.save(path)

    def fail(file, **arrays):
        file.write(b"half of it")
        raise failure

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(type(failure)):
        (summary + summary).save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["moments.npz"]
    assert_identical(summary, ClassMoments.load(path))


def test_saving_where_no_file_can_be(summary, tmp_path):
    with pytest.raises(FileNotFoundError):
        summary.save(tmp_path / "no" / "such" / "folder.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        summary.save(tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        ClassMoments.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_truncated_file_is_refused(summary, tmp_path, kept):
    path = tmp_path / "moments.npz"
    summary.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match=r"moments\.npz does not hold class moments"):
        ClassMoments.load(path)


def test_a_damaged_number_is_refused(summary, tmp_path):
    path = tmp_path / "moments.npz"
    summary.save(path)
    content = bytearray(path.read_bytes())
    place = content.index(summary.sums.means.tobytes())
    content[place + 9] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="does not hold class moments"):
        ClassMoments.load(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": 1}, "format 1 is not known"),
        ({"format": None}, "format"),
        ({"scatter": None}, "scatter"),
        ({"means": np.zeros((2, 4))}, "do not fit"),
        ({"means": np.zeros((2, 5, 1))}, "do not fit"),
        ({"means": np.zeros(6)}, "do not fit"),
        ({"scatter": np.zeros((2, 4))}, "do not fit"),
        ({"cross": np.zeros((2, 3, 5))}, "do not fit"),
        ({"cross": np.zeros((2, 2, 4))}, "do not fit"),
        ({"weight": np.ones((2, 2))}, "do not fit"),
        ({"shares": np.ones(2)}, "do not fit"),
        ({"means": np.array([["a"] * 5] * 2)}, "do not fit"),
        ({"means": np.array([[None] * 5] * 2)}, "pickle"),
    ],
)
def test_an_inconsistent_file_is_refused(summary, tmp_path, changes, reason):
    path = tmp_path / "moments.npz"
    np.savez(path, **stored_arrays(summary))
    assert_identical(
        summary, ClassMoments.load(path)
    )  # the test writes what `save` writes
    np.savez(path, **stored_arrays(summary, **changes))
    with pytest.raises(
        ValueError, match=rf"moments\.npz does not hold class moments.*{reason}"
    ):
        ClassMoments.load(path)


@pytest.mark.parametrize("kind", ["other npz", "npy", "pickle", "zip", "text"])
def test_another_file_is_refused(summary, tmp_path, kind):
    path = tmp_path / "other.npz"
    if kind == "other npz":
        np.savez(path, X=np.eye(3))
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.eye(3))
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(summary))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("format", "1")
    else:
        path.write_text("positive,negative\n1,2\n")
    with pytest.raises(ValueError, match=r"other\.npz does not hold class moments"):
        ClassMoments.load(path)


# ------------------------------------------------------------------------------- errors

X6 = np.arange(12.0).reshape(6, 2)
Y6 = np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (X6, ["a", "b"] * 3, None, "for text labels pass y == label"),
        (
            X6,
            np.array(["a", "b"] * 3, dtype=object),
            None,
            "for text labels pass y == label",
        ),
        (X6, Y6[:5], None, r"X has 6 rows but y has shape \(5,\)"),
        (X6, Y6[:, None], None, r"X has 6 rows but y has shape \(6, 1\)"),
        (X6, [0, 1, 0, np.nan, 0, 1], None, "y has NaN at row 3"),
        (X6, Y6, np.ones(7), "sample_weight has 7 rows, the labels 6"),
        (
            X6,
            Y6,
            [1, 1, 1, 1, -0.5, -1],
            r"sample_weight is -0\.5 in row 4: give 0 or more",
        ),
        (X6, Y6, [1, 1, np.nan, 1, 1, 1], "sample_weight is nan in row 2"),
        (X6, Y6, [1, np.inf, 1, 1, 1, 1], "sample_weight is inf in row 1"),
        (X6.astype(int), Y6, None, "X must be float32 or float64, got int64"),
        (X6.astype(np.float16), Y6, None, "got float16"),
        (
            sp.csr_array(X6.astype(int)),
            Y6,
            None,
            "X must be float32 or float64, got int64",
        ),
        (X6[0], Y6[:2], None, r"X must have rows and columns, got shape \(2,\)"),
        (X6[:0], Y6[:0], None, r"X must have rows and columns, got shape \(0, 2\)"),
        (X6[:, :0], Y6, None, r"X must have rows and columns, got shape \(6, 0\)"),
    ],
)
def test_input_is_refused_with_a_reason(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        class_moments(X, y, weight)


@pytest.mark.parametrize(
    "y", [Y6, Y6.astype(bool), Y6 * 2.0 - 1, (Y6 * 2 - 1).tolist()]
)
def test_labels_are_positive_where_greater_than_zero(y):
    moments = class_moments(X6, y)
    assert_array_equal(moments.means, [X6[1::2].mean(axis=0), X6[::2].mean(axis=0)])


def test_nothing_of_the_size_of_a_sparse_table_is_made():
    # 10 000 × 20 000 doubles would be 1.6 GB; nothing here takes more than a few
    # columns of it.
    X = sp.random_array((10_000, 20_000), density=1e-4, format="csr", rng=0)
    moments = class_moments(X, np.arange(10_000) % 2)
    assert moments.columns([5, 7]).shape == (20_000, 2)
