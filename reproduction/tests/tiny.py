"""A preset that runs in moments: small tables, small grids, all methods and experiments."""

from dataclasses import replace

from sparseauc_paper.presets import QUICK

_BLOCKS = {"k": (2, 4), "blocks": (1, 4)}
_GENES = {"k": (1, 3), "batch_size": (5, 20)}

TINY = replace(
    QUICK,
    name="tiny",
    trials=2,
    folds=2,
    sparsities=(3, 6),
    ratios=(0.2, 0.5),
    figure2_trials=1,
    figure2_folds=2,
    figure1_epochs=20,
    theory_ratios=(0.25,),
    real_trials=1,
    audit_sparsities=(3,),
    audit_trials=1,
    audit_folds=2,
    audit_real_trials=1,
    n=200,
    d=30,
    epochs=3,
    real_epochs=2,
    grids={
        "sht-auc": _BLOCKS,
        "sto-iht": _BLOCKS,
        "hsg-ht": {"k": (2, 4), "tau": (1, 100)},
        "spam-l1": {"xi": (0.1, 10.0), "l1": (1e-3,)},
        "spam-l2": {"xi": (0.1, 10.0), "l2": (1e-3,)},
        "spam-l1l2": {"xi": (0.1, 10.0), "l1": (1e-3,), "l2": (1e-3,)},
        "solam": {"xi": (1.0,), "radius": (1.0, 10.0)},
        "fsauc": {"radius": (1.0, 10.0), "eta": (0.1,)},
        "sparse-auc": {},
        "mean-difference": {"k": (2, 4)},
        "shrunken-centroid": {"k": (2, 4)},
        "l1-logistic": {"C": (0.1, 1.0)},
    },
    real_grids={
        "sht-auc": _GENES,
        "sto-iht": _GENES,
        "hsg-ht": {"k": (1, 3), "tau": (1, 1000)},
        "mean-difference": {"k": (1, 3)},
        "shrunken-centroid": {"k": (1, 3)},
    },
    leukemia_batch_sizes=(10,),
    cost_columns=(30, 60),
    cost_draws=2,
    not_simulated=(),
)
