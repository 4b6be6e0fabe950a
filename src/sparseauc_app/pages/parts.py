"""Tables and figures that the reports on a fit and on a validation share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sparseauc.metrics import AUCInterval
from sparseauc.operating_points import OperatingPoint

from ..evaluation.probabilities import DecisionCurve, Risks
from ..evaluation.ranking import Followed, RankCurves
from ..formatting import (
    Words,
    auc_text,
    capitalised,
    point_row,
    without_advice,
    write_lines,
)
from ..scorecard import ScoreCard
from ..validation import GroupResult
from .elements import Element, Figure, Listing, Note, Panel, Series


def list_items(card: ScoreCard, new: Any = None, needed: Any = None) -> list[Element]:
    """List the items of TRIPOD+AI with what is known from a card, and from a validation ``new``.

    ``needed`` is the sample size that development needs, if known.
    """
    lines = write_lines("tripod", card=card, about=card.summary, new=new, needed=needed)
    items = [line.removesuffix(" |").split(" | ", 3) for line in lines]
    frame = pd.DataFrame(items, columns=["Item", "Section", "Topic", "What is known"])
    unknown = frame["What is known"] == "for you to write"
    about = (
        "The items of the reporting guideline TRIPOD+AI (Collins et al. 2024), in our own words, "
        "filled in from the model and these rows. See the guideline for the full wording."
    )
    further = "Items that neither the model nor these rows can tell."
    rest = frame[unknown].drop(columns="What is known")
    return [
        Listing("checklist", "TRIPOD+AI checklist", about, frame[~unknown]),
        Listing("to-write", "TRIPOD+AI, for you to write", further, rest, folded=True),
    ]


def note_cautions(cautions: Sequence[str], checked: str) -> Note:
    """Note the cautions, or what was checked if there are none."""
    if cautions:
        shown = map(without_advice, cautions)
        return Note("\n\n".join(text for text in shown if text), "caution")
    return Note(checked, "fine")


def show_groups(
    groups: Sequence[GroupResult],
    overall: AUCInterval,
    title: str,
    name: str,
    caption: str = "",
    measure: str = "AUC",
) -> list[Element]:
    """AUC of each group with its interval, beside that of all, as a forest plot and a table."""
    judged = [(one.name, one.interval) for one in groups if one.interval is not None]
    names, intervals = zip(*judged, (name, overall), strict=True)
    areas = [one.auc for one in intervals]
    low = [one.low for one in intervals]
    high = [one.high for one in intervals]
    places = [float(place) for place in range(len(names))]
    series = [
        Series(f"{measure}, 95 % CI", places, areas, low, high, style="points"),
        Series(name, [places[0], places[-1]], [areas[-1]] * 2, style="dashed"),
    ]
    frame = pd.DataFrame(
        {
            "Group": one.name,
            "Rows": one.rows,
            "Positive" if measure == "AUC" else "Events": one.positives,
            f"{measure} (95 % CI)": auc_text(one.interval),
        }
        for one in groups
    )
    how = "With DeLong's 95 % CI. Groups with fewer than two rows of a class are"
    if measure != "AUC":
        how = "With its 95 % CI. Groups without rows to compare are"
    return [
        Figure(
            "groups",
            title,
            f"{caption} {how} left out.".lstrip(),
            [Panel("", "", measure, series, x_names=list(names))],
        ),
        Listing("group-aucs", f"{title}, as a table", "", frame),
    ]


def list_points(points: Sequence[OperatingPoint], caption: str) -> Listing:
    """Thresholds with their sensitivity, specificity and predictive values, as a table."""
    frame = pd.DataFrame([point_row(one.as_dict()) for one in points])
    names = [name.replace("-\n", "").replace("\n", " ") for name in frame.columns]
    frame.columns = pd.Index([capitalised(name) for name in names])
    return Listing(
        "operating-points", "Thresholds", caption, frame, formats={"Score above": ".4g"}
    )


def draw_roc(curves: RankCurves, interval: AUCInterval) -> Panel:
    """Sensitivity against 1 − specificity, with a pointwise band."""
    text = [
        f"threshold {threshold:.3g}: sensitivity {tpr:.2f} ({low:.2f}–{high:.2f}), "
        f"specificity {1 - fpr:.2f}"
        for threshold, tpr, low, high, fpr in zip(
            curves.thresholds,
            curves.tpr,
            curves.low,
            curves.high,
            curves.fpr,
            strict=True,
        )
    ]
    auc = f"AUC {interval.auc:.2f} ({interval.low:.2f}–{interval.high:.2f})"
    band = f"{100 * curves.confidence:g} %: CI of the AUC, pointwise band"
    low = curves.low
    series = [
        Series(auc, curves.fpr, curves.tpr, text=["", *text[1:]], colour=0),
        Series(band, curves.fpr, low, low, curves.high, style="band", colour=0),
        Series("chance", [0, 1], [0, 1], style="dashed", colour=6),
    ]
    ends = (-0.01, 1.01)
    x_label = "1 − specificity (false positive rate)"
    return Panel(
        "", x_label, "sensitivity", series, x_range=ends, y_range=ends, square=True
    )


def draw_risks(risks: Risks, name: str, caption: str) -> Figure:
    """Calibration and decision curve."""
    panels = [_draw_calibration(risks, name), _draw_decision_curve(risks.decision)]
    return Figure("calibration", "Calibration and decision curve", caption, panels)


def _draw_calibration(risks: Risks, name: str) -> Panel:
    """Predicted probability against the share of positives: in bins, and as a smooth curve."""
    bins = risks.bins
    curve = risks.curve
    series = [
        Series(
            "observed, 95 % CI",
            100 * bins.predicted,
            100 * bins.share,
            100 * bins.low,
            100 * bins.high,
            style="points",
        ),
        Series("ideal", [0, 100], [0, 100], style="dashed"),
    ]
    if curve is not None:
        series.append(
            Series(
                "smoothed, 95 % band",
                100 * curve.predicted,
                100 * curve.observed,
                100 * curve.low,
                100 * curve.high,
            )
        )
    return Panel(
        "",
        "predicted probability, %",
        f"{name}, %",
        series,
        x_range=(-2, 102),
        y_range=(-2, 102),
    )


def _draw_decision_curve(curve: DecisionCurve) -> Panel:
    """Net benefit against the threshold probability."""
    t = 100 * curve.thresholds
    model = curve.model
    everyone = curve.everyone
    reach = 1.96 * curve.error
    series = [
        Series("by the model", t, model, model - reach, model + reach),
        Series("act on all", t, everyone, style="dashed"),
        Series("act on none", t, 0 * t, style="dashed"),
    ]
    top = float(max(everyone[0], model.max()))
    ends = (-0.15 * top, 1.1 * top)
    return Panel(
        "",
        "threshold probability, %",
        "net benefit",
        series,
        x_range=(0, float(t[-1]) + 1),
        y_range=ends,
    )


def show_follow_up(found: Followed, time: str, *, nested: bool) -> list[Element]:
    """Ranking at several times, and Kaplan–Meier curves of thirds of a score along ``time``.

    ``nested`` says that the scores are those of nested cross-validation.
    """
    say = Words("times_words.j2")
    rows = {"Harrell's C, all times": found.harrell}
    rows |= {f"AUC at {at:g}": one for at, one in found.at}
    frame = pd.DataFrame(
        {"Measure": [*rows], "Value (95 % CI)": [*map(auc_text, rows.values())]}
    )
    counts = pd.DataFrame([one.at_risk for one in found.thirds])
    counts.columns = pd.Index([f"{mark:g}" for mark in found.marks])
    counts.insert(0, "Third of the score", [one.name for one in found.thirds])
    series = []
    for one in found.thirds:
        x = np.append(0.0, one.time)
        y, low, high = (
            np.append(100.0, 100 * of) for of in (one.free, one.low, one.high)
        )
        series.append(Series(one.name, x, y, low, high, style="steps"))
    ends = (0.0, 1.02 * max(float(one.time[-1]) for one in found.thirds))
    panel = Panel(
        "", time, "free of the event, %", series, x_range=ends, y_range=(0, 102)
    )
    return [
        Listing(
            "auc-at-times",
            "Ranking at several times",
            say("at_times", nested=nested),
            frame,
        ),
        Figure(
            "follow-up",
            "Thirds of the score",
            say("thirds", nested=nested, hazards=found.hazards),
            [panel],
        ),
        Listing("at-risk", "Numbers at risk", say("at_risk"), counts),
    ]
