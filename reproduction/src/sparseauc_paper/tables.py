"""Tables I to V beside the printed numbers, the agreement with print, times, and single values."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from . import plan, printed
from .estimates import (
    Mean,
    Values,
    difference_in_errors,
    difference_of,
    mean_of,
)
from .marker_genes import DatasetName, markers_of
from .methods import METHODS, PAPER_METHODS
from .page import NOTHING, Table, escaped, fixed, listing, markdown_line
from .plan import Request
from .protocols import PROTOCOLS
from .results import Results, simulated
from .tuning import N_FOLDS

# A difference of more standard errors than this is pointed out.
FAR = 2.0
PROTOCOL_WORDS = {
    "corrected": "the corrected protocol (stratified nested cross-validation, nothing learned from "
    "test rows, exactly k columns, simulated columns with random signs)",
    "published": "the published protocol (as in the authors' programs, errors included)",
}
# The second arm of the corrected protocol: the simulation as the paper has it.
ONE_SIDED = "SOLAM, all shifts positive"
ABOUT_ARMS = (
    "The columns of the simulation have random signs. In the paper all shifts are positive, and "
    "SOLAM alone does not start at 0 but at R/√d in every column, which tells it their sign; the "
    f"row “{ONE_SIDED}” shows what that is worth. All others start at 0 and do the same "
    "whatever the signs, to the last bit: one arm is both."
)
_ABOUT_DIFFERENCES = (
    "Differences from print that rest on fewer than ten values are not given. The others are "
    "Student's t, as the normal deviate of the same probability, with an error no smaller than the "
    "printed deviation makes it: few draws that happen to agree are not taken for certainty."
)


class Cell(NamedTuple):
    """A measured mean, and the printed one where there is one."""

    method: str  # as shown
    in_paper: bool
    group: str  # block of the table
    column: str
    mine: Mean
    theirs: Mean | None = None

    @property
    def difference(self) -> float:
        """From print, in standard errors."""
        return (
            nan if self.theirs is None else difference_in_errors(self.mine, self.theirs)
        )


def comparison(name: str, title: str, caption: str, cells: Sequence[Cell]) -> Table:
    """Make a table of means beside printed ones: a block for each group, a row for each method."""
    columns = list(dict.fromkeys(cell.column for cell in cells))
    has_printed = any(cell.theirs for cell in cells)
    lines = []
    for group in dict.fromkeys(cell.group for cell in cells):
        block = [cell for cell in cells if cell.group == group]
        lines.append(markdown_line([group, *columns]))
        lines.append(markdown_line([":---", *["---:"] * len(columns)], raw=True))
        for method, in_paper in dict.fromkeys(
            (cell.method, cell.in_paper) for cell in block
        ):
            texts = {
                cell.column: _cell_text(cell, block, has_printed)
                for cell in block
                if cell.method == method
            }
            label = escaped(method) + " *(not in the paper)*" * (not in_paper)
            row = [texts.get(column, NOTHING) for column in columns]
            lines.append(markdown_line([label, *row], raw=True))
        lines.append("")
    key = (
        "Mean ± standard error; ★ marks the best mean of each column, of those with the most "
        "values."
    )
    if has_printed:
        key += (
            " Beneath: the printed value, in brackets its standard deviation over values (sd, not "
            "a standard error), ☆ where it is the best; and our mean minus it in standard errors "
            f"(SE) of the difference, in italics beyond ±{FAR:g}."
        )
    if any(cell.mine.failed for cell in cells):
        key += " Values that ended in an error are counted and left out of the mean."
    return Table(
        name, title, caption, pd.DataFrame(map(_as_line, cells)), [*lines, key]
    )


def _as_line(cell: Cell) -> dict[str, Any]:
    """All that is known of a cell, for the file of numbers."""
    line = {
        name: getattr(cell, name) for name in ("method", "in_paper", "group", "column")
    }
    line |= {
        name: getattr(cell.mine, name) for name in ("mean", "se", "std", "n", "failed")
    }
    theirs = cell.theirs or mean_of({})
    return line | {
        "printed": theirs.mean,
        "printed_std": theirs.std,
        "difference": cell.difference,
    }


def _cell_text(cell: Cell, block: Sequence[Cell], has_printed: bool) -> str:
    mine, theirs = cell.mine, cell.theirs
    column = [other for other in block if other.column == cell.column]
    # A mean over fewer values is of other data: it cannot be called the best.
    most = max(other.mine.n + other.mine.failed for other in column)
    means = [
        o.mine.mean for o in column if o.mine.n and o.mine.n + o.mine.failed == most
    ]
    mean = fixed(mine.mean, 3) or NOTHING
    if mine.n and not isnan(mine.se):
        mean += f" ± {fixed(mine.se, 3)}"
    is_best = mine.n and mine.n + mine.failed == most and mine.mean == max(means)
    parts = [f"**★ {mean}**" if is_best else mean]
    if theirs is not None:
        best = theirs.mean == max(other.theirs.mean for other in column if other.theirs)
        parts.append(f"printed {theirs.mean:.3f} (sd {theirs.std:.3f})" + " ☆" * best)
    elif has_printed and cell.in_paper:
        parts.append("not printed")
    if not isnan(cell.difference):
        far = f"{fixed(cell.difference, 1, sign=True)} SE"
        parts.append(f"*{far}*" if abs(cell.difference) > FAR else far)
    if mine.failed:
        parts.append(f"{mine.failed} of {mine.failed + mine.n} failed")
    return "<br>".join(parts)


def cells_of(
    values: Values,
    group: str,
    table: printed.Table,
    columns: Mapping[str, str],
    *,
    name: str | None = None,
    by_trial: bool = False,
) -> list[Cell]:
    """Cells of a block; ``columns`` names them as the report does, ``name`` its only row."""
    return [
        Cell(
            name or METHODS[key].name,
            METHODS[key].in_paper and name is None,
            group,
            columns[column],
            mean_of(sample, by_trial=by_trial),
            table.get(key, {}).get(column),
        )
        for (key, column), sample in values.items()
    ]


def table1(results: Results, protocol: str) -> Table:
    """Table I under a protocol, beside the printed numbers."""
    return comparison(
        name_of("table1", results, protocol),
        f"Table I, {protocol} protocol",
        f"Test AUC at {plan.TABLE_RATIO:.0%} positives under {PROTOCOL_WORDS[protocol]}; "
        f"{_draws(results)}. {_arms(protocol)}{_ABOUT_DIFFERENCES}",
        _simulated_cells(results, protocol, "test AUC", "auc", printed.AUC),
    )


def table2(results: Results, protocol: str, *, given: bool = False) -> Table:
    """Table II under a protocol: were the shifted columns found, with k tuned or k* given?"""
    if PROTOCOLS[protocol].absolute_cut:
        which = ""
        about = (
            "As in the programs, the hard-thresholding methods tune k, and of the convex "
            "methods, whose answers are dense, all columns with a coefficient of at least "
            "0.001 count"
        )
    elif given:
        which = ", k* given to every method"
        about = (
            "Every method is given the true number k* of columns and tunes the rest: the "
            "hard-thresholding methods keep k* columns, of dense answers the k* largest count"
        )
    else:
        which = ", k tuned by every method"
        about = (
            "No method is given k*. Each tunes its number of columns over the same values, by "
            "validation AUC: of dense answers the k largest count"
        )
    how = " given" if given else ""
    return comparison(
        name_of("table2", results, protocol) + "-given" * given,
        f"Table II, {protocol} protocol{which}",
        "Agreement of the columns chosen with the k* shifted ones, under "
        f"{PROTOCOL_WORDS[protocol]}; {_draws(results)}. {about}. {_arms(protocol)}"
        f"{_ABOUT_DIFFERENCES}",
        [
            *_simulated_cells(results, protocol, "F1", f"f1{how}", printed.F1),
            *_simulated_cells(
                results, protocol, "Jaccard", f"jaccard{how}", printed.JACCARD
            ),
        ],
    )


def _simulated_cells(
    results: Results, protocol: str, group: str, measure: str, table: printed.Table
) -> list[Cell]:
    columns = {str(k): f"k* = {k}" for k in results.request.preset.sparsities}
    cells = cells_of(results.table(protocol, measure), group, table, columns)
    if protocol == "corrected":
        values = simulated(results.one_sided, PROTOCOLS[protocol], measure)
        cells += cells_of(values, group, {}, columns, name=ONE_SIDED)
    return cells


def _arms(protocol: str) -> str:
    return f"{ABOUT_ARMS} " if protocol == "corrected" else ""


def table3(results: Results, protocol: str) -> Table:
    """Table III under a protocol."""
    chosen = (
        "k of the hard-thresholding methods is the one with the best mean test AUC, as there"
        if PROTOCOLS[protocol].best_k_on_test
        else "k is tuned on training rows like everything else"
    )
    return comparison(
        name_of("table3", results, protocol),
        f"Table III, {protocol} protocol",
        f"Test AUC on the gene data under {PROTOCOL_WORDS[protocol]}; {chosen}; "
        f"{trials_of(results.request)}. The same patients are split again and again: standard "
        "errors are those of the mean over such splits of these patients, and say nothing about "
        f"others. {_ABOUT_DIFFERENCES}",
        cells_of(
            results.genes[protocol].tuned,
            "test AUC",
            printed.GENE_AUC,
            {name: name for name in results.request.datasets},
            by_trial=PROTOCOLS[protocol].hold_out_fifty,
        ),
    )


def _draws(results: Results) -> str:
    return extent_of(
        results.request.preset.trials, results.request.preset.folds, "draw"
    )


def trials_of(request: Request) -> str:
    """Say how many trials there are on the genes."""
    return extent_of(request.preset.real_trials, N_FOLDS, "trial")


def extent_of(trials: int, folds: int, what: str) -> str:
    """Say how many draws or trials there are, and test parts of each."""
    several = f"{trials} {what}{'s' if trials != 1 else ''}"
    return (
        f"{several}, one test part each"
        if folds == 1
        else f"{several} of {folds} test parts"
    )


def name_of(stem: str, results: Results, protocol: str) -> str:
    """Name of a table or figure; that of the protocol which was not chosen says so."""
    return stem if protocol == results.request.protocol else f"{stem}-{protocol}"


def marker_table(dataset: DatasetName) -> Table:
    """Table IV or V: the markers of a data set with their columns, in both readings of it."""
    name, title = {
        "leukemia": ("table4", "Table IV: markers of leukemia"),
        "colon": ("table5", "Table V: markers of colon cancer"),
    }[dataset]
    readings = [markers_of(dataset, reading) for reading in ("corrected", "published")]
    lines = [
        {
            "marker": mended.marker_id,
            "name": mended.name,
            "columns": _numbers(mended.columns),
            "columns of the published programs": "the same"
            if mended.columns == theirs.columns
            else _numbers(theirs.columns),
        }
        for mended, theirs in zip(*readings, strict=True)
    ]
    totals = [
        len({c for marker in reading for c in marker.columns}) for reading in readings
    ]
    return listing(
        name,
        title,
        f"{len(lines)} markers; {totals[0]} columns measure them. The published programs count "
        f"{totals[1]}. Columns are numbered from 0.",
        lines,
        aside=True,
    )


def _numbers(columns: tuple[int, ...]) -> str:
    return ", ".join(map(str, columns)) or "none"


# ------------------------------------------------------------------------- agreement
# with print


def compared_cells(results: Results, protocol: str) -> list[Cell]:
    """All printed numbers that we have a number for under a protocol; a group for each table."""
    cells = []
    for name, (measure, table) in zip(
        printed.NAMES, printed.TABLES.items(), strict=True
    ):
        genes = measure == "gene_auc"
        values = (
            results.genes[protocol].tuned if genes else results.table(protocol, measure)
        )
        columns = {column: column for column in table["sht-auc"]}
        known = {
            place: sample for place, sample in values.items() if place[1] in columns
        }
        by_trial = genes and PROTOCOLS[protocol].hold_out_fifty
        cells += cells_of(known, name, table, columns, by_trial=by_trial)
    return [cell for cell in cells if cell.theirs and cell.mine.n]


def _beyond(cells: Iterable[Cell]) -> int:
    return sum(abs(cell.difference) > FAR for cell in cells)


def _correlation(cells: Sequence[Cell]) -> float:
    ours = [cell.mine.mean for cell in cells]
    theirs = [cell.theirs.mean for cell in cells if cell.theirs]
    varies = len(cells) > 1 and min(np.ptp(ours), np.ptp(theirs)) > 0
    return float(pearsonr(ours, theirs).statistic) if varies else nan


def agreement_words(results: Results) -> list[str]:
    """Say how many numbers differ from print, and whether draws explain the level of Table I."""
    said = []
    for protocol, words in (
        ("published", "Run as the authors' programs ran"),
        ("corrected", "Without the programs' errors"),
    ):
        compared = compared_cells(results, protocol)
        cells = [cell for cell in compared if not isnan(cell.difference)]
        if not cells:
            continue
        tables = dict.fromkeys(cell.group for cell in cells)
        related = [
            _correlation([c for c in cells if c.group == table]) for table in tables
        ]
        known = [fixed(value, 2) for value in sorted(related) if not isnan(value)]
        fewer = (
            f", of {len(compared)} that were compared,"
            if len(compared) > len(cells)
            else ""
        )
        said.append(
            f"{words}, {_beyond(cells)} of {len(cells)} printed numbers{fewer} differ from ours "
            f"by more than {FAR:g} standard errors (about {0.0455 * len(cells):.0f} would by "
            "chance)"
            + (
                f"; correlation with print, table by table: {known[0]} to {known[-1]}"
                * bool(known)
            )
            + "."
        )
    return said + _about_level(results)


def _about_level(results: Results) -> list[str]:
    """Whether the paper's few draws, which all methods share, explain the level of Table I."""
    values = results.table("published", "auc")
    gaps, errors = [], []
    for column in printed.AUC["sht-auc"]:
        samples = {m: values.get((m, column), {}) for m in PAPER_METHODS}
        level = pd.DataFrame(samples).dropna().mean(axis=1)
        draws = level.groupby(level=0).mean() if len(level) else level
        if len(draws) < 2:
            return []
        theirs = np.mean([printed.AUC[method][column].mean for method in PAPER_METHODS])
        gaps.append(draws.mean() - theirs)
        errors.append(draws.var() * (1 / printed.TRIALS + 1 / len(draws)))
    gap, error = np.mean(gaps), np.sqrt(np.sum(errors)) / len(errors)
    return [
        f"Table I is on average {fixed(gap, 3, sign=True)} from print. All methods of a column "
        f"share their {printed.TRIALS} draws there, whose level alone has a standard error of "
        f"{error:.3f}: that is {abs(gap) / error:.1f} standard errors, "
        + (
            "which so few draws can explain."
            if abs(gap) <= 2 * error
            else "more than so few draws can explain; what else differs was not found."
        )
    ]


# -------------------------------------------------------------------- times, and values
# to check


def times_table(results: Results) -> Table | None:
    """Processor time of a fit of each method, at every width."""
    lines = []
    for method in dict.fromkeys(method for method, _ in results.seconds):
        line: dict[str, Any] = {"method": METHODS[method].name}
        for width in map(str, results.request.preset.cost_columns):
            logs = results.seconds.get((method, width), {})
            ours = results.seconds.get(("sht-auc", width), {})
            line[f"seconds, {width} columns"] = 10 ** mean_of(logs).mean
            times = 10 ** mean_of(difference_of(logs, ours)).mean
            line[f"times SHT-AUC, {width} columns"] = times
        lines.append(line)
    if not lines:
        return None
    preset = results.request.preset
    return listing(
        "times",
        "Time of a fit",
        f"Processor time of {plan.COST_EPOCHS} epochs on {preset.n * 4 // 5} rows on one core, at "
        f"one point of each grid, k = {plan.COST_SPARSITY}; geometric means of "
        f"{preset.cost_draws} draws. The paper reports no times.",
        lines,
        "#.2g",
    )


def single_values(results: Results) -> Table | None:
    """One test AUC of every method, to be computed anew by whoever doubts this page."""
    first = [str(results.request.preset.sparsities[0]), 0, 0]
    lines = [
        {
            "method": METHODS[method].name,
            "chosen": ", ".join(
                f"{name} = {value:g}" for name, value in found["chosen"].items()
            ),
            "test AUC": found["auc"],
        }
        for (method, *place), found in results.tables["corrected"].items()
        if place == first and found
    ]
    if not lines:
        return None
    return listing(
        "single-values",
        "One value of every method",
        f"First draw, first test part, k* = {results.request.preset.sparsities[0]}, corrected "
        "protocol. A test of the package computes these numbers anew.",
        lines,
        ".6f",
    )
