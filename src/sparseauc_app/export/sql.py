"""The score as one SQL expression."""

import math
from functools import partial

from ..scorecard import ScoreCard
from .terms import Clip, IsAbove, IsLevel, TermValue, Writers, term_values, write_steps

# The largest number. NaN is greater than all in some databases and comparable to none in others:
# either way it is not between this and its negative.
_MOST = "1.7976931348623157e308"


def to_sql(card: ScoreCard) -> str:
    """Export an SQL expression that scores a row, in double precision.

    Parameters
    ----------
    card : ScoreCard

    Returns
    -------
    str
        For a select list. Names are quoted as the SQL standard does, with double quotes, texts with
        single ones. NULL, NaN and texts that training had not are replaced by the value learned in
        training, or else make the score NULL; so do infinite numbers. Where the model is
        calibrated, a comment says how a score becomes a probability.

    Raises
    ------
    ValueError
        If a name cannot be written in SQL.

    Notes
    -----
    SQLite takes a double-quoted name that is no column for a text, and text for 0: check that the
    columns are there. MySQL needs ``ANSI_QUOTES``.

    Examples
    --------
    >>> from sparseauc_app.export import to_sql
    >>> from sparseauc_app.scorecard import ColumnType, ScoreCard, Term
    >>> terms = (Term("age", None, 0.5, fill=40.0), Term("sex", "m", -0.25))
    >>> types = {"sex": ColumnType("text", levels=("f", "m"))}
    >>> print(to_sql(ScoreCard(terms, -1.0, "no", "yes", "ill", ("age", "sex=m"), types=types)))
    -- Above 0 is predicted positive. NULL means that a value is missing and not filled in.
    (
      -1.0e0
      + 0.5e0 * CASE WHEN -ABS(CAST("age" AS DOUBLE PRECISION)) < -1.7976931348623157e308 THEN NULL
        WHEN CAST("age" AS DOUBLE PRECISION) <= 1.7976931348623157e308
        THEN CAST("age" AS DOUBLE PRECISION) ELSE 40.0e0 END
      + (-0.25e0) * CASE WHEN CAST("sex" AS VARCHAR) = 'm' THEN 1.0e0
        WHEN CAST("sex" AS VARCHAR) IN ('f') THEN 0.0e0 ELSE NULL END
    )
    """
    lines = [
        _literal(card.intercept),
        *(f"+ {_sql_term(term)}" for term in term_values(card)),
    ]
    notes = ["Above 0 is predicted positive. NULL means that a value is missing and not filled in."]
    if card.calibration is not None:
        slope, intercept = _literal(card.calibration.slope), _literal(card.calibration.intercept)
        notes.append(f"Probability: 1 / (1 + EXP(-({slope} * score + ({intercept}))))")
    return "\n".join([*(f"-- {note}" for note in notes), "(", *(f"  {x}" for x in lines), ")"])


def _sql_term(term: TermValue) -> str:
    name = _quoted(term.column, '"')
    fill = "NULL" if term.fill is None else _literal(term.fill)
    if term.kind == "text":
        writers: Writers[str] = {IsLevel: partial(_sql_indicator, fill=fill)}
        value = write_steps(term, f"CAST({name} AS VARCHAR)", writers, "SQL")
    elif term.kind == "boolean":
        # Not every database casts booleans to anything but whole numbers.
        number = f"CAST(CAST({name} AS INTEGER) AS DOUBLE PRECISION)"
        value = f"COALESCE({write_steps(term, number, _WRITERS, 'SQL')}, {fill})"
    else:
        number = f"CAST({_without_limits(name) if term.limits else name} AS DOUBLE PRECISION)"
        # -ABS(NaN) is not less than anything; of infinite numbers it is.
        value = (
            f"CASE WHEN -ABS({number}) < -{_MOST} THEN NULL\n"
            f"    WHEN {number} <= {_MOST}\n"
            f"    THEN {write_steps(term, number, _WRITERS, 'SQL')} ELSE {fill} END"
        )
    coefficient = _literal(term.coefficient)
    return f"({coefficient}) * {value}" if term.coefficient < 0 else f"{coefficient} * {value}"


def _sql_above(step: IsAbove, number: str) -> str:
    return (
        f"CASE WHEN {number} > {_literal(step.cut)} THEN 1.0e0 "
        f"WHEN {number} IS NULL THEN NULL ELSE 0.0e0 END"
    )


def _sql_clip(step: Clip, number: str) -> str:
    beyond = " ".join(
        f"WHEN {number} {sign} {_literal(end)} THEN {_literal(end)}"
        for end, sign in ((step.low, "<"), (step.high, ">"))
        if end is not None
    )
    return f"CASE {beyond} ELSE {number} END"


_WRITERS: Writers[str] = {IsAbove: _sql_above, Clip: _sql_clip}


def _without_limits(name: str) -> str:
    """The text of a column without signs such as > in front of its numbers; NULL if empty."""
    text = f"CAST({name} AS VARCHAR)"
    for sign in "<>≤≥~=":
        text = f"REPLACE({text}, '{sign}', '')"
    return f"NULLIF(TRIM({text}), '')"


def _sql_indicator(step: IsLevel, text: str, fill: str) -> str:
    match = f"CASE WHEN {text} = {_quoted(step.level, chr(39))} THEN 1.0e0\n    "
    if not step.levels:
        return f"{match}WHEN {text} IS NULL THEN {fill} ELSE 0.0e0 END"
    others = ", ".join(_quoted(other, "'") for other in step.levels if other != step.level)
    known = f"WHEN {text} IN ({others}) THEN 0.0e0 " if others else ""
    return f"{match}{known}ELSE {fill} END"


def _quoted(text: str, quote: str) -> str:
    if "\0" in text:
        raise ValueError(f"{text!r} holds a zero character, which SQL cannot write")
    return quote + text.replace(quote, 2 * quote) + quote


def _literal(number: float) -> str:
    """Exact, and with an exponent: without one some databases would compute in decimals."""
    if not math.isfinite(number):
        raise ValueError(f"{number} cannot be written in SQL")
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"
