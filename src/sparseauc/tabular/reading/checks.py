"""Columns that look too good: row numbers, ids, and those that give the outcome away.

Nothing is left out on suspicion. A warning names the columns, and whoever knows the data decides.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...metrics import fast_auc
from .columns import dense_column, is_sparse
from .source import listed

Mask = npt.NDArray[np.bool_]

# A column that ranks this well alone, or follows the outcome this closely, is questioned.
LEAK_AUC, COPY_CORRELATION = 0.99, 0.95
# Rows of a first look; only columns that pass it are ranked over all rows.
_LOOK = 1000
_ID_WORDS = {
    "id", "ids", "uid", "uuid", "guid", "index", "idx", "key", "nr", "no", "number", "num",
    "barcode", "mrn", "ssn", "row", "rownum", "rowid",
}  # fmt: skip


def id_columns(X: Any, columns: npt.NDArray[np.str_]) -> list[str]:
    """Columns of distinct whole numbers that are named like an id or count the rows."""
    if is_sparse(X) or X.shape[0] < 3:
        return []
    # Cheap on the first rows of all columns at once; the few that remain are looked at whole.
    with np.errstate(invalid="ignore"):
        head = X[:50]
        whole = np.flatnonzero(np.all(np.floor(head) == head, axis=0))
    found = []
    for j in whole.tolist():
        values = X[:, j]
        if np.isnan(values).any() or np.any(np.floor(values) != values):
            continue
        if np.unique(values).size < values.size:
            continue
        counting = np.all(np.diff(values) == 1)
        if counting or named_like_id(str(columns[j])):
            found.append(str(columns[j]))
    return found


def named_like_id(name: str) -> bool:
    """Whether a part of the name is a word for identifiers."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return any(word in _ID_WORDS for word in re.split(r"[\W_]+", spaced.lower()))


def leaking_columns(X: Any, positive: Mask, columns: npt.NDArray[np.str_]) -> list[str]:
    """Columns that nearly separate the classes alone or nearly copy the outcome, with the AUC."""
    found = []
    for j in _suspects(X, positive).tolist():
        values = dense_column(X, j)
        known = np.isfinite(values)
        mask = positive[known]
        if mask.all() or not mask.any():
            continue
        values = values[known]
        area = fast_auc(values, mask)
        area = max(area, 1.0 - area)
        deviation = values.std()
        follows = deviation > 0 and abs(np.corrcoef(values, mask)[0, 1]) >= COPY_CORRELATION
        if area >= LEAK_AUC or follows:
            found.append(f"{str(columns[j])!r} (AUC {area:.3f})")
    return found


def _suspects(X: Any, positive: Mask) -> npt.NDArray[np.intp]:
    """Columns that may leak; the others cannot, or do not on a sample of the rows."""
    if is_sparse(X):
        # Zeros of the two classes tie, which costs half of z₊z₋ of the AUC.
        shares = [
            1.0 - np.bincount(part.indices[part.data != 0], minlength=X.shape[1]) / part.shape[0]
            for part in (sp.csr_array(X[positive]), sp.csr_array(X[~positive]))
        ]
        few_ties = shares[0] * shares[1] <= 2 * (1.0 - LEAK_AUC)
        apart = np.abs(shares[0] - shares[1]) >= 0.5
        return np.flatnonzero(few_ties | apart)
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(mask))[:_LOOK] for mask in (positive, ~positive)]
    )
    part, mask = X[rows], positive[rows]
    suspects = []
    for j in range(X.shape[1]):
        values = part[:, j]
        known = ~np.isnan(values)
        inside = mask[known]
        if inside.all() or not inside.any():
            continue
        area = fast_auc(values[known], inside)
        if max(area, 1.0 - area) >= LEAK_AUC - 0.05:
            suspects.append(j)
    return np.array(suspects, np.intp)


def suspicions(X: Any, positive: Mask, columns: npt.NDArray[np.str_]) -> list[str]:
    """Warnings about columns, each naming them and saying what to do."""
    warnings = []
    ids = id_columns(X, columns)
    if ids:
        named = listed([repr(name) for name in ids])
        one = len(ids) == 1
        warnings.append(
            f"{named} {'looks like an id' if one else 'look like ids'}: all values are different "
            f"whole numbers. Leave {'it' if one else 'them'} out with --exclude, or name rows by "
            "one with --ids"
        )
    leaks = leaking_columns(X, positive, columns)
    if leaks:
        one = len(leaks) == 1
        warnings.append(
            f"{listed(leaks)} nearly {'separates' if one else 'separate'} the classes alone. If "
            f"{'it is' if one else 'they are'} recorded after the outcome, or derived from it, "
            f"leave {'it' if one else 'them'} out with --exclude"
        )
    return warnings
