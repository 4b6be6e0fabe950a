"""Times to event of rows that are read in chunks: equal to those of rows in memory."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from test_pairs import problems

from sparseauc import SparseConcordance, SparseConcordanceCV
from sparseauc.chunks import TableInMemory, open_table
from sparseauc.moments.chunked_pairs import gather_pairs
from sparseauc.moments.pairs import PairMoments
from sparseauc.survival import ComparablePairs, SurvivalTimes


@given(problems(), st.integers(1, 6), st.sampled_from(["rows", "sparse", "dask"]))
def test_gathered_pairs_are_those_in_memory(problem, held, kind):
    X, times, weight, strata, event_weight, weighting = problem
    n, d = X.shape
    sets = [
        ComparablePairs.from_times(
            times, weight * kept, strata, event_weight=event_weight, weighting=weighting
        )
        for kept in (np.ones(n), np.arange(n) % 3 != 0)
    ]
    if not all(pairs.total > 0 for pairs in sets):
        return
    if kind == "dask":
        table = open_table(da.from_array(X, chunks=(7, d)))
    elif kind == "sparse":
        table = TableInMemory(sp.csr_array(X))
    else:
        table = TableInMemory(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparseauc.moments.chunked_pairs._HELD_BYTES", 8 * n * 3 * held)
        gathered = gather_pairs(table, sets)
    groups = -(-d // held)
    # Columns of a table in memory are taken without a pass.
    assert table.n_passes == (3 * groups - 2 if kind == "dask" else groups - 1)
    every = np.arange(d)
    for pairs, found in zip(sets, gathered, strict=True):
        expected = PairMoments(X, pairs)
        for name in ("delta", "diagonal", "deviations", "magnitudes", "varies", "centre"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
        unit, size = expected.rounding()
        assert found.rounding()[0] == unit
        assert_allclose(found.rounding()[1], size, rtol=1e-12)
        bound = unit * np.outer(size, size)
        H = expected.block(every, every)
        assert (np.abs(found.block(every, every) - H) <= bound + 1e-300).all()
        assert_allclose(found.block(every[1:3], every), found.block(every, every)[1:3], rtol=0)


def make_table(n=300, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    time = np.ceil(20 * rng.exponential(np.exp(-X[:, 3] + X[:, 7])))
    return X, np.column_stack([rng.random(n) < 0.7, time])


@pytest.fixture
def little_memory(monkeypatch):
    """No table is brought into memory, and two columns of it fit at a time."""
    monkeypatch.setattr("sparseauc.estimators._sparse_concordance._MOST_BYTES", 0)
    monkeypatch.setattr("sparseauc.moments.chunked_pairs._HELD_BYTES", 8 * 300 * 2 * 7)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("weighted", [False, True])
def test_models_of_chunks_are_those_in_memory(tmp_path, weighted):
    X, y = make_table()
    rng = np.random.default_rng(1)
    more = {"sample_weight": rng.integers(1, 4, 300), "strata": rng.integers(0, 3, 300)}
    more = more if weighted else {}
    np.save(tmp_path / "table.npy", X)
    tables = [open_table(tmp_path / "table.npy"), da.from_array(X, chunks=(70, 12))]
    for model in (SparseConcordance(k=3), SparseConcordanceCV(log=False, clip=None, cv=3)):
        expected = type(model)(**model.get_params()).fit(X, y, **more)
        for table in tables:
            found = model.fit(table, y, **more)
            assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
            assert_allclose(found.intercept_, expected.intercept_, rtol=1e-9)
            assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    scores = np.array(
        [expected.cv_results_["mean_test_score"], found.cv_results_["mean_test_score"]]
    )
    assert_allclose(scores[1], scores[0], rtol=1e-12)
    assert_allclose(found.out_of_fold_scores_, expected.out_of_fold_scores_, rtol=1e-9)
    assert found.n_features_in_ == 12


@pytest.mark.usefixtures("little_memory")
def test_chunks_that_cannot_be_fitted_are_refused(monkeypatch):
    X, y = make_table()
    X[17, 5] = np.nan
    with pytest.raises(ValueError, match="row 17, column 5"):
        SparseConcordance(k=2).fit(da.from_array(X, chunks=(70, 12)), y)
    X[17, 5] = 0.0
    table = TableInMemory(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 300 and 299"):
        SparseConcordance(k=2).fit(table, y[:-1])
    monkeypatch.setattr("sparseauc.moments.chunked_pairs._MOST_BYTES", 8 * 12 * 12 - 1)
    with pytest.raises(ValueError, match="products of 12 columns in 1 training sets"):
        SparseConcordance(k=2).fit(table, y)


def test_certificates_of_chunks():
    X, y = make_table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparseauc.estimators._sparse_concordance._MOST_BYTES", 0)
        model = SparseConcordance(k=2).fit(TableInMemory(X), y).certify(TableInMemory(X), y)
    expected = SparseConcordance(k=2).fit(X, y).certify(X, y)
    assert model.certificate_status_ == expected.certificate_status_ == "optimal"
    assert_allclose(model.lower_bound_, expected.lower_bound_, rtol=1e-9)


def test_gathered_pairs_need_pairs():
    times = SurvivalTimes(np.ones(3), np.zeros(3, np.bool_))
    with pytest.raises(ValueError, match="no pair of rows"):
        gather_pairs(TableInMemory(np.ones((3, 2))), [ComparablePairs.from_times(times)])
