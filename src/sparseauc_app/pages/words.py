"""Sentences of the reports: templates in which every block is a text with a name."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..formatting import auc_text, count, percent
from ..templates import make_environment

if TYPE_CHECKING:
    from jinja2 import Environment


class Words:
    """The texts of one template file, called by the name of their block.

    Facts are filled in; lines are joined, and a blank line begins a new paragraph. Texts that a
    file has not are those of ``otherwise``.
    """

    def __init__(self, name: str, otherwise: Words | None = None) -> None:
        self._name = name
        self._otherwise = otherwise

    def __call__(self, block: str, **facts: Any) -> str:
        """Write a text; empty if the template has no such block."""
        template = _environment().get_template(self._name)
        if block not in template.blocks:
            return "" if self._otherwise is None else self._otherwise(block, **facts)
        text = "".join(template.blocks[block](template.new_context(facts)))
        parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
        return "\n\n".join(part for part in parts if part)


@cache
def _environment() -> Environment:
    environment = make_environment("sparseauc_app.pages", escape=False)
    environment.filters |= {
        "count": count,
        "percent": percent,
        "auc": auc_text,
        "g": lambda number: f"{number:g}".replace("-", "−"),
        "fixed": lambda number, digits=2: f"{number:.{digits}f}".replace("-", "−"),
        "signed": lambda number, digits=3: f"{number:+.{digits}f}".replace("-", "−"),
        "names": lambda names: ", ".join(map(str, names)),
        "quoted": lambda names: ", ".join(repr(str(name)) for name in names),
    }
    return environment
