"""How kernels are compiled: on first use, and kept on disk for the next time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba

# "contract" lets a multiplication and an addition become one instruction. The other fast-math
# flags stay off: they would allow the compiler to assume that no NaN exists.
FAST = {"contract"}
# Sums over rows of a column-major table are only vectorised if they may be reordered. The order is
# then fixed by the compiled code, so answers stay reproducible.
REORDER = {"contract", "reassoc"}

_compile = partial(numba.njit, cache=True, nogil=True, error_model="numpy")

kernel: Callable[..., Any] = _compile(fastmath=FAST)
# Sums may be reordered, so that they are vectorised.
reordering_kernel: Callable[..., Any] = _compile(fastmath=REORDER)
# Compiled into the kernels that call it.
inlined_kernel: Callable[..., Any] = _compile(fastmath=FAST, inline="always")
