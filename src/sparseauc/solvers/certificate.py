"""Bounds on how far a support is from the best k columns, and a search that leaves nothing open.

    V = minimum of F(w) + alpha‖w‖²   subject to   ‖w‖₀ ≤ k,       F(w) = 1 + 2 w·δ +
    wᵀHw

Exchanges give a w, hence a number V cannot exceed. Here are numbers V cannot fall
below, from the perspective relaxation (`_perspective.py` derives them), and what
follows from them:

*Elimination.* Columns A that every support must have are minimised out, exactly: of P =
H + alpha I they leave a constant, a vector and the Schur complement of P_AA on the
rest, and k − |A| for k.

*Screening.* The point that proves a bound for all supports proves one for all supports
with a given column, and one for all without. Where these reach the value of a known
solution, the column is out, or in. Fewer columns leave more of P's diagonal to the
relaxation, hence a better bound, and so on.

*Branching.* What is still open is split on the column that the relaxation decides
least; the part with the lowest bound is taken up first. Parts with few supports are
enumerated.

*Restrictions.* The bound takes the k largest of some terms t_j off a constant. With
costs c_j and a budget B, what k columns take off is at most

    μB + the k largest of (t_j − μ c_j)⁺        for every μ ≥ 0.

Columns that families or the budget no longer let join leave a part; the last list of a
part is minimised with its signs. So a search that ends has found the best feasible
list.

The ridge carries the relaxation. On 1000 columns and as many rows, alpha = 10 closes in
tenths of a second; alpha = 1 leaves 1 to 10 %, which branching closes in seconds,
minutes or not at all; alpha = 0.1 leaves 30 to 60 % (benchmarks/certificate.py). With
alpha = 0 and fewer rows than columns the bound is the unconstrained minimum, 0: some w
ranks all pairs perfectly. A few dozen columns close with any alpha.

*Rounding.* δ and H as computed are off by at most unit·m_j and unit·m_i m_j
(``Moments.rounding``), and so, with a unit for the number of columns, is every
elimination and Cholesky factorisation: each is exact for a matrix that close to the one
it was given. A matrix E with |E_ij| ≤ unit·m_i m_j lies between ± the diagonal r with
r_j = unit·m_j·Σm, as diagonally dominant matrices are definite; and 2|w_j|·unit·m_j ≤
r_j w_j² + unit·m_j/Σm. So a few r taken from the diagonal of P, and a few units from
the constant, turn what is computed into a bound on the exact minimum, for coefficients
of any length. Where this leaves P indefinite, as with columns that are nearly copies of
each other and alpha = 0, nothing is proved of the supports in question but that a mean
of squares is not negative.
"""

import heapq
import math
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import minimize_scalar

from ..errors import InputError
from ..moments.base import StandardisedGram
from ..utils.types import Array, Indices, Mask
from ._perspective import (
    EPS,
    Relaxed,
    ascend,
    cholesky,
    enumerate_supports,
    prove,
    relax,
)
from .exchange import Solution
from .restrictions import Restrictions
from .signed import minimise_signed

Status = Literal["optimal", "time_limit", "too_wide", "not_proven"]

# Up to this many columns H is formed whole: 72 MiB.
_WHOLE = 3000
# Numbers in rows of H that a wider problem may keep: 256 MiB.
_ROOM = 1 << 25
# Columns that join the point of a wide problem at a time, and how often they may.
_JOIN = 64
_WIDE_ROUNDS = 30
# Screening is repeated when it has removed this share of the columns.
_RESCREEN = 0.1
# Operations up to which the supports of a part are tried one by one: about 20 ms.
_ENUMERABLE = 1e8
# F(0) = 1: objectives below this are compared with it rather than with each other.
_SMALL = 1e-3
# Share by which the bound may fall short of the relaxation's minimum, and steps to come
# near it.
_TOL = 1e-4
_MAX_ITERATIONS = 400
# Share of the objective below which improvements do not count.
_GAP_TOL = 1e-6


class Certificate(NamedTuple):
    """A solution and how far from the best it can be at most.

    Attributes
    ----------
    solution : Solution
        As given, or better where the search met better.
    lower_bound : float
        No support has a smaller objective.
    gap : float
        (objective − lower_bound) / max(objective, 0.001); 0 if the solution is proved
        optimal.
    status : {"optimal", "time_limit", "too_wide", "not_proven"}
        "optimal" if nothing is left that could be better by a millionth; "too_wide" if
        more columns are left than H is formed for; "not_proven" if rounding forbids a
        better bound.
    nodes : int
        Parts of the problem that were bounded.
    """

    solution: Solution
    lower_bound: float
    gap: float
    status: Status
    nodes: int


class Node(NamedTuple):
    """The supports that have all columns ``included`` and others from ``free`` only.

    Columns are positions in the problem; ``relaxed`` speaks of the free ones. A node
    without free columns is solved: its bound is its minimum, as far as rounding lets
    that be known.
    """

    bound: float
    included: Indices
    free: Indices
    relaxed: Relaxed | None


class _Rounding:
    """Bounds on the rounding of δ, H and what is computed from them, on some columns.

    At most ``depth`` of them are eliminated, or factorised. ``magnitude`` and
    ``reserve`` are m and r of this module's docstring; ``ridge`` is alpha, less what
    the deviations it refers to may be off by.
    """

    def __init__(
        self, gram: StandardisedGram, alpha: float, columns: Indices, depth: int
    ) -> None:
        unit, magnitude = gram.quadratic.rounding()
        data = np.maximum(magnitude / gram.scale, np.sqrt(gram.diagonal))[columns]
        self.unit = unit + 4 * (depth + 3) * EPS
        self.magnitude: Array = np.sqrt(data**2 + alpha)
        self.reserve: Array = self.unit * self.magnitude * self.magnitude.sum()
        self.ridge: Array = alpha * (1.0 - 2.0 * self.unit * data**2)

    def of_objective(self, coef: Array, at: Indices) -> float:
        """Bound the error of the objective computed at some coefficients."""
        return self.unit * float(1.0 + np.abs(coef) @ self.magnitude[at]) ** 2


class _Candidate(NamedTuple):
    """A solution, with numbers its exact objective lies between."""

    solution: Solution
    low: float
    high: float


class Problem:
    """H + ridge on the columns in question, less what rounding may have done to it."""

    def __init__(
        self,
        gram: StandardisedGram,
        columns: Indices,
        k: int,
        alpha: float,
        restrictions: Restrictions,
    ) -> None:
        self.columns = columns
        self.restrictions = restrictions
        self.k = k
        self.alpha = alpha
        self.delta = gram.delta[columns]
        H = gram.block(columns, columns)
        self.H = (H + H.T) / 2
        self.rounding = _Rounding(gram, alpha, columns, columns.size)
        reserve = self.rounding.reserve
        # For H, for δ, and for both again when columns are eliminated.
        self.P = shifted(self.H, self.rounding.ridge - 4 * reserve)
        self.constant = 1.0 - 3 * self.rounding.unit
        # For an elimination, and a Cholesky factorisation after it.
        self.margin = 2 * reserve
        # H with one reserve is positive semidefinite, as H itself is in exact
        # arithmetic.
        self.diagonal = self.rounding.ridge - 6 * reserve
        self.definite = bool((self.diagonal > 0).all())
        self.lifted = self.P
        if not self.definite:
            self.diagonal = reserve
            self.definite = self.is_definite(np.arange(columns.size))
            lift = reserve
            while cholesky(shifted(self.lifted, -3 * reserve)) is None:
                lift = 10 * lift
                self.lifted = shifted(self.P, lift)

    def is_definite(self, columns: Indices) -> bool:
        """Tell whether P on some columns is proved to be positive definite, with room to spare."""
        block = self.P[np.ix_(columns, columns)]
        return cholesky(shifted(block, -3 * self.rounding.reserve[columns])) is not None

    def eliminate(
        self, P: Array, included: Indices, free: Indices
    ) -> tuple[Array, Array, float]:
        """P, δ and the constant of the problem on the free columns; −∞ if P is not definite."""
        delta = self.delta[free]
        constant = self.constant
        reduced = P[np.ix_(free, free)]
        if included.size:
            halves = _halves(
                P[np.ix_(included, included)],
                P[np.ix_(included, free)],
                self.delta[included],
            )
            if halves is None:
                return reduced, delta, -np.inf
            half, centre = halves
            reduced -= half.T @ half
            delta = delta - centre @ half
            constant -= float(centre @ centre)
        return reduced, delta, constant

    def _diagonal_of(
        self, included: Indices, free: Indices, D: Array
    ) -> tuple[bool, Array]:
        """Tell whether P is definite on some columns; find a D with P − D ⪰ 0 on the free ones."""
        if self.definite:
            return True, D
        return self.is_definite(np.concatenate([included, free])), self.diagonal[free]

    def tighten(
        self,
        included: Indices,
        free: Indices,
        start: Array | None,
        D: Array,
        cutoff: float,
    ) -> Node:
        """Bound a part of the problem, and shrink it to what can be below ``cutoff``.

        Where P is not definite on the columns of the part, a relaxation with more ridge
        shows where to split it, and proves nothing.

        ``start`` is near the relaxation's minimiser, by default that over all free
        columns. ``D`` leaves P − D ⪰ 0, as every D does that did so for a part
        containing this one.
        """
        bound = 0.0  # a mean of squares
        definite, D = self._diagonal_of(included, free, D)
        while True:
            chosen = self.columns[included]
            if not self.restrictions.allows(chosen):
                return Node(np.inf, included, free[:0], None)
            fits = self.restrictions.joins(chosen, self.columns[free])
            free = free[fits]
            D = D[fits]
            start = None if start is None else start[fits]
            most, costs, budget = self.restrictions.room(chosen, self.columns[free])
            k = min(self.k - included.size, most)
            if k == 0 or free.size <= k:
                support = np.concatenate([included, free if k else free[:0]])
                return Node(max(bound, self.settle(support)), support, free[:0], None)
            P, delta, constant = self.eliminate(
                self.P if definite else self.lifted, included, free
            )
            relaxed = relax(
                P,
                delta,
                constant,
                k,
                start=_minimiser(P, delta) if start is None else start,
                diagonal=D,
                margin=self.margin[free],
                target=cutoff,
                tol=_TOL,
                max_iterations=_MAX_ITERATIONS,
            )
            if definite:
                saved = np.partition(relaxed.terms, free.size - k)[
                    free.size - k :
                ].sum()
                saved -= _most_for(budget, relaxed.terms, costs, k)
                bound = max(bound, relaxed.bound + max(saved - EPS * free.size, 0.0))
            supports = math.comb(free.size, k - 1) * free.size * k
            if (
                bound < cutoff
                and supports <= _ENUMERABLE
                and self.restrictions.none_bind
            ):
                least, support = self.enumerate(included, free, k)
                return Node(max(bound, least), support, free[:0], None)
            if not definite:
                return Node(bound, included, free, relaxed)
            join, stay = _screen(relaxed.bound, relaxed.terms, k, cutoff)
            if bound >= cutoff or (stay.all() and not join.any()):
                return Node(bound, included, free, relaxed)
            before = free.size
            included = np.concatenate([included, free[join]])
            free = free[stay]
            start = relaxed.point[stay]
            D = relaxed.diagonal[stay]
            if (
                before - free.size < _RESCREEN * before
                and included.size < self.k < free.size
            ):
                return Node(bound, included, free, _restrict(relaxed, stay))

    def settle(self, support: Indices) -> float:
        """Bound a part of one support."""
        return self.minimum(support)

    def enumerate(
        self, included: Indices, free: Indices, k: int
    ) -> tuple[float, Indices]:
        """Try all supports of a part: a bound, 0 where P is not definite on one, and the best."""
        P, delta, constant = self.eliminate(self.P, included, free)
        best = np.arange(k)[None]
        _, gain, definite = enumerate_supports(
            P, delta, np.zeros(free.size), -1.0, best, True
        )
        return constant - gain if definite else 0.0, np.concatenate(
            [included, free[best[0]]]
        )

    def split(self, node: Node, cutoff: float) -> list[Node]:
        """Divide a part on the column that its relaxation decides least, and bound both parts."""
        included = node.included
        free = node.free
        relaxed = node.relaxed
        assert relaxed is not None
        column = int(np.argmax(relaxed.shares * (1.0 - relaxed.shares)))
        rest = np.arange(free.size) != column
        start = relaxed.point[rest]
        D = relaxed.diagonal[rest]
        parts = [
            self.tighten(part, free[rest], start, D, cutoff)
            for part in (np.append(included, free[column]), included)
        ]
        return [part._replace(bound=max(part.bound, node.bound)) for part in parts]

    def minimum(self, support: Indices) -> float:
        """Bound the objective on a support, with coefficients of the right signs."""
        signs = self.restrictions.signs_of(self.columns[support])
        if not signs.any():
            return self.eliminate(self.P, support, support[:0])[2]
        block = self.P[np.ix_(support, support)]
        explained = minimise_signed(
            block, self.delta[support], signs, np.zeros(support.size)
        )[1]
        return -np.inf if explained == -np.inf else self.constant - float(explained)

    def solve(self, support: Indices) -> _Candidate | None:
        """Minimise on a support; None if it is infeasible."""
        signs = self.restrictions.signs_of(self.columns[support])
        if signs.any():
            block = shifted(self.H[np.ix_(support, support)], self.alpha)
            coef = minimise_signed(
                block, self.delta[support], signs, np.zeros(support.size)
            )[0]
            support = support[coef != 0.0]
        if not self.restrictions.allows(self.columns[support]):
            return None
        block = self.H[np.ix_(support, support)]
        delta = self.delta[support]
        coef = np.zeros(support.size)
        for matrix in (
            shifted(block, self.alpha),
            self.lifted[np.ix_(support, support)],
        ):
            if support.size and cholesky(matrix.copy()) is not None:
                coef = _minimiser(matrix, delta)
                break
        if not self.restrictions.right_signs(self.columns[support], coef):
            return None  # by rounding
        order = np.argsort(self.columns[support])
        error = self.rounding.of_objective(coef, support)
        value = _objective(block, delta, self.alpha, coef)
        return _Candidate(
            Solution(self.columns[support][order], coef[order], value),
            value - error,
            value + error,
        )


def certify(
    gram: StandardisedGram,
    solution: Solution,
    k: int,
    alpha: float = 0.0,
    *,
    restrictions: Restrictions | None = None,
    time_limit: float = 10.0,
) -> Certificate:
    """Minimise F(w) + alpha‖w‖² over all supports of k columns, as far as time allows, with proof.

    Parameters
    ----------
    gram : StandardisedGram
    solution : Solution
        The best one known, as from ``exchange_path`` with the same arguments.
    k : int
        Number of columns, those fixed among them.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    restrictions : Restrictions, optional
        Without groups.
    time_limit : float, default=10.0
        Seconds after which no further part of the problem is taken up. The whole
        problem is bounded once however short it is.
    """
    end = time.monotonic() + time_limit
    best = _candidate(gram, solution, alpha)

    def cutoff() -> float:
        return best.high - _GAP_TOL * max(best.high, _SMALL)

    def better(other: _Candidate | None) -> _Candidate:
        # Surely better: rounding must not make the model worse.
        return best if other is None or not other.high < best.low else other

    def proved(bound: float, nodes: int, otherwise: Status) -> Certificate:
        if bound >= cutoff():
            return Certificate(best.solution, max(0.0, cutoff()), 0.0, "optimal", nodes)
        objective = _candidate(gram, best.solution, alpha).high
        bound = max(0.0, bound)
        gap = (objective - bound) / max(objective, _SMALL)
        return Certificate(best.solution, bound, gap, otherwise, nodes)

    problem, node = bound_all(gram, k, alpha, restrictions or Restrictions(), cutoff())
    if problem is None:
        return proved(
            node.bound, 1, "not_proven" if node.free.size <= _WHOLE else "too_wide"
        )
    nodes = 1
    solved = np.inf
    # Entries are told apart by number: nodes of equal bound come in the order they were
    # made.
    heap = [(node.bound, nodes, node)]
    # A solved part whose bound is too low stays so: no other can make the whole any
    # better known.
    while (
        heap
        and heap[0][0] < min(cutoff(), solved)
        and (time.monotonic() < end or heap[0][2].relaxed is None)
    ):
        bound, _, node = heapq.heappop(heap)
        included = node.included
        free = node.free
        relaxed = node.relaxed
        if relaxed is None:
            solved = min(solved, bound)
            best = better(problem.solve(included))
            continue
        largest = np.argsort(-relaxed.shares, kind="stable")[: k - included.size]
        best = better(problem.solve(np.concatenate([included, free[largest]])))
        for child in problem.split(node, cutoff()):
            nodes += 1
            if child.bound < cutoff():
                heapq.heappush(heap, (child.bound, nodes, child))
    # All that was left out reached the cutoff of its time, and cutoffs only fall.
    open_bound = heap[0][0] if heap else np.inf
    status: Status = "time_limit" if open_bound < solved else "not_proven"
    return proved(min(open_bound, solved), nodes, status)


def bound_all(
    gram: StandardisedGram,
    k: int,
    alpha: float,
    restrictions: Restrictions,
    cutoff: float,
    make: Callable[..., Problem] = Problem,
) -> tuple[Problem | None, Node]:
    """Bound the whole problem: no support of k columns that is below ``cutoff`` has less.

    Up to 3000 columns H is formed whole. Beyond, the bound comes from the rows of H on
    the columns where the relaxation is not zero; where the cutoff screens out enough
    columns, the rest is treated as a smaller problem. Without a ridge the bound of so
    wide a problem is 0. There is no problem to go on with where too many columns are
    left to form H, or no need to.
    """
    included = restrictions.fixed
    both = np.intersect1d(included, restrictions.excluded)
    if both.size:
        raise InputError(f"column {both[0]} is both fixed and excluded")
    if k < included.size:
        raise InputError(f"k={k} is less than the {included.size} columns fixed")
    over_budget = np.flatnonzero(~restrictions.within_budget(gram.n_features))
    barred = np.union1d(restrictions.excluded, np.setdiff1d(over_budget, included))
    k = max(included.size, min(k, restrictions.most_columns(gram.n_features)))
    # A column without variance explains nothing, takes no place and would leave no
    # diagonal to take out of H. One whose variance is as small as rounding might
    # explain something.
    usable = gram.diagonal > 0
    unknown = gram.quadratic.varies & ~usable
    unknown[barred] = False
    if unknown.any():
        return None, Node(0.0, included[:0], included[:0], None)
    included = included[usable[included]]
    usable[included] = usable[barred] = False
    free = np.flatnonzero(usable)
    bound = 0.0  # a mean of squares
    if (
        included.size + free.size > _WHOLE
        and included.size < k < free.size
        and alpha > 0
    ):
        bound, included, free = _screen_wide(gram, included, free, k, alpha, cutoff)
    columns = np.concatenate([included, free])
    first, others = np.split(np.arange(columns.size), [included.size])
    if columns.size > _WHOLE or bound >= cutoff:
        return None, Node(bound, first, others, None)
    problem = make(gram, columns, k, alpha, restrictions)
    node = problem.tighten(first, others, None, problem.diagonal[others], cutoff)
    return problem, node._replace(bound=max(node.bound, bound))


def _screen_wide(
    gram: StandardisedGram,
    included: Indices,
    free: Indices,
    k: int,
    alpha: float,
    cutoff: float,
) -> tuple[float, Indices, Indices]:
    """Bound and screen without forming H: the bound at p needs the rows where p is not zero.

    The relaxation is solved on a few columns; those outside whose terms are too large
    for z = 0 join. H ⪰ 0 as a sum of squares, and a share of the ridge makes up for
    rounding in it.
    """
    rounding = _Rounding(
        gram, alpha, np.concatenate([included, free]), included.size + _JOIN
    )
    reserve = rounding.reserve[included.size :]
    ridge = rounding.ridge[included.size :]
    D = ridge - 6 * reserve
    if not (D > 0).all():
        return 0.0, included, free
    k -= included.size
    constant = 1.0 - 3 * rounding.unit
    delta = gram.delta[free]
    half = np.zeros((0, free.size))
    if included.size:
        kept = (rounding.ridge - 4 * rounding.reserve)[: included.size]
        halves = _halves(
            shifted(gram.block(included, included), kept),
            gram.block(included, free),
            gram.delta[included],
        )
        if halves is None:
            return 0.0, included, free
        half, centre = halves
        delta = delta - centre @ half
        constant -= float(centre @ centre)
    active = np.empty(0, np.int64)
    joining = np.argsort(-np.abs(delta), kind="stable")[: max(_JOIN, 2 * k)]
    rows = np.empty((0, free.size))
    point = np.empty(0)
    bound = -np.inf
    terms = np.zeros(free.size)
    for _ in range(_WIDE_ROUNDS):
        new = gram.block(free[joining], free) - half[:, joining].T @ half
        new[np.arange(joining.size), joining] += 2 * reserve[joining]
        rows = np.vstack([rows, new])
        active = np.concatenate([active, joining])
        point = np.concatenate([point, np.zeros(joining.size)])
        Q = np.ascontiguousarray(rows[:, active])
        point, _ = ascend(
            (Q + Q.T) / 2,
            D[active],
            delta[active],
            constant,
            k,
            point,
            cutoff,
            _TOL,
            _MAX_ITERATIONS,
        )
        found, at_point = prove(rows, active, point, D, delta, constant, k)
        if found > bound:
            bound = found
            terms = at_point
        level = np.partition(at_point[active], active.size - k)[active.size - k]
        excess = at_point - (1 + _TOL) * level
        excess[active] = 0.0
        joining = np.argsort(-excess, kind="stable")[:_JOIN]
        joining = joining[excess[joining] > 0]
        full = (active.size + joining.size) * free.size > _ROOM
        if joining.size == 0 or full or bound >= cutoff:
            break
    join, stay = _screen(bound, terms, k, cutoff)
    return max(bound, 0.0), np.concatenate([included, free[join]]), free[stay]


def _restrict(relaxed: Relaxed, stay: Mask) -> Relaxed:
    """The relaxation, of the columns that stay."""
    return Relaxed(relaxed.bound, *(part[stay] for part in relaxed[1:]))


def _most_for(budget: float, terms: Array, costs: Array, k: int) -> float:
    """Bound the sum of the terms of any k columns within the budget."""

    def at_price(mu: float) -> float:
        net = np.maximum(terms - mu * costs, 0.0)
        return mu * budget + float(
            np.partition(net, net.size - k)[net.size - k :].sum()
        )

    if not costs.any():
        return float(np.partition(terms, terms.size - k)[terms.size - k :].sum())
    high = float(np.max(terms[costs > 0] / costs[costs > 0]))
    best = minimize_scalar(at_price, bounds=(0.0, high), method="bounded")
    return min(at_price(0.0), float(best.fun))


def _screen(bound: float, terms: Array, k: int, cutoff: float) -> tuple[Mask, Mask]:
    """Columns that any support below ``cutoff`` has, and those on which it is open."""
    last_in, first_out = -np.partition(-terms, [k - 1, k])[[k - 1, k]]
    join = bound + terms - first_out >= cutoff
    leave = bound + last_in - terms >= cutoff
    return join, ~(join | leave)


def _halves(block: Array, across: Array, delta: Array) -> tuple[Array, Array] | None:
    """L⁻¹ of ``across`` and of ``delta``, where LLᵀ is the block of columns to be eliminated."""
    factor = cholesky(block)
    if factor is None:
        return None
    both = np.column_stack([across, delta])
    solved = scipy.linalg.solve_triangular(factor, both, lower=True, check_finite=False)
    return solved[:, :-1], solved[:, -1]


def _minimiser(P: Array, delta: Array) -> Array:
    """Minimiser of 2 w·δ + wᵀPw."""
    factor = scipy.linalg.cho_factor(P, lower=True, check_finite=False)
    w: Array = -scipy.linalg.cho_solve(factor, delta, check_finite=False)
    return w


def _objective(H: Array, delta: Array, alpha: float, coef: Array) -> float:
    """F(w) + alpha‖w‖² for a w of any kind."""
    return 1.0 + float(2 * delta @ coef + coef @ H @ coef + alpha * coef @ coef)


def _candidate(gram: StandardisedGram, solution: Solution, alpha: float) -> _Candidate:
    """A solution with what its objective is for certain."""
    support, coef, _ = solution
    rounding = _Rounding(gram, alpha, support, support.size)
    error = rounding.of_objective(coef, np.arange(support.size))
    H = gram.block(support, support)
    value = _objective(H, gram.delta[support], alpha, coef)
    return _Candidate(solution, value - error, value + error)


def shifted(matrix: Array, shift: Array | float) -> Array:
    """Copy of a matrix with ``shift`` added to its diagonal."""
    copy = matrix.copy()
    copy.flat[:: matrix.shape[0] + 1] += shift
    return copy
