"""What an analyst would notice in a table: identifiers, copies, leaks, follow-up times,
codes for missing values and repeated rows.

Identifiers and exact copies are left out with a note; of all else a warning names the
columns, and the user decides.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pyarrow import types

from sparseauc.columns.reading import ReadColumns
from sparseauc.utils.text import listed, quoted
from sparseauc.utils.types import Array, Mask

from ..column_types import Rows
from .columns import count_distinct


def split_words(name: str) -> set[str]:
    """Words of a name, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return {*re.split(r"[\W_]+", spaced.lower())}


# A column with such an AUC alone, or such a correlation with the outcome, may leak it.
LEAK_AUC = 0.95
COPY_CORRELATION = 0.95
# Missingness with such an AUC and so many standard errors from chance may leak the
# outcome: by chance this happens in fewer than one of a hundred tables of a thousand
# columns.
GAP_AUC = 0.6
GAP_DEVIATIONS = 4.5
# Rows of a first look; only columns that pass it are ranked over all rows.
_LOOK = 1000
_ID_WORDS = split_words(
    "id ids pid uid uuid guid index idx mrn ssn barcode row rownum rowid rowname rownames "
    "unnamed record"
)
# Words that name identifiers of related rows too, where they are repeated.
_SURE_ID_WORDS = _ID_WORDS - {"index", "idx", "row", "record"}
# Words that name identifiers, and much else.
_NUMBER_WORDS = split_words("key nr no number num")
_PERSON_WORDS = split_words("patient subject person participant case donor sample")
# Words of follow-up times, and of events that end it.
_TIME_WORDS = split_words(
    "time times futime futimes survtime days months weeks survival surv followup follow fu fup "
    "lenfol tte os pfs dfs rfs efs outcome duration rfstime dfstime pfstime ostime pgtime"
)
# Words of which names of times consist, whatever the outcome.
_UNITS_OF_TIME = split_words(
    "time times futime survtime followup follow up fu duration day days week weeks month months "
    "in to event"
)
_PAST_WORDS = split_words("since ago before prior previous last age")
EVENT_WORDS = split_words(
    "status event events death dead died fstat cens censored censor relapse recurrence recur "
    "progression metastasis mortality e dth alive vital failure delta pgstat"
)
# Codes for missing values that are met in tables of numbers.
_CODES = (-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999, -1)
# Entries of a table beyond which repeated rows are not looked for.
_MOST_ENTRIES = 50_000_000


def find_ids(table: ReadColumns, names: Sequence[str]) -> list[str]:
    """Columns of whole numbers that count the rows, or are all different and named like an id."""
    X = table.values
    if X.shape[0] < 3:
        return []
    # Cheap on the first rows of all columns at once; the few that remain are looked at
    # whole.
    with np.errstate(invalid="ignore"):
        head = X[:50]
        whole = np.flatnonzero(np.all(np.floor(head) == head, axis=0))
    found = []
    for j in whole.tolist():
        values = np.asarray(X[:, j], np.float64)
        # NaN is not equal to itself.
        if j in table.levels or np.any(np.floor(values) != values):
            continue
        words = split_words(names[j])
        steps = np.diff(values)
        counting = np.all(steps == 1) or (values.size >= 10 and np.all(steps > 0))
        distinct = np.unique(values).size
        known = _ID_WORDS
        if distinct < values.size:  # few values are a category
            known = _SURE_ID_WORDS if distinct > max(20, 0.05 * values.size) else set()
        if counting or words & known:
            found.append(names[j])
    return found


def find_copies(table: ReadColumns, names: Sequence[str]) -> dict[str, str]:
    """Columns that are exact copies of an earlier one, and of which."""
    first: dict[tuple[bytes, Any], str] = {}
    copies = {}
    for j, name in enumerate(names):
        content = np.ascontiguousarray(table.values[:, j]) + 0.0  # −0 is 0
        digest = hashlib.blake2b(content.tobytes(), digest_size=16).digest()
        earlier = first.setdefault((digest, table.levels.get(j)), name)
        if earlier != name:
            copies[name] = earlier
    return copies


def warn_of_repeated_ids(frame: Any, rows: Rows, aside: Collection[str]) -> list[str]:
    """Warn about each column of identifiers with repeated values."""
    found = []
    for name in frame.column_names:
        words = split_words(name) - (
            {"no"} if not name.lower().endswith("no") else set()
        )
        if name in aside or not words & (_ID_WORDS | _NUMBER_WORDS | _PERSON_WORDS):
            continue
        column = frame.column(name).take(rows).drop_null()
        if types.is_floating(column.type):
            values = column.to_numpy()
            if np.any(
                values != np.floor(values)
            ):  # measured, such as a body mass index
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


def warn_of_gaps(gaps: Any, positive: Mask) -> list[str]:
    """Warn about columns in which missing values depend on the outcome."""
    shares = [gaps[mask].mean(axis=0).to_numpy() for mask in (positive, ~positive)]
    sizes = np.count_nonzero(positive), np.count_nonzero(~positive)
    overall = (shares[0] * sizes[0] + shares[1] * sizes[1]) / positive.size
    deviation = np.sqrt(overall * (1 - overall) * (1 / sizes[0] + 1 / sizes[1]))
    apart = np.abs(shares[0] - shares[1])
    # The AUC of "is missing" is halfway from 0.5 to the difference of the two shares.
    told = (0.5 + apart / 2 >= GAP_AUC) & (apart >= GAP_DEVIATIONS * deviation)
    named = {gaps.columns[j]: 0.5 + apart[j] / 2 for j in np.flatnonzero(told).tolist()}
    if not named:
        return []
    shown = listed([f"{name!r} (AUC {area:.2f})" for name, area in named.items()])
    return [
        f"missing values predict the outcome in {shown}. If these columns are recorded after the "
        "outcome, or because of it, leave them out with --exclude"
    ]


def leaking_columns(
    table: ReadColumns, positive: Mask, names: Sequence[str]
) -> list[str]:
    """Columns that nearly separate the classes alone or nearly copy the outcome, with the AUC."""
    found = {}
    for j in _find_suspects(table, positive).tolist():
        values = _as_ordered(table, j, positive)
        known = np.isfinite(values)
        area = _separation(values, positive)
        varies = values[known].size and values[known].std() > 0
        follows = varies and abs(np.corrcoef(values[known], positive[known])[0, 1])
        if area >= LEAK_AUC or (area > 0 and follows >= COPY_CORRELATION):
            found[names[j]] = area
    return [f"{name!r} (AUC {area:.3f})" for name, area in found.items()]


def _as_ordered(table: ReadColumns, j: int, positive: Mask) -> Array:
    """Numbers of a column; of texts the share of positives with the same one.

    Texts of many levels separate the classes by chance: they count as missing.
    """
    values = np.asarray(table.values[:, j], np.float64)
    levels = table.levels.get(j)
    if levels is None:
        return values
    if 10 * len(levels) > values.size:
        return np.full(values.size, np.nan)
    known = np.isfinite(values)
    place = values[known].astype(np.int64)
    counts = np.maximum(np.bincount(place, minlength=len(levels)), 1)
    shares = np.bincount(place, positive[known], len(levels)) / counts
    ordered = np.full(values.size, np.nan)
    ordered[known] = shares[place]
    return ordered


def _separation(values: npt.NDArray[Any], positive: Mask) -> float:
    """AUC of a column alone, whichever class has the higher values; 0 if only one is known."""
    from sparseauc.metrics import fast_auc

    known = np.isfinite(values)
    inside = positive[known]
    if inside.all() or not inside.any():
        return 0.0
    area = fast_auc(values[known], inside)
    return float(max(area, 1.0 - area))


def _find_suspects(table: ReadColumns, positive: Mask) -> Rows:
    """Columns that may leak the outcome, by a cheap first check."""
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [
            rng.permutation(np.flatnonzero(mask))[:_LOOK]
            for mask in (positive, ~positive)
        ]
    )
    part = replace(table, values=table.values[rows])
    own = positive[rows]
    areas = np.array(
        [_separation(_as_ordered(part, j, own), own) for j in range(part.shape[1])]
    )
    return np.flatnonzero(areas >= LEAK_AUC - 0.05)


def warn_of_leaks(
    table: ReadColumns, positive: Mask, names: Sequence[str]
) -> list[str]:
    """Warn about columns that leak the outcome."""
    leaks = leaking_columns(table, positive, names)
    if not leaks:
        return []
    one = len(leaks) == 1
    return [
        f"{listed(leaks)} nearly {'separates' if one else 'separate'} the classes alone. If "
        f"{'it is' if one else 'they are'} recorded after the outcome, or derived from it, "
        f"leave {'it' if one else 'them'} out with --exclude"
    ]


def find_times(target: str, names: Iterable[str]) -> list[str]:
    """Columns named like the time to an event or the end of follow-up; first what names both."""
    event = split_words(target)
    found = []
    for name in names:
        words = split_words(name)
        timed = words & _TIME_WORDS or name.lower() in ("t", f"t{target.lower()[1:]}")
        if timed and (event & EVENT_WORDS or event < words) and not words & _PAST_WORDS:
            found.append(name)
    return sorted(found, key=lambda name: not event & split_words(name))


def find_plain_times(names: Iterable[str]) -> list[str]:
    """Columns that are named like a time and nothing else."""
    return [name for name in names if split_words(name) <= _UNITS_OF_TIME]


def warn_of_follow_up(
    target: str, table: ReadColumns, columns: Sequence[str]
) -> list[str]:
    """Warn about columns named like the time of an event, or of anything."""
    names = [name for j, name in enumerate(columns) if j not in table.levels]
    times = [*dict.fromkeys(find_times(target, names) + find_plain_times(names))]
    if not times:
        return []
    one = len(times) == 1
    excluded = " ".join(f"--exclude {name!r}" for name in times[:5])
    return [
        f"{quoted(times)} {'looks' if one else 'look'} like the time to {target!r} or to the end "
        f"of follow-up. If so, {'it is' if one else 'they are'} not known beforehand: leave "
        f"{'it' if one else 'them'} out with {excluded}, or rank rows by the time to their event "
        f"with --time {times[0]!r} --event {target!r}"
    ]


def warn_of_codes(table: ReadColumns, names: Sequence[str]) -> list[str]:
    """Warn about numbers such as -9 or 999 that are repeated beyond all others, as codes are."""
    found = []
    codes = []
    for j, name in enumerate(names):
        if j in table.levels:
            continue
        values = np.asarray(table.values[:, j], np.float64)
        coded = np.isin(values, _CODES)
        rest = np.unique(values[np.isfinite(values) & ~coded])
        if not coded.any() or rest.size < 2:
            continue
        least = max(2, 0.005 * values.size)
        for code, repeated in zip(
            *np.unique(values[coded], return_counts=True), strict=True
        ):
            if repeated >= least and _stands_apart(code, rest):
                found.append(f"{name!r} is {code:g} in {repeated} rows")
                codes.append(f"{code:g}")
    if not found:
        return []
    return [
        f"{listed(found)}, beyond all other values. If that means missing, read it as empty with "
        f"--missing-codes {','.join(dict.fromkeys(codes))}"
    ]


def _stands_apart(code: float, rest: npt.NDArray[np.float64]) -> bool:
    """Return whether all other values, sorted, are on one side of a code, and it is none of them.

    It is not if it is the only negative one, or further from the next than these are
    apart.
    """
    if rest[0] < code < rest[-1]:
        return False
    apart = np.abs(rest - code).min()
    return bool((code < -1 and rest[0] >= 0) or apart > np.diff(rest).max())


def warn_of_repeated_rows(table: ReadColumns, rows: Rows) -> list[str]:
    """Warn about rows that are alike in every column, if that is more than chance."""
    X = table.values
    if X.size > _MOST_ENTRIES or X.shape[0] < 4:
        return []
    import pandas as pd

    empty = np.isnan(X).all(axis=1)
    told = []
    if empty.any():
        told = [
            f"{np.count_nonzero(empty)} of {empty.size} rows have no value in any column, first "
            f"row {rows[empty][0] + 1}: remove them"
        ]
        X = X[~empty]
        rows = rows[~empty]
    frame = pd.DataFrame(X, copy=False)
    # The column that varies most tells of most rows that they are not repeated.
    varied = int(frame.iloc[: 2 * _LOOK].nunique(dropna=False).to_numpy().argmax())
    alike = frame[frame.duplicated(varied, keep=False)]
    repeats = np.flatnonzero(alike.duplicated().to_numpy())
    different = np.delete(X, alike.index[repeats], axis=0)
    pairs = X.shape[0] * (X.shape[0] - 1) / 2
    if repeats.size < 2 or repeats.size < 10 * pairs * _chance_of_equal_rows(different):
        return told
    first = alike.index[repeats[0]]
    repeated = alike.iloc[repeats[0]]
    equal = (alike == repeated) | (alike.isna() & repeated.isna())
    like = alike.index[np.flatnonzero(equal.all(axis=1).to_numpy())[0]]
    return [
        *told,
        f"{repeats.size} of {X.shape[0]} rows repeat another in every column, first row "
        f"{rows[first] + 1}, which repeats row {rows[like] + 1}. The AUC is optimistic then: "
        "remove them, or mark rows that belong together with --groups",
    ]


def _chance_of_equal_rows(X: Any) -> float:
    """Chance that two rows are equal if the columns of the table were independent."""
    n = X.shape[0]
    chances = []
    for column in X.T:
        counts = np.unique(column, return_counts=True)[1]
        chances.append(np.sum(counts * (counts - 1)) / max(1, n * (n - 1)))
    return float(np.prod(chances))
