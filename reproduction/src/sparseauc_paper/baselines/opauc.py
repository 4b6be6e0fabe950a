"""OPAUC: one pass, one row a step, the other class remembered by its centre and covariance.

    minimise  F(w) + alpha‖w‖²,   F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²

    for each row x with label y = ±1:
        let c and S be centre and covariance of the rows of the other class so far
        w ← w − η (alpha·w + (x − c)((x − c)·w − y) + S w)
    Output: the last w

The bracket is half the gradient over the pairs that x forms with all earlier rows of the other
class, exactly, although no row is kept (Gao, Jin, Zhu and Zhou, 2013). There is no step until both
classes were seen.

Use it on a stream that can be read only once. The answer is dense. Time of a step and memory are
O(d²); with many columns, random sketches of low rank replace the covariances, at O(d·rank).
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from sparseauc.objective import Array, AUCObjective, Floats, Indices, Mask
from sparseauc.rows import Table, add_rows
from sparseauc.solvers.epochs import SolverResult
from sparseauc.utils.jit import kernel, reordering_kernel

from .online import RowState, UnweightedClassifier, dot

# Rows between two checks for overflow or interruption.
_CHUNK = 256


@reordering_kernel
def _move_centre(x, share, centre, gap):  # type: ignore[no-untyped-def]
    """``gap = x − centre``, then ``centre += share · gap``; returns ‖gap‖²."""
    total = 0.0
    for j in range(x.size):
        gap[j] = x[j] - centre[j]
        centre[j] += share * gap[j]
        total += gap[j] * gap[j]
    return total


@reordering_kernel
def _fold_triangle_row(own, other, factor, gap, w_i, w, product):  # type: ignore[no-untyped-def]
    """Update a row left of the diagonal; multiply the other one as a row and as a column."""
    total = w.dtype.type(0)
    for j in range(own.size):
        own[j] += factor * gap[j]
        total += other[j] * w[j]
        product[j] += other[j] * w_i
    return total


@kernel
def _fold_scatter(own, other, gap, kept, w, product):  # type: ignore[no-untyped-def]
    """``own += kept · gap gapᵀ`` and ``product = other · w``, in one sweep over both.

    The matrices are symmetric: their lower triangles alone are stored, row after row.
    """
    start = 0
    for i in range(w.size):
        stop = start + i
        factor = kept * gap[i]
        product[i] = other[stop] * w[i] + _fold_triangle_row(
            own[start:stop], other[start:stop], factor, gap, w[i], w, product
        )
        own[stop] += factor * gap[i]
        start = stop + 1


@kernel
def _fold_sketch(own, other, gap, direction, w, scores, product):  # type: ignore[no-untyped-def]
    """``own += gap directionᵀ`` and ``product = other otherᵀ w``."""
    scores[:] = 0
    for j in range(w.size):
        for q in range(scores.size):
            own[j, q] += gap[j] * direction[q]
            scores[q] += other[j, q] * w[j]
    for j in range(w.size):
        product[j] = dot(other[j], scores)


@reordering_kernel
def _compare(x, centre, w):  # type: ignore[no-untyped-def]
    """``x −= centre``; returns x·w and ‖x‖²."""
    score = 0.0
    distance = 0.0
    for j in range(x.size):
        x[j] -= centre[j]
        score += x[j] * w[j]
        distance += x[j] * x[j]
    return score, distance


class _Memory(NamedTuple):
    """State of the positives (first) and of the negatives (second)."""

    counts: Indices
    spreads: Array  # Σ ‖x − c‖², the trace of the scatter Σ (x − c)(x − c)ᵀ
    centres: Floats
    scatters: Floats  # lower triangles, without columns where S is sketched
    sketches: Floats  # Z = Σ (x − c) rᵀ, whose ZZᵀ has the scatter as its mean
    sums: Floats  # Σ r


@kernel
def _descend_rows(table, rows, positive, step_size, alpha, memory, draws, w):  # type: ignore[no-untyped-def]
    """Take one step for each row, in order; returns the last step size.

    A ``step_size`` of 0 stands for the automatic one. ``draws`` holds a random vector for each row;
    without columns, S is exact.
    """
    counts, spreads, centres = memory.counts, memory.spreads, memory.centres
    scatters, sketches, sums = memory.scatters, memory.sketches, memory.sums
    x, gap, product = np.empty_like(w), np.empty_like(w), np.empty_like(w)
    number = w.dtype.type
    once = np.ones(1, w.dtype)
    rank = draws.shape[1]
    direction = np.empty(rank, w.dtype)
    scores = np.empty(rank, w.dtype)
    step = step_size
    for i in range(rows.size):
        x[:] = 0
        add_rows(table, rows[i : i + 1], once, x)
        own = 0 if positive[rows[i]] else 1
        other = 1 - own
        counts[own] += 1
        share = number(1.0 / counts[own])
        kept = number(1.0 - 1.0 / counts[own])
        spreads[own] += kept * _move_centre(x, share, centres[own], gap)
        if rank == 0:
            _fold_scatter(scatters[own], scatters[other], gap, kept, w, product)
        else:
            # Z = Σ (x_i − c) r_iᵀ about a centre that has moved: the new row joins, the old rows
            # are shifted, and both are multiples of the gap.
            for q in range(rank):
                direction[q] = kept * draws[i, q] - share * sums[own, q]
                sums[own, q] += draws[i, q]
            _fold_sketch(sketches[own], sketches[other], gap, direction, w, scores, product)
        if counts[other] == 0:
            continue
        score, distance = _compare(x, centres[other], w)
        if step_size == 0.0:
            # Half of 1 / (a bound of this step's curvature), never of less than a usual row's.
            usual = spreads[own] / counts[own]
            bound = max(distance, usual) + spreads[other] / counts[other] + alpha
            step = 0.5 / bound if bound > 0 else 0.0
        pull = number(step * (score - (1.0 if own == 0 else -1.0)))
        decay = number(1.0 - step * alpha)
        turn = number(step / counts[other])
        for j in range(w.size):
            w[j] = decay * w[j] - pull * x[j] - turn * product[j]
    return step


class OPAUCState(RowState):
    """OPAUC between two rows: ``counts`` and ``centres`` of each class so far, and S."""

    method = "OPAUC"
    step: float = 0.0

    def __init__(
        self,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        step_size: float | Literal["auto"] = "auto",
        alpha: float = 1e-4,
        rank: int = 50,
        exact_limit: int = 5000,
        start: npt.ArrayLike | None = None,
        rng: np.random.Generator,
    ) -> None:
        self.step = self._step_size = 0.0 if isinstance(step_size, str) else float(step_size)
        self._alpha, self._rng = float(alpha), rng
        exact = n_features <= exact_limit
        self._rank = 0 if exact else rank
        self.w: Floats = np.zeros(n_features, dtype)
        if start is not None:
            self.w[:] = start
        self.counts, self._spreads = np.zeros(2, np.int64), np.zeros(2)
        self.centres: Floats = np.zeros((2, n_features), dtype)
        triangle = n_features * (n_features + 1) // 2 if exact else 0
        self._scatters: Floats = np.zeros((2, triangle), dtype)
        self._sketches: Floats = np.zeros((2, 0 if exact else n_features, self._rank), dtype)
        self._sums: Floats = np.zeros((2, self._rank), dtype)

    @property
    def means(self) -> tuple[Floats, Floats]:
        """Class means of the rows so far."""
        return self.centres[0], self.centres[1]

    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows."""
        memory = _Memory(
            self.counts, self._spreads, self.centres, self._scatters, self._sketches, self._sums
        )
        for first in range(0, rows.size, _CHUNK):
            chunk = rows[first : first + _CHUNK]
            self.step = _descend_rows(
                table, chunk, positive, self._step_size, self._alpha, memory,
                self._draw(chunk.size), self.w,
            )  # fmt: skip
            if not np.isfinite(self.w).all():
                raise ValueError(
                    f"OPAUC diverged within {self.counts.sum()} rows with "
                    f"step_size={self.step:g}: give a smaller one, or rescale the columns"
                )

    def _draw(self, n_rows: int) -> Floats:
        """Draw r with E[r·r] = 1 for each row; the same numbers however the rows are parted."""
        draws: Floats = self._rng.standard_normal((n_rows, self._rank))
        return (draws / math.sqrt(max(self._rank, 1))).astype(self.w.dtype)


def opauc(
    objective: AUCObjective,
    *,
    step_size: float | Literal["auto"] = "auto",
    alpha: float = 1e-4,
    rank: int = 50,
    exact_limit: int = 5000,
    start: npt.ArrayLike | None = None,
    max_epochs: int = 1,
    rng: np.random.Generator | None = None,
    **epochs: Any,
) -> SolverResult:
    """Minimise F(w) + alpha‖w‖² row by row, in one pass.

    Parameters
    ----------
    objective : AUCObjective
        The data, without sample weights.
    step_size, alpha, rank, exact_limit
        As for :class:`sparseauc_paper.baselines.OPAUCClassifier`.
    start : array-like of shape (d,), optional
        The first w, zero by default.
    max_epochs : int, default=1
        Passes over the rows.
    rng : numpy.random.Generator, optional
        Source of the random orders and of the sketches.
    **epochs
        ``tol``, ``shuffle`` and ``callback``, as in :func:`sparseauc.solvers.sht_auc`.

    Returns
    -------
    SolverResult
        The last iterate.

    Notes
    -----
    The curvature of a step, the largest eigenvalue of (x − c)(x − c)ᵀ + S + alpha·I, is at most
    ‖x − c‖² + tr S + alpha. The automatic step is half of one over this bound, with tr S of the
    row's own class in place of ‖x − c‖² where that is smaller. So no step overshoots, and steps
    soon become nearly constant, at about 1/(2 tr(S₊ + S₋)).

    A sketch replaces the scatter Σ (x_i − c)(x_i − c)ᵀ by ZZᵀ with Z = Σ (x_i − c) r_iᵀ and
    r_i ~ N(0, I/rank), which is positive semi-definite and unbiased. The published programs sketch
    the rows without centring them, and correct for the centre afterwards: one with the wrong sign,
    both by ‖r̄‖²ccᵀ, which is only 1/n of what is needed. Here the sketch itself is centred.
    """
    rng = np.random.default_rng() if rng is None else rng
    state = OPAUCState(
        objective.n_features, objective.dtype, step_size=step_size, alpha=alpha, rank=rank,
        exact_limit=exact_limit, start=start, rng=rng.spawn(1)[0],
    )  # fmt: skip
    return state.run(objective, max_epochs=max_epochs, rng=rng, **epochs)


@dataclass(kw_only=True, eq=False, repr=False)
class OPAUCClassifier(UnweightedClassifier):
    """Rank positives above negatives after one pass over the rows (OPAUC).

    Minimises F(w) + alpha‖w‖² with the squared pairwise loss of the AUC,

        F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,

    by a gradient step for each row over its pairs with *all* earlier rows of the other class, known
    by their mean and covariance. Use it on streams, with ``partial_fit``, if columns are at most a
    few thousand and need not be selected: the answer is dense. The method defines no sample
    weights. Columns should be on comparable scales.

    Parameters
    ----------
    step_size : float or "auto", default="auto"
        η, the same in every step. ``"auto"`` divides one half by a bound of each step's curvature,
        ‖x − c‖² + tr S + alpha with c and S the mean and covariance of the other class so far.
    alpha : float, default=1e-4
        Ridge (λ in the method's paper).
    rank : int, default=50
        Rank of the random sketches of the covariances if X has more than ``exact_limit`` columns
        (τ in the method's paper).
    exact_limit : int, default=5000
        Largest number of columns with exact covariances, which take d(d + 1) numbers; sketches
        take 2·d·rank.
    max_epochs : int, default=1
        Passes over the rows in ``fit``. More than one helps if columns are correlated and rows few.
    warm_start : bool, default=False
        Start ``fit`` from the coefficients of the previous fit, with new means and covariances.
    zero_threshold, tol, shuffle, record_history, verbose
        As for :class:`SPAMClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the row order and of the sketches.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_, feature_names_in_
        As for :class:`SHTAUCClassifier`; ``coef_`` is the last iterate. After ``partial_fit`` alone
        ``n_iter_`` is 1, and there is no ``objective_``.

    Notes
    -----
    A fitted model keeps the means and covariances for ``partial_fit``: 200 MB for 5000 columns.

    References
    ----------
    W. Gao, R. Jin, S. Zhu and Z.-H. Zhou, "One-Pass AUC Optimization", International Conference on
    Machine Learning, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=50, k=5, mu=1.0, r=0.1, random_state=0)
    >>> whole = OPAUCClassifier(shuffle=False).fit(X, y)
    >>> stream = OPAUCClassifier()
    >>> for part in np.array_split(np.arange(2000), 8):
    ...     stream = stream.partial_fit(X[part], y[part], classes=[-1, 1])
    >>> bool(np.all(stream.coef_ == whole.coef_))
    True
    """

    alpha: float = 1e-4
    rank: int = 50
    exact_limit: int = 5000
    max_epochs: int = 1

    _parameter_constraints = UnweightedClassifier._parameter_constraints | {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "exact_limit": [Interval(Integral, 0, None, closed="left")],
    }
    _state_type = OPAUCState
    _continues = True

    @property
    def _descends_from_zero(self) -> bool:  # type: ignore[override]
        # The automatic step may end a little above 1 where there is nothing to learn.
        return self.step_size != "auto"

    def _settings(self, table: Table, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        names = ("step_size", "alpha", "rank", "exact_limit")
        return {"rng": rng.spawn(1)[0], **{name: getattr(self, name) for name in names}}
