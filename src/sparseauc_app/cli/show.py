"""``sparseauc show``: what is in a model file."""

import io
import json
from contextlib import redirect_stdout

import typer

from sparseauc.utils.text import printable

from . import _options as options


def show_command(
    model: options.ModelFile, quiet: options.Quiet = False, as_json: options.Json = False
) -> None:
    """Print the columns, coefficients and AUC of MODEL."""
    from ..model_files import ModelFileError
    from ._listing import print_card, print_notes
    from ._reading import card_of

    card, notes = card_of(model)
    if as_json:
        typer.echo(json.dumps(card.as_dict(), ensure_ascii=False))
        return
    try:
        warnings = [str(warning) for warning in card.summary.get("warnings", ())]
        with redirect_stdout(io.StringIO()):
            print_card(card)
    except Exception as error:
        # A summary can hold anything: it comes from whoever made the file.
        raise ModelFileError(f"{model.name}: its summary is damaged") from error
    if not quiet:
        print_notes(notes, warnings)
        print_card(card)
        typer.echo(f"Fitted by sparseauc {printable(card.version)}; sha256 {card.digest()[:16]}…")
