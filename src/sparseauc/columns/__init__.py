"""Columns as units: what each counts as, learned from training rows.

``Line`` is a number, ``Curve`` a number whose effect bends, ``Levels`` a text,
``Steps`` a number that counts by its class, as on a card of points. Each says what it
learns, its basis, its effect at a value, its words and its formula: ``Encoding`` in
``columns/base.py``.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from .base import Encoding, Piece, Pieces, Table
from .curve import Curve
from .levels import Levels
from .line import Line
from .reading import as_texts
from .steps import Steps

__all__ = [
    "Curve",
    "Encoding",
    "Levels",
    "Line",
    "Piece",
    "Pieces",
    "Steps",
    "Table",
    "as_texts",
    "encoding_from_dict",
]

_KINDS: dict[str, type[Encoding]] = {
    one.kind: one for one in (Line, Curve, Levels, Steps)
}


def encoding_from_dict(saved: Mapping[str, Any]) -> Encoding:
    """Make the encoding that ``as_dict`` has written."""
    content = dict(saved)
    kind = content.pop("kind", None)
    if kind not in _KINDS:
        raise InputError(f"a column is of kind {kind!r}: known are {', '.join(_KINDS)}")
    absent = {"low": float("-inf"), "high": float("inf"), "missing": float("nan")}
    for name, value in content.items():
        if value is None:
            content[name] = absent[name]
        elif isinstance(value, list):
            content[name] = tuple(float("nan") if one is None else one for one in value)
    return _KINDS[kind](**content)
