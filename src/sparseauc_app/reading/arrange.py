"""Arrange a file as a table of rows: codes as empty fields, genes as columns, labels joined."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparseauc.utils.text import listed, quoted

from ..column_types import Labels
from .columns import is_number, is_text, kind_of, labels_as_text, numbers, texts
from .source import DataError, Source

# Share of names that a column of names has in common with those of rows or columns.
_MATCHING = 0.5


def empty_codes(source: Source, codes: Sequence[str], ids: str | None = None) -> Source:
    """Read codes for missing values, such as -9, as empty fields; not those of identifiers."""
    if not codes:
        return source
    values = [float(code) for code in codes if is_number(code)]
    frame = source.frame
    emptied = []
    for place, name in enumerate(frame.column_names):
        column = frame.column(place)
        if name == ids or kind_of(column) not in ("number", "text"):
            continue
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            coded = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(codes))
        else:
            coded = pa.array(np.isin(numbers(column), values))
        count = pc.sum(coded).as_py()
        if count:
            emptied.append(f"{name!r} ({count})")
            frame = frame.set_column(place, name, pc.if_else(coded, None, column))
    notes = (
        [f"{listed([*codes], 20)} read as empty in {listed(emptied, 20)}"]
        if emptied
        else []
    )
    return replace(source, frame=frame, notes=(*source.notes, *notes))


def turn(source: Source, names: Collection[str]) -> Source:
    """Turn a table whose columns are what others have as rows, such as samples of genes.

    Parameters
    ----------
    source : Source
    names : collection of str
        Names that the columns would have: most are those of its rows, and few those of
        its columns. Else the table stays as it is.
    """
    few = len({*names} & {*source.names}) < _MATCHING * len(names)
    key = _find_names(source, names) if few else None
    return source if key is None else _turned(source, key, source.names)


def join_labels(source: Source, labels: Source) -> Source:
    """Add the columns of a table of labels, whose rows are joined by name.

    Its names of rows are those of the rows, or of the columns, of the table, which then
    is turned.
    """
    for key in _names_of(labels):
        samples = {one for one in _entries(labels, key) if one is not None}
        if len(samples & {*source.names}) >= _MATCHING * len(samples):
            genes = next(iter(_names_of(source)), None)
            if genes is None:
                raise DataError(f"{source.name} has no column of names for its rows")
            turned = _turned(
                source, genes, [one for one in source.names if one in samples]
            )
            return _joined(turned, None, labels, key)
    for key in _names_of(labels):
        own = _find_names(source, _entries(labels, key).tolist())
        if own is not None:
            return _joined(source, own, labels, key)
    raise DataError(
        f"--labels: no column of {labels.name} has the names of rows or columns of {source.name}, "
        f"such as {quoted(source.names, 3)}"
    )


def _names_of(source: Source) -> Iterable[str]:
    """Columns that may name the rows: all entries differ. An empty text stands for row names."""
    if source.row_ids is not None:
        yield ""
    for name in source.names:
        column = source.frame.column(name)
        whole = pa.types.is_integer(column.type) or kind_of(column) == "text"
        if whole and column.null_count == 0 and len(column.unique()) == len(column):
            yield name


def _entries(source: Source, key: str) -> Labels:
    if key == "" and source.row_ids is not None:
        return labels_as_text(source.row_ids.tolist())
    return texts(source.column(key))


def _find_names(source: Source, names: Collection[str | None]) -> str | None:
    """The column of names of rows that has most of some names."""
    wanted = {*names}
    for key in _names_of(source):
        if len(wanted & {*_entries(source, key).tolist()}) >= _MATCHING * len(wanted):
            return key
    return None


def _turned(source: Source, key: str, samples: Sequence[str]) -> Source:
    """The table with columns for its rows, of the columns of numbers among some."""
    genes = _entries(source, key)
    samples = [
        name
        for name in samples
        if kind_of(source.column(name)) == "number" and name != key
    ]
    values = np.column_stack([numbers(source.column(name)) for name in samples])
    # Of a gene that has several rows, the first has its name.
    seen: dict[str, int] = {}
    for place, gene in enumerate(genes.tolist()):
        seen.setdefault(gene, place)
    frame = pa.table(
        {
            gene: pa.array(values[place], from_pandas=True)
            for gene, place in seen.items()
        }
    )
    note = f"rows are read as columns, named by {key!r}: {len(samples)} rows of {len(seen)} columns"
    if len(seen) < genes.size:
        note += f"; of {genes.size - len(seen)} rows whose name occurred before, none is read"
    found = np.array(samples, object)
    return Source(source.name, frame, row_ids=found, notes=(*source.notes, note))


def _joined(source: Source, own: str | None, labels: Source, key: str) -> Source:
    """The table with the columns of labels of the same names."""
    places = {name: place for place, name in enumerate(_entries(labels, key).tolist())}
    rows = _entries(source, own or "").tolist()
    taken = pa.array([places.get(name) for name in rows], pa.int64())
    frame = source.frame
    for name in labels.names:
        if name in (key, own):
            continue
        if name in frame.column_names:
            raise DataError(
                f"{source.name} and {labels.name} both have a column {name!r}: rename one"
            )
        frame = frame.append_column(name, labels.frame.column(name).take(taken))
    marks = {**labels.marks, **source.marks}
    without = len({*places} - {*rows})
    lacking = taken.null_count
    notes = (
        [f"labels of {labels.name} joined by {key!r}"]
        if key
        else [f"labels of {labels.name} joined"]
    )
    if without:
        notes.append(f"{without} rows of {labels.name} are not in {source.name}")
    if lacking:
        notes.append(f"{lacking} rows of {source.name} are not in {labels.name}")
    doubtful = (*source.doubtful, *labels.doubtful)
    return replace(
        source,
        frame=frame,
        marks=marks,
        doubtful=doubtful,
        notes=(*source.notes, *notes),
    )
