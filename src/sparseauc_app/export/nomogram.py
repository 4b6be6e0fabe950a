"""A nomogram: each column's axis of points, their total, and the risk that goes with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparseauc.columns import Curve, Line, Steps

from ..formatting import capitalised, round_ticks
from ..scorecard import ScoreCard
from ..text import shortened
from .effects import Effect, effects_of

# More axes than these are not read by anybody.
_MOST_COLUMNS = 20
_RISKS = (
    0.001,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.99,
    0.999,
)
# A text and the value that it marks.
Place = tuple[str, float | str]


@dataclass(frozen=True)
class Axis:
    """A line of the picture: ``ticks`` are (place, text), places from 0 to 100 along its width."""

    label: str
    ticks: tuple[tuple[float, str], ...]
    numbers: bool = False


@dataclass(frozen=True)
class Nomogram:
    """The picture and the scale of its points.

    Attributes
    ----------
    columns : dict of str to Axis
        By column; the place of a tick is its points.
    least : dict of str to float
        By column, the smallest contribution to the score in the training range: 0
        points.
    unit : float
        Contribution of one point.
    total, risk : Axis
        Places in per cent of the largest total; ``risk`` has no ticks without
        a risk map.
    largest : float
        The largest total.
    """

    columns: dict[str, Axis]
    least: dict[str, float]
    unit: float
    total: Axis
    risk: Axis
    largest: float


def make_nomogram(card: ScoreCard) -> Nomogram | None:
    """Make the nomogram of a card; None if a range is unknown or there are too many columns."""
    effects = effects_of(card)
    if not 0 < len(effects) <= _MOST_COLUMNS:
        return None
    shown: dict[str, list[tuple[str, float]]] = {}
    for one in effects:
        places = _places(one)
        if places is None:
            return None
        shown[one.column] = [(text, one.at(value)) for text, value in places]
    least = {name: min(part for _, part in ticks) for name, ticks in shown.items()}
    reach = {
        name: max(part for _, part in ticks) - least[name]
        for name, ticks in shown.items()
    }
    unit = max(reach.values()) / 100
    if unit <= 0:
        return None
    columns = {
        one.column: Axis(
            shortened(f"{one.label} ({one.unit})" if one.unit else one.label, 26),
            tuple(
                ((part - least[one.column]) / unit, text)
                for text, part in shown[one.column]
            ),
            numbers=any(not text for text, _ in shown[one.column]),
        )
        for one in effects
    }
    largest = sum(reach.values()) / unit
    base = card.intercept + sum(least.values())
    totals = [
        (100 * total / largest, f"{total:g}") for total in round_ticks(0, largest, 10)
    ]
    total = Axis("Total points", tuple(totals), numbers=True)
    return Nomogram(
        columns, least, unit, total, _risk_axis(card, base, unit, largest), largest
    )


def _risk_axis(card: ScoreCard, base: float, unit: float, largest: float) -> Axis:
    """The axis of the risks that totals from 0, whose score is ``base``, to the largest reach."""
    risks = []
    if (how := card.risk_map) is not None and how.slope > 0:
        for risk in _RISKS:
            place = (how.score_of(risk) - base) / unit / largest
            if 0 <= place <= 1:
                risks.append((100 * place, f"{100 * risk:g} %"))
    return Axis(capitalised(card.risk_text), tuple(risks))


def _places(one: Effect) -> list[Place] | None:
    """Values to mark on a column's axis, with their texts; None if the range is unknown."""
    if one.kind == "text":
        return [(text, text) for text in one.levels]
    if one.kind == "boolean":
        return [("no", 0.0), ("yes", 1.0)]
    encoding = one.term.encoding
    if isinstance(encoding, Steps) and encoding.cuts:
        return _places_of_cuts(encoding.cuts)
    low, high = one.type.low, one.type.high
    if (low is None or high is None) and isinstance(encoding, Line | Curve):
        low, high = encoding.low, encoding.high
    if low is None or high is None or not np.isfinite([low, high]).all():
        return None
    places = _places_of_range(low, high)
    if isinstance(encoding, Curve):  # where it turns, which a round number may miss
        fine = np.linspace(low, high, 501)
        effects = one.formula.at(fine)
        places += [
            ("", float(fine[place])) for place in (effects.argmin(), effects.argmax())
        ]
    return places


def _places_of_cuts(cuts: Sequence[float]) -> list[Place]:
    """A value below all cuts, and one just above each."""
    beyond = np.nextafter(cuts, np.inf).tolist()
    return [(f"≤ {cuts[0]:.4g}", cuts[0])] + [
        (f"> {cut:.4g}", value) for cut, value in zip(cuts, beyond, strict=True)
    ]


def _places_of_range(low: float, high: float) -> list[Place]:
    """Round numbers between the ends of the range, and the ends, which have no text."""
    ends: list[Place] = [("", low), ("", high)]
    return ends + [(f"{value:.6g}", value) for value in round_ticks(low, high, 8)]
