"""A report on disk: whole, or not at all."""

import errno
import os
from pathlib import Path

from ..files import write_files
from .elements import Report


def write_report(
    report: Report, folder: str | os.PathLike[str], *, static: bool = True
) -> list[Path]:
    """Write the page of a report and, beside it, its tables and figures as files.

    Everything is made before anything is written, and a reader never sees half a file.

    Parameters
    ----------
    report : Report
    folder : path
        Made where it does not exist. Files of an earlier report of the same names are replaced.
    static : bool
        Whether to write ``tables/*.csv``, ``tables/*.md``, ``figures/*.png`` and ``figures/*.svg``
        too. They need matplotlib.

    Returns
    -------
    written : list of Path
        ``report.html`` first.

    Raises
    ------
    OSError
        The folder cannot be written to, or the disk is full; the message names the folder.
    """
    from .files import files
    from .html import render

    target = Path(folder)
    beside = files(report) if static else {}
    page = render(report, files=static).encode()
    try:
        # The page last: when it is there, what it links to is there.
        contents = {target / name: content for name, content in beside.items()}
        *others, first = write_files({**contents, target / "report.html": page})
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        room = "free some space there or " if full else ""
        message = f"cannot write the report to {target}: {error.strerror or error}"
        raise type(error)(error.errno, f"{message}; {room}name another folder") from error
    return [first, *others]
