"""From what a file holds to what a model is fitted to: numbers, two classes, nothing missing.

Everything that loses or changes data is either asked for or refused, and what was done is noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..._text import listed, shortened
from ..scorecard import ColumnType
from .checks import repeated_ids, suspicions, telling_gaps
from .columns import dense_column, is_sparse, labels_as_text, texts
from .features import MAX_LEVELS, Input, Text, encoded
from .read import read_source
from .source import DataError, Source, read_by, unknown_column_error

Missing = Literal["refuse", "median", "mean", "drop-rows", "drop-columns"]
Labels = npt.NDArray[np.object_]


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
    text : {"refuse", "one-hot", "auto", "drop"}
        What to do with columns that are not numbers: "one-hot" makes a column of each level and
        refuses what has too many, "auto" leaves that out.
    max_levels : int
        Text of more levels is a name or a remark rather than a category.
    numeric : sequence of str
        Columns of text to read as numbers: ``>2000`` as 2000, text without a digit as missing.
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
    max_levels: int = MAX_LEVELS
    numeric: Sequence[str] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that are labels, groups or names of rows, to be read as they are written."""
        return tuple(name for name in (self.target, self.groups, self.ids) if name is not None)

    @property
    def written(self) -> tuple[str, ...]:
        """All columns that are to be read as they are written."""
        return (*self.labels, *self.numeric)


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
    types : dict of str to ColumnType
        What each of the file's columns held.
    left_out : dict of str to str
        Columns that were not used, and why.
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
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
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
    problems: list[DataError] = []
    y, negative, positive = _two_classes(labels[rows], rules.positive, target, problems)
    if rules.positive is None and not problems:
        notes.append(f"positive is {positive!r}, not {negative!r}; --positive turns it round")

    groups = _named(source, rules.groups, "--groups")
    if groups is not None:
        for row in np.flatnonzero([group is None for group in groups[rows]])[:1]:
            raise DataError(f"--groups: {rules.groups!r} is missing in row {rows[row] + 1}")
    ids = _named(source, rules.ids, "--ids")

    aside = {target, *rules.labels, *rules.exclude}
    _check_excluded(source, rules)
    features = encoded(source, aside, rules.text, rules.max_levels, problems, rules.numeric)
    notes += features.notes
    X, inputs = features.X, features.inputs
    X = X if rows.size == labels.size else X[rows]
    _refuse_infinite(X, inputs, problems)
    counts = _missing_counts(X)
    missing = counts_by_column(counts, inputs)
    if missing and rules.missing == "refuse":
        problems.append(_missing_error(missing))
    if problems:
        raise _combined_error(problems)
    if not inputs:
        raise DataError(_no_columns(source, target))
    warnings += telling_gaps(X, y == 1, inputs)
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
    if rules.groups is None:
        warnings += repeated_ids(source.frame, rows, aside - {rules.ids})
    unused = dict(features.left_out)
    if rules.missing == "drop-columns":
        unused |= dict.fromkeys(missing, "missing values")
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
        types=features.types,
        left_out=unused,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _combined_error(problems: Sequence[DataError]) -> DataError:
    """Return one error that tells of all."""
    if len(problems) == 1:
        return problems[0]
    told = "; ".join(f"({place}) {problem}" for place, problem in enumerate(problems, start=1))
    return DataError(told, [option for problem in problems for option in problem.options])


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
    return rules.target, _one_spelling(found)


def _one_spelling(labels: Labels) -> Labels:
    """Labels as they are written, unless one is written in two ways, such as 1 and 1.0."""
    written = {label for label in labels.tolist() if label is not None}
    if len({label_key(label) for label in written}) == len(written):
        return labels
    return labels_as_text([None if label is None else label_key(label) for label in labels])


def label_key(label: str) -> str:
    """What two spellings of a label have in common: 1 and 1.0, true and True."""
    try:
        return str(int(label)) if label.strip("+-").isdigit() else f"{float(label):.17g}"
    except ValueError:
        return label.lower() if label.lower() in ("true", "false") else label


def _labels_from_file(source: Source, rules: Rules) -> Labels:
    """Labels from a file beside the table: an array, a table, or a label a line."""
    assert rules.target_file is not None
    path, n = rules.target_file, source.n_rows
    if path.suffix.lower() == ".npy":
        with read_by("numpy", path, "npy"):
            values = np.load(path, allow_pickle=False)
        labels = labels_as_text(values.ravel().tolist())
    else:
        beside = read_source(path, as_text=rules.labels)
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
    labels: Labels, positive: str | None, target: str, problems: list[DataError]
) -> tuple[npt.NDArray[np.int64], str, str]:
    """1 for positive rows and 0 for others, and what the two are called.

    That there are three classes or more is added to the problems.
    """
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
        chosen = by_value[-1][0]
        if classes.size > 2:
            problems.append(
                DataError(
                    f"{target!r} has {classes.size} classes: {named}. --positive sets one of them "
                    "against the rest",
                    ["--positive", chosen],
                )
            )
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
    raise unknown_column_error(name, names, f"{source.name}, {option}")


def _codes(groups: Labels) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = np.unique(groups.astype(np.str_), return_inverse=True)[1]
    return codes.astype(np.int64)


# -------------------------------------------------------------------------------------- the columns


def _check_excluded(source: Source, rules: Rules) -> None:
    known = {*source.frame.column_names, *source.matrix_columns.tolist()}
    for name in rules.exclude:
        if name not in known:
            raise unknown_column_error(name, sorted(known), "--exclude")


def _no_columns(source: Source, target: str) -> str:
    if source.frame.num_columns == 1:
        return (
            f"{source.name} has one column only, {shortened(source.frame.column_names[0])!r}: is "
            "it delimited by something other than comma, semicolon, tab or bar? --delimiter says so"
        )
    return f"{source.name} has no column of numbers besides {target!r}"


# ----------------------------------------------------------------------------------- missing values


def _refuse_infinite(X: Any, inputs: Sequence[Input], problems: list[DataError]) -> None:
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return
    if is_sparse(X):
        found = np.unique(X.indices[np.isinf(X.data)])
    else:
        found = np.flatnonzero(np.isinf(X).any(axis=0))
    if found.size:
        names = [inputs[j].name for j in found.tolist()]
        named = listed([repr(name) for name in names])
        problems.append(
            DataError(
                f"infinite values in {named}: replace them in the file, or --exclude the column",
                [part for name in names for part in ("--exclude", name)],
            )
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


def _missing_error(by_column: Mapping[str, int]) -> DataError:
    shown = listed([f"{name!r} ({count})" for name, count in by_column.items()])
    return DataError(
        f"{sum(by_column.values())} values are missing, in {len(by_column)} of the columns: "
        f"{shown}. --missing median or mean fills them in, drop-rows and drop-columns leave "
        "out what has any",
        ["--missing", "median"],
    )


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
