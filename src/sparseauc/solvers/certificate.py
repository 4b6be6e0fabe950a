"""How far from the best k columns a support can be at most, and a search that leaves nothing open.

    V = minimum of F(w) + alpha‖w‖²   subject to   ‖w‖₀ ≤ k,       F(w) = 1 + 2 w·δ + wᵀHw

Exchanges give a w, hence a number V cannot exceed. Here are numbers V cannot fall below, from the
perspective relaxation (`_perspective.py` derives them), and what follows from them:

*Elimination.* Columns A that every support must have are minimised out, exactly: of P = H + alpha I
they leave a constant, a vector and the Schur complement of P_AA on the rest, and k − |A| for k.

*Screening.* The point that proves a bound for all supports proves one for all supports with a given
column, and one for all without. Where these reach the value of a known solution, the column is out,
or in. Fewer columns leave more of P's diagonal to the relaxation, hence a better bound, and so on.

*Branching.* What is still open is split on the column that the relaxation decides least; the part
with the lowest bound is taken up first. Parts with few supports are enumerated.

The ridge carries the relaxation. On 1000 columns and as many rows, alpha = 10 closes in tenths of a
second; alpha = 1 leaves 1 to 10 %, which branching closes in seconds, minutes or not at all;
alpha = 0.1 leaves 30 to 60 % (benchmarks/certificate.py). With alpha = 0 and fewer rows than
columns the bound is the unconstrained minimum, 0: some w ranks all pairs perfectly. A few dozen
columns close with any alpha.

Bounds are true of H and δ as computed, with all rounding thereafter; of a float32 table H has seven
digits at best, so certify from float64. Where alpha is less than what rounding leaves open in H
(about 1e-13 for ten columns, 1e-9 for a thousand) they hold for the w with ‖w‖² ≤ 1000 on the
standardised scale.
"""

from __future__ import annotations

import heapq
import math
import time
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ..moments.gram import BATCH, StandardisedGram
from ._perspective import (
    EPS,
    Array,
    Indices,
    Mask,
    Relaxed,
    ascend,
    cholesky,
    enumerate_supports,
    prove,
    relax,
)
from .exchange import Solution

Status = Literal["optimal", "time_limit", "too_wide"]

# Up to this many columns H is formed whole: 72 MiB.
_WHOLE = 3000
# Numbers in rows of H that a wider problem may keep: 256 MiB.
_ROOM = 1 << 25
# Columns that join the point of a wide problem at a time, and how often they may.
_JOIN, _WIDE_ROUNDS = 64, 30
# Share of the ridge set aside, on wide problems, for what rounding may do to H.
_SET_ASIDE = 1e-3
# Squared length of the coefficients that are looked at without a ridge.
_LONGEST = 1e3
# Screening is repeated when it has removed this share of the columns.
_RESCREEN = 0.1
# Operations up to which the supports of a part are tried one by one: about 20 ms.
_ENUMERABLE = 1e8
# F(0) = 1: objectives below this are compared with it rather than with each other.
_SMALL = 1e-3
_TOL, _MAX_ITERATIONS = 1e-4, 400


class Bound(NamedTuple):
    """A number that F(w) + alpha‖w‖² cannot fall below.

    Attributes
    ----------
    value : float
        The bound; at most ``upper``.
    exact : bool
        Whether it is the minimum, rounding apart: all supports were tried, or nothing is better
        than ``upper``.
    """

    value: float
    exact: bool


class BranchResult(NamedTuple):
    """What a search over supports found and proved.

    Attributes
    ----------
    solution : Solution
        The best support met.
    lower_bound : float
        No support has a smaller objective.
    status : {"optimal", "time_limit", "too_wide"}
        "optimal" if nothing is left that could be better by ``gap_tol``; "too_wide" if more columns
        are left than H is formed for.
    nodes : int
        Parts of the problem that were bounded.
    """

    solution: Solution
    lower_bound: float
    status: Status
    nodes: int


class Certificate(NamedTuple):
    """A solution and how far from the best it can be at most.

    Attributes
    ----------
    solution : Solution
        As given, or better where the search met better.
    lower_bound : float
        No support has a smaller objective.
    gap : float
        (objective − lower_bound) / max(objective, 0.001); 0 if the solution is proved optimal.
    status : {"optimal", "time_limit", "too_wide"}
    """

    solution: Solution
    lower_bound: float
    gap: float
    status: Status


class _Node(NamedTuple):
    """The supports that have all columns ``included`` and others from ``free`` only.

    Columns are positions in the problem; ``relaxed`` speaks of the free ones. A node without free
    columns is solved: its bound is its minimum.
    """

    bound: float
    included: Indices
    free: Indices
    relaxed: Relaxed | None


class _Problem:
    """H + ridge on the columns in question, with what rounding may have done to it.

    Parameters
    ----------
    gram : StandardisedGram
    columns : ndarray of int64
    k : int
    alpha : float
    tol, max_iterations : float, int
        Effort spent on each relaxation.
    """

    def __init__(
        self,
        gram: StandardisedGram,
        columns: Indices,
        k: int,
        alpha: float,
        tol: float,
        max_iterations: int,
    ) -> None:
        self.columns = columns
        self.k = k
        self.alpha = alpha
        self.tol = tol
        self.max_iterations = max_iterations
        self.delta = gram.delta[columns]
        H = _rows(gram, columns, columns)
        H = (H + H.T) / 2
        # A matrix with a Cholesky factor in floating point has no eigenvalue below −margin.
        self.margin = max((columns.size + 3) * EPS * float(np.trace(H)), 1e-300)
        while cholesky(_shifted(H, 3 * self.margin)) is None:
            self.margin *= 10
        self.ridge = max(alpha, 8 * self.margin)
        self.P = _shifted(H, self.ridge)
        # A ridge above alpha costs its excess times ‖w‖²; what is eliminated from P is off by no
        # more than a change of P within the margin would make it. alpha‖w‖² ≤ V ≤ F(0) = 1.
        longest = min(_LONGEST, 1 / alpha) if alpha > 0 else _LONGEST
        self.allowance = (self.ridge - alpha) * longest + self.margin * (1 + longest)

    def eliminate(self, included: Indices, free: Indices) -> tuple[Array, Array, float]:
        """P, δ and the constant of the problem on the free columns."""
        P = self.P[np.ix_(free, free)]
        delta = self.delta[free]
        constant = 1.0 - self.allowance
        if included.size:
            block = self.P[np.ix_(included, included)]
            across = self.P[np.ix_(included, free)]
            half, centre = _halves(block, across, self.delta[included])
            P -= half.T @ half
            delta = delta - centre @ half
            constant -= float(centre @ centre)
        return P, delta, constant

    def tighten(
        self, included: Indices, free: Indices, start: Array | None, D: Array, cutoff: float
    ) -> _Node:
        """Bound a part of the problem, and shrink it to what can be below ``cutoff``.

        Parameters
        ----------
        included, free : ndarray of int64
            Positions of columns.
        start : ndarray of shape (n_free,), optional
            A point near the relaxation's minimiser; the minimiser over all free columns by default.
        D : ndarray of shape (n_free,)
            Leaves P − D ⪰ 0, as every D does that did so for a part containing this one.
        cutoff : float
            Supports that reach it are of no interest.
        """
        bound = 0.0  # a mean of squares
        while True:
            k = self.k - included.size
            P, delta, constant = self.eliminate(included, free)
            if k == 0:
                return _Node(max(bound, constant), included, free[:0], None)
            if start is None or free.size <= k:
                start = _minimiser(P, delta)
            if free.size <= k:
                minimum = constant + float(delta @ start)
                support = np.concatenate([included, free])
                return _Node(max(bound, minimum), support, free[:0], None)
            relaxed = relax(
                P, delta, constant, k, start=start, diagonal=D, margin=self.margin, target=cutoff,
                tol=self.tol, max_iterations=self.max_iterations,
            )  # fmt: skip
            bound = max(bound, relaxed.bound)
            if bound < cutoff and math.comb(free.size, k - 1) * free.size * k <= _ENUMERABLE:
                gain, best = enumerate_supports(P, delta, k)
                support = np.concatenate([included, free[best]])
                return _Node(max(bound, constant - gain), support, free[:0], None)
            join, stay = _screen(relaxed.bound, relaxed.terms, k, cutoff)
            if bound >= cutoff or (stay.all() and not join.any()):
                return _Node(bound, included, free, relaxed)
            before = free.size
            included = np.concatenate([included, free[join]])
            free, start, D = free[stay], relaxed.point[stay], relaxed.diagonal[stay]
            if before - free.size < _RESCREEN * before and included.size < self.k < free.size:
                rest = (part[stay] for part in relaxed[1:])
                return _Node(bound, included, free, Relaxed(relaxed.bound, *rest))

    def solve(self, support: Indices) -> Solution:
        """Minimise on a support; the objective is without the excess of the ridge."""
        block, delta = self.P[np.ix_(support, support)], self.delta[support]
        coef = _minimiser(block, delta)
        excess = (self.ridge - self.alpha) * float(coef @ coef)
        value = 1.0 + float(2 * delta @ coef + coef @ block @ coef) - excess
        order = np.argsort(self.columns[support])
        return Solution(self.columns[support][order], coef[order], value)


def lower_bound(
    gram: StandardisedGram,
    k: int,
    alpha: float = 0.0,
    *,
    fixed: npt.ArrayLike = (),
    excluded: npt.ArrayLike = (),
    upper: float | None = None,
    max_iterations: int = _MAX_ITERATIONS,
    tol: float = _TOL,
) -> Bound:
    """Find a number that F(w) + alpha‖w‖² cannot fall below, for any support of k columns.

    Up to 3000 columns H is formed whole. Beyond, the bound comes from the rows of H on the columns
    where the relaxation is not zero, without improving the diagonal; where ``upper`` screens out
    enough columns, the rest is treated as a smaller problem. Without a ridge the bound of so wide
    a problem is 0.

    Parameters
    ----------
    gram : StandardisedGram
    k : int
        Number of columns, those fixed among them.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    fixed, excluded : array-like of int
        Columns in every support, and in none.
    upper : float, optional
        Objective of a solution. Columns that nothing better can have, or do without, are then found
        and tighten the bound.
    max_iterations : int, default=400
        Proximal gradient steps for each diagonal.
    tol : float, default=1e-4
        Share by which the bound may fall short of the relaxation's minimum.

    Returns
    -------
    Bound

    Examples
    --------
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.moments import class_moments
    >>> from sparseauc.moments.gram import StandardisedGram
    >>> from sparseauc.solvers.exchange import exchange_path
    >>> X, y = make_outbreak(n=500, d=100, k=5, mu=1.0, random_state=0)
    >>> gram = StandardisedGram(class_moments(X, y), capacity=100)
    >>> found = exchange_path(gram, 5, alpha=1.0)[-1].objective
    >>> lower_bound(gram, 5, alpha=1.0).value <= found
    True
    """
    cutoff = np.inf if upper is None else upper
    _, node = _root(gram, k, alpha, fixed, excluded, cutoff, tol, max_iterations)
    return Bound(min(node.bound, cutoff), node.free.size == 0 or node.bound >= cutoff)


def branch_and_bound(
    gram: StandardisedGram,
    k: int,
    alpha: float = 0.0,
    *,
    fixed: npt.ArrayLike = (),
    excluded: npt.ArrayLike = (),
    start: Solution,
    time_limit: float = 10.0,
    gap_tol: float = 1e-6,
) -> BranchResult:
    """Minimise F(w) + alpha‖w‖² over all supports of k columns, with proof.

    Parameters
    ----------
    gram : StandardisedGram
    k : int
        Number of columns, those fixed among them.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    fixed, excluded : array-like of int
        Columns in every support, and in none.
    start : Solution
        The best solution known, as from ``exchange_path``.
    time_limit : float, default=10.0
        Seconds after which no further part of the problem is taken up. The whole problem is bounded
        once however short it is.
    gap_tol : float, default=1e-6
        Share of the objective (of 0.001 where it is less) below which improvements do not count.

    Returns
    -------
    BranchResult
    """
    end = time.monotonic() + time_limit
    best = start

    def cutoff() -> float:
        return best.objective - gap_tol * max(best.objective, _SMALL)

    problem, node = _root(gram, k, alpha, fixed, excluded, cutoff(), _TOL, _MAX_ITERATIONS)
    if problem is None:
        status: Status = "optimal" if node.bound >= cutoff() else "too_wide"
        return BranchResult(best, min(node.bound, cutoff()), status, 1)
    nodes = 1
    solved = np.inf
    # Entries are told apart by number: nodes of equal bound come in the order they were made.
    heap = [(node.bound, nodes, node)]
    while heap and heap[0][0] < cutoff() and (time.monotonic() < end or heap[0][2].relaxed is None):
        bound, _, node = heapq.heappop(heap)
        included, free, relaxed = node.included, node.free, node.relaxed
        if relaxed is None:
            solved = min(solved, bound)
            best = min(best, problem.solve(included), key=lambda solution: solution.objective)
            continue
        largest = np.argsort(-relaxed.shares, kind="stable")[: k - included.size]
        rounded = problem.solve(np.concatenate([included, free[largest]]))
        best = min(best, rounded, key=lambda solution: solution.objective)
        split = int(np.argmax(relaxed.shares * (1.0 - relaxed.shares)))
        rest = np.arange(free.size) != split
        for part in (np.append(included, free[split]), included):
            child = problem.tighten(
                part, free[rest], relaxed.point[rest], relaxed.diagonal[rest], cutoff()
            )
            nodes += 1
            if child.bound < cutoff():
                child = child._replace(bound=max(child.bound, bound))
                heapq.heappush(heap, (child.bound, nodes, child))
    # All that was left out reached the cutoff of its time, and cutoffs only fall.
    open_bound = heap[0][0] if heap else np.inf
    status = "optimal" if open_bound >= cutoff() else "time_limit"
    return BranchResult(best, min(open_bound, solved, cutoff()), status, nodes)


def certify(
    gram: StandardisedGram,
    solution: Solution,
    k: int,
    alpha: float = 0.0,
    *,
    fixed: npt.ArrayLike = (),
    excluded: npt.ArrayLike = (),
    time_limit: float = 10.0,
) -> Certificate:
    """Say how far a solution is from the minimum of F(w) + alpha‖w‖² over k columns, at most.

    Parameters
    ----------
    gram : StandardisedGram
    solution : Solution
        As from ``exchange_path`` with the same arguments.
    k : int
        Number of columns, those fixed among them.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    fixed, excluded : array-like of int
        Columns in every support, and in none.
    time_limit : float, default=10.0
        Seconds for closing the gap by branching; with 0 the whole problem is bounded, once.

    Returns
    -------
    Certificate
    """
    result = branch_and_bound(
        gram, k, alpha, fixed=fixed, excluded=excluded, start=solution, time_limit=time_limit
    )
    objective, bound = result.solution.objective, result.lower_bound
    gap = 0.0 if result.status == "optimal" else (objective - bound) / max(objective, _SMALL)
    return Certificate(result.solution, bound, gap, result.status)


def _root(
    gram: StandardisedGram,
    k: int,
    alpha: float,
    fixed: npt.ArrayLike,
    excluded: npt.ArrayLike,
    cutoff: float,
    tol: float,
    max_iterations: int,
) -> tuple[_Problem | None, _Node]:
    """Bound the whole problem.

    There is no problem to go on with where too many columns are left to form H, or no need to.
    """
    included, barred = (np.unique(np.asarray(c, np.int64)) for c in (fixed, excluded))
    for column in np.intersect1d(included, barred)[:1]:
        raise ValueError(f"column {column} is both fixed and excluded")
    if k < included.size:
        raise ValueError(f"k={k} is less than the {included.size} columns fixed")
    # A column without variance explains nothing and would leave no diagonal to take out of H.
    usable = gram.diagonal > 0
    usable[included] = usable[barred] = False
    free = np.flatnonzero(usable)
    bound = 0.0  # a mean of squares
    if included.size + free.size > _WHOLE and included.size < k < free.size and alpha > 0:
        bound, included, free = _screen_wide(
            gram, included, free, k, alpha, cutoff, tol, max_iterations
        )
    columns = np.concatenate([included, free])
    first, others = np.split(np.arange(columns.size), [included.size])
    if columns.size > _WHOLE or bound >= cutoff:
        return None, _Node(bound, first, others, None)
    problem = _Problem(gram, columns, k, alpha, tol, max_iterations)
    D = np.full(free.size, problem.ridge - 4 * problem.margin)
    node = problem.tighten(first, others, None, D, cutoff)
    return problem, node._replace(bound=max(node.bound, bound))


def _screen_wide(
    gram: StandardisedGram,
    included: Indices,
    free: Indices,
    k: int,
    alpha: float,
    cutoff: float,
    tol: float,
    max_iterations: int,
) -> tuple[float, Indices, Indices]:
    """Bound and screen without forming H: the bound at p needs the rows where p is not zero.

    The relaxation is solved on a few columns; those outside whose terms are too large for z = 0
    join. H ⪰ 0 as a sum of squares, and a share of the ridge makes up for rounding in it.
    """
    k -= included.size
    constant, delta = 1.0, gram.delta[free]
    half = np.zeros((0, free.size))
    if included.size:
        block = _shifted(_rows(gram, included, included), alpha)
        half, centre = _halves(block, _rows(gram, included, free), gram.delta[included])
        delta = delta - centre @ half
        constant -= float(centre @ centre)
    D = np.full(free.size, (1 - _SET_ASIDE) * alpha)
    active = np.empty(0, np.int64)
    joining = np.argsort(-np.abs(delta), kind="stable")[: max(_JOIN, 2 * k)]
    rows = np.empty((0, free.size))
    point = np.empty(0)
    bound, terms = -np.inf, np.zeros(free.size)
    for _ in range(_WIDE_ROUNDS):
        new = _rows(gram, free[joining], free) - half[:, joining].T @ half
        new[np.arange(joining.size), joining] += _SET_ASIDE * alpha
        rows, active = np.vstack([rows, new]), np.concatenate([active, joining])
        point = np.concatenate([point, np.zeros(joining.size)])
        Q = np.ascontiguousarray(rows[:, active])
        point, _ = ascend(
            (Q + Q.T) / 2, D[active], delta[active], constant, k, point, cutoff, tol, max_iterations
        )
        found, at_point = prove(rows, active, point, D, delta, constant, k)
        if found > bound:
            bound, terms = found, at_point
        level = np.partition(at_point[active], active.size - k)[active.size - k]
        excess = at_point - (1 + tol) * level
        excess[active] = 0.0
        joining = np.argsort(-excess, kind="stable")[:_JOIN]
        joining = joining[excess[joining] > 0]
        full = (active.size + joining.size) * free.size > _ROOM
        if joining.size == 0 or full or bound >= cutoff:
            break
    join, stay = _screen(bound, terms, k, cutoff)
    return max(bound, 0.0), np.concatenate([included, free[join]]), free[stay]


def _screen(bound: float, terms: Array, k: int, cutoff: float) -> tuple[Mask, Mask]:
    """Columns that any support below ``cutoff`` has, and those on which it is open."""
    last_in, first_out = -np.partition(-terms, [k - 1, k])[[k - 1, k]]
    join = bound + terms - first_out >= cutoff
    leave = bound + last_in - terms >= cutoff
    return join, ~(join | leave)


def _halves(block: Array, across: Array, delta: Array) -> tuple[Array, Array]:
    """L⁻¹ of ``across`` and of ``delta``, where LLᵀ is the block of columns to be eliminated."""
    half, centre = np.split(
        scipy.linalg.solve_triangular(
            scipy.linalg.cholesky(block, lower=True, check_finite=False),
            np.column_stack([across, delta]),
            lower=True,
            check_finite=False,
        ),
        [across.shape[1]],
        axis=1,
    )
    return half, centre[:, 0]


def _minimiser(P: Array, delta: Array) -> Array:
    """Minimiser of 2 w·δ + wᵀPw."""
    factor = scipy.linalg.cho_factor(P, lower=True, check_finite=False)
    w: Array = -scipy.linalg.cho_solve(factor, delta, check_finite=False)
    return w


def _shifted(matrix: Array, shift: float) -> Array:
    """Copy of a matrix with ``shift`` added to its diagonal."""
    copy = matrix.copy()
    copy.flat[:: matrix.shape[0] + 1] += shift
    return copy


def _rows(gram: StandardisedGram, columns: Indices, among: Indices) -> Array:
    """Rows of H, few at a time: a gram of many columns keeps few."""
    rows = np.empty((columns.size, among.size))
    for low in range(0, columns.size, BATCH):
        rows[low : low + BATCH] = gram.rows(columns[low : low + BATCH])[:, among]
    return rows
