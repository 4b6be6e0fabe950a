"""The unit of work: everything that determines a result, and the function that computes it."""

import hashlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from .seeds import canonical

Kind = Literal["synthetic", "real", "convergence", "theory"]

# Part of every key. Raise it with any change that alters a result but none of its
# settings.
REVISION = 4


# What every result of a kind holds; it is computed by the module of the same name.
_FIELDS: Mapping[Kind, tuple[str, ...]] = {
    "synthetic": (
        "auc",
        "auc_cut",
        "f1",
        "f1_tuned",
        "f1_told",
        "jaccard",
        "jaccard_tuned",
        "jaccard_told",
        "columns",
    ),
    "real": ("by_k", "best"),
    "convergence": ("epochs", "auc", "objective", "step"),
    "theory": ("kappa", "rate", "remaining"),
}


@dataclass(frozen=True)
class Task:
    """One result to be had; ``settings``, plain JSON, and ``REVISION`` determine it."""

    kind: Kind
    settings: Mapping[str, Any]

    @cached_property
    def description(self) -> str:
        """Canonical JSON of all that determines the result."""
        return canonical({"kind": self.kind, "revision": REVISION, **self.settings})

    @cached_property
    def key(self) -> str:
        """Hash of the description, the key of the store."""
        return hashlib.sha256(self.description.encode()).hexdigest()

    @property
    def fields(self) -> tuple[str, ...]:
        """What its result holds at least."""
        return _FIELDS[self.kind]

    def __hash__(self) -> int:
        return hash(self.key)

    def compute(self, device: str | None = None) -> dict[str, Any]:
        """Do the work, where a method can on this device; the result is plain JSON."""
        # By name: the module builds tasks itself, and imports this one.
        module = importlib.import_module(f".{self.kind}", __package__)
        compute: Callable[[Mapping[str, Any]], dict[str, Any]] = module.compute
        return compute({**self.settings, "device": device})
