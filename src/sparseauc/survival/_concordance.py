"""Concordance of a score with times to event."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import check_scores, check_weights
from ..errors import InputError
from ..utils.types import Array
from ._pairs import ComparablePairs
from ._times import SurvivalTimes, censoring_distribution, uno_weights


def harrell_concordance(
    y: Any,
    scores: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> float:
    """Harrell's C: share of the comparable pairs whose earlier event has the higher score.

    Parameters
    ----------
    y : structured array, data frame or array of shape (n, 2)
        Whether the event was observed, and the time; as of ``sksurv.util.Surv``.
    scores : array-like of shape (n,)
        Higher for rows that have their event earlier; equal scores count one half.
    sample_weight : array-like of shape (n,), optional
        A pair counts the product of the weights of its rows.
    strata : array-like of shape (n,), optional
        Only rows of one stratum are compared.

    Returns
    -------
    float
        1 where all pairs are ranked right, 0.5 by chance.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.survival import harrell_concordance
    >>> event, time = [True, True, False], [2.0, 5.0, 3.0]
    >>> harrell_concordance(np.column_stack([event, time]), [3.0, 1.0, 2.0])
    1.0
    """
    return _concordance(y, scores, sample_weight, strata)


def uno_concordance(
    y_train: Any,
    y: Any,
    scores: npt.ArrayLike,
    *,
    horizon: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> float:
    """Uno's C: concordance that does not depend on how rows are censored.

    Pairs count the inverse square of the probability not to be censored until the
    earlier event.

    Parameters
    ----------
    y_train : structured array, data frame or array of shape (n_train, 2)
        Times from which that probability is estimated.
    y, scores, sample_weight, strata
        As for :func:`harrell_concordance`.
    horizon : float, optional
        Only events before it count. Without one, late events may count very much.

    Returns
    -------
    float
    """
    free = censoring_distribution(
        SurvivalTimes.from_target(y_train, needs_events=False)
    )

    def weigh(times: SurvivalTimes) -> Array:
        return uno_weights(times, free, horizon)

    return _concordance(y, scores, sample_weight, strata, weigh)


def _concordance(
    y: Any,
    scores: Any,
    weight: Any,
    strata: Any,
    weigh_events: Callable[[SurvivalTimes], Array | None] = lambda _: None,
) -> float:
    times = SurvivalTimes.from_target(y)
    values = check_scores(scores, len(times), "scores").astype(np.float64, copy=False)
    if weight is not None:
        weight = check_weights(weight, len(times))
    if strata is not None:
        strata = np.unique(np.asarray(strata), return_inverse=True)[1]
    pairs = ComparablePairs.from_times(
        times, weight, strata, event_weight=weigh_events(times)
    )
    if not pairs.total > 0:
        raise InputError(
            "no two rows can be compared: none is known to have its event before another"
        )
    return pairs.concordance(values)
