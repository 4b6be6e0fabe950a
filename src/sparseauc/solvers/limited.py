"""Lists under limits: coefficients of given signs, and columns that cost at most a budget.

    minimise F(w) + alpha‖w‖²   subject to   ‖w‖₀ ≤ k,   s_j w_j ≥ 0,   price of supp(w) ≤ budget

On a list the minimiser is a non-negative least squares of at most k columns (``minimise_signed``).
A coefficient that this holds at 0 is not in the list, so on what is left the minimiser has the
closed form of ``exchange``, and every formula there holds. For a change of the list, the closed
form says how much it can bring at most. And a column can only help if the gradient, at the
minimiser on those that stay, pushes its coefficient the right way. So most changes are ruled out,
and the others are computed exactly, the most promising first.

As in ``working_set``, columns are exchanged within a working set, then every exchange with every
column outside is looked at, until none would better any list. Where columns differ in price, one
may have to make way for two, or two for one: each member is kicked out in turn, and columns that
cannot be afforded are forced in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..moments.base import NotGathered
from ..moments.gram import StandardisedGram
from .exchange import MIN_RELATIVE_GAIN, Solution, dependence_tolerance
from .restrictions import Prices, Restrictions
from .working_set import EQUAL, FIRST, LEAST_EXPLAINED, TILE, KnownH

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Lists of more columns than this are not searched further than single exchanges lead.
_MOST_KICKED = 16
# Columns that are forced into a list, at most, and columns that join the working set after a check.
_MOST_FORCED, _MOST_ADDED = 30, 40
# Times that a path is gone through.
_ROUNDS = 5


class _Columns(NamedTuple):
    """Columns and what they must obey.

    Attributes
    ----------
    delta, whole, floor : ndarrays of shape (c,)
        δ, the diagonal of H with the ridge, and what must be left of a column for it to join.
    sign, family, purchase : int64 ndarrays of shape (c,)
    free : bool ndarray of shape (c,)
        Whether a column of a list may leave, or another may join.
    """

    delta: Array
    whole: Array
    floor: Array
    sign: Indices
    family: Indices
    purchase: Indices
    free: Mask


class _Purse(NamedTuple):
    """Prices, and what fixed columns have bought.

    Attributes
    ----------
    prices : ndarray of shape (n_purchases,)
    paid : int64 ndarray of shape (n_purchases,)
        1 for purchases of fixed columns.
    max_per_family, n_families : int
    """

    prices: Array
    paid: Indices
    max_per_family: int
    n_families: int


@kernel
def _take(columns, index):  # type: ignore[no-untyped-def]
    """Some of the columns."""
    return _Columns(
        columns.delta[index], columns.whole[index], columns.floor[index], columns.sign[index],
        columns.family[index], columns.purchase[index], columns.free[index],
    )  # fmt: skip


@kernel
def _solve(P, delta, floor, used, w):  # type: ignore[no-untyped-def]
    """Minimise on the columns used, by Cholesky's factorisation; False where they depend."""
    index = np.flatnonzero(used)
    k = index.size
    L = np.empty((k, k))
    y = np.empty(k)
    for i in range(k):
        a = index[i]
        for j in range(i + 1):
            total = P[a, index[j]]
            for h in range(j):
                total -= L[i, h] * L[j, h]
            if i == j:
                if total <= floor[a]:
                    return False
                L[i, i] = np.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
        total = -delta[a]
        for h in range(i):
            total -= L[i, h] * y[h]
        y[i] = total / L[i, i]
    w[:] = 0.0
    for i in range(k - 1, -1, -1):
        total = y[i]
        for h in range(i + 1, k):
            total -= L[h, i] * w[index[h]]
        w[index[i]] = total / L[i, i]
    return True


@kernel
def minimise_signed(P, delta, sign, floor):  # type: ignore[no-untyped-def]
    """Minimise 2 w·δ + wᵀPw over w with sign·w ≥ 0, by Lawson and Hanson's active sets.

    Parameters
    ----------
    P : ndarray of shape (k, k)
        Positive definite.
    delta, sign, floor : ndarrays of shape (k,)
        Columns of which no more than the floor is left depend on the others.

    Returns
    -------
    w : ndarray of shape (k,)
    explained : float
        What is taken off the objective, −δ·w; −infinity where columns depend on each other.
    """
    k = delta.size
    w, z = np.zeros(k), np.zeros(k)
    used = np.ones(k, np.bool_)
    wrong = True
    while wrong:  # leave out what has the wrong sign, until nothing has
        if not _solve(P, delta, floor, used, w):
            return w, -np.inf
        wrong = False
        for i in range(k):
            if used[i] and sign[i] * w[i] < 0.0:
                used[i] = False
                wrong = True
    barred = np.zeros(k, np.bool_)
    for _ in range(10 * k):
        best, into = 1e-14 * -(delta @ w), -1
        for i in range(k):
            if not used[i] and not barred[i]:
                push = -sign[i] * (delta[i] + P[i] @ w)
                if push > 0.0 and push * push / P[i, i] > best:
                    best, into = push * push / P[i, i], i
        if into < 0:
            break
        used[into] = True
        while True:
            if not _solve(P, delta, floor, used, z):
                return w, -np.inf
            step, first = 1.0, -1
            for i in range(k):
                if used[i] and sign[i] * z[i] < 0.0:
                    share = w[i] / (w[i] - z[i])
                    if share < step:
                        step, first = share, i
            if first < 0:
                for i in range(k):
                    w[i] = z[i]
                break
            for i in range(k):
                w[i] += step * (z[i] - w[i])
            w[first] = 0.0
            used[first] = False
            if first == into:  # its push was rounding, which may push forever
                barred[into] = True
    return w, -(delta @ w)


@kernel
def _best_change(P, members, rows, others, purse, money, joins, per_price, now):  # type: ignore[no-untyped-def]
    """Find the best exchange of a list with other columns, or the best to join it.

    Parameters
    ----------
    P : ndarray of shape (m, m)
        H of the list, and the ridge.
    members, others : _Columns
        Of the list, and the c others.
    rows : ndarray of shape (m, c)
        H of the list with the others.
    purse : _Purse
    money : float
        What may be spent in all.
    joins : bool
        Whether columns may join without another leaving.
    per_price : bool
        Whether columns may only join, and are compared by what they bring for their price.
    now : float
        What the list explains.

    Returns
    -------
    p, j : int
        Place of the column that leaves, m if none does, and of the one that joins; −1 if no change
        helps.
    worth : ndarray of shape (c,)
        What each column can bring at most.
    """
    m, c = members.delta.size, others.delta.size
    room = np.full(purse.n_families + 1, purse.max_per_family)
    bought = purse.paid.copy()
    for p in range(m):
        room[members.family[p]] -= 1
        bought[members.purchase[p]] += 1
    room[0] = 1
    left_over = money
    for number in range(bought.size):
        if bought[number] > 0:
            left_over -= purse.prices[number]
    M = np.linalg.inv(P)
    w = -(M @ members.delta)
    whole_list = -(members.delta @ w)
    T = M @ rows
    q, g = others.whole.copy(), others.delta + w @ rows
    for p in range(m):
        for j in range(c):
            q[j] -= T[p, j] * rows[p, j]
    signed = np.any(members.sign != 0) or np.any(others.sign != 0)
    push = np.zeros((m + 1, c))
    if signed:
        # The gradient at the minimiser of those that stay says which columns can help.
        weights = np.zeros((m + 1, m))
        for p in range(m + 1):
            stay = np.flatnonzero(np.arange(m) != p)
            block = P[stay][:, stay]
            weights[p, stay] = minimise_signed(
                block, members.delta[stay], members.sign[stay], members.floor[stay]
            )[0]
        push = weights @ rows
    least = max(MIN_RELATIVE_GAIN * now, LEAST_EXPLAINED * MIN_RELATIVE_GAIN)
    places = np.empty(0, np.int64)
    bounds = np.full((m + 1) * c, -np.inf)
    worth = np.full(c, -np.inf)
    for p in range(m + 1):
        if (p == m and not joins) or (p < m and (per_price or not members.free[p])):
            continue
        inverse, shift, loss, family, purchase = 0.0, 0.0, 0.0, 0, -1
        if p < m:
            inverse = 1.0 / M[p, p]
            shift = w[p] * inverse
            loss = w[p] * shift
            family = members.family[p]
            if bought[members.purchase[p]] == 1:
                purchase = members.purchase[p]
        purse_now = left_over + (purse.prices[purchase] if purchase >= 0 else 0.0)
        for j in range(c):
            if not others.free[j] or (room[others.family[j]] <= 0 and others.family[j] != family):
                continue
            number = others.purchase[j]
            price = purse.prices[number] if bought[number] == 0 or number == purchase else 0.0
            if price > purse_now:
                continue
            sign = others.sign[j]
            if sign != 0 and sign * (others.delta[j] + push[p, j]) >= 0.0:
                continue
            t = T[p, j] if p < m else 0.0
            left = q[j] + t * t * inverse
            if left <= others.floor[j]:
                continue
            numerator = g[j] - t * shift
            gain = whole_list - loss + numerator * numerator / left - now
            if gain > least:
                bounds[p * c + j] = gain / max(price, LEAST_EXPLAINED) if per_price else gain
                worth[j] = max(worth[j], gain)
    places = np.flatnonzero(bounds > -np.inf)
    places = places[np.argsort(-bounds[places], kind="mergesort")]
    best, best_p, best_j = 0.0, -1, -1
    for place in places:
        if bounds[place] <= best:
            break
        p, j = place // c, place % c
        if not signed:
            return p, j, worth
        stay = np.flatnonzero(np.arange(m) != p)
        k = stay.size
        block = np.empty((k + 1, k + 1))
        block[:k, :k] = P[stay][:, stay]
        block[k, :k] = block[:k, k] = rows[stay, j]
        block[k, k] = others.whole[j]
        value = minimise_signed(
            block, np.append(members.delta[stay], others.delta[j]),
            np.append(members.sign[stay], others.sign[j]),
            np.append(members.floor[stay], others.floor[j]),
        )[1]  # fmt: skip
        # Of what is gained for a price, the share of the bound that is real.
        gain = value - now
        if gain > least:
            number = others.purchase[j]
            price = purse.prices[number] if bought[number] == 0 else 0.0
            gain = gain / max(price, LEAST_EXPLAINED) if per_price else gain
            if gain > best:
                best, best_p, best_j = gain, p, j
    return best_p, best_j, worth


class _Problem(NamedTuple):
    """A working set.

    Attributes
    ----------
    H : ndarray of shape (d, d)
        With the ridge.
    columns : _Columns
    fixed : bool ndarray of shape (d,)
        Columns that never leave.
    purse : _Purse
    """

    H: Array
    columns: _Columns
    fixed: Mask
    purse: _Purse


@kernel
def _tidy(s, members):  # type: ignore[no-untyped-def]
    """A list without the columns whose coefficients are held at 0, and what it explains."""
    own = _take(s.columns, members)
    w, explained = minimise_signed(s.H[members][:, members], own.delta, own.sign, own.floor)
    return members[(w != 0.0) | s.fixed[members]], explained


@kernel
def _settle(s, members, free, k, money, per_price):  # type: ignore[no-untyped-def]
    """Change a list until no single change betters it; return it and what it explains."""
    members, now = _tidy(s, members)
    others, everything = _take(s.columns, np.arange(free.size)), s.H
    while now > -np.inf:
        own = _take(s.columns, members)
        own.free[:] = ~s.fixed[members]
        others.free[:] = free
        others.free[members] = False
        rows = everything[members]
        p, j, _ = _best_change(
            rows[:, members].copy(), own, rows, others, s.purse, money, members.size < k,
            per_price, now,
        )  # fmt: skip
        if j < 0:
            break
        changed, after = _tidy(s, np.append(members[np.arange(members.size) != p], j))
        if not after > now:
            break  # what the formula promised was rounding
        members, now = changed, after
    return np.sort(members), now


@kernel
def _fit_in(s, members, kept, k, money):  # type: ignore[no-untyped-def]
    """Drop columns, those first that are worth least for their price, until a list obeys.

    None is left where the one ``kept`` and fixed ones are too many.
    """
    columns, purse = s.columns, s.purse
    while True:
        bought = purse.paid.copy()
        room = np.full(purse.n_families + 1, purse.max_per_family)
        room[0] = members.size
        for column in members:
            bought[columns.purchase[column]] += 1
            room[columns.family[column]] -= 1
        spent = 0.0
        for number in range(bought.size):
            if bought[number] > 0:
                spent += purse.prices[number]
        crowded, dear = np.any(room < 0), spent > money
        if members.size <= k and not dear and not crowded:
            return members
        M = np.linalg.inv(s.H[members][:, members])
        w = -(M @ columns.delta[members])
        best, worst = np.inf, -1
        for p in range(members.size):
            column = members[p]
            if s.fixed[column] or column == kept:
                continue
            if crowded and room[columns.family[column]] >= 0:
                continue
            loss = w[p] * w[p] / M[p, p]
            if dear and not crowded:
                number = columns.purchase[column]
                price = 0.0 if purse.paid[number] > 0 else purse.prices[number] / bought[number]
                loss /= max(price, LEAST_EXPLAINED)
            if loss < best:
                best, worst = loss, p
        if worst < 0:
            return members[:0]
        members = members[np.arange(members.size) != worst]


class _List(NamedTuple):
    """Columns of the working set, ascending, and what they explain."""

    members: Indices
    explained: float


def limited_path(
    gram: StandardisedGram,
    ks: Indices,
    alpha: float,
    restrictions: Restrictions,
    known: KnownH | None = None,
    *,
    first: int = FIRST,
) -> list[Solution]:
    """Find the best lists under limits, each such that no single exchange improves it.

    Parameters
    ----------
    gram : StandardisedGram
    ks : ndarray of int64 of shape (n_points,)
        Columns at most, at each point of the path.
    alpha : float
        Ridge, on the standardised scale.
    restrictions : Restrictions
        Not with groups. With ``budgets``, one for each point. Fixed columns are paid for and take
        their places even where their signs hold them at 0; those that are constant, or without a
        ridge depend linearly on those before them, take no place.
    known : KnownH, optional
        What is known of H; ridges share it.
    first : int
        Columns of the working set at first.

    Returns
    -------
    list of Solution
        One for each point. Columns held at 0 by their signs are not in the support, which may be
        smaller than k.
    """
    search = _Search(gram, alpha, restrictions, known or KnownH(gram), first)
    points = list(zip(ks.tolist(), restrictions.money(ks.size), strict=True))
    # From small to large: what is found for less is a start for more.
    order = sorted(range(len(points)), key=lambda at: points[at][::-1])
    found = search.run([points[at] for at in order])
    return [found[order.index(at)] for at in range(len(points))]


class _Search:
    """The search for one ridge, over all points of a path."""

    def __init__(
        self, gram: StandardisedGram, alpha: float, restrictions: Restrictions, known: KnownH,
        first: int,
    ) -> None:  # fmt: skip
        self._gram, self._alpha, self._known = gram, alpha, known
        d = gram.n_features
        everything = np.arange(d)
        fixed, excluded = restrictions.masks(d)
        whole = gram.diagonal + alpha
        prices = restrictions.prices or Prices(np.zeros(1), np.zeros(d, np.int64))
        self._even = restrictions.budgets is None or np.unique(prices.amounts).size == 1
        sign, family = restrictions.signs_of(everything), restrictions.families_of(everything)
        usable = ~excluded & (gram.diagonal > 0) & restrictions.affordable(d)
        self._columns = _Columns(
            gram.delta, whole, dependence_tolerance(gram.precision) * whole, sign, family,
            prices.purchases, usable & ~fixed,
        )  # fmt: skip
        paid = np.zeros(prices.amounts.size, np.int64)
        paid[prices.purchases[restrictions.fixed]] = 1
        self._purse = _Purse(
            prices.amounts, paid, restrictions.max_per_family, int(family.max(initial=0))
        )
        self._fixed = restrictions.fixed[gram.diagonal[restrictions.fixed] > 0]
        # By what a column explains alone, if its sign lets it, and by that for its price.
        worth = np.zeros(d)
        np.divide(gram.delta**2, whole, out=worth, where=self._columns.free)
        worth[sign * gram.delta > 0] = 0.0
        per_price = worth / np.maximum(prices.amounts[prices.purchases], LEAST_EXPLAINED)
        ranks = [np.argsort(np.argsort(-one, kind="stable")) for one in (worth, per_price)]
        by_worth = np.argsort(np.minimum(*ranks), kind="stable")
        by_worth = by_worth[self._columns.free[by_worth]]
        self._W = np.empty(0, np.int64)
        self._H = np.empty((0, 0))
        self._add(np.concatenate([self._fixed, by_worth[:first]]))
        self._fixed = self._independent(self._fixed)

    def run(self, points: Sequence[tuple[int, float]]) -> list[Solution]:
        """Find the lists of all points, given as columns and money at most, ascending."""
        lists: list[_List] = []
        while True:
            lists = self._search(points, lists)
            helpful = self._helpful(points, lists)
            if helpful.size == 0:
                return [self._solution(self._cheapest_of_equals(one.members)) for one in lists]
            self._add(helpful)

    def _independent(self, columns: Indices) -> Indices:
        """Columns of the working set without those that depend on the ones before them."""
        kept: list[int] = []
        nothing = np.zeros(columns.size, np.int64)
        for column in columns.tolist():
            at = np.searchsorted(self._W, [*kept, column])
            floor = self._columns.floor[[*kept, column]]
            delta = self._gram.delta[[*kept, column]]
            block = self._H[np.ix_(at, at)]
            if minimise_signed(block, delta, nothing[: at.size], floor)[1] > -np.inf:
                kept.append(column)
        return np.array(kept, np.int64)

    def _add(self, columns: Indices) -> None:
        """Add columns to the working set."""
        W = np.union1d(self._W, columns)
        try:
            H = self._known.block(W)
        except NotGathered as missing:
            # Columns that help will be chosen: their rows are asked for along with their block.
            likely = NotGathered(rows=columns.tolist() if self._W.size else ())
            raise missing | likely from None
        H[np.diag_indices_from(H)] += self._alpha
        self._W, self._H = W, H

    # ---------------------------------------------------------------------- within the working set

    def _search(self, points: Sequence[tuple[int, float]], lists: list[_List]) -> list[_List]:
        """Search within the working set, from the lists known of each point, if any are."""
        fixed = np.zeros(self._W.size, np.bool_)
        fixed[np.searchsorted(self._W, self._fixed)] = True
        s = _Problem(self._H, _take(self._columns, self._W), fixed, self._purse)
        start = _List(*_tidy(s, np.flatnonzero(fixed)))
        best = [one._replace(members=np.searchsorted(self._W, one.members)) for one in lists]
        best = best or [start] * len(points)
        for turn in range(_ROUNDS):
            before = list(best)
            for at, (k, money) in enumerate(points):
                found = [best[at], self._climb(s, best[max(at - 1, 0)].members, k, money)]
                if turn == 0 and lists:
                    found.append(self._settle(s, best[at].members, k, money))
                if turn == 0 and not self._even:
                    members, _ = _settle(s, start.members, s.columns.free, k, money, True)
                    found.append(self._settle(s, members, k, money))
                best[at] = self._search_on(s, found, k, money)
            for at in range(len(points) - 2, -1, -1):
                k, money = points[at]
                members = _fit_in(s, best[at + 1].members, -1, k, money)
                found = [best[at], self._settle(s, members, k, money)]
                best[at] = self._search_on(s, found, k, money)
            if not any(_is_better(*pair) for pair in zip(best, before, strict=True)):
                break
        return [one._replace(members=self._W[one.members]) for one in best]

    def _settle(self, s: _Problem, members: Indices, k: int, money: float) -> _List:
        return _List(*_settle(s, members, s.columns.free, k, money, False))

    def _climb(self, s: _Problem, members: Indices, k: int, money: float) -> _List:
        """Let one column join at a time, with exchanges at each stop."""
        found = self._settle(s, members, max(members.size, 1), money)
        while found.members.size < k:
            more = self._settle(s, found.members, found.members.size + 1, money)
            if not _is_better(more, found):
                break
            found = more
        return found

    def _search_on(self, s: _Problem, found: list[_List], k: int, money: float) -> _List:
        """Search from the best of some lists, unless that is the first, which was searched from."""
        best = found[0]
        for one in found[1:]:
            if _is_better(one, best):
                best = one
        if best is found[0] or best.members.size > _MOST_KICKED:
            return best
        while True:
            better = next(
                (one for one in self._neighbours(s, best, k, money) if _is_better(one, best)), None
            )
            if better is None:
                return best
            best = better

    def _neighbours(
        self, s: _Problem, found: _List, k: int, money: float
    ) -> Iterator[_List]:  # fmt: skip
        """Lists that more than a single exchange leads to."""
        free = s.columns.free.copy()
        for column in found.members[~s.fixed[found.members]].tolist():
            free[column] = False
            rest = found.members[found.members != column]
            members, _ = _settle(s, rest, free, k, money, False)
            free[column] = True
            yield self._settle(s, members, k, money)
        if self._even:
            return
        outside = free.copy()
        outside[found.members] = False
        worth = self._worth(s, found.members)
        worth[~outside] = -np.inf
        for column in np.argsort(-worth, kind="stable")[:_MOST_FORCED].tolist():
            if worth[column] > 0:
                members = _fit_in(s, np.append(found.members, column), column, k, money)
                if members.size:
                    yield self._settle(s, members, k, money)

    def _worth(self, s: _Problem, members: Indices) -> Array:
        """What columns would bring to a list at most, whatever their price."""
        rows = s.H[members]
        T = np.linalg.solve(rows[:, members], rows)
        gradient = s.columns.delta - s.columns.delta[members] @ T
        left = s.columns.whole - np.einsum("md,md->d", T, rows)
        worth = np.zeros(left.size)
        np.divide(gradient**2, left, out=worth, where=left > s.columns.floor)
        return worth

    # ----------------------------------------------------------------------------- and outside it

    def _helpful(self, points: Sequence[tuple[int, float]], lists: list[_List]) -> Indices:
        """Columns outside the working set that would better a list."""
        columns = self._columns
        outside = columns.free.copy()
        outside[self._W] = False
        if not outside.any():
            return np.empty(0, np.int64)
        union = np.unique(np.concatenate([one.members for one in lists]))
        self._known.fetch(union)
        helpful: set[int] = set()
        for (k, money), one in zip(points, lists, strict=True):
            own, size = _take(columns, one.members), one.members.size
            own.free[:] = ~np.isin(one.members, self._fixed)
            P = self._known.part(one.members, one.members) + self._alpha * np.eye(size)
            for low in range(0, outside.size, TILE):
                tile = low + np.flatnonzero(outside[low : low + TILE])
                others = _take(columns, tile)
                rows = self._known.part(one.members, tile)
                _, j, worth = _best_change(
                    P, own, rows, others, self._purse, money, size < k, False, one.explained
                )
                if j >= 0:
                    order = np.argsort(-worth, kind="stable")[:_MOST_ADDED]
                    helpful |= {int(tile[j]), *tile[order[worth[order] > 0]].tolist()}
        return np.array(sorted(helpful), np.int64)

    def _cheapest_of_equals(self, members: Indices) -> Indices:
        """Put the cheapest of equal columns, the first of those, in place of the one found."""
        columns, purse = self._columns, self._purse
        listed = members.tolist()
        for place, member in enumerate(listed):
            if member in self._fixed:
                continue
            row = self._H[np.searchsorted(self._W, member)]
            same = np.sign(row).astype(np.int64) * columns.sign[member] == columns.sign[self._W]
            same &= np.abs(np.abs(row) + self._alpha - columns.whole[member]) <= EQUAL
            for values in (columns.whole, np.abs(columns.delta), columns.family):
                same &= np.abs(values[self._W] - values[member]) <= EQUAL
            others = [*listed[:place], *listed[place + 1 :]]
            bought = np.isin(np.arange(purse.paid.size), columns.purchase[others])
            prices = np.where(bought | (purse.paid > 0), 0.0, purse.prices)
            equals = [j for j in self._W[same & columns.free[self._W]].tolist() if j not in others]
            listed[place] = min([member, *equals], key=lambda j: (prices[columns.purchase[j]], j))
        return np.array(sorted(listed), np.int64)

    def _solution(self, members: Indices) -> Solution:
        """Minimise on a list."""
        at = np.searchsorted(self._W, members)
        own = _take(self._columns, members)
        coef, explained = minimise_signed(self._H[np.ix_(at, at)], own.delta, own.sign, own.floor)
        kept = coef != 0.0
        return Solution(members[kept], coef[kept], 1.0 - explained)


def _is_better(one: _List, other: _List) -> bool:
    return one.explained > other.explained + max(
        MIN_RELATIVE_GAIN * other.explained, MIN_RELATIVE_GAIN * LEAST_EXPLAINED
    )
