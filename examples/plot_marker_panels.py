"""
Marker panels of cell types
===========================

A few genes that together identify a cell type: for choosing antibodies or probes, or for naming
clusters. :func:`sparseauc_cells.marker_panel` chooses them jointly. This example draws its panels
with scanpy and compares them with the top genes of Wilcoxon's test.
"""

# %%
# Panels, and scanpy's plot of them
# ---------------------------------
#
# 700 blood cells that come with scanpy, of ten types; the rarest has 8 cells. Expression is
# normalised and logarithmised.

import os
import warnings
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold

from sparseauc import SparseAUCClassifier
from sparseauc.metrics import auc
from sparseauc_cells import marker_panel

warnings.filterwarnings("ignore", module="anndata|scanpy")
sc.settings.verbosity = 0

bundled = sc.datasets.pbmc68k_reduced()
blood = anndata.AnnData(
    bundled.raw.X, obs=bundled.obs, var=pd.DataFrame(index=bundled.var_names), obsm=bundled.obsm
)
panels = marker_panel(blood, "bulk_labels", k=3)
panels.round(3).head(9)

# %%
# ``auc`` is that of each gene alone, ``panel_auc`` the cross-validated AUC of all three. The
# result is stored like scanpy's rankings, so scanpy draws it:

sc.pl.rank_genes_groups_dotplot(blood, key="marker_panel", show=False)
plt.show()


# %%
# Against Wilcoxon's ranking
# --------------------------
#
# Both choose their genes within four fifths of the cells, fit the same linear score, and are
# evaluated on the last fifth. The folds are a column of ``obs``, so that both use the same.

KS = (1, 2, 3, 5)


def add_folds(adata, groupby):
    """Name the fifth of the cells that each cell belongs to in ``obs["fold"]``."""
    fold = np.empty(adata.n_obs, dtype="U1")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for number, (_, test) in enumerate(folds.split(adata.X, adata.obs[groupby])):
        fold[test] = str(number)
    adata.obs["fold"] = pd.Categorical(fold)


def wilcoxon_auc(adata, groupby):
    """AUC, on cells left out, of each type from the k genes that Wilcoxon's test ranks first."""
    types = adata.obs[groupby].cat.categories
    correct = pd.DataFrame(0.0, types, [str(k) for k in KS])
    pairs = pd.Series(0.0, types)
    for fold in adata.obs["fold"].cat.categories:
        test = (adata.obs["fold"] == fold).to_numpy()
        train = adata[~test].copy()
        sc.tl.rank_genes_groups(train, groupby, method="wilcoxon", n_genes=max(KS))
        for name in types:
            genes = adata.var_names.get_indexer(train.uns["rank_genes_groups"]["names"][name])
            values = adata.X[:, genes].toarray()
            y = (adata.obs[groupby] == name).to_numpy()
            n_pairs = y[test].sum() * (~y[test]).sum()
            pairs[name] += n_pairs
            # Both sides of a comparison count alike, as they do in marker_panel.
            weight = np.where(y, 1 / y[~test].sum(), 1 / (~y[~test]).sum())[~test]
            for k in KS:
                model = SparseAUCClassifier(k=k).fit(values[~test, :k], y[~test], weight)
                score = model.decision_function(values[test, :k])
                correct.loc[name, str(k)] += n_pairs * auc(y[test], score)
    return correct.div(pairs, axis=0)


def compare(adata, groupby):
    """AUC of each type for every k, by Wilcoxon's ranking and by panels."""
    add_folds(adata, groupby)
    marker_panel(adata, groupby, k=max(KS), cv="fold", key_added="compared")
    panel_auc = adata.uns["compared"]["panel_auc"][[str(k) for k in KS]]
    table = pd.concat(
        {"Wilcoxon": wilcoxon_auc(adata, groupby), "panel": panel_auc}, axis=1, names=["by", "k"]
    )
    table = table.swaplevel(axis=1)[[(str(k), by) for k in KS for by in ("Wilcoxon", "panel")]]
    cells = adata.obs[groupby].value_counts()
    table.index = [f"{name} ({cells[name]})" for name in table.index]
    return table.iloc[np.argsort([cells[name] for name in panel_auc.index], kind="stable")]


def draw(table, title):
    """One line for each type, the rarest at the bottom, from the one AUC to the other."""
    fig, axes = plt.subplots(
        1, len(KS), sharey=True, sharex=True, figsize=(10, 1.2 + 0.28 * len(table)),
        layout="constrained",
    )  # fmt: skip
    y = np.arange(len(table))
    for ax, k in zip(axes, KS, strict=True):
        theirs, ours = table[str(k)]["Wilcoxon"], table[str(k)]["panel"]
        ax.hlines(y, theirs, ours, color="0.75", zorder=1)
        ax.scatter(theirs, y, marker="D", s=22, color="#D55E00", label="Wilcoxon's first k")
        ax.scatter(ours, y, s=30, color="#0072B2", label="marker_panel")
        ax.set(title=f"k = {k}", xlabel="AUC, cells left out")
        ax.grid(axis="x", color="0.92")
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(y, table.index)
    fig.suptitle(title)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


on_blood = compare(blood, "bulk_labels")
draw(on_blood, "Blood: cell types (cells)")
plt.show()

# %%
# In numbers, with the mean over the types below:

with_mean = pd.concat([on_blood, on_blood.mean().to_frame("mean").T])
with_mean.round(3)


# %%
# Cells of a gastrula
# -------------------
#
# 1195 cells of 18 types by 2917 genes, drawn where ``SPARSEAUC_DATA`` names the folder with the
# file.

path = Path(os.environ.get("SPARSEAUC_DATA", "")) / "gastrula_cells.npz"
if path.exists():
    with np.load(path) as file:
        X = sp.csr_matrix((file["data"], file["indices"], file["indptr"]), file["shape"])
        obs = pd.DataFrame({"type": pd.Categorical(file["y"])}, map(str, range(X.shape[0])))
        gastrula = anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=file["feature_id"]))
    on_gastrula = compare(gastrula, "type")
    draw(on_gastrula, "Gastrula: cell types (cells)")
    plt.show()
    print(on_gastrula.mean().unstack("by").loc[[str(k) for k in KS]].round(3))
else:
    print("gastrula_cells.npz is not here")

# %%
# What came out
# -------------
#
# A panel begins with the gene of the highest AUC, which is also the first of Wilcoxon's ranking:
# its statistic *is* the AUC of a gene. So with one gene both are equal. With two and three genes
# they are level, and with five panels are slightly ahead. Single types differ more than the means,
# in both directions: try both, and compare them on cells left out, as above.
# ``benchmarks/marker_panels.py`` has the results of several repeats.
