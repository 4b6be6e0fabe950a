"""Expected failures become one sentence and an exit code; a traceback means a bug."""

import errno
import json
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..text import printable

# Typer does not export the class itself; newer releases bring their own copy of Click.
_UsageError: Any = typer.BadParameter.__base__
_AS_JSON = "sparseauc.json"


class ExitCode(IntEnum):
    """Exit codes of the command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    OUTPUT = 5
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 success; 1 a package is missing, or memory ran out; 2 wrong usage; 3 unusable "
    "data; 4 unusable model file; 5 an output exists or cannot be written; 130 interrupted. A "
    "command that fails leaves no output behind."
)


class OutputError(Exception):
    """An output is in the way or cannot be written."""


class _PlainParameters:
    """Parameters whose help shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


class PlainCommand(_PlainParameters, TyperCommand):
    """A command whose help shows arguments without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class GuardedGroup(_PlainParameters, TyperGroup):
    """Commands whose expected failures end in a sentence and a code, in JSON with --json."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for --json, so that usage errors are JSON too."""
        ctx.meta[_AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        fail = partial(_fail, as_json=ctx.meta[_AS_JSON])
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            fail("interrupted, nothing was written", ExitCode.INTERRUPTED)
        except _UsageError as error:
            if not ctx.meta[_AS_JSON]:
                raise
            fail(error.format_message(), ExitCode.USAGE)
        except OutputError as error:
            fail(str(error), ExitCode.OUTPUT)
        except ImportError as error:
            # Ours name the missing package; any other is a bug and keeps its traceback.
            if "pip install" not in str(error):
                raise
            fail(str(error), ExitCode.FAILED)
        except MemoryError:
            fail("memory ran out", ExitCode.FAILED)
        except OSError as error:
            if error.errno not in _OF_STREAMS or error.filename is not None:
                raise
            _close_output()
            reason = error.strerror or str(error)
            _fail(
                f"cannot write to standard output: {reason}",
                ExitCode.OUTPUT,
                as_json=False,
            )
        except ValueError as error:
            code = _code_of(error)
            options = getattr(error, "options", ())
            hint = f"\nTry: {suggest(sys.argv[1:], options)}" if options else ""
            fail(f"{error}{hint}", code)


# What writing to a full disk or to a pipe without a reader raises.
_OF_STREAMS = {errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EDQUOT, errno.EFBIG}


def _close_output() -> None:
    """Drop what is left to be written, so that Python does not try again when it ends."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


# Options that may be given several times.
_REPEATED = {"--exclude", "--numeric", "--format"}


def suggest(arguments: Sequence[str], options: Sequence[str]) -> str:
    """Return the command with further options, which replace those given before.

    ``options`` are names and values in turn.
    """
    found = [*arguments]
    for name, value in zip(options[::2], options[1::2], strict=True):
        if name not in _REPEATED:
            for place in [i for i, one in enumerate(found) if one == name][::-1]:
                del found[place : place + 2]
            found = [one for one in found if not one.startswith(f"{name}=")]
        elif [name, value] in [found[i : i + 2] for i in range(len(found))]:
            continue
        found += [name, value]
    return shlex.join(["sparseauc", *found])


def _code_of(error: ValueError) -> ExitCode:
    """Return the code for a data or model error; anything else is a bug and is raised again."""
    from ..model_files import ModelFileError
    from ..reading import DataError

    if isinstance(error, DataError):
        return ExitCode.DATA
    if isinstance(error, ModelFileError):
        return ExitCode.MODEL
    raise error


def _fail(message: str, code: ExitCode, *, as_json: bool) -> None:
    if as_json:
        typer.echo(
            json.dumps({"error": message, "exit_code": int(code)}, ensure_ascii=False)
        )
    else:
        typer.echo(f"Error: {printable(message)}", err=True)
    raise typer.Exit(int(code)) from None
