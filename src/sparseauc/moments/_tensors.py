"""Moments of some rows of a tensor, where it lies; the numbers come back as arrays on the host.

The same sums as of arrays in ``chunked.py``, in double precision whatever that of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._arrays import explain_out_of_memory, import_torch, to_host
from .._types import Array, Indices
from .base import ClassPart

# Numbers centred at a time: a tile of double precision takes eight times as many bytes.
_TILE_NUMBERS = {"cuda": 2**28, "cpu": 2**21}


def moments_of(X: Any, rows: Indices, weight: Array, columns: Indices) -> ClassPart:
    """Moments of some rows, all of one class."""
    torch = import_torch()
    # Sums are taken about the first row: a column of one value has exactly that value as its mean.
    origin = X[int(rows[0])].double()
    drift = torch.zeros_like(origin)
    for part, w in _tiles(X, rows, weight):
        part -= origin
        drift += part.sum(dim=0) if w is None else w @ part
    total = float(weight.sum()) if weight.size else float(rows.size)
    mean = origin + drift / total
    scatter, left, cross = _centred_sums(X, rows, weight, mean, columns)
    # What rounding left of the deviations' sum, which is zero in exact arithmetic.
    scatter -= left**2 / total
    index = torch.from_numpy(columns).to(X.device)
    cross -= torch.outer(left[index] / total, left)
    return ClassPart(total, to_host(mean), to_host(scatter.clamp(min=0.0)), to_host(cross))


def sum_products(
    products: Any, counted: Sequence[tuple[int, int, float]], index: Indices, others: Any
) -> Array:
    """Add up products by part and class, each times its factor: some rows of them, some columns.

    All in a few operations: solvers in other threads would delay each of many.
    """
    torch = import_torch()
    factors = torch.zeros(products.shape[:2], dtype=torch.float64)
    for number, side, factor in counted:
        factors[number, side] = factor
    where = torch.from_numpy(index).to(products.device)
    if not isinstance(others, slice):
        where, others = where[:, None], torch.from_numpy(others).to(products.device)
    chosen = products.flatten(0, 1)[:, where, others]
    return to_host(torch.tensordot(factors.flatten().to(products.device), chosen, 1))


def no_products(X: Any, shape: tuple[int, ...]) -> Any:
    """Zeros for products, where X lies."""
    torch = import_torch()
    with explain_out_of_memory(f"products of {shape[-2]} columns", 8 * int(np.prod(shape))):
        return torch.zeros(shape, dtype=torch.float64, device=X.device)


def add_products(
    X: Any, rows: Indices, weight: Array, mean: Array,
    wanted: Sequence[tuple[Indices, Indices | None]], totals: Sequence[Any],
) -> None:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x − mean) to totals, which lie where X does."""
    torch = import_torch()
    about = torch.from_numpy(mean).to(X.device)
    indices = [
        [None if index is None else torch.from_numpy(index).to(X.device) for index in pair]
        for pair in wanted
    ]
    for part, w in _tiles(X, rows, weight):
        part -= about
        if w is not None:
            part *= w.sqrt()[:, None]
        for (columns, others), total in zip(indices, totals, strict=True):
            if columns is not None and columns.numel():
                right = part if others is None else part.index_select(1, others)
                total.addmm_(part.index_select(1, columns).T, right)


def _centred_sums(
    X: Any, rows: Indices, weight: Array, mean: Any, columns: Indices
) -> tuple[Any, Any, Any]:
    """Σ w (x − mean)², Σ w (x − mean) and Σ w (x_c − mean_c)(x − mean), on the device."""
    torch = import_torch()
    index = torch.from_numpy(columns).to(X.device)
    scatter, drift = torch.zeros_like(mean), torch.zeros_like(mean)
    cross = no_products(X, (columns.size, X.shape[1]))
    for part, w in _tiles(X, rows, weight):
        part -= mean
        drift += part.sum(dim=0) if w is None else w @ part
        if w is not None:
            part *= w.sqrt()[:, None]
        scatter += (part * part).sum(dim=0)
        if columns.size:
            cross.addmm_(part.index_select(1, index).T, part)
    return scatter, drift, cross


def _tiles(X: Any, rows: Indices, weight: Array) -> Iterator[tuple[Any, Any]]:
    """Give some rows at a time in double precision, ours to change, and their weights."""
    torch = import_torch()
    size = max(1, _TILE_NUMBERS.get(X.device.type, 2**21) // X.shape[1])
    for low in range(0, rows.size, size):
        chosen = rows[low : low + size]
        index = torch.from_numpy(np.ascontiguousarray(chosen)).to(X.device)
        w = None
        if weight.size:
            w = torch.from_numpy(np.ascontiguousarray(weight[low : low + size])).to(X.device)
        part = X.index_select(0, index)
        yield (part.double() if part.dtype != torch.float64 else part), w
