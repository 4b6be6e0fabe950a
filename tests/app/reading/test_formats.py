import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sparseauc_app.reading import DataError, read_source

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3)) * (RNG.random((6, 3)) < 0.7)
Y = np.array([0, 1, 0, 1, 1, 0])
FRAME = pa.table(
    {"a": X[:, 0].astype(np.float32), "b": ["x", None, "z", "x", "x", "z"], "y": Y}
)


def arrow_file(frame, path):
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, frame.schema) as file,
    ):
        file.write_table(frame)


def arrow_stream(frame, path):
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_stream(sink, frame.schema) as stream,
    ):
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.libsvm", b"1 7:1.5 9:2\n-1 7:2.5\n"),
        ("a.npz", b"PK\x03\x04"),
        ("y.npy", b"\x93NUMPY"),
        ("m.mtx.gz", b"\x1f\x8b"),
        ("m.txt", b"%%MatrixMarket matrix coordinate real general\n"),
        ("c.h5ad", b"\x89HDF\r\n"),
        ("c.h5", b"\x89HDF\r\n"),
    ],
)
def test_matrices_are_for_python(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="holds a matrix: load it with scipy"):
        read_source(tmp_path / name)
