"""Rows read in chunks: every home gives the same rows, and moments are those of the whole."""

import mmap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive import naive_part
from sparseauc.chunks import (
    ArrayChunks,
    CSRChunks,
    NotFiniteError,
    as_chunks,
    chunks_in_memory,
    mapped_chunks,
    open_table,
    score_chunks,
)
from sparseauc.moments import chunked, class_moments
from sparseauc.moments.chunked import (
    GatheredMoments,
    NotGathered,
    Partition,
    chunked_moments,
    training_moments,
)

EPS = np.finfo(np.float64).eps

# ------------------------------------------------------------------------------- naive
# version


def rows_of(chunks, columns=None):
    """All rows, from a reading."""
    parts = list(chunks.read(columns))
    return np.concatenate(
        [part.toarray() if sp.issparse(part) else part for part in parts]
    )


HOMES = {
    "row-major": lambda X, size: ArrayChunks(X, chunk_bytes=size),
    "column-major": lambda X, size: ArrayChunks(np.asfortranarray(X), chunk_bytes=size),
    "CSR": lambda X, size: CSRChunks(*csr_arrays(X), X.shape[1], chunk_bytes=size),
}


def csr_arrays(X):
    matrix = sp.csr_array(X)
    return matrix.data, matrix.indices, matrix.indptr


# ------------------------------------------------------------------------------ moments


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("all_bytes", [0, 2**27])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    d=st.integers(1, 6),
    size=st.sampled_from([1, 50, 200, 10**6]),
    dtype=st.sampled_from([np.float64, np.float32]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    weights=st.sampled_from(["none", "uneven", "zeros"]),
)
def test_summary_equals_plain_covariances(
    home, all_bytes, seed, n, d, size, dtype, share, weights
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0, 1e3], d) + rng.choice(
        [0.0, 50.0], d
    )
    X = (X * (rng.random((n, d)) < 0.7)).astype(dtype)
    positive = rng.random(n) < share
    weight = None if weights == "none" else rng.choice([0.1, 1.0, 7.0], n)
    if weights == "zeros":
        weight *= rng.random(n) < 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "_ALL_BYTES", all_bytes)
        summary = class_moments(HOMES[home](X, size), positive, weight).summary()
    one = np.ones(n) if weight is None else weight
    # Sums over n rows are off by at most n·eps times their terms, whatever the dtype of
    # X.
    unit = 8 * n * EPS * np.abs(X).max(initial=0.0, axis=0).astype(np.float64)
    for number, rows in enumerate((positive, ~positive)):
        total, mean, scatter = naive_part(X[rows], one[rows])
        largest = np.abs(X).max(axis=0).astype(np.float64)
        limit = max(total, 1.0) * np.outer(unit, largest)
        limit += limit.T
        assert summary.sums.weight[number] == pytest.approx(total)
        assert (np.abs(summary.sums.means[number] - mean) <= unit).all()
        assert (
            np.abs(summary.sums.scatter[number] - scatter.diagonal())
            <= limit.diagonal()
        ).all()
        assert (np.abs(summary.sums.cross[number] - scatter) <= limit).all()


def test_float32_rows_give_moments_in_double_precision():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5000, 4)) + 100).astype(np.float32)
    positive = rng.random(5000) < 0.3
    exact = class_moments(X.astype(np.float64), positive).columns(range(4))
    moments = class_moments(ArrayChunks(X, chunk_bytes=4000), positive)
    assert_allclose(moments.summary().columns(range(4)), exact, rtol=1e-11)
    assert moments.precision == EPS


@pytest.mark.parametrize("home", HOMES)
def test_parts_are_merged_as_if_read_alone(home, readings):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.5)
    # A column that varies in part 2 only: elsewhere it must have no variance and no
    # difference.
    part = rng.integers(-1, 3, 200).astype(np.int16)
    X[:, 3] = np.where(part == 2, rng.normal(size=200), 0.1)
    positive = rng.random(200) < 0.4
    weight = rng.random(200)
    chunks = HOMES[home](X, 300)
    other = Partition((np.arange(200) % 2).astype(np.int16), 2)
    gathered = GatheredMoments(chunks, positive, [Partition(part, 3, weight), other])
    if not gathered.is_complete:
        gathered.ask(rows=range(5))
        gathered.gather()
    for parts, rows, w in [
        ([0, 1], (part == 0) | (part == 1), weight),
        ([1, 2], part >= 1, weight),
        ([4], np.arange(200) % 2 == 1, np.ones(200)),
    ]:
        alone = class_moments(X[rows], positive[rows], w[rows])
        merged = training_moments(gathered, parts)
        assert_allclose(merged.means, alone.means, atol=1e-14)
        assert_allclose(merged.variances, alone.variances, atol=1e-13)
        assert_allclose(merged.columns(range(5)), alone.columns(range(5)), atol=1e-13)
        assert merged.varies[3] == (2 in parts or parts == [4])
    assert training_moments(gathered, [0, 1]).delta[3] == 0.0
    assert chunks.n_passes == (1 if readings == "one reading" else 2)


def test_columns_are_gathered_once(monkeypatch):
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    rng = np.random.default_rng(2)
    X, positive = rng.normal(size=(100, 6)), np.arange(100) % 3 == 0
    chunks = ArrayChunks(X, chunk_bytes=500)
    moments = chunked_moments(chunks, positive)
    expected = class_moments(X, positive)
    for columns, readings in [
        ([4, 1], 2),
        ([1], 2),
        ([4, 1, 4], 2),
        ([4, 0], 3),
        ([], 3),
    ]:
        assert_allclose(moments.columns(columns), expected.columns(columns), atol=1e-13)
        assert chunks.n_passes == readings


@pytest.mark.parametrize("sparse", [False, True])
def test_solvers_are_told_what_is_missing_of_h(monkeypatch, sparse):
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    rng = np.random.default_rng(3)
    X, positive = rng.normal(size=(100, 30)), np.arange(100) % 3 == 0
    X[rng.random(X.shape) < 0.5] = 0.0
    parts = (np.arange(100) % 2).astype(np.int16)
    chunks = (
        chunks_in_memory(sp.csr_array(X))
        if sparse
        else ArrayChunks(X, chunk_bytes=5000)
    )
    gathered = GatheredMoments(chunks, positive, [Partition(parts, 2)])
    moments, expected = (
        training_moments(gathered, [0, 1], solver=True),
        class_moments(X, positive),
    )
    some, others = np.array([2, 7, 5]), np.array([5, 11])
    with pytest.raises(NotGathered) as asked:
        moments.block(some, others)
    with pytest.raises(NotGathered):
        moments.columns([3, 9])
    assert asked.value.source is gathered
    gathered.gather()
    assert chunks.n_passes == 2
    assert_allclose(
        moments.block(some, others), expected.block(some, others), atol=1e-13
    )
    assert_allclose(moments.columns([9, 3]), expected.columns([9, 3]), atol=1e-13)
    # The block grows by further columns.
    gathered.ask(block=[0, 2])
    gathered.gather()
    wider = np.array([0, 11, 2])
    assert_allclose(
        moments.block(wider, wider), expected.block(wider, wider), atol=1e-13
    )


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 8))
def test_loss_of_moments_is_that_of_rows(seed, d):
    rng = np.random.default_rng(seed)
    X, positive = rng.normal(size=(40, d)), np.arange(40) % 3 == 0
    w = rng.normal(size=d) * (rng.random(d) < 0.6)
    differences = X[positive][:, None, :] - X[~positive][None, :, :]
    expected = np.mean((1 - differences @ w) ** 2)
    for moments in (
        class_moments(X, positive),
        chunked_moments(chunks_in_memory(X), positive),
    ):
        assert moments.loss(w) == pytest.approx(expected, rel=1e-12)


# -------------------------------------------------------------------------------- homes


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 7)) * (rng.random((101, 7)) < 0.5)
    return X, np.where(rng.random(101) < 0.3, "ill", "well")


def columnar(table, **more):
    X, y = table
    return pa.table({f"g{j}": X[:, j] for j in range(7)} | {"y": y} | more)


def write(table, folder, kind):
    """Write the table in some form; give what is opened and how the target is named."""
    X, y = table
    if kind == "npy":
        np.save(folder / "X.npy", X)
        return folder / "X.npy", y
    if kind == "column-major npy":
        np.save(folder / "X.npy", np.asfortranarray(X))
        return str(folder / "X.npy"), y
    if kind == "parquet":
        pq.write_table(columnar(table), folder / "t.parquet", row_group_size=40)
        return folder / "t.parquet", "y"
    if kind == "feather":
        feather.write_feather(columnar(table), str(folder / "t.feather"), chunksize=30)
        return folder / "t.feather", "y"
    if kind == "arrow":
        with pa.OSFile(str(folder / "t.arrow"), "wb") as file:
            data = columnar(table)
            with pa.ipc.new_file(file, data.schema) as writer:
                writer.write_table(data, max_chunksize=25)
        return folder / "t.arrow", "y"
    if kind == "folder of parquet":
        for number, (low, high) in enumerate([(0, 50), (50, 50), (50, 101)]):
            pq.write_table(
                columnar(table).slice(low, high - low), folder / f"{number}.parquet"
            )
        return folder, "y"
    if kind == "dataset":
        return ds.dataset(columnar(table)), "y"
    if kind == "CSR arrays":
        matrix = sp.csr_array(X)
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"{name}.npy", getattr(matrix, name))
        np.save(folder / "shape.npy", np.array(X.shape))
        return folder, y
    assert kind == "sliced"
    return Sliced(X), y


class Sliced:
    """As much of an array as HDF5 and Zarr datasets have."""

    def __init__(self, X):
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self._X[rows]


KINDS = ["npy", "column-major npy", "parquet", "feather", "arrow", "folder of parquet", "dataset",
         "CSR arrays", "sliced"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_home_gives_the_rows_it_holds(table, tmp_path, kind):
    X, y = table
    source, target = write(table, tmp_path, kind)
    opened = open_table(source, target, chunk_bytes=1500)
    assert opened.shape == X.shape
    assert opened.dtype == np.float64
    assert_array_equal(opened.target(), y)
    assert_array_equal(rows_of(opened), X)
    assert_array_equal(rows_of(opened, np.array([1, 4])), X[:, [1, 4]])
    sizes = [chunk.shape[0] for chunk in opened.read()]
    assert sum(sizes) == 101
    assert max(sizes) < 101
    rows = np.array([0, 3, 57, 100])
    assert_array_equal(opened.take(rows, np.array([0, 5])), X[rows][:, [0, 5]])
    names = [f"g{j}" for j in range(7)] if isinstance(target, str) else None
    assert names is None or opened.feature_names.tolist() == names
    coef = np.array([0.0, 1.5, 0.0, -2.0, 0.0, 0.0, 0.0])
    assert_allclose(score_chunks(opened, coef), X @ coef, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_moments_of_every_home(table, tmp_path, kind):
    X, y = table
    source, _ = write(table, tmp_path, kind)
    opened = open_table(
        source, leave_out=["y"] if kind in KINDS[2:7] else [], chunk_bytes=1000
    )
    moments = class_moments(opened, y == "ill").summary()
    expected = class_moments(X, y == "ill").summary()
    assert_allclose(moments.columns(range(7)), expected.columns(range(7)), atol=1e-13)


def test_kinds_of_numbers(table, tmp_path):
    X, _ = table
    whole = pa.table({
        "count": np.arange(101), "flag": X[:, 0] > 0, "single": X[:, 1].astype(np.float32),
    })  # fmt: skip
    opened = open_table(ds.dataset(whole))
    assert opened.dtype == np.float64
    expected = [np.arange(101), X[:, 0] > 0, X[:, 1].astype(np.float32)]
    assert_array_equal(rows_of(opened), np.array(expected, dtype=np.float64).T)
    assert open_table(ds.dataset(whole.select(["single"]))).dtype == np.float32
    assert ArrayChunks(np.arange(6).reshape(3, 2)).dtype == np.float64


@pytest.mark.parametrize("column", ["g2", "flag"])
def test_nulls_are_named(table, column):
    flags = [None if row == 66 else row % 2 == 0 for row in range(101)]
    numbers = [None if row == 66 else float(row) for row in range(101)]
    data = columnar(table, flag=flags if column == "flag" else [True] * 101)
    if column == "g2":
        data = data.set_column(2, "g2", pa.array(numbers))
    opened = open_table(ds.dataset(data), "y", chunk_bytes=500)
    with pytest.raises(
        NotFiniteError,
        match=rf"NaN: first at row 66, column {2 if column == 'g2' else 7}",
    ):
        chunked_moments(opened, opened.target() == "ill")


def test_labels_that_are_missing_are_named(table):
    data = columnar(table, label=[None if row == 5 else 1 for row in range(101)])
    with pytest.raises(ValueError, match="column 'label' has no label at row 5"):
        open_table(ds.dataset(data), "label", leave_out=["y"]).target()


def test_what_cannot_be_opened_says_why(table, tmp_path):
    data = columnar(table)
    pq.write_table(data, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="column 'y' holds string, not numbers"):
        open_table(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="there is no column 'z'; there are 'g0'"):
        open_table(tmp_path / "t.parquet", "z")
    with pytest.raises(ValueError, match="name the column"):
        open_table(tmp_path / "t.parquet", table[1])
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_table(tmp_path / "absent.npy")
    (tmp_path / "t.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"read from \.npy"):
        open_table(tmp_path / "t.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds neither"):
        open_table(tmp_path / "empty")
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    with pytest.raises(ValueError, match="not numbers"):
        open_table(tmp_path / "text.npy")
    np.save(tmp_path / "flat.npy", np.zeros(3))
    with pytest.raises(ValueError, match="rows and columns"):
        open_table(tmp_path / "flat.npy")
    np.save(tmp_path / "X.npy", table[0])
    with pytest.raises(ValueError, match="no column names"):
        open_table(tmp_path / "X.npy", "y")
    with pytest.raises(ValueError, match="cannot read rows from dict"):
        open_table({})
    with pytest.raises(ValueError, match="open already"):
        open_table(open_table(tmp_path / "X.npy"))
    data, indices, indptr = csr_arrays(table[0])
    with pytest.raises(ValueError, match="indptr runs"):
        CSRChunks(data, indices, indptr + 1)
    with pytest.raises(ValueError, match="make no CSR matrix"):
        CSRChunks(data, indices[1:], indptr)


def test_tables_in_memory_are_no_chunks(table):
    X, y = table
    for in_memory in (X, sp.csr_array(X), X.tolist(), columnar(table)):
        assert as_chunks(in_memory, y) is None
    assert mapped_chunks(X) is None


# -------------------------------------------------------------------------- memory maps


def test_large_memory_maps_and_their_views_are_read_in_chunks(
    table, tmp_path, monkeypatch
):
    np.save(tmp_path / "X.npy", table[0])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert mapped_chunks(mapped) is None  # small enough to be treated as in memory
    monkeypatch.setattr("sparseauc.chunks._MAPPED", 0)
    for view in (mapped, np.asarray(mapped), mapped[10:90]):
        assert_array_equal(rows_of(mapped_chunks(view)), view)
    assert mapped_chunks(mapped[[1, 2]]) is None
    assert mapped_chunks(mapped[0]) is None


def test_pages_are_let_go_without_losing_what_was_written(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((4096, 64)))
    for mode in ("r+", "c"):
        X = np.load(tmp_path / "X.npy", mmap_mode=mode)
        X[:] = np.arange(X.size).reshape(X.shape)
        chunks = ArrayChunks(X, chunk_bytes=5 * mmap.PAGESIZE + 512)
        for _ in range(2):
            assert_array_equal(rows_of(chunks), np.arange(X.size).reshape(X.shape))


def test_pages_do_not_stay_resident(tmp_path):
    """Of a map of 64 MiB only a chunk or two are in memory at a time."""
    np.save(tmp_path / "X.npy", np.ones((2**14, 512)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    most = 0
    start = file_pages()
    for chunk in ArrayChunks(X, chunk_bytes=2**21).read():
        assert chunk.sum() == chunk.size
        most = max(most, file_pages() - start)
    assert most < 2**23


def file_pages():
    """Bytes of mapped files in this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return (
        int(next(line for line in lines if line.startswith("RssFile")).split()[1])
        * 1024
    )
