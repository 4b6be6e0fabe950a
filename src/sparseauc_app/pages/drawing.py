"""Figures drawn by matplotlib, as SVG in the page.

Pictures of the page take their colours from its style sheet, so they follow it from light to dark,
and carry what to read at each point, so that nothing is drawn twice and nothing needs a script.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sparseauc.plotting import COLOURS, QUIET, TEXT
from sparseauc.utils.text import printable
from sparseauc.utils.types import Array

from .elements import Display, Figure, Panel, Series
from .palette import LIGHT, all_series, look

# Lines of more points than this have no markers: they would run into each other.
MOST_MARKERS = 30
# Points of a series that can be read on a page.
MOST_READINGS = 200
# Width and height of a panel on the page, in pixels, by how many stand side by side.
_SIZES = {1: (460, 310), 2: (420, 300), 3: (330, 260)}

_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LIGHT["rule"],
    "axes.labelcolor": TEXT,
    "axes.titlecolor": TEXT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.8,
    "xtick.color": LIGHT["rule"],
    "ytick.color": LIGHT["rule"],
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "text.color": TEXT,
    "legend.frameon": False,
    "svg.hashsalt": "sparseauc",
}
_ON_PAGE: Any = {"svg.fonttype": "none", "font.size": 11.5, "axes.titlesize": 11.5}
# The style sheet's name of each colour that is drawn with.
_VARIABLES = {
    colour: f"var(--{name})" for name, colour in LIGHT.items() if name not in ("link", "accent")
}
Reading = tuple[float, float, str, int | None]


class Entry(NamedTuple):
    """A label of a legend: its swatch as SVG, and the slot of the series it stands for."""

    label: str
    swatch: str
    slot: int | None = None


class Picture(NamedTuple):
    """A panel as the page shows it; ``label`` says in words what can be seen."""

    title: str
    svg: str
    label: str
    legend: list[Entry]


def pictures(figure: Figure, slots: dict[str, int]) -> list[Picture]:
    """Draw each panel of a figure for the page; the same figure gives the same text."""
    with _style(_ON_PAGE):
        return [
            _picture(figure, panel, slots, f"{figure.name}-{place}-")
            for place, panel in enumerate(figure.panels)
        ]


def _picture(figure: Figure, panel: Any, slots: dict[str, int], mark: str) -> Picture:
    width, height = _SIZES[columns_of(figure)]
    canvas = Canvas(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
    ax = canvas.subplots()
    found = _draw(ax, panel, slots)
    handles, labels = ax.get_legend_handles_labels()
    title = ""
    if isinstance(panel, Panel):
        title = panel.title
        labels = list(dict.fromkeys(series.label for series in panel.series))
        entries = [] if _shares_legend(figure) else _entries(panel.series, slots, mark)
        ax.set_title("")
    else:
        entries = [
            Entry(_undone(label), _swatch(handle, f"{mark}{number}-"))
            for number, (handle, label) in enumerate(zip(handles, labels, strict=True))
        ]
        if legend := ax.get_legend():  # nothing may cover a curve
            legend.remove()
    words = f"{ax.get_ylabel()} against {ax.get_xlabel()}; {', '.join(labels)}"
    words = _undone(f"{title}: {words}" if title else words)
    return Picture(title, _inline(canvas, mark, ax, found), words, entries)


def legend_of(figure: Figure, slots: dict[str, int]) -> list[Entry]:
    """Legend above all panels of a figure; none where each panel has its own."""
    if not _shares_legend(figure):
        return []
    with _style(_ON_PAGE):
        return _entries(all_series(figure), slots, f"{figure.name}-")


def _shares_legend(figure: Figure) -> bool:
    """Whether two panels have a label in common, or there is only one panel."""
    labels = [
        {series.label for series in panel.series} if isinstance(panel, Panel) else set()
        for panel in figure.panels
    ]
    return len(labels) == 1 or len(set().union(*labels)) < sum(map(len, labels))


def _entries(series: Iterable[Series], slots: dict[str, int], mark: str) -> list[Entry]:
    return [
        Entry(label, _swatch(_handle(one, slot), f"{mark}legend-{slot}-"), slot)
        for label, one in _first(series).items()
        for slot in [slots[label]]
    ]


def columns_of(figure: Figure) -> int:
    """How many panels stand side by side."""
    count = len(figure.panels)
    return count if count < 4 else 2 if count == 4 else 3


def _first(series: Iterable[Series]) -> dict[str, Series]:
    """Each label's first series, which stands for it in a legend; one label needs none."""
    found: dict[str, Series] = {}
    for one in series:
        found.setdefault(one.label, one)
    return found if len(found) > 1 else {}


def _swatch(handle: Any, mark: str) -> str:
    """What a legend shows beside a label, drawn as the legend of matplotlib draws it."""
    canvas = Canvas(figsize=(34 / 72, 14 / 72), dpi=72)
    canvas.legend(
        [handle], [" "], loc="center", borderpad=0, borderaxespad=0, handletextpad=0,
        handlelength=2.6, fontsize=10,
    )  # fmt: skip
    return _inline(canvas, mark)


def _inline(canvas: Any, mark: str, ax: Any = None, readings: Any = ()) -> str:
    """Turn a drawing into SVG that stands in a page: its colours, names unlike all others."""
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    canvas.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith("}style"):
                parent.remove(child)  # it would hold for the whole page
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.text = (element.text or "").strip("\n ") or None
        element.tail = None
        attributes = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        element.attrib.clear()
        for name, value in attributes.items():
            element.attrib.update(_attribute(element.tag, name, value, mark))
    height = canvas.bbox.height
    group = ElementTree.SubElement(root, "g", {"class": "readings"})
    for x, y, text, slot in readings:
        across, up = ax.transData.transform((x, y))
        if np.isfinite([across, up]).all() and ax.bbox.padded(2).contains(across, up):
            place = {"cx": f"{across:.1f}", "cy": f"{height - up:.1f}", "r": "7"}
            of = {} if slot is None else {"data-series": str(slot)}
            point = ElementTree.SubElement(group, "circle", place | of)
            ElementTree.SubElement(point, "title").text = text
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(tag: str, name: str, value: str, mark: str) -> dict[str, str]:
    """An attribute as it stands in the page."""
    if tag == "svg":
        return {name: value} if name == "viewBox" else {}
    if name == "id":
        if tag != "g":
            return {"id": mark + value}
        return {"data-series": value[7:]} if value.startswith("series-") else {}
    if name == "href":
        return {"href": f"#{mark}{value[1:]}"}
    if name == "clip-path":
        return {"clip-path": value.replace("#", f"#{mark}")}
    if name == "style":
        value = re.sub(r"font-family: [^;]*;? ?", "", value)
        value = re.sub("#[0-9a-f]{6}", lambda found: _VARIABLES.get(found[0], found[0]), value)
        return {"style": value.rstrip("; ")} if value else {}
    if name in ("d", "x", "y", "transform"):
        value = re.sub(r"(\.\d\d)\d+", r"\1", value).replace("\n", " ").strip()
    return {name: value}


@contextmanager
def _style(settings: dict[str, Any]) -> Iterator[None]:
    """Draw as pages are drawn, whatever the user's matplotlibrc says."""
    ours = {**_SETTINGS, "axes.prop_cycle": cycler(color=COLOURS), **settings}
    with style.context("default"), matplotlib.rc_context(ours), warnings.catch_warnings():
        # The page shows a letter that DejaVu does not have.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def _draw(
    ax: Axes, panel: Panel | Callable[[Any], Display], slots: dict[str, int]
) -> list[Reading]:
    """Draw a panel, and return what to read at its points."""
    if isinstance(panel, Panel):
        return _panel(ax, panel, slots)
    return [(*reading, None) for reading in panel(ax).readings_]


class Trace(NamedTuple):
    """A series with NaN wherever a point cannot be drawn, and the ends of its errors if any."""

    series: Series
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


def _trace(series: Series) -> Trace:
    x = np.array(series.x, np.float64)
    y = np.array(series.y, np.float64)
    missing = ~(np.isfinite(x) & np.isfinite(y))
    x[missing] = np.nan
    y[missing] = np.nan
    if series.error is None:
        return Trace(series, x, y)
    error = np.array(series.error, np.float64)
    down, up = np.where(np.isfinite(error), error, 0) * np.ones((2, 1))
    return Trace(series, x, y, y - down, y + up)


def _panel(ax: Axes, panel: Panel, slots: dict[str, int]) -> list[Reading]:
    placed = [_trace(series) for series in panel.series]
    bars = [trace for trace in placed if trace.series.style == "bars"]
    readings: list[Reading] = []
    for order, trace in enumerate(placed):
        slot = slots[trace.series.label]
        if trace.series.style == "bars":
            x = _bars(ax, trace, slot, bars.index(trace), bars)
        else:
            x = trace.x
            _line(ax, trace, slot, order)
        readings += _readings(panel, trace, x, slot)
    if panel.x_names:
        ax.set_xticks(range(len(panel.x_names)), [_plain(name) for name in panel.x_names])
        if sum(map(len, panel.x_names)) > 40:
            ax.tick_params(axis="x", rotation=30)
            for label in ax.get_xticklabels():
                label.set_horizontalalignment("right")
    else:
        ax.locator_params(axis="x", nbins=6)  # long numbers would touch in narrow panels
    ax.set(
        title=_plain(panel.title), xlabel=_plain(panel.x_label), ylabel=_plain(panel.y_label),
        xlim=panel.x_range, ylim=panel.y_range,
    )  # fmt: skip
    if bars:
        ax.grid(visible=False, axis="x")
    return readings


def _readings(panel: Panel, trace: Trace, x: Array, slot: int) -> list[Reading]:
    """What each point says, rounded; of many points some, evenly spread."""
    series, points = trace.series, np.flatnonzero(np.isfinite(trace.x) & np.isfinite(trace.y))
    if points.size > MOST_READINGS:
        points = points[np.linspace(0, points.size - 1, MOST_READINGS).astype(np.intp)]
    found: list[Reading] = []
    for i in points.tolist():
        if series.text is not None:
            text = series.text[i]
            if not text:
                continue
        else:
            value = float(trace.x[i])
            named = panel.x_names and value.is_integer() and 0 <= value < len(panel.x_names)
            where = panel.x_names[int(value)] if named else f"{panel.x_label}: {value:.4g}"
            text = f"{series.label}\n{where}\n{panel.y_label}: {trace.y[i]:.4g}"
            if trace.low is not None and trace.high is not None:
                if isinstance(series.error, tuple):
                    text += f" ({trace.low[i]:.3g} to {trace.high[i]:.3g})"
                else:
                    text += f" ± {trace.high[i] - trace.y[i]:.2g}"
        found.append((float(x[i]), float(trace.y[i]), text, slot))
    return found


def _handle(series: Series, slot: int) -> Any:
    """What stands for a series in a legend."""
    if series.style == "bars":
        return Patch(color=look(slot).colour)
    return Line2D([], [], **_stroke(series, slot))


def _stroke(series: Series, slot: int) -> dict[str, Any]:
    """How the line of a series is drawn, in its panel and in the legend."""
    appearance = look(slot)
    marked = series.style == "points" or (series.style == "line" and len(series.x) <= MOST_MARKERS)
    dash = {"points": "none", "dashed": (0, (1.5, 1.5))}.get(series.style, appearance.dash)
    return {
        "color": appearance.colour, "linestyle": dash,
        "linewidth": 1.2 if series.style == "dashed" else 1.6,
        "marker": appearance.marker if marked else None, "markersize": 5, "markeredgewidth": 0,
    }  # fmt: skip


def _line(ax: Axes, trace: Trace, slot: int, order: int) -> None:
    series, stroke, gid = trace.series, _stroke(trace.series, slot), f"series-{slot}"
    step = series.style == "steps"
    if series.style == "points":
        _whiskers(ax, trace.x, trace, stroke["color"], 2, gid)
    elif trace.low is not None and trace.high is not None:
        ax.fill_between(
            trace.x, trace.low, trace.high, color=stroke["color"], alpha=0.15, linewidth=0,
            zorder=1, step="post" if step else None, gid=gid,
        )  # fmt: skip
    ax.plot(
        trace.x, trace.y, **stroke, zorder=3 + 0.01 * order, gid=gid,
        drawstyle="steps-post" if step else "default",
    )  # fmt: skip


def _bars(ax: Axes, trace: Trace, slot: int, place: int, bars: list[Trace]) -> Array:
    """Draw one of several series of bars that share the room around each x; return the middles."""
    ticks = np.unique(np.concatenate([bar.x[np.isfinite(bar.x)] for bar in bars]))
    room = 0.75 * (np.diff(ticks).min() if ticks.size > 1 else 1.0)
    width = room / len(bars)
    middle: Array = trace.x - room / 2 + (place + 0.5) * width
    gid = f"series-{slot}"
    ax.bar(middle, trace.y, width=width, color=look(slot).colour, zorder=2, gid=gid)
    _whiskers(ax, middle, trace, TEXT, 3, gid)
    return middle


def _whiskers(ax: Axes, x: Array, trace: Trace, colour: str, order: int, gid: str) -> None:
    if trace.low is None or trace.high is None:
        return
    error = np.nan_to_num(np.array([trace.y - trace.low, trace.high - trace.y]))
    _, caps, lines = ax.errorbar(
        x, trace.y, yerr=error, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2, zorder=order
    )
    for artist in (*caps, *lines):
        artist.set_gid(gid)


def _plain(text: str) -> str:
    # Dollars would start a formula; SVG has no control characters.
    return printable(text).replace("$", r"\$")


def _undone(text: str) -> str:
    return text.replace(r"\$", "$")
