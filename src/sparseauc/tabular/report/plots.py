"""Figures as plotly understands them, but for the colours, which the page fills in by its theme."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from . import geometry
from .elements import Figure, Panel, Series
from .palette import look

NOT_IN_PAPER = "†"


def plot(figure: Figure, slots: dict[str, int]) -> list[dict[str, Any]]:
    """Describe the panels of a figure for plotly.js.

    Parameters
    ----------
    figure : Figure
    slots : dict of str to int
        The slot of each label, from :func:`sparseauc.tabular.report.palette.slots`.

    Returns
    -------
    panels : list of dict
        For each panel its ``layout`` and its ``traces``: each with ``trace`` (plotly's), ``label``,
        ``colour`` (index into the theme's series colours) and ``part`` ("band", "line" or "bar").
        Plain lists, strings and numbers, NaN as None.
    """
    return [
        {"layout": _layout(panel), "traces": _traces(panel, slots), "label": describe(panel)}
        for panel in figure.panels
    ]


def describe(panel: Panel) -> str:
    """Say in words what a panel shows, for those who cannot see it."""
    head = f"{panel.title}: " if panel.title else ""
    labels = ", ".join(dict.fromkeys(series.label for series in panel.series))
    return f"{head}{panel.y_label} against {panel.x_label}; {labels}"


def legend_entries(figure: Figure) -> dict[str, Series]:
    """Give each label's first series, which stands for it in the legend; none for one label."""
    entries: dict[str, Series] = {}
    for panel in figure.panels:
        for series in panel.series:
            entries.setdefault(series.label, series)
    return entries if len(entries) > 1 else {}


def _layout(panel: Panel) -> dict[str, Any]:
    traces = geometry.traces(panel)
    x_axis = _axis(panel.x_label, panel.x_log, panel.x_range, [trace.x for trace in traces])
    y_axis = _axis(panel.y_label, panel.y_log, panel.y_range, [trace.y for trace in traces])
    if any(trace.series.style == "bars" for trace in traces):
        x_axis["showgrid"] = False
    if panel.x_names:
        x_axis |= {
            "tickmode": "array",
            "tickvals": list(range(len(panel.x_names))),
            "ticktext": [_shown(name) for name in panel.x_names],
        }
    elif ticks := geometry.log_ticks(panel):
        x_axis |= {
            "tickmode": "array",
            "tickfont": {"size": 12},
            "tickvals": ticks,
            "ticktext": [f"{tick:g}" for tick in ticks],
        }
    return {
        "xaxis": x_axis,
        "yaxis": y_axis,
        "barmode": "group",
        "bargap": 0.25,
    }


def _axis(
    label: str, log: bool, ends: tuple[float, float] | None, values: list[geometry.Array]
) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "title": {"text": _shown(label), "standoff": 8, "font": {"size": 13}},
        "automargin": True,
        "zeroline": False,
        "exponentformat": "power",
    }
    if log:
        axis["type"] = "log"
        known = np.concatenate([*values, np.array(ends or ())])
        known = known[known > 0]
        # Over a stretch this long powers of ten are enough; over a shorter one there may be none.
        if known.size and known.max() > 30 * known.min():
            decades = np.log10(known.max() / known.min())
            # plotly sets powers a quarter larger than other numbers.
            axis |= {"dtick": int(np.ceil(decades / 6)), "tickfont": {"size": 9.6}}
    if ends is not None:
        axis["range"] = [float(end) for end in (np.log10(ends) if log else ends)]
    return axis


def _traces(panel: Panel, slots: dict[str, int]) -> list[dict[str, Any]]:
    # Bands first: no line may lie under the band of another.
    traces = geometry.traces(panel)
    bands = [_band(trace) for trace in traces if trace.band]
    lines = [_line(trace, panel, slots[trace.series.label]) for trace in traces]
    return [
        {
            "trace": body,
            "label": label,
            "colour": look(slots[label]).colour,
            "part": part,
        }
        for label, part, body in bands + lines
    ]


def _band(trace: geometry.Trace) -> tuple[str, str, dict[str, Any]]:
    x: list[float | None] = []
    y: list[float | None] = []
    for edge_x, edge_y in geometry.outline(trace):
        x += [*_values(edge_x), None]
        y += [*_values(edge_y), None]
    return (
        trace.series.label,
        "band",
        {
            "type": "scatter",
            "mode": "lines",
            "x": x[:-1],
            "y": y[:-1],
            "fill": "toself",
            "line": {"width": 0},
            "hoverinfo": "skip",
        },
    )


def _line(trace: geometry.Trace, panel: Panel, slot: int) -> tuple[str, str, dict[str, Any]]:
    series, appearance = trace.series, look(slot)
    body: dict[str, Any] = {
        "x": _values(trace.x),
        "y": _values(trace.y),
        "name": shown_label(series.label, series.in_paper),
        "meta": [
            shown_label(series.label, series.in_paper), _shown(panel.x_label), _shown(panel.y_label)
        ],
        "hovertemplate": _hover(trace, panel),
    }  # fmt: skip
    if panel.x_names:
        body["text"] = [
            _shown(panel.x_names[int(x)])
            if np.isfinite(x) and x == int(x) and 0 <= x < len(panel.x_names)
            else ""
            for x in trace.x
        ]
        body["textposition"] = "none"
    if trace.low is not None and trace.high is not None:
        body["customdata"] = _values(trace.high - trace.y)
        if not trace.band:
            body["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": _values(trace.high - trace.y),
                "arrayminus": _values(trace.y - trace.low),
                "thickness": 1,
                "width": 3,
            }
    if series.style == "bars":
        return series.label, "bar", body | {"type": "bar"}
    dash = "dot" if series.style == "dashed" else appearance.dash
    mode = "markers" if series.style == "points" else "lines"
    body |= {
        "type": "scatter",
        "mode": f"{mode}+markers" if trace.markers and mode == "lines" else mode,
        "line": {"width": 2, "dash": dash, "shape": "hv" if series.style == "steps" else "linear"},
        "marker": {"size": 7, "symbol": appearance.marker},
    }
    if "textposition" in body:
        del body["textposition"]
    return series.label, "line", body


def _hover(trace: geometry.Trace, panel: Panel) -> str:
    where = "%{text}" if panel.x_names else "%{meta[1]}: %{x}"
    error = " ± %{customdata:.2~g}" if trace.low is not None else ""
    return f"<b>%{{meta[0]}}</b><br>{where}<br>%{{meta[2]}}: %{{y:.4~g}}{error}<extra></extra>"


def shown_label(label: str, in_paper: bool) -> str:
    """Label of a series as plotly sets it, marked where it is not the paper's."""
    return _shown(label if in_paper else f"{label} {NOT_IN_PAPER}")


def _shown(text: str) -> str:
    # plotly reads a little HTML in all its text, formulas between dollars and %{variables}; ours is
    # only text.
    return escape(text, quote=False).replace("$", "&#36;").replace("%{", "&#37;{")


def _values(array: geometry.Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in array.tolist()]
