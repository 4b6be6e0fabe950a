"""Options that several commands have, so that they are called and explained alike."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    pass

READING, CHECKS, OUTPUT = "Reading the table", "Fitting and judging", "Output"


class OnText(StrEnum):
    """What to do with columns of text."""

    refuse = "refuse"
    one_hot = "one-hot"
    auto = "auto"
    drop = "drop"


class OnMissing(StrEnum):
    """What to do with missing values."""

    refuse = "refuse"
    median = "median"
    mean = "mean"
    drop_rows = "drop-rows"
    drop_columns = "drop-columns"


class RuleForK(StrEnum):
    """How the number of columns is chosen."""

    best = "best"
    one_se = "1se"


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        show_default=False,
        help="CSV or TSV (also .gz, .bz2, .xz, .zip, or - for standard input), Excel, Parquet, "
        "Feather, Arrow, LIBSVM, .npz, .mtx or .h5ad.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", show_default=False, rich_help_panel=READING,
        help="Column of the outcome. LIBSVM files need none, nor do .npz files with y.",
    ),
]  # fmt: skip
TargetFile = Annotated[
    Path | None,
    typer.Option(
        show_default=False, rich_help_panel=READING,
        help="File with the outcome of each row, for tables without: a label a line, a table with "
        "the column --target, or .npy.",
    ),
]  # fmt: skip
Positive = Annotated[
    str | None,
    typer.Option(
        show_default=False, rich_help_panel=READING,
        help="Label of the positive class; of two the last is taken. Of three or more, this one is "
        "set against the rest.",
    ),
]  # fmt: skip
Groups = Annotated[
    str | None,
    typer.Option(
        show_default=False, rich_help_panel=READING,
        help="Column that says which rows belong together, such as the visits of a patient. They "
        "stay together in cross-validation.",
    ),
]  # fmt: skip
Ids = Annotated[
    str | None,
    typer.Option(
        show_default=False, rich_help_panel=READING,
        help="Column that names rows; it is not fitted, and scores are listed by it.",
    ),
]  # fmt: skip
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        show_default=False, rich_help_panel=READING, metavar="NAME",
        help="Column to leave out; may be given again.",
    ),
]  # fmt: skip
Text = Annotated[
    OnText,
    typer.Option(
        rich_help_panel=READING,
        help="Columns that are not numbers: one-hot makes a column of each level and refuses text "
        "of more than --max-levels, auto leaves that out, drop leaves out all.",
    ),
]  # fmt: skip
MaxLevels = Annotated[
    int,
    typer.Option(
        min=2, rich_help_panel=READING, help="Most levels of a text column that is made one-hot."
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        show_default=False, rich_help_panel=READING, metavar="NAME",
        help="Column of numbers in which some are written as limits: >5 is read as 5, and text "
        "without a digit as missing. May be given again.",
    ),
]  # fmt: skip
MaxGib = Annotated[
    float,
    typer.Option(
        min=0.0, rich_help_panel=READING,
        help="Most GiB of text to read, unpacked: what is larger may not fit into memory.",
    ),
]  # fmt: skip
Missing = Annotated[
    OnMissing,
    typer.Option(
        rich_help_panel=READING,
        help="Missing values: filled in by what training rows have, or left out with their rows or "
        "columns.",
    ),
]  # fmt: skip
Delimiter = Annotated[
    str | None,
    typer.Option(
        show_default=False, rich_help_panel=READING,
        help="Separator of text files: one character, or 'tab'. Detected by default.",
    ),
]  # fmt: skip
Encoding = Annotated[
    str | None,
    typer.Option(
        show_default=False, rich_help_panel=READING,
        help="Encoding of text files. Detected by default.",
    ),
]  # fmt: skip
Columns = Annotated[
    int | None,
    typer.Option(
        "--columns", "-k", min=1, metavar="N", show_default=False, rich_help_panel=CHECKS,
        help="Number of columns. Without it, cross-validation chooses.",
    ),
]  # fmt: skip
MaxColumns = Annotated[
    int | None,
    typer.Option(
        "--max-k", min=1, metavar="N", show_default=False, rich_help_panel=CHECKS,
        help="Largest number of columns that cross-validation tries. By default 50, and up to 150 "
        "where there are more than 250 rows.",
    ),
]  # fmt: skip
Rule = Annotated[
    RuleForK,
    typer.Option(
        rich_help_panel=CHECKS,
        help="How cross-validation chooses: a list of the best AUC, or the shortest within one "
        "standard error of it.",
    ),
]  # fmt: skip
Alpha = Annotated[
    float | None,
    typer.Option(
        min=0.0, metavar="X", show_default=False, rich_help_panel=CHECKS,
        help="Ridge, on the standardised scale. Without it, cross-validation chooses.",
    ),
]  # fmt: skip
AlwaysInclude = Annotated[
    list[str] | None,
    typer.Option(
        show_default=False, rich_help_panel=CHECKS, metavar="NAME",
        help="Column that must be chosen; may be given again.",
    ),
]  # fmt: skip
Permutations = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", rich_help_panel=CHECKS,
        help="Number of permutations of the outcome, for a p-value. Slow: each refits everything.",
    ),
]  # fmt: skip
Quick = Annotated[
    bool,
    typer.Option(
        "--quick", rich_help_panel=CHECKS,
        help="The list alone, sooner: no nested cross-validation, no stability.",
    ),
]  # fmt: skip
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", rich_help_panel=CHECKS, help="Seed of all folds.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N", show_default=False, rich_help_panel=CHECKS,
        help="Folds computed at the same time; the result does not depend on it.",
    ),
]  # fmt: skip
Force = Annotated[
    bool, typer.Option("--force", rich_help_panel=OUTPUT, help="Replace files that exist.")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Print nothing but errors."),
]
Json = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT, help="Print the result as JSON."),
]
ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", show_default=False, help="File written by sparseauc fit."),
]


def delimiter_of(given: str | None) -> str | None:
    """Return the character that is meant: a tab is hard to type."""
    return "\t" if given in ("tab", "\\t") else given
