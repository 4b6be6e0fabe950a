"""Output files: checked before any work, and written all or none."""

import csv
import io
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from sparseauc.utils.files import refuse_special, write_whole
from sparseauc.utils.text import either, spreadsheet_safe

from .errors import OutputError


def check_outputs(*targets: Path | None, force: bool, inputs: Collection[Path | None] = ()) -> None:
    """Refuse outputs that could not be written, that exist without ``force``, or are inputs."""
    taken = [os.path.realpath(source) for source in inputs if source is not None]
    seen: list[str] = []
    for target in targets:
        if target is None:
            continue
        place = os.path.realpath(target)
        if place in seen:
            raise OutputError(f"two outputs have the same name, {target}")
        if place in taken:
            raise OutputError(f"{target} is an input: choose another name for the output")
        try:
            _check_target(target, force)
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
        seen.append(place)


def _check_target(target: Path, force: bool) -> None:
    folder = target.parent
    if target.is_dir():
        raise OutputError(f"{target} is a folder: give the name of a file")
    if target.is_symlink() and target.exists():
        raise OutputError(f"{target} is a link: give the file it leads to, {target.resolve()}")
    if not folder.is_dir():
        raise OutputError(f"there is no folder {folder}")
    with suppress(FileNotFoundError):
        target.stat()  # fails on a link that leads in a circle
        if not force:
            raise OutputError(f"{target} exists: --force replaces it")
    refuse_special(target)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to folder {folder}: no permission")


def check_suffix(target: Path | None, option: str, allowed: Collection[str]) -> None:
    """Refuse a file name whose suffix is not a format that we write."""
    if target is not None and target.suffix.lower() not in allowed:
        raise typer.BadParameter(
            f"{option} writes {either([*allowed])}, not {target.suffix or 'a file without suffix'}"
        )


def check_writable(folder: Path) -> None:
    """Make a folder and check that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"cannot write to folder {folder}: {error.strerror or error}") from error


def write_outputs(contents: Mapping[Path, bytes]) -> list[str]:
    """Write files that appear together or not at all, and return their names."""
    try:
        return [str(path) for path in write_whole(contents)]
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"cannot write {error.filename}: {reason}") from error


def csv_bytes(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """Return rows as delimited text, of which a spreadsheet computes nothing."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows(map(spreadsheet_safe, row) for row in rows)
    return text.getvalue().encode()


def workbook_bytes(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return rows as an Excel file of one sheet, of which nothing is computed."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("scores")
    for row in rows:
        sheet.append([spreadsheet_safe(cell) for cell in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
