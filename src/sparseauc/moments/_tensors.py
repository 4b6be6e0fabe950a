"""Moments of some rows of a tensor, where it lies; the numbers come back as arrays on the host.

The same sums as of arrays in ``chunked.py``, in double precision whatever that of the
table.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..utils.arrays import explain_out_of_memory, import_torch, to_host
from ..utils.types import Array, Indices
from .cells import CellSums

# Numbers centred at a time: a tile of double precision takes eight times as many bytes.
_TILE_NUMBERS = {"cuda": 2**28, "cpu": 2**21}


def moments_of(X: Any, rows: Indices, weight: Array, columns: Indices) -> CellSums:
    """Moments of some rows, all of one class."""
    torch = import_torch()
    # Sums are taken about the first row: a column of one value has exactly that value
    # as its mean.
    origin = X[int(rows[0])].double()
    drift = torch.zeros_like(origin)
    for part, w in _tiles(X, rows, weight):
        part -= origin
        drift += w @ part
    total = float(weight.sum())
    mean = origin + drift / total
    index = beside(columns, X)
    scatter, left = torch.zeros_like(mean), torch.zeros_like(mean)
    cross = no_products(X, (columns.size, X.shape[1]))
    for part, w in _tiles(X, rows, weight):
        part -= mean
        left += w @ part
        part *= w.sqrt()[:, None]
        scatter += (part * part).sum(dim=0)
        if columns.size:
            cross.addmm_(part.index_select(1, index).T, part)
    # What rounding left of the deviations' sum, which is zero in exact arithmetic.
    scatter -= left**2 / total
    cross -= torch.outer(left[index] / total, left)
    arrays = (to_host(one)[None] for one in (mean, scatter.clamp(min=0.0), cross))
    return CellSums(np.array([total]), *arrays)


def sum_products(
    products: Any,
    counts: Sequence[tuple[int, float]],
    rows: Indices,
    others: Indices | None,
) -> Array:
    """Add up products by cell, each times what it counts: some rows of them, some columns.

    All in a few operations: solvers in other threads would delay each of many.
    """
    torch = import_torch()
    by_cell = np.zeros(products.shape[0])
    for number, count in counts:
        by_cell[number] = count
    chosen = products[:, beside(rows, products)]
    if others is not None:
        chosen = chosen[:, :, beside(others, products)]
    return to_host(torch.tensordot(beside(by_cell, products), chosen, 1))


def beside(numbers: npt.NDArray[Any], X: Any) -> Any:
    """Numbers, where X lies."""
    return import_torch().from_numpy(np.ascontiguousarray(numbers)).to(X.device)


def no_products(X: Any, shape: tuple[int, ...]) -> Any:
    """Zeros for products, where X lies."""
    torch = import_torch()
    with explain_out_of_memory(
        f"products of {shape[-2]} columns", 8 * int(np.prod(shape))
    ):
        return torch.zeros(shape, dtype=torch.float64, device=X.device)


def add_products(
    X: Any,
    rows: Indices,
    weight: Array,
    mean: Array,
    wanted: Sequence[tuple[Indices, Indices | None]],
    totals: Sequence[Any],
) -> None:
    """Add Σ w (x_c − mean_c)(x − mean) to totals, which lie where X does."""
    about = beside(mean, X)
    indices = [
        [None if index is None else beside(index, X) for index in pair]
        for pair in wanted
    ]
    for part, w in _tiles(X, rows, weight):
        part -= about
        part *= w.sqrt()[:, None]
        for (columns, others), total in zip(indices, totals, strict=True):
            if columns is not None and columns.numel():
                right = part if others is None else part.index_select(1, others)
                total.addmm_(part.index_select(1, columns).T, right)


def _tiles(X: Any, rows: Indices, weight: Array) -> Iterator[tuple[Any, Any]]:
    """Give some rows at a time in double precision, ours to change, and their weights."""
    size = max(1, _TILE_NUMBERS.get(X.device.type, 2**21) // X.shape[1])
    for low in range(0, rows.size, size):
        chosen = rows[low : low + size]
        part = X.index_select(0, beside(chosen, X))
        yield part.double(), beside(weight[low : low + size], X)
