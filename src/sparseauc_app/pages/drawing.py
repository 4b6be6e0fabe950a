"""Figures as pictures that stand in the page: where all is, which ``picture.j2`` writes as SVG.

Pictures take their colours from the page's style sheet, so they follow it from light to
dark, and carry what to read at each point.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from sparseauc.plotting import BACKGROUND, COLOURS, PALE, QUIET, TEXT
from sparseauc.utils.types import Array, Indices

from ..formatting import round_ticks
from .elements import Figure, Panel, Series, Style

# The style sheet's colours by day and by night: the same hues, lighter, since on a dark
# page the colours of a white one are too dim to follow. Text stands out by a contrast
# of 4.5 or more.
_BY_NIGHT = (
    "#4a9fe0",
    "#f08040",
    "#2dbf94",
    "#e294c2",
    "#9bdcff",
    "#f5bd3d",
    "#e4e2dc",
)
_SERIES = [*zip(COLOURS, _BY_NIGHT, strict=True)]
_THEMES = {
    **{f"series-{i}": pair for i, pair in enumerate(_SERIES)},
    "background": (BACKGROUND, "#15181c"),
    "surface": ("#f6f5f1", "#1d2126"),
    "text": (TEXT, "#e4e2dc"),
    "quiet": (QUIET, "#a3a8ae"),
    "pale": (PALE, "#4b5158"),
    "rule": ("#d9d7d0", "#373c43"),
    "grid": ("#e9e7e1", "#2a2f35"),
    "link": ("#0b5a8f", "#7fbdec"),
    "accent": ("#0b5a8f", "#7fbdec"),
    "caution": ("#8a4300", "#f0b070"),
    "caution-surface": ("#fdf3e7", "#2b2118"),
    "finding": ("#0f6146", "#74d0ab"),
    "finding-surface": ("#ecf6f1", "#16261f"),
}
LIGHT = {name: colours[0] for name, colours in _THEMES.items()}
DARK = {name: colours[1] for name, colours in _THEMES.items()}


# Width and height of a panel in pixels, by how many stand side by side.
_SIZES = {1: (540, 340), 2: (448, 310), 3: (290, 230)}
# Width of an average letter, and of a digit.
_LETTER = 6.2
_DIGIT = 7.1
# Pixels between ticks, about.
_BETWEEN_X = 52
_BETWEEN_Y = 38
# Lines of fewer points than this are drawn with markers.
_FEW_POINTS = 10
# Points of a series that can be read.
_MOST_READINGS = 200
# Names below an axis with more letters than this are slanted.
_MOST_LETTERS = 40


class Entry(NamedTuple):
    """A label of a legend: how its series is drawn, and its number in the figure."""

    label: str
    number: int
    style: Style
    colour: int


class Shape(NamedTuple):
    """A series as it is drawn: paths in pixels, and what is read at its points."""

    number: int
    style: Style
    colour: int
    area: str
    line: str
    whiskers: str
    markers: list[tuple[float, float]]
    readings: list[tuple[float, float, str]]


class Picture(NamedTuple):
    """A panel as the page shows it; ``label`` says in words what can be seen."""

    title: str
    label: str
    legend: list[Entry]
    width: float
    height: float
    x: "_Axis"
    y: "_Axis"
    x_label: str
    y_label: str
    slanted: bool
    shapes: list[Shape]


class Drawing(NamedTuple):
    """A figure as the page shows it: panels, with a legend of all or of each."""

    legend: list[Entry]
    abreast: int
    panels: list[Picture]


def draw(figure: Figure) -> Drawing:
    """Draw a figure; the same figure gives the same picture."""
    labels = [
        list(dict.fromkeys(one.label for one in panel.series))
        for panel in figure.panels
    ]
    # A label has the same number, and colour, in all panels.
    numbers = {
        label: number for number, label in enumerate(dict.fromkeys(chain(*labels)))
    }
    shared = len(labels) == 1 or len(numbers) < sum(map(len, labels))
    abreast = {4: 2}.get(len(labels), min(len(labels), 3))
    pictures = [_draw_panel(panel, _SIZES[abreast], numbers) for panel in figure.panels]
    if not shared:
        return Drawing([], abreast, pictures)
    every = [one for panel in figure.panels for one in panel.series]
    bare = [picture._replace(legend=[]) for picture in pictures]
    return Drawing(_make_legend(every, numbers), abreast, bare)


def _make_legend(series: Sequence[Series], numbers: dict[str, int]) -> list[Entry]:
    """Make an entry for each label; one label needs none."""
    first: dict[str, Series] = {}
    for one in series:
        first.setdefault(one.label, one)
    if len(first) < 2:
        return []
    return [
        Entry(label, numbers[label], one.style, _colour(one, numbers[label]))
        for label, one in first.items()
    ]


def _colour(series: Series, number: int) -> int:
    return (number if series.colour is None else series.colour) % len(_SERIES)


# --------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class _Axis:
    """A range of numbers along pixels, and its ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[float]
    names: Sequence[str]

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Pixel and name of each tick."""
        places = np.round(self.place(np.array(self.ticks)), 1).tolist()
        return [*zip(places, self.names, strict=True)]

    def place(self, values: Array) -> Array:
        """Pixels of numbers."""
        share = (values - self.low) / (self.high - self.low)
        pixels: Array = self.start + share * (self.end - self.start)
        return pixels


def _write_ticks(ticks: Sequence[float]) -> list[str]:
    """Write numbers to as many decimals as tell them apart."""
    exact = [f"{tick:.7f}".rstrip("0") for tick in ticks]
    decimals = max((len(text.partition(".")[2]) for text in exact), default=0)
    far_from_one = decimals > 5 or max(map(abs, ticks), default=0.0) >= 1e6
    form = ".4g" if far_from_one else f".{decimals}f"
    return [format(tick, form).replace("-", "−") for tick in ticks]


def _range(
    values: Sequence[Array], given: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the ends of an axis: those given, or a little beyond the numbers."""
    if given is not None:
        return given
    known = np.concatenate([np.empty(0), *values])
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    low = float(known.min())
    high = float(known.max())
    room = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    return low - room, high + room


# ------------------------------------------------------------------------------- panels


def _draw_panel(
    panel: Panel, size: tuple[int, int], numbers: dict[str, int]
) -> Picture:
    """Place the axes and series of a panel."""
    width, height = size
    bars = list(dict.fromkeys(one.label for one in panel.series if one.style == "bars"))
    placed = [_place(one, bars) for one in panel.series]
    heights = [values for one in placed for values in (one.y, one.low, one.high)]
    if bars:
        heights.append(np.zeros(1))
    y_low, y_high = _range(heights, panel.y_range)
    if bars and panel.y_range is None:
        y_low = 0.0
    slanted = sum(map(len, panel.x_names)) > _MOST_LETTERS
    bottom = height - 44.0
    if slanted:
        bottom -= 0.5 * _LETTER * max(map(len, panel.x_names))
    y_ticks = round_ticks(y_low, y_high, bottom / _BETWEEN_Y)
    y_names = _write_ticks(y_ticks)
    left = round(30 + _DIGIT * max((len(text) for text in y_names), default=0), 1)
    right = left + bottom - 8 if panel.square else width - 12.0
    x_low, x_high = _range([one.x for one in placed], panel.x_range)
    if panel.x_names:
        x_low = -0.5
        x_high = len(panel.x_names) - 0.5
    x_ticks: Sequence[float] = round_ticks(x_low, x_high, (right - left) / _BETWEEN_X)
    x_names: Sequence[str] = _write_ticks(x_ticks)
    if panel.x_names:
        x_ticks = range(len(panel.x_names))
        x_names = panel.x_names
    x = _Axis(x_low, x_high, left, right, x_ticks, x_names)
    y = _Axis(y_low, y_high, bottom, 8.0, y_ticks, y_names)
    words = f"{panel.y_label} against {panel.x_label}"
    return Picture(
        title=panel.title,
        label=f"{panel.title + ': ' if panel.title else ''}{words}; "
        + ", ".join(dict.fromkeys(one.label for one in panel.series)),
        legend=_make_legend(panel.series, numbers),
        width=width,
        height=height,
        x=x,
        y=y,
        x_label=panel.x_label,
        y_label=panel.y_label,
        slanted=slanted,
        shapes=[
            _draw_series(panel, one, x, y, numbers[one.series.label]) for one in placed
        ],
    )


# ------------------------------------------------------------------------------- series


@dataclass(frozen=True)
class _Placed:
    """The numbers of a series where they are drawn, and the width of its bars."""

    series: Series
    x: Array
    y: Array
    low: Array
    high: Array
    width: float = 0.0


def _place(series: Series, bars: list[str]) -> _Placed:
    """Place a series; those of bars share the room around each x."""
    low = series.y if series.low is None else series.low
    high = series.y if series.high is None else series.high
    numbers = np.array([series.x, series.y, low, high], np.float64)
    x, y, low, high = np.where(np.isfinite(numbers[:2]).all(axis=0), numbers, np.nan)
    if series.style != "bars":
        return _Placed(series, x, y, low, high)
    width = 0.75 / len(bars)
    middle = x + width * (bars.index(series.label) - (len(bars) - 1) / 2)
    return _Placed(series, middle, y, low, high, width)


def _draw_series(
    panel: Panel, one: _Placed, x_axis: _Axis, y_axis: _Axis, number: int
) -> Shape:
    series = one.series
    x = x_axis.place(one.x)
    y = y_axis.place(one.y)
    known = np.flatnonzero(np.isfinite(x))
    low = y_axis.place(one.low)[known]
    high = y_axis.place(one.high)[known]
    pointed = series.style in ("points", "ring", "bars")
    area = ""
    if series.style == "bars":
        floor = float(y_axis.place(np.zeros(1))[0])
        half = (x_axis.end - x_axis.start) * one.width / (x_axis.high - x_axis.low) / 2
        area = _bars(x[known], y[known], floor, half)
    elif series.low is not None and not pointed:
        area = _band(series.style, x[known], low, high)
    whiskers = ""
    if series.low is not None and pointed:
        whiskers = "".join(
            f"M{at - 2:.1f} {a:.1f}h4M{at:.1f} {a:.1f}V{b:.1f}M{at - 2:.1f} {b:.1f}h4"
            for at, a, b in zip(x[known], low, high, strict=True)
        )
    few = series.style == "line" and known.size < _FEW_POINTS
    marked = known if few or series.style in ("points", "ring") else known[:0]
    return Shape(
        number=number,
        style=series.style,
        colour=_colour(series, number),
        area=area,
        line="" if pointed or series.style == "band" else _line(x, y, series.style),
        whiskers=whiskers,
        markers=_points(x, y, marked),
        readings=_read(panel, one, x_axis, y_axis),
    )


def _points(x: Array, y: Array, places: Indices) -> list[tuple[float, float]]:
    """Pixels of some points."""
    return [(round(float(x[i]), 1), round(float(y[i]), 1)) for i in places]


def _line(x: Array, y: Array, style: str) -> str:
    """Write the path of a line, which is interrupted where a point is missing."""
    parts = []
    begins = True
    for across, up in zip(x.tolist(), y.tolist(), strict=True):
        if math.isnan(across):
            begins = True
        elif begins:
            parts.append(f"M{across:.1f} {up:.1f}")
            begins = False
        elif style == "steps":
            parts.append(f"H{across:.1f}V{up:.1f}")
        else:
            parts.append(f"L{across:.1f} {up:.1f}")
    return "".join(parts)


def _band(style: Style, x: Array, low: Array, high: Array) -> str:
    """Write the path of the area between the ends of the intervals."""
    if style == "steps":
        # Each level holds until the next x.
        x = np.repeat(x, 2)[1:]
        low = np.repeat(low, 2)[:-1]
        high = np.repeat(high, 2)[:-1]
    return _line(np.append(x, x[::-1]), np.append(high, low[::-1]), "line") + "Z"


def _bars(x: Array, y: Array, floor: float, half: float) -> str:
    return "".join(
        f"M{at - half:.1f} {floor:.1f}V{up:.1f}h{2 * half:.1f}V{floor:.1f}Z"
        for at, up in zip(x, y, strict=True)
    )


def _read(
    panel: Panel, one: _Placed, x_axis: _Axis, y_axis: _Axis
) -> list[tuple[float, float, str]]:
    """Say what points say; of many points some, evenly spread; nothing of references."""
    if one.series.style in ("band", "dashed"):
        return []
    inside = (one.x >= x_axis.low) & (one.x <= x_axis.high)
    inside &= (one.y >= y_axis.low) & (one.y <= y_axis.high)
    points = np.flatnonzero(inside)
    if points.size > _MOST_READINGS:
        points = points[np.linspace(0, points.size - 1, _MOST_READINGS).astype(np.intp)]
    places = _points(x_axis.place(one.x), y_axis.place(one.y), points)
    texts = [_reading(panel, one, i) for i in points.tolist()]
    return [(*place, text) for place, text in zip(places, texts, strict=True) if text]


def _reading(panel: Panel, one: _Placed, i: int) -> str:
    series = one.series
    if series.text is not None:
        return series.text[i]
    value = float(series.x[i])
    where = f"{panel.x_label}: {value:.4g}"
    if panel.x_names and value.is_integer() and 0 <= value < len(panel.x_names):
        where = panel.x_names[int(value)]
    text = f"{series.label}\n{where}\n{panel.y_label}: {one.y[i]:.4g}"
    if series.low is not None:
        text += f" ({one.low[i]:.3g} to {one.high[i]:.3g})"
    return text
