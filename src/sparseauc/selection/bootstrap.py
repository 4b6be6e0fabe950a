"""Bootstrap of the whole procedure: the optimism of its AUC on the rows of the fit."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state, check_scalar, resample
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from .._validation import check_labels
from ..metrics import fast_auc
from ..utils.types import Mask
from .confidence import RandomState, scores_by


@dataclass(frozen=True)
class OptimismResult:
    """The AUC on training rows, corrected for optimism.

    Attributes
    ----------
    apparent : float
        AUC of the procedure on the rows it was fitted to.
    optimism : float
        Mean excess of the AUC on bootstrap rows over that on the original rows.
    corrected : float
        ``apparent`` − ``optimism``: Harrell's estimate of the AUC on new rows.
    standard_error : float
        Standard deviation of the excess over bootstrap samples, which estimates the standard error
        of ``corrected``.
    out_of_bag : float
        Mean AUC on the rows that a bootstrap sample left out.
    """

    apparent: float
    optimism: float
    corrected: float
    standard_error: float
    out_of_bag: float

    @property
    def corrected_632(self) -> float:
        """The .632+ estimate of Efron and Tibshirani (1997): sound where much was searched.

        Between ``apparent`` and ``out_of_bag`` (0.5 if that is less), the nearer to the latter the
        more of what is apparent vanishes on rows left out.
        """
        honest = max(self.out_of_bag, 0.5)
        lost = max(self.apparent - honest, 0.0)
        overfitting = lost / (self.apparent - 0.5) if lost else 0.0
        share = 0.632 / (1.0 - 0.368 * overfitting)
        return (1.0 - share) * self.apparent + share * honest


def optimism_bootstrap(
    estimator: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    n_bootstrap: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> OptimismResult:
    """Estimate the optimism of the AUC on the training rows by the bootstrap.

    The procedure is refitted on rows drawn with replacement within each class. The optimism is the
    mean excess of its AUC on those rows over that on the original rows.

    Parameters
    ----------
    estimator : classifier
        Refitted for each draw, including its own cross-validation.
    X : array-like, sparse matrix or frame of shape (n, d)
    y : array-like of shape (n,)
        Binary labels; the one that sorts last is positive.
    n_bootstrap : int, default=100
        Draws, two or more.
    random_state : int, RandomState or None
        For the draws; the estimator has its own.
    n_jobs : int, optional
        Number of draws in parallel, in threads. The result does not depend on it.

    Returns
    -------
    OptimismResult

    Notes
    -----
    Harrell's correction uses every row for fitting, which suits small tables. But the original rows
    contain those drawn, so a search among many columns leaves some optimism. On pure noise with 150
    rows (true AUC 0.5), ``corrected`` was 0.54 on average with 10 columns and k = 2, 0.61 with 100
    columns and k = 5, and 0.71 with 15 positives. With many columns use ``corrected_632`` or
    :func:`nested_scores`.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=200, d=20, k=3, mu=0.8, r=0.3, random_state=0)
    >>> model = SparseAUCClassifier(k=3)
    >>> result = selection.optimism_bootstrap(model, X, y, n_bootstrap=20, random_state=0)
    >>> result.out_of_bag < result.corrected < result.apparent
    True
    """
    check_scalar(n_bootstrap, "n_bootstrap", Integral, min_val=2)
    check_consistent_length(X, y)
    labels = np.asarray(y)
    positive, _ = check_labels(labels, least=2)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_bootstrap)
    apparent = fast_auc(scores_by(clone(estimator).fit(X, labels), X), positive)
    aucs = np.array(
        Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_draw)(estimator, X, labels, positive, seed) for seed in seeds.tolist()
        )
    )
    excess = aucs[:, 0] - aucs[:, 1]
    optimism = float(excess.mean())
    return OptimismResult(
        apparent=apparent,
        optimism=optimism,
        corrected=apparent - optimism,
        standard_error=float(excess.std(ddof=1)),
        out_of_bag=float(np.nanmean(aucs[:, 2])),
    )


def _draw(
    estimator: Any, X: Any, labels: npt.NDArray[Any], positive: Mask, seed: int
) -> tuple[float, float, float]:
    """AUCs on the rows drawn, on all rows, and on those left out (NaN without both classes)."""
    rows = resample(np.arange(labels.size), stratify=labels, random_state=seed)
    model = clone(estimator).fit(_safe_indexing(X, rows), labels[rows])
    scores = scores_by(model, X)
    left_out = np.setdiff1d(np.arange(labels.size), rows)
    out_of_bag = np.nan
    if np.unique(positive[left_out]).size == 2:
        out_of_bag = fast_auc(scores[left_out], positive[left_out])
    return fast_auc(scores[rows], positive[rows]), fast_auc(scores, positive), out_of_bag
