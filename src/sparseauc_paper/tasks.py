"""The unit of work: everything that determines a result, and the function that computes it."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from .seeds import canonical

Kind = Literal["synthetic", "real", "convergence"]

# Where each kind is computed. By name: the modules build cells themselves, and import this one.
_COMPUTED_BY: Mapping[Kind, tuple[str, str]] = {
    "synthetic": ("synthetic", "compute_synthetic"),
    "real": ("real", "compute_real"),
    "convergence": ("convergence", "compute_convergence"),
}


@dataclass(frozen=True)
class Cell:
    """One result to be had.

    Attributes
    ----------
    kind : {"synthetic", "real", "convergence"}
    settings : dict
        Everything the result depends on, but for the version of this library. Plain JSON.
    """

    kind: Kind
    settings: Mapping[str, Any]

    @cached_property
    def description(self) -> str:
        """Canonical JSON of all that determines the result."""
        from sparseauc import __version__

        return canonical({"kind": self.kind, "version": __version__, **self.settings})

    @cached_property
    def key(self) -> str:
        """Hash of the description, the key of the store."""
        return hashlib.sha256(self.description.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.key)

    def compute(self) -> dict[str, Any]:
        """Do the work. The result is plain JSON and depends on nothing but the settings."""
        module, function = _COMPUTED_BY[self.kind]
        compute: Callable[[Mapping[str, Any]], dict[str, Any]] = getattr(
            importlib.import_module(f".{module}", __package__), function
        )
        return compute(self.settings)
