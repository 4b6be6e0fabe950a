"""The figures of the report on a fit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparseauc.metrics import AUCInterval
from sparseauc.utils.types import Array, Mask

from ..evaluation.bootstrap import ColumnEffect
from ..evaluation.evaluate import Instability
from ..evaluation.probabilities import Risks
from ..evaluation.ranking import RankCurves
from ..fit_result import FitResult
from .elements import Figure, Panel, Series
from .model_words import class_names, words_of
from .parts import draw_roc

# Longer lists would fill pages: only the columns with the largest weights are drawn.
MOST_DRAWN = 12
# A column with at most this many values is drawn as bars.
_FEW_VALUES = 6
# Rows whose risks by other models are drawn.
_ROWS_DRAWN = 120


def draw_effects(fit: FitResult, effects: Sequence[ColumnEffect]) -> Figure:
    """Draw what each chosen column adds to the score, less than at its reference."""
    panels = []
    for (name, j), one in [*zip(fit.chosen.items(), effects, strict=True)][:MOST_DRAWN]:
        values = fit.table.values_of(j)
        panels.append(_draw_effect(name, one, values[np.isfinite(values)]))
    samples = max((len(one.samples) for one in effects), default=0)
    caption = words_of(fit)(
        "effects", k=fit.k, numbers=fit.n_numbers, most=MOST_DRAWN, samples=samples
    )
    return Figure("effects", "The effect of each column", caption, panels)


def _draw_effect(name: str, one: ColumnEffect, known: Array) -> Panel:
    low, high = (None, None) if one.band is None else one.band
    if one.levels is not None:
        series = [Series("effect", one.at, one.effect, low, high, style="points")]
        return Panel(name, "", "effect", series, x_names=one.levels)
    deciles = np.quantile(known, np.arange(0.1, 0.95, 0.1))
    foot = np.full(deciles.size, min([*one.effect, *(() if low is None else low)]))
    series = [
        Series("effect", one.at, one.effect, low, high),
        Series("deciles of the rows", deciles, foot, style="points"),
        Series("reference", [one.reference], [0.0], style="ring"),
    ]
    return Panel(name, "value", "effect", series)


def draw_columns(fit: FitResult) -> Figure:
    """Each chosen column by class."""
    positive = fit.table.y == 1
    labels = class_names(fit)[::-1]
    panels = []
    for name, j in [*fit.chosen.items()][:MOST_DRAWN]:
        values = fit.table.values_of(j)
        known = np.isfinite(values)
        levels = fit.table.numbers.levels.get(j)
        panels.append(
            _draw_column(name, values[known], positive[known], labels, levels)
        )
    caption = words_of(fit)(
        "by_class",
        most=MOST_DRAWN,
        more=len(fit.columns) - len(panels),
        binned=not all(panel.x_names for panel in panels),
    )
    return Figure("by-class", "Each column by class", caption, panels)


def _draw_column(
    name: str,
    values: Array,
    positive: Mask,
    labels: tuple[str, str],
    levels: Sequence[str] | None,
) -> Panel:
    distinct = np.unique(values)
    few = levels is not None or distinct.size <= _FEW_VALUES
    if few or min(positive.sum(), (~positive).sum()) == 0:
        edges = np.arange(distinct.size + 1) - 0.5
        values = np.searchsorted(distinct, values).astype(np.float64)
    else:
        edges = _score_bins(values, positive)
        values = np.clip(values, edges[0], edges[-1])
    series = []
    for label, mask in zip(labels, (~positive, positive), strict=True):
        shares = 100 * np.histogram(values[mask], edges)[0] / max(1, mask.sum())
        if few:
            series.append(Series(label, range(distinct.size), shares, style="bars"))
            continue
        text = [
            f"{label}\n{name}: {a:.4g} to {b:.4g}\n{share:.3g} % of the class"
            if share
            else ""
            for a, b, share in zip(edges[:-1], edges[1:], shares, strict=True)
        ]
        # A step reaches to the next edge; the last one returns to zero. Its band is the
        # area below.
        y = np.append(shares, 0.0)
        series.append(
            Series(label, edges, y, 0 * y, y, style="steps", text=[*text, ""])
        )
    ticks = [
        f"{value:g}" if levels is None else levels[int(value)] for value in distinct
    ]
    ticks = ticks if few else []
    return Panel(name, "value", "rows of the class, %", series, x_names=ticks)


def draw_curves(fit: FitResult, curves: RankCurves, risks: Risks, over: str) -> Figure:
    """ROC and precision–recall curves of the out-of-fold scores."""
    assert fit.nested is not None
    text = [
        f"threshold {threshold:.3g}: sensitivity {recall:.2f}, PPV {precision:.2f}"
        for threshold, recall, precision in zip(
            curves.cuts, curves.recall, curves.precision, strict=True
        )
    ]
    precision = Series(
        f"average precision {risks.average_precision:.2f}",
        curves.recall,
        curves.precision,
        style="steps",
        text=text,
        colour=0,
    )
    share = f"share of positives {risks.share:.2f}"
    panel = Panel(
        "",
        "sensitivity (recall)",
        "positive predictive value (precision)",
        [
            precision,
            Series(share, [0, 1], [risks.share, risks.share], style="dashed", colour=1),
        ],
        x_range=(-0.01, 1.01),
        y_range=(0, 1.02),
    )
    return Figure(
        "roc",
        "ROC and precision–recall",
        words_of(fit)("roc", over=over),
        [draw_roc(curves, fit.nested.interval), panel],
    )


def draw_sizes(fit: FitResult) -> Figure:
    """AUC against the number of columns, or the budget."""
    path = fit.summary["auc_by_k"]
    measure = fit.card.measure
    along = "budget" if "budget" in path[0] else "k"
    what = "number of columns" if along == "k" else "budget"
    sizes, means, errors = (
        np.array([row[name] for row in path])
        for name in (along, "auc", "standard_error")
    )
    low = means - errors
    best = int(np.argmax(means))
    classifier: Any = fit.model
    chosen = float(getattr(classifier, f"{along}_"))
    at_best = f"best: {along} = {sizes[best]:g}"
    series = [
        Series("mean ± one standard error", sizes, means, low, means + errors),
        Series(at_best, sizes[[best]], means[[best]], style="ring", colour=0),
        Series(
            f"chosen: {along} = {chosen:g}",
            [chosen],
            [float(classifier.best_score_)],
            style="points",
            colour=0,
        ),
        Series(
            "best − one standard error",
            sizes[[0, -1]],
            [low[best]] * 2,
            style="dashed",
            colour=0,
        ),
    ]
    least = "shortest" if along == "k" else "cheapest"
    return Figure(
        "auc-by-k",
        f"{measure} against the {what}",
        words_of(fit)("sizes", point=along, least=least),
        [Panel("", what, f"validation {measure}", series)],
    )


def draw_learning(fit: FitResult, points: list[tuple[int, AUCInterval]]) -> Figure:
    """AUC or C against the number of training rows."""
    measure = fit.card.measure
    rows = [float(size) for size, _ in points]
    areas = [one.auc for _, one in points]
    low = [one.low for _, one in points]
    high = [one.high for _, one in points]
    series = [Series(f"{measure}, 95 % CI", rows, areas, low, high)]
    return Figure(
        "learning",
        f"{measure} against the number of rows",
        words_of(fit)("learning"),
        [Panel("", "training rows", measure, series)],
    )


def draw_scores(fit: FitResult) -> Figure:
    """Draw the distribution of the out-of-fold scores in the two classes."""
    scores = np.asarray(fit.out_of_fold_scores, np.float64)
    threshold = fit.card.threshold if fit.points is None else 0.0
    positive = fit.table.y == 1
    labels = [
        f"{name} (n = {mask.sum()}, {100 * np.mean(scores[mask] > threshold):.0f} % above)"
        for name, mask in zip(
            class_names(fit)[::-1], (~positive, positive), strict=True
        )
    ]
    panel = _draw_column("score", scores, positive, (labels[0], labels[1]), None)
    top = max(max(series.y) for series in panel.series)
    at = [threshold, threshold]
    line = Series(f"threshold {threshold:.3g}", at, [0, top], style="dashed")
    panel = replace(panel, title="", x_label="score", series=[*panel.series, line])
    return Figure(
        "scores", "Scores of the two classes", words_of(fit)("scores"), [panel]
    )


def draw_instability(fit: FitResult, found: Instability) -> Figure:
    """Risks by models of other rows against those of the final model."""
    order = np.argsort(found.risks, kind="stable")
    shown = order[
        np.unique(np.linspace(0, order.size - 1, _ROWS_DRAWN).astype(np.intp))
    ]
    risks = 100 * found.risks[shown]
    others = 100 * found.refitted[:, shown]
    mean = others.mean(axis=0)
    low = others.min(axis=0)
    high = others.max(axis=0)
    top = float(max(risks.max(), high.max()))
    series = [
        Series("refitted, lowest to highest", risks, mean, low, high, style="points"),
        Series("the same", [0, top], [0, top], style="dashed"),
    ]
    return Figure(
        "instability",
        "Instability of the risks",
        words_of(fit)("instability", found=found, refits=len(found.refitted)),
        [Panel("", "risk by the model, %", "risk by refitted models, %", series)],
    )


def _score_bins(scores: Array, positive: Mask) -> Array:
    """Round edges of histogram bins for both classes; their number depends on the rarer class.

    The edges end at four interquartile ranges from the median, so that extreme rows do
    not squeeze all others into one bin: count ``np.clip(scores, edges[0], edges[-1])``.
    """
    low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
    reach = 4 * (high - low) or np.inf
    ends = max(scores.min(), middle - reach), min(scores.max(), middle + reach)
    few = int(min(positive.sum(), (~positive).sum()))
    width = _round_width((ends[1] - ends[0]) / np.clip(2 * np.sqrt(few), 8, 24))
    edges: Array = (
        np.arange(np.floor(ends[0] / width), np.floor(ends[1] / width) + 2) * width
    )
    return edges


def _round_width(width: float) -> float:
    """Nearest of 1, 2 and 5 times a power of ten, or 1 for nothing: ends a person can read."""
    if not width > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(width))
    return float(
        min((1, 2, 5, 10), key=lambda times: abs(np.log(times * power / width))) * power
    )
