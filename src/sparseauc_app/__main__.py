"""``python -m sparseauc_app`` is the command ``sparseauc``."""

import _thread
import signal
import sys
import threading
from typing import Any

_interrupts: list[int] = []


def main() -> None:
    """Run the command; an interrupt ends it without a traceback, while it is imported too."""
    sys.unraisablehook = _interrupt_again
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from .cli import app

        app(prog_name="sparseauc")
    except (Exception, KeyboardInterrupt) as error:
        if not (_interrupts or isinstance(error, KeyboardInterrupt)):
            raise
        print("Error: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)


def _interrupt(number: int, frame: Any) -> None:
    """Note an interrupt and raise it: Python gives it another type where a class is made."""
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def _interrupt_again(unraisable: Any) -> None:
    """Repeat an interrupt that Python dropped: it came while a callback ran, as imports have."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(0.01, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
