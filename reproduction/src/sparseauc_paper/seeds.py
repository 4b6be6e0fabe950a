"""Random numbers that depend on what they are for and never on the order in which work is done."""

import hashlib
import json
from typing import Any

import numpy as np


def canonical(value: Any) -> str:
    """JSON of a value, the same whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def generator(*parts: Any) -> np.random.Generator:
    """Return the generator that belongs to these parts: numbers, texts, lists, dicts."""
    digest = hashlib.sha256(canonical(parts).encode()).digest()
    return np.random.default_rng(
        np.random.SeedSequence(int.from_bytes(digest[:16], "big"))
    )
