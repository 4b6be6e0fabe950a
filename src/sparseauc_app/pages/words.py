"""Sentences of the reports: templates in which every block is a text with a name."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..formatting import auc_text, calibration_text, count, make_environment

if TYPE_CHECKING:
    from jinja2 import Environment


class Words:
    """The texts of template files, called by the name of their block: the first that has it.

    Facts are filled in; lines are joined, and a blank line begins a new paragraph.
    """

    def __init__(self, *names: str, **facts: Any) -> None:
        self._templates = [_environment().get_template(name) for name in names]
        self._facts = facts

    def __call__(self, block: str, **facts: Any) -> str:
        """Write a text with further facts."""
        template = next(one for one in self._templates if block in one.blocks)
        text = "".join(template.blocks[block](template.new_context({**self._facts, **facts})))
        parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
        return "\n\n".join(part for part in parts if part)


def write_lines(block: str, **facts: Any) -> list[str]:
    """Write a text line by line."""
    template = _environment().get_template("lines.j2")
    text = "".join(template.blocks[block](template.new_context(facts)))
    return [line for line in text.split("\n") if line]


@cache
def _environment() -> Environment:
    environment = make_environment("sparseauc_app.pages", escape=False)
    environment.finalize = _on_one_line
    environment.filters |= {
        "count": count,
        "calibration": calibration_text,
        "auc": auc_text,
        "repr": repr,
        "g": lambda number: f"{number:g}".replace("-", "−"),
        "fixed": lambda number, digits=2: f"{number:.{digits}f}".replace("-", "−"),
        "signed": lambda number, digits=3: f"{number:+.{digits}f}".replace("-", "−"),
        "names": lambda names: ", ".join(map(str, names)),
        "quoted": lambda names: ", ".join(repr(str(name)) for name in names),
    }
    return environment


def _on_one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value
