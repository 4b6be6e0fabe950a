import gzip
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from sparseauc_app.reading import DataError, read_source

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3)) * (RNG.random((6, 3)) < 0.7)
Y = np.array([0, 1, 0, 1, 1, 0])
FRAME = pa.table({"a": X[:, 0].astype(np.float32), "b": ["x", None, "z", "x", "x", "z"], "y": Y})


def arrow_file(frame, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, frame.schema) as file:
        file.write_table(frame)


def arrow_stream(frame, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, frame.schema) as stream:
        stream.write_table(frame)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.parquet", pq.write_table),
        ("t.pq", pq.write_table),
        ("t.feather", pyarrow.feather.write_feather),
        ("t.arrow", arrow_file),
        ("t.ipc", arrow_stream),
        # Known by their first bytes, whatever they are called.
        ("t.csv", pq.write_table),
        ("t.data", arrow_file),
    ],
)
def test_columns_come_back_with_their_types(tmp_path, name, write):
    write(FRAME, tmp_path / name)
    assert read_source(tmp_path / name).frame.equals(FRAME)


def test_index_of_a_data_frame_names_rows(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"])
    for name, index in [("plain", None), ("named", "who")]:
        frame.rename_axis(index).to_parquet(tmp_path / f"{name}.parquet")
        source = read_source(tmp_path / f"{name}.parquet")
        assert source.frame.column_names == ["a"]
        assert source.row_ids.tolist() == ["p", "q"]
    frame.reset_index(drop=True).to_parquet(tmp_path / "range.parquet")
    assert read_source(tmp_path / "range.parquet").row_ids is None


@pytest.mark.parametrize("zero_based", [True, False])
def test_libsvm(tmp_path, zero_based):
    path = tmp_path / "rows.libsvm"
    dump_svmlight_file(X, Y, str(path), zero_based=zero_based)
    source = read_source(path)
    first = 0 if zero_based else 1
    assert source.matrix_columns.tolist() == [str(j + first) for j in range(3)]
    np.testing.assert_allclose(source.matrix.toarray(), X)
    assert source.target.tolist() == Y.tolist()
    assert source.absent_is_zero


def test_libsvm_with_a_huge_column_number_takes_no_memory(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 7:1.5 2000000000:2\n-1 7:2.5\n")
    source = read_source(path)
    assert source.matrix_columns.tolist() == ["7", "2000000000"]
    assert source.matrix.toarray().tolist() == [[1.5, 2.0], [2.5, 0.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, bool])
def test_npz_of_a_dense_matrix(tmp_path, dtype):
    given = X.astype(dtype)
    np.savez(tmp_path / "a.npz", X=given, y=Y, columns=["p", "q", "r"], other=1 - Y)
    source = read_source(tmp_path / "a.npz")
    assert source.matrix.dtype == (dtype if dtype in (np.float32, np.float64) else np.float64)
    np.testing.assert_array_equal(source.matrix, given)
    assert source.matrix_columns.tolist() == ["p", "q", "r"]
    assert source.target.tolist() == Y.tolist()
    assert read_source(tmp_path / "a.npz", target="other").target.tolist() == (1 - Y).tolist()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_npz_of_a_sparse_matrix(tmp_path, kind):
    sp.save_npz(tmp_path / "a.npz", kind(X.astype(np.float32)))
    source = read_source(tmp_path / "a.npz")
    assert source.matrix.format == "csr"
    assert source.matrix.dtype == np.float32
    np.testing.assert_array_equal(source.matrix.toarray(), X.astype(np.float32))
    assert source.matrix_columns.tolist() == ["0", "1", "2"]
    assert source.target is None


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"Z": X}, "holds 'Z': it needs X"),
        ({"X": X[0]}, "1 dimensions"),
        ({"X": X.astype(str)}, "needs real numbers"),
        ({"X": X, "y": Y[:3]}, "'y' has shape"),
        ({"X": X[:0]}, "0 rows"),
        ({"X": np.array([[{}]], dtype=object)}, "allow_pickle"),
        (
            {"data": [1.0], "indices": [5], "indptr": [0, 1], "shape": [1, 2]},
            "could not be read as npz",
        ),
    ],
)
def test_npz_that_holds_something_else(tmp_path, arrays, says):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=says):
        read_source(tmp_path / "a.npz")


@pytest.mark.parametrize("matrix", [X, sp.coo_array(X)])
def test_matrix_market(tmp_path, matrix):
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix)
    source = read_source(tmp_path / "m.mtx")
    found = source.matrix.toarray() if sp.issparse(source.matrix) else source.matrix
    np.testing.assert_allclose(found, X)
    assert source.matrix_columns.tolist() == ["1", "2", "3"]


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("numbers", ["real", "integer", "pattern"])
def test_matrix_market_as_scipy_reads_it(tmp_path, symmetry, numbers):
    square = np.rint(3 * RNG.normal(size=(5, 5)))
    square = square + (-1) ** (symmetry == "skew-symmetric") * square.T
    if numbers == "real":
        square = square / 7
    if numbers == "pattern" and symmetry == "skew-symmetric":
        return  # there is no such thing
    path = tmp_path / "m.mtx"
    matrix = sp.coo_array(square.astype(int) if numbers == "integer" else square)
    scipy.io.mmwrite(path, matrix, comment="a\nb", field=numbers, symmetry=symmetry)
    expected = scipy.io.mmread(path).toarray()
    np.testing.assert_array_equal(read_source(path).matrix.toarray(), expected)
    compressed = tmp_path / "m.mtx.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read_source(compressed).matrix.toarray(), expected)


@pytest.mark.parametrize(
    ("sizes", "body"),
    [("3 3 2", "1 1 1.5"), ("3 3 1", "1 4 1.5"), ("3 3 1", "0 1 1.5"), ("3 3 1", "1 1 x"),
     ("3 3", "1 1 1.5"), ("3 3 1", ""), ("-3 3 1", "1 1 1")],
)  # fmt: skip
def test_matrix_market_that_is_not(tmp_path, sizes, body):
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{sizes}\n{body}\n")
    with pytest.raises(DataError):
        read_source(path)


def test_matrix_market_that_claims_too_much(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n4000000000 2 1\n1 1 1.0\n")
    with pytest.raises(DataError, match="claims 4000000000"):
        read_source(path)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_h5ad(tmp_path, make):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame(
        {"type": pd.Categorical(["b", "a", "b", "a", "a", "b"])}, index=[f"c{i}" for i in range(6)]
    )
    var = pd.DataFrame(index=["g1", "g2", "g3"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.AnnData(make(X.astype(np.float32)), obs=obs, var=var).write_h5ad(
            tmp_path / "c.h5ad"
        )
    source = read_source(tmp_path / "c.h5ad")
    found = source.matrix.toarray() if sp.issparse(source.matrix) else source.matrix
    np.testing.assert_array_equal(found, X.astype(np.float32))
    assert source.matrix_columns.tolist() == ["g1", "g2", "g3"]
    assert source.row_ids.tolist() == obs.index.tolist()
    assert source.frame.column("type").to_pylist() == obs["type"].tolist()
