"""Figures as PNG and SVG, drawn by matplotlib in the colours of the page."""

from __future__ import annotations

import io
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from . import geometry
from .elements import Figure, Panel
from .palette import LIGHT, look
from .plots import NOT_IN_PAPER, legend_entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES: dict[str, Any] = {
    "solid": "-", "dash": (0, (5, 2)), "dashdot": (0, (5, 2, 1, 2)), "dot": (0, (1.5, 1.5)),
}  # fmt: skip
_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v",
    "cross": "P", "x": "X", "star": "*", "pentagon": "p", "hexagon": "h", "triangle-left": "<",
    "triangle-right": ">",
}  # fmt: skip
_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LIGHT.quiet,
    "axes.labelcolor": LIGHT.text,
    "axes.titlecolor": LIGHT.text,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT.grid,
    "grid.linewidth": 0.8,
    "xtick.color": LIGHT.quiet,
    "ytick.color": LIGHT.quiet,
    "xtick.labelcolor": LIGHT.text,
    "ytick.labelcolor": LIGHT.text,
    "text.color": LIGHT.text,
    "legend.frameon": False,
    "svg.hashsalt": "sparseauc",
}


def draw(figure: Figure, slots: dict[str, int]) -> dict[str, bytes]:
    """Draw a figure; the same figure gives the same bytes.

    Parameters
    ----------
    figure : Figure
    slots : dict of str to int
        The slot of each label, from :func:`sparseauc.tabular.report.palette.slots`.

    Returns
    -------
    pictures : dict of str to bytes
        By "png" and "svg".
    """
    import matplotlib
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Whatever the user's matplotlibrc says; and no pyplot, which would open windows.
    with style.context("default"), matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A letter DejaVu does not have becomes a box here; the page shows it.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        columns = 1 if len(figure.panels) == 1 else 3 if len(figure.panels) in (3, 5, 6) else 2
        rows = math.ceil(len(figure.panels) / columns)
        width = 6.4 if columns == 1 else 4.2 * columns
        engine = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08, hspace=0.04, wspace=0.04)
        canvas = Canvas(figsize=(width, 3.1 * rows + 0.9), layout=engine)
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        for panel, ax in zip(figure.panels, axes, strict=False):
            _panel(ax, panel, slots)
        for ax in axes[len(figure.panels) :]:
            ax.set_axis_off()
        canvas.suptitle(_plain(figure.title), x=0.01, ha="left", fontsize=11, fontweight="bold")
        _legend(canvas, figure, slots, width)
        return {
            "png": _saved(canvas, "png", {"Title": figure.title, "Software": None}),
            "svg": _saved(canvas, "svg", {"Title": figure.title, "Date": None}),
        }


def _panel(ax: Axes, panel: Panel, slots: dict[str, int]) -> None:
    if panel.x_log:
        ax.set_xscale("log")
    if panel.y_log:
        ax.set_yscale("log")
    traces = geometry.traces(panel)
    bars = [trace for trace in traces if trace.series.style == "bars"]
    for order, trace in enumerate(traces):
        slot = slots[trace.series.label]
        if trace.series.style == "bars":
            _bars(ax, trace, slot, bars.index(trace), bars, panel)
        else:
            _line(ax, trace, slot, order)
    if panel.x_names:
        ax.set_xticks(range(len(panel.x_names)), [_plain(name) for name in panel.x_names])
        if sum(map(len, panel.x_names)) > 40:
            ax.tick_params(axis="x", rotation=30)
            for label in ax.get_xticklabels():
                label.set_horizontalalignment("right")
    elif ticks := geometry.log_ticks(panel):
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
    ax.set(
        title=_plain(panel.title), xlabel=_plain(panel.x_label), ylabel=_plain(panel.y_label),
        xlim=panel.x_range, ylim=panel.y_range,
    )  # fmt: skip
    if any(trace.series.style == "bars" for trace in traces):
        ax.grid(visible=False, axis="x")


def _line(ax: Axes, trace: geometry.Trace, slot: int, order: int) -> None:
    series, appearance = trace.series, look(slot)
    colour = LIGHT.series[appearance.colour]
    if trace.band:
        for x, y in geometry.outline(trace):
            ax.fill(x, y, color=colour, alpha=0.15, linewidth=0, zorder=1)
    elif trace.low is not None and trace.high is not None:
        _whiskers(ax, trace.x, trace, colour, 2)
    ax.plot(
        trace.x, trace.y, color=colour, zorder=3 + 0.01 * order,
        linestyle="none" if series.style == "points" else _dash(series.style, slot),
        linewidth=1.6, marker=_MARKERS[appearance.marker] if trace.markers else None,
        markersize=5, markeredgewidth=0,
        drawstyle="steps-post" if series.style == "steps" else "default",
    )  # fmt: skip


def _bars(
    ax: Axes, trace: geometry.Trace, slot: int, place: int, bars: list[geometry.Trace], panel: Panel
) -> None:
    """Draw one of several series of bars that share the room around each x."""
    to_line, from_line = (np.log10, lambda v: 10**v) if panel.x_log else (_same, _same)
    ticks = np.unique(np.concatenate([to_line(bar.x[np.isfinite(bar.x)]) for bar in bars]))
    room = 0.75 * (np.diff(ticks).min() if ticks.size > 1 else 1.0)
    width = room / len(bars)
    left = to_line(trace.x) - room / 2 + place * width
    ends = from_line(left), from_line(left + width)
    colour = LIGHT.series[look(slot).colour]
    ax.bar(ends[0], trace.y, width=ends[1] - ends[0], align="edge", color=colour, zorder=2)
    if trace.low is not None:
        _whiskers(ax, from_line(left + width / 2), trace, LIGHT.text, 3)


def _whiskers(ax: Axes, x: geometry.Array, trace: geometry.Trace, colour: str, order: int) -> None:
    assert trace.low is not None
    assert trace.high is not None
    error = np.nan_to_num(np.array([trace.y - trace.low, trace.high - trace.y]))
    ax.errorbar(
        x, trace.y, yerr=error, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2, zorder=order
    )


def _legend(canvas: Any, figure: Figure, slots: dict[str, int], width: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = legend_entries(figure)
    if not entries:
        return
    handles: list[Any] = []
    labels = []
    for label, series in entries.items():
        appearance = look(slots[label])
        colour = LIGHT.series[appearance.colour]
        if series.style == "bars":
            handles.append(Patch(color=colour))
        else:
            handles.append(
                Line2D(
                    [], [], color=colour, linewidth=1.6, markersize=5, markeredgewidth=0,
                    linestyle="none" if series.style == "points"
                    else _dash(series.style, slots[label]),
                    marker=None if series.style == "steps" else _MARKERS[appearance.marker],
                )
            )  # fmt: skip
        labels.append(label if series.in_paper else f"{label} {NOT_IN_PAPER}")
    if not all(series.in_paper for series in entries.values()):
        handles.append(Line2D([], [], linestyle="none"))
        labels.append(f"{NOT_IN_PAPER} not in the paper")
    legend = canvas.legend(
        handles, [str(place) for place in range(len(labels))], loc="outside lower left",
        ncols=_columns_that_fit(labels, width), fontsize=8.5, handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip
    # Afterwards: matplotlib leaves labels out that start with an underscore.
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(_plain(label))


def _columns_that_fit(labels: list[str], width: float) -> int:
    """Give the most columns of a legend that stays within ``width`` inches."""
    # By the eye: an average letter, and what stands before and after it.
    inches = [0.075 * len(label) + 0.62 for label in labels]
    for count in range(len(labels), 1, -1):
        rows = math.ceil(len(labels) / count)
        if sum(max(inches[a : a + rows]) for a in range(0, len(labels), rows)) <= width:
            return count
    return 1


def _dash(style: str, slot: int) -> Any:
    return _DASHES["dot" if style == "dashed" else look(slot).dash]


def _same(values: geometry.Array) -> geometry.Array:
    return values


def _plain(text: str) -> str:
    # Dollars would start a formula.
    return text.replace("$", r"\$")


def _saved(canvas: Any, kind: str, metadata: dict[str, str | None]) -> bytes:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()
