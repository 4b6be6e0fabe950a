"""Of equal columns, which was found is rounding: the first stands for all."""

import numpy as np

from ..moments.base import StandardisedGram
from ..utils.types import Array, Indices, Mask
from .h_cache import HCache
from .restrictions import Restrictions

# Columns that differ by no more than this, on the standardised scale, are equal.
EQUAL = 1e-12


def replace_by_first_of_equals(
    gram: StandardisedGram, cache: HCache, supports: list[Indices], usable: Mask, fixed: Mask,
    working: Indices, limits: Restrictions | None, budget: float,
) -> list[Indices]:  # fmt: skip
    """Put the first of equal columns in place of the one found; with a budget, the cheapest.

    Parameters
    ----------
    gram : StandardisedGram
    cache : HCache
        With the block of H on the working set.
    supports : list of ndarrays of int64
    usable, fixed : bool ndarrays of shape (d,)
        Columns that can be chosen, and columns that stay.
    working : ndarray of int64
        The working set.
    limits : Restrictions or None
        None where all lists are feasible.
    budget : float
        Of the lists.
    """
    equals = _candidates(gram, np.unique(np.concatenate(supports)), usable & ~fixed, usable)
    if not equals:
        return supports
    inside = np.zeros(gram.n_features, np.bool_)
    inside[working] = True
    outside = [column for column, twins in equals.items() if not inside[twins].all()]
    cache.fetch(np.array(outside, np.int64))
    for column, twins in equals.items():
        place = np.array([column])
        row = (cache.part if column in outside else cache.block)(place, twins)[0]
        # What is turned round serves as well, where its sign is turned round too.
        same = np.abs(row) >= gram.diagonal[column] - EQUAL
        if limits is not None:
            signs, families = limits.signs_of(twins), limits.families_of(twins)
            own = twins == column
            same &= signs * np.sign(row) == signs[own]
            # Not one of another family, of which there may be enough.
            same &= families == families[own]
        equals[column] = twins[same]
    return [_first_of(equals, support, limits, budget) for support in supports]


def _candidates(
    gram: StandardisedGram, columns: Indices, replaceable: Mask, usable: Mask
) -> dict[int, Indices]:
    """Columns with the same δ and diagonal as each of some, where there are any."""
    sizes: Array = np.abs(gram.delta)
    by_size = np.argsort(sizes)
    ordered = sizes[by_size]
    found = {}
    asked = columns[replaceable[columns]]
    first = np.searchsorted(ordered, sizes[asked] - EQUAL)
    end = np.searchsorted(ordered, sizes[asked] + EQUAL)
    for at in np.flatnonzero(end - first > 1).tolist():
        column, twins = int(asked[at]), np.sort(by_size[first[at] : end[at]])
        twins = twins[np.abs(gram.diagonal[twins] - gram.diagonal[column]) <= EQUAL]
        twins = twins[usable[twins]]
        if twins.size > 1:
            found[column] = twins
    return found


def _first_of(
    equals: dict[int, Indices], support: Indices, limits: Restrictions | None, budget: float
) -> Indices:
    chosen = support.tolist()
    for column in [j for j in chosen if j in equals]:
        others = np.array([j for j in chosen if j != column], np.int64)
        twins = np.setdiff1d(equals[column], others)
        if limits is not None and limits.prices is not None and budget < np.inf:
            costs = limits.prices.extra(np.union1d(others, limits.fixed), twins)
            twins = twins[costs == costs.min()]
        chosen[chosen.index(column)] = int(twins[0])
    return np.array(sorted(chosen), np.int64)
