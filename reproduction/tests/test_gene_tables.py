"""The loaders against the real files (where present), damaged ones, and a local web server."""

import bz2
import contextlib
import csv
import os
import re
import socket
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from sparseauc_paper import gene_tables as real
from sparseauc_paper.gene_tables import get_data_home, load_colon, load_leukemia
from sparseauc_paper.marker_genes import Marker, markers_of

LOADERS = {"colon": load_colon, "leukemia": load_leukemia}
SHAPES = {"colon": (62, 2000), "leukemia": (72, 7129)}
POSITIVES = {"colon": 40, "leukemia": 47}
# Markers, columns of the corrected and of the published reading.
MARKER_COUNTS = {"colon": (29, 39, 38), "leukemia": (32, 48, 37)}


@pytest.fixture
def real_data():
    """Path of a file of the real data; skips where it is absent."""

    def find(filename):
        home = os.environ.get("SPARSEAUC_DATA")
        if not home:
            pytest.skip(f"SPARSEAUC_DATA is not set, so there is no {filename} to test with")
        path = Path(home) / filename
        if not path.exists():
            pytest.skip(f"SPARSEAUC_DATA has no {filename}")
        return path

    return find


def made_up(name):
    """Arrays of the right shape, names and counts for `name`, with random numbers."""
    n, d = SHAPES[name]
    y = np.full(n, -1, dtype=np.int8)
    y[: POSITIVES[name]] = 1
    return {
        "X": np.random.default_rng(0).integers(-500, 500, (n, d)).astype(np.float64),
        "y": y,
        "feature_id": np.array([f"id{j}" for j in range(d)]),
        "description": np.full(d, "some gene"),
    }


def save(home, name, **changes):
    """Write a made-up file with some arrays replaced, or left out where given as None."""
    arrays = {key: a for key, a in (made_up(name) | changes).items() if a is not None}
    path = Path(home) / f"{name}.npz"
    np.savez(path, **arrays)
    return path


# ---------------------------------------------------------------- the real files


@pytest.mark.parametrize("name", LOADERS)
def test_real_table(name, real_data):
    path = real_data(f"{name}.npz")
    data = LOADERS[name](path.parent, download=False)
    assert data.data.shape == SHAPES[name]
    assert data.data.dtype == np.float64
    assert data.target.dtype == np.int64
    assert int(np.sum(data.target == 1)) == POSITIVES[name]
    assert int(np.sum(data.target == -1)) == SHAPES[name][0] - POSITIVES[name]
    assert len(set(data.feature_names)) == len(data.descriptions) == SHAPES[name][1]
    assert data.scale == "raw intensities"
    assert data.scale in data.DESCR
    assert data.filename == str(path)
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(data.data, archive["X"])
        np.testing.assert_array_equal(data.target, archive["y"])
        assert data.feature_names == archive["feature_id"].tolist()


def test_real_ranges_and_split(real_data):
    colon = load_colon(real_data("colon.npz").parent)
    leukemia = load_leukemia(real_data("leukemia.npz").parent)
    assert 5.8 < colon.data.min() < 5.9
    assert (leukemia.data.min(), leukemia.data.max()) == (-28400, 71369)
    train = leukemia.original_split == "train"
    # Golub's training set: 27 ALL and 11 AML; test set: 20 and 14.
    assert (int(np.sum(train)), int(np.sum(leukemia.target[train] == 1))) == (38, 27)
    assert set(leukemia.original_split[~train]) == {"test"}
    assert int(np.sum(leukemia.target[~train] == 1)) == 20
    assert "original_split" not in colon


@pytest.mark.parametrize("reading", ["corrected", "published"])
@pytest.mark.parametrize("name", LOADERS)
def test_marker_tables_match_the_reference(name, reading, real_data):
    expected = {}
    with real_data(f"{name}_markers.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            columns = expected.setdefault((int(row["marker_id"]), row["marker"]), [])
            if row[reading] == "1":
                columns.append(int(row["column"]))
    found = {(m.marker_id, m.name): list(m.columns) for m in markers_of(name, reading)}
    if (name, reading) == ("leukemia", "corrected"):
        # The reference has no more than one probe of most genes; the next test has the others.
        assert found.keys() == expected.keys()
        assert all(set(expected[marker]) <= set(found[marker]) for marker in found)
    else:
        assert found == expected


def test_every_probe_of_the_same_description_is_a_marker(real_data):
    """A column described in the words of a marker's column measures the same gene."""
    for name, load in LOADERS.items():
        data = load(real_data(f"{name}.npz").parent)
        counted = set(data.marker_columns.tolist())
        described = {data.descriptions[column] for column in counted} - {""}
        same = {j for j, text in enumerate(data.descriptions) if text in described}
        assert name == "colon" or same <= counted, sorted(same - counted)


def test_marker_columns_measure_what_they_are_named_for(real_data):
    leukemia = load_leukemia(real_data("leukemia.npz").parent)
    colon = load_colon(real_data("colon.npz").parent)
    # The three corrections, read off the tables themselves.
    assert "KIAA0220" in leukemia.descriptions[5506]
    assert "Small Rna-Associated" in leukemia.descriptions[1027]
    assert "EIF-4A HOMOLOG" in colon.descriptions[628]


def test_openml_rows_are_put_in_the_original_order(real_data, tmp_path, monkeypatch):
    original = load_leukemia(real_data("leukemia.npz").parent)
    order = np.random.default_rng(0).permutation(72)
    labels = np.where(original.target == 1, "ALL", "AML").astype(object)
    served = Bunch(
        data=original.data[order],
        target=labels[order],
        feature_names=[f"attribute{j}" for j in range(7129)],
    )
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: served)
    data = load_leukemia(tmp_path)
    np.testing.assert_array_equal(data.data, original.data)
    np.testing.assert_array_equal(data.target, original.target)
    np.testing.assert_array_equal(data.original_split, original.original_split)


def test_openml_copy_of_other_numbers_is_refused(real_data, tmp_path, monkeypatch):
    original = load_leukemia(real_data("leukemia.npz").parent)
    changed = original.data.copy()
    changed[40, 3000] += 1
    served = Bunch(
        data=changed,
        target=np.where(original.target == 1, "ALL", "AML").astype(object),
        feature_names=original.feature_names,
    )
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: served)
    with pytest.raises(OSError, match=r"numbers are not those of Golub et al\."):
        load_leukemia(tmp_path)
    assert list(tmp_path.iterdir()) == []


def standardised(X, axis):
    return (X - X.mean(axis, keepdims=True)) / X.std(axis, keepdims=True)


def test_the_copy_of_colon_is_known_by_its_numbers(real_data):
    original = load_colon(real_data("colon.npz").parent)
    rng = np.random.default_rng(0)
    logs = np.log10(original.data)
    copies = [standardised(standardised(logs, 1), 0), standardised(standardised(logs, 0), 1)]
    for copy in copies:
        real._verify_colon({"X": np.round(copy, 5), "y": original.target})
    X = copies[0]
    for other, y in (
        (rng.normal(size=X.shape), original.target),
        (X[:, rng.permutation(2000)], original.target),
        (X[::-1], original.target),
        (X, original.target[::-1]),
    ):
        with pytest.raises(ValueError, match="not those of Alon"):
            real._verify_colon({"X": other, "y": y})


# ---------------------------------------------------------------- what needs no real data


@pytest.mark.parametrize("name", LOADERS)
def test_marker_tables(name):
    n_markers, n_corrected, n_published = MARKER_COUNTS[name]
    for reading, n_columns in (("corrected", n_corrected), ("published", n_published)):
        markers = markers_of(name, reading)
        assert [m.marker_id for m in markers] == list(range(1, n_markers + 1))
        columns = [c for m in markers for c in m.columns]
        assert len(columns) == len(set(columns)) == n_columns
        assert max(columns) < SHAPES[name][1]
    assert markers_of("leukemia", "published")[10] == Marker(11, "KIAA0220", ())


@pytest.mark.parametrize("reading", ["corrected", "published"])
@pytest.mark.parametrize("name", LOADERS)
def test_bunch_carries_the_markers(name, reading, tmp_path):
    save(tmp_path, name)
    data = LOADERS[name](tmp_path, markers=reading)
    assert data.markers == markers_of(name, reading)
    assert data.marker_columns.dtype == np.int64
    assert np.all(np.diff(data.marker_columns) > 0)
    assert set(data.marker_columns.tolist()) == {c for m in data.markers for c in m.columns}


@pytest.mark.parametrize("name", LOADERS)
def test_unknown_reading(name, tmp_path):
    with pytest.raises(ValueError, match="markers must be 'corrected' or 'published', got 'mine'"):
        LOADERS[name](tmp_path, markers="mine")


@pytest.mark.parametrize("name", LOADERS)
def test_return_X_y_and_as_frame(name, tmp_path):
    pd = pytest.importorskip("pandas")
    save(tmp_path, name)
    bunch = LOADERS[name](tmp_path)
    assert bunch.frame is None
    assert list(bunch.target_names) == (["normal", "tumour"] if name == "colon" else ["AML", "ALL"])
    X, y = LOADERS[name](tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)
    X, y = LOADERS[name](tmp_path, return_X_y=True, as_frame=True)
    assert list(X.columns) == bunch.feature_names
    assert isinstance(y, pd.Series)
    np.testing.assert_array_equal(X.to_numpy(), bunch.data)
    framed = LOADERS[name](tmp_path, as_frame=True)
    assert framed.frame.shape == (SHAPES[name][0], SHAPES[name][1] + 1)
    assert framed.frame.columns[-1] == "target"


def test_data_home_order(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "me"))
    monkeypatch.setenv("SPARSEAUC_DATA", str(tmp_path / "env"))
    assert get_data_home(tmp_path) == tmp_path
    assert get_data_home("~/here") == tmp_path / "me" / "here"
    assert get_data_home() == tmp_path / "env"
    monkeypatch.setenv("SPARSEAUC_DATA", "")
    assert get_data_home() == tmp_path / "me" / ".cache" / "sparseauc"
    monkeypatch.delenv("SPARSEAUC_DATA")
    assert get_data_home() == tmp_path / "me" / ".cache" / "sparseauc"


def test_environment_variable_is_used(tmp_path, monkeypatch):
    path = save(tmp_path, "colon")
    monkeypatch.setenv("SPARSEAUC_DATA", str(tmp_path))
    assert load_colon(download=False).filename == str(path)


@pytest.mark.parametrize("name", LOADERS)
def test_absent_file_without_download(name, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        LOADERS[name](tmp_path, download=False)
    for part in (f"{name}.npz", str(tmp_path), "SPARSEAUC_DATA", "download=True"):
        assert part in str(caught.value)


# ---------------------------------------------------------------- damaged files


def broken(**changes):
    return lambda home: save(home, "leukemia", **changes)


def truncated(home):
    path = save(home, "leukemia")
    path.write_bytes(path.read_bytes()[:100_000])


def damaged_in_the_middle(home):
    path = save(home, "leukemia")
    content = bytearray(path.read_bytes())
    content[200_000:200_100] = bytes(100)
    path.write_bytes(content)


def written(content):
    return lambda home: (home / "leukemia.npz").write_bytes(content)


def a_bare_array(home):
    with (home / "leukemia.npz").open("wb") as file:
        np.save(file, np.zeros(3))


N, D = SHAPES["leukemia"]
WITH_NAN = made_up("leukemia")["X"].copy()
WITH_NAN[3, 5] = np.nan
REPEATED = made_up("leukemia")["feature_id"].copy()
REPEATED[1] = REPEATED[0]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncated, "it is cut short"),
        (damaged_in_the_middle, "CRC"),
        (written(b""), "no npz archive at all"),
        (written(b"<html>Not found</html>"), "no npz archive at all"),
        (a_bare_array, "no npz archive at all"),
        (broken(feature_id=None), "array 'feature_id' is missing"),
        (broken(X=None), "array 'X' is missing"),
        (broken(X=np.zeros((N, 3))), "array 'X' has shape (72, 3), expected (72, 7129)"),
        (broken(y=np.ones(3)), "array 'y' has shape (3,), expected (72,)"),
        (broken(description=np.array("x")), "array 'description' has shape ()"),
        (broken(original_split=np.array(["train"])), "array 'original_split' has shape (1,)"),
        (broken(X=np.full((N, D), "1")), "array 'X' has type <U1, expected numbers"),
        (broken(X=WITH_NAN), "array 'X' is not finite at row 3, column 5"),
        (broken(y=-made_up("leukemia")["y"]), "has 25 labels +1 and 47 labels -1, expected 47"),
        (broken(y=np.zeros(N)), "has 0 labels +1 and 0 labels -1"),
        (broken(feature_id=REPEATED), "names 'id0' more than once"),
        (broken(X=np.full((N, D), None)), "allow_pickle"),
    ],
)
def test_unusable_file(damage, reason, tmp_path):
    damage(tmp_path)
    path = tmp_path / "leukemia.npz"
    with pytest.raises(ValueError, match=re.escape(reason)) as caught:
        load_leukemia(tmp_path)
    assert str(path) in str(caught.value)
    assert "Delete it" in str(caught.value)


def test_random_damage_never_escapes_as_another_error(tmp_path):
    path = save(tmp_path, "colon")
    sound, rng = path.read_bytes(), np.random.default_rng(0)
    # Headers and directory of a zip lie at its ends: aim there, where the odd errors come from.
    ends = np.r_[0:300, len(sound) - 400 : len(sound)]
    for _ in range(60):
        content = bytearray(sound)
        for position in rng.choice(ends, size=4):
            content[position] = rng.integers(256)
        path.write_bytes(content)
        with contextlib.suppress(ValueError):  # harmless bytes may well be hit
            load_colon(tmp_path, download=False)


# ---------------------------------------------------------------- the download of colon


def libsvm_file(y):
    """Labels and rows in LIBSVM's format, 1-based, some values left out as zeros."""
    X = np.round(np.random.default_rng(1).standard_normal((62, 2000)), 6)
    X[np.abs(X) < 0.01] = 0.0
    lines = [
        f"{label:+d} " + " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row) if v != 0)
        for label, row in zip(y, X, strict=True)
    ]
    return X, bz2.compress("\n".join([*lines, ""]).encode())


@pytest.fixture
def serve(monkeypatch):
    """Serve bytes (or a bare status) as colon-cancer.bz2 from this machine; yields the requests."""
    with contextlib.ExitStack() as stack:

        def start(content, status=200, announced=None):
            requests = []

            class Handler(BaseHTTPRequestHandler):
                def do_GET(self):
                    requests.append(self.path)
                    self.send_response(status)
                    self.send_header("Content-Length", str(announced or len(content)))
                    self.end_headers()
                    self.wfile.write(content)

                def log_message(self, *args):
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            stack.callback(server.server_close)
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            url = f"http://127.0.0.1:{server.server_address[1]}/binary/"
            monkeypatch.setattr(real, "LIBSVM_URL", url)
            # What the test serves stands for the real table.
            sums = real._signed_sums(libsvm_file(LIBSVM_LABELS)[0])
            labels = "".join("-" if label > 0 else "+" for label in LIBSVM_LABELS)
            monkeypatch.setattr(real, "_COLON_SUMS", sums)
            monkeypatch.setattr(real, "_COLON_LABELS", labels)
            return requests

        yield start


# LIBSVM's sign: 40 tumours are -1 there.
LIBSVM_LABELS = np.where(np.arange(62) % 3 == 1, 1, -1)
LIBSVM_LABELS[-1] = LIBSVM_LABELS[-3] = 1


def test_colon_download(serve, tmp_path):
    assert int(np.sum(LIBSVM_LABELS == 1)) == 22
    X, content = libsvm_file(LIBSVM_LABELS)
    requests = serve(content)
    home = tmp_path / "new" / "folder"
    first = load_colon(home)
    np.testing.assert_array_equal(first.data, X)
    np.testing.assert_array_equal(first.target, -LIBSVM_LABELS)
    assert first.feature_names[:2] == ["column_0", "column_1"]
    assert len(set(first.feature_names)) == 2000
    assert set(first.descriptions) == {""}
    assert "log-transformed" in first.scale
    assert first.scale in first.DESCR
    assert requests == ["/binary/colon-cancer.bz2"]

    # The second time it comes from the file, the same in every respect.
    second = load_colon(home, download=False)
    assert len(requests) == 1
    np.testing.assert_array_equal(second.data, first.data)
    np.testing.assert_array_equal(second.target, first.target)
    assert second.scale == first.scale
    assert second.DESCR == first.DESCR
    assert [p.name for p in home.iterdir()] == ["colon.npz"]


def test_download_that_cannot_be_kept_is_still_returned(serve, tmp_path):
    serve(libsvm_file(LIBSVM_LABELS)[1])
    not_a_folder = tmp_path / "file"
    not_a_folder.write_text("in the way")
    with pytest.warns(UserWarning, match="could not be kept as") as caught:
        data = load_colon(not_a_folder)
    assert caught[0].filename == __file__
    assert data.data.shape == (62, 2000)


def assert_download_fails(home, cause):
    with pytest.raises(OSError, match=re.escape(cause)) as caught:
        load_colon(home)
    for part in ("colon.npz", str(home), "SPARSEAUC_DATA", "LIBSVM", "failed"):
        assert part in str(caught.value)
    assert caught.value.__cause__ is not None
    assert list(home.iterdir()) == []  # nothing half-written is left behind


def test_download_not_found(serve, tmp_path):
    serve(b"gone", status=404)
    assert_download_fails(tmp_path, "404")


def test_download_truncated_archive(serve, tmp_path):
    content = libsvm_file(LIBSVM_LABELS)[1]
    serve(content[: len(content) // 2])
    assert_download_fails(tmp_path, "Compressed data ended before")


def test_download_broken_off(serve, tmp_path):
    content = libsvm_file(LIBSVM_LABELS)[1]
    serve(content[:1000], announced=len(content))
    assert_download_fails(tmp_path, "IncompleteRead")


@pytest.mark.slow
def test_download_of_something_else(serve, tmp_path):
    serve(b"<html>Welcome to the hotel network</html>")
    assert_download_fails(tmp_path, "Invalid data stream")
    serve(bz2.compress(b""))
    assert_download_fails(tmp_path, "expected")
    serve(bz2.compress(b"1 2001:3.5\n"))
    assert_download_fails(tmp_path, "2001")
    serve(bz2.compress(b"1 1:0.5\n-1 2:0.5\n"))
    assert_download_fails(tmp_path, "array 'X' has shape (2, 2000), expected (62, 2000)")


def test_download_whose_labels_are_no_longer_inverted(serve, tmp_path):
    serve(libsvm_file(-LIBSVM_LABELS)[1])
    assert_download_fails(tmp_path, "22 labels +1 and 40 labels -1, expected 40 (tumour)")


def test_download_connection_refused(tmp_path, monkeypatch):
    with socket.socket() as reserved:  # bound but not listening: nobody else can answer there
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(real, "LIBSVM_URL", url)
        assert_download_fails(tmp_path, "refused")


@pytest.mark.slow
def test_download_of_other_numbers_or_labels(serve, tmp_path, monkeypatch):
    serve(libsvm_file(LIBSVM_LABELS[::-1])[1])
    assert_download_fails(tmp_path, "not those of Alon")
    serve(libsvm_file(LIBSVM_LABELS)[1])
    monkeypatch.setattr(real, "_COLON_SUMS", np.arange(62.0))
    assert_download_fails(tmp_path, "not those of Alon")


def test_download_of_too_much(serve, tmp_path, monkeypatch):
    content = libsvm_file(LIBSVM_LABELS)[1]
    monkeypatch.setattr(real, "_MOST_BYTES", len(content) - 1)
    serve(content)
    assert_download_fails(tmp_path, "it has more than")
    serve(bz2.compress(bytes(10 * len(content))))
    assert_download_fails(tmp_path, "unpacked it has more than")


def test_default_address_is_secure():
    assert real.LIBSVM_URL.startswith("https://")
    follow = real._SafeRedirects().redirect_request
    request = urllib.request.Request(real.LIBSVM_URL)
    assert follow(request, None, 302, "", {}, "https://elsewhere.org/a").full_url.endswith("/a")
    for address in ("http://elsewhere.org/a", "file:///etc/passwd", "ftp://elsewhere.org/a"):
        with pytest.raises(URLError, match="not secure"):
            follow(request, None, 302, "", {}, address)


def test_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space left"):
        real._write(tmp_path / "colon.npz", {"X": np.zeros(3)})
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- the download of leukemia


def served_by_openml(**changes):
    """What fetch_openml returns with as_frame=False: float data, labels as objects."""
    arrays = made_up("leukemia")
    bunch = Bunch(
        data=arrays["X"],
        target=np.where(arrays["y"] == 1, "ALL", "AML").astype(object),
        feature_names=arrays["feature_id"].tolist(),
    )
    bunch.update(changes)
    return bunch


def test_leukemia_download(tmp_path, monkeypatch):
    served = served_by_openml()
    calls = []

    def fetch(*args, **kwargs):
        calls.append((args, kwargs))
        return served

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setattr(real, "_golub_order", lambda X: np.arange(72))
    first = load_leukemia(tmp_path)
    assert calls[0][0] == ("leukemia",)
    assert calls[0][1]["version"] == 1
    np.testing.assert_array_equal(first.data, served.data)
    np.testing.assert_array_equal(first.target, np.where(served.target == "ALL", 1, -1))
    assert first.feature_names == served.feature_names
    assert first.scale == "raw intensities"
    second = load_leukemia(tmp_path)
    assert len(calls) == 1
    np.testing.assert_array_equal(second.data, first.data)


def test_leukemia_download_of_other_numbers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: served_by_openml())
    with pytest.raises(OSError, match="its numbers are not those of Golub"):
        load_leukemia(tmp_path)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"target": np.full(72, "MLL", dtype=object)}, "the labels should be 'ALL' and 'AML'"),
        ({"target": None}, "the labels should be"),
        ({"data": np.zeros((72, 5))}, "the table has shape (72, 5), expected (72, 7129)"),
    ],
)
def test_leukemia_download_of_something_else(changes, cause, tmp_path, monkeypatch):
    served = served_by_openml(**changes)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: served)
    with pytest.raises(OSError, match=re.escape(cause)):
        load_leukemia(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [URLError("Name or service not known"), ValueError("No known dataset")]
)
def test_leukemia_offline(error, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(OSError, match="OpenML") as caught:
        load_leukemia(tmp_path)
    for part in ("leukemia.npz", str(tmp_path), "SPARSEAUC_DATA", str(error)):
        assert part in str(caught.value)
    assert caught.value.__cause__ is error
