"""Figure 1: how training AUC and F go with the epochs, over draws, and what is read off them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import plan
from .convergence import SCALES, Scale
from .estimates import Mean, Sample, mean_of
from .page import SCALE, Figure, Panel, Series
from .plan import Request
from .row_space import Floats
from .store import Outcome
from .tasks import Task

Outcomes = Mapping[Task, Outcome]
# By k*, share of positives and scale of the step: the epochs, and a line of values for each draw.
Courses = dict[tuple[int, float, Scale], tuple[list[int], Floats]]


def courses_of(request: Request, outcomes: Outcomes, field: str) -> Courses:
    """Epochs, and what was recorded at them in every draw that was run."""
    runs: dict[tuple[int, float, Scale], list[dict[str, Any]]] = {}
    for (k, ratio, scale, _), task in plan.figure1_tasks(request).items():
        if task in outcomes and (result := outcomes[task].result) is not None:
            runs.setdefault((k, ratio, scale), []).append(result)
    return {
        place: (parts[0]["epochs"], np.array([part[field] for part in parts]))
        for place, parts in runs.items()
    }


def figure1(request: Request, outcomes: Outcomes) -> list[Figure]:
    """Figure 1 for each scale of the step, a panel for each k*; and F in the same runs."""
    aucs = courses_of(request, outcomes, "auc")
    figures = []
    for scale, words in SCALES.items():
        panels = [_panel(request, aucs, k, scale) for k in request.preset.sparsities]
        figures.append(
            Figure(
                "figure1" if scale == "published" else "figure1-paper-step",
                f"Figure 1, {words}",
                "Training AUC of SHT-AUC with k = k* and blocks of 50 rows, each curve divided by "
                f"its maximum, as in the paper; {_extent(request)}. "
                f"{_mean_steps(request, outcomes, scale)}"
                + (
                    " ρ⁺ is taken as the largest curvature of any block, which bounds it for any "
                    "number of columns."
                    if scale == "paper"
                    else ""
                )
                + _range_of(panels),
                panels,
            )
        )
    objectives = courses_of(request, outcomes, "objective")
    panels = []
    for scale, words in SCALES.items():
        series = []
        for ratio in request.preset.figure1_ratios:
            found = [at for (_, *place), at in objectives.items() if place == [ratio, scale]]
            if found:
                draws = min(len(values) for _, values in found)
                # Draw i of every k* together: a draw is what varies.
                mean = np.mean([values[:draws] for _, values in found], axis=0)
                series.append(_series(ratio, found[0][0], mean))
        panels.append(Panel(words, "epochs", "F on the training rows", series))
    figures.append(
        Figure(
            "figure1-objective",
            "What SHT-AUC minimises, in the same runs",
            f"F, mean over k*; {_extent(request)}.",
            panels,
        )
    )
    return figures


def _panel(request: Request, aucs: Courses, k: int, scale: Scale) -> Panel:
    series = []
    for ratio in request.preset.figure1_ratios:
        if (course := aucs.get((k, ratio, scale))) is not None:
            epochs, values = course
            # Each draw's curve is divided by its largest value, so that bands show its shape; the
            # start, where all scores are zero, would only flatten it.
            top = values.max(axis=1, keepdims=True)
            series.append(_series(ratio, epochs[1:], values[:, 1:] / top))
    return Panel(f"k* = {k}", "epochs", "training AUC ÷ its maximum", series)


def _series(ratio: float, epochs: Sequence[int], draws: Floats) -> Series:
    """Mean over draws, with a band of one standard error."""
    error = None
    if len(draws) > 1:
        error = (draws.std(axis=0, ddof=1) / np.sqrt(len(draws))).tolist()
    slot = SCALE[np.searchsorted((0.1, 0.4), ratio)]
    return Series(f"r = {ratio:g}", epochs, draws.mean(axis=0).tolist(), error, slot=slot)


def _range_of(panels: Sequence[Panel]) -> str:
    """How much of the AUC the whole figure shows."""
    lowest = min((min(series.y) for panel in panels for series in panel.series), default=1.0)
    return f" All of it is a change of {1 - lowest:.1%} of the AUC." if lowest < 1 else ""


def _extent(request: Request) -> str:
    draws = request.preset.figure1_draws
    return f"mean of {draws} draws, bands of one standard error" if draws > 1 else "one draw"


def _mean_steps(request: Request, outcomes: Outcomes, scale: Scale) -> str:
    courses = courses_of(request, outcomes, "step")
    parts = []
    for ratio in request.preset.figure1_ratios:
        steps = [step for (_, *place), (_, step) in courses.items() if place == [ratio, scale]]
        if steps:
            parts.append(f"{np.mean(np.concatenate(steps)):.3g} at r = {ratio:g}")
    return f"Mean γ: {', '.join(parts)}." if parts else ""


Reading = Callable[[list[int], Floats], float]


def over_draws(
    request: Request, outcomes: Outcomes, field: str, read: Reading
) -> dict[tuple[str, float], Mean]:
    """Mean over draws and k* of what is read off a course, by step and share of positives."""
    found: dict[tuple[str, float], Sample] = {}
    for (k, ratio, scale), (epochs, draws) in courses_of(request, outcomes, field).items():
        for draw, values in enumerate(draws):
            found.setdefault((scale, ratio), {})[draw, k] = read(epochs, values)
    return {place: mean_of(sample) for place, sample in found.items()}


def epochs_to(share: float) -> Reading:
    """Epochs until F has made a share of its way down."""

    def first(epochs: list[int], values: Floats) -> float:
        return float(
            epochs[int(np.argmax(values <= values[0] - share * (values[0] - values.min())))]
        )

    return first


def rise_between(first: int, last: int) -> Reading:
    """Share of the whole rise in training AUC since the first epoch that comes between two."""

    def share(epochs: list[int], values: Floats) -> float:
        low, high = (min(int(np.searchsorted(epochs, e)), len(epochs) - 1) for e in (first, last))
        rise = values[-1] - values[1]
        return float((values[high] - values[low]) / rise) if rise > 0 else 0.0

    return share
