"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

reading = partial(typer.Option, rich_help_panel="Reading the table")
fitting = partial(typer.Option, rich_help_panel="Fitting and validation")
output = partial(typer.Option, rich_help_panel="Output")


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
    reading("--target", "-t", help="Outcome column. Not needed for LIBSVM files and .npz files "
        "that hold y."),
]  # fmt: skip
TargetFile = Annotated[
    Path | None,
    reading(help="Separate file with the outcome of each row: one label per line, a table with "
        "the column --target, or .npy."),
]  # fmt: skip
Positive = Annotated[
    str | None,
    reading(help="Label of the positive class (the event). By default the label that sorts last. "
        "With three or more labels it is required, and all others are negative."),
]  # fmt: skip
Groups = Annotated[
    str | None,
    reading(help="Column that marks related rows, such as the visits of a patient. They stay "
        "together in cross-validation."),
]  # fmt: skip
Strata = Annotated[
    str | None,
    reading(help="Column of sites, batches, donors or matched sets. Only rows of the same stratum "
        "are compared, in fitting and in the AUC. The column itself is not fitted."),
]  # fmt: skip
Ids = Annotated[
    str | None,
    reading(help="Column of row identifiers. It is not fitted; scores are listed by it."),
]
Exclude = Annotated[
    list[str] | None, reading(metavar="NAME", help="Column to leave out. Can be repeated.")
]
Text = Annotated[
    OnText,
    reading(metavar="HOW", help="Text columns: one-hot encodes them and refuses those with more "
        "than --max-levels levels, auto drops those instead, drop drops all of them, refuse "
        "refuses all."),
]  # fmt: skip
MaxLevels = Annotated[
    int, reading(min=2, metavar="N", help="Largest number of levels to one-hot encode.")
]
Numeric = Annotated[
    list[str] | None,
    reading(metavar="NAME", help="Numeric column with some values written as limits: >5 is read "
        "as 5, text without a digit as missing. Can be repeated."),
]  # fmt: skip
MaxGib = Annotated[
    float,
    reading(min=0.0, metavar="X", help="Largest text to read, in GiB after unpacking. More may "
        "not fit in memory."),
]  # fmt: skip
Missing = Annotated[
    OnMissing,
    reading(metavar="HOW", help="Missing values: median or mean imputes from the training rows, "
        "drop-rows or drop-columns drops those that have any, refuse refuses."),
]  # fmt: skip
Delimiter = Annotated[
    str | None,
    reading(help="Separator of text files: one character, or 'tab'. Detected by default."),
]
Encoding = Annotated[str | None, reading(help="Encoding of text files. Detected by default.")]
Columns = Annotated[
    int | None,
    fitting("--columns", "-k", min=1, metavar="N", help="Number of columns. Chosen by "
        "cross-validation by default."),
]  # fmt: skip
MaxColumns = Annotated[
    int | None,
    fitting("--max-k", min=1, metavar="N", help="Largest number of columns to try. By default "
        "150, or a fifth of the rows."),
]  # fmt: skip
Rule = Annotated[
    RuleForK,
    fitting(help="The shortest list with an AUC within 0.002 of the highest (best) or within one "
        "standard error of it (1se)."),
]  # fmt: skip
Alpha = Annotated[
    float | None,
    fitting(min=0.0, metavar="X", help="Ridge penalty on standardised columns. Chosen by "
        "cross-validation by default."),
]  # fmt: skip
AlwaysInclude = Annotated[
    list[str] | None,
    fitting(metavar="NAME", help="Column that must be on the list. Can be repeated."),
]
Signs = Annotated[
    list[str] | None,
    fitting(metavar="NAME=+,…|FILE.csv", help="Signs that coefficients must have: +, - or 0 for "
        "any; or a CSV file with columns name and sign. Can be repeated."),
]  # fmt: skip
Costs = Annotated[
    list[str] | None,
    fitting(metavar="FILE.csv|NAME=X,…", help="Costs of the columns: a CSV file with columns "
        "name and cost. Columns with the same text in an optional column bundle are paid for "
        "once."),
]  # fmt: skip
Budget = Annotated[
    float | None,
    fitting(min=0.0, metavar="X", help="Largest total cost of the list; without --costs each "
        "column costs 1. Cross-validation tries smaller budgets too."),
]  # fmt: skip
Families = Annotated[
    list[str] | None,
    fitting(metavar="FILE.csv|NAME=F,…", help="Families of columns, such as the gene of a probe: a "
        "CSV file with columns name and family. A list has few columns of a family."),
]  # fmt: skip
MaxPerFamily = Annotated[
    int,
    fitting(min=1, metavar="N", help="Largest number of columns of a family on the list."),
]  # fmt: skip
Points = Annotated[
    int | None,
    fitting(min=1, metavar="N", help="Whole points from -N to N instead of coefficients, to add "
        "up by hand; also prints the risk by total. Usual: --points 5 -k 5."),
]  # fmt: skip
Cut = Annotated[
    bool,
    reading("--cut", help="Cut numbers at their deciles into columns of 0 and 1, such as age > "
        "60: extreme values count no more than others, and totals of --points are whole numbers."),
]  # fmt: skip
Permutations = Annotated[
    int,
    fitting(min=0, metavar="N", help="Permutations of the outcome for a p-value. Slow: each one "
        "refits everything."),
]  # fmt: skip
Quick = Annotated[
    bool, fitting("--quick", help="Skip nested cross-validation and stability selection.")
]
Seed = Annotated[int, fitting(min=0, metavar="N", help="Random seed.")]
Jobs = Annotated[
    int | None,
    fitting(metavar="N", help="Number of parallel jobs. The result does not depend on it."),
]
Force = Annotated[bool, output("--force", help="Replace files that exist.")]
Quiet = Annotated[bool, output("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, output("--json", help="Print the result as JSON.")]
ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", show_default=False, help="File written by sparseauc fit."),
]


def delimiter_of(given: str | None) -> str | None:
    """Return the character that is meant: a tab is hard to type."""
    return "\t" if given in ("tab", "\\t") else given
