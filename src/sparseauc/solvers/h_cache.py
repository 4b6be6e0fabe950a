"""What was computed of H, kept for the next question and the next ridge.

Where H is gathered on readings of a table, a search stops at what is missing and goes on when it is
there. Estimates of what is missing would save readings: of 8000 columns, independent but for 30,
k = 20, k = 50 and five folds take 3, 4 and 10 readings without them and 3, 4 and 7 with them, in
two to three times the time. But with neighbours correlated by 0.6 the search of five folds, misled
by them, asked for more of H than 2 GiB hold; without them it takes 17 readings.
"""

import numpy as np

from ..moments.base import StandardisedGram
from ..utils.jit import kernel
from ..utils.types import Array, Indices

# Numbers of rows of H that are kept whatever the lengths of the lists: 64 MiB.
_KEPT_NUMBERS = 2**23


class HCache:
    """Rows of H, and a block of it, computed when they are first asked for.

    Where another pass over the rows of a table must gather them, ``NotGathered`` is raised and the
    cache stays as it was.

    Parameters
    ----------
    gram : StandardisedGram

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        Rows of H, in their ``positions``.
    """

    def __init__(self, gram: StandardisedGram) -> None:
        self._gram = gram
        d = gram.n_features
        self.rows = np.empty((0, d))
        self._position = np.full(d, -1, np.int64)
        self._n_rows = 0
        self._is_known = np.zeros(d, np.bool_)
        self._columns = np.empty(0, np.int64)
        self._block = np.empty((0, 0))
        self._place = np.full(d, -1, np.int64)

    def fetch(self, columns: Indices) -> None:
        """Compute the rows of some columns that are not known yet."""
        self._make_room(columns)
        wanted = columns[~self._is_known[columns]]
        if wanted.size:
            self.rows[self.positions(wanted)] = self._gram.rows(wanted)
            self._is_known[wanted] = True

    def _make_room(self, columns: Indices) -> None:
        """Give positions to columns without one; all others are dropped where there is no room."""
        d = self._position.size
        room = min(max(_KEPT_NUMBERS // d, 2 * columns.size), d)
        new = columns[self._position[columns] < 0]
        if self._n_rows + new.size > room:
            self._position[:] = -1
            self._is_known[:] = False
            self._n_rows, new = 0, columns
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
        part: Array = take(self.rows, self.positions(columns), others)
        return part

    def block(self, columns: Indices, others: Indices | None = None) -> Array:
        """H of some columns among themselves, or with others that were asked for before."""
        new = columns[self._place[columns] < 0]
        if new.size:
            old = self._columns.size
            every = np.concatenate([self._columns, new])
            block = np.empty((every.size, every.size))
            block[old:] = self._gram.block(new, every)
            block[:old, :old] = self._block
            block[:old, old:] = block[old:, :old].T
            self._columns, self._block = every, block
            self._place[new] = np.arange(old, every.size)
        across = self._place[columns if others is None else others]
        return self._block[self._place[columns][:, None], across]


@kernel
def take(matrix, rows, columns):  # type: ignore[no-untyped-def]
    """Some rows of a matrix, restricted to some columns: many times, and without a buffer."""
    part = np.empty((rows.size, columns.size))
    for i in range(rows.size):
        row = matrix[rows[i]]
        for j in range(columns.size):
            part[i, j] = row[columns[j]]
    return part
