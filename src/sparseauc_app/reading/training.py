"""Turn a file into a training table: its columns, two classes, missing values settled.

Whatever would lose or change data is refused unless an option asks for it, and is
noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sparseauc.columns.reading import ReadColumns, is_frame
from sparseauc.columns.reading import read_table as read_frame
from sparseauc.errors import InputError
from sparseauc.utils.arrays import column_of
from sparseauc.utils.text import listed, quoted
from sparseauc.utils.types import Array

from ..column_types import ColumnType, FollowUp, Labels, Rows
from ..text import shortened
from .arrange import empty_codes
from .checks import (
    find_copies,
    find_ids,
    warn_of_codes,
    warn_of_follow_up,
    warn_of_gaps,
    warn_of_leaks,
    warn_of_repeated_ids,
    warn_of_repeated_rows,
)
from .columns import is_given, texts
from .features import Missing, Rules, encode_columns
from .outcome import (
    Classes,
    find_classes,
    find_event,
    find_event_times,
    follow_rows,
    leave_out_others,
    read_labels,
)
from .source import DataError, Source

if TYPE_CHECKING:
    from sparseauc.outcome import Outcome
    from sparseauc.survival import SurvivalTimes


@dataclass(frozen=True, eq=False)
class Table:
    """A table ready to be fitted.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Numbers and texts as models take them; of :func:`~sparseauc_app.report_model`
        whatever the model was fitted to. Values are missing only with ``imputation``.
    names : tuple of str
        Its columns.
    y : ndarray of shape (n,)
        1 for positive rows, 0 for others; of times to event, 1 for rows with the event.
    target : str
        Name of the outcome.
    negative, positive : str
        The labels; "not a" for all labels except a.
    negatives : tuple of str
        The labels of negative rows.
    times : SurvivalTimes, optional
        Where rows are ranked by the time to their event.
    follow_up : FollowUp, optional
        How the outcome is known, if by times.
    weight : ndarray of shape (n,), optional
        What each row counts.
    groups : ndarray of shape (n,), optional
        Index of each row's group.
    strata : ndarray of shape (n,), optional
        Name of each row's stratum: only pairs of one stratum count.
    within : str, optional
        Name of the column of the strata, within whose values rows are compared.
    ids : str, optional
        Name of the column of row identifiers.
    missing_codes : tuple of str
        Values such as -9 that were read as empty.
    missing : dict of str to int
        Number of missing values of each column that has any.
    imputation : {"median"}, optional
        What missing numbers count as; without it, rows with missing values have no
        score.
    source : str
        Name of the file.
    types : dict of str to ColumnType
        Type of each of the file's columns.
    left_out : dict of str to str
        Columns that were not used, and why.
    notes, warnings : tuple of str
    """

    X: Any
    names: tuple[str, ...]
    y: npt.NDArray[np.int64]
    target: str
    negative: str
    positive: str
    negatives: tuple[str, ...] = ()
    times: SurvivalTimes | None = None
    follow_up: FollowUp | None = None
    weight: Array | None = None
    groups: npt.NDArray[np.int64] | None = None
    strata: Labels | None = None
    within: str | None = None
    ids: str | None = None
    missing_codes: tuple[str, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)
    imputation: Literal["median"] | None = None
    source: str = ""
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def columns(self) -> npt.NDArray[np.str_]:
        """Names of the columns."""
        return np.array(self.names, np.str_)

    @cached_property
    def numbers(self) -> ReadColumns:
        """The columns as numbers: of texts those of their levels."""
        return _as_numbers(self.X)

    def values_of(self, j: int) -> Array:
        """The numbers of a column."""
        return np.asarray(column_of(self.numbers.values, j), np.float64)

    @property
    def n_within(self) -> int:
        """Number of strata, 0 without any."""
        return 0 if self.strata is None else np.unique(self.strata.astype(np.str_)).size

    def known(self, rows: Any = slice(None)) -> dict[str, Any]:
        """Strata and weights of some rows, as fits and questions about them take these."""
        given = {"strata": self.strata, "sample_weight": self.weight}
        return {
            name: of_rows[rows]
            for name, of_rows in given.items()
            if of_rows is not None
        }

    @cached_property
    def outcome(self) -> Outcome:
        """Classes or times that rows are ranked by."""
        # Kernels take seconds to import, which those who only read a table need not
        # wait for.
        from sparseauc.outcome import Binary, Times

        if self.times is None or self.follow_up is None:
            return Binary(self.y == 1, self.weight, groups=self.groups)
        horizon = self.follow_up.horizon
        return Times(self.times, self.weight, horizon=horizon, groups=self.groups)


def _as_numbers(X: Any) -> ReadColumns:
    """Read a table as models do."""
    if not is_frame(X):
        return ReadColumns(X)
    try:
        return read_frame(X)
    except InputError as error:
        raise DataError(str(error)) from error


def training_table(source: Source, rules: Rules) -> Table:
    """Turn a file into a training table.

    Parameters
    ----------
    source : Source
    rules : Rules

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If data would be lost without a rule that allows it, or the outcome does not
        have two classes. The message names the columns and the option that helps.
    """
    source = empty_codes(source, rules.missing_codes, rules.ids)
    notes = list(source.notes)
    warnings = list[str]()
    target, labels = read_labels(source, rules, training_table)
    problems: list[DataError] = []
    classes, rows = _find_rows(source, labels, target, rules, problems, notes, warnings)
    followed = follow_rows(
        source, rules, rows, labels[rows] == classes.positive, classes.positive
    )
    rows = followed.rows
    y = followed.y
    notes += followed.notes
    names = classes.name, classes.positive
    if followed.follow_up is not None and followed.follow_up.binary:
        by_then = f"{classes.positive} within {followed.follow_up.horizon:g}"
        names = f"not {by_then}", by_then
    groups = read_complete_column(source, rules.groups, "--groups", rows)
    strata = read_complete_column(source, rules.strata, "--strata", rows)
    _refuse_unknown(source, rules)
    aside = {target, *rules.aside}
    features = encode_columns(source, aside, rules, problems)
    notes += features.notes
    X = features.X
    X = X if rows.size == labels.size else X.take(rows)
    missing = _count_missing(X)
    if missing and rules.missing == "refuse":
        problems.append(_refuse_missing(missing, rows.size))
    _refuse_infinite(X, problems)
    _raise_all(problems)
    if X.shape[1] == 0:
        raise _no_columns_error(source, target, features.left_out)
    if missing and 0 < y.sum() < y.size:
        warnings += warn_of_gaps(X.isna(), y == 1)
    kept = _settle_missing(X, rules.missing, missing, notes, warnings)
    if kept.size < rows.size:
        X = X.take(kept)
    y = y[kept]
    rows = rows[kept]
    if followed.times is None or y.sum() < 2:  # rows need not be censored
        _refuse_few_rows(y, classes, target)
    unused = dict(features.left_out)
    X = _leave_out_useless(X, rules, unused, notes)
    if followed.times is None:
        warnings += warn_of_leaks(_as_numbers(X), y == 1, X.columns)
    warnings += _look_at_rows(source, rules, target, X, rows)
    return Table(
        X=X,
        names=tuple(map(str, X.columns)),
        y=y,
        target=target,
        negative=names[0],
        positive=names[1],
        negatives=classes.negatives,
        times=None if followed.times is None else followed.times.take(kept),
        follow_up=followed.follow_up,
        weight=None if followed.weight is None else followed.weight[kept],
        groups=None
        if groups is None
        else np.unique(groups[kept], return_inverse=True)[1],
        strata=None if strata is None else strata[kept],
        within=rules.strata,
        ids=rules.ids,
        missing_codes=tuple(rules.missing_codes),
        missing=missing,
        imputation="median" if rules.missing == "median" else None,
        source=source.name,
        types=features.types,
        left_out=unused,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _look_at_rows(
    source: Source, rules: Rules, target: str, X: Any, rows: Rows
) -> list[str]:
    """Warn of follow-up times, codes for missing values, and rows that belong together."""
    table = _as_numbers(X)
    told = warn_of_follow_up(target, table, X.columns) if rules.time is None else []
    told += warn_of_codes(table, X.columns)
    if rules.groups is None:
        others = {target, *rules.aside} - {rules.ids}
        told += warn_of_repeated_ids(source.frame, rows, others)
        told += warn_of_repeated_rows(table, rows)
    return told


def _find_rows(
    source: Source,
    labels: Labels,
    target: str,
    rules: Rules,
    problems: list[DataError],
    notes: list[str],
    warnings: list[str],
) -> tuple[Classes, Rows]:
    """Find the two classes and the rows that are of one of them; say which rows are not."""
    rows = np.flatnonzero(is_given(labels))
    if rows.size < labels.size:
        left_out = labels.size - rows.size
        have = "row has" if left_out == 1 else "rows have"
        warnings.append(f"{left_out} {have} no {target!r} and were left out")
    find = find_classes if rules.time is None else find_event
    classes = find(labels[rows], target, rules.positive, rules.negative, problems)
    if problems and (times := find_event_times(source, target, rules)):
        problems[:] = [
            DataError(
                f"{problems[0]}. --time {times[0]!r} --event-value {classes.positive!r} ranks rows "
                "by the time to that event, and has all others censored",
                ["--time", times[0], "--event-value", classes.positive],
            )
        ]
    of_classes, on_others = leave_out_others(labels[rows], classes, target)
    warnings += on_others
    if classes.why and not problems:
        what = "positive class is" if rules.time is None else "event is"
        option = "--positive" if rules.time is None else "--event-value"
        notes.append(
            f"the {what} {classes.positive!r}, because {classes.why}; {option} {classes.name!r} "
            "swaps the classes"
        )
    return classes, rows[of_classes]


def _refuse_unknown(source: Source, rules: Rules) -> None:
    """Refuse row identifiers and excluded columns that the file does not have."""
    if rules.ids is not None:
        source.column(rules.ids, "--ids")  # which refuses one that is not there
    for name in rules.exclude:
        source.column(name, "--exclude")


def _no_columns_error(
    source: Source, target: str, left_out: Mapping[str, str]
) -> DataError:
    """The error for a file without a column to choose; its fields may not have been split."""
    if len(source.names) == 1:
        return DataError(
            f"{source.name} has only one column, {shortened(source.names[0])!r}. "
            "If fields are not separated by comma, semicolon, tab or bar, give "
            "--format delimiter=X"
        )
    named = listed([f"{name!r} ({why})" for name, why in left_out.items()], 20)
    told = f", and leaves out {named}" if named else ""
    return DataError(f"{source.name} has no column to choose except {target!r}{told}")


def _refuse_few_rows(y: npt.NDArray[np.int64], classes: Classes, target: str) -> None:
    """Refuse a class of fewer than two rows."""
    for label, count in (
        (classes.positive, int(y.sum())),
        (classes.name, int((1 - y).sum())),
    ):
        if count < 2:
            raise DataError(
                f"only {count} rows of {target!r} are {label!r}: each class needs at least two "
                "rows, and many more for a useful result"
            )


def _count_missing(X: Any) -> dict[str, int]:
    """Number of missing values of each column that has any, the most first."""
    counts = X.isna().sum()
    return {
        name: int(n)
        for name, n in counts[counts > 0].sort_values(ascending=False).items()
    }


def _show_missing(missing: Mapping[str, int]) -> str:
    return listed([f"{name!r} ({count})" for name, count in missing.items()])


def _refuse_missing(missing: Mapping[str, int], rows: int) -> DataError:
    """The error for missing values: columns that are mostly missing are better left out."""
    mostly = [name for name, count in missing.items() if 2 * count > rows]
    options = [part for name in mostly for part in ("--exclude", name)]
    if len(mostly) < len(missing):
        options += ["--missing", "median"]
    more = ""
    if mostly:
        more = f". More than half of {quoted(mostly)} is missing"
    return DataError(
        f"missing values in {_show_missing(missing)}. --missing median imputes them, "
        f"drop-rows drops rows that have any, --exclude leaves out a column{more}",
        options,
    )


def _raise_all(problems: Sequence[DataError]) -> None:
    """Raise what is in the way, all of it at once."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        told = "".join(
            f"\n({place}) {problem}." for place, problem in enumerate(problems, start=1)
        )
        options = [option for problem in problems for option in problem.options]
        raise DataError(f"{len(problems)} problems:{told}", options)


def _leave_out_useless(
    X: Any, rules: Rules, unused: dict[str, str], notes: list[str]
) -> Any:
    """X without identifiers and exact copies of columns, which are noted."""
    table = _as_numbers(X)
    ids = [name for name in find_ids(table, X.columns) if name not in rules.keep]
    copies = {
        name: of
        for name, of in find_copies(table, X.columns).items()
        if name not in rules.keep and of not in ids and name not in ids
    }
    left = {*ids, *copies}
    if not left or len(left) == X.shape[1]:
        return X
    unused |= dict.fromkeys(ids, "an identifier")
    unused |= {name: f"a copy of {of}" for name, of in copies.items()}
    back = "--limits always_include=NAME brings one back"
    if ids:
        notes.append(f"identifiers left out: {quoted(ids)}; {back}")
    if copies:
        named = listed([f"{name!r} (of {of!r})" for name, of in copies.items()])
        notes.append(f"exact copies of other columns left out: {named}; {back}")
    return X.drop(columns=[*left])


def read_complete_column(
    source: Source, name: str | None, option: str, rows: Rows
) -> Labels | None:
    """The rows' entries in a column of the file, as text, of which none may be missing."""
    if name is None:
        return None
    found = texts(source.column(name, option))[rows]
    lacking = rows[~is_given(found)]
    if lacking.size:
        shown = listed([str(row + 1) for row in lacking.tolist()])
        raise DataError(
            f"{option}: {name!r} is missing in row{'' if lacking.size == 1 else 's'} {shown}"
        )
    return found


def _refuse_infinite(X: Any, problems: list[DataError]) -> None:
    infinite = np.isinf(X.select_dtypes("number")).any()
    names = infinite.index[infinite].tolist()
    if names:
        problems.append(
            DataError(
                f"infinite values in {quoted(names)}: replace them in the file, or --exclude the "
                "column",
                [part for name in names for part in ("--exclude", name)],
            )
        )


def _settle_missing(
    X: Any,
    rule: Missing,
    missing: Mapping[str, int],
    notes: list[str],
    warnings: list[str],
) -> Rows:
    """Apply the rule for missing values; return the rows kept."""
    rows = np.arange(X.shape[0])
    if not missing:
        return rows
    if rule == "drop-rows":
        kept = np.flatnonzero(~X.isna().any(axis=1))
        warnings.append(
            f"{rows.size - kept.size} of {rows.size} rows dropped for missing values in "
            f"{_show_missing(missing)}"
        )
        if kept.size == 0:
            raise DataError(
                f"every row has a missing value: {_show_missing(missing)}. Try --missing median"
            )
        return kept
    notes += _notes_on_imputation(X, missing)
    return rows


def _notes_on_imputation(X: Any, missing: Mapping[str, int]) -> Iterator[str]:
    """Say what missing numbers count as, and missing text."""
    texts = {*X.select_dtypes("category")}
    by = {
        "missing values imputed by the median of the training rows": missing.keys()
        - texts,
        "missing text is a level of its own": texts,
    }
    for what, names in by.items():
        held = {name: count for name, count in missing.items() if name in names}
        if held:
            yield f"{what}: {_show_missing(held)}"
