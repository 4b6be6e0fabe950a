"""Names of the usual kinds of arrays; arrays and tensors told apart."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """View an array, so that one compiled kernel serves writable arrays and memory maps."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def is_tensor(X: Any) -> bool:
    """Whether ``X`` is a torch tensor; torch is imported already if it is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def to_host(values: Any) -> npt.NDArray[Any]:
    """Return an array; tensors are copied from their device."""
    return np.asarray(values.detach().cpu() if is_tensor(values) else values)
