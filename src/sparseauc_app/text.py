"""Text for people: short, and with safe characters for terminals and spreadsheets."""

import unicodedata
from typing import Any


def shortened(text: str, most: int = 40) -> str:
    """The text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def printable(text: str) -> str:
    r"""Return the text with control characters written out, so that no terminal obeys them.

    Examples
    --------
    >>> from .text import printable
    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(_written_out(character) for character in text)


def _written_out(character: str) -> str:
    if character == "\n" or (character.isprintable() or character == " "):
        return character
    # Characters that only format, such as joiners within words, are harmless but for
    # those that turn the direction of writing.
    harmless = unicodedata.category(character) in ("Cf", "Zs", "Co", "Cn")
    turning = "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"
    if harmless and not turning:
        return character
    return character.encode("unicode_escape").decode("ascii")


def spreadsheet_safe(text: Any) -> Any:
    """Return text that a spreadsheet shows and does not execute.

    An apostrophe is put before text that looks like a formula; all else is not changed.
    """
    if not isinstance(text, str) or not text.startswith(
        ("=", "+", "-", "@", "\t", "\r")
    ):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
