"""Times to event and weights of rows, read from the columns of a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sparseauc.errors import InputError
from sparseauc.utils.types import Array, Mask

from ..column_types import ColumnType, FollowUp
from .features import Rules
from .scoring import read_numbers
from .source import DataError, Source, unknown_column_error

if TYPE_CHECKING:
    from sparseauc.survival import SurvivalTimes


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Rows with their times and weights.

    Attributes
    ----------
    rows : ndarray
        Those kept: not the ones of weight 0, and of a binary question not those that are censored
        before the horizon.
    y : ndarray
        1 where a row has the event, of a binary question until the horizon.
    times : SurvivalTimes, optional
        None without times, and for a binary question.
    weight : ndarray, optional
    follow_up : FollowUp, optional
    notes : tuple of str
    """

    rows: npt.NDArray[np.intp]
    y: npt.NDArray[np.int64]
    times: SurvivalTimes | None
    weight: Array | None
    follow_up: FollowUp | None
    notes: tuple[str, ...] = ()


def follow_rows(
    source: Source, rules: Rules, rows: npt.NDArray[np.intp], event: Mask, label: str
) -> FollowedRows:
    """Read times and weights of some rows of a file, of which some had an event.

    Parameters
    ----------
    source, rules
    rows : ndarray
        Places of the rows in the file.
    event : ndarray of bool
        Whether each of these rows had the event.
    label : str
        Its value in the column of the outcome.
    """
    weight = None
    notes: tuple[str, ...] = ()
    if rules.weights is not None:
        weight = _read_complete(source, rules.weights, "--weights", rows)
        if not weight.any():
            raise DataError(f"--weights: {rules.weights!r} is 0 in all rows")
        counted = weight > 0
        left_out = counted.size - np.count_nonzero(counted)
        if left_out:
            notes = (f"{left_out} row{'' if left_out == 1 else 's'} of weight 0 left out",)
        rows = rows[counted]
        event = event[counted]
        weight = weight[counted]
    y = event.astype(np.int64)
    if rules.time is None:
        if rules.horizon is not None:
            raise DataError("--horizon is about times: give their column with --time")
        return FollowedRows(rows, y, None, weight, None, notes)
    from sparseauc.survival import SurvivalTimes

    times = SurvivalTimes(_read_complete(source, rules.time, "--time", rows), event)
    if not event.any():
        raise DataError(
            f"no row has the event: {rules.target!r} is never {label!r}. --event-value names the "
            "value of rows that had it"
        )
    try:
        times.check_pairs(weight)
        horizon = times.check_horizon(rules.horizon, weight)
    except InputError as error:
        option = "--horizon" if str(error).startswith(("horizon", "no event comes")) else "--time"
        raise DataError(f"{option} {rules.time!r}: {error}".replace(" y holds", "")) from None
    found = FollowUp(rules.time, label, horizon, rules.within)
    if not rules.within:
        return FollowedRows(rows, y, times, weight, found, notes)
    known = _ask_at_horizon(rows, times, weight, found)
    return replace(known, notes=notes + known.notes)


def _ask_at_horizon(
    rows: npt.NDArray[np.intp], times: SurvivalTimes, weight: Array | None, found: FollowUp
) -> FollowedRows:
    """Rows whose state at the horizon is known, with weights that stand for the others."""
    from sparseauc.survival import horizon_weights

    try:
        weights = horizon_weights(times, found.horizon, weight)
    except InputError as error:
        raise DataError(f"--horizon: {error}") from None
    known = np.flatnonzero(weights > 0)
    y = (times.event & (times.time <= found.horizon)).astype(np.int64)[known]
    left_out = rows.size - known.size
    notes = (
        (
            f"{left_out} rows are censored before {found.horizon:g} and left out; the others stand "
            "for them by inverse censoring weights",
        )
        if left_out
        else ()
    )
    return FollowedRows(rows[known], y, None, weights[known], found, notes)


def _read_complete(source: Source, name: str, option: str, rows: npt.NDArray[np.intp]) -> Array:
    """Numbers of 0 or more in some rows of a column."""
    names = source.frame.column_names
    if name not in names:
        raise unknown_column_error(name, names, f"{source.name}, {option}")
    values = read_numbers(source, name, ColumnType("number"))[rows]
    for bad, what, do in (
        (np.isnan(values), "missing", "fill it in, or take these rows out of the file"),
        (~np.isfinite(values), "infinite", "give a number"),
        (values < 0, "negative", "give a number of 0 or more, or take these rows out of the file"),
    ):
        if bad.any():
            first = rows[np.flatnonzero(bad)[0]] + 1
            count = int(bad.sum())
            raise DataError(
                f"{option}: {name!r} is {what} in {count} row{'' if count == 1 else 's'}, first "
                f"in row {first}: {do}"
            )
    return values
