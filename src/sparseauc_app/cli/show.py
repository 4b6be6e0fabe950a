"""``sparseauc show``: what is in a model file."""

import io
from contextlib import redirect_stdout

import typer

from sparseauc.utils.text import printable

from . import _options as options


def show_command(model: options.ModelFile) -> None:
    """Print the columns, coefficients and AUC of MODEL. The file itself is JSON."""
    from ..model_files import ModelFileError, load_model
    from ._listing import print_card, print_notes

    card = load_model(model)
    try:
        warnings = [str(warning) for warning in card.summary.get("warnings", ())]
        with redirect_stdout(io.StringIO()):
            print_card(card)
    except Exception as error:
        # A summary can hold anything: it comes from whoever made the file.
        raise ModelFileError(f"{model.name}: its summary is damaged") from error
    print_notes((), warnings)
    print_card(card)
    typer.echo(f"Fitted by sparseauc {printable(card.version)}")
