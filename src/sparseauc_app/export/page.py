"""The score as one offline page: a form, the risk, points and a nomogram."""

import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from markupsafe import Markup

from ..formatting import auc_text, make_environment
from ..scorecard import ScoreCard
from .effects import Effect, effects_of
from .nomogram import Axis, Nomogram, make_nomogram

# Place and width of the nomogram's lines.
_LEFT = 170
_SPAN = 586
# Width of a character of the nomogram's texts.
_CHARACTER = 6.2


def to_html(card: ScoreCard) -> str:
    """Export a page that computes the risk of one case, in any browser and without a network.

    Parameters
    ----------
    card : ScoreCard

    Returns
    -------
    str
        One HTML file with its style and script inside; nothing is loaded and nothing is
        sent. It marks values outside the training range, fills in missing ones as the
        model does, and shows the points of each column, their total and, with up to 20
        columns of known range, a nomogram.
    """
    nomogram = make_nomogram(card)
    effects = effects_of(card)
    auc = card.summary.get("auc")
    page = make_environment("sparseauc_app.export").get_template("calculator.html.j2")
    return page.render(
        card=card,
        effects=effects,
        event=_event_of(card),
        auc=None if auc is None else auc_text(auc, long=True),
        axes=[] if nomogram is None else _axes_of(nomogram),
        spread=_spread,
        left=_LEFT,
        span=_SPAN,
        points=card.summary.get("points"),
        model=_as_json(_describe(card, effects, nomogram)),
        style=_read("calculator.css"),
        script=_read("calculator.js"),
    )


def _event_of(card: ScoreCard) -> str:
    """Name what the risk is of: "sepsis = yes", or "death until 365"."""
    return (
        card.event
        if card.times is None
        else f"{card.event} until {card.times.horizon:g}"
    )


def _describe(
    card: ScoreCard, effects: list[Effect], nomogram: Nomogram | None
) -> dict[str, Any]:
    """Collect what the script needs to score a row."""
    points = card.summary.get("points")
    return {
        "intercept": card.intercept,
        "threshold": card.threshold,
        "name": card.score_name.capitalize(),
        "risk_map": None if card.risk_map is None else asdict(card.risk_map),
        "columns": [
            {
                "column": one.column,
                "kind": one.kind,
                "low": one.type.low,
                "high": one.type.high,
                "required": one.required,
                "decimal": one.type.decimal,
                "limits": one.type.limits,
                "formula": one.as_dict(),
            }
            for one in effects
        ],
        "positive": card.positive,
        "negative": card.negative,
        "event": _event_of(card),
        "labels": card.times is None,
        "points": None
        if not points
        else [[one["above"], one["up_to"]] for one in points["risk"]],
        "nomogram": None
        if nomogram is None
        else {
            "least": nomogram.least,
            "unit": nomogram.unit,
            "largest": nomogram.largest,
        },
    }


def _as_json(content: Any) -> Markup:
    """JSON inside a script element, which no text in it can end."""
    text = json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


@cache
def _read(name: str) -> Markup:
    """A file that goes into the page as it is."""
    return Markup((files(__package__) / "templates" / name).read_text("utf-8"))


class _Mark(NamedTuple):
    """A tick with its text; ``text`` is empty where there is no room for it."""

    x: float
    text: str
    above: bool


def _axes_of(nomogram: Nomogram) -> list[tuple[str, Axis]]:
    """Axes from top to bottom, those of columns with their name."""
    scale = Axis(
        "Points", tuple((float(p), str(p)) for p in range(0, 101, 10)), numbers=True
    )
    risk = [("", nomogram.risk)] if nomogram.risk.ticks else []
    return [("", scale), *nomogram.columns.items(), ("", nomogram.total), *risk]


def _spread(axis: Axis) -> list[_Mark]:
    """Ticks from left to right with their texts: those of numbers only where there is room."""
    ends = {True: -1e9, False: -1e9}
    marks = []
    for place, text in sorted(axis.ticks):
        x = _LEFT + _SPAN * place / 100
        if not text:
            marks.append(_Mark(round(x, 1), "", above=False))
            continue
        half = _CHARACTER * len(text) / 2 + 3
        sides = (False,) if axis.numbers else (False, True)
        free = [above for above in sides if x - half >= ends[above]]
        if free:
            ends[free[0]] = x + half
        marks.append(_Mark(round(x, 1), text if free else "", bool(free and free[0])))
    return marks
