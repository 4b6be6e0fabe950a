"""From what a file holds to what a model is fitted to: numbers, two classes, nothing missing.

Everything that loses or changes data is either asked for or refused, and what was done is noted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .checks import suspicions
from .columns import dense_column, is_number, is_sparse, kind_of, labels_as_text, numbers, texts
from .read import read_source
from .source import DataError, Source, listed, read_by, shortened, unknown_column

Missing = Literal["refuse", "median", "mean", "drop-rows", "drop-columns"]
Text = Literal["refuse", "one-hot", "drop"]
Labels = npt.NDArray[np.object_]

# Text of more levels than this is a name or a remark rather than a category.
MAX_LEVELS = 20


@dataclass(frozen=True)
class Input:
    """Where a column of X comes from: a column of the file, or one level of a column of text."""

    column: str
    level: str | None = None

    @property
    def name(self) -> str:
        """Name of the column of X."""
        return self.column if self.level is None else f"{self.column}={self.level}"


@dataclass(frozen=True)
class Rules:
    """What to do with a file's columns; refusing is the default wherever data would be lost.

    Attributes
    ----------
    target : str, optional
        Column of the outcome; files that have a place for it need none.
    target_file : Path, optional
        File with the outcome of each row, where the table has none.
    positive : str, optional
        The label to rank first. Needed with three or more classes, which it sets against the rest.
        Of two the one that sorts last is taken.
    groups, ids : str, optional
        Columns that say which rows belong together, and what rows are called.
    exclude : sequence of str
        Columns to leave out.
    text : {"refuse", "one-hot", "drop"}
        What to do with columns that are not numbers.
    missing : {"refuse", "median", "mean", "drop-rows", "drop-columns"}
        What to do with missing values. Imputed values are not filled in here: they are learned from
        the training rows of each fit.
    """

    target: str | None = None
    target_file: Path | None = None
    positive: str | None = None
    groups: str | None = None
    ids: str | None = None
    exclude: Sequence[str] = ()
    text: Text = "refuse"
    missing: Missing = "refuse"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and columns ready to be fitted.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        float32 if all columns were, else float64. NaN only if missing values are to be imputed.
    inputs : tuple of Input
        Where each column comes from.
    y : ndarray of shape (n,)
        1 for positive rows, 0 for others.
    target : str
        Name of the outcome.
    negative, positive : str
        The labels; "not a" for the rest against class a.
    groups : ndarray of shape (n,), optional
        Number of each row's group.
    row_ids : ndarray of shape (n,), optional
    ids : str, optional
        Name of the column they come from.
    missing : dict of str to int
        Columns with missing values, and how many of each.
    imputation : {"median", "mean"}, optional
        How missing values are to be filled in.
    source : str
        Name of the file.
    notes, warnings : tuple of str
        What was done, and what should be looked at.
    """

    X: Any
    inputs: tuple[Input, ...]
    y: npt.NDArray[np.int64]
    target: str
    negative: str
    positive: str
    groups: npt.NDArray[np.int64] | None = None
    row_ids: Labels | None = None
    ids: str | None = None
    missing: dict[str, int] = field(default_factory=dict)
    imputation: Literal["median", "mean"] | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def columns(self) -> npt.NDArray[np.str_]:
        """Names of the columns of X."""
        return np.array([column.name for column in self.inputs], np.str_)


def training_table(source: Source, rules: Rules) -> Table:
    """Make a table to fit of a file, by rules.

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
        If something would be lost that no rule gives up, or the outcome has not two classes. The
        message names columns and the option that allows it.
    """
    notes, warnings = list(source.notes), []
    target, labels = _labels(source, rules)
    rows = np.flatnonzero([label is not None for label in labels])
    if rows.size < labels.size:
        left_out = labels.size - rows.size
        have = "row has" if left_out == 1 else "rows have"
        warnings.append(f"{left_out} {have} no {target!r}: left out")
    y, negative, positive = _two_classes(labels[rows], rules.positive, target)
    if rules.positive is None:
        notes.append(f"positive is {positive!r}, not {negative!r}; --positive turns it round")

    groups = _named(source, rules.groups, "--groups")
    if groups is not None:
        for row in np.flatnonzero([group is None for group in groups[rows]])[:1]:
            raise DataError(f"--groups: {rules.groups!r} is missing in row {rows[row] + 1}")
    ids = _named(source, rules.ids, "--ids")

    X, inputs = _features(source, rules, target, notes)
    X = X if rows.size == labels.size else X[rows]
    _refuse_infinite(X, inputs)
    counts = _missing_counts(X)
    missing = counts_by_column(counts, inputs)
    X, inputs, kept = _without_missing(X, inputs, counts, rules.missing, notes)
    y, rows = y[kept], rows[kept]
    if not inputs:
        raise DataError("no columns are left to choose from")
    for label, mask in ((positive, y == 1), (negative, y == 0)):
        if np.count_nonzero(mask) < 2:
            raise DataError(
                f"{np.count_nonzero(mask)} rows of {target!r} are {label!r}: two at least are "
                "needed of each class, and more to be told anything"
            )
    columns = np.array([column.name for column in inputs], np.str_)
    warnings += suspicions(X, y == 1, columns)
    row_ids = source.row_ids if ids is None else ids
    return Table(
        X=X,
        inputs=tuple(inputs),
        y=y,
        target=target,
        negative=negative,
        positive=positive,
        groups=None if groups is None else _codes(groups[rows]),
        row_ids=None if row_ids is None else labels_as_text(row_ids[rows].tolist()),
        ids=rules.ids,
        missing=missing,
        imputation=rules.missing if rules.missing in ("median", "mean") else None,
        source=source.name,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


# -------------------------------------------------------------------------------------- the outcome


def _labels(source: Source, rules: Rules) -> tuple[str, Labels]:
    """Name and labels of the outcome, as text, None where missing."""
    if rules.target_file is not None:
        return rules.target or rules.target_file.stem, _labels_from_file(source, rules)
    if source.target is not None:
        return rules.target or "y", labels_as_text(source.target.tolist())
    if rules.target is None:
        names = [repr(name) for name in source.frame.column_names]
        hint = f"--target names it: there are {listed(names, 8)}" if names else "give --target-file"
        raise DataError(f"{source.name}: which column is the outcome? {hint}")
    found = _named(source, rules.target, "--target")
    assert found is not None
    return rules.target, found


def _labels_from_file(source: Source, rules: Rules) -> Labels:
    """Labels from a file beside the table: an array, a table, or a label a line."""
    assert rules.target_file is not None
    path, n = rules.target_file, source.n_rows
    if path.suffix.lower() == ".npy":
        with read_by("numpy", path, "npy"):
            values = np.load(path, allow_pickle=False)
        labels = labels_as_text(values.ravel().tolist())
    else:
        beside = read_source(path)
        frame = beside.frame
        if rules.target in frame.column_names or frame.num_columns > 1:
            if rules.target is None:
                raise DataError(
                    f"{path.name} has {frame.num_columns} columns: --target names that of the "
                    "outcome"
                )
            found = _named(beside, rules.target, "--target")
            assert found is not None
            labels = found
        elif frame.num_columns == 1:
            labels = texts(frame.column(0))
            if labels.size == n - 1:  # what was taken for a header is the first label
                labels = np.concatenate([np.array(frame.column_names, object), labels])
        else:
            raise DataError(f"{path.name} holds a matrix, not labels")
    if labels.size != n:
        raise DataError(f"{path.name} has {labels.size} labels for the {n} rows of {source.name}")
    return labels


def _two_classes(
    labels: Labels, positive: str | None, target: str
) -> tuple[npt.NDArray[np.int64], str, str]:
    """1 for positive rows and 0 for others, and what the two are called."""
    classes, counts = np.unique(labels.astype(np.str_), return_counts=True)
    by_value = sorted(zip(classes.tolist(), counts.tolist(), strict=True), key=_by_value)
    named = listed([f"{label!r} ({count} rows)" for label, count in by_value], 8)
    if classes.size < 2:
        raise DataError(f"{target!r} has one class only, {named or 'no labels at all'}")
    if positive is None:
        if classes.size > MAX_LEVELS:
            raise DataError(
                f"{target!r} has {classes.size} different values ({named}): it looks like a "
                "measurement or a name, and an outcome of two classes is needed"
            )
        if classes.size > 2:
            raise DataError(
                f"{target!r} has {classes.size} classes: {named}. --positive sets one of them "
                "against the rest"
            )
        chosen = by_value[-1][0]
    else:
        chosen = _meant(positive, classes.tolist(), named, target)
    rest = [label for label, _ in by_value if label != chosen]
    negative = rest[0] if len(rest) == 1 else f"not {chosen}"
    return (labels == chosen).astype(np.int64), negative, chosen


def _by_value(item: tuple[str, int]) -> tuple[bool, float, str]:
    """Numbers in their order, text after them in its own."""
    try:
        return False, float(item[0]), item[0]
    except ValueError:
        return True, 0.0, item[0]


def _meant(positive: str, classes: list[str], named: str, target: str) -> str:
    """The class that was asked for, be it 1.0 for 1 or true for True."""
    if positive in classes:
        return positive
    alike = [label for label in classes if label.lower() == positive.lower()]
    if not alike:
        try:
            alike = [label for label in classes if float(label) == float(positive)]
        except ValueError:
            alike = []
    if len(alike) != 1:
        raise DataError(f"--positive: {target!r} has no class {positive!r}; there are {named}")
    return alike[0]


def _named(source: Source, name: str | None, option: str) -> Labels | None:
    """A column of the file as text."""
    if name is None:
        return None
    if name in source.frame.column_names:
        return texts(source.frame.column(name))
    beside = source.matrix is not None
    if beside and name in source.matrix_columns:
        place = int(np.flatnonzero(source.matrix_columns == name)[0])
        return labels_as_text(dense_column(source.matrix, place).tolist())
    names = source.frame.column_names or source.matrix_columns.tolist()
    raise unknown_column(name, names, f"{source.name}, {option}")


def _codes(groups: Labels) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = np.unique(groups.astype(np.str_), return_inverse=True)[1]
    return codes.astype(np.int64)


# -------------------------------------------------------------------------------------- the columns


def _features(
    source: Source, rules: Rules, target: str, notes: list[str]
) -> tuple[Any, list[Input]]:
    """All columns but the outcome, groups, ids and those excluded, as numbers."""
    aside = {name for name in (target, rules.groups, rules.ids) if name is not None}
    known = {*source.frame.column_names, *source.matrix_columns.tolist()}
    for name in rules.exclude:
        if name not in known:
            raise unknown_column(name, sorted(known), "--exclude")
    aside |= set(rules.exclude)
    if source.matrix is not None:
        keep = np.flatnonzero([name not in aside for name in source.matrix_columns.tolist()])
        whole = keep.size == source.matrix.shape[1]
        X = source.matrix if whole else source.matrix[:, keep]
        return X, [Input(str(name)) for name in source.matrix_columns[keep]]

    frame = source.frame.select([name for name in source.frame.column_names if name not in aside])
    kinds = {name: kind_of(frame.column(name)) for name in frame.column_names}
    empty = [name for name, kind in kinds.items() if kind == "empty"]
    if empty:
        notes.append(f"{listed([repr(name) for name in empty])}: no values at all, left out")
    refused = [name for name, kind in kinds.items() if kind in ("text", "date", "other")]
    if refused and rules.text == "refuse":
        raise _text_error(source, refused)
    if refused and rules.text == "drop":
        notes.append(f"left out as not numbers: {listed([repr(name) for name in refused])}")

    float32 = {str(frame.column(name).type) for name, kind in kinds.items() if kind == "number"}
    dtype = np.float32 if float32 == {"float"} else np.float64
    values: list[npt.NDArray[Any]] = []
    inputs: list[Input] = []
    too_many: list[str] = []
    for name, kind in kinds.items():
        column = frame.column(name)
        if kind in ("number", "boolean"):
            values.append(numbers(column))
            inputs.append(Input(name))
        elif kind in ("text", "date") and rules.text == "one-hot":
            levels = _levels(texts(column))
            if levels is None:
                too_many.append(name)
                continue
            for level, indicator in levels:
                values.append(indicator)
                inputs.append(Input(name, level))
        elif kind == "other" and rules.text == "one-hot":
            too_many.append(name)
    if too_many:
        raise DataError(
            f"{listed([_with_example(frame, name) for name in too_many])}: more than {MAX_LEVELS} "
            "different texts, or not text at all, so not for one-hot. Leave out with --exclude"
        )
    names = Counter(column.name for column in inputs)
    for name in [name for name, count in names.items() if count > 1][:1]:
        raise DataError(f"one-hot makes two columns named {name!r}: rename one in the file")
    if not inputs:
        raise DataError(_no_columns(source, target))
    X = np.empty((frame.num_rows, len(values)), dtype)
    for j, column in enumerate(values):
        X[:, j] = column
    return X, inputs


def _no_columns(source: Source, target: str) -> str:
    if source.frame.num_columns == 1:
        return (
            f"{source.name} has one column only, {shortened(source.frame.column_names[0])!r}: is "
            "it delimited by something other than comma, semicolon, tab or bar? --delimiter says so"
        )
    return f"{source.name} has no column of numbers besides {target!r}"


def _text_error(source: Source, refused: list[str]) -> DataError:
    named = listed([_with_example(source.frame, name) for name in refused])
    ids = [name for name in refused if _all_different(source.frame, name)]
    hint = f" ({listed([repr(name) for name in ids])} differs in every row: an id?)" if ids else ""
    return DataError(
        f"{len(refused)} column{'s are' if len(refused) > 1 else ' is'} not numbers: "
        f"{named}{hint}. --text one-hot makes a column of each of few levels, --text drop leaves "
        "them out, --exclude NAME leaves one out, --ids NAME takes it for the names of rows"
    )


def _with_example(frame: Any, name: str) -> str:
    """The name and an entry, by which a person sees what is wrong: one that is no number."""
    entries = [str(value.as_py()) for value in frame.column(name) if value.is_valid]
    example = next((entry for entry in entries if not is_number(entry)), "".join(entries[:1]))
    return f"{name!r} (such as {shortened(example, 20)!r})"


def _all_different(frame: Any, name: str) -> bool:
    column = frame.column(name)
    try:
        return len(column) > 2 and len(column.unique()) == len(column)
    except NotImplementedError:  # pyarrow's, for nested types
        return False


def _levels(entries: Labels) -> list[tuple[str, npt.NDArray[np.float64]]] | None:
    """Indicator of each level, NaN where missing; of two levels the second tells all."""
    known = np.array([entry is not None for entry in entries])
    levels = np.unique(entries[known].astype(np.str_)).tolist()
    if len(levels) > MAX_LEVELS:
        return None
    return [
        (level, np.where(known, entries == level, np.nan).astype(np.float64))
        for level in (levels[1:] if len(levels) == 2 else levels)
    ]


# ----------------------------------------------------------------------------------- missing values


def _refuse_infinite(X: Any, inputs: list[Input]) -> None:
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return
    if is_sparse(X):
        found = np.unique(X.indices[np.isinf(X.data)])
    else:
        found = np.flatnonzero(np.isinf(X).any(axis=0))
    if found.size:
        named = listed([repr(inputs[j].name) for j in found.tolist()])
        raise DataError(
            f"infinite values in {named}: replace them in the file, or --exclude the column"
        )


def _missing_counts(X: Any) -> npt.NDArray[np.int64]:
    if is_sparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    counts: npt.NDArray[np.int64] = np.isnan(X).sum(axis=0)
    return counts


def counts_by_column(counts: npt.NDArray[np.int64], inputs: Sequence[Input]) -> dict[str, int]:
    """Missing values of each of the file's columns that has any, the most first."""
    by_column: dict[str, int] = {}
    for j in np.flatnonzero(counts).tolist():
        by_column[inputs[j].column] = int(counts[j])
    return dict(sorted(by_column.items(), key=lambda item: -item[1]))


def _without_missing(
    X: Any, inputs: list[Input], counts: npt.NDArray[np.int64], rule: Missing, notes: list[str]
) -> tuple[Any, list[Input], npt.NDArray[np.intp]]:
    """X without missing values, or with those to be imputed; its columns, and the rows kept."""
    n = X.shape[0]
    rows = np.arange(n)
    if not counts.any():
        return X, inputs, rows
    by_column = counts_by_column(counts, inputs)
    shown = listed([f"{name!r} ({count})" for name, count in by_column.items()])
    if rule == "refuse":
        raise DataError(
            f"{sum(by_column.values())} values are missing, in {len(by_column)} of the columns: "
            f"{shown}. --missing median or mean fills them in, drop-rows and drop-columns leave "
            "out what has any"
        )
    if rule == "drop-columns":
        keep = np.flatnonzero(counts == 0)
        notes.append(f"left out for missing values: {shown}")
        return X[:, keep], [inputs[j] for j in keep.tolist()], rows
    if rule == "drop-rows":
        if is_sparse(X):
            row_of_entry = np.repeat(rows, np.diff(X.indptr))
            rows = np.setdiff1d(rows, row_of_entry[np.isnan(X.data)])
        else:
            rows = np.flatnonzero(~np.isnan(X).any(axis=1))
        notes.append(f"{n - rows.size} of {n} rows left out for missing values in {shown}")
        if rows.size == 0:
            raise DataError(f"every row has a missing value: {shown}. Try --missing median")
        return X[rows], inputs, rows
    notes.append(f"missing values filled in by the {rule} of the training rows: {shown}")
    return X, inputs, rows
