"""``python -m sparseauc_app`` is the command ``sparseauc``."""

import _thread
import signal
import sys
import threading
from typing import Any

_interrupts: list[int] = []
_PAUSE = (
    2.0  # seconds after which an interrupt that did not end the command is raised again
)


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
    finally:
        if (
            _interrupts
        ):  # the work is left; a further interrupt ends the process at once
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(number: int, frame: Any) -> None:
    """Note an interrupt and raise it, again and again until the command ends.

    Python gives it another type where a class is made, and a library may drop it, as
    Numba does while it compiles.
    """
    _interrupts.append(number)
    _raise_after(_PAUSE)
    signal.default_int_handler(number, frame)


def _raise_after(seconds: float) -> None:
    """Interrupt the main thread after some time, unless interrupts are no longer handled."""
    timer = threading.Timer(seconds, _raise_in_main_thread)
    timer.daemon = True
    timer.start()


def _raise_in_main_thread() -> None:
    """Send the signal, which wakes a thread that waits; Windows has no such call."""
    if signal.getsignal(signal.SIGINT) is not _interrupt:
        return
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _interrupt_again(unraisable: Any) -> None:
    """Repeat an interrupt that Python dropped: it came while a callback ran, as imports have."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _raise_after(0.01)
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
