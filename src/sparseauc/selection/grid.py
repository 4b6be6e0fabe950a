"""Tuning SHT-AUC: the validation AUC of every k and batch size, all k of a fold fitted at once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from .._arrays import is_tensor, to_host
from ..metrics import fast_auc
from ..path.folds import check_splits
from ..solvers.batched import sht_auc_grid

Array = npt.NDArray[np.float64]


class GridScores(NamedTuple):
    """Validation AUC of a grid.

    Attributes
    ----------
    aucs : ndarray of shape (n_splits, n_batch_sizes, n_ks)
        NaN where a model diverged.
    ks, batch_sizes : ndarrays of int
        What the last two axes stand for.
    """

    aucs: Array
    ks: npt.NDArray[np.int64]
    batch_sizes: npt.NDArray[np.int64]

    @property
    def best(self) -> tuple[int, int]:
        """The k and the batch size of the best mean AUC; of equal ones the smallest k."""
        mean = self.aucs.mean(axis=0)
        if np.isnan(mean).all():
            raise ValueError("every model diverged in some split: give a smaller step_size")
        rows, columns = np.nonzero(mean == np.nanmax(mean))
        first = np.argmin(self.ks[columns])
        return int(self.ks[columns[first]]), int(self.batch_sizes[rows[first]])


def sht_auc_cv_scores(
    X: Any,
    y: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    batch_sizes: npt.ArrayLike = (64,),
    cv: Any = 5,
    step_size: float | Literal["auto"] = "auto",
    ridge: float = 0.0,
    max_epochs: int = 50,
    tol: float = 1e-4,
    random_state: Any = None,
) -> GridScores:
    """Cross-validate SHT-AUC over k and the batch size.

    Models that differ in k alone visit the same blocks and are fitted at once. Where X is a tensor,
    so are the training sets of all splits of one size, on its device.

    Parameters
    ----------
    X : ndarray or tensor of shape (n, d)
        Dense, float32 or float64.
    y : array-like of shape (n,)
        Positive where greater than zero.
    ks : array-like of int
        Numbers of columns.
    batch_sizes : array-like of int, default=(64,)
        Rows of a block.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; a number means stratified folds.
    step_size, ridge, max_epochs, tol
        As in :func:`sparseauc.solvers.sht_auc_grid`.
    random_state : int, RandomState instance or None, default=None
        Seed of the blocks, the same in every split.

    Returns
    -------
    GridScores

    Examples
    --------
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=400, d=30, k=4, mu=1.0, r=0.3, random_state=0)
    >>> scores = sht_auc_cv_scores(X, y, ks=[1, 4, 16], random_state=0)
    >>> scores.aucs.shape
    (5, 1, 3)
    >>> scores.best
    (4, 64)
    """
    if scipy.sparse.issparse(X):
        raise TypeError("sht_auc_cv_scores needs a dense X: use GridSearchCV for CSR rows")
    table = X if is_tensor(X) else np.asarray(X)
    positive = np.asarray(to_host(y)) > 0
    columns = np.atleast_1d(np.asarray(ks, np.int64))
    sizes = np.atleast_1d(np.asarray(batch_sizes, np.int64))
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    rows = np.empty((positive.size, 1))
    splits = list(check_cv(cv, positive, classifier=True).split(rows, positive))
    check_splits(splits, positive, None)
    aucs = np.empty((len(splits), sizes.size, columns.size))
    for group in _groups(splits, together=is_tensor(X)):
        training = np.stack([splits[i][0] for i in group])
        training_sets = table[training]
        for b, batch_size in enumerate(sizes.tolist()):
            result = sht_auc_grid(
                training_sets, positive[training], ks=columns, step_sizes=step_size, ridges=ridge,
                batch_size=batch_size, max_epochs=max_epochs, tol=tol,
                rng=np.random.default_rng(seed),
            )  # fmt: skip
            for i, coef, diverged in zip(group, result.coef, result.diverged, strict=True):
                test = splits[i][1]
                scores = to_host(table[test] @ coef.T)
                aucs[i, b] = [
                    np.nan if lost else fast_auc(model, positive[test])
                    for model, lost in zip(scores.T, diverged, strict=True)
                ]
    return GridScores(aucs, columns, sizes)


def _groups(splits: list[Any], *, together: bool) -> list[list[int]]:
    """Splits whose training sets are stacked: those of one size, or each by itself."""
    groups = defaultdict(list)
    for i, (training, _) in enumerate(splits):
        groups[training.size if together else i].append(i)
    return list(groups.values())
