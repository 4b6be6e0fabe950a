"""Cells and their labels, as they are read from AnnData, and the folds they are divided into."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sparseauc.chunks import NotFiniteError, SequentialChunks, check_finite
from sparseauc.chunks.base import plain_chunk
from sparseauc.utils.optional import import_optional
from sparseauc.utils.text import quoted
from sparseauc.utils.types import Array, Indices

# Numbers read at a time of a dense table, and, zeros counted, of a sparse one; but rows at least.
_DENSE_CHUNK, _SPARSE_CHUNK, _LEAST_ROWS = 2**23, 2**26, 256


class CellReader(SequentialChunks):
    """Reads the table of cells by genes in chunks of rows, and refuses what is not finite."""

    def __init__(self, table: Any, genes: npt.NDArray[Any], cells: npt.NDArray[Any]) -> None:
        if getattr(table, "format", "csr") != "csr":
            if hasattr(table, "to_memory"):
                warnings.warn(
                    "the table in the file is stored gene by gene (CSC) and cannot be read cell by "
                    "cell: all of it is read into memory. Store it as CSR to avoid that",
                    stacklevel=3,
                )
                table = table.to_memory()
            table = table.tocsr()
        self._table, self._genes, self._cells = table, genes, cells
        self.feature_names = genes
        self.shape = table.shape
        self.dtype = np.dtype(table.dtype)
        sparse = getattr(table, "format", None) == "csr"
        self._step = max(_LEAST_ROWS, (_SPARSE_CHUNK if sparse else _DENSE_CHUNK) // genes.size)

    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Give the chunks in turn."""
        for first in range(0, self._table.shape[0], self._step):
            chunk = plain_chunk(self._table[first : first + self._step])
            try:
                check_finite(chunk, first)
            except NotFiniteError as bad:
                raise ValueError(
                    f"gene {self._genes[bad.column]!r} is {bad.value} in cell "
                    f"{self._cells[bad.row]!r}: panels need finite numbers"
                ) from None
            yield chunk if columns is None else chunk[:, columns]


class GeneColumns:
    """The few columns that any of the panels may use, of all cells, in memory."""

    def __init__(self, reader: CellReader, needed: Iterable[Indices]) -> None:
        self._genes = np.unique(np.concatenate(list(needed)))
        parts = list(reader.read(self._genes))
        self._values = sp.vstack(parts).tocsr() if is_sparse(parts[0]) else np.vstack(parts)

    def of(self, cells: Any, genes: Indices) -> Array:
        """Values of some cells and genes, dense."""
        part = self._values[cells][:, np.searchsorted(self._genes, genes)]
        return np.asarray(part.toarray() if is_sparse(part) else part, np.float64)


def labelled_table(
    adata: Any, caller: str, groupby: str, layer: str | None, use_raw: bool | None
) -> tuple[Any, npt.NDArray[Any], bool, Indices, list[str]]:
    """The table, its genes, whether it is ``adata.raw``, each cell's type, and the types."""
    anndata = import_optional("anndata", caller)
    if not isinstance(adata, anndata.AnnData):
        raise TypeError(f"adata must be an AnnData, got {type(adata).__name__}")
    table, genes, use_raw = table_of(adata, layer, use_raw)
    label, types = types_of(adata, groupby, "groupby")
    if unlabelled := np.count_nonzero(label < 0):
        warnings.warn(
            f"{unlabelled} of {label.size} cells have no value in adata.obs[{groupby!r}]: they are "
            "left out",
            stacklevel=3,
        )
    if len(types) < 2:
        raise ValueError(
            f"adata.obs[{groupby!r}] has one type only, {types[0]!r}: a panel tells a type from "
            "other cells"
        )
    return table, genes, use_raw, label, types


def genes_to_keep(k: int, genes: npt.NDArray[Any]) -> int:
    """``k``, or all genes, with a warning, where there are fewer."""
    if k > genes.size:
        warnings.warn(f"k={k} is more than the {genes.size} genes there are", stacklevel=3)
    return min(int(k), int(genes.size))


def table_of(
    adata: Any, layer: str | None, use_raw: bool | None
) -> tuple[Any, npt.NDArray[Any], bool]:
    """The table of cells by genes, the genes' names, and whether it is ``adata.raw``."""
    if use_raw is None:
        use_raw = layer is None and adata.raw is not None
    if use_raw and layer is not None:
        raise ValueError(f"layer={layer!r} and use_raw=True contradict each other: give one")
    if use_raw and adata.raw is None:
        raise ValueError("use_raw=True, but adata.raw is empty")
    if layer is not None and layer not in adata.layers:
        there = quoted(list(adata.layers)) or "none"
        raise ValueError(f"layer {layer!r} is not in adata.layers; there is {there}")
    source = adata.raw if use_raw else adata
    table = source.X if layer is None else adata.layers[layer]
    if table is None:
        raise ValueError("adata.X is empty: name a layer")
    names = source.var_names
    if 0 in table.shape:
        raise ValueError(f"adata has no cells or no genes: the table has shape {table.shape}")
    for name in names[names.duplicated()][:1].tolist():
        where = "adata.raw.var_names" if use_raw else "adata.var_names"
        raise ValueError(
            f"gene {name!r} occurs more than once in {where}: make the names unique, for example "
            "with adata.var_names_make_unique()"
        )
    return table, np.asarray(names, dtype=object), bool(use_raw)


def types_of(adata: Any, column: str, parameter: str) -> tuple[Indices, list[str]]:
    """Number of each cell's type, −1 without, and the types that occur, in their order."""
    import pandas as pd

    if column not in adata.obs.columns:
        there = quoted(list(adata.obs.columns)) or "none"
        raise ValueError(f"{parameter}={column!r} is no column of adata.obs; there is {there}")
    values = adata.obs[column]
    if not isinstance(values.dtype, pd.CategoricalDtype):
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            raise ValueError(
                f"adata.obs[{column!r}] holds numbers; if they stand for groups, say so: "
                f"adata.obs[{column!r}] = adata.obs[{column!r}].astype(str).astype('category')"
            )
        values = values.astype("category")
    values = values.cat.remove_unused_categories()
    types = [str(category) for category in values.cat.categories]
    if not types:
        raise ValueError(f"adata.obs[{column!r}] has no values: every cell is without")
    for name in types:
        if not name.strip() or types.count(name) > 1:
            raise ValueError(
                f"adata.obs[{column!r}] has "
                + ("a category without a name" if not name.strip() else f"{name!r} twice")
                + ": rename its categories"
            )
    label: Indices = values.cat.codes.to_numpy().astype(np.int64)
    return label, types


def find_targets(
    types: list[str],
    counts: Indices,
    groups: Literal["all"] | Iterable[str],
    min_cells: int,
    groupby: str,
) -> list[int]:
    """Numbers of the types to find panels for."""
    few = {name for name, count in zip(types, counts.tolist(), strict=True) if count < min_cells}
    if isinstance(groups, str) and groups == "all":
        chosen = [number for number, name in enumerate(types) if name not in few]
        if few:
            warnings.warn(
                f"no panel for {quoted(sorted(few))}: fewer than min_cells={min_cells} cells",
                stacklevel=3,
            )
        if not chosen:
            raise ValueError(f"no type of adata.obs[{groupby!r}] has {min_cells} cells or more")
        return chosen
    if isinstance(groups, str):
        raise ValueError(f'groups must be "all" or a list of types, got {groups!r}')
    wanted = [str(name) for name in groups]
    if not wanted:
        raise ValueError("groups is empty: name at least one type")
    for name in wanted:
        if name not in types:
            raise ValueError(
                f"groups names {name!r}, of which adata.obs[{groupby!r}] has no cells; there is "
                f"{quoted(types)}"
            )
        if name in few:
            raise ValueError(
                f"type {name!r} has {counts[types.index(name)]} cells, fewer than "
                f"min_cells={min_cells}"
            )
    return [types.index(name) for name in dict.fromkeys(wanted)]


def folds_of(
    adata: Any, label: Indices, cv: int | str | None, random_state: int
) -> tuple[Indices, int]:
    """Fold of each cell, and the number of folds, 1 where nothing is to be left out."""
    if cv is None:
        return np.zeros(label.size, np.int64), 1
    if isinstance(cv, str):
        fold, values = types_of(adata, cv, "cv")
        for cell in np.flatnonzero((fold < 0) & (label >= 0))[:1]:
            raise ValueError(f"adata.obs[{cv!r}] has no value for cell {adata.obs_names[cell]!r}")
        if len(values) < 2:
            raise ValueError(
                f"adata.obs[{cv!r}] has one value only, {values[0]!r}: nothing to leave out"
            )
        return fold, len(values)
    check_number("cv", cv, Integral, 2)
    # Types are dealt out in turn, each starting where the one before ended, so that the rare ones
    # do not all fall into the first folds.
    order = np.random.default_rng(random_state).permutation(label.size)
    order = order[np.argsort(label[order], kind="stable")]
    order = order[label[order] >= 0]
    fold = np.zeros(label.size, np.int64)
    fold[order] = np.arange(order.size) % cv
    return fold, int(cv)


def folds_to_judge(
    label: Indices, fold: Indices, targets: list[int], n_types: int, n_folds: int
) -> list[tuple[int, int]]:
    """Types and folds with cells of the type, and others, both within the fold and outside."""
    if n_folds == 1:
        return []
    counted = label >= 0
    cells = np.zeros((n_types, n_folds), np.int64)
    np.add.at(cells, (label[counted], fold[counted]), 1)
    others = cells.sum(axis=0) - cells
    outside, others_outside = (part.sum(axis=1, keepdims=True) - part for part in (cells, others))
    possible = (cells > 0) & (others > 0) & (outside > 0) & (others_outside > 0)
    return [(target, f) for target in targets for f in np.flatnonzero(possible[target]).tolist()]


def check_number(name: str, value: Any, kind: type, least: int) -> None:
    """Refuse a parameter that is no finite number of its kind, or too small."""
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value < np.inf:  # type: ignore[operator]
        sort = "a whole number" if kind is Integral else "a finite number"
        raise ValueError(f"{name} must be {sort} of {least} or more, got {value!r}")


def is_sparse(table: Any) -> bool:
    """Whether a table of AnnData is sparse, in memory or backed."""
    return hasattr(table, "tocsr")
