"""Whole points in place of a fitted model's coefficients."""

from typing import Any, Literal, cast

import numpy as np

from .._types import Array, Mask
from ..curves import fit_calibration
from ..moments import Moments
from ..moments.gram import StandardisedGram
from ..solvers.points import points_range, possible_points, raise_auc, whole_points
from ..solvers.restrictions import Restrictions
from ..strata import Strata


def give_points(
    model: Any,
    points: Any,
    gram: StandardisedGram,
    alpha: float,
    restrictions: Restrictions,
    values: Array,
    positive: Mask,
    strata: Strata | None,
    per: Literal["deviation", "unit"] = "deviation",
) -> None:
    """Make the score of a fitted model the total of whole points, less a threshold.

    Sets ``points_`` and ``units_``, and anew all that is fitted and depends on coefficients.
    ``points`` is their largest number, or the least and the largest; ``values`` are the chosen
    columns, and ``per`` is as for :func:`~sparseauc.selection.point_score`.
    """
    within, moments = points_range(points), cast(Moments, gram.quadratic)
    coef = np.asarray(model.coef_[0], np.float64)
    support = np.flatnonzero(coef)
    model.points_, model.units_ = np.zeros(coef.size, np.int64), np.ones(coef.size)
    if support.size == 0:
        return
    scale = gram.scale[support]
    rounded = np.array([float(f"{deviation:.1g}") for deviation in scale])
    yes_no = np.isin(values, (0.0, 1.0)).all(axis=0)
    unit = np.where(yes_no | (per == "unit"), 1.0, rounded)
    # One point is worth this much of a standardised coefficient.
    worth = scale / unit
    P = gram.block(support, support) + alpha * np.eye(support.size)
    signs = restrictions.signs_of(support)
    found = whole_points(P * np.outer(worth, worth), gram.delta[support] * worth, within, signs)
    low, high = possible_points(within, signs)
    found = raise_auc(values / unit, positive, strata, found, low, high)
    model.points_[support], model.units_[support] = found, unit
    scores, totals = values @ coef[support], values @ (found / unit)
    model._set_fitted(model.points_ / model.units_, *moments.means)
    # A half parts whole totals without ties.
    middle = -float(model.intercept_[0])
    whole = bool(np.all(totals == np.rint(totals)))
    threshold = np.floor(middle) + 0.5 if whole else round(middle, 1)
    model.intercept_ = np.array([-threshold])
    if restrictions.prices is not None:
        model.cost_ = restrictions.prices.total(np.flatnonzero(model.coef_[0]))
    model.objective_ = moments.loss(model.coef_[0])
    for proof in ("optimality_gap_", "lower_bound_", "certificate_status_"):
        vars(model).pop(proof, None)
    known = getattr(model, "out_of_fold_scores_", None)
    if known is not None and known.size == totals.size:
        # Scores of rows left out, by coefficients that were not rounded, on the scale of points.
        means = [[one[side].mean() for side in (positive, ~positive)] for one in (scores, totals)]
        stretch = (means[1][0] - means[1][1]) / (means[0][0] - means[0][1])
        shift = sum(means[1]) / 2 - threshold
        unshifted = known + coef @ (moments.means[0] + moments.means[1]) / 2
        model.out_of_fold_scores_ = shift + stretch * (unshifted - sum(means[0]) / 2)
        model.calibration_ = fit_calibration(model.out_of_fold_scores_, positive)
