"""Compilation of kernels: once per machine, cached on disk, and with a message.

Numba compiles a kernel when it first meets new argument types. The result is cached beside the
module (or in the user's cache if that folder is read-only), so only the first fit waits. If neither
folder is writable, every process compiles for itself.
"""

import logging
from collections.abc import Callable
from functools import partial
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


def inlined_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel into those that call it."""
    return _compile(function, FAST, inline="always")


def _compile(
    function: Callable[..., Any], fastmath: set[str], inline: str = "never"
) -> Callable[..., Any]:
    decorate = partial(
        numba.njit, nogil=True, fastmath=fastmath, error_model="numpy", inline=inline
    )
    try:
        compiled: Callable[..., Any] = decorate(cache=True)(function)
    except RuntimeError as error:
        # Numba finds no folder to keep its files in: a read-only installation without a home.
        if "cannot cache" not in str(error):
            raise
        compiled = decorate()(function)
        _NOTICE.kept = False
    return compiled


class _CompilationNotice(event.Listener):
    """Says once a process that kernels are being compiled; a cached kernel raises no event."""

    def __init__(self) -> None:
        self.said = False
        self.kept = True

    def on_start(self, event: Any) -> None:
        ours = str(event.data["dispatcher"].py_func.__module__).startswith("sparseauc")
        if ours and not self.said:
            self.said = True
            logger.warning(
                "sparseauc: compiling kernels for this machine (about a minute, %s)",
                "once; later runs load them from the cache"
                if self.kept
                else "in every process: no folder can be written to; NUMBA_CACHE_DIR names one",
            )

    def on_end(self, event: Any) -> None:
        """Nothing to add once a kernel is there."""


_NOTICE = _CompilationNotice()
event.register("numba:compile", _NOTICE)  # type: ignore[no-untyped-call]
