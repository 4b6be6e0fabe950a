"""``sparseauc predict``: scores of new rows by a model file."""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import _options as options

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..reading import Source
    from ..scorecard import ScoreCard


@options.grouped
def predict_command(
    *,
    model: options.ModelFile,
    table: options.TableFile,
    out: Annotated[
        Path | None,
        options.output(
            "--out", "-o", help="File to write: .csv, .tsv or .parquet. By default CSV is printed."
        ),
    ] = None,
    ids: options.Ids = None,
    missing: Annotated[
        Literal["refuse", "empty"],
        options.reading(
            help="Rows with missing values, for a model fitted without imputation: empty leaves "
            "their scores empty."
        ),
    ] = "refuse",
    threshold: Annotated[
        float | None,
        options.output(
            metavar="X", help="Predict rows with a higher score as positive. 0 by default."
        ),
    ] = None,
    sensitivity: Annotated[
        float | None,
        options.output(
            metavar="X",
            help="Use the threshold that reached this sensitivity (0.9 or 0.95) in nested "
            "cross-validation.",
        ),
    ] = None,
    probabilities: Annotated[
        bool,
        options.output(
            "--probabilities",
            help="Add the probability of being positive, for rows with the prevalence of the "
            "training rows.",
        ),
    ] = False,
    labels: options.NewLabels,
    text_file: options.TextFile,
    output: options.Output,
) -> None:
    """Score the rows of TABLE. Rows with a score above 0 are predicted positive.

    Columns are found by name, in any order. Columns that the model does not use are ignored.
    """
    from ._listing import print_result
    from ._output import check_outputs, check_suffix, write_outputs
    from ._progress import progress

    check_outputs(out, force=output.force, inputs=(model, table))
    check_suffix(out, "--out", (".csv", ".tsv", ".parquet", ".pq"))
    with progress(output.quiet, f"Reading {table.name}"):
        import numpy as np

        from ..formatting import auc_text
        from ..reading import DataError
        from ..reading.scoring import score_rows
        from ._reading import card_of, read_new_rows

        card, notes = card_of(model)
        source = read_new_rows(table, card, text_file, ids=ids)
        found = score_rows(source, card)
        scores = found.scores
        lacking = np.flatnonzero(np.isnan(scores))
        if lacking.size and missing == "refuse":
            raise DataError(
                f"{source.name}: {lacking.size} of {scores.size} rows, the first is row "
                f"{lacking[0] + 1}, have missing values, and the model was fitted without "
                "imputation. --missing empty leaves their scores empty; fit with --missing median "
                "imputes them"
            )
        cut = _choose_threshold(card, threshold, sensitivity)
        name, rows = _row_names(source, card, ids)
        predicted = np.where(scores > cut, card.positive, card.negative)
        columns = {
            name: rows,
            "score": _with_gaps(scores, scores),
            "prediction": _with_gaps(predicted, scores),
        }
        if probabilities and card.calibration is None:
            raise typer.BadParameter(
                "--probabilities: the model was fitted without cross-validation and has no "
                "probabilities"
            )
        if probabilities:
            columns["probability"] = _with_gaps(card.probabilities(scores), scores)
        known, left_out = _auc_if_known(source, card, scores, labels)
    kind = ".csv" if out is None else out.suffix.lower()
    written = write_outputs({} if out is None else {out: _format_scores(columns, kind)})

    notes += [*source.notes, *found.notes, *left_out]
    content = {"rows": scores.size, "auc": known, "notes": [*notes], "warnings": found.warnings}
    if out is None:
        names = {"score": "scores", "probability": "probabilities"}
        content |= {names[key]: columns[key] for key in names if key in columns}
        if not output.as_json:
            typer.echo(_format_scores(columns, kind).decode(), nl=False)
    if known is not None:
        within = f" within {known['within']!r}" if "within" in known else ""
        notes.append(
            f"{source.name} has {card.target!r}: AUC{within} {auc_text(known, long=True)}; "
            "optimistic if these are training rows"
        )
    print_result(output, content, written, notes, found.warnings)


def _choose_threshold(card: ScoreCard, threshold: float | None, sensitivity: float | None) -> float:
    """Score above which rows are predicted positive."""
    from ..model_files import ModelFileError

    if threshold is not None and sensitivity is not None:
        raise typer.BadParameter("give --threshold or --sensitivity, not both")
    if threshold is not None and not abs(threshold) < float("inf"):
        raise typer.BadParameter(f"--threshold must be a finite number, got {threshold}")
    if sensitivity is None:
        return 0.0 if threshold is None else threshold
    try:
        known = card.thresholds
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError("the model's operating points are damaged") from error
    name = f"sensitivity {100 * sensitivity:g} %"
    if name not in known:
        there = [one for one in known if one.startswith("sensitivity")]
        raise typer.BadParameter(
            f"--sensitivity {sensitivity:g}: the model has thresholds for {', '.join(there)}"
            if there
            else "--sensitivity: the model was fitted without nested cross-validation and has no "
            "such threshold; give --threshold"
        )
    return known[name]


def _row_names(source: Source, card: ScoreCard, ids: str | None) -> tuple[str, list[Any]]:
    """What identifies each row, and the name of its column."""
    from ..reading.columns import labels_as_text, texts
    from ..reading.source import unknown_column_error

    names = source.frame.column_names
    if ids is not None and ids not in names:
        raise unknown_column_error(ids, names, f"{source.name}, --ids")
    remembered = card.summary.get("ids")
    column = ids or (remembered if remembered in names else None)
    if column is not None:
        taken = column in ("score", "prediction", "probability")
        names_of_rows = texts(source.frame.column(column), strip=False)
        return "row" if taken else column, names_of_rows.tolist()
    if source.row_ids is not None:
        return "row", labels_as_text(source.row_ids.tolist(), strip=False).tolist()
    return "row", list(range(1, source.n_rows + 1))


def _with_gaps(values: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> list[Any]:
    """The values of rows that have a score, None for the others."""
    import numpy as np

    lacking = np.isnan(scores).tolist()
    return [None if gap else value for value, gap in zip(values.tolist(), lacking, strict=True)]


def _format_scores(columns: dict[str, list[Any]], suffix: str) -> bytes:
    """Return the contents of a file of scores."""
    if suffix in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer)
        return buffer.getvalue()
    from ._output import csv_bytes

    lines = zip(*columns.values(), strict=True)
    return csv_bytes([columns, *lines], "\t" if suffix == ".tsv" else ",")


def _auc_if_known(
    source: Source, card: ScoreCard, scores: npt.NDArray[np.float64], labels: options.NewLabels
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """AUC with its interval where the new rows have the outcome, and notes on rows left out."""
    from ..reading.labels import known_outcome

    outcome = known_outcome(source, card, scores, labels.positive, labels.negative)
    if outcome is None:
        return None, ()
    positive = outcome.positive
    if min(positive.sum(), (~positive).sum()) < 2:
        return None, ()
    from ..validation import judge_ranking

    interval, within = judge_ranking(card, source, outcome.judged, positive, scores[outcome.judged])
    return asdict(interval) | ({} if within is None else {"within": within}), outcome.notes
