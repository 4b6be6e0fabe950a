"""How kernels are compiled: once a machine, cached on disk, and never in silence.

Numba compiles a kernel the first time it meets new argument types. The result is kept beside the
module (or in the user's cache when that folder is read-only), so only the very first fit waits; it
is told why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

# "contract" lets a multiplication and an addition become one instruction. The other fast-math
# flags stay off: they would allow the compiler to assume that no NaN exists.
FAST = {"contract"}
# Sums over rows of a column-major table are only vectorised if they may be reordered. The order is
# then fixed by the compiled code, so answers stay reproducible.
REORDER = {"contract", "reassoc"}

logger = logging.getLogger("sparseauc")


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first use, cache it, release the GIL while it runs."""
    return _compile(function, FAST)


def reordering_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel whose sums may be reordered, so that they are vectorised."""
    return _compile(function, REORDER)


def _compile(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = numba.njit(
        cache=True, nogil=True, fastmath=fastmath, error_model="numpy"
    )(function)
    return compiled


class _CompilationNotice(event.Listener):
    """Says once a process that kernels are being compiled; a cached kernel raises no event."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith("sparseauc")
        if ours and not self.said:
            self.said = True
            logger.warning(
                "sparseauc: compiling kernels for this machine (seconds, once; "
                "later runs load them from the cache)"
            )

    def on_end(self, event: Any) -> None:
        """Nothing to add once a kernel is there."""


event.register("numba:compile", _CompilationNotice())  # type: ignore[no-untyped-call]
