"""Figures 1 to 4, and printed against reproduced numbers."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Literal

import numpy as np

from . import plan, printed
from .arrays import Array
from .convergence import SCALES, Scale
from .estimates import Mean, mean_of
from .methods import METHODS
from .page import SCALE, Figure, Panel, Series
from .protocols import PROTOCOLS
from .results import AtK, Courses, Results, simulated
from .tables import PROTOCOL_WORDS, compared_cells, extent_of, name_of, trials_of


def scatter(results: Results) -> Figure | None:
    """Draw printed against reproduced numbers, a panel for each protocol; None without any."""
    slots = dict(zip(printed.NAMES, (*SCALE, len(METHODS) - 1), strict=True))
    panels = []
    for protocol in ("published", "corrected"):
        cells = compared_cells(results, protocol)
        series = [
            Series(
                table,
                slots[table],
                [cell.theirs.mean for cell in part if cell.theirs],
                [cell.mine.mean for cell in part],
                [_drawn_error(cell.mine) for cell in part],
                text=[f"{cell.method}, {cell.column}" for cell in part],
            )
            for table in dict.fromkeys(cell.group for cell in cells)
            for part in [[cell for cell in cells if cell.group == table]]
        ]
        if series:
            title = f"{protocol} protocol"
            panels.append(Panel(title, "printed", "reproduced", series, shares=True))
    if not panels:
        return None
    return Figure(
        "agreement",
        "Printed and reproduced numbers",
        "Every number of Tables I to III that has a counterpart here. Bars are one standard error "
        "of ours. On the dashed line both are equal.",
        panels,
    )


def figure1(results: Results) -> list[Figure]:
    """Figure 1 for each scale of the step, a panel for each k*; and F in the same runs."""
    preset = results.request.preset
    aucs, steps = results.courses("auc"), results.courses("step")
    extent = f"mean of {preset.figure1_draws} draws, bands of one standard error"
    figures = []
    for scale, words in SCALES.items():
        panels = [
            _rises(aucs, preset.figure1_ratios, k, scale) for k in preset.sparsities
        ]
        mean_steps = []
        for ratio in preset.figure1_ratios:
            found = [
                values
                for (_, *at), (_, values) in steps.items()
                if at == [ratio, scale]
            ]
            if found:
                mean_steps.append(
                    f"{np.mean(np.concatenate(found)):.3g} at r = {ratio:g}"
                )
        lowest = min(
            (min(one.y) for panel in panels for one in panel.series), default=1.0
        )
        figures.append(
            Figure(
                "figure1" if scale == "published" else "figure1-paper-step",
                f"Figure 1, {words}",
                "Training AUC of SHT-AUC with k = k* and blocks of 50 rows, each curve divided by "
                f"its maximum, as in the paper; {extent}. Mean γ: {', '.join(mean_steps)}."
                + (
                    " ρ⁺ is taken as the largest curvature of any block, which bounds it for any "
                    "number of columns."
                    if scale == "paper"
                    else ""
                )
                + f" All of it is a change of {1 - lowest:.1%} of the AUC.",
                panels,
            )
        )
    objectives = results.courses("objective")
    panels = []
    for scale, words in SCALES.items():
        series = []
        for ratio in preset.figure1_ratios:
            runs = [
                at for (_, *place), at in objectives.items() if place == [ratio, scale]
            ]
            if runs:
                draws = min(len(values) for _, values in runs)
                # Draw i of every k* together: a draw is what varies.
                mean = np.mean([values[:draws] for _, values in runs], axis=0)
                series.append(_course(ratio, runs[0][0], mean))
        panels.append(Panel(words, "epochs", "F on the training rows", series))
    title = "What SHT-AUC minimises, in the same runs"
    return [
        *figures,
        Figure("figure1-objective", title, f"F, mean over k*; {extent}.", panels),
    ]


def _rises(aucs: Courses, ratios: Iterable[float], k: int, scale: Scale) -> Panel:
    series = []
    for ratio in ratios:
        if (course := aucs.get((k, ratio, scale))) is not None:
            epochs, values = course
            # Each draw's curve is divided by its largest value, so that bands show its
            # shape; the start, where all scores are zero, would only flatten it.
            top = values.max(axis=1, keepdims=True)
            series.append(_course(ratio, epochs[1:], values[:, 1:] / top))
    return Panel(f"k* = {k}", "epochs", "training AUC ÷ its maximum", series)


def _course(ratio: float, epochs: Sequence[int], draws: Array) -> Series:
    """Mean over draws, with a band of one standard error."""
    error = None
    if len(draws) > 1:
        error = (draws.std(axis=0, ddof=1) / np.sqrt(len(draws))).tolist()
    slot = SCALE[np.searchsorted((0.1, 0.4), ratio)]
    return Series(f"r = {ratio:g}", slot, epochs, draws.mean(axis=0).tolist(), error)


def figure2(results: Results, protocol: str) -> Figure:
    """Figure 2: AUC and F1 against the share of positives."""
    preset = results.request.preset
    panels = []
    for label, measure in (("test AUC", "auc"), ("F1 of the columns", "f1")):
        values = simulated(results.figure2[protocol], PROTOCOLS[protocol], measure)
        series = []
        for method in dict.fromkeys(method for method, _ in values):
            means = {
                r: mean_of(values.get((method, f"{r:g}"), {})) for r in preset.ratios
            }
            known = {r: mean for r, mean in means.items() if mean.n}
            if known:
                series.append(_line(method, list(known), list(known.values())))
        panels.append(Panel(label, "share of positives r", label, series))
    return Figure(
        name_of("figure2", results, protocol),
        f"Figure 2: AUC and F1 against the share of positives, {protocol} protocol",
        f"k* = {plan.FIGURE2_SPARSITY}, {PROTOCOL_WORDS[protocol]}; "
        f"{extent_of(preset.figure2_trials, preset.figure2_folds, 'draw')}. Bands are one standard "
        "error.",
        panels,
    )


def _line(method: str, x: Sequence[float], means: Sequence[Mean]) -> Series:
    """Line of means with a band of one standard error."""
    about = METHODS[method]
    return Series(
        about.name,
        list(METHODS).index(method),
        x,
        [mean.mean for mean in means],
        [_drawn_error(mean) for mean in means],
        in_paper=about.in_paper,
    )


def _drawn_error(mean: Mean) -> float:
    return 0.0 if isnan(mean.se) else mean.se


def figure3(results: Results, protocol: str) -> Figure:
    """Figure 3: test AUC against k."""
    aucs = results.genes[protocol].auc
    missed = {
        place: {key: 1 - value for key, value in sample.items()}
        for place, sample in aucs.items()
    }
    panels = [
        *_by_k(aucs, ["colon"], "test AUC"),
        *_by_k(missed, ["leukemia"], "1 − test AUC", "log"),
    ]
    return Figure(
        name_of("figure3", results, protocol),
        f"Figure 3: AUC against k, {protocol} protocol",
        f"Test AUC on the gene data for every k, {trials_of(results.request)}; what else there is "
        "to tune is tuned for each k. Methods without a limit k are drawn level. Bands are one "
        "standard error over splits of these patients. Leukemia is drawn as 1 − AUC on an axis of "
        "powers of ten, so that lines near 1 can be told apart: there lower is better.",
        panels,
    )


def figure4(results: Results, protocol: str) -> Figure:
    """Figure 4: markers among the columns chosen, against k, in both readings of the ratio."""
    reading = "published" if PROTOCOLS[protocol].published_markers else "corrected"
    genes = results.genes[protocol]
    panels = []
    for found, label in ((genes.precision, "precision"), (genes.recall, "recall")):
        limited = {place: sample for place, sample in found.items() if place[2]}
        panels += _by_k(limited, ["colon", "leukemia"], label)
    return Figure(
        name_of("figure4", results, protocol),
        f"Figure 4: ratio of related genes against k, {protocol} protocol",
        "Columns chosen that measure one of the paper's markers, as a share of the columns chosen "
        "(precision: the paper's text and programs) and of all such columns (recall: its "
        f"formula). {trials_of(results.request)}; markers in the {reading} reading. Bands are one "
        "standard error over splits of these patients.",
        panels,
    )


def _by_k(
    values: AtK,
    datasets: Iterable[str],
    label: str,
    y_scale: Literal["linear", "log"] = "linear",
) -> list[Panel]:
    """A panel for each data set that has values, with a line for each method."""
    panels = []
    for dataset in datasets:
        found: dict[str, Mapping[str, Mean]] = {}
        for (method, name, k), sample in values.items():
            if name == dataset:
                found[method] = {**found.get(method, {}), k: mean_of(sample)}
        limits = sorted({float(k) for means in found.values() for k in means if k})
        ends = [limits[0], limits[-1]] if limits else [1.0, 500.0]
        series = [
            _line(method, ends, [means[""]] * 2)
            if "" in means
            else _line(method, [float(k) for k in means], list(means.values()))
            for method, means in found.items()
        ]
        if series:
            panels.append(
                Panel(dataset, "columns allowed k", label, series, "log", y_scale)
            )
    return panels
