"""Intervals of odds and hazard ratios by the bootstrap, in which columns are chosen anew."""

import time
import warnings

import numpy as np
from sklearn.base import clone

from sparseauc.utils.types import Array

from ..fit_result import FitResult
from ..folds import Progress
from ..models import chooses_by_exchanges, fill_in, labels_for

SAMPLES = 100
# Seconds that all samples may take, judged by the first.
_PATIENCE = 30.0


def bootstrap_ratios(fit: FitResult, report: Progress = lambda *_: None) -> Array | None:
    """Ends of the intervals within which 95 % of the ratios of bootstrap samples lie.

    Each sample chooses as many columns anew, with the final ridge; the ratio of a column that it
    does not choose is 1. Groups are drawn as a whole. A row is drawn by its weight, so that the
    same one is never in two folds.

    Returns
    -------
    ndarray of shape (2, n_chosen) or None
        In the order of ``fit.columns``; None for points, without ratios, for models without
        cross-validation, and where it would take minutes.
    """
    table = fit.table
    classifier = fit.classifier
    ratio = {"odds_ratio", "hazard_ratio"} & {*fit.columns}
    tuned = chooses_by_exchanges(classifier) and "ks" in classifier.get_params()
    if fit.points is not None or not ratio or not tuned:
        return None
    X = fill_in(fit.model, table.X)
    y = labels_for(classifier, table)
    settings = {"ks": [fit.k], "alphas": [fit.summary["alpha"]]}
    if fit.summary["coefficients"] is not None:
        settings["coefficients"] = fit.summary["coefficients"]
    model = clone(classifier).set_params(**settings)
    known = table.known()
    weight = known.pop("sample_weight", np.ones(table.y.size))
    units = np.arange(table.y.size) if table.groups is None else table.groups
    n_units = int(units.max()) + 1
    rng = np.random.default_rng(int(fit.settings.get("seed") or 0))
    names = table.columns.tolist()
    places = [names.index(name) for name in fit.columns["column"]]
    found = []
    started = time.perf_counter()
    for sample in range(SAMPLES):
        report("Bootstrap", sample, SAMPLES)
        drawn = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[units]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of chance, which the fit told
                model.fit(X, y, sample_weight=drawn * weight, **known)
        except ValueError:  # a class of so few rows that a fold has none
            return None
        hazards = getattr(model, "hazards_", None)
        found.append((1.0 if hazards is None else hazards.slope) * model.coef_[0][places])
        if SAMPLES * (time.perf_counter() - started) > _PATIENCE * (sample + 1):
            return None
    with np.errstate(over="ignore"):
        ends: Array = np.exp(np.quantile(found, [0.025, 0.975], axis=0))
    return ends
