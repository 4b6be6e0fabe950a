"""Rows of H on the standardised scale, fetched when asked for and kept within a bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ._units import check_deviations
from .base import Array, Indices, Moments

# Up to this many columns H is formed whole: its rows then come in one matrix product, and nothing
# is fetched twice.
_WHOLE = 400
# Numbers that may be kept whatever the capacity asked for: 64 MiB, all of H up to 2896 columns.
_ALWAYS_KEPT = 2**23
# Rows fetched at a time: the one that is needed and the likeliest to be needed next. A product with
# several columns reads X once for all of them.
BATCH = 16
_EVERYWHERE = slice(None)


class StandardisedGram:
    """H and δ of columns divided by their deviations, without dividing the columns.

    A column whose deviation is nothing but rounding beside its mean, as of a constant, is divided
    by one and has no difference and no variance: it is never worth choosing.

    Only rows that are asked for are computed. They are kept up to ``capacity`` rows; then those not
    asked for longest are dropped.

    Parameters
    ----------
    moments : Moments
        Of the columns as they are.
    capacity : int
        Rows to keep at most, or as many as fit in 64 MiB.

    Attributes
    ----------
    scale : ndarray of shape (d,)
        The deviations divided by.
    delta, diagonal : ndarrays of shape (d,)
    precision : float
        Relative precision of the rows.
    candidates : int
        How many columns that may be asked for next are worth naming.
    """

    def __init__(self, moments: Moments, capacity: int) -> None:
        self.moments = moments
        self.precision = moments.precision
        d = moments.n_features
        self.scale: Array
        self.scale, constant = check_deviations(moments)
        self.scale[constant] = 1.0
        self._inverse_scale = 1.0 / self.scale
        self.delta: Array = moments.delta * self._inverse_scale
        self.diagonal: Array = moments.diagonal * self._inverse_scale**2
        self.delta[constant] = 0.0
        self.diagonal[constant] = 0.0
        # Columns that cost no reading of rows, where others do.
        self._at_hand = np.ones(d, np.bool_) if moments.at_hand is None else moments.at_hand
        # Where only some are at hand the moments keep them: once is enough.
        if self._at_hand.all() or d <= _WHOLE:
            capacity = max(capacity, _ALWAYS_KEPT // d)
        self._capacity = min(d, capacity)
        self._rows = np.empty((self._capacity, d))
        self._slot: dict[int, int] = {}  # in order of use, the latest last
        # Of many that are likely, few may not be at hand.
        self.candidates = 2 * BATCH if self._at_hand.all() else 16 * BATCH
        if d <= _WHOLE:
            self._fetch(np.flatnonzero(self._at_hand), keep=frozenset())

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.delta.size

    def row(self, column: int, likeliest: Callable[[], Indices], keep: frozenset[int]) -> Array:
        """Row of H for ``column``.

        Parameters
        ----------
        column : int
        likeliest : callable
            Gives columns that may be asked for next, likeliest first; fetched along when there is
            room.
        keep : frozenset of int
            Columns whose rows must not be dropped to make room.
        """
        if column not in self._slot:
            # What costs a reading is then kept for all folds: fewer come along.
            batch = BATCH if self._at_hand[column] else BATCH // 2
            room = min(batch, self._capacity - len(keep))
            wanted = [column]
            for other in likeliest().tolist():
                if len(wanted) >= room:
                    break
                alike = self._at_hand[other] == self._at_hand[column]
                if alike and other not in self._slot and other != column:
                    wanted.append(other)
            self._fetch(np.sort(wanted), keep)
        slot = self._slot.pop(column)
        self._slot[column] = slot
        row: Array = self._rows[slot]
        return row

    def rows(self, columns: Indices, within: Indices | slice = _EVERYWHERE) -> Array:
        """Rows of H for several columns, or the part of them ``within`` some columns."""
        missing = np.array([j for j in columns.tolist() if j not in self._slot], np.int64)
        if missing.size:
            self._fetch(missing, frozenset(columns.tolist()))
        slots = np.array([self._slot[j] for j in columns.tolist()], np.int64)
        part: Array = (
            self._rows[slots, within]
            if isinstance(within, slice)
            else self._rows[np.ix_(slots, within)]
        )
        return part

    def _fetch(self, columns: npt.NDArray[np.int64], keep: frozenset[int]) -> None:
        taken = set(self._slot.values())
        free = [slot for slot in range(self._capacity) if slot not in taken]
        for column in list(self._slot):
            if len(free) >= columns.size:
                break
            if column not in keep:
                free.append(self._slot.pop(column))
        with np.errstate(over="ignore", invalid="ignore"):
            fetched = self.moments.columns(columns).T
        for column in columns[~np.isfinite(fetched).all(axis=1)][:1]:
            raise ValueError(f"products of column {column} overflow: rescale it")
        fetched *= self._inverse_scale
        fetched *= self._inverse_scale[columns][:, None]
        for column, slot, row in zip(columns.tolist(), free, fetched, strict=False):
            self._rows[slot] = row
            self._slot[column] = slot
