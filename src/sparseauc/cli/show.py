"""``sparseauc show``: what is in a model file."""

from __future__ import annotations

import json

import typer

from . import _options as options


def show_command(
    model: options.ModelFile, quiet: options.Quiet = False, as_json: options.Json = False
) -> None:
    """Print the columns of MODEL, their weights, and how well it ranks."""
    from ._listing import print_card, print_notes
    from ._models import card_of

    notes: list[str] = []
    card = card_of(model, notes)
    if as_json:
        typer.echo(json.dumps(card.as_dict(), ensure_ascii=False))
    elif not quiet:
        print_notes(notes, card.summary.get("warnings", ()))
        print_card(card)
        typer.echo(f"Fitted by sparseauc {card.version}; sha256 {card.digest()[:16]}…")
