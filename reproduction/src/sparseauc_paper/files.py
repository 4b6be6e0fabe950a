"""Files that are written whole or not at all, and the package's own tables."""

import csv
import os
import secrets
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import IO, Any


def read_lines(name: str) -> list[list[str]]:
    """Lines of a CSV file of this package, without its header."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]


def read_settings(name: str) -> dict[str, Any]:
    """Read a TOML file of this package, its lists as tuples, which cannot be changed."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    settings: dict[str, Any] = _with_tuples(tomllib.loads(text))
    return settings


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_tuples(part) for name, part in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def write_atomically(
    path: str | os.PathLike[str], content: bytes | Callable[[IO[bytes]], Any]
) -> None:
    """Write a file, from bytes or by a function of an open file, so that none sees half of it."""
    target = Path(path)
    part = target.with_name(f".{secrets.token_hex(16)}.part")
    try:
        with part.open("xb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_files(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write several files and make their folders."""
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return list(contents)
