"""Warnings about columns that look like identifiers or leak the outcome.

Nothing is left out on suspicion: the warning names the columns, and the user decides.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pyarrow import types

from sparseauc._text import listed, quoted
from sparseauc._types import Mask

from ..scorecard import Input
from .columns import count_distinct, dense_column, is_sparse

# A column with such an AUC alone, or such a correlation with the outcome, may leak it.
LEAK_AUC, COPY_CORRELATION = 0.99, 0.95
# Missingness with such an AUC and so many standard errors from chance may leak the outcome: by
# chance this happens in fewer than one of a hundred tables of a thousand columns.
GAP_AUC, GAP_DEVIATIONS = 0.6, 4.5
# Rows of a first look; only columns that pass it are ranked over all rows.
_LOOK = 1000
_ID_WORDS = {
    "id", "ids", "uid", "uuid", "guid", "index", "idx", "key", "nr", "no", "number", "num",
    "barcode", "mrn", "ssn", "row", "rownum", "rowid",
}  # fmt: skip
_PERSON_WORDS = {"patient", "subject", "person", "participant", "case", "donor", "sample"}


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
    return bool(_split_words(name) & _ID_WORDS)


def _split_words(name: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return {*re.split(r"[\W_]+", spaced.lower())}


def warn_of_repeated_ids(
    frame: Any, rows: npt.NDArray[np.intp], aside: Collection[str]
) -> list[str]:
    """Warn about each column of identifiers with repeated values."""
    found = []
    for name in frame.column_names:
        if name in aside or not _split_words(name) & (_ID_WORDS | _PERSON_WORDS):
            continue
        column = frame.column(name).take(rows).drop_null()
        if types.is_floating(column.type):
            values = column.to_numpy()
            if np.any(values != np.floor(values)):  # measured, such as a body mass index
                continue
        distinct = count_distinct(column)
        # A few values are a category, such as a case of two kinds.
        if max(20, 0.05 * len(column)) < distinct < len(column):
            found.append(
                f"{name!r} has {distinct} different values in {len(column)} rows. If rows with the "
                f"same value belong together, such as visits of a patient, use --groups {name!r}: "
                "otherwise the AUC is optimistic"
            )
    return found


def warn_of_gaps(gaps: Any, positive: Mask, inputs: Sequence[Input]) -> list[str]:
    """Warn about columns in which missing values depend on the outcome."""
    shares = [np.asarray(gaps[mask].mean(axis=0)).ravel() for mask in (positive, ~positive)]
    sizes = np.count_nonzero(positive), np.count_nonzero(~positive)
    overall = (shares[0] * sizes[0] + shares[1] * sizes[1]) / positive.size
    deviation = np.sqrt(overall * (1 - overall) * (1 / sizes[0] + 1 / sizes[1]))
    apart = np.abs(shares[0] - shares[1])
    # The AUC of "is missing" is halfway from 0.5 to the difference of the two shares.
    told = (0.5 + apart / 2 >= GAP_AUC) & (apart >= GAP_DEVIATIONS * deviation)
    named = {inputs[j].column: 0.5 + apart[j] / 2 for j in np.flatnonzero(told).tolist()}
    if not named:
        return []
    shown = listed([f"{name!r} (AUC {area:.2f})" for name, area in named.items()])
    return [
        f"missing values predict the outcome in {shown}. If these columns are recorded after the "
        "outcome, or because of it, leave them out with --exclude"
    ]


def leaking_columns(X: Any, positive: Mask, columns: npt.NDArray[np.str_]) -> list[str]:
    """Columns that nearly separate the classes alone or nearly copy the outcome, with the AUC."""
    found = []
    for j in _find_suspects(X, positive).tolist():
        values = dense_column(X, j)
        known = np.isfinite(values)
        area = _separation(values, positive)
        varies = values[known].size and values[known].std() > 0
        follows = varies and abs(np.corrcoef(values[known], positive[known])[0, 1])
        if area >= LEAK_AUC or (area > 0 and follows >= COPY_CORRELATION):
            found.append(f"{str(columns[j])!r} (AUC {area:.3f})")
    return found


def _separation(values: npt.NDArray[Any], positive: Mask) -> float:
    """AUC of a column alone, whichever class has the higher values; 0 if only one is known."""
    from sparseauc.metrics import fast_auc

    known = np.isfinite(values)
    inside = positive[known]
    if inside.all() or not inside.any():
        return 0.0
    area = fast_auc(values[known], inside)
    return float(max(area, 1.0 - area))


def _find_suspects(X: Any, positive: Mask) -> npt.NDArray[np.intp]:
    """Columns that may leak the outcome, by a cheap first check."""
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
    part = X[rows]
    areas = np.array([_separation(part[:, j], positive[rows]) for j in range(X.shape[1])])
    return np.flatnonzero(areas >= LEAK_AUC - 0.05)


def warn_of_suspects(X: Any, positive: Mask, columns: npt.NDArray[np.str_]) -> list[str]:
    """Warn about columns that look like identifiers or leak the outcome."""
    warnings = []
    ids = id_columns(X, columns)
    if ids:
        one = len(ids) == 1
        warnings.append(
            f"{quoted(ids)} {'looks like an id' if one else 'look like ids'}: all values are "
            f"different whole numbers. Leave {'it' if one else 'them'} out with --exclude or --ids"
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
