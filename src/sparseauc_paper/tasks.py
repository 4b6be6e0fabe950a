"""The unit of work: everything that determines a result, and the function that computes it."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from .seeds import canonical

Kind = Literal["synthetic", "real", "convergence"]

# Part of every key. Raise it with any change that alters a result but none of its settings.
REVISION = 2


class _Computed(NamedTuple):
    """Where a kind is computed, and what every result of it holds."""

    module: str
    function: str
    fields: tuple[str, ...]


# By name: the modules build tasks themselves, and import this one.
_COMPUTED: Mapping[Kind, _Computed] = {
    "synthetic": _Computed(
        "synthetic", "compute_synthetic",
        ("auc", "auc_cut", "f1", "f1_largest", "jaccard", "jaccard_largest", "columns"),
    ),
    "real": _Computed("real", "compute_real", ("by_k", "best")),
    "convergence": _Computed(
        "convergence", "compute_convergence", ("epochs", "auc", "objective", "step")
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One result to be had.

    Attributes
    ----------
    kind : {"synthetic", "real", "convergence"}
    settings : dict
        Everything the result depends on, but for ``REVISION``. Plain JSON.
    """

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
        return _COMPUTED[self.kind].fields

    def __hash__(self) -> int:
        return hash(self.key)

    def compute(self, device: str | None = None) -> dict[str, Any]:
        """Do the work, where a method can on this device.

        The result is plain JSON and depends on nothing but the settings.
        """
        place = _COMPUTED[self.kind]
        compute: Callable[[Mapping[str, Any]], dict[str, Any]] = getattr(
            importlib.import_module(f".{place.module}", __package__), place.function
        )
        return compute({**self.settings, "device": device})
