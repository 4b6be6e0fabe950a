"""``sparseauc predict``: scores of new rows by a model file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from ..reading import Source
    from ..scorecard import ScoreCard


def _threshold_of(card: ScoreCard, risk: float | None) -> float:
    """Score above which rows are labelled positive."""
    if risk is None:
        return card.threshold
    if card.times is not None:
        raise typer.BadParameter(
            "--risk: the model ranks rows by the time to their event and has no labels"
        )
    if not 0 < risk < 1:
        raise typer.BadParameter(f"--risk must be between 0 and 1, got {risk:g}")
    if card.risk_map is None:
        raise typer.BadParameter("--risk: the model has no risks")
    return card.risk_map.score_of(risk)


@options.grouped
def predict_command(
    *,
    model: options.ModelFile,
    table: options.TableFile,
    out: Annotated[
        Path | None,
        options.output(
            "--out",
            "-o",
            help="File to write: .csv, .tsv, .xlsx or .parquet. By default CSV is printed.",
        ),
    ] = None,
    risk: Annotated[
        float | None,
        options.output(
            metavar="P",
            help="Label rows with a higher risk as positive, such as 0.1, or that of a threshold "
            "which sparseauc show prints. By default the share of positives in training.",
        ),
    ] = None,
    text_file: options.TextFile,
    force: options.Force = False,
) -> None:
    """Score the rows of TABLE: score in log odds (or total of points), risk and label.

    Of a model of times to event: score in logarithms of hazard ratios, and risk until
    its horizon. Columns are found by name, in any order. Columns that the model does
    not use are ignored.
    """
    from .output import check_outputs, check_suffix, finish, progress

    check_outputs(out, force=force, inputs=(model, table))
    check_suffix(out, "--out", (".csv", ".tsv", ".parquet", ".pq", ".xlsx"))
    with progress(f"Reading {table.name}"):
        import numpy as np
        import pandas as pd

        from ..model_files import load_model
        from ..reading.scoring import score_rows

        card = load_model(model)
        source = text_file.read_new_rows(table, card)
        found = score_rows(source, card)
        scores = found.scores
        cut = _threshold_of(card, risk)
        name, rows = _row_names(source, card)
        frame = pd.DataFrame({name: rows, card.score_name: scores})
        if card.risk_map is not None:
            frame["risk"] = card.probabilities(scores)
        if card.times is None:
            labels = np.where(scores > cut, card.positive, card.negative)
            frame["label"] = pd.Series(labels, dtype=object).mask(
                np.isnan(scores), None
            )
    content = _format_scores(frame, ".csv" if out is None else out.suffix.lower())
    notes = [*source.notes, *found.notes]
    warnings = [*found.warnings, *_warn_of_gaps(scores)]

    def show() -> None:
        if out is None:
            typer.echo(content.decode(), nl=False)

    finish({} if out is None else {out: content}, None, notes, warnings, show)


def _warn_of_gaps(scores: npt.NDArray[np.float64]) -> list[str]:
    import numpy as np

    lacking = np.flatnonzero(np.isnan(scores))
    if not lacking.size:
        return []
    return [
        f"{lacking.size} of {scores.size} rows, the first is row {lacking[0] + 1}, have no score: "
        "they lack values, and the model was fitted without imputation (fit --missing median "
        "imputes)"
    ]


def _row_names(source: Source, card: ScoreCard) -> tuple[str, list[Any]]:
    """Return what identifies each row, and the name of its column: that of the fit, or "row"."""
    from ..reading.columns import labels_as_text, texts

    column = card.summary.get("ids")
    if isinstance(column, str) and column in source.names:
        taken = column in ("score", "total", "risk", "label")
        names_of_rows = texts(source.column(column), strip=False)
        return "row" if taken else column, names_of_rows.tolist()
    if source.row_ids is not None:
        return "row", labels_as_text(source.row_ids.tolist(), strip=False).tolist()
    return "row", list(range(1, source.n_rows + 1))


def _format_scores(frame: pd.DataFrame, suffix: str) -> bytes:
    """Return the contents of a file of scores."""
    from ..formatting import for_spreadsheets

    content = io.BytesIO()
    if suffix in (".parquet", ".pq"):
        frame.to_parquet(content, index=False)
    elif suffix == ".xlsx":
        for_spreadsheets(frame).to_excel(content, sheet_name="scores", index=False)
    else:
        delimiter = "\t" if suffix == ".tsv" else ","
        for_spreadsheets(frame).to_csv(
            content, sep=delimiter, index=False, lineterminator="\n"
        )
    return content.getvalue()
