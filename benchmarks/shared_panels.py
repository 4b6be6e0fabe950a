"""One panel of k genes for all cell types: ours against spapros, NS-Forest, COSG and Wilcoxon's.

Cells are halved at random, stratified by type: a panel is chosen on one half and judged on the
other, and the other way round. Judged is a multinomial logistic regression on the genes of the
panel, standardised, all types weighing the same, fitted to the cells that chose the panel: balanced
accuracy, and one-against-rest AUC averaged over the types. Every method has its defaults. Those of
``shared_panel`` were settled on other halves of the same cells, by the seeds 0 to 5, where about 20
criteria and 200 settings were tried; seeds judged start at 1000.

Rankings (Wilcoxon's, COSG's, and the markers of NS-Forest followed by its binary genes) become a
panel by rank: first the best genes of all types, by their scores, then the second best, and so on.

spapros takes about ten minutes of CPU time a half, so it ran on some halves only; on these it is
compared with the others once more. Its defaults, one process and one thread, all genes.

The peers write their panels to a folder, each in an environment of its own if need be, and the
comparison reads them from there:

    pip install cosg==1.2.0 nsforest==4.1 spapros==0.1.6 "numpy<2.4"
    python benchmarks/shared_panels.py FOLDER cosg nsforest spapros
    python benchmarks/shared_panels.py FOLDER ours wilcoxon
    python benchmarks/shared_panels.py FOLDER
"""

from common import report  # isort: skip

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import scanpy as sc
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marker_panels import data_sets

KS = (10, 20, 40)
SEEDS = (1000, 1001, 1002, 1003)
METHODS = {
    "ours": "shared_panel",
    "wilcoxon": "Wilcoxon (scanpy)",
    "cosg": "COSG 1.2.0",
    "nsforest": "NS-Forest 4.1",
    "spapros": "spapros 0.1.6",
}


def by_rank(names, scores):
    """Panels of all sizes from rankings, (types, ranks): by rank, then by score."""
    genes = []
    for rank in range(names.shape[1]):
        for row in np.argsort(-scores[:, rank], kind="stable"):
            if names[row, rank] not in (None, *genes):
                genes.append(names[row, rank])
    return {k: genes[:k] for k in KS}


def ours(adata, groupby):
    from sparseauc_cells import shared_panel

    return {k: shared_panel(adata, groupby, k=k)["gene"].tolist() for k in KS}


def wilcoxon(adata, groupby):
    sc.tl.rank_genes_groups(adata, groupby, method="wilcoxon", n_genes=60)
    return of_records(adata.uns["rank_genes_groups"])


def of_records(found):
    names, scores = (np.array([found[key][t] for t in found[key].dtype.names], object)
                     for key in ("names", "scores"))  # fmt: skip
    return by_rank(names, scores.astype(float))


def cosg(adata, groupby):
    import cosg

    cosg.cosg(adata, groupby=groupby, n_genes_user=60, key_added="cosg")
    return of_records(adata.uns["cosg"])


def nsforest(adata, groupby):
    import nsforest

    nsforest.pp.prep_medians(adata, groupby)
    nsforest.pp.prep_binary_scores(adata, groupby)
    # It stops at a type that none of the genes passes its first filter for: such have no markers.
    scores = adata.varm[f"binary_scores_{groupby}"]
    every = scores.stack()
    types = scores.columns[(scores >= every.mean() + 2 * every.std()).any()].tolist()
    found = nsforest.nsforesting.NSForest(
        adata, groupby, cluster_list=types, n_jobs=1, output_folder="."
    )
    lists = [
        list(dict.fromkeys([*markers, *binary]))
        for markers, binary in zip(found["NSForest_markers"], found["binary_genes"], strict=True)
    ]
    longest = max(map(len, lists))
    names = np.array([genes + [None] * (longest - len(genes)) for genes in lists], object)
    return by_rank(names, np.tile(found["f_score"].to_numpy()[:, None], longest))


def spapros(adata, groupby):
    import spapros

    # The number of genes only cuts its ranking, so one run gives the panels of all sizes.
    selector = spapros.se.ProbesetSelector(
        adata, celltype_key=groupby, genes_key=None, n=max(KS), verbosity=0, n_jobs=1
    )
    selector.select_probeset()
    genes = selector.probeset.sort_values("gene_nr").index.tolist()
    return {k: genes[:k] for k in KS}


def halves():
    """Name, seed, number of the half, AnnData, column of the types, and rows of both halves."""
    for name, adata, groupby in data_sets():
        adata.var_names_make_unique()
        for seed in SEEDS:
            splitter = StratifiedKFold(2, shuffle=True, random_state=seed)
            for half, (train, test) in enumerate(splitter.split(adata.X, adata.obs[groupby])):
                yield name, seed, half, adata, groupby, train, test


def write_panels(folder, method):
    find = globals()[method]
    for name, seed, half, adata, groupby, train, _ in halves():
        path = folder / f"{method}-{name}-{seed}-{half}.json"
        if not path.exists():
            start = time.process_time()
            panels = find(adata[train].copy(), groupby)
            seconds = time.process_time() - start
            path.write_text(json.dumps({"panels": panels, "seconds": seconds}))
            print(path.name, f"{seconds:.1f} s", file=sys.stderr)


def judge(adata, groupby, genes, train, test):
    """Balanced accuracy, and mean one-against-rest AUC, on cells left out."""
    columns = adata.var_names.get_indexer(genes)
    values = adata.X[:, columns]
    values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, float)
    y = adata.obs[groupby].astype(str).to_numpy()
    model = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    ).fit(values[train], y[train])
    probabilities = model.predict_proba(values[test])
    aucs = [
        roc_auc_score(y[test] == label, score)
        for label, score in zip(model.classes_, probabilities.T, strict=True)
    ]
    accuracy = balanced_accuracy_score(y[test], model.classes_[probabilities.argmax(axis=1)])
    return accuracy, np.mean(aucs)


def main(folder):
    rows = []
    for name, seed, half, adata, groupby, train, test in halves():
        for method in METHODS:
            path = folder / f"{method}-{name}-{seed}-{half}.json"
            if not path.exists():
                continue
            found = json.loads(path.read_text())
            for k in KS:
                genes = found["panels"][str(k)]
                accuracy, auc = judge(adata, groupby, genes, train, test)
                half_of = f"{seed}-{half}"
                seconds = found["seconds"]
                rows.append((name, half_of, method, k, accuracy, auc, len(genes), seconds))
    columns = ["data", "half", "method", "k", "accuracy", "auc", "genes", "seconds"]
    table = pd.DataFrame(rows, columns=columns).set_index(["data", "half"])
    slow = table.method == "spapros"
    where = table.index.isin(table[slow].index)
    shown = summarise(table[~slow], "") + summarise(table[where], ", where spapros ran")
    report(
        "shared_panels",
        "One panel for all cell types: balanced accuracy / mean AUC on cells left out",
        ("data", "halves", "genes by", *(f"k = {k}" for k in KS), "CPU seconds"),
        shown,
    )


def summarise(table, where):
    """Rows of means over halves, of each table of cells and of both."""
    run = table.groupby(["data", "method"]).apply(lambda part: part.index.nunique())
    means = table.groupby(["data", "method", "k"], sort=False).mean()
    shown = []
    for name in [*means.index.unique("data"), "mean of both"]:
        both = name == "mean of both"
        part = means.groupby(["method", "k"]).mean() if both else means.loc[name]
        for method, label in METHODS.items():
            if method not in part.index.unique("method"):
                continue
            one = part.loc[method]
            cells = [f"{one.accuracy[k]:.3f} / {one.auc[k]:.3f}" for k in KS]
            fewer = "" if (one.genes.to_numpy() >= KS).all() else " (fewer genes)"
            count = run[:, method].sum() if both else run[name, method]
            shown.append((name + where, count, label + fewer, *cells, f"{one.seconds.iloc[0]:.1f}"))
    return shown


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(exist_ok=True, parents=True)
    for chosen in sys.argv[2:]:
        write_panels(where, chosen)
    if len(sys.argv) == 2:
        main(where)
