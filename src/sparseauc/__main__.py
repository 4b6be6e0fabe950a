"""``python -m sparseauc`` is the command ``sparseauc``."""

import _thread
import sys
import threading
from typing import Any


def main() -> None:
    """Run the command; an interrupt ends it without a traceback, while it is imported too."""
    sys.unraisablehook = _interrupt_again
    try:
        from .cli import app

        app(prog_name="sparseauc")
    except KeyboardInterrupt:
        print("Error: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)


def _interrupt_again(unraisable: Any) -> None:
    """Repeat an interrupt that Python dropped: it came while a callback ran, as imports have."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(0.01, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
