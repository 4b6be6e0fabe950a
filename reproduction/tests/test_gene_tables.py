"""The gene tables against the real files (where present) and damaged ones."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from sparseauc_paper.gene_tables import DATASETS, genes
from sparseauc_paper.marker_genes import Marker, markers_of

SHAPES = {"colon": (62, 2000), "leukemia": (72, 7129)}
POSITIVES = {"colon": 40, "leukemia": 47}
# Markers, columns of the corrected and of the published reading.
MARKER_COUNTS = {"colon": (29, 39, 38), "leukemia": (32, 48, 37)}
DIGESTS = {"colon": "933fa76a1ad743f4", "leukemia": "e630206289bea1dc"}


@pytest.fixture
def real_data():
    """Path of a file of the real data; skips where it is absent."""

    def find(filename):
        home = os.environ.get("SPARSEAUC_DATA")
        if not home:
            pytest.skip(
                f"SPARSEAUC_DATA is not set, so there is no {filename} to test with"
            )
        path = Path(home) / filename
        if not path.exists():
            pytest.skip(f"SPARSEAUC_DATA has no {filename}")
        return path

    return find


@pytest.fixture
def leukemia(real_data):
    """Path of the real leukaemia table, found before the folder of a test is set."""
    return real_data("leukemia.npz")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of the data that is empty at first."""
    monkeypatch.setenv("SPARSEAUC_DATA", str(tmp_path))
    genes.cache_clear()
    yield tmp_path
    genes.cache_clear()


def save(home, name, **changes):
    """Write a made-up file with some arrays replaced."""
    n, d = SHAPES[name]
    X = np.random.default_rng(0).integers(-500, 500, (n, d)) * np.arange(1.0, d + 1)
    y = np.where(np.arange(n) < POSITIVES[name], 1, -1).astype(np.int8)
    np.savez(home / f"{name}.npz", **({"X": X, "y": y} | changes))


# ---------------------------------------------------------------- the real files


@pytest.mark.parametrize("name", DATASETS)
def test_real_table(name, real_data):
    path = real_data(f"{name}.npz")
    genes.cache_clear()
    data = genes(name)
    assert data.X.shape == SHAPES[name]
    assert data.positive.sum() == POSITIVES[name]
    # That which the stored results were computed on.
    assert data.fingerprint == DIGESTS[name]
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(data.X, archive["X"])
        np.testing.assert_array_equal(data.positive, archive["y"] > 0)


@pytest.mark.parametrize("reading", ["corrected", "published"])
@pytest.mark.parametrize("name", DATASETS)
def test_marker_tables_match_the_reference(name, reading, real_data):
    expected = {}
    with real_data(f"{name}_markers.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            columns = expected.setdefault((int(row["marker_id"]), row["marker"]), [])
            if row[reading] == "1":
                columns.append(int(row["column"]))
    found = {(m.marker_id, m.name): list(m.columns) for m in markers_of(name, reading)}
    if (name, reading) == ("leukemia", "corrected"):
        # The reference has no more than one probe of most genes; the next test has the
        # others.
        assert found.keys() == expected.keys()
        assert all(set(expected[marker]) <= set(found[marker]) for marker in found)
    else:
        assert found == expected


def test_every_probe_of_the_same_description_is_a_marker(real_data):
    """A column described in the words of a marker's column measures the same gene."""
    with np.load(real_data("leukemia.npz"), allow_pickle=False) as archive:
        descriptions = archive["description"].tolist()
    counted = {
        c for marker in markers_of("leukemia", "corrected") for c in marker.columns
    }
    described = {descriptions[column] for column in counted} - {""}
    same = {j for j, text in enumerate(descriptions) if text in described}
    assert same <= counted, sorted(same - counted)
    # The corrections, read off the table itself.
    assert "KIAA0220" in descriptions[5506]
    assert "Small Rna-Associated" in descriptions[1027]
    with np.load(real_data("colon.npz"), allow_pickle=False) as archive:
        assert "EIF-4A HOMOLOG" in archive["description"][628]


@pytest.mark.parametrize("name", DATASETS)
def test_marker_tables(name, home):
    save(home, name)
    n_markers, n_corrected, n_published = MARKER_COUNTS[name]
    for reading, n_columns in (("corrected", n_corrected), ("published", n_published)):
        markers = markers_of(name, reading)
        assert [m.marker_id for m in markers] == list(range(1, n_markers + 1))
        columns = [c for m in markers for c in m.columns]
        assert len(columns) == len(set(columns)) == n_columns
        assert max(columns) < SHAPES[name][1]
        np.testing.assert_array_equal(genes(name).markers[reading], sorted(columns))
    assert markers_of("leukemia", "published")[10] == Marker(11, "KIAA0220", ())


# ---------------------------------------------------------------- what is no good


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((62, 3))}, r"X has shape \(62, 3\), expected \(62, 2000\)"),
        ({"X": np.full((62, 2000), np.nan)}, "X is not finite at row 0, column 0"),
        ({"y": np.ones(62)}, r"62 labels \+1 and 0 labels -1, expected 40 and 22"),
        ({"y": np.ones(3)}, "3 labels"),
        ({"X": np.array(["text"])}, "could not convert"),
    ],
)
def test_another_table_is_refused(changes, message, home):
    save(home, "colon", **changes)
    with pytest.raises(
        ValueError, match=f"colon.npz is not a usable copy .* {message}"
    ):
        genes("colon")


def test_a_copy_scaled_over_all_rows_is_refused(home):
    X = np.random.default_rng(0).standard_normal((62, 2000))
    save(home, "colon", X=(X - X.mean(axis=0)) / X.std(axis=0))
    with pytest.raises(ValueError, match="test rows would leak"):
        genes("colon")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04"])
def test_unusable_files(content, home):
    (home / "leukemia.npz").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"leukemia.npz is not a usable copy of the leukemia data"
    ):
        genes("leukemia")


def test_random_damage_never_escapes_as_another_error(home):
    save(home, "colon")
    path = home / "colon.npz"
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(content[: rng.integers(1, len(content))])
        for at in rng.integers(0, len(damaged), 30):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="not a usable copy"):
            genes("colon")


# ---------------------------------------------------------------- files that are not
# there


def test_colon_without_a_file(home):
    with pytest.raises(
        FileNotFoundError, match=r"there is no .*colon.npz, with raw intensities"
    ):
        genes("colon")


def served(X, y):
    labels = np.where(y > 0, "ALL", "AML").astype(object)
    return lambda *_, **__: Bunch(data=X, target=labels)


def test_openml_rows_are_put_in_the_original_order_and_kept(
    leukemia, home, monkeypatch
):
    with np.load(leukemia, allow_pickle=False) as archive:
        X, y = archive["X"], archive["y"]
    order = np.random.default_rng(0).permutation(72)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", served(X[order], y[order]))
    for _ in range(2):
        data = genes("leukemia")
        np.testing.assert_array_equal(data.X, X)
        np.testing.assert_array_equal(data.positive, y > 0)
        genes.cache_clear()
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", None)  # it was kept


def test_openml_copy_of_other_numbers_is_refused(leukemia, home, monkeypatch):
    with np.load(leukemia, allow_pickle=False) as archive:
        X, y = archive["X"] + 1.0, archive["y"]
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", served(X, y))
    with pytest.raises(OSError, match="its numbers are not those of Golub"):
        genes("leukemia")
    assert not (home / "leukemia.npz").exists()


def test_offline(home, monkeypatch):
    def refused(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refused)
    with pytest.raises(OSError, match="OpenML's leukemia cannot be had: no network"):
        genes("leukemia")
