"""Figures drawn as SVG that stands in the page.

Pictures take their colours from the page's style sheet, so they follow it from light to dark, and
carry what to read at each point.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import NamedTuple

import numpy as np

from sparseauc.plotting import BACKGROUND, COLOURS, PALE, QUIET, TEXT
from sparseauc.utils.text import printable
from sparseauc.utils.types import Array

from .elements import Figure, Panel, Series

# The style sheet's colours by day and by night: the same hues, lighter, since on a dark page the
# colours of a white one are too dim to follow. Text stands out by a contrast of 4.5 or more.
_BY_NIGHT = ("#4a9fe0", "#f08040", "#2dbf94", "#e294c2", "#9bdcff", "#f5bd3d", "#e4e2dc")
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
_FONT = 11.5
# Width of an average letter, and of a digit.
_LETTER = 0.54 * _FONT
_DIGIT = 0.62 * _FONT
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
    """A label of a legend, its swatch as SVG, and the number of its series in the figure."""

    label: str
    swatch: str
    number: int


class Picture(NamedTuple):
    """A panel as the page shows it; ``label`` says in words what can be seen."""

    title: str
    svg: str
    label: str
    legend: list[Entry]


class Drawing(NamedTuple):
    """A figure as the page shows it: panels, with a legend of all or of each."""

    legend: list[Entry]
    abreast: int
    panels: list[Picture]


def draw(figure: Figure) -> Drawing:
    """Draw a figure; the same figure gives the same text."""
    labels = [list(dict.fromkeys(one.label for one in panel.series)) for panel in figure.panels]
    # A label has the same number, and colour, in all panels.
    numbers = {label: number for number, label in enumerate(dict.fromkeys(chain(*labels)))}
    shared = len(labels) == 1 or len(numbers) < sum(map(len, labels))
    abreast = {4: 2}.get(len(labels), min(len(labels), 3))
    pictures = []
    for place, (panel, named) in enumerate(zip(figure.panels, labels, strict=True)):
        words = f"{panel.y_label} against {panel.x_label}; {', '.join(named)}"
        if panel.title:
            words = f"{panel.title}: {words}"
        svg = _draw_panel(panel, _SIZES[abreast], f"{figure.name}-{place}", numbers)
        legend = [] if shared else _make_legend(panel.series, numbers)
        pictures.append(Picture(panel.title, svg, words, legend))
    every = [one for panel in figure.panels for one in panel.series]
    return Drawing(_make_legend(every, numbers) if shared else [], abreast, pictures)


def _make_legend(series: Sequence[Series], numbers: dict[str, int]) -> list[Entry]:
    """Make an entry for each label; one label needs none."""
    first: dict[str, Series] = {}
    for one in series:
        first.setdefault(one.label, one)
    if len(first) < 2:
        return []
    return [
        Entry(label, _draw_swatch(one, numbers[label]), numbers[label])
        for label, one in first.items()
    ]


def _draw_swatch(series: Series, number: int) -> str:
    if series.style in ("bars", "band"):
        opacity = 0.2 if series.style == "band" else 1
        shape = (
            f'<rect x="3" y="3" width="28" height="8" style="{_FILL}; fill-opacity: {opacity}"/>'
        )
    elif series.style in ("points", "ring"):
        shape = _marker(17, 7, series.style)
    else:
        shape = f'<path d="M3 7H31" style="{_stroke(series.style)}"/>'
    return _svg(34, 14, f'<g style="{_colour(series, number)}">{shape}</g>')


def _svg(width: float, height: float, content: str) -> str:
    return f'<svg viewBox="0 0 {width:g} {height:g}">{content}</svg>'


_FILL = "fill: currentColor"


def _colour(series: Series, number: int) -> str:
    """The colour of all that is drawn of a series."""
    number = number if series.colour is None else series.colour
    return f"color: var(--series-{number % len(_SERIES)})"


def _stroke(style: str) -> str:
    dashes = "; stroke-width: 1.2; stroke-dasharray: 1.5 2" if style == "dashed" else ""
    return f"fill: none; stroke: currentColor; stroke-width: 1.6{dashes}"


def _marker(x: float, y: float, style: str) -> str:
    radius = 4.5 if style == "ring" else 2.6
    ring = "fill: var(--background); stroke: currentColor; stroke-width: 1.4"
    look = ring if style == "ring" else _FILL
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" style="{look}"/>'


# ------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class _Axis:
    """A range of numbers along pixels, and its ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[float]

    def place(self, values: Array) -> Array:
        """Pixels of numbers."""
        share = (values - self.low) / (self.high - self.low)
        pixels: Array = self.start + share * (self.end - self.start)
        return pixels


def round_ticks(low: float, high: float, about: float) -> list[float]:
    """Return round numbers within a range, about as many as asked for."""
    step = (high - low) / max(2.0, about)
    power = 10.0 ** math.floor(math.log10(step))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= 0.999 * step)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Rounded: 3 × 0.1 is 0.30000000000000004.
    digits = 12 - math.floor(math.log10(step))
    return [round(place * step, digits) + 0.0 for place in range(first, last + 1)]


def _write_ticks(ticks: Sequence[float]) -> list[str]:
    """Write numbers to as many decimals as tell them apart."""
    exact = [f"{tick:.7f}".rstrip("0") for tick in ticks]
    decimals = max((len(text.partition(".")[2]) for text in exact), default=0)
    far_from_one = decimals > 5 or max(map(abs, ticks), default=0.0) >= 1e6
    form = ".4g" if far_from_one else f".{decimals}f"
    return [format(tick, form).replace("-", "−") for tick in ticks]


def _range(values: Sequence[Array], given: tuple[float, float] | None) -> tuple[float, float]:
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


# ------------------------------------------------------------------------------------------ panels


def _draw_panel(panel: Panel, size: tuple[int, int], mark: str, numbers: dict[str, int]) -> str:
    """Draw the axes and series of a panel; ``mark`` begins the names in the picture."""
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
    labels = _write_ticks(y_ticks)
    left = 30 + _DIGIT * max((len(text) for text in labels), default=0)
    right = width - 12.0
    if panel.square:
        right = left + bottom - 8
    x_low, x_high = _range([one.x for one in placed], panel.x_range)
    if panel.x_names:
        x_low = -0.5
        x_high = len(panel.x_names) - 0.5
    x_ticks: list[float] = round_ticks(x_low, x_high, (right - left) / _BETWEEN_X)
    names = _write_ticks(x_ticks)
    if panel.x_names:
        x_ticks = [float(place) for place in range(len(panel.x_names))]
        names = list(panel.x_names)
    x_axis = _Axis(x_low, x_high, left, right, x_ticks)
    y_axis = _Axis(y_low, y_high, bottom, 8.0, y_ticks)
    clip = f"{mark}-clip"
    area = f'x="{left:.1f}" y="4" width="{right - left:.1f}" height="{bottom - 4:.1f}"'
    drawn = "".join(_draw_series(one, x_axis, y_axis, numbers[one.series.label]) for one in placed)
    readings = "".join(
        _draw_readings(panel, one, x_axis, y_axis, numbers[one.series.label]) for one in placed
    )
    return _svg(
        width,
        height,
        f'<clipPath id="{clip}"><rect {area}/></clipPath>'
        + _draw_axes(panel, x_axis, y_axis, names, labels, slanted=slanted)
        + f'<g clip-path="url(#{clip})">{drawn}</g>'
        + f'<g class="readings">{readings}</g>',
    )


def _draw_axes(
    panel: Panel, x: _Axis, y: _Axis, names: list[str], labels: list[str], *, slanted: bool
) -> str:
    """Draw the grid, the ticks and their labels, and what the axes are."""
    along = x.place(np.array(x.ticks)).tolist()
    up = y.place(np.array(y.ticks)).tolist()
    has_bars = any(one.style == "bars" for one in panel.series)
    vertical = "" if has_bars else "".join(f"M{at:.1f} {y.start:.1f}V{y.end:.1f}" for at in along)
    grid = vertical + "".join(f"M{x.start:.1f} {at:.1f}H{x.end:.1f}" for at in up)
    frame = f"M{x.start:.1f} {y.end:.1f}V{y.start:.1f}H{x.end:.1f}"
    parts = [
        f'<path d="{grid}" style="fill: none; stroke: var(--grid); stroke-width: 0.8"/>',
        f'<path d="{frame}" style="fill: none; stroke: var(--rule)"/>',
    ]
    for at, label in zip(up, labels, strict=True):
        parts.append(_text(x.start - 6, at + 4, label, "quiet", "end"))
    for at, name in zip(along, names, strict=True):
        if slanted:
            parts.append(_text(at + 4, y.start + 14, name, "quiet", "end", turn=-30))
        else:
            parts.append(_text(at, y.start + 16, name, "quiet", "middle"))
    below = 40 if not slanted else 40 + 0.5 * _LETTER * max(map(len, names))
    parts.append(_text((x.start + x.end) / 2, y.start + below - 4, panel.x_label, "text", "middle"))
    middle = (y.start + y.end) / 2
    parts.append(_text(11, middle, panel.y_label, "text", "middle", turn=-90))
    return "".join(parts)


def _text(x: float, y: float, text: str, colour: str, anchor: str, turn: int = 0) -> str:
    style = f"fill: var(--{colour}); font-size: {_FONT}px; text-anchor: {anchor}"
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    shown = escape(printable(text), quote=False)
    return f'<text x="{x:.1f}" y="{y:.1f}"{turned} style="{style}">{shown}</text>'


# ------------------------------------------------------------------------------------------ series


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


def _draw_series(one: _Placed, x_axis: _Axis, y_axis: _Axis, number: int) -> str:
    series = one.series
    x = x_axis.place(one.x)
    y = y_axis.place(one.y)
    low = y_axis.place(one.low)
    high = y_axis.place(one.high)
    known = np.flatnonzero(np.isfinite(x)).tolist()
    parts = []
    if series.style == "bars":
        floor = float(y_axis.place(np.zeros(1))[0])
        half = (x_axis.end - x_axis.start) * one.width / (x_axis.high - x_axis.low) / 2
        parts.append(_draw_bars(x[known], y[known], floor, half))
    if series.low is not None and series.style in ("points", "ring", "bars"):
        ink = "var(--text)" if series.style == "bars" else "currentColor"
        parts.append(_draw_whiskers(x[known], low[known], high[known], ink))
    elif series.low is not None:
        parts.append(_draw_band(series.style, x[known], low[known], high[known]))
    if series.style in ("line", "dashed", "steps"):
        parts.append(f'<path d="{_line(x, y, series.style)}" style="{_stroke(series.style)}"/>')
    few = series.style == "line" and len(known) < _FEW_POINTS
    if few or series.style in ("points", "ring"):
        parts += [_marker(x[i], y[i], series.style) for i in known]
    return f'<g data-series="{number}" style="{_colour(series, number)}">{"".join(parts)}</g>'


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


def _draw_band(style: str, x: Array, low: Array, high: Array) -> str:
    """Draw the area between the ends of the intervals."""
    if style == "steps":
        # Each level holds until the next x.
        x = np.repeat(x, 2)[1:]
        low = np.repeat(low, 2)[:-1]
        high = np.repeat(high, 2)[:-1]
    outline = _line(np.append(x, x[::-1]), np.append(high, low[::-1]), "line")
    return f'<path d="{outline}Z" style="{_FILL}; fill-opacity: 0.16; stroke: none"/>'


def _draw_whiskers(x: Array, low: Array, high: Array, colour: str) -> str:
    path = "".join(
        f"M{at - 2:.1f} {a:.1f}h4M{at:.1f} {a:.1f}V{b:.1f}M{at - 2:.1f} {b:.1f}h4"
        for at, a, b in zip(x, low, high, strict=True)
    )
    return f'<path d="{path}" style="fill: none; stroke: {colour}; stroke-width: 0.9"/>'


def _draw_bars(x: Array, y: Array, floor: float, half: float) -> str:
    path = "".join(
        f"M{at - half:.1f} {floor:.1f}V{up:.1f}h{2 * half:.1f}V{floor:.1f}Z"
        for at, up in zip(x, y, strict=True)
    )
    return f'<path d="{path}" style="{_FILL}"/>'


def _draw_readings(panel: Panel, one: _Placed, x_axis: _Axis, y_axis: _Axis, number: int) -> str:
    """Write what each point says; of many points some, evenly spread; nothing of references."""
    if one.series.style in ("band", "dashed"):
        return ""
    inside = (one.x >= x_axis.low) & (one.x <= x_axis.high)
    inside &= (one.y >= y_axis.low) & (one.y <= y_axis.high)
    points = np.flatnonzero(inside)
    if points.size > _MOST_READINGS:
        points = points[np.linspace(0, points.size - 1, _MOST_READINGS).astype(np.intp)]
    circles = []
    for i, x, y in zip(
        points, x_axis.place(one.x[points]), y_axis.place(one.y[points]), strict=True
    ):
        if text := escape(_reading(panel, one, int(i)), quote=False):
            place = f'cx="{x:.1f}" cy="{y:.1f}" r="7" data-series="{number}"'
            circles.append(f"<circle {place}><title>{text}</title></circle>")
    return "".join(circles)


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
