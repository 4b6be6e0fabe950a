"""The best lists of all lengths among any number of columns, by way of a working set.

Columns are exchanged (``exchange``) within a *working set* W of the columns that differ most
between the classes, with all of H on W in memory. Then the exact gain of every exchange with every
column outside W is computed from the rows of H of the chosen columns. Columns that would help join
W, and the search goes on until none would. So a home for data answers two questions only: H
restricted to some columns, and some rows of H.

Lists of all lengths are searched in stages. A stage has a *ceiling*, well above the lengths it
settles: what is best at more columns leads down to lists that growing does not find. The stages
are the same whatever lengths are asked for, so the list of k columns does not depend on them. In a
thorough search the first stage settles all lists that people read, and tries to do without each of
their columns in turn.

Most columns outside W are ruled out at little cost. Let a = |g_j| be half the gradient, h = H_jj +
alpha, q what the support leaves of column j, and l² = w_i²/M_ii the cost of doing without i. With
t² = T_ji²/M_ii ≤ h − q, column j can only take the place of i if

    a + |t| l > l √(q + t²),        hence        a > l (√h − √(h − q)),

and q may be replaced by what all supports of a stage together leave of the column.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..moments.base import NotGathered
from ..moments.gram import Gram, StandardisedGram
from .exchange import (
    LEAST_PRICE,
    MIN_RELATIVE_GAIN,
    Found,
    Solution,
    State,
    dependence_tolerance,
    make_state,
    nothing_found,
    search,
    solve_on,
)
from .restrictions import Restrictions
from .signed import minimise_signed

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Columns of the working set at first, and as multiples of a stage's ceiling.
FIRST, _PER_CEILING = 300, 3
# Columns that join the working set after a check: at most, and at least where so many were near.
_MOST_ADDED, _LEAST_ADDED = 100, 40
# Columns are forced into lists of so many columns at most.
_LONGEST_FORCED = 16
# The first ceiling of a thorough search, and of a quick one; each is half as much again as the one
# before.
_THOROUGH_CEILING, _QUICK_CEILING = 48, 21
# Columns above which a rough bound is worth its while, and columns checked at a time.
TILE, _STRIP = 8192, 512
# Of columns that join the working set, those whose rows are gathered along with their block.
_PROMISING = 20
# Columns that differ by no more than this, on the standardised scale, are equal.
EQUAL = 1e-12
# What is explained is taken for this at least, where gains are compared with it.
LEAST_EXPLAINED = 1e-12
# Columns are ruled out where rounding could not have done so.
_NEARLY = 0.999999
# What is added to columns of H that depend linearly, so that estimates can be made from them.
_NEARLY_NOTHING = 1e-6
# What doing without a column costs at least, so that it can be divided by.
_LEAST_LOSS = 1e-150
# Numbers of rows of H that are kept whatever the lengths of the lists: 64 MiB.
_KEPT_NUMBERS = 2**23


def stages(k_max: int, *, thorough: bool = True) -> Iterator[tuple[range, int]]:
    """Lengths of lists, and the ceiling of the sweeps that settle them, until k_max is reached."""
    ceiling = _THOROUGH_CEILING if thorough else _QUICK_CEILING
    first, last = 0, ceiling // 2 if thorough else 3 * ceiling // 4
    yield range(first, last + 1), ceiling
    while last < k_max:
        ceiling = -(-3 * ceiling // 2)
        first, last = last + 1, 3 * ceiling // 4
        yield range(first, last + 1), ceiling


class KnownH:
    """What was computed of H, kept for the next question and the next ridge.

    Where another pass over the rows must gather what is asked for, an estimate takes its place: as
    if columns had nothing in common but what the rows of H that are known explain. So a search runs
    to its end, and all that it lacked is gathered in one pass. Where passes are quicker than
    searches, a search stops at once, to go on when what it lacks is gathered.

    Parameters
    ----------
    gram : StandardisedGram

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        Rows of H, in their ``positions``.
    missing : NotGathered
        What was estimated since ``begin``: an answer is none while there is any.
    checks : dict
        What checks found, for searches that begin again when more of H was gathered.
    begun : dict
        Searches as they were when they first met an estimate, to go on from there.
    """

    def __init__(self, gram: StandardisedGram) -> None:
        self._gram = gram
        d = gram.n_features
        self.rows = np.empty((0, d))
        self._position = np.full(d, -1, np.int64)
        self._n_rows = 0
        self._is_exact = np.zeros(d, np.bool_)
        self._estimated: set[int] = set()
        # Of what columns whose rows are exact have in common.
        self._inverse: Array | None = None
        self._columns = np.empty(0, np.int64)
        self._block = np.empty((0, 0))
        self._n_exact = 0
        self._place = np.full(d, -1, np.int64)
        self._search: _Search | None = None
        self.missing = NotGathered()
        self.checks: dict[tuple[Any, ...], Indices] = {}
        self.begun: dict[tuple[float, float], _Search] = {}

    def begin(self, search: _Search) -> None:
        """Forget all estimates, and keep the search as it is when it meets the first new one."""
        self._search = search
        self.missing = NotGathered()
        self._estimated = set()
        self._place[self._columns[self._n_exact :]] = -1
        self._columns = self._columns[: self._n_exact]
        self._block = self._block[: self._n_exact, : self._n_exact]

    def _lack(self, missing: NotGathered) -> None:
        if self._search is not None and not self.missing:
            search = self._search
            self.begun[search.key] = search if missing.quick else search.copy()
        if missing.quick:
            raise missing
        self.missing |= missing

    def fetch(self, columns: Indices) -> bool:
        """Compute the rows of some columns that are not known yet; say whether all are exact."""
        self._make_room(columns)
        wanted = columns[~self._is_exact[columns]]
        if wanted.size == 0:
            return True
        try:
            self.rows[self.positions(wanted)] = self._gram.rows(wanted)
        except NotGathered as missing:
            self._lack(missing)
            lacking = np.isin(wanted, list(missing.rows))
            self.fetch(wanted[~lacking])
            new = np.array(sorted(set(wanted[lacking].tolist()) - self._estimated), np.int64)
            self.rows[self.positions(new)] = 0.0
            self.rows[self.positions(new)] = self._estimate(new, slice(None))
            self._estimated |= set(new.tolist())
            return False
        self._is_exact[wanted] = True
        self._inverse = None
        return True

    def _make_room(self, columns: Indices) -> None:
        """Give positions to columns without one; all others are dropped where there is no room."""
        d = self._position.size
        room = min(max(_KEPT_NUMBERS // d, 2 * columns.size), d)
        new = columns[self._position[columns] < 0]
        if self._n_rows + new.size > room:
            self._position[:] = -1
            self._is_exact[:] = False
            self._estimated, self._inverse, self._n_rows, new = set(), None, 0, columns
        needed = self._n_rows + new.size
        if needed > self.rows.shape[0]:
            # In place: a copy would take as much memory again.
            self.rows.resize((needed, d), refcheck=False)
        self._position[new] = np.arange(self._n_rows, needed)
        self._n_rows = needed

    def positions(self, columns: Indices) -> Indices:
        """Where the rows of columns that were fetched are."""
        return self._position[columns]

    def part(self, columns: Indices, others: Indices) -> Array:
        """Rows of columns that were fetched, restricted to some other columns."""
        part: Array = _take(self.rows, self.positions(columns), others)
        return part

    def block(
        self, columns: Indices, others: Indices | None = None, promising: Indices | None = None
    ) -> Array:
        """H of some columns among themselves, or with others that were asked for before.

        Rows of promising columns are gathered along, if a pass takes next to no time.
        """
        new = columns[self._place[columns] < 0]
        if new.size:
            old = self._columns.size
            every = np.concatenate([self._columns, new])
            block = np.empty((every.size, every.size))
            exact = old == self._n_exact
            try:
                block[old:] = self._gram.block(new, every)
            except NotGathered as missing:
                if promising is not None and missing.quick:
                    missing |= NotGathered(rows=promising.tolist())
                self._lack(missing)
                exact = False
                block[old:] = self._estimate(new, every)
                lacking = sorted(missing.block | missing.rows)
                first, second = (np.flatnonzero(~np.isin(some, lacking)) for some in (new, every))
                known = self._gram.block(new[first], every[second])
                block[np.ix_(old + first, second)] = known
            block[:old, :old] = self._block
            block[:old, old:] = block[old:, :old].T
            self._columns, self._block = every, block
            self._place[new] = np.arange(old, every.size)
            if exact:
                self._n_exact = every.size
        across = self._place[columns if others is None else others]
        return self._block[self._place[columns][:, None], across]

    def _estimate(self, columns: Indices, others: slice | Indices) -> Array:
        """H of some columns with others, by what the rows that are exact explain of both."""
        delta, diagonal = self._gram.delta, self._gram.diagonal
        known = np.flatnonzero(self._is_exact)
        inverse = self._inverse
        if inverse is None:
            within = self.part(known, known) - np.outer(delta[known], delta[known])
            within += _NEARLY_NOTHING * np.diag(diagonal[known])
            self._inverse = inverse = np.asarray(np.linalg.inv(within))
        left = self.part(known, columns) - np.outer(delta[known], delta[columns])
        # Estimates count nothing, so that rows need not be copied.
        shares = np.zeros((columns.size, self._n_rows))
        shares[:, self.positions(known)] = left.T @ inverse
        estimate: Array = shares @ self.rows[: self._n_rows, others]
        on_delta = delta[columns] - shares[:, self.positions(known)] @ delta[known]
        estimate += np.outer(on_delta, delta[others])
        same = columns[:, None] == np.arange(delta.size)[others]
        return np.where(same, diagonal[others], estimate)


def exchange_path(
    gram: StandardisedGram,
    k_max: int,
    alpha: float = 0.0,
    restrictions: Restrictions | None = None,
    known: KnownH | None = None,
    *,
    money: float = np.inf,
    first: int = FIRST,
    thorough: bool = True,
) -> list[Solution]:
    """Best supports of every size up to ``k_max``, each such that no single exchange improves it.

    Parameters
    ----------
    gram : StandardisedGram
        The data.
    k_max : int
        Largest number of columns.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    restrictions : Restrictions, optional
        Without groups. A fixed column that is constant, or without a ridge depends linearly on
        those before it, adds nothing and takes no place: its coefficient is 0. One whose sign holds
        it at 0 takes its place.
    known : KnownH, optional
        What is known of H; ridges share it.
    money : float
        What a list may cost, with prices.
    first : int
        Columns of the working set at first.
    thorough : bool, default=True
        Whether to search on where single exchanges end. This finds lower objectives in about twice
        the time; the AUC of new rows stays the same.

    Returns
    -------
    list of Solution
        One for each k, from the number of fixed columns to ``k_max``; shorter when fewer columns
        carry everything there is to explain, all others depend on them, or signs or money let no
        other join.
    """
    restrictions = restrictions or Restrictions()
    known = known or KnownH(gram)
    search = known.begun.pop((alpha, money), None)
    if search is None:
        search = _Search(gram, alpha, restrictions, known, money, first, thorough)
    known.begin(search)
    for sizes, ceiling in stages(k_max, thorough=thorough):
        if sizes[-1] > search.last:
            search.settle(sizes, ceiling)
    if known.missing:
        # What nearly helped may help next, and takes little more time in the same pass.
        raise known.missing | NotGathered(block=search.near)
    supports = search.replace_by_first_of_equals(search.supports[: k_max + 1 - search.lowest])
    path = [search.solve(support) for support in supports]
    if known.missing:
        raise known.missing
    explained = [solution.objective < dependence_tolerance(gram.precision) for solution in path]
    if any(explained):  # nothing is left for more columns
        path = path[: explained.index(True) + 1]
    for k in range(1, len(path)):
        # Where linear dependence bars the way up, what is best at k may have no successor.
        if path[k].objective > path[k - 1].objective:
            path[k] = path[k - 1]
    return path


class _Solved(NamedTuple):
    """Supports with their minimisers, to compute the gains of exchanges from.

    Attributes
    ----------
    places : int64 ndarray of shape (s, k_max)
        The columns of each support among those of a union.
    sizes : int64 ndarray of shape (s,)
    M, w : ndarrays of shape (s, k_max, k_max) and (s, k_max)
    explained : ndarray of shape (s,)
    reach : ndarray of shape (s,)
        One over the square root of what it costs at least to do without a column; negative where
        the support is not to be bettered.
    """

    places: Indices
    sizes: Indices
    M: Array
    w: Array
    explained: Array
    reach: Array

    @classmethod
    def from_supports(
        cls, supports: list[Indices], union: Indices, H: Array, delta: Array, fixed: Mask,
        alpha: float,
    ) -> _Solved:  # fmt: skip
        """Solve on supports, given H and δ of their union."""
        sizes = np.array([support.size for support in supports], np.int64)
        count, largest = sizes.size, int(sizes.max())
        places = np.zeros((count, largest), np.int64)
        for row, support in zip(places, supports, strict=True):
            row[: support.size] = np.searchsorted(union, support)
        solved = cls(
            places, sizes, np.zeros((count, largest, largest)), np.zeros((count, largest)),
            np.zeros(count), np.zeros(count),
        )  # fmt: skip
        _solve_all(H, delta, fixed, alpha, solved)
        return solved


@kernel
def _take(matrix, rows, columns):  # type: ignore[no-untyped-def]
    """Some rows of a matrix, restricted to some columns: many times, and without a buffer."""
    part = np.empty((rows.size, columns.size))
    for i in range(rows.size):
        row = matrix[rows[i]]
        for j in range(columns.size):
            part[i, j] = row[columns[j]]
    return part


@kernel
def _solve_all(H, delta, fixed, alpha, solved):  # type: ignore[no-untyped-def]
    """Fill in the minimiser of each support."""
    for s in range(solved.sizes.size):
        k, place = solved.sizes[s], solved.places[s]
        block = np.empty((k, k))
        for p in range(k):
            for o in range(k):
                block[p, o] = H[place[p], place[o]]
            block[p, p] += alpha
        M = np.linalg.inv(block)
        solved.M[s, :k, :k] = M
        for p in range(k):
            w = 0.0
            for o in range(k):
                w -= M[p, o] * delta[place[o]]
            solved.w[s, p] = w
            solved.explained[s] -= w * delta[place[p]]
            if not fixed[place[p]]:
                loss = max(_NEARLY * abs(w) / np.sqrt(M[p, p]), _LEAST_LOSS)
                solved.reach[s] = max(solved.reach[s], 1.0 / loss)


@kernel
def exchange_gains(T, rows, g, h, enough, w, M, free, joins, allowed, own, sign):  # type: ignore[no-untyped-def]
    """Gain of the best exchange of a support with each column, or of its joining.

    Parameters
    ----------
    T, rows : ndarrays of shape (k, c)
        M H and H of the support with c columns.
    g, h, enough : ndarrays of shape (c,)
        Half the gradient, H_jj + alpha, and what must be left of a column for it to join.
    w, M, free
        As of ``_Solved``.
    joins : bool
        Whether columns may join without another leaving.
    allowed : bool ndarray of shape (k + 1, c)
        As of ``Restrictions.exchanges``.
    own, sign : int64 ndarrays of shape (k,) and (c,)
        Signs of the support, and of the columns.
    """
    k = w.size
    signed = np.any(own != 0) or np.any(sign != 0)
    q = h.copy()
    for p in range(w.size):
        for j in range(q.size):
            q[j] -= T[p, j] * rows[p, j]
    gains = np.full(q.size, -np.inf)
    if joins:
        for j in range(q.size):
            if q[j] > enough[j] and allowed[k, j]:
                new = -g[j] / q[j]
                if not signed or (
                    sign[j] * new >= 0.0 and np.all(own * (w - T[:, j] * new) >= 0.0)
                ):
                    gains[j] = g[j] * g[j] / q[j]
    for p in free:
        inverse = 1.0 / M[p, p]
        shift = w[p] * inverse
        loss = w[p] * shift
        stay = M[p] * inverse
        for j in range(q.size):
            t = T[p, j]
            left = q[j] + t * t * inverse
            numerator = g[j] - t * shift
            gain = numerator * numerator / left - loss
            if left > enough[j] and gain > gains[j] and allowed[p, j]:
                if signed:
                    new = -numerator / left
                    after = own * (w - T[:, j] * new - stay * (w[p] - t * new))
                    after[p] = sign[j] * new
                    if np.any(after < 0.0):
                        continue
                gains[j] = gain
    return gains


def _support(found: Found, k: int) -> Indices:
    """The best support of k columns, or of fewer where signs let none of k be found."""
    size = k if found.explained[k] > -np.inf else int(np.argmax(found.explained[:k]))
    return found.supports[size, : found.sizes[size]]


def _factorise(P: Array, *, bound: bool) -> tuple[Array, float]:
    """Cholesky's factor of a matrix, and a lower bound on its eigenvalues if it is asked for."""
    try:
        factor: npt.NDArray[Any] = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return np.empty((0, 0)), 0.0  # columns depend linearly: nothing is known of what they leave
    if not bound or not P.size:
        return factor, 0.0
    rounding = P.shape[0] * np.finfo(np.float64).eps * float(np.trace(P))
    return factor, max(float(np.linalg.eigvalsh(P)[0]) - rounding, 0.0)


@kernel
def _screen(rows, union, h, outside, factor, smallest, solved, joins, gradients, possible):  # type: ignore[no-untyped-def]
    """Find the columns that may take a place in a support: no farther off than they are hidden.

    Hidden is a column by √h − √(what the union of the supports explains of it).

    Parameters
    ----------
    rows, union : ndarray of shape (r, c), and int64 ndarray of shape (u,)
        Rows of H with c columns, and which of these are of the union of the supports.
    h, outside : ndarrays of shape (c,)
        H_jj + alpha, and whether the column is looked at.
    factor : ndarray of shape (u, u)
        Of Cholesky's factorisation of H + alpha I of the union; empty where there is none.
    smallest : float
        No eigenvalue of it is smaller; 0 where that is not known.
    solved : _Solved
    joins : bool
        Whether columns may join the last support without another leaving.
    gradients : ndarray of shape (s, c)
        δ on entry; half the gradient at each support on return.
    possible : bool ndarray of shape (s, c)
        False on entry; whether a column may take a place in a support on return.
    """
    u, c, count = union.size, h.size, solved.sizes.size
    near, left = np.empty(_STRIP, np.int64), np.empty((u, _STRIP))
    reach, explained = np.empty(_STRIP), np.empty(_STRIP)
    for low in range(0, c, _STRIP):
        m = min(_STRIP, c - low)
        reach[:] = 0.0
        explained[:] = 0.0
        for s in range(count):
            g = gradients[s, low : low + m]
            for p in range(solved.sizes[s]):
                w, row = solved.w[s, p], rows[union[solved.places[s, p]], low : low + m]
                for j in range(m):
                    g[j] += w * row[j]
            for j in range(m):
                reach[j] = max(reach[j], abs(g[j]) * solved.reach[s])
        if smallest > 0.0:
            for p in range(u):
                row = rows[union[p], low : low + m]
                for j in range(m):
                    explained[j] += row[j] * row[j]
        # Those that are no farther off than a rough bound on how far they are hidden.
        size = 0
        for j in range(m):
            if outside[low + j]:
                root, rough = np.sqrt(h[low + j]), 0.0
                if smallest > 0.0:
                    rough = root - min(np.sqrt(explained[j] / smallest), root)
                if joins or reach[j] > rough:
                    near[size] = j
                    size += 1
        # What the union explains of these.
        explained[:] = 0.0
        for p in range(factor.shape[0]):
            part = left[p, :size]
            for i in range(size):
                part[i] = rows[union[p], low + near[i]]
            for o in range(p):
                multiple, earlier = factor[p, o], left[o, :size]
                for i in range(size):
                    part[i] -= multiple * earlier[i]
            inverse = 1.0 / factor[p, p]
            for i in range(size):
                part[i] *= inverse
                explained[i] += part[i] * part[i]
        for i in range(size):
            j = low + near[i]
            root = np.sqrt(h[j])
            hidden = root - min(np.sqrt(explained[i]), root) if factor.size else 0.0
            for s in range(count):
                joining = joins and s == count - 1 and solved.reach[s] >= 0.0
                possible[s, j] = joining or abs(gradients[s, j]) * solved.reach[s] > hidden


class _Search:
    """The search for one ridge: its working set, and the best supports found within it.

    Attributes
    ----------
    supports : list of ndarrays of int64
        The best supports of the sizes that are settled, from the smallest on.
    near : set of int
        Columns that nearly helped.
    last : float
        The largest size that is settled; infinity where columns run out.
    lowest : int
        Size of the smallest support: the number of fixed columns that count.
    exhausted : bool
        Whether no column is left that adds anything to the largest support found.
    """

    def __init__(
        self, gram: StandardisedGram, alpha: float, restrictions: Restrictions, known: KnownH,
        money: float, first: int, thorough: bool,
    ) -> None:  # fmt: skip
        self._gram, self._alpha, self._known, self._first = gram, alpha, known, first
        self._money, self._thorough = money, thorough
        self._checked: set[bytes] = set()
        self._restrictions = restrictions
        self._fixed, self._excluded = restrictions.masks(gram.n_features)
        usable = ~self._excluded & (gram.diagonal > 0)
        usable &= restrictions.affordable(gram.n_features, money)
        self._usable = usable
        worth = np.full(gram.n_features, -1.0)
        np.divide(gram.delta**2, gram.diagonal + alpha, out=worth, where=usable)
        turned = restrictions.signs_of(np.arange(worth.size)) * gram.delta > 0
        worth[usable & turned] = 0.0
        if restrictions.prices is not None and money < np.inf:
            # By the better of two ranks: that of its worth, and that of its worth for its price.
            each = restrictions.prices.amounts[restrictions.prices.purchases]
            both = [worth, worth / np.maximum(each, LEAST_PRICE)]
            ranks = [np.argsort(np.argsort(-one, kind="stable")) for one in both]
            worth = -np.minimum(*ranks).astype(np.float64)
            worth[~usable] = -np.inf
        worth[self._fixed] = np.inf
        # By worth, the first of equals first; none that is excluded or constant.
        self._by_worth = np.argsort(-worth, kind="stable")[: np.count_nonzero(usable | self._fixed)]
        self._W = np.empty(0, np.int64)
        self._H = np.empty((0, 0))
        self._place = np.full(gram.n_features, -1, np.int64)
        self.supports: list[Indices] = []
        self.near: set[int] = set()
        self.last, self._ceiling, self._finished = -1.0, 0, False
        self._state: State | None = None
        self._found: Found | None = None
        self._n_settled = 0
        self.lowest, self.exhausted = 0, False

    @property
    def key(self) -> tuple[float, float]:
        """Ridge and money."""
        return self._alpha, self._money

    def copy(self) -> _Search:
        """The search as it is, to go on from here."""
        other = copy.copy(self)
        shared = {id(self._H): self._H}
        for name in ("_place", "_checked", "_found", "_state", "supports", "near"):
            setattr(other, name, copy.deepcopy(getattr(self, name), shared))
        return other

    @property
    def _whole(self) -> bool:
        """Whether all columns there are to choose from are in the working set."""
        return self._W.size == self._by_worth.size

    def settle(self, sizes: range, ceiling: int) -> None:
        """Find the best supports of some sizes; fewer where columns run out."""
        if self._ceiling < ceiling:
            self._widen(ceiling)
            self._sweep(ceiling, sizes)
            self._ceiling, self._finished = ceiling, not self._thorough
        while True:
            found = self._found
            assert found is not None
            last = int(np.flatnonzero(found.explained > -np.inf)[-1])
            self.exhausted = last < sizes[-1]
            within = [k for k in sizes if self.lowest <= k <= last]
            supports = [self._W[_support(found, k)] for k in within]
            if self._take_in_helpful(found, supports):
                self._sweep(ceiling, sizes)
            elif self._finished or not self._escape(ceiling, sizes):
                break
            else:
                self._finished = True
        self.supports += [np.sort(support) for support in supports]
        self.last = np.inf if self.exhausted else sizes[-1]

    def _take_in_helpful(self, found: Found, supports: list[Indices]) -> bool:
        """Take in columns that would better what was found; say whether there are any."""
        if self._whole:
            return False
        # What no column outside helped once, none helps later: the working set only grows.
        unchecked = [A for A in supports if A.tobytes() not in self._checked]
        if self.exhausted:
            last = int(np.flatnonzero(found.explained > -np.inf)[-1])
            unchecked.append(self._W[_support(found, last)])
        if not unchecked:
            return False
        helpful = self._find_helpful(unchecked)
        if helpful.size:
            self._add(helpful, helpful[:_PROMISING])
        else:
            self._checked |= {A.tobytes() for A in unchecked}
        return helpful.size > 0

    def _find_helpful(self, supports: list[Indices]) -> Indices:
        """Columns outside the working set that would better a support, most helpful first."""
        columns = self._W.tobytes(), *(A.tobytes() for A in supports)
        question = self._alpha, self._money, self.exhausted, columns
        if question in self._known.checks:
            return self._known.checks[question]
        exact = self._known.fetch(np.unique(np.concatenate(supports)))
        helpful = self._compare_gains(supports, joins=self.exhausted)
        if exact:
            self._known.checks[question] = helpful
        return helpful

    def _sweep(self, ceiling: int, sizes: range) -> Found:
        """Search within the working set; supports of fewer columns than these are settled."""
        least = sizes[0]
        d = self._W.size
        top = min(ceiling, d)
        gram = Gram(self._gram.delta[self._W], self._H, self._gram.precision)
        fixed = self._fixed[self._W]
        limits = self._restrictions.limits_of(self._W, self._money)
        state = make_state(gram, self._alpha, ceiling + 1, fixed, self._excluded[self._W], limits)
        found, earlier = nothing_found(ceiling), self._found
        changed = top + 1
        if earlier is not None:
            # Go on from what was found up to a lower ceiling, or among fewer columns.
            known = earlier.explained.size
            found.explained[:known] = earlier.explained
            found.supports[:known, : known - 1] = earlier.supports
            found.sizes[:known] = earlier.sizes
            found.grow[:known], found.shrink[:known] = earlier.grow, earlier.shrink
            found.force[least:known] = earlier.explained[least:] > -np.inf
            if d > self._n_settled:
                changed = least
        self._n_settled = d
        uneven = np.unique(limits.price).size > 1 and least <= _LONGEST_FORCED
        stops = [-min(sizes[-1], _LONGEST_FORCED)] if uneven else []
        self.lowest = search(state, found, changed, top, np.array(stops, np.int64))
        self._state, self._found = state, found
        return found

    def _escape(self, ceiling: int, sizes: range) -> bool:
        """Search further from where single exchanges end; say whether anything was bettered."""
        state, found = self._state, self._found
        assert state is not None
        assert found is not None
        top = min(ceiling, self._W.size)
        before = found.explained.copy()
        stops = [0, *sizes[1:]] if sizes[0] == 0 else [0]
        search(state, found, top + 1, top, np.array(stops))
        return bool((found.explained > before).any())

    def _widen(self, ceiling: int) -> None:
        """Take in columns by their worth alone."""
        wanted = min(max(self._first, _PER_CEILING * ceiling), self._by_worth.size)
        wanted = max(wanted, int(np.count_nonzero(self._fixed)))
        if (more := wanted - self._W.size) > 0:
            outside = self._by_worth[self._place[self._by_worth] < 0]
            self._add(outside[:more])

    def _add(self, columns: Indices, promising: Indices | None = None) -> None:
        # At the end: places of earlier columns stay what they are.
        new, old = np.sort(columns), self._W.size
        W = np.concatenate([self._W, new])
        rows = self._known.block(new, W, promising)
        H = np.empty((W.size, W.size))
        H[:old, :old], H[old:], H[:old, old:] = self._H, rows, rows[:, :old].T
        self._W, self._H = W, H
        self._place[new] = np.arange(old, W.size)

    def solve(self, support: Indices) -> Solution:
        """Minimise on a support."""
        place = self._place[support]
        block = self._H[np.ix_(place, place)] if place.min(initial=0) >= 0 else None
        if block is None:
            block = self._known.block(support)
        delta = self._gram.delta[support]
        solution = solve_on(block, delta, support, self._alpha)
        if self._restrictions.right_signs(support, solution.coef):
            return solution
        # Rounding turned a coefficient, or an equal column took a place.
        ridged = block + self._alpha * np.eye(support.size)
        sign = self._restrictions.signs_of(support)
        coef, explained = minimise_signed(ridged, delta, sign, np.zeros(support.size))
        return Solution(support[coef != 0], coef[coef != 0], 1.0 - explained)

    def _compare_gains(self, supports: list[Indices], *, joins: bool) -> Indices:
        """Columns outside the working set that would better a support, most helpful first.

        Parameters
        ----------
        supports : list of ndarrays of int64
        joins : bool
            Whether columns may join the last support without another leaving.
        """
        gram, alpha, restrictions = self._gram, self._alpha, self._restrictions
        union = np.unique(np.concatenate(supports))
        if union.size == 0 and not joins:
            return union
        H, delta, fixed = self._known.part(union, union), gram.delta[union], self._fixed[union]
        tolerance = dependence_tolerance(gram.precision)
        factor, smallest = _factorise(H + alpha * np.eye(union.size), bound=gram.n_features > TILE)
        solved = _Solved.from_supports(supports, union, H, delta, fixed, alpha)
        # A support that explains everything is not bettered.
        solved.reach[1.0 - solved.explained < tolerance] = -1.0
        outside = self._usable & (self._place < 0)
        known, h = self._known, gram.diagonal + alpha
        gradients = np.tile(gram.delta, (len(supports), 1))
        possible = np.zeros(gradients.shape, np.bool_)
        _screen(
            known.rows, known.positions(union), h, outside, factor, smallest, solved, joins,
            gradients, possible,
        )  # fmt: skip
        # Rows of these columns alone: of all columns they would be far apart in memory.
        looked_at = np.flatnonzero(possible.any(axis=0))
        rows = known.part(union, looked_at)
        worth = np.full(outside.size, -np.inf)
        for number in np.flatnonzero(possible.any(axis=1)).tolist():
            k = int(solved.sizes[number])
            place, M = solved.places[number, :k], solved.M[number, :k, :k]
            at = np.flatnonzero(possible[number, looked_at])
            some, support, chosen = _take(rows, place, at), union[place], looked_at[at]
            gains = exchange_gains(
                M @ some, some, gradients[number, chosen], h[chosen], tolerance * h[chosen],
                solved.w[number, :k], M, np.flatnonzero(~fixed[place]),
                joins and number == solved.sizes.size - 1,
                restrictions.exchanges(support, chosen, self._money),
                restrictions.signs_of(support), restrictions.signs_of(chosen),
            )  # fmt: skip
            gains /= max(solved.explained[number], LEAST_EXPLAINED)
            worth[chosen] = np.maximum(worth[chosen], gains)
        helpful = int(np.count_nonzero(worth > MIN_RELATIVE_GAIN))
        if helpful == 0:
            return np.empty(0, np.int64)
        near = np.flatnonzero(worth > -np.inf)
        order = near[np.argsort(-worth[near], kind="stable")]
        self.near |= set(order[:_MOST_ADDED].tolist())
        return order[: min(max(helpful, min(near.size, _LEAST_ADDED)), _MOST_ADDED)]

    def replace_by_first_of_equals(self, supports: list[Indices]) -> list[Indices]:
        """Put the first of equal columns in place of the one found: which it was is rounding.

        Where there is a budget, the cheapest.
        """
        delta, diagonal, place = self._gram.delta, self._gram.diagonal, self._place
        restrictions = self._restrictions
        equals: dict[int, Indices] = {}
        by_size = np.argsort(np.abs(delta))
        sizes = np.abs(delta)[by_size]
        for column in np.unique(np.concatenate(supports)).tolist():
            ends = abs(delta[column]) - EQUAL, abs(delta[column]) + EQUAL
            twins = np.sort(by_size[slice(*np.searchsorted(sizes, ends))])
            twins = twins[np.abs(diagonal[twins] - diagonal[column]) <= EQUAL]
            twins = twins[self._usable[twins]]
            if twins.size > 1 and not self._fixed[column]:
                equals[column] = twins
        outside = [column for column, twins in equals.items() if (place[twins] < 0).any()]
        self._known.fetch(np.array(outside, np.int64))
        for column, twins in equals.items():
            if column in outside:
                row = self._known.part(np.array([column]), twins)[0]
            else:
                row = self._H[place[column], place[twins]]
            # What is turned round serves as well, where its sign is turned round too.
            same = np.abs(row) >= diagonal[column] - EQUAL
            signs, families = (
                of(twins) for of in (restrictions.signs_of, restrictions.families_of)
            )
            own = twins == column
            same &= signs * np.sign(row) == signs[own]
            # Not one of another family, of which there may be enough.
            same &= families == families[own]
            equals[column] = twins[same]
        tidied = []
        for support in supports:
            chosen = support.tolist()
            for column in [j for j in chosen if j in equals]:
                others = np.array([j for j in chosen if j != column], np.int64)
                twins = np.setdiff1d(equals[column], others)
                if restrictions.prices is not None and self._money < np.inf:
                    prices = restrictions.prices.extra(
                        np.union1d(others, restrictions.fixed), twins
                    )
                    twins = twins[prices == prices.min()]
                chosen[chosen.index(column)] = int(twins[0])
            tidied.append(np.array(sorted(chosen), np.int64))
        return tidied
