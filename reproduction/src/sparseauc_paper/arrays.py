"""Names of the usual kinds of arrays, and how functions on them are compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_compile = partial(numba.njit, cache=True, nogil=True, error_model="numpy")

# A multiplication and an addition may become one instruction, nothing else: NaN is
# respected.
kernel: Callable[..., Any] = _compile(fastmath={"contract"})
# Sums may be reordered too, so that they are vectorised; the order is then the compiled
# code's.
reordering_kernel: Callable[..., Any] = _compile(fastmath={"contract", "reassoc"})
