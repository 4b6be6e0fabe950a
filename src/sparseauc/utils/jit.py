"""Compilation of kernels: once per machine, kept on disk, and with a message.

Numba compiles a kernel when it first meets new argument types. The machine code is kept in a file
beside the module (or in the user's cache if that folder is read-only), so only the first fit waits.
Where no file can be written, every process compiles for itself.

A file holds one kernel for one signature. Its name has a digest of all that the machine code
depends on: the kernel, whatever it calls, the signature, Python, Numba and the processor. So no
file is ever out of date, and processes that write the same one write the same.
"""

import hashlib
import logging
import pickle
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.misc.appdirs import user_cache_dir

# "contract" lets a multiplication and an addition become one instruction. The other fast-math
# flags stay off: they would allow the compiler to assume that no NaN exists.
FAST = {"contract"}
# Sums over rows of a column-major table are only vectorised if they may be reordered. The order is
# then fixed by the compiled code, so answers stay reproducible.
REORDER = {"contract", "reassoc"}

logger = logging.getLogger("sparseauc")
_Kernel = Callable[..., Any]
config: Any = numba.config


def kernel(function: _Kernel) -> _Kernel:
    """Compile ``function`` on first use, keep it, release the GIL while it runs."""
    return _compile(function, FAST)


def reordering_kernel(function: _Kernel) -> _Kernel:
    """Compile a kernel whose sums may be reordered, so that they are vectorised."""
    return _compile(function, REORDER)


_jit: Any = partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
# What Python would call a kernel by takes as long to compile as many a kernel.
_inner: Any = partial(_jit, no_cpython_wrapper=True)

# Kernels that kernels alone call, and that are kept as part of these. What is ``inlined`` is
# compiled into its callers, once for each call.
inner_kernel: Callable[[_Kernel], _Kernel] = _inner(fastmath=FAST)
reordering_inner_kernel: Callable[[_Kernel], _Kernel] = _inner(fastmath=REORDER)
inlined_kernel: Callable[[_Kernel], _Kernel] = _inner(fastmath=FAST, inline="always")


def _compile(function: _Kernel, fastmath: set[str]) -> _Kernel:
    compiled: _Kernel = _jit(fastmath=fastmath)(function)
    if hasattr(compiled, "py_func"):  # not if NUMBA_DISABLE_JIT is set
        compiled._cache = KernelFiles(compiled)  # type: ignore[attr-defined]
    return compiled


class KernelFiles(NullCache):  # type: ignore[misc]
    """The files of one kernel, where Numba looks before it compiles and writes afterwards.

    A file that cannot be read, is damaged or cannot be written is as good as none: Numba compiles.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code for a signature; None if there is none."""
        target_context.refresh()
        name = self._file_name(sig, target_context.codegen())
        for folder in _folders(self._dispatcher.py_func):
            try:
                content = _read(folder / name)
                return CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]
            except Exception:  # whatever ails a file, the kernel can be compiled
                continue
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code for a signature into the first folder that takes it."""
        if data.library.has_dynamic_globals:  # addresses, which hold in this process only
            return
        name = self._file_name(sig, data.codegen)
        content = dumps(data._reduce())  # type: ignore[no-untyped-call]
        refusal = None
        for folder in _folders(self._dispatcher.py_func):
            try:
                _write(folder / name, content)
            except OSError as error:
                refusal = error
            else:
                return
        _NOTICE.say_not_kept(refusal)

    def _file_name(self, sig: Any, codegen: Any) -> str:
        """Name the kernel for a reader, then all that its machine code depends on."""
        function = self._dispatcher.py_func
        settings = (int(config.OPT), config.BOUNDSCHECK)
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        machine = codegen.magic_tuple()
        known = (fingerprint(self._dispatcher), repr(sig), settings, versions, machine)
        return f"{function.__module__}.{function.__qualname__}-{_digest(repr(known).encode())}.nbc"


def fingerprint(dispatcher: Any) -> str:
    """Digest the code of a kernel, and of all kernels and constants that it reaches."""
    reached: dict[int, Any] = {}
    _reach(dispatcher, reached)
    return _digest(repr([list(_describe(one)) for one in reached.values()]).encode())


def _reach(value: Any, reached: dict[int, Any]) -> None:
    """Collect kernels and functions, in the order in which code names them."""
    if id(value) in reached:
        return
    reached[id(value)] = value
    for used in _used(getattr(value, "py_func", value)).values():
        if isinstance(used, Dispatcher | FunctionType):
            _reach(used, reached)


def _used(function: FunctionType) -> dict[str, Any]:
    """Return the global and enclosed values that a function names."""
    names = [name for code in _codes(function.__code__) for name in code.co_names]
    used = {name: function.__globals__[name] for name in names if name in function.__globals__}
    enclosed = (cell.cell_contents for cell in function.__closure__ or ())
    return used | dict(zip(function.__code__.co_freevars, enclosed, strict=True))


def _describe(value: Any) -> Iterator[Any]:
    """Yield what the machine code of one function depends on, but not where it stands."""
    function = getattr(value, "py_func", value)
    yield function.__module__, function.__qualname__, function.__defaults__
    yield sorted((name, _in_order(option)) for name, option in _options(value).items())
    for code in _codes(function.__code__):
        constants = [_in_order(one) for one in code.co_consts if not isinstance(one, CodeType)]
        yield code.co_code, code.co_names, code.co_varnames, constants
    for name, used in _used(function).items():
        if isinstance(used, ModuleType):
            yield name, used.__name__
        elif not isinstance(used, Dispatcher | FunctionType):
            yield name, repr(used)


def _options(value: Any) -> dict[str, Any]:
    options: dict[str, Any] = getattr(value, "targetoptions", {})
    return options


def _in_order(value: Any) -> Any:
    """Return a set as a list: its own order changes from process to process."""
    return sorted(value) if isinstance(value, set | frozenset) else value


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions within."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _folders(function: Any) -> list[Path]:
    """Return the folders for a kernel's files: the first is written to unless it refuses."""
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR) / "sparseauc"]
    beside = Path(function.__code__.co_filename).parent / "__pycache__"
    of_user = user_cache_dir("numba", appauthor=False)  # type: ignore[no-untyped-call]
    return [beside, Path(of_user) / "sparseauc"]


def _read(path: Path) -> Any:
    """Return what was written, if the file holds all of it."""
    digest, _, content = path.read_bytes().partition(b"\n")
    if digest != _digest(content).encode():
        raise ValueError(f"{path} is damaged")
    return pickle.loads(content)


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a reader never meets half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        draft.write_bytes(_digest(content).encode() + b"\n" + content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


class _CompilationNotice(event.Listener):
    """Says once a process that kernels are being compiled; one that is read raises no event."""

    def __init__(self) -> None:
        self.said = False
        self.said_not_kept = False

    def on_start(self, event: Any) -> None:
        ours = str(event.data["dispatcher"].py_func.__module__).startswith("sparseauc")
        if ours and not self.said:
            self.said = True
            logger.warning("sparseauc: compiling kernels for this machine (about a minute, once)")

    def on_end(self, event: Any) -> None:
        """Nothing to add once a kernel is there."""

    def say_not_kept(self, refusal: OSError | None) -> None:
        """Say once that every process will compile, and what the user can do."""
        if not self.said_not_kept:
            self.said_not_kept = True
            logger.warning(
                "sparseauc: compiled kernels cannot be kept (%s), so every process compiles them: "
                "set NUMBA_CACHE_DIR to a folder that can be written to",
                refusal,
            )


_NOTICE = _CompilationNotice()
event.register("numba:compile", _NOTICE)  # type: ignore[no-untyped-call]
