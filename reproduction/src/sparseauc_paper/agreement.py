"""How well the printed numbers are reproduced: counts, correlations, a scatter."""

from collections.abc import Sequence
from math import isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from . import printed
from .comparison import FAR
from .estimates import (
    Mean,
    Sample,
    Values,
    difference_in_errors,
    mean_of,
    trial_means,
)
from .gene_summaries import results_under
from .methods import METHODS, PAPER_METHODS
from .page import SCALE, Figure, Listing, Panel, Series
from .plan import Request
from .protocols import PROTOCOLS
from .summaries import Outcomes, table_values

_TABLES = ("Table I", "Table II, F1", "Table II, Jaccard", "Table III")


class Compared(NamedTuple):
    """A printed number and ours."""

    table: str
    method: str
    column: str
    mine: Mean
    theirs: printed.Printed
    extent: printed.Extent

    def errors(self, *, floor: bool = True) -> float:
        """Difference in standard errors."""
        return difference_in_errors(self.mine, self.theirs, self.extent, floor=floor)


def compared_cells(request: Request, protocol: str, outcomes: Outcomes) -> list[Compared]:
    """All printed numbers that we have a number for under a protocol."""
    tables: list[tuple[str, Values, printed.Table, printed.Extent, bool]] = [
        (name, table_values(request, protocol, measure, outcomes), table, printed.SYNTHETIC, False)
        for name, measure, table in zip(
            _TABLES,
            ("auc", "f1", "jaccard"),
            (printed.AUC, printed.F1, printed.JACCARD),
            strict=False,
        )
    ]
    if request.datasets:
        genes = results_under(request, protocol, outcomes).tuned
        held_out = PROTOCOLS[protocol].hold_out_fifty
        tables.append((_TABLES[-1], genes, printed.REAL_AUC, printed.REAL, held_out))
    cells = []
    for name, values, table, extent, by_trial in tables:
        for (method, column), sample in values.items():
            mine = mean_of(sample, by_trial=by_trial)
            if mine.n and column in table.get(method, {}):
                theirs = table[method][column]
                cells.append(Compared(name, method, column, mine, theirs, extent))
    return cells


def scatter(request: Request, outcomes: Outcomes) -> Figure | None:
    """Draw printed against reproduced numbers, a panel for each protocol; None without any."""
    panels = []
    for protocol in ("published", "corrected"):
        cells = compared_cells(request, protocol, outcomes)
        series = [
            Series(
                table,
                [cell.theirs.mean for cell in part],
                [cell.mine.mean for cell in part],
                [0.0 if isnan(cell.mine.se) else cell.mine.se for cell in part],
                style="points",
                slot=slot,
                text=[f"{METHODS[cell.method].name}, {cell.column}" for cell in part],
            )
            for table, slot in zip(_TABLES, (*SCALE, len(METHODS) - 1), strict=True)
            for part in [[cell for cell in cells if cell.table == table]]
            if part
        ]
        if series:
            series.append(Series("equal", [0.0, 1.0], [0.0, 1.0], style="dashed"))
            panels.append(
                Panel(
                    f"{protocol} protocol",
                    "printed",
                    "reproduced",
                    series,
                    x_range=(0.0, 1.0),
                    y_range=(0.0, 1.0),
                )
            )
    if not panels:
        return None
    return Figure(
        "agreement",
        "Printed and reproduced numbers",
        "Every number of Tables I to III that has a counterpart here. Bars are one standard error "
        "of ours. On the dashed line both are equal.",
        panels,
    )


def agreement_listing(request: Request, outcomes: Outcomes) -> Listing | None:
    """Count, for each table and protocol, the numbers that differ from print."""
    lines = []
    for protocol in ("published", "corrected"):
        cells = compared_cells(request, protocol, outcomes)
        for table in dict.fromkeys(cell.table for cell in cells):
            part = [cell for cell in cells if cell.table == table]
            far, bare = (_beyond(part, floor=floor) for floor in (True, False))
            difference = np.array([cell.mine.mean - cell.theirs.mean for cell in part])
            lines.append(
                {
                    "protocol": protocol,
                    "table": table,
                    "numbers": len(part),
                    f"beyond {FAR:g} SE": far,
                    "without the floor": bare,
                    "correlation": _correlation(part),
                    "mean difference": float(difference.mean()),
                    "mean of its size": float(np.abs(difference).mean()),
                }
            )
    if not lines:
        return None
    return Listing(
        "agreement-numbers",
        "Agreement with print, table by table",
        "Ours minus printed. Without the floor: counted again with our own standard error alone, "
        "however small, in place of one that is at least what the printed deviation makes of as "
        "many draws.",
        pd.DataFrame(lines),
        formats={"correlation": ".2f"},
    )


def _beyond(cells: Sequence[Compared], *, floor: bool = True) -> int:
    return sum(abs(cell.errors(floor=floor)) > FAR for cell in cells)


def _correlation(cells: Sequence[Compared]) -> float:
    means = ([cell.mine.mean for cell in cells], [cell.theirs.mean for cell in cells])
    varies = len(cells) > 1 and min(map(np.ptp, means)) > 0
    return float(pearsonr(*means).statistic) if varies else nan


def agreement_words(request: Request, outcomes: Outcomes) -> list[str]:
    """Say how many numbers differ from print, and whether draws explain the level of Table I."""
    said = []
    for protocol, words in (
        ("published", "Run as the authors' programs ran"),
        ("corrected", "Without the programs' errors"),
    ):
        cells = [c for c in compared_cells(request, protocol, outcomes) if not isnan(c.errors())]
        if not cells:
            continue
        far, bare = _beyond(cells), _beyond(cells, floor=False)
        tables = dict.fromkeys(cell.table for cell in cells)
        related = [_correlation([c for c in cells if c.table == table]) for table in tables]
        related = [value for value in related if not isnan(value)]
        said.append(
            f"{words}, {far} of {len(cells)} printed numbers differ from ours by more than "
            f"{FAR:g} standard errors (about {0.0455 * len(cells):.0f} would by chance"
            + (f"; with our own standard errors alone {bare} do" if bare != far else "")
            + ")"
            + (
                "; the correlation with print, table by table, is "
                f"{min(related):.2f} to {max(related):.2f}."
                if related
                else "."
            )
        )
    said += _about_level(request, outcomes)
    return said


def _about_level(request: Request, outcomes: Outcomes) -> list[str]:
    """Whether the paper's few draws, which all methods share, explain the level of Table I."""
    values = table_values(request, "published", "auc", outcomes)
    differences, errors = [], []
    for column in printed.AUC["sht-auc"]:
        samples = [values.get((method, column), {}) for method in PAPER_METHODS]
        if not all(samples):
            return []
        differences += [
            mean_of(sample).mean - printed.AUC[method][column].mean
            for method, sample in zip(PAPER_METHODS, samples, strict=True)
        ]
        draws = trial_means(_mean_over(samples))
        if len(draws) < 2:
            return []
        spread = float(np.std(list(draws.values()), ddof=1))
        errors.append(spread**2 * (1 / printed.SYNTHETIC.trials + 1 / len(draws)))
    difference = float(np.mean(differences))
    error = sqrt(sum(errors)) / len(errors)
    explained = abs(difference) <= 2 * error
    return [
        f"Table I is on average {difference:+.3f} from print. All methods of a column share their "
        f"{printed.SYNTHETIC.trials} draws there, whose level alone has a standard error of "
        f"{error:.3f}: that is {abs(difference) / error:.1f} standard errors, "
        + (
            "which so few draws can explain."
            if explained
            else "more than so few draws can explain; what else differs was not found."
        ).replace("-", "−")
    ]


def _mean_over(samples: Sequence[Sample]) -> Sample:
    """Mean over methods on each draw and part that all of them have."""
    shared = set.intersection(*(set(sample) for sample in samples))
    return {key: float(np.mean([sample[key] for sample in samples])) for key in shared}
