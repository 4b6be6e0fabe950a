"""One fit of SHT-AUC, by the library and written out, to compare with."""

import numpy as np
from sklearn.utils import check_random_state

from sparseauc import SHTAUCClassifier
from sparseauc_paper.algorithm import iterates
from sparseauc_paper.blocks import RowBlocks
from sparseauc_paper.objective import AUCObjective


def generator_of(seed):
    """The generator of blocks that a classifier makes of its ``random_state``."""
    return np.random.default_rng(check_random_state(seed).randint(2**31 - 1, size=2)[1])


def fit_sht_auc(X, positive, k, weight=None, *, seed, start=None, **settings):
    """Fit the library's classifier, from given coefficients if wanted."""
    model = SHTAUCClassifier(
        k,
        random_state=seed,
        warm_start=start is not None,
        record_history=False,
        **settings,
    )
    if start is not None:
        model.coef_ = np.array([start])
    return model.fit(X, positive, weight)


def run_algorithm(X, positive, k, *, batch_size, rng, shuffle=True, **settings):
    """Run Algorithm 1 with a constant step; returns w."""
    blocks = RowBlocks.partition(X.shape[0], batch_size, shuffle=shuffle, rng=rng)
    *_, w = iterates(AUCObjective(X, positive), blocks, k, rng=rng, **settings)
    return w
