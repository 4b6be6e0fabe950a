"""The score as one offline page: a form, the risk, points and a nomogram."""

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from sparseauc.utils.text import shortened

from ..formatting import auc_text, make_environment, percent
from ..scorecard import ScoreCard
from .fields import fields_of
from .nomogram import Axis, Nomogram, make_nomogram
from .terms import Clip, IsAbove, IsLevel, Log, term_values, write_steps

_WIDTH = 780
_LEFT = 170
_ROW = 46
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
        One HTML file with its style and script inside; nothing is loaded and nothing is sent. It
        marks values outside the training range, fills in missing ones as the model does, and shows
        the points of each column, their total and, with up to 20 columns of known range, a
        nomogram.

    Raises
    ------
    ValueError
        If a term has a step that the page cannot compute.
    """
    nomogram = make_nomogram(card)
    fields = fields_of(card)
    auc = card.summary.get("auc")
    page = make_environment("sparseauc_app.export").get_template("calculator.html.j2")
    return page.render(
        card=card,
        fields=fields,
        event=_event_of(card),
        auc=None if auc is None else auc_text(auc, long=True),
        prevalence=_prevalence(card),
        picture=None if nomogram is None else _Picture(nomogram),
        points=card.summary.get("points"),
        model=_as_json(_describe(card, nomogram)),
        style=_read("calculator.css"),
        script=_read("calculator.js"),
    )


def _event_of(card: ScoreCard) -> str:
    """Name what the risk is of: "sepsis = yes", or "death until 365"."""
    return card.event if card.times is None else f"{card.event} until {card.times.horizon:g}"


def _prevalence(card: ScoreCard) -> str | None:
    rows = card.summary.get("rows")
    positives = card.summary.get("positives")
    if card.follow_up is not None:
        return None  # the share of rows is not that of events until the horizon
    return None if not rows or positives is None else percent(positives / rows)


def _describe(card: ScoreCard, nomogram: Nomogram | None) -> dict[str, Any]:
    """Collect what the script needs to score a row."""
    terms = [
        {
            "name": value.name,
            "column": value.column,
            "kind": value.kind,
            "limits": value.limits,
            "steps": write_steps(value, (), _WRITERS, "HTML"),
            "fill": value.fill,
            "coefficient": value.coefficient,
        }
        for value in term_values(card)
    ]
    points = card.summary.get("points")
    return {
        "terms": terms,
        "intercept": card.intercept,
        "threshold": card.threshold,
        "name": card.score_name.capitalize(),
        "calibration": None if card.calibration is None else asdict(card.calibration),
        "columns": [
            {
                "column": one.column,
                "kind": one.kind,
                "low": one.low,
                "high": one.high,
                "required": one.required,
                "decimal": card.types[one.column].decimal if one.column in card.types else None,
            }
            for one in fields_of(card)
        ],
        "positive": card.positive,
        "negative": card.negative,
        "event": _event_of(card),
        "labels": card.times is None,
        "points": None
        if not points
        else {
            "columns": {one["column"]: [one["points"], one["unit"]] for one in points["columns"]},
            "risk": [[one["above"], one["up_to"]] for one in points["risk"]],
        },
        "nomogram": None
        if nomogram is None
        else {"least": nomogram.least, "unit": nomogram.unit, "largest": nomogram.largest},
    }


_WRITERS = {
    IsLevel: lambda step, done: (*done, ["level", step.level, list(step.levels)]),
    IsAbove: lambda step, done: (*done, ["above", step.cut]),
    Clip: lambda step, done: (*done, ["clip", step.low, step.high]),
    Log: lambda step, done: (*done, ["log", step.offset]),
}


def _as_json(content: Any) -> Markup:
    """JSON inside a script element, which no text in it can end."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


@cache
def _read(name: str) -> Markup:
    """A file that goes into the page as it is."""
    return Markup((files(__package__) / "templates" / name).read_text("utf-8"))


@dataclass(frozen=True)
class _Mark:
    """A tick with its text; ``text`` is empty where there is no room for it."""

    x: float
    text: str
    above: bool


@dataclass(frozen=True)
class _Line:
    """An axis of the picture; ``column`` is empty for those of points and risk."""

    column: str
    label: str
    y: float
    marks: list[_Mark]

    @property
    def ends(self) -> tuple[float, float]:
        """Its start and end."""
        places = [mark.x for mark in self.marks]
        return min(places), max(places)


class _Picture:
    """Places of the lines of a nomogram."""

    width = _WIDTH
    left = _LEFT

    def __init__(self, nomogram: Nomogram) -> None:
        span = _WIDTH - _LEFT - 24
        scale = Axis("Points", tuple((float(p), str(p)) for p in range(0, 101, 10)), numbers=True)
        lines = [("", scale), *nomogram.columns.items(), ("", nomogram.total)]
        lines += [("", nomogram.risk)] if nomogram.risk.ticks else []
        self.rows = [
            _Line(column, shortened(axis.label, 26), 30 + _ROW * place, _spread(axis, span))
            for place, (column, axis) in enumerate(lines)
        ]
        self.height = 30 + _ROW * len(lines)
        self.span = span


def _spread(axis: Axis, span: float) -> list[_Mark]:
    """Ticks from left to right with their texts: those of numbers only where there is room."""
    ends = {True: -1e9, False: -1e9}
    marks = []
    for place, text in sorted(axis.ticks):
        x = _LEFT + span * place / 100
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
