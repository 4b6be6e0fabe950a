"""Compilation of kernels: while a wheel is built, or once per machine, and with a message.

A wheel carries kernels, compiled for a processor that many machines can stand in for.
Any other kernel is compiled when it first meets new argument types. The machine code is
kept in a file beside the module (or in the user's cache if that folder is read-only),
so only the first fit waits. Where no file can be written, every process compiles for
itself.

A file holds one kernel for one signature. Its name has a digest of all that the machine
code depends on: the kernel, whatever it calls, the signature, Python, Numba and the
processor. So no file is ever out of date, and processes that write the same one write
the same.
"""

import gc
import hashlib
import json
import logging
import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import llvmlite.binding
import numba
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.misc.appdirs import user_cache_dir

# "contract" lets a multiplication and an addition become one instruction. The other
# fast-math flags stay off: they would allow the compiler to assume that no NaN exists.
FAST = {"contract"}
# Sums over rows of a column-major table are only vectorised if they may be reordered.
# The order is then fixed by the compiled code, so answers stay reproducible.
REORDER = {"contract", "reassoc"}

# What a default fit compiles where no kernel is at hand: `benchmarks/startup.py` counts
# and times.
KERNELS_OF_A_FIT = 38
SECONDS_OF_A_FIT = 20

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

# Kernels that kernels alone call, and that are kept as part of these. What is
# ``inlined`` is compiled into its callers, once for each call.
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

    A file that cannot be read, is damaged or cannot be written is as good as none:
    Numba compiles.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self._dispatcher)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code for a signature; None if there is none."""
        target_context.refresh()
        here = Target.of(target_context.codegen())
        shipped, _ = shipped_for(here)
        paths = [folder / self._file_name(sig, here) for folder in self._folders()]
        if shipped is not None:
            paths.insert(0, SHIPPED / self._file_name(sig, shipped))
        for path in paths:
            try:
                content = _read(path)
                return CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]
            except Exception:  # whatever ails a file, the kernel can be compiled
                continue
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code for a signature into the first folder that takes it."""
        if (
            data.library.has_dynamic_globals
        ):  # addresses, which hold in this process only
            return
        name = self._file_name(sig, Target.of(data.codegen))
        content = dumps(data._reduce())  # type: ignore[no-untyped-call]
        refusal = None
        for folder in self._folders():
            try:
                _write(folder / name, content)
            except OSError as error:
                refusal = error
            else:
                return
        NOTICE.say_not_kept(refusal)

    def _file_name(self, sig: Any, target: "Target") -> str:
        """Name the kernel for a reader, then all that its machine code depends on."""
        function = self._dispatcher.py_func
        known = repr((self._fingerprint, repr(sig), tuple(target)))
        return f"{function.__module__}.{function.__qualname__}-{_digest(known.encode())}.nbc"

    def _folders(self) -> list[Path]:
        """Return the folders of kernels compiled here: the first that takes a file gets it."""
        if config.CACHE_DIR:
            return [Path(config.CACHE_DIR) / "sparseauc"]
        beside = (
            Path(self._dispatcher.py_func.__code__.co_filename).parent / "__pycache__"
        )
        of_user = user_cache_dir("numba", appauthor=False)  # type: ignore[no-untyped-call]
        return [beside, Path(of_user) / "sparseauc"]


class Target(NamedTuple):
    """Versions and settings that kernels are compiled with and for."""

    python: str
    numba: str
    llvmlite: str
    optimisation: int
    bounds_checked: bool
    system: str
    processor: str
    features: str

    @classmethod
    def of(cls, codegen: Any) -> "Target":
        """Return the target of this process."""
        return cls(
            sys.implementation.cache_tag,
            numba.__version__,
            llvmlite.__version__,
            int(config.OPT),
            bool(config.BOUNDSCHECK),
            *codegen.magic_tuple(),
        )


# Kernels that came with the wheel, and a file that says for which target.
SHIPPED = Path(__file__).parents[1] / "kernels"
ABOUT = "target.json"
# What a processor must know to stand in for one that kernels are shipped for. Of each
# architecture there is a "generic" one, for which all can stand in.
_INSTRUCTIONS = {
    "x86-64-v3": "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3 avx avx2 bmi bmi2 f16c fma lzcnt movbe",
    "generic": "",
}


def can_stand_in(processor: str) -> bool:
    """Say whether this machine runs what is compiled for ``processor``."""
    known = llvmlite.binding.get_host_cpu_features()
    needed = _INSTRUCTIONS.get(processor, "unknown").split()
    return all(known.get(name, False) for name in needed)


@cache
def shipped_for(here: Target) -> tuple[Target | None, str]:
    """Return the target of the shipped kernels if they run here; otherwise None and why not."""
    if os.environ.get("SPARSEAUC_NO_SHIPPED_KERNELS"):
        return None, "SPARSEAUC_NO_SHIPPED_KERNELS is set"
    if config.CPU_NAME is not None:
        return None, "NUMBA_CPU_NAME is set"
    try:
        shipped = Target(**json.loads((SHIPPED / ABOUT).read_text()))
    except (OSError, ValueError, TypeError):
        return None, "none came with the installation"
    common = here._replace(processor=shipped.processor, features=shipped.features)
    if shipped != common:
        pairs = zip(shipped._fields, shipped, common, strict=True)
        other = [
            f"{name} {theirs}, not {ours}"
            for name, theirs, ours in pairs
            if theirs != ours
        ]
        return None, f"those installed are for {', '.join(other)}"
    if not can_stand_in(shipped.processor):
        return None, f"those installed are for {shipped.processor} processors"
    return shipped, ""


def fingerprint(dispatcher: Any) -> str:
    """Digest the code of a kernel, and of all kernels and constants that it reaches."""
    reached: dict[int, Any] = {}
    _reach(dispatcher, reached)
    return _digest(repr([list(_describe(one)) for one in reached.values()]).encode())


def _reach(value: Any, reached: dict[int, Any]) -> None:
    """Collect kernels and functions of ours, in the order in which code names them."""
    if id(value) in reached:
        return
    reached[id(value)] = value
    for used in _used(getattr(value, "py_func", value)).values():
        if _is_ours(used):
            _reach(used, reached)


def _is_ours(value: Any) -> bool:
    function = isinstance(value, Dispatcher | FunctionType)
    return function and str(value.__module__).startswith("sparseauc")


def _used(function: FunctionType) -> dict[str, Any]:
    """Return the global and enclosed values that a function names."""
    names = [name for code in _codes(function.__code__) for name in code.co_names]
    used = {
        name: function.__globals__[name]
        for name in names
        if name in function.__globals__
    }
    enclosed = (cell.cell_contents for cell in function.__closure__ or ())
    return used | dict(zip(function.__code__.co_freevars, enclosed, strict=True))


def _describe(value: Any) -> Iterator[Any]:
    """Yield what the machine code of one function depends on, but not where it stands."""
    function = getattr(value, "py_func", value)
    yield function.__module__, function.__qualname__, function.__defaults__
    options = getattr(value, "targetoptions", {})
    yield sorted((name, _in_order(option)) for name, option in options.items())
    for code in _codes(function.__code__):
        constants = [
            _in_order(one) for one in code.co_consts if not isinstance(one, CodeType)
        ]
        yield code.co_code, code.co_names, code.co_varnames, constants
    for name, used in _used(function).items():
        if isinstance(used, Dispatcher | FunctionType):
            yield name, used.__module__, used.__name__  # type: ignore[union-attr]
        elif isinstance(used, ModuleType):
            yield name, used.__name__
        else:
            yield name, repr(used)


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


def write_on_terminal(text: str) -> None:
    """Write a line that the next one takes the place of; nothing but blanks for no text."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r{text:<70}\r", end=text, file=sys.stderr, flush=True)


class _CompilationNotice(event.Listener):
    """Says once a process that kernels are compiled and why, and shows how far on a terminal.

    A kernel that is read from a file raises no event. ``show`` takes each line, and an
    empty one in the end. Garbage is not collected meanwhile, which would take a sixth
    of the time: the compiler builds many small objects and keeps them.
    """

    def __init__(self) -> None:
        self.show: Callable[[str], None] = write_on_terminal
        self.said = False
        self.said_not_kept = False
        self.compiled = 0
        self.depth = 0
        self.collects = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if not _is_ours(dispatcher):
            return
        self.compiled += 1
        self.depth += 1
        if self.depth == 1:
            self.collects = gc.isenabled()
            gc.disable()
        if not self.said:
            self.said = True
            _, reason = shipped_for(Target.of(dispatcher.targetctx.codegen()))
            text = (
                f"compiling kernels, about {SECONDS_OF_A_FIT} s, once: {reason}"
                if reason
                else "compiling kernels that this installation lacks, a few seconds, once"
            )
            logger.warning("sparseauc: %s", text)
        total = max(self.compiled, KERNELS_OF_A_FIT)
        self.show(
            f"compiling kernel {self.compiled} of {total}, about {SECONDS_OF_A_FIT} s, once"
        )

    def on_end(self, event: Any) -> None:
        if _is_ours(event.data["dispatcher"]):
            self.depth -= 1
            if self.depth == 0:
                self.show("")
                if self.collects:
                    gc.enable()

    def say_not_kept(self, refusal: OSError | None) -> None:
        """Say once that every process will compile, and what the user can do."""
        if not self.said_not_kept:
            self.said_not_kept = True
            logger.warning(
                "sparseauc: compiled kernels cannot be kept (%s), so every process compiles them: "
                "set NUMBA_CACHE_DIR to a folder that can be written to",
                refusal,
            )


@contextmanager
def compilation_shown_by(show: Callable[[str], None]) -> Iterator[None]:
    """Give lines on compilation to ``show`` instead of the terminal."""
    before = NOTICE.show
    NOTICE.show = show
    try:
        yield
    finally:
        NOTICE.show = before


NOTICE = _CompilationNotice()
event.register("numba:compile", NOTICE)  # type: ignore[no-untyped-call]
