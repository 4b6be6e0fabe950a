"""Stability selection: how often each column is chosen from half of the rows."""

from dataclasses import dataclass, field
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.parallel import Parallel, delayed

from ..errors import InputError
from ..estimators import (
    SparseAUCClassifier,
    SparseConcordance,
    basis_of,
    check_rows,
    learn_units,
    resolve_limits,
)
from ..folds import rows_by_number
from ..limits import Limits
from ..path import Progress, check_lengths, count_steps, path_of_moments
from ..strata import Strata, Weighting
from ..survival import is_times
from ..utils.types import Array, Indices, Mask


@dataclass(frozen=True, eq=False)
class StabilityResult:
    """Selection frequencies, with bounds on false selections.

    Attributes
    ----------
    frequency : ndarray of shape (d,)
        Share of the halves in which the column was among the k chosen.
    k : int
        Columns chosen in each half.
    n_pairs : int
        Pairs of halves.
    n_free : int
        Columns that could be chosen or not: neither always included nor excluded.
    n_forced : int
        Columns always included; their frequency is 1.
    """

    frequency: Array = field(repr=False)
    k: int
    n_pairs: int
    n_free: int
    n_forced: int

    def selected(self, threshold: float = 0.6) -> Indices:
        """Columns chosen in at least this share of the halves, most frequent first."""
        if not 0.0 < threshold <= 1.0:
            raise InputError(f"threshold must lie in (0, 1], got {threshold}")
        often = np.flatnonzero(self.frequency >= threshold)
        return often[np.argsort(-self.frequency[often], kind="stable")]

    def error_bound(self, threshold: float = 0.6) -> float:
        """Bound the expected number of columns that ``selected(threshold)`` holds by chance.

        By chance means: a column whose probability of being chosen from half of the
        rows is at most q/p, that of a draw of q among p, where q = ``k`` − ``n_forced``
        and p = ``n_free``.

        Parameters
        ----------
        threshold : float, default=0.6
            τ, above 1/2 and at most 1.

        Returns
        -------
        float
            Columns always included are not counted.

        Notes
        -----
        The bound is q² / ((2τ − 1) p), the worst case of Shah and
        Samworth (2013, theorem 1) for columns of probability q/p at most. It needs rows
        that are independent and alike within each class, and nothing of the method or
        the columns. The same number is Meinshausen and Bühlmann's (2010) for *all*
        columns without signal, who must assume besides that those are exchangeable and
        that the method does no worse than guessing.

        No bound exceeds q/τ: more columns than that cannot reach the threshold.
        """
        if not 0.5 < threshold <= 1.0:
            raise InputError(
                f"threshold must lie in (1/2, 1] for a bound, got {threshold}"
            )
        halves = 2 * self.n_pairs
        # Halves are counted, so the threshold acts as the next whole number of them,
        # and that is more than one half. What is taken off is rounding: 0.55 · 100
        # comes out above 55.
        least = max(ceil(halves * threshold - 1e-9), self.n_pairs + 1)
        tau = least / halves
        q = self.k - self.n_forced
        p = self.n_free
        return min(q * q / ((2.0 * tau - 1.0) * p), q / tau)


def stability_selection(
    X: Any,
    y: npt.ArrayLike,
    k: int,
    *,
    alpha: float = 1.0,
    n_pairs: int = 50,
    limits: Limits | None = None,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    stratum_weights: Weighting = "pairs",
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StabilityResult:
    """Count how often each column is among the best k of half of the rows.

    The rows are split ``n_pairs`` times into two halves, within each class, and
    :class:`~sparseauc.SparseAUCClassifier` chooses the best k columns from each half.
    This is the complementary pairs stability selection of Shah and Samworth (2013).

    Parameters
    ----------
    X : array-like or CSR of shape (n, d)
        Not copied if it is a float array or CSR.
    y : array-like of shape (n,)
        Binary labels; the one that sorts last is positive. Or event and time of each
        row, as :class:`~sparseauc.SparseConcordance` takes them.
    k : int
        Columns chosen in each half. Take more than you need, and select by the
        threshold; but the error bound grows as k².
    alpha : float, default=1.0
        Ridge, on the standardised scale.
    n_pairs : int, default=50
        Pairs of halves.
    limits : Limits, optional
        Limits on the lists, as for :class:`~sparseauc.SparseAUCClassifier`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. Rows of weight zero are left out before the rest is split.
    strata : array-like of shape (n,), optional
        Site, batch, donor or matched set of each row: only pairs of one stratum count.
        Strata are halved; where most have a single row of a class, as matched sets do,
        they stay whole.
    stratum_weights : {"pairs", "equal"}, default="pairs"
        Weight of each stratum: its number of pairs, or the same for all.
    random_state : int, RandomState or None
        For the splits.
    n_jobs : int, optional
        Number of pairs in parallel, in threads. The result does not depend on it.
    progress : callable, optional
        Called with the stage, the number of pairs done and in total.

    Returns
    -------
    StabilityResult

    Notes
    -----
    Both halves hold ⌊n₊/2⌋ positives and ⌊n₋/2⌋ negatives: the error bound needs halves
    that are independent and identically distributed. It does not hold if related rows,
    such as visits of one patient, are split between halves.

    Examples
    --------
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.selection.stability import stability_selection
    >>> data = make_outbreak(n=400, d=50, k=3, mu=0.9, r=0.3, random_state=0)
    >>> result = stability_selection(data.X, data.y, k=5, n_pairs=20, random_state=0)
    >>> sorted(result.selected(0.9).tolist()) == data.support.tolist()
    True
    >>> round(result.error_bound(0.8), 2)
    0.83
    """
    # The checks of data and parameters, and the errors, are those of the estimator.
    kind = SparseConcordance if is_times(y) else SparseAUCClassifier
    model: Any = kind(k, alpha, limits=limits)
    model._validate_params()
    check_scalar(n_pairs, "n_pairs", Integral, min_val=1)
    X, outcome, _ = check_rows(model, X, y, sample_weight, strata, stratum_weights)
    units = learn_units(model, X, outcome.weight)
    restrictions = resolve_limits(model)
    n_fixed = restrictions.count(restrictions.fixed)
    d = X.shape[1]
    check_lengths(np.array([k]), d, restrictions)
    if n_fixed == k:
        raise InputError(
            f"always_include names {k} columns, which leaves none of k={k} to choose"
        )
    _check_halves(outcome.positive, getattr(model, "classes_", None))
    table = basis_of(X, units)
    columns_of_basis = np.arange(d) if units is None else units.columns
    of_basis = restrictions.spread(columns_of_basis)
    halved, cell = _units_to_halve(outcome.positive, outcome.strata)
    cells = [members for _, members in rows_by_number(cell)]

    def choose_from_halves(seed: int) -> list[Indices]:
        chosen = []
        for half in complementary_halves(cells, seed):
            # Weights of zero leave rows out without a copy of X.
            only_half = np.isin(halved, half).astype(np.float64)
            if outcome.weight is not None:
                only_half *= outcome.weight
            quadratic = outcome.reweighted(only_half).quadratic(table)
            path = path_of_moments(
                quadratic, np.array([k]), np.array([float(alpha)]), of_basis
            )
            chosen.append(np.unique(columns_of_basis[path.solutions[0][0].support]))
        return chosen

    seeds = check_random_state(random_state).randint(
        np.iinfo(np.int32).max, size=n_pairs
    )
    run = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    step = count_steps(progress, "Stability selection", n_pairs)
    counts = np.zeros(d, np.int64)
    for halves in run(delayed(choose_from_halves)(seed) for seed in seeds.tolist()):
        for chosen in halves:
            counts[chosen] += 1
        step()
    return StabilityResult(
        frequency=counts / (2 * n_pairs),
        k=k,
        n_pairs=n_pairs,
        n_free=restrictions.count(np.arange(d))
        - n_fixed
        - restrictions.count(restrictions.excluded),
        n_forced=n_fixed,
    )


def _check_halves(positive: Mask, classes: npt.NDArray[Any] | None) -> None:
    """Refuse a class of a single row; of times, events alone must be in both halves."""
    names = ["censored", "event"] if classes is None else classes.tolist()
    for name, side in zip(names, (~positive, positive), strict=True):
        size = np.count_nonzero(side)
        if size == 1 or (size == 0 and name != "censored"):
            raise InputError(
                f"class {name!r} has a single row: each half needs one of its own"
            )


def _units_to_halve(positive: Mask, strata: Strata | None) -> tuple[Indices, Indices]:
    """Return the unit of each row, and the cell of each unit, of which halves have equal numbers.

    Units are rows, within each class of a stratum; or strata, where most have a single
    row of a class. Those of cell −1 are in neither half.
    """
    every = np.arange(positive.size)
    if strata is None:
        return every, positive.astype(np.int64)
    large = np.min(strata.class_weights(positive), axis=0) > 1
    if 2 * np.count_nonzero(large) < len(strata):
        return strata.code, np.zeros(len(strata), np.int64)
    return every, np.where(strata.code >= 0, 2 * strata.code + positive, -1)


def complementary_halves(
    cells: list[npt.NDArray[np.intp]], seed: int
) -> tuple[Indices, Indices]:
    """Two disjoint sets of rows with the same number of each cell, at random."""
    rng = np.random.default_rng(seed)
    first = []
    second = []
    for rows in cells:
        shuffled = rng.permutation(rows)
        half = rows.size // 2
        first.append(shuffled[:half])
        second.append(shuffled[half : 2 * half])
    return np.concatenate(first), np.concatenate(second)
