"""Bounds on how far a support is from the best k units, and a search that leaves nothing open.

    V = minimum of F(w) + alpha‖w‖²   subject to   supp(w) a union of at most k units,

    F(w) = 1 + 2 w·δ + wᵀHw

A unit is a column, or a group of columns that are chosen together. Exchanges give a w,
hence a number V cannot exceed. Here are numbers V cannot fall below, from the
perspective relaxation (`_perspective.py` derives them), and what follows from them:

*Elimination.* Columns A that every support must have are minimised out, exactly: of P =
H + alpha I they leave a constant, a vector and the Schur complement of P_AA on the
rest, and fewer units to choose.

*Screening.* The point that proves a bound for all supports proves one for all supports
with a given unit, and one for all without. Where these reach the value of a known
solution, the unit is out, or in. Fewer columns leave more of P's diagonal to the
relaxation, hence a better bound, and so on.

*Branching.* What is still open is split on the unit that the relaxation decides least;
the part with the lowest bound is taken up first. Parts with few supports are
enumerated.

*Restrictions.* Units that families or the budget no longer let join leave a part, and k
is no more than can join; the last list of a part is minimised with its signs. So a
search that ends has found the best feasible list.

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
each other and alpha = 0, nothing is proved but that a mean of squares is not negative,
and the first unit that depends on those before it is what to branch on.
"""

import heapq
import math
import time
from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import numpy as np
import scipy.linalg

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
    shifted,
)
from .exchange import DEPENDENT, Solution, solve_on
from .exchange_groups import independent
from .restrictions import Restrictions
from .signed import minimise_signed

Status = Literal["optimal", "time_limit", "too_wide", "not_proven"]

# Up to this many columns H is formed whole: 72 MiB.
_WHOLE = 3000
# Numbers in rows of H that a wider problem may keep: 256 MiB.
_ROOM = 1 << 25
# Units that join the point of a wide problem at a time, and how often they may.
_JOIN = 64
_WIDE_ROUNDS = 30
# Operations up to which the supports of a part are tried one by one: about 2 ms.
_ENUMERABLE = 1e7
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
    """The supports that have all units ``included`` and others from ``free`` only.

    Units are positions in the problem; ``relaxed`` speaks of the free ones. A node
    without it is settled: its bound is its minimum, as far as rounding lets that be
    known.
    """

    bound: float
    included: Indices
    free: Indices
    relaxed: Relaxed | None


class Units(NamedTuple):
    """Units of columns, one after the other.

    Attributes
    ----------
    numbers : ndarray of int
        Number of each unit among the restrictions.
    sizes : ndarray of int
        Columns of each unit.
    columns : ndarray of int
        Those of the first unit, those of the second, and so on.
    """

    numbers: Indices
    sizes: Indices
    columns: Indices

    @classmethod
    def of(cls, labels: Indices, usable: Mask) -> Self:
        """Bring the usable columns together, given the unit of each column."""
        columns = np.flatnonzero(usable)
        columns = columns[np.argsort(labels[columns], kind="stable")]
        return cls(*np.unique(labels[columns], return_counts=True), columns)

    def places(self, units: Indices) -> Indices:
        """Places of the columns of some units among all columns."""
        sizes = self.sizes[units]
        ends = np.cumsum(sizes)
        first = np.cumsum(self.sizes)[units] - ends
        return np.arange(sizes.sum()) + np.repeat(first, sizes)

    def take(self, units: Indices) -> Self:
        """Keep some units, in this order."""
        columns = self.columns[self.places(units)]
        return type(self)(self.numbers[units], self.sizes[units], columns)


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


class _Candidate(NamedTuple):
    """A solution, with numbers its exact objective lies between."""

    solution: Solution
    low: float
    high: float

    @classmethod
    def of(cls, gram: StandardisedGram, solution: Solution, alpha: float) -> Self:
        """Bound the error of the objective of a solution."""
        support, coef, _ = solution
        H = gram.block(support, support)
        value = 1.0 + float(2 * gram.delta[support] @ coef + coef @ H @ coef)
        value += alpha * float(coef @ coef)
        rounding = _Rounding(gram, alpha, support, support.size)
        length = 1.0 + float(np.abs(coef) @ rounding.magnitude)
        error = rounding.unit * length**2
        return cls(solution, value - error, value + error)


class Problem:
    """H + ridge on the units in question, less what rounding may have done to it."""

    def __init__(
        self,
        gram: StandardisedGram,
        units: Units,
        k: int,
        alpha: float,
        restrictions: Restrictions,
    ) -> None:
        self.units = units
        self.restrictions = restrictions
        self.signs = np.repeat(restrictions.signs_of(units.numbers), units.sizes)
        self.k = k
        self.alpha = alpha
        self.delta = gram.delta[units.columns]
        H = gram.block(units.columns, units.columns)
        self.H = (H + H.T) / 2
        rounding = _Rounding(gram, alpha, units.columns, units.columns.size)
        self.reserve = rounding.reserve
        # For H, for δ, and for both again when columns are eliminated.
        self.P = shifted(self.H, rounding.ridge - 4 * self.reserve)
        self.constant = 1.0 - 3 * rounding.unit
        # H with one reserve is positive semidefinite, as H itself is in exact
        # arithmetic.
        diagonal = rounding.ridge - 6 * self.reserve
        self.definite = bool((diagonal > 0).all())
        if not self.definite:
            diagonal = self.reserve
            self.definite = self.first_dependent(np.arange(units.numbers.size)) is None
        self.diagonal: Array = _least(diagonal, units.sizes)

    def first_dependent(self, units: Indices) -> int | None:
        """Place of the first of some units on which, with those before it, P may be indefinite.

        None if P is proved to be positive definite on all of them, with room to spare.
        """
        places = self.units.places(units)
        block = shifted(self.P[np.ix_(places, places)], -3 * self.reserve[places])
        _, failed = scipy.linalg.lapack.dpotrf(block, lower=1)
        ends = np.cumsum(self.units.sizes[units])
        return int(np.searchsorted(ends, failed)) if failed else None

    def eliminate(self, included: Indices, free: Indices) -> tuple[Array, Array, float]:
        """P, δ and the constant of the problem on the free units; −∞ if P is not definite."""
        first = self.units.places(included)
        rest = self.units.places(free)
        delta = self.delta[rest]
        constant = self.constant
        reduced = self.P[np.ix_(rest, rest)]
        if first.size:
            block = self.P[np.ix_(first, first)]
            across = self.P[np.ix_(first, rest)]
            halves = _halves(block, across, self.delta[first])
            if halves is None:
                return reduced, delta, -np.inf
            half, centre = halves
            reduced -= half.T @ half
            delta = delta - centre @ half
            constant -= float(centre @ centre)
        return reduced, delta, constant

    def tighten(
        self,
        included: Indices,
        free: Indices,
        start: Array,
        D: Array,
        cutoff: float,
    ) -> Node:
        """Bound a part of the problem, and shrink it to what can be below ``cutoff``.

        ``start`` is near the relaxation's minimiser, on the columns of the free units.
        ``D`` leaves P − D ⪰ 0 where P is definite, as every D does that did so for a
        part containing this one.
        """
        bound = 0.0  # a mean of squares
        sizes = self.units.sizes
        while True:
            chosen = self.units.numbers[included]
            if not self.restrictions.allows(chosen):
                return Node(np.inf, included, free[:0], None)
            fits = self.restrictions.joins(chosen, self.units.numbers[free])
            start = start[np.repeat(fits, sizes[free])]
            D = D[fits]
            free = free[fits]
            room = self.restrictions.room(chosen, self.units.numbers[free])
            k = min(self.k - included.size, room)
            if k == 0 or free.size <= k:
                support = np.concatenate([included, free if k else free[:0]])
                return Node(max(bound, self.settle(support)), support, free[:0], None)
            if self.is_enumerable(free, k):
                least, support = self.enumerate(included, free, k)
                return Node(max(bound, least), support, free[:0], None)
            if not self.definite:
                dependent = self.first_dependent(np.concatenate([included, free]))
                if dependent is not None:
                    return self._undecided(included, free, dependent, D)
            P, delta, constant = self.eliminate(included, free)
            relaxed = relax(
                P,
                delta,
                np.repeat(np.arange(free.size), sizes[free]),
                constant,
                k,
                start=start,
                diagonal=D,
                # For an elimination, and a Cholesky factorisation after it.
                margin=2 * self.reserve[self.units.places(free)],
                target=cutoff,
                tol=_TOL,
                max_iterations=_MAX_ITERATIONS,
            )
            bound = max(bound, relaxed.bound)
            join, stay = _screen(relaxed.bound, relaxed.terms, k, cutoff)
            if bound >= cutoff or (stay.all() and not join.any()):
                return Node(bound, included, free, relaxed)
            start = relaxed.point[np.repeat(stay, sizes[free])]
            D = relaxed.diagonal[stay]
            included = np.concatenate([included, free[join]])
            free = free[stay]

    def _undecided(
        self, included: Indices, free: Indices, dependent: int, D: Array
    ) -> Node:
        """Node of a part of which nothing is proved, to be split on the dependent unit."""
        if dependent < included.size:
            return Node(0.0, included, free[:0], None)
        shares = np.zeros(free.size)
        shares[dependent - included.size] = 0.5
        point = np.zeros(self.units.sizes[free].sum())
        return Node(0.0, included, free, Relaxed(0.0, shares, point, shares, D))

    def is_enumerable(self, free: Indices, k: int) -> bool:
        """Tell whether all supports of a part can be tried."""
        width = self.units.sizes[free].mean()
        operations = math.comb(free.size, k - 1) * free.size * k * width**3
        return bool(operations <= _ENUMERABLE) and self.restrictions.none_bind

    def settle(self, support: Indices) -> float:
        """Bound a part of one support."""
        return self.minimum(support)

    def enumerate(
        self, included: Indices, free: Indices, k: int
    ) -> tuple[float, Indices]:
        """Try all supports of a part: a bound, 0 where P is not definite on one, and the best."""
        P, delta, constant = self.eliminate(included, free)
        best = np.arange(k)[None]
        _, gain, definite = enumerate_supports(
            P, delta, self.units.sizes[free], np.zeros(delta.size), -1.0, best, True
        )
        least = constant - gain if definite else 0.0
        return least, np.concatenate([included, free[best[0]]])

    def split(self, node: Node, cutoff: float) -> list[Node]:
        """Divide a part on the unit that its relaxation decides least, and bound both parts."""
        _, included, free, relaxed = node
        assert relaxed is not None
        unit = int(np.argmax(relaxed.shares * (1.0 - relaxed.shares)))
        rest = np.arange(free.size) != unit
        start = relaxed.point[np.repeat(rest, self.units.sizes[free])]
        D = relaxed.diagonal[rest]
        parts = [
            self.tighten(part, free[rest], start, D, cutoff)
            for part in (np.append(included, free[unit]), included)
        ]
        return [part._replace(bound=max(part.bound, node.bound)) for part in parts]

    def minimum(self, support: Indices) -> float:
        """Bound the objective on a support, with coefficients of the right signs."""
        places = self.units.places(support)
        signs = self.signs[places]
        if not signs.any():
            return self.eliminate(support, support[:0])[2]
        block = self.P[np.ix_(places, places)]
        floor = np.zeros(places.size)
        explained = minimise_signed(block, self.delta[places], signs, floor)[1]
        return -np.inf if explained == -np.inf else self.constant - float(explained)

    def solve(self, support: Indices) -> Solution | None:
        """Minimise on a support; None if it is infeasible."""
        places = self.units.places(support)
        signs = self.signs[places]
        if signs.any():
            block = shifted(self.H[np.ix_(places, places)], self.alpha)
            floor = np.zeros(places.size)
            coef = minimise_signed(block, self.delta[places], signs, floor)[0]
            unit = np.repeat(np.arange(support.size), self.units.sizes[support])
            support = support[np.unique(unit[coef != 0.0])]
        if not self.restrictions.allows(self.units.numbers[support]):
            return None
        # Of columns that depend on each other the last ones go: fixed units come first.
        places = self.units.places(support)
        block = self.H[np.ix_(places, places)]
        places = places[independent(shifted(block, self.alpha), DEPENDENT)]
        places = places[np.argsort(self.units.columns[places])]
        block = self.H[np.ix_(places, places)]
        columns = self.units.columns[places]
        found = solve_on(block, self.delta[places], columns, self.alpha)
        # Rounding may turn a sign.
        right = (self.signs[places] * found.coef >= 0).all()
        return found if right else None


def certify(
    gram: StandardisedGram,
    solution: Solution,
    k: int,
    alpha: float = 0.0,
    *,
    restrictions: Restrictions | None = None,
    time_limit: float = 10.0,
) -> Certificate:
    """Minimise F(w) + alpha‖w‖² over all supports of k units, as far as time allows, with proof.

    Parameters
    ----------
    gram : StandardisedGram
    solution : Solution
        The best one known, as from ``exchange_path`` with the same arguments.
    k : int
        Number of units, those fixed among them.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    restrictions : Restrictions, optional
        Groups are units; without groups columns are.
    time_limit : float, default=10.0
        Seconds after which no further part of the problem is taken up. The whole
        problem is bounded once however short it is.
    """
    end = time.monotonic() + time_limit
    best = _Candidate.of(gram, solution, alpha)

    def cutoff() -> float:
        return best.high - _GAP_TOL * max(best.high, _SMALL)

    def better(found: Solution | None) -> _Candidate:
        if found is None or not found.objective < best.high:
            return best
        # Surely better: rounding must not make the model worse.
        other = _Candidate.of(gram, found, alpha)
        return other if other.high < best.low else best

    def proved(bound: float, nodes: int, otherwise: Status) -> Certificate:
        if bound >= cutoff():
            return Certificate(best.solution, max(0.0, cutoff()), 0.0, "optimal", nodes)
        bound = max(0.0, bound)
        gap = (best.high - bound) / max(best.high, _SMALL)
        return Certificate(best.solution, bound, gap, otherwise, nodes)

    problem, node = bound_all(gram, k, alpha, restrictions or Restrictions(), cutoff())
    if problem is None:
        wide = node.free.size > 0
        return proved(node.bound, 1, "too_wide" if wide else "not_proven")
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
        if node.relaxed is None:
            solved = min(solved, bound)
            best = better(problem.solve(node.included))
            continue
        largest = np.argsort(-node.relaxed.shares, kind="stable")
        largest = node.free[largest[: problem.k - node.included.size]]
        best = better(problem.solve(np.concatenate([node.included, largest])))
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
    """Bound the whole problem: no support of k units that is below ``cutoff`` has less.

    Up to 3000 columns H is formed whole. Beyond, the bound comes from the rows of H on
    the columns where the relaxation is not zero; where the cutoff screens out enough
    units, the rest is treated as a smaller problem. Without a ridge the bound of so
    wide a problem is 0. There is no problem to go on with where too many columns are
    left to form H, or no need to.
    """
    d = gram.n_features
    labels = np.arange(d) if restrictions.groups is None else restrictions.groups
    restrictions = restrictions.of_units()
    fixed = restrictions.fixed
    both = np.intersect1d(fixed, restrictions.excluded)
    if both.size:
        raise InputError(f"column {both[0]} is both fixed and excluded")
    if k < fixed.size:
        raise InputError(f"k={k} is less than the {fixed.size} columns fixed")
    n_units = int(labels.max(initial=-1)) + 1
    affordable = restrictions.within_budget(n_units)
    affordable[fixed] = True
    barred = np.union1d(restrictions.excluded, np.flatnonzero(~affordable))
    k = max(fixed.size, min(k, restrictions.most_columns(n_units)))
    # A column without variance explains nothing, takes no place and would leave no
    # diagonal to take out of H. One whose variance is as small as rounding might
    # explain something.
    usable = (gram.diagonal > 0) & ~np.isin(labels, barred)
    unknown = gram.quadratic.varies & ~usable & ~np.isin(labels, barred)
    units = Units.of(labels, usable)
    on_all = np.isin(units.numbers, fixed)
    included = np.flatnonzero(on_all)
    free = np.flatnonzero(~on_all)
    bound = 0.0  # a mean of squares
    if unknown.any():
        return None, Node(bound, included, free[:0], None)
    too_wide = units.columns.size > _WHOLE
    if too_wide and included.size < k < free.size and alpha > 0:
        bound, included, free = _screen_wide(
            gram, units, included, free, k, alpha, cutoff
        )
    units = units.take(np.concatenate([included, free]))
    first, others = np.split(np.arange(units.numbers.size), [included.size])
    if units.columns.size > _WHOLE or bound >= cutoff:
        return None, Node(bound, first, others, None)
    problem = make(gram, units, k, alpha, restrictions)
    start = np.zeros(units.sizes[others].sum())
    node = problem.tighten(first, others, start, problem.diagonal[others], cutoff)
    return problem, node._replace(bound=max(node.bound, bound))


def _screen_wide(
    gram: StandardisedGram,
    units: Units,
    included: Indices,
    free: Indices,
    k: int,
    alpha: float,
    cutoff: float,
) -> tuple[float, Indices, Indices]:
    """Bound and screen without forming H: the bound at p needs the rows where p is not zero.

    The relaxation is solved on a few units; those outside whose terms are too large for
    z = 0 join. H ⪰ 0 as a sum of squares, and a share of the ridge makes up for
    rounding in it.
    """
    first = units.columns[units.places(included)]
    candidates = units.take(free)
    rest, sizes = candidates.columns, candidates.sizes
    rounding = _Rounding(gram, alpha, np.concatenate([first, rest]), first.size + _JOIN)
    kept, ridge = np.split(rounding.ridge - 4 * rounding.reserve, [first.size])
    D = _least(ridge - 2 * rounding.reserve[first.size :], sizes)
    if not (D > 0).all():
        return 0.0, included, free
    unit = np.repeat(np.arange(free.size), sizes)
    k -= included.size
    constant = 1.0 - 3 * rounding.unit
    delta = gram.delta[rest]
    half = np.zeros((0, rest.size))
    if first.size:
        block = shifted(gram.block(first, first), kept)
        halves = _halves(block, gram.block(first, rest), gram.delta[first])
        if halves is None:
            return 0.0, included, free
        half, centre = halves
        delta = delta - centre @ half
        constant -= float(centre @ centre)
    active = np.empty(0, np.int64)
    joining = np.argsort(-np.bincount(unit, delta**2), kind="stable")
    joining = joining[: max(_JOIN, 2 * k)]
    rows = np.empty((0, rest.size))
    point = np.empty(0)
    bound = -np.inf
    terms = np.zeros(free.size)
    for _ in range(_WIDE_ROUNDS):
        new = candidates.places(joining)
        more = gram.block(rest[new], rest) - half[:, new].T @ half
        more[np.arange(new.size), new] += (ridge - D[unit])[new]
        rows = np.vstack([rows, more])
        active = np.concatenate([active, joining])
        at = candidates.places(active)
        point, _ = ascend(
            (rows[:, at] + rows[:, at].T) / 2,
            np.repeat(np.arange(active.size), sizes[active]),
            D[active],
            delta[at],
            constant,
            k,
            np.concatenate([point, np.zeros(new.size)]),
            cutoff,
            _TOL,
            _MAX_ITERATIONS,
        )
        found, at_point = prove(rows, at, point, unit, D, delta, constant, k)
        if found > bound:
            bound = found
            terms = at_point
        level = np.partition(at_point[active], active.size - k)[active.size - k]
        excess = at_point - (1 + _TOL) * level
        excess[active] = 0.0
        joining = np.argsort(-excess, kind="stable")[:_JOIN]
        joining = joining[excess[joining] > 0]
        full = (at.size + sizes[joining].sum()) * rest.size > _ROOM
        if joining.size == 0 or full or bound >= cutoff:
            break
    join, stay = _screen(bound, terms, k, cutoff)
    return max(bound, 0.0), np.concatenate([included, free[join]]), free[stay]


def _least(values: Array, sizes: Indices) -> Array:
    """Least value of each unit, given those of its columns."""
    least: Array = np.minimum.reduceat(values, np.cumsum(sizes) - sizes)
    return least


def _screen(bound: float, terms: Array, k: int, cutoff: float) -> tuple[Mask, Mask]:
    """Units that any support below ``cutoff`` has, and those on which it is open."""
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
