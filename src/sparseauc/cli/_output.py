"""Output files: refused before any work if they are in the way, and never seen half-written."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from ._errors import OutputError


class Outputs:
    """Files that appear together at the end, or not at all.

    Parameters
    ----------
    *targets : Path or None
        Where they go. Each is checked at once: it must not exist, unless ``force``, and its folder
        must be there and writable.
    force : bool
        Whether existing files may be replaced.
    inputs : tuple of Path
        Files that are read, which an output must not replace, whatever ``force`` says.

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
        self._parts: dict[Path, Path] = {}
        wanted = [target for target in targets if target is not None]
        for number, target in enumerate(wanted):
            if any(_same(target, other) for other in wanted[:number]):
                raise OutputError(f"two outputs are to be written to {target}")
            if any(_same(target, source) for source in inputs):
                raise OutputError(f"{target} is an input and would be replaced: choose another")
            _check(target, force)

    def __enter__(self) -> Self:
        return self

    def stage(self, target: Path, content: bytes) -> None:
        """Write a file beside its place."""
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        self._parts[target] = part
        try:
            part.write_bytes(content)
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error

    def commit(self) -> list[str]:
        """Put all staged files in their places, and return their names."""
        for target, part in self._parts.items():
            try:
                part.replace(target)
            except OSError as error:
                raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
        return [str(target) for target in self._parts]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for part in self._parts.values():
            part.unlink(missing_ok=True)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _check(target: Path, force: bool) -> None:
    folder = target.parent
    if target.is_dir():
        raise OutputError(f"{target} is a folder: give the name of a file")
    if not folder.is_dir():
        raise OutputError(f"there is no folder {folder}")
    if target.exists() and not force:
        raise OutputError(f"{target} exists: --force replaces it")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to folder {folder}: no permission")
