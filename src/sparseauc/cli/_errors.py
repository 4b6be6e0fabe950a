"""What goes wrong, as an exit code and one sentence; a traceback is for bugs only."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup


class ExitCode(IntEnum):
    """What the command returns to the shell."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    OUTPUT = 5
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 done; 1 something is not installed, or memory ran out; 2 the command was "
    "misused; 3 the data cannot be used; 4 the model file cannot be used; 5 an output exists or "
    "cannot be written; 130 interrupted. Whatever fails or is interrupted leaves no output behind."
)


class OutputError(Exception):
    """An output is in the way or cannot be written."""


class GuardedGroup(TyperGroup):
    """Commands whose foreseeable failures end in a sentence and a code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _fail("interrupted, nothing was written", ExitCode.INTERRUPTED)
        except OutputError as error:
            _fail(str(error), ExitCode.OUTPUT)
        except ImportError as error:
            # Ours name the extra that is missing; any other is a bug and keeps its traceback.
            if "pip install" not in str(error):
                raise
            _fail(str(error), ExitCode.FAILED)
        except MemoryError:
            _fail("memory ran out", ExitCode.FAILED)
        except ValueError as error:
            _fail(str(error), _code_of(error))


def _code_of(error: ValueError) -> ExitCode:
    """Return the code for a data or model error; anything else is a bug and is raised again."""
    from ..tabular.model_files import ModelFileError
    from ..tabular.reading import DataError

    if isinstance(error, DataError):
        return ExitCode.DATA
    if isinstance(error, ModelFileError):
        return ExitCode.MODEL
    raise error


def _fail(message: str, code: ExitCode) -> None:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(int(code)) from None
