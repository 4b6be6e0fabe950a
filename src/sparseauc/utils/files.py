"""Writing files atomically, and never through links; reading the packages' own CSV files."""

import csv
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, Any


def read_lines(package: str, name: str) -> list[list[str]]:
    """Lines of a package's CSV file, without its header."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]


def write_atomically(
    path: str | os.PathLike[str], content: bytes | Callable[[IO[bytes]], Any]
) -> None:
    """Write a file so that no reader ever sees half of it.

    Parameters
    ----------
    path : path-like
        Replaced if it is a plain file, or a link to one, which then becomes a file
        itself.
    content : bytes, or callable
        What to write, or a function that writes it to an open file.

    Raises
    ------
    FileExistsError
        If the path is there and is not a plain file, such as a folder or a device.
    """
    with staged(path) as (file, commit):
        if callable(content):
            content(file)
        else:
            file.write(content)
        commit()


def write_whole(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write several files; none is renamed to its place before all are written.

    A failure while writing leaves no file behind, but may leave a folder that it made.
    An ``OSError`` has the file's name as its ``filename``.
    """
    with ExitStack() as stack:
        commits = {}
        target = Path()
        try:
            for target, content in contents.items():
                target.parent.mkdir(parents=True, exist_ok=True)
                file, commits[target] = stack.enter_context(staged(target))
                file.write(content)
                file.flush()  # a full disk shows now, before anything is replaced
            for target in commits:
                commits[target]()
        except OSError as error:
            error.filename = str(target)
            raise
    return list(contents)


@contextmanager
def staged(
    path: str | os.PathLike[str],
) -> Iterator[tuple[IO[bytes], Callable[[], None]]]:
    """Open a file beside its place; it is moved there by calling ``commit``, or else vanishes.

    The name of the file cannot be guessed, and the system refuses to open it if it
    exists, link or not. It is readable as any new file: files of ``tempfile`` are
    private to the user.
    """
    target = Path(path)
    refuse_special(target)
    # The target's own name may be as long as the system allows: it is no part of this
    # one.
    part = target.with_name(f".{secrets.token_hex(16)}.part")
    file = part.open("xb")

    def commit() -> None:
        file.close()
        refuse_special(target)
        with suppress(
            FileNotFoundError
        ):  # a file that is replaced keeps its permissions
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)

    try:
        yield file, commit
    finally:
        # What could not be written was said when it was.
        with suppress(OSError):
            file.close()
        part.unlink(missing_ok=True)


def refuse_special(path: Path) -> None:
    """Refuse to replace what is there and is not a plain file."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{path} is a folder")
    if path.exists() and not path.is_file():
        raise FileExistsError(
            errno.EEXIST, f"{path} is not a plain file and is not replaced"
        )
