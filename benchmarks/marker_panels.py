"""AUC of cell types on cells left out: marker panels against the top of Wilcoxon's ranking.

Repeated 5-fold. Within the training folds the first k genes of ``scanpy.tl.rank_genes_groups`` (the
highest Wilcoxon scores) are taken, or the k genes of ``marker_panel``. Both are weighted in the
same way, by the linear score of least pairwise squared loss, with a ridge of 1 but in the rows that
say alpha=10. Seeds start at 1000: the defaults were settled on other splits of the same cells.
"""

from common import report  # isort: skip

import os
import sys
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import scanpy as sc
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold

from sparseauc import SparseAUCClassifier
from sparseauc.cells import marker_panel
from sparseauc.metrics import fast_auc

KS = (1, 2, 3, 5)
REPEATS = 3
PANELS = {
    "panel": {},
    'panel, direction="any"': {"direction": "any"},
    "panel, alpha=10": {"alpha": 10.0},
}


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


def aucs_of_panels(adata, groupby, **given):
    """AUC of each type at each k, (types, ks)."""
    marker_panel(adata, groupby, k=max(KS), cv="fold", **given)
    return adata.uns["marker_panel"]["panel_auc"][[str(k) for k in KS]].to_numpy()


def aucs_of_wilcoxon(adata, groupby):
    """The same of the genes that Wilcoxon's test ranks first in the training folds."""
    types = adata.obs[groupby].cat.categories
    correct, pairs = np.zeros((len(types), len(KS))), np.zeros((len(types), 1))
    for fold in adata.obs["fold"].cat.categories:
        test = (adata.obs["fold"] == fold).to_numpy()
        train = adata[~test].copy()
        sc.tl.rank_genes_groups(train, groupby, method="wilcoxon", n_genes=max(KS))
        for row, name in enumerate(types):
            genes = adata.var_names.get_indexer(train.uns["rank_genes_groups"]["names"][name])
            values = adata.X[:, genes].toarray().astype(np.float64)
            positive = (adata.obs[groupby] == name).to_numpy()
            weight = np.where(positive, 1 / positive[~test].sum(), 1 / (~positive)[~test].sum())
            n_pairs = positive[test].sum() * (~positive)[test].sum()
            pairs[row] += n_pairs
            for column, k in enumerate(KS):
                model = SparseAUCClassifier(k=k, alpha=1.0)
                model.fit(values[~test, :k], positive[~test], sample_weight=weight[~test])
                scores = model.decision_function(values[test, :k])
                correct[row, column] += n_pairs * fast_auc(scores, positive[test])
    return correct / pairs


def main():
    rows = []
    for name, adata, groupby in data_sets():
        found = {"Wilcoxon": [], **{panel: [] for panel in PANELS}}
        for seed in range(1000, 1000 + REPEATS):
            with_folds(adata, groupby, seed)
            found["Wilcoxon"].append(aucs_of_wilcoxon(adata, groupby))
            for panel, given in PANELS.items():
                found[panel].append(aucs_of_panels(adata, groupby, **given))
        aucs = {method: np.mean(repeats, axis=0) for method, repeats in found.items()}
        types = adata.obs[groupby].cat.categories
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
    report(
        "marker_panels",
        f"Cell types from k genes: AUC on cells left out, {REPEATS} × 5-fold",
        ("data", "cell type", "cells", "genes by", *(f"k = {k}" for k in KS)),
        rows,
    )


if __name__ == "__main__":
    main()
