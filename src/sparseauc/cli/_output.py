"""Output files: checked before any work, and never left half-written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import typer

from .._files import refuse_special, staged
from .._text import either
from ._errors import OutputError


class Outputs:
    """Files that appear together at the end, or not at all.

    Parameters
    ----------
    *targets : Path or None
        Each is checked at once: it must not exist, unless ``force``, and its folder must exist
        and be writable.
    force : bool
        Whether existing files may be replaced. Only plain files ever are.
    inputs : tuple of Path
        Input files, which an output must not replace even with ``force``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparseauc.cli._output import Outputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "out.txt"
    ...     with Outputs(target, force=False) as outputs:
    ...         outputs.stage(target, b"all of it")
    ...         _ = outputs.commit()
    ...     target.read_text()
    'all of it'
    """

    def __init__(self, *targets: Path | None, force: bool, inputs: tuple[Path, ...] = ()) -> None:
        self._commits: dict[Path, Callable[[], None]] = {}
        self._open = ExitStack()
        wanted = [target for target in targets if target is not None]
        for number, target in enumerate(wanted):
            try:
                if any(_is_same(target, other) for other in wanted[:number]):
                    raise OutputError(f"two outputs have the same name, {target}")
                if any(_is_same(target, source) for source in inputs):
                    raise OutputError(f"{target} is an input: choose another name for the output")
                _check_target(target, force)
            except (OSError, RuntimeError) as error:  # the latter of links that lead in a circle
                raise _write_error(target, error) from error

    def __enter__(self) -> Self:
        return self

    def stage(self, target: Path, content: bytes) -> None:
        """Write a file under a temporary name beside its target."""
        try:
            file, self._commits[target] = self._open.enter_context(staged(target))
            file.write(content)
            file.flush()  # a full disk shows now, before anything is replaced
        except OSError as error:
            raise _write_error(target, error) from error

    def commit(self) -> list[str]:
        """Move all staged files to their targets, and return their names."""
        for target, commit in self._commits.items():
            try:
                commit()
            except OSError as error:
                raise _write_error(target, error) from error
        return [str(target) for target in self._commits]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()


def check_suffix(target: Path | None, option: str, allowed: Collection[str]) -> None:
    """Refuse a file name whose suffix is not a format that we write."""
    if target is not None and target.suffix.lower() not in allowed:
        raise typer.BadParameter(
            f"{option} writes {either([*allowed])}, not {target.suffix or 'a file without suffix'}"
        )


def _write_error(target: Path, error: Exception) -> OutputError:
    reason = getattr(error, "strerror", None) or str(error)
    return OutputError(f"cannot write {target}: {reason}")


def check_writable(folder: Path) -> None:
    """Make a folder and check that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"cannot write to folder {folder}: {error.strerror or error}") from error


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _check_target(target: Path, force: bool) -> None:
    folder = target.parent
    if target.is_dir():
        raise OutputError(f"{target} is a folder: give the name of a file")
    if not folder.is_dir():
        raise OutputError(f"there is no folder {folder}")
    if target.exists() and not force:
        raise OutputError(f"{target} exists: --force replaces it")
    refuse_special(target)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to folder {folder}: no permission")
