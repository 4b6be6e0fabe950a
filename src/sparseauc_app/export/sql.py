"""The score and the risk as an SQL query."""

import math
from collections.abc import Sequence

from ..scorecard import Calibration, ScoreCard, Term
from .effects import Effect, effects_of

_SCORE = "sparseauc_score"
# The largest number. NaN is greater than all in some databases and comparable to none in others:
# either way it is not between this and its negative.
_MOST = "1.7976931348623157e308"


def to_sql(card: ScoreCard) -> str:
    """Export an SQL query that scores the rows of ``my_table``, in double precision.

    Parameters
    ----------
    card : ScoreCard

    Returns
    -------
    str
        It adds the columns ``sparseauc_score`` and, where the model is calibrated,
        ``sparseauc_risk``. Names are quoted as the SQL standard does, with double quotes, texts
        with single ones. NULL, NaN and blank texts are replaced by the value learned in training,
        or else make the score NULL; so do infinite numbers and texts that training had not, of
        which ``predict`` would warn.

    Raises
    ------
    ValueError
        If a name cannot be written in SQL, or numbers written as text have marks between thousands.

    Notes
    -----
    Texts that are no numbers make the score NULL, or stop databases that refuse to cast them.
    SQLite takes a double-quoted name that is no column for a text: check that the columns are
    there. MySQL needs ``ANSI_QUOTES``.

    Examples
    --------
    >>> from sparseauc_app.export import to_sql
    >>> from sparseauc_app.column_types import ColumnType
    >>> from sparseauc_app.scorecard import ScoreCard, Term
    >>> types = {"sex": ColumnType("text", levels=("f", "m"))}
    >>> terms = (Term("sex", "m", -0.25),)
    >>> print(to_sql(ScoreCard(terms, -1.0, "no", "yes", "ill", ("sex=m",), types=types)))
    -- Score. Above 0.0 is labelled positive. NULL: a value is missing and not filled in.
    SELECT my_table.*, (
      -1.0e0
      + (-0.25e0) * CASE WHEN TRIM(CAST("sex" AS VARCHAR)) = 'm' THEN 1.0e0
        WHEN TRIM(CAST("sex" AS VARCHAR)) IN ('f') THEN 0.0e0
        WHEN TRIM(CAST("sex" AS VARCHAR)) <> '' THEN NULL ELSE NULL END
    ) AS sparseauc_score
    FROM my_table
    """
    lines = [
        _literal(card.intercept),
        *(f"+ {_sql_term(one, term)}" for one in effects_of(card) for term in one.terms),
    ]
    label = "" if card.times else f" Above {card.threshold!r} is labelled positive."
    note = f"-- {card.score_name.capitalize()}.{label} NULL: a value is missing and not filled in."
    scored = "\n".join(
        ["SELECT my_table.*, (", *(f"  {x}" for x in lines), f") AS {_SCORE}", "FROM my_table"]
    )
    if card.calibration is not None:
        scored = (
            f"-- sparseauc_risk: {card.risk_text}\n"
            f"SELECT scored.*, {_sql_risk(card.calibration)} AS sparseauc_risk\n"
            f"FROM (\n{scored}\n) AS scored"
        )
    return f"{note}\n{scored}"


def _sql_risk(how: Calibration) -> str:
    """The risk of a score, within what EXP takes without overflow or underflow."""
    linear = f"{_literal(how.slope)} * {_SCORE} + ({_literal(how.intercept)})"
    most = "6.0e0" if how.link == "cloglog" else "700.0e0"
    within = (
        f"CASE WHEN {linear} < -700.0e0 THEN -700.0e0 WHEN {linear} > {most} THEN {most} "
        f"ELSE {linear} END"
    )
    if how.link == "cloglog":
        return f"1.0e0 - EXP(-EXP({within}))"
    return f"1.0e0 / (1.0e0 + EXP(-({within})))"


def _sql_term(one: Effect, term: Term) -> str:
    name = _quoted(one.column, '"')
    fill = "NULL" if term.fill is None else _literal(term.fill)
    if one.kind == "text":
        value = _sql_indicator(name, str(term.level), one.levels, fill)
    elif one.kind == "boolean":
        value = _sql_boolean(name, term, fill)
    elif one.type.limits:
        value = _sql_limits(name, one, term, fill)
    else:
        given = f"CASE WHEN TRIM(CAST({name} AS VARCHAR)) <> '' THEN {name} END"
        number = f"CAST({given} AS DOUBLE PRECISION)"
        # -ABS(NaN) is not less than anything; of infinite numbers it is. Text differs from what it
        # is cast to where it is not a number and the database does not refuse it.
        value = (
            f"CASE WHEN -ABS({number}) < -{_MOST}\n"
            f"    OR {given} <> {number} THEN NULL\n"
            f"    WHEN {number} <= {_MOST}\n"
            f"    THEN {_sql_value(term, number)} ELSE {fill} END"
        )
    coefficient = _literal(term.coefficient)
    return f"({coefficient}) * {value}" if term.coefficient < 0 else f"{coefficient} * {value}"


def _sql_boolean(name: str, term: Term, fill: str) -> str:
    """1 or 0 of true and false in any spelling that databases and text files have."""
    text = f"LOWER(TRIM(CAST({name} AS VARCHAR)))"
    true, false = (
        ", ".join(f"'{one}'" for one in spellings)
        for spellings in (("true", "t", "1", "1.0"), ("false", "f", "0", "0.0"))
    )
    one, zero = (_sql_value(term, number) for number in ("1.0e0", "0.0e0"))
    return (
        f"CASE WHEN {text} IN ({true}) THEN {one} WHEN {text} IN ({false}) THEN {zero}\n"
        f"    WHEN {text} <> '' THEN NULL ELSE {fill} END"
    )


def _sql_limits(name: str, one: Effect, term: Term, fill: str) -> str:
    """A number written as text, perhaps as a limit such as >5; text without a digit is missing."""
    if one.type.thousands is not None:
        raise ValueError(
            f"{one.column!r} is text with {one.type.thousands!r} between thousands, which SQL "
            "cannot read: fit a column of plain numbers instead"
        )
    text = _without_limit(name)
    skeleton = text
    for digit in range(10):
        skeleton = f"REPLACE({skeleton}, '{digit}', '')"
    # What is left of a number without its digits.
    skeletons = ", ".join(
        f"'{sign}{point}{exponent}'"
        for sign in ("", "-", "+")
        for point in ("", one.type.decimal or ".")
        for exponent in ("", "e", "e-", "e+")
    )
    plain = f"REPLACE({text}, ',', '.')" if one.type.decimal == "," else text
    number = f"CAST(CASE WHEN {skeleton} IN ({skeletons}) THEN {plain} END AS DOUBLE PRECISION)"
    return (
        f"CASE WHEN {skeleton} IN ({skeletons}) AND {skeleton} <> {text}\n"
        f"    THEN {_sql_value(term, number)}\n"
        f"    WHEN {skeleton} <> {text} THEN NULL ELSE {fill} END"
    )


def _without_limit(name: str) -> str:
    """The text of a column without a sign such as > or <= in front of its number."""
    text = f"TRIM(CAST({name} AS VARCHAR))"
    first = f"SUBSTR({text}, 1, 1)"
    second = f"SUBSTR({text}, 2, 1)"
    signs = ", ".join(f"'{sign}'" for sign in "<>≤≥~")
    return (
        f"LOWER(CASE WHEN {first} IN ({signs}) AND {second} = '=' THEN TRIM(SUBSTR({text}, 3)) "
        f"WHEN {first} IN ({signs}) THEN TRIM(SUBSTR({text}, 2)) ELSE {text} END)"
    )


def _sql_value(term: Term, number: str) -> str:
    """The value of a term, given that of its number."""
    if term.above is not None:
        return (
            f"CASE WHEN {number} > {_literal(term.above)} THEN 1.0e0 "
            f"WHEN {number} IS NULL THEN NULL ELSE 0.0e0 END"
        )
    if term.clips:
        beyond = " ".join(
            f"WHEN {number} {sign} {_literal(end)} THEN {_literal(end)}"
            for end, sign in ((term.low, "<"), (term.high, ">"))
            if end is not None
        )
        number = f"CASE {beyond} ELSE {number} END"
    if term.log is None:
        return number
    return f"LN({number} + {_literal(term.log)})" if term.log else f"LN({number})"


def _sql_indicator(name: str, level: str, levels: Sequence[str], fill: str) -> str:
    text = f"TRIM(CAST({name} AS VARCHAR))"
    others = ", ".join(_quoted(other, "'") for other in levels if other != level)
    parts = [f"CASE WHEN {text} = {_quoted(level, chr(39))} THEN 1.0e0"]
    parts += [f"WHEN {text} IN ({others}) THEN 0.0e0"] if others else []
    # What training had not would be filled in without a word, 1 for 01 too.
    parts.append(f"WHEN {text} <> '' THEN {'NULL' if levels else '0.0e0'} ELSE {fill} END")
    return "\n    ".join(parts)


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
