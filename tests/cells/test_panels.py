"""Marker panels: equal to the classifier type by type, whatever the storage; drawn by scanpy."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("anndata")

import anndata
import pandas as pd

from sparseauc import Limits, SharedListClassifier, SparseAUCClassifier, sparse_auc_path
from sparseauc.metrics import fast_auc
from sparseauc_cells import marker_panel, panels, reading, shared_panel
from sparseauc_cells.reading import folds_of

PLOTS = ["dotplot", "matrixplot", "heatmap", "tracksplot", "stacked_violin"]
TYPES = ["B", "NK", "T"]


def made(kind=np.asarray, n=150, d=30, seed=0, dtype=np.float64):
    """Cells of three types, the last of few cells; genes 3t … 3t + 2 are markers of type t."""
    rng = np.random.default_rng(seed)
    number = np.sort(rng.choice(3, n, p=[0.5, 0.1, 0.4]))
    counts = rng.poisson(0.6, (n, d))
    for t in range(3):
        counts[:, 3 * t : 3 * t + 3] += rng.poisson(2.0, (n, 3)) * (number == t)[:, None]
    counts[:, 9] = rng.poisson(3.0, n) * (number != 0)  # what type 0 lacks
    order = rng.permutation(n)
    obs = pd.DataFrame(
        {"type": pd.Categorical(np.array(TYPES)[number[order]])}, [f"cell{i}" for i in range(n)]
    )
    X = np.log1p(counts[order]).astype(dtype)
    return anndata.AnnData(kind(X), obs=obs, var=pd.DataFrame(index=[f"g{j}" for j in range(d)]))


def dense(adata):
    return np.asarray(adata.X.toarray() if sp.issparse(adata.X) else adata.X, np.float64)


def balanced(positive):
    return np.where(positive, 1.0 / positive.sum(), 1.0 / (~positive).sum())


def lower(X, positive):
    """Genes that are not higher in the type."""
    return np.flatnonzero(X[positive].mean(axis=0) <= X[~positive].mean(axis=0))


def candidates(X, positive, direction, k):
    """The gene of the highest AUC, and all genes but the ten, or 2k, of the highest.

    Of equals, those come first whose means differ most beside their deviations.
    """
    aucs = np.array([fast_auc(column, positive) for column in X.T])
    if direction == "up":
        aucs[lower(X, positive)] = -1
    else:
        aucs = np.abs(aucs - 0.5)
    type_, rest = X[positive], X[~positive]
    t = np.abs(type_.mean(axis=0) - rest.mean(axis=0))
    t /= np.sqrt(type_.var(axis=0) + rest.var(axis=0)) + 1e-300
    kept = np.lexsort((-t, -aucs))[: max(10, 2 * k)]
    kept = kept[aucs[kept] >= 0]
    return Limits(always_include=kept[:1], exclude=np.setdiff1d(np.arange(aucs.size), kept))


def coefficients(panels, adata, group):
    rows = panels[panels["group"] == group]
    coef = np.zeros(adata.n_vars)
    coef[adata.var_names.get_indexer(rows["gene"])] = rows["coefficient"]
    return coef


def assert_same(mine, theirs, **tolerance):
    assert mine["gene"].tolist() == theirs["gene"].tolist()
    assert mine["group"].tolist() == theirs["group"].tolist()
    for column in mine.select_dtypes("number"):
        assert_allclose(mine[column], theirs[column], err_msg=column, **tolerance)


# What a panel is


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "any"])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_panels_are_those_of_the_classifier(direction, alpha):
    adata = made()
    adata.obs.loc[adata.obs_names[::10], "type"] = np.nan
    with pytest.warns(UserWarning, match="15 of 150 cells have no value"):
        panels = marker_panel(adata, "type", k=4, alpha=alpha, direction=direction)
    labelled = adata.obs["type"].notna().to_numpy()
    X, y = dense(adata)[labelled], adata.obs["type"].to_numpy()[labelled]
    for name in TYPES:
        positive = y == name
        limits = candidates(X, positive, direction, 4)
        model = SparseAUCClassifier(k=4, alpha=alpha, limits=limits).fit(
            X, positive, sample_weight=balanced(positive)
        )
        assert_allclose(coefficients(panels, adata, name), model.coef_[0], rtol=1e-8, atol=1e-12)
        rows = panels[panels["group"] == name]
        standardised = rows["coefficient"] * model.scale_[adata.var_names.get_indexer(rows["gene"])]
        assert_allclose(rows["standardised"], standardised, rtol=1e-8)
        assert_array_equal(rows["n_cells"], positive.sum())


def test_contribution_is_what_the_loss_rises_by_without_the_gene():
    adata = made()
    panels = marker_panel(adata, "type", k=4, alpha=0.5, cv=None)
    X = dense(adata)
    for name in TYPES:
        positive = (adata.obs["type"] == name).to_numpy()
        rows = panels[panels["group"] == name]
        chosen = adata.var_names.get_indexer(rows["gene"])

        def loss(columns, positive=positive):
            path = sparse_auc_path(
                X[:, columns], positive, ks=[len(columns)], alphas=[0.5],
                sample_weight=balanced(positive),
            )  # fmt: skip
            return path.objectives[0, 0]

        without = [loss(np.delete(chosen, i)) for i in range(4)]
        assert_allclose(rows["contribution"], np.array(without) - loss(chosen), rtol=1e-7)
        assert (np.diff(rows["contribution"]) <= 0).all()
        assert rows["rank"].tolist() == [1, 2, 3, 4]


def test_auc_and_direction_are_those_of_the_gene_alone():
    adata = made()
    panels = marker_panel(adata, "type", k=4, direction="any")
    X = dense(adata)
    aucs = adata.uns["marker_panel"]["aucs"]
    for name in TYPES:
        positive = (adata.obs["type"] == name).to_numpy()
        rows = panels[panels["group"] == name]
        alone = np.array(
            [fast_auc(X[:, j], positive) for j in adata.var_names.get_indexer(rows["gene"])]
        )
        assert_allclose(aucs[name], alone)
        assert_allclose(rows["auc"], np.maximum(alone, 1 - alone))
        assert rows["direction"].tolist() == ["+" if auc > 0.5 else "-" for auc in alone]
    lacking = panels[(panels["group"] == "B") & (panels["gene"] == "g9")]
    assert lacking["direction"].tolist() == ["-"]


def test_up_takes_only_genes_that_are_higher_in_the_type():
    adata = made()
    up = marker_panel(adata, "type", k=4)
    assert (up["direction"] == "+").all()
    assert (up["log_fold_change"] > 0).all()
    assert "g9" not in up.loc[up["group"] == "B", "gene"].tolist()


@pytest.mark.parametrize("direction", ["up", "any"])
def test_panel_auc_is_that_of_cells_that_had_no_part_in_the_choice(direction):
    adata = made(n=100)
    rng = np.random.default_rng(1)
    adata.obs["donor"] = pd.Categorical(rng.choice(["a", "b", "c"], 100))
    marker_panel(adata, "type", k=3, alpha=1.0, cv="donor", direction=direction)
    found = adata.uns["marker_panel"]["panel_auc"]
    assert found.index.tolist() == TYPES
    assert found.columns.tolist() == ["1", "2", "3"]
    X = dense(adata)
    for name in TYPES:
        positive = (adata.obs["type"] == name).to_numpy()
        correct, pairs = np.zeros(3), 0
        for donor in "abc":
            test = (adata.obs["donor"] == donor).to_numpy()
            path = sparse_auc_path(
                X[~test], positive[~test], ks=[1, 2, 3], sample_weight=balanced(positive[~test]),
                limits=candidates(X[~test], positive[~test], direction, 3),
            )  # fmt: skip
            weight = positive[test].sum() * (~positive[test]).sum()
            scores = [X[test] @ path.coef(k, 1.0) for k in (1, 2, 3)]
            correct += weight * np.array([fast_auc(score, positive[test]) for score in scores])
            pairs += weight
        assert_allclose(found.loc[name], correct / pairs, rtol=1e-12)


def test_the_ridge_is_the_one_of_the_highest_auc_on_cells_left_out():
    adata = made(n=100)
    adata.obs["donor"] = pd.Categorical(np.random.default_rng(1).choice(["a", "b", "c"], 100))
    panels = marker_panel(adata, "type", k=3, cv="donor")
    chosen = dict(zip(TYPES, adata.uns["marker_panel"]["alphas"], strict=True))
    assert set(chosen.values()) == {1.0, 10.0}
    fixed, tables = {}, {}
    for alpha in (1.0, 10.0):
        fixed[alpha] = marker_panel(adata, "type", k=3, alpha=alpha, cv="donor")
        tables[alpha] = adata.uns["marker_panel"]["panel_auc"]
    for name in TYPES:
        alpha = chosen[name]
        assert tables[alpha].loc[name, "3"] == max(
            table.loc[name, "3"] for table in tables.values()
        )
        mine, theirs = (table[table["group"] == name] for table in (panels, fixed[alpha]))
        assert_same(mine.drop(columns="panel_auc"), theirs.drop(columns="panel_auc"), rtol=1e-9)


def test_a_fold_is_judged_with_the_ridge_that_the_others_choose():
    aucs = np.zeros((3, 2, 1))
    aucs[:, 0, 0] = 0.9, 0.7, 0.7
    aucs[:, 1, 0] = 0.5, 0.8, 0.8
    at, judged = panels._choose_ridge(aucs, np.array([2.0, 1.0, 1.0]))
    # 1.8 + 0.7 + 0.7 against 1.0 + 0.8 + 0.8; without the first fold the second ridge is better.
    assert at == 0
    assert_allclose(judged, [(2 * 0.5 + 0.7 + 0.7) / 4])


def test_folds_hold_a_share_of_every_type_and_follow_the_seed():
    adata = made(n=103)
    label = adata.obs["type"].cat.codes.to_numpy().astype(np.int64)
    label[:5] = -1
    fold, n_folds = folds_of(adata, label, 5, 0)
    assert n_folds == 5
    for part in [*(label == t for t in range(3)), label >= 0]:
        sizes = np.bincount(fold[part], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    again, _ = folds_of(adata, label, 5, 0)
    other, _ = folds_of(adata, label, 5, 1)
    assert_array_equal(fold, again)
    assert (fold != other).any()


def test_a_type_in_one_fold_only_has_a_panel_but_no_auc():
    adata = made()
    adata.obs["donor"] = pd.Categorical(np.where(adata.obs["type"] == "NK", "a", "b"))
    adata.obs.loc[adata.obs["type"] == "T", "donor"] = np.where(
        np.arange((adata.obs["type"] == "T").sum()) % 2, "a", "b"
    )
    with pytest.warns(UserWarning, match="no AUC on cells left out for 'B', 'NK'"):
        panels = marker_panel(adata, "type", k=2, cv="donor")
    known = panels.groupby("group", observed=True)["panel_auc"].first()
    assert known.isna().tolist() == [True, True, False]


def test_without_cv_there_is_no_panel_auc_and_the_panels_are_the_same():
    adata = made()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without = marker_panel(adata, "type", k=3, cv=None)
    assert adata.uns["marker_panel"]["alphas"].tolist() == [1.0, 1.0, 1.0]
    assert without["panel_auc"].isna().all()
    assert_same(
        without.drop(columns="panel_auc"),
        marker_panel(adata, "type", k=3, alpha=1.0, random_state=5).drop(columns="panel_auc"),
        rtol=1e-9,
    )


def test_chosen_groups_are_told_from_all_other_cells():
    adata = made()
    every = marker_panel(adata, "type", k=3)
    some = marker_panel(adata, "type", k=3, groups=["T", "B"], key_added="some")
    assert some["group"].cat.categories.tolist() == ["T", "B"]
    assert adata.uns["some"]["names"].dtype.names == ("T", "B")
    for name in ("T", "B"):
        mine, theirs = (table[table["group"] == name] for table in (some, every))
        assert_same(mine, theirs, rtol=1e-12)


# Where the table lies


@pytest.mark.parametrize(
    "kind", [np.asfortranarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array]
)
def test_storage_does_not_matter(kind):
    assert_same(marker_panel(made(kind), "type", k=4), marker_panel(made(), "type", k=4), rtol=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_float32(kind):
    single = made(kind, dtype=np.float32)
    double = made(kind)
    double.X = single.X.astype(np.float64)
    assert_same(marker_panel(single, "type"), marker_panel(double, "type"), rtol=1e-7)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_whole_numbers_are_taken_as_they_are(kind):
    counts = made()
    counts.X = kind(np.rint(np.expm1(counts.X)).astype(np.int64))
    floats = counts.copy()
    floats.X = counts.X.astype(np.float64)
    assert_same(marker_panel(counts, "type"), marker_panel(floats, "type"), rtol=1e-12)


def test_layers_and_raw():
    adata = made(sp.csr_matrix)
    expected = marker_panel(adata, "type", k=3)
    other = made(seed=1)
    other.layers["log"] = adata.X
    other.obs["type"] = adata.obs["type"]
    assert_same(marker_panel(other, "type", k=3, layer="log"), expected, rtol=1e-12)
    assert other.uns["marker_panel"]["params"]["layer"] == "log"
    other.raw = adata
    assert_same(marker_panel(other, "type", k=3), expected, rtol=1e-12)
    assert other.uns["marker_panel"]["params"]["use_raw"] is True
    from_x = marker_panel(other, "type", k=3, use_raw=False)
    assert from_x["coefficient"].tolist() != expected["coefficient"].tolist()
    assert other.uns["marker_panel"]["params"]["use_raw"] is False


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("raw", [False, True])
def test_backed_files(kind, raw, tmp_path, monkeypatch):
    adata = made(kind)
    expected = marker_panel(adata, "type", k=3)
    if raw:
        adata.raw = adata.copy()
        adata = adata[:, :5].copy()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    monkeypatch.setattr(reading, "_LEAST_ROWS", 16)
    monkeypatch.setattr(reading, "_DENSE_CHUNK", 0)
    monkeypatch.setattr(reading, "_SPARSE_CHUNK", 0)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        panels = marker_panel(backed, "type", k=3)
    by_gene = [str(w.message) for w in said if "gene by gene" in str(w.message)]
    assert len(by_gene) == (kind is sp.csc_matrix)
    assert_same(panels, expected, rtol=1e-8)
    backed.file.close()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_file_is_read_in_chunks(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    n, d = 3000, 500
    X = rng.random((n, d)) * (rng.random((n, d)) < (0.3 if kind is sp.csr_matrix else 1.0))
    obs = pd.DataFrame({"type": pd.Categorical(rng.choice(TYPES, n))}, map(str, range(n)))
    table = kind(X)
    size = table.data.nbytes + (table.indices.nbytes if kind is sp.csr_matrix else 0)
    anndata.AnnData(table, obs=obs).write_h5ad(tmp_path / "cells.h5ad")
    del X, table
    monkeypatch.setattr(reading, "_DENSE_CHUNK", 2**17)
    monkeypatch.setattr(reading, "_SPARSE_CHUNK", 2**18)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    marker_panel(backed, "type", k=1, cv=None)  # kernels are compiled, modules loaded
    tracemalloc.start()
    marker_panel(backed, "type", k=1, cv=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    backed.file.close()
    assert peak < size


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_the_table_is_not_changed(kind):
    adata = made(kind)
    if kind is sp.csr_matrix:
        # Entries out of order and stored twice, as some files have them.
        X = adata.X
        adata.X = sp.csr_matrix(
            (np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), X.indptr * 2), X.shape
        )
    before = adata.X.copy()
    panels = marker_panel(adata, "type", k=3)
    if kind is sp.csr_matrix:
        assert_array_equal(adata.X.indices, before.indices)
        assert_array_equal(adata.X.data, before.data)
    else:
        assert_array_equal(adata.X, before)
    assert_same(panels, marker_panel(made(), "type", k=3), rtol=1e-8)


@pytest.mark.parametrize("column", ["text", "flag", "numbers"])
def test_labels_that_are_no_categories_of_text(column):
    adata = made()
    text = adata.obs["type"].astype(str)
    adata.obs["text"] = text.to_numpy(object)
    adata.obs["flag"] = (text == "NK").to_numpy()
    adata.obs["numbers"] = text.map({"B": 1, "NK": 2, "T": 3}).astype("category")
    expected = marker_panel(adata, "type", k=2)
    panels = marker_panel(adata, column, k=2)
    name = {"text": "NK", "flag": "True", "numbers": "2"}[column]
    mine = panels.loc[panels["group"] == name, "gene"].tolist()
    assert mine == expected.loc[expected["group"] == "NK", "gene"].tolist()


# What scanpy makes of it


@pytest.fixture(scope="module")
def scanpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc = pytest.importorskip("scanpy")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    return sc


@pytest.fixture(scope="module")
def pbmc(scanpy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata = scanpy.datasets.pbmc68k_reduced()
    marker_panel(adata, "bulk_labels", k=3)
    return adata


@pytest.mark.slow
def test_layout_and_univariate_values_are_scanpys(scanpy):
    adata = made(sp.csr_matrix, dtype=np.float32)
    marker_panel(adata, "type", k=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.rank_genes_groups(
            adata, "type", method="wilcoxon", tie_correct=True, corr_method="bonferroni",
            key_added="wilcoxon",
        )  # fmt: skip
    mine, theirs = adata.uns["marker_panel"], adata.uns["wilcoxon"]
    assert set(theirs) <= set(mine)
    assert set(theirs["params"]) <= set(mine["params"])
    for field in ("names", "scores", "logfoldchanges", "pvals", "pvals_adj"):
        assert isinstance(mine[field], np.recarray)
        assert mine[field].dtype == theirs[field].dtype
    # The same numbers for the same genes: of each gene alone.
    for name in mine["names"].dtype.names:
        place = pd.Index(theirs["names"][name]).get_indexer(mine["names"][name])
        for field in ("logfoldchanges", "pvals", "pvals_adj"):
            assert_allclose(mine[field][name], theirs[field][name][place], rtol=1e-4, err_msg=field)


def test_table_of_scanpy(scanpy, pbmc):
    table = scanpy.get.rank_genes_groups_df(pbmc, None, key="marker_panel")
    assert len(table) == 30
    nk = scanpy.get.rank_genes_groups_df(pbmc, "CD56+ NK", key="marker_panel", pval_cutoff=1e-3)
    assert set(nk["names"]) == set(pbmc.uns["marker_panel"]["names"]["CD56+ NK"])


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_scanpy_draws_panels(plot, scanpy):
    import matplotlib.pyplot as plt

    adata = made()
    marker_panel(adata, "type", k=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(scanpy.pl, f"rank_genes_groups_{plot}")(adata, key="marker_panel", show=False)
    figure = plt.gcf()
    figure.canvas.draw()
    drawn = {text.get_text() for axes in figure.axes for text in axes.get_xticklabels()}
    drawn |= {text.get_text() for axes in figure.axes for text in axes.get_yticklabels()}
    drawn |= {axes.get_ylabel() for axes in figure.axes}
    for name in TYPES:
        assert drawn >= set(adata.uns["marker_panel"]["names"][name])
    plt.close("all")


def test_scanpy_draws_scores(scanpy, pbmc):
    import matplotlib.pyplot as plt

    axes = scanpy.pl.rank_genes_groups(pbmc, key="marker_panel", n_genes=3, show=False)
    assert len(axes) == 10
    for one, name in zip(axes, pbmc.uns["marker_panel"]["names"].dtype.names, strict=True):
        shown = [text.get_text() for text in one.texts]
        assert shown == pbmc.uns["marker_panel"]["names"][name].tolist()
    plt.close("all")


def test_panels_survive_a_file(pbmc, tmp_path):
    pbmc.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["marker_panel"]
    assert again["names"].tolist() == pbmc.uns["marker_panel"]["names"].tolist()
    assert_array_equal(again["scores"].tolist(), pbmc.uns["marker_panel"]["scores"].tolist())
    pd.testing.assert_frame_equal(again["panel_auc"], pbmc.uns["marker_panel"]["panel_auc"])


def test_short_panels_are_filled_up_where_scanpy_wants_k(scanpy, tmp_path):
    import matplotlib.pyplot as plt

    adata = made()[:, :4].copy()
    with pytest.warns(UserWarning, match=r"fewer than 4 genes for 'B \(3\)', 'NK \(1\)'"):
        panels = marker_panel(adata, "type", k=4)
    stored = adata.uns["marker_panel"]
    for name in TYPES:
        rows = panels[panels["group"] == name]
        assert len(rows) < 4
        assert stored["names"][name].tolist()[: len(rows)] == rows["gene"].tolist()
        assert sorted(stored["names"][name]) == ["g0", "g1", "g2", "g3"]
        assert_array_equal(stored["coefficients"][name][len(rows) :], 0.0)
        assert_array_equal(stored["scores"][name][len(rows) :], 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.pl.rank_genes_groups_dotplot(adata, key="marker_panel", show=False)
    plt.close("all")
    adata.write_h5ad(tmp_path / "cells.h5ad")


def test_fold_changes_of_other_logarithms_and_of_scaled_values():
    adata = made()
    natural = marker_panel(adata, "type", k=2)["log_fold_change"]
    adata.X = adata.X / np.log(2)
    adata.uns["log1p"] = {"base": 2}
    assert_allclose(marker_panel(adata, "type", k=2)["log_fold_change"], natural, rtol=1e-6)
    adata.X = adata.X - adata.X.mean(axis=0)
    assert marker_panel(adata, "type", k=2)["log_fold_change"].isna().all()


# Real cells


def test_rare_cells_of_a_gastrula(load_csr, data_folder):
    X, y = load_csr("gastrula_cells")
    with np.load(data_folder / "gastrula_cells.npz") as file:
        genes = file["feature_id"]
    obs = pd.DataFrame({"type": pd.Categorical(y)}, map(str, range(y.size)))
    adata = anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=genes))
    panels = marker_panel(adata, "type", k=3, groups=["PGC", "Erythroblasts"])
    assert panels["n_cells"].unique().tolist() == [7, 32]
    assert (panels["panel_auc"] > 0.95).all()
    alphas = adata.uns["marker_panel"]["alphas"]
    for name, alpha in zip(("PGC", "Erythroblasts"), alphas, strict=True):
        positive = y == name
        dense = X.toarray().astype(np.float64)
        path = sparse_auc_path(
            dense, positive, ks=[1, 2, 3], alphas=[1.0, 10.0], sample_weight=balanced(positive),
            limits=candidates(dense, positive, "up", 3),
        )  # fmt: skip
        coef = path.coef(3, alpha)
        assert_allclose(coefficients(panels, adata, name), coef, rtol=1e-6, atol=1e-9)


# Bad input, and strange


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 25),
    st.integers(1, 6),
    st.integers(1, 8),
    st.sampled_from([np.asarray, sp.csr_matrix]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from(["up", "any"]),
)
def test_small_and_degenerate_tables(seed, n, d, k, kind, alpha, direction):
    rng = np.random.default_rng(seed)
    X = np.rint(rng.normal(1.0, 1.0, (n, d))) * (rng.random(d) < 0.8)
    obs = pd.DataFrame({"type": rng.choice(["a", "b", "c"], n)}, map(str, range(n)))
    obs.iloc[:2, 0] = "a", "b"
    adata = anndata.AnnData(kind(X), obs=obs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        panels = marker_panel(
            adata, "type", k=k, min_cells=1, cv=3, alpha=alpha, direction=direction
        )
    assert np.isfinite(
        panels.select_dtypes("number").drop(columns=["panel_auc", "log_fold_change"])
    ).all(axis=None)
    assert (panels["contribution"] > 0).all()
    if direction == "up":
        for name, rows in panels.groupby("group", observed=True):
            positive = (obs["type"] == name).to_numpy()
            assert not np.isin(rows["gene"].astype(int), lower(X, positive)).any()
    stored = adata.uns["marker_panel"]
    assert stored["names"].shape == (min(k, d),)
    aucs = stored["panel_auc"].to_numpy()
    assert ((aucs >= 0) & (aucs <= 1) | np.isnan(aucs)).all()


def test_types_of_few_cells_get_no_panel():
    adata = made()
    adata.obs["type"] = adata.obs["type"].cat.add_categories(["none", "one"])
    adata.obs.iloc[0, 0] = "one"
    with pytest.warns(UserWarning, match="no panel for 'one': fewer than min_cells=3 cells"):
        panels = marker_panel(adata, "type", k=2)
    assert panels["group"].unique().tolist() == TYPES
    with pytest.raises(ValueError, match="'one' has 1 cells, fewer than min_cells=3"):
        marker_panel(adata, "type", groups=["one"])
    with pytest.raises(ValueError, match=r"'none', of which .* has no cells"):
        marker_panel(adata, "type", groups=["none"])
    with pytest.warns(UserWarning, match="no AUC on cells left out for 'one'"):
        single = marker_panel(adata, "type", k=2, groups=["one"], min_cells=1)
    assert single["n_cells"].unique().tolist() == [1]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_values_that_are_not_finite_are_named(kind, value, shown):
    adata = made()
    adata.X[7, 3] = value
    adata.X = kind(adata.X)
    with pytest.raises(ValueError, match=f"gene 'g3' is {shown} in cell 'cell7'"):
        marker_panel(adata, "type")


def with_duplicates():
    adata = made()
    adata.var_names = ["g0", "twice", "twice", *adata.var_names[3:]]
    return adata


def one_type():
    return made()[made().obs["type"] == "B"].copy()


def with_column(values):
    adata = made()
    adata.obs["type"] = values
    return adata


@pytest.mark.parametrize(
    ("adata", "given", "message"),
    [
        (made, {"groupby": "kind"}, "groupby='kind' is no column of adata.obs; there is 'type'"),
        (made, {"layer": "counts"}, "layer 'counts' is not in adata.layers; there is none"),
        (made, {"use_raw": True}, "adata.raw is empty"),
        (made, {"groups": "B"}, 'groups must be "all" or a list of types'),
        (made, {"groups": ["B", "X"]}, "groups names 'X'"),
        (made, {"groups": []}, "groups is empty"),
        (made, {"k": 0}, "k must be a whole number of 1 or more, got 0"),
        (made, {"k": 2.0}, "k must be a whole number"),
        (made, {"alpha": -1.0}, "alpha must be a finite number of 0 or more, got -1.0"),
        (made, {"alpha": np.nan}, "alpha must be a finite number"),
        (made, {"cv": 1}, "cv must be a whole number of 2 or more"),
        (made, {"cv": "donor"}, "cv='donor' is no column of adata.obs"),
        (made, {"min_cells": 0}, "min_cells must be a whole number of 1 or more"),
        (made, {"min_cells": 1000}, r"no type of adata.obs\['type'\] has 1000 cells"),
        (made, {"direction": "down"}, 'direction must be "up" or "any"'),
        (with_duplicates, {}, "gene 'twice' occurs more than once in adata.var_names"),
        (one_type, {}, "has one type only, 'B'"),
        (lambda: with_column(np.nan), {}, "holds numbers"),
        (lambda: with_column(np.arange(150)), {}, "holds numbers; if they stand for groups"),
        (lambda: with_column([None] * 150), {}, "has no values"),
        (lambda: with_column(["B", ""] * 75), {}, "a category without a name"),
        (lambda: with_column(pd.Categorical(["1", 1] * 75)), {}, "'1' twice"),
        (lambda: made()[:0].copy(), {}, "no cells or no genes"),
        (lambda: made()[:, :0].copy(), {}, "no cells or no genes"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_bad_input_is_named(adata, given, message):
    with pytest.raises(ValueError, match=message):
        marker_panel(adata(), **{"groupby": "type", **given})


def test_layer_and_raw_contradict_each_other():
    adata = made()
    adata.layers["log"] = adata.X
    adata.raw = adata
    with pytest.raises(ValueError, match="contradict"):
        marker_panel(adata, "type", layer="log", use_raw=True)


def test_folds_must_cover_the_cells():
    adata = made()
    adata.obs["donor"] = pd.Categorical(["a", "b", None] * 50)
    with pytest.raises(ValueError, match=r"'donor'\] has no value for cell 'cell2'"):
        marker_panel(adata, "type", cv="donor")
    adata.obs["donor"] = "a"
    with pytest.raises(ValueError, match="one value only, 'a'"):
        marker_panel(adata, "type", cv="donor")


def test_nothing_but_anndata_is_taken():
    with pytest.raises(TypeError, match="must be an AnnData, got ndarray"):
        marker_panel(np.eye(3), "type")


def test_more_genes_than_there_are():
    adata = made()[:, :4].copy()
    with pytest.warns(UserWarning, match="k=9 is more than the 4 genes there are"):
        marker_panel(adata, "type", k=9, direction="any")
    assert adata.uns["marker_panel"]["names"].shape == (4,)


def test_an_error_leaves_an_earlier_result_in_place():
    adata = made()
    marker_panel(adata, "type", k=2)
    before = adata.uns["marker_panel"]
    with pytest.raises(ValueError, match="groups names"):
        marker_panel(adata, "type", groups=["X"])
    assert adata.uns["marker_panel"] is before


# One panel for all types


def with_more_types(kind=np.asarray):
    adata = made(kind, n=240, d=40)
    adata.obs["kind"] = adata.obs["type"].astype(str)
    adata.obs.loc[adata.obs_names[:3], "kind"] = np.nan
    adata.obs.loc[adata.obs_names[3:5], "kind"] = "rare"
    return adata


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_one_panel_for_all_types(kind):
    adata = with_more_types(kind)
    with pytest.warns(UserWarning, match="no value"), pytest.warns(UserWarning, match="'rare'"):
        panel = shared_panel(adata, "kind", k=6, limits=Limits(always_include=["g20"]))
    assert len(panel) == 6
    assert panel["given"].sum() == 1
    markers = panel[~panel["given"]]
    # Genes 3t … 3t + 2 are markers of type t; what type 0 lacks is gene 9.
    numbers = markers["gene"].str[1:].astype(int)
    assert numbers.max() <= 9
    assert set(markers["group"]) == set(TYPES)
    assert set(adata.var_names[adata.var["shared_panel"]]) == set(panel["gene"])
    assert adata.uns["shared_panel"]["params"]["limits"] == {"always_include": ["g20"]}


def test_a_shared_panel_is_that_of_the_classifier(tmp_path):
    adata = made(sp.csr_matrix)
    panel = shared_panel(adata, "type", k=4, alpha=1.0)
    model = SharedListClassifier(k=4, alpha=1.0).fit(adata.X, adata.obs["type"])
    assert panel["gene"].tolist() == adata.var_names[model.order_].tolist()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    from_file = shared_panel(backed, "type", k=4, alpha=1.0)
    pd.testing.assert_frame_equal(from_file, panel)


def test_genes_of_a_shared_panel_must_exist():
    with pytest.raises(ValueError, match="always_include names 'g99', which is no column"):
        shared_panel(made(), "type", k=3, limits=Limits(always_include=["g99"]))
