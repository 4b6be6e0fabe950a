"""Text for messages: lists and similar names."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def listed(items: Sequence[str], most: int = 5) -> str:
    """Enumerate with commas, the first few and how many more."""
    shown = ", ".join(items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")


def quoted(names: Iterable[str], most: int = 5) -> str:
    """Enumerate names in quotation marks, the first few and how many more."""
    return listed([repr(name) for name in names], most)


def either(items: Sequence[str]) -> str:
    """Enumerate as a choice: a, b or c."""
    *first, last = items
    return f"{', '.join(first)} or {last}" if first else last


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return "did you mean …?", or which names there are if none is near."""
    bare = {known.partition(" (")[0].lower(): known for known in names}  # without units
    close = get_close_matches(
        name.partition(" (")[0].lower(), list(bare), n=3, cutoff=0.6
    )
    if close:
        return f"did you mean {either([repr(bare[match]) for match in close])}?"
    return f"there are {quoted(names, 8)}"
