"""AUC of cell types on cells left out: marker panels against the top of Wilcoxon's ranking.

Repeated 5-fold. Within the training folds the first k genes of ``scanpy.tl.rank_genes_groups`` (the
highest Wilcoxon scores) are taken, or the k genes of ``marker_panel``, which chooses its ridge on
folds within the training folds. Wilcoxon's are weighted by the linear score of least pairwise
squared loss, with a ridge of 1. Seeds start at 1000: the defaults were settled on other folds of
the same cells, by the seeds 0 to 2, where about 60 settings were tried.
"""

from common import report  # isort: skip

import os
import sys
import warnings
from functools import partial
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import scanpy as sc
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold

from sparseauc import SparseAUCClassifier
from sparseauc.metrics import fast_auc
from sparseauc_cells import marker_panel

KS = (1, 2, 3, 5)
REPEATS = 3
PANELS = {"panel": {}, 'panel, direction="any"': {"direction": "any"}}


def data_sets():
    """Name, AnnData of logarithmised values, column of the types."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bundled file is of an old format
        pbmc = sc.datasets.pbmc68k_reduced()
    logarithmised = anndata.AnnData(
        pbmc.raw.X, obs=pbmc.obs, var=pd.DataFrame(index=pbmc.var_names)
    )
    yield "pbmc68k_reduced", logarithmised, "bulk_labels"
    path = Path(os.environ.get("SPARSEAUC_DATA", "")) / "gastrula_cells.npz"
    if not path.exists():
        print(
            "gastrula_cells is left out: SPARSEAUC_DATA does not name its folder", file=sys.stderr
        )
        return
    with np.load(path) as file:
        X = sp.csr_matrix((file["data"], file["indices"], file["indptr"]), file["shape"])
        obs = pd.DataFrame({"type": pd.Categorical(file["y"])}, map(str, range(X.shape[0])))
        genes = file["feature_id"]
    yield "gastrula_cells", anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=genes)), "type"


def with_folds(adata, groupby, seed):
    fold = np.empty(adata.n_obs, int)
    splitter = StratifiedKFold(5, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(splitter.split(adata.X, adata.obs[groupby])):
        fold[test] = number
    adata.obs["fold"] = pd.Categorical(fold.astype(str))


def aucs_of(adata, groupby, scores_of):
    """AUC of each type at each k, (types, ks), over pairs of cells within a fold.

    ``scores_of(adata, groupby, train)`` gives the scores of all cells, by type and k.
    """
    types = adata.obs[groupby].cat.categories
    correct, pairs = np.zeros((len(types), len(KS))), np.zeros((len(types), 1))
    for fold in adata.obs["fold"].cat.categories:
        test = (adata.obs["fold"] == fold).to_numpy()
        scores = scores_of(adata, groupby, ~test)
        for row, name in enumerate(types):
            positive = (adata.obs[groupby] == name).to_numpy()[test]
            n_pairs = positive.sum() * (~positive).sum()
            pairs[row] += n_pairs
            for column, k in enumerate(KS):
                correct[row, column] += n_pairs * fast_auc(scores[name, k][test], positive)
    return correct / pairs


def by_panels(adata, groupby, train, **given):
    scores = {}
    for k in KS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # types in one fold only
            panels = marker_panel(adata[train].copy(), groupby, k=k, **given)
        for name, panel in panels.groupby("group", observed=True):
            values = adata[:, panel["gene"]].X.toarray().astype(np.float64)
            scores[name, k] = values @ panel["coefficient"].to_numpy()
    return scores


def by_wilcoxon(adata, groupby, train):
    training = adata[train].copy()
    sc.tl.rank_genes_groups(training, groupby, method="wilcoxon", n_genes=max(KS))
    scores = {}
    for name in adata.obs[groupby].cat.categories:
        genes = adata.var_names.get_indexer(training.uns["rank_genes_groups"]["names"][name])
        values = adata.X[:, genes].toarray().astype(np.float64)
        positive = (adata.obs[groupby] == name).to_numpy()
        weight = np.where(positive, 1 / positive[train].sum(), 1 / (~positive)[train].sum())
        for k in KS:
            model = SparseAUCClassifier(k=k, alpha=1.0)
            model.fit(values[train, :k], positive[train], sample_weight=weight[train])
            scores[name, k] = model.decision_function(values[:, :k])
    return scores


def main():
    rows, every = [], []
    for name, adata, groupby in data_sets():
        adata.var_names_make_unique()
        found = {"Wilcoxon": [], **{panel: [] for panel in PANELS}}
        for seed in range(1000, 1000 + REPEATS):
            with_folds(adata, groupby, seed)
            found["Wilcoxon"].append(aucs_of(adata, groupby, by_wilcoxon))
            for panel, given in PANELS.items():
                found[panel].append(aucs_of(adata, groupby, partial(by_panels, **given)))
        aucs = {method: np.mean(repeats, axis=0) for method, repeats in found.items()}
        types = adata.obs[groupby].cat.categories
        every.append(aucs)
        counts = adata.obs[groupby].value_counts()
        for method, values in aucs.items():
            means = (f"{auc:.3f}" for auc in values.mean(axis=0))
            rows.append((name, f"mean of {len(types)} types", "", method, *means))
        for panel in PANELS:
            difference = aucs[panel] - aucs["Wilcoxon"]
            error = difference.std(axis=0, ddof=1) / np.sqrt(len(types))
            shown = (
                f"{d:+.3f} ± {e:.3f}" for d, e in zip(difference.mean(axis=0), error, strict=True)
            )
            label = f"{panel} − Wilcoxon"
            rows.append((name, "mean difference ± s.e. over types", "", label, *shown))
        for row, cell_type in enumerate(types):
            both = zip(aucs["Wilcoxon"][row], aucs["panel"][row], strict=True)
            shown = (f"{theirs:.3f} / {ours:.3f}" for theirs, ours in both)
            rows.append((name, cell_type, counts[cell_type], "Wilcoxon / panel", *shown))
    for method in every[0]:
        means = np.mean([aucs[method].mean(axis=0) for aucs in every], axis=0)
        rows.append(("mean of both", "", "", method, *(f"{auc:.3f}" for auc in means)))
    report(
        "marker_panels",
        f"Cell types from k genes: AUC on cells left out, {REPEATS} × 5-fold",
        ("data", "cell type", "cells", "genes by", *(f"k = {k}" for k in KS)),
        rows,
    )


if __name__ == "__main__":
    main()
