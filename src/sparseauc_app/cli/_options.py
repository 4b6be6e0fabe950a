"""Options that several commands share, in groups; those of reading a table read it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from sparseauc.limits import Limits

    from ..reading import Source, Table
    from ..scorecard import ScoreCard

reading = partial(typer.Option, rich_help_panel="Reading the table")
fitting = partial(typer.Option, rich_help_panel="Fitting and validation")
output = partial(typer.Option, rich_help_panel="Output")


# What --format says of a text file.
_FORMAT = ("delimiter", "encoding", "sheet", "decimal")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of each parameter that is a dataclass as options of their own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {
        name: kind for name, kind in hints.items() if is_dataclass(kind)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                parameter.kind,
                default=field.default,
                annotation=types[field.name],
            )
            for field in fields(groups[name])
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(
                **{field.name: given.pop(field.name) for field in fields(kind)}
            )
        command(**given)

    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def given(group: Any) -> dict[str, Any]:
    """Return the options of a group that have a value."""
    return {name: value for name, value in vars(group).items() if value is not None}


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        show_default=False,
        help="CSV or TSV (also .gz, .bz2, .xz, .zip, or - for standard input), Excel, Parquet, "
        "Feather, Arrow, Stata, SAS or SPSS.",
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", show_default=False, help="File written by sparseauc fit."
    ),
]
Force = Annotated[bool, output("--force", help="Replace files that exist.")]
Json = Annotated[bool, output("--json", help="Print the result as JSON.")]


@dataclass(frozen=True)
class Training:
    """Options of reading a training table."""

    target: Annotated[
        str | None,
        reading(
            "--target",
            "--event",
            "-t",
            metavar="NAME",
            help="Outcome column; with --time, the column that says which rows had the event.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        reading(
            "--positive",
            "--event-value",
            metavar="LABEL",
            help="Label of the positive class "
            "(the event). By default the label that sorts last, unless it is a word such as "
            "control or no. With three or more labels it is required, and all others are negative "
            "(with --time: censored).",
        ),
    ] = None
    negative: Annotated[
        str | None,
        reading(
            help="Label of the negative class. Rows with other labels are left out."
        ),
    ] = None
    time: Annotated[
        str | None,
        reading(
            metavar="NAME",
            help="Column of the time of the event, or until which a row is "
            "known to have been without it (censored): rank rows by the time to their event.",
        ),
    ] = None
    horizon: Annotated[
        str | None,
        reading(
            metavar="T|within:T",
            help="Time until which risks are given, such as 365; by "
            "default that by which 80 % of the events have happened. within:365 asks a binary "
            "question instead: does the event come until then? Rows censored before stand aside, "
            "and others count for them (inverse censoring weights).",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        reading(metavar="NAME", help="Column to leave out. Can be repeated."),
    ] = None
    groups: Annotated[
        str | None,
        reading(
            help="Column that marks related rows, such as the visits of a patient. They stay "
            "together in cross-validation."
        ),
    ] = None
    strata: Annotated[
        str | None,
        reading(
            help="Column of sites, batches, donors or matched sets. Only rows of the same "
            "stratum are compared, in fitting and in the AUC. The column itself is not fitted."
        ),
    ] = None
    weights: Annotated[
        str | None,
        reading(
            metavar="NAME",
            help="Column that says what each row counts, such as sampling "
            "weights: in fitting, validation and the AUC.",
        ),
    ] = None
    text: Annotated[
        str,
        reading(
            metavar="HOW",
            help="Text columns: auto chooses each with all its levels or not at "
            "all, as one column, and leaves out dates and text with more than 20 levels (auto:30 "
            "for 30); drop leaves out all text.",
        ),
    ] = "auto"
    numeric: Annotated[
        list[str] | None,
        reading(
            metavar="NAME",
            help="Numeric column with some values written as limits: >5 is "
            "read as 5, text without a digit as missing. Can be repeated.",
        ),
    ] = None
    missing: Annotated[
        Literal["refuse", "median", "drop-rows"],
        reading(
            metavar="HOW",
            help="Missing values: with median a missing number counts as the median of the "
            "training rows, and missing text as a level; drop-rows drops rows that have any, "
            "refuse refuses.",
        ),
    ] = "refuse"
    missing_codes: Annotated[
        str | None,
        reading(
            "--missing-codes",
            metavar="CODES",
            help="Values that mean missing, such as -9,99: they are read as empty, here and in new "
            "rows of the model.",
        ),
    ] = None

    def read(
        self,
        path: Path,
        text_file: TextFile,
        *,
        ids: str | None = None,
        limits: Limits | None = None,
    ) -> Table:
        """Read a training table for a list with some limits."""
        from ..reading import Rules, training_table

        rules = Rules(ids=ids, **self._as_rules())
        if limits is not None:
            keep = tuple(str(name) for name in limits.always_include or ())
            rules = replace(rules, keep=keep)
        return training_table(text_file.read(path, rules.written, ids), rules)

    def _as_rules(self) -> dict[str, Any]:
        how, colon, most = self.text.partition(":")
        if how not in ("auto", "drop") or (
            colon and not (most.isdigit() and int(most) >= 2)
        ):
            raise typer.BadParameter(
                f"--text takes auto, drop, or auto:N for up to N levels, got {self.text!r}"
            )
        found = (
            given(self) | {"text": how} | ({"max_levels": int(most)} if colon else {})
        )
        codes = map(str.strip, (self.missing_codes or "").split(","))
        return found | {"missing_codes": tuple(filter(None, codes))} | self._horizon()

    def _horizon(self) -> dict[str, Any]:
        """Return the horizon, and whether it is that of a binary question."""
        if self.horizon is None:
            return {}
        within, colon, number = self.horizon.rpartition(":")
        try:
            horizon = float(number)
        except ValueError:
            horizon = 0.0
        if within not in ("", "within")[: 1 + bool(colon)] or not 0 < horizon < float(
            "inf"
        ):
            raise typer.BadParameter(
                f"--horizon is a number above 0, or within:365 for a binary question, not "
                f"{self.horizon!r}"
            )
        return {"horizon": horizon, "within": bool(within)}


@dataclass(frozen=True)
class TextFile:
    """Options of reading a file, where that is not found out."""

    format: Annotated[
        list[str] | None,
        reading(
            "--format",
            metavar="NAME=VALUE",
            help="How a file is written, where that is "
            "not detected: delimiter (one character, or tab), encoding, decimal (point or comma; "
            "the other sign stands between thousands), and sheet (of an Excel file). Can be "
            "repeated.",
        ),
    ] = None
    labels: Annotated[
        Path | None,
        reading(
            metavar="FILE",
            help="A second table, with the outcome or what else is known of each row, joined by "
            "name. If its names are those of columns of TABLE, as of samples where genes are in "
            "rows, TABLE is turned.",
        ),
    ] = None

    def read(
        self,
        path: Path,
        as_text: Collection[str],
        ids: str | None,
        columns: Collection[str] = (),
    ) -> Source:
        """Read a file as a table of rows, with labels joined; such ``columns`` may be its rows."""
        from ..reading import read_source
        from ..reading.arrange import join_labels, turn

        how = self._as_arguments()
        source = read_source(path, as_text=as_text, ids=ids, **how)
        if columns:
            source = turn(source, columns)
        if self.labels is not None:
            labels = read_source(self.labels, as_text=as_text, ids=ids, **how)
            source = join_labels(source, labels)
        return source

    def read_new_rows(
        self, path: Path, card: ScoreCard, labels: Collection[str | None] = ()
    ) -> Source:
        """Read new rows for a model: columns by the types on the card, ids as they are written.

        ``labels`` are further columns that are read as text.
        """
        from ..reading.arrange import empty_codes
        from ..reading.scoring import written_columns

        ids = card.summary.get("ids")
        labels = (card.target, card.within, *labels)
        as_text = written_columns(card) | {name for name in labels if name}
        ids = ids if isinstance(ids, str) and ids not in as_text else None
        source = self.read(path, as_text, ids, {term.column for term in card.terms})
        codes = card.summary.get("missing_codes")
        return empty_codes(
            source, list(map(str, codes)) if isinstance(codes, list) else (), ids
        )

    def _as_arguments(self) -> dict[str, Any]:
        given = read_assignments(self.format or (), "--format", _FORMAT)
        decimal = given.get("decimal")
        if decimal not in (None, "point", "comma"):
            raise typer.BadParameter(
                f"--format: decimal is point or comma, not {decimal!r}"
            )
        delimiter = given.get("delimiter")
        return {
            # A tab is hard to type.
            "delimiter": "\t" if delimiter in ("tab", "\\t") else delimiter,
            "encoding": given.get("encoding"),
            "sheet": given.get("sheet"),
            "decimal": {"point": ".", "comma": ","}.get(decimal or ""),
        }


def read_assignments(
    given: Sequence[str], option: str, names: Sequence[str]
) -> dict[str, str]:
    """Return values by name, of texts such as "delimiter=;"."""
    values: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or name not in names:
            raise typer.BadParameter(
                f"{option}: {text!r} is not NAME=VALUE with NAME one of {', '.join(names)}"
            )
        if name in values:
            raise typer.BadParameter(f"{option}: {name} is given twice")
        values[name] = value
    return values
