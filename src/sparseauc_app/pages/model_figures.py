"""The figures of the report on a fit."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve

from sparseauc.curves import score_bins
from sparseauc.metrics import AUCInterval
from sparseauc.plotting import AUCPathDisplay, ROCBandDisplay
from sparseauc.selection.confidence import NestedScores
from sparseauc.utils.types import Array

from ..evaluation.evaluate import Instability
from ..evaluation.risks import Risks
from ..formatting import calibration_text
from ..reading.columns import dense_column
from ..summary import FitSummary
from .elements import Figure, Panel, Series
from .model_words import SAY, class_names, words_of
from .parts import draw_calibration, draw_decision_curve

# Longer lists would fill pages: only the columns with the largest weights are drawn.
MOST_DRAWN = 12
# A column with at most this many values is drawn as bars.
_FEW_VALUES = 6
# Rows whose risks by other models are drawn.
_ROWS_DRAWN = 120


def draw_columns(summary: FitSummary) -> Figure:
    """Each chosen column by class."""
    positive, labels = summary.table.y == 1, class_names(summary)[::-1]
    names = summary.table.columns.tolist()
    panels = []
    for name in summary.columns["column"][:MOST_DRAWN]:
        values = dense_column(summary.table.X, names.index(name))
        known = np.isfinite(values)
        panels.append(_draw_column(str(name), values[known], positive[known], labels))
    caption = words_of(summary)(
        "by_class", most=MOST_DRAWN, more=len(summary.columns) - len(panels),
        binned=not all(panel.x_names for panel in panels),
    )  # fmt: skip
    return Figure("by-class", "Each column by class", caption, panels)


def _draw_column(name: str, values: Array, positive: Any, labels: tuple[str, str]) -> Panel:
    distinct = np.unique(values)
    few = distinct.size <= _FEW_VALUES
    if few or min(positive.sum(), (~positive).sum()) == 0:
        edges = np.arange(distinct.size + 1) - 0.5
        values = np.searchsorted(distinct, values).astype(np.float64)
    else:
        edges = score_bins(values, positive)
        values = np.clip(values, edges[0], edges[-1])
    series = []
    for label, mask in zip(labels, (~positive, positive), strict=True):
        shares = 100 * np.histogram(values[mask], edges)[0] / max(1, mask.sum())
        if few:
            series.append(Series(label, range(distinct.size), shares.tolist(), style="bars"))
            continue
        text = [
            f"{label}\n{name}: {a:.4g} to {b:.4g}\n{share:.3g} % of the class" if share else ""
            for a, b, share in zip(edges[:-1], edges[1:], shares, strict=True)
        ]
        # A step reaches to the next edge; the last one returns to zero. Its band is the area below.
        x, y = edges.tolist(), [*shares.tolist(), 0.0]
        error = (y, [0.0] * len(y))
        series.append(Series(label, x, y, error, style="steps", text=[*text, ""]))
    ticks = [f"{value:g}" for value in distinct] if few else []
    return Panel(name, "value", "rows of the class, %", series, x_names=ticks)


def draw_curves(summary: FitSummary, nested: NestedScores, risks: Risks, over: str) -> Figure:
    """ROC and precision–recall curves of the out-of-fold scores."""
    table = summary.table
    positive, level = table.y == 1, nested.interval.confidence
    interval = nested.interval.low, nested.interval.high
    scores = np.asarray(summary.out_of_fold_scores, np.float64)
    precision, recall, thresholds = precision_recall_curve(positive, scores)
    rate = float(positive.mean())
    shown = np.unique(np.linspace(0, thresholds.size - 1, 400).astype(np.intp))
    text = [
        f"threshold {t:.3g}: sensitivity {r:.2f}, PPV {p:.2f}"
        for t, r, p in zip(thresholds[shown], recall[shown], precision[shown], strict=True)
    ]
    panel = Panel(
        "", "sensitivity (recall)", "positive predictive value (precision)",
        [
            Series(
                f"average precision {risks.average_precision:.2f}", recall[shown].tolist(),
                precision[shown].tolist(), style="steps", text=text,
            ),
            Series(f"share of positives {rate:.2f}", [0, 1], [rate, rate], style="dashed"),
        ],
        x_range=(-0.01, 1.01), y_range=(0, 1.02),
    )  # fmt: skip
    return Figure(
        "roc",
        "ROC and precision–recall",
        words_of(summary)("roc", over=over, level=level),
        [
            lambda ax: ROCBandDisplay.from_predictions(
                table.y, scores, confidence=level, interval=interval, ax=ax
            ),
            panel,
        ],
    )


def draw_sizes(summary: FitSummary) -> Figure:
    """AUC against the number of columns, or the budget."""
    by_budget, measure = "budget" in summary.auc_by_k()[0], summary.table.outcome.measure
    point, least = ("budget", "cheapest") if by_budget else ("k", "shortest")
    return Figure(
        "auc-by-k",
        f"{measure} against the {'budget' if by_budget else 'number of columns'}",
        words_of(summary)(
            "sizes", point=point, least=least, rule=str(summary.settings.get("rule"))
        ),
        [lambda ax: AUCPathDisplay.from_estimator(summary.classifier, ax=ax)],
    )


def draw_learning(points: list[tuple[int, AUCInterval]], k: int, measure: str) -> Figure:
    """AUC or C against the number of training rows."""
    rows = [float(size) for size, _ in points]
    areas = [one.auc for _, one in points]
    reach = [one.auc - one.low for _, one in points], [one.high - one.auc for _, one in points]
    text = [f"{size} rows: {measure} {one.auc:.3f}" for size, one in points]
    series = [Series(f"{measure}, 95 % CI", rows, areas, error=reach, text=text)]
    return Figure(
        "learning", f"{measure} against the number of rows", SAY("learning", k=k, measure=measure),
        [Panel("", "training rows", measure, series)],
    )  # fmt: skip


def draw_scores(summary: FitSummary) -> Figure:
    """Draw the distribution of the out-of-fold scores in the two classes."""
    scores = np.asarray(summary.out_of_fold_scores, np.float64)
    threshold = summary.card().threshold if summary.points is None else 0.0
    positive = summary.table.y == 1
    labels = [
        f"{name} (n = {mask.sum()}, {100 * np.mean(scores[mask] > threshold):.0f} % above)"
        for name, mask in zip(class_names(summary)[::-1], (~positive, positive), strict=True)
    ]
    panel = _draw_column("score", scores, positive, (labels[0], labels[1]))
    top = max(max(series.y) for series in panel.series)
    at = [threshold, threshold]
    line = Series(f"threshold {threshold:.3g}", at, [0, top], style="dashed", text=["", ""])
    panel = replace(panel, title="", x_label="score", series=[*panel.series, line])
    return Figure("scores", "Scores of the two classes", words_of(summary)("scores"), [panel])


def draw_risks(summary: FitSummary, risks: Risks, name: str) -> Figure:
    """Calibration and decision curve of the out-of-fold probabilities."""
    caption = words_of(summary)(
        "calibration", name=name, calibration=calibration_text(risks.check), curve=risks.curve,
        brier=risks.brier,
    )  # fmt: skip
    panels = [draw_calibration(risks, name), draw_decision_curve(risks.decision)]
    return Figure("calibration", "Calibration and decision curve", caption, panels)


def draw_instability(found: Instability) -> Figure:
    """Risks by models of other rows against those of the final model."""
    order = np.argsort(found.risks, kind="stable")
    shown = order[np.unique(np.linspace(0, order.size - 1, _ROWS_DRAWN).astype(np.intp))]
    risks, others = 100 * found.risks[shown], 100 * found.refitted[:, shown]
    mean, low, high = others.mean(axis=0), others.min(axis=0), others.max(axis=0)
    text = [
        f"risk {a:.1f} %, refitted {b:.1f} % ({c:.1f} to {d:.1f} %)"
        for a, b, c, d in zip(risks, mean, low, high, strict=True)
    ]
    top = float(max(risks.max(), high.max()))
    series = [
        Series(
            "refitted, lowest to highest", risks.tolist(), mean.tolist(),
            error=((mean - low).tolist(), (high - mean).tolist()), style="points", text=text,
        ),
        Series("the same", [0, top], [0, top], style="dashed", text=["", ""]),
    ]  # fmt: skip
    return Figure(
        "instability",
        "Instability of the risks",
        SAY("instability", found=found, refits=len(found.refitted)),
        [Panel("", "risk by the model, %", "risk by refitted models, %", series)],
    )
