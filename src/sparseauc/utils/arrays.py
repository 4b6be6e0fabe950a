"""Tensors beside arrays: telling them apart, and what they ask of their device.

Nothing here imports torch before it is needed.
"""

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .optional import import_optional
from .types import Array, Indices

# Share of a GPU's free memory that rows may fill: the rest is for the models and for
# products.
_SHARE = 0.8
_GIB = 2**30


def is_tensor(X: Any) -> bool:
    """Return whether ``X`` is a torch tensor; torch is imported already if it is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def import_torch() -> Any:
    """Import torch, or say how to install it."""
    return import_optional("torch", "a device or a tensor")


def to_host(values: Any) -> npt.NDArray[Any]:
    """Return an array; tensors are copied from their device."""
    return np.asarray(values.detach().cpu() if is_tensor(values) else values)


@contextlib.contextmanager
def explain_out_of_memory(what: str, nbytes: int) -> Iterator[None]:
    """Turn a device's out-of-memory error into one that says what was asked for and what to do."""
    torch = import_torch()
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        free, total = torch.cuda.mem_get_info()
        raise MemoryError(
            f"{what} asks for about {nbytes / _GIB:.2f} GiB on the device, which has "
            f"{free / _GIB:.2f} of {total / _GIB:.2f} GiB free: use float32, or give X as a "
            "NumPy array or memory map, whose rows stream through the device in chunks"
        ) from error


def find_device(name: str) -> Any:
    """Give the torch device of this name, or say that there is none."""
    torch = import_torch()
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(
            f"device={name!r} is not a device torch knows: {error}"
        ) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"device={name!r}: torch {torch.__version__} finds no GPU here; set device=None, or "
            "install the CUDA build of torch"
        )
    return device


def as_tensor(array: npt.NDArray[Any]) -> Any:
    """View an array as a tensor; it may be read-only, as nothing is written."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "The given NumPy array is not writ", UserWarning
        )
        return import_torch().from_numpy(array)


def beside(numbers: npt.NDArray[Any], X: Any) -> Any:
    """Numbers, where X lies: a tensor beside a tensor."""
    if not is_tensor(X):
        return numbers
    return as_tensor(np.ascontiguousarray(numbers)).to(X.device)


def zeros_beside(X: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Zeros to add to, where X lies; there always of double precision."""
    if not is_tensor(X):
        return np.zeros(shape, dtype)
    torch = import_torch()
    with explain_out_of_memory(
        f"products of {shape[-2]} columns", 8 * int(np.prod(shape))
    ):
        return torch.zeros(shape, dtype=torch.float64, device=X.device)


def usable_bytes(device: Any) -> int:
    """Bytes of a GPU that may be filled with rows."""
    torch = import_torch()
    free, _ = torch.cuda.mem_get_info(device)
    # What the allocator holds without using it is free, too.
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(_SHARE * free)


def column_of(X: Any, j: int) -> Array:
    """Return one column, dense and in double precision."""
    part = X[:, [j]]
    return np.asarray(
        part.toarray() if hasattr(part, "toarray") else part, np.float64
    ).ravel()


def known_scores(
    scores: npt.NDArray[Any], weight: Array | None
) -> tuple[Indices, npt.NDArray[Any], Indices]:
    """Bring the scores of all rounds together, (n,) or (n, n_rounds), NaN where there is none.

    Returns the row of each score, the scores, and how many each row has. Rows of weight
    0 have none.
    """
    by_round = scores.reshape(len(scores), -1)
    known = ~np.isnan(by_round)
    if weight is not None:
        known &= (weight > 0)[:, None]
    rows, rounds = np.nonzero(known)
    return rows, by_round[rows, rounds], known.sum(axis=1)
