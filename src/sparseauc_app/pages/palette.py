"""Which colour, marker and dash a series has, on the page and in files, by day and by night."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sparseauc.plotting import BACKGROUND, COLOURS, PALE, QUIET, TEXT

from .elements import Figure, Panel, Series

# The style sheet's colours by day and by night: the same hues, lighter, since on a dark page the
# colours of a white one are too dim to follow. Text stands out by a contrast of 4.5 or more.
_BY_NIGHT = ("#4a9fe0", "#f08040", "#2dbf94", "#e294c2", "#9bdcff", "#f5bd3d", "#e4e2dc")
# For figures of more than seven series.
_MORE = (
    ("#7b3fa0", "#b98bdb"), ("#8f6a1a", "#cfae62"), ("#b0182b", "#ee7b88"), ("#6a8f1f", "#b3d66b"),
    ("#8a8d91", "#b9bcc0"),
)  # fmt: skip
_SERIES = [*zip(COLOURS, _BY_NIGHT, strict=True), *_MORE]
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

# Lines of a second and third round through the colours are told apart by their dashes, and points
# by their shape, which does not repeat when the colours do.
DASHES = ("-", (0, (5, 2)), (0, (5, 2, 1, 2)))
MARKERS = "osD^vPX*ph<>"


class Look(NamedTuple):
    """How a series is drawn, in matplotlib's terms."""

    colour: str
    dash: Any
    marker: str


def look(slot: int) -> Look:
    """Give the look of a slot; looks repeat only after 36 of them."""
    rounds, colour = divmod(slot, len(_SERIES))
    return Look(_SERIES[colour][0], DASHES[rounds % len(DASHES)], MARKERS[slot % len(MARKERS)])


def all_series(figure: Figure) -> Iterator[Series]:
    """Go through the series of all panels; displays have none."""
    for panel in figure.panels:
        if isinstance(panel, Panel):
            yield from panel.series


def slots(figures: Iterable[Figure]) -> dict[str, dict[str, int]]:
    """Give every label of every figure a slot, so that a method looks the same all over a report.

    A series may have a slot of its own. Another label keeps the slot it had in an earlier figure,
    unless another label of this figure has it already; a new label gets the first slot that is free
    in its figure.
    """
    remembered: dict[str, int] = {}
    chosen: dict[str, dict[str, int]] = {}
    for figure in figures:
        labels = list(dict.fromkeys(series.label for series in all_series(figure)))
        own = {s.label: s.slot for s in all_series(figure) if s.slot is not None}
        kept: dict[str, int] = dict(own)
        for label in labels:
            if label in kept:
                continue
            if label in remembered and remembered[label] not in kept.values():
                kept[label] = remembered[label]
        taken = set(kept.values())
        free = (slot for slot in range(len(labels) + len(taken)) if slot not in taken)
        chosen[figure.name] = {
            label: kept[label] if label in kept else next(free) for label in labels
        }
        remembered = chosen[figure.name] | remembered
    return chosen
