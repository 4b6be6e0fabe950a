"""The score and the risk as an SQL query."""

import math

import numpy as np

from sparseauc.columns import Piece, Pieces

from ..scorecard import RiskMap, ScoreCard
from .effects import Effect, effects_of

_SCORE = "sparseauc_score"
# The largest number. NaN is greater than all in some databases and comparable to none
# in others: either way it is not between this and its negative.
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
        ``sparseauc_risk``. Names are quoted as the SQL standard does, with double
        quotes, texts with single ones. NULL, NaN and blank texts count as missing
        values did in training, or else make the score NULL; so do infinite numbers, and
        texts that training had not, of which ``predict`` would warn.

    Raises
    ------
    ValueError
        If a name cannot be written in SQL, or numbers written as text have marks
        between thousands.

    Notes
    -----
    Texts that are no numbers make the score NULL, or stop databases that refuse to cast
    them. Of the blanks around a text SQL leaves out spaces only; with a tab it is one
    that training had not. SQLite takes a double-quoted name that is no column for a
    text: check that the columns are there. MySQL needs ``ANSI_QUOTES``.

    Examples
    --------
    >>> from sparseauc.columns import Line
    >>> from sparseauc_app.export import to_sql
    >>> from sparseauc_app.scorecard import ScoreCard, Term
    >>> terms = (Term("age", Line(missing=40.0, coef=(-0.25,))),)
    >>> print(to_sql(ScoreCard(terms, -1.0, "no", "yes", "ill", ("age",)))[-44:])
    ELSE -10.0e0 END
    ) AS sparseauc_score
    FROM my_table
    """
    lines = [
        _literal(card.intercept),
        *(f"+ {_sql_effect(one)}" for one in effects_of(card)),
    ]
    label = "" if card.times else f" Above {card.threshold!r} is labelled positive."
    note = f"-- {card.score_name.capitalize()}.{label} NULL: a value is missing and not filled in."
    scored = "\n".join(
        [
            "SELECT my_table.*, (",
            *(f"  {x}" for x in lines),
            f") AS {_SCORE}",
            "FROM my_table",
        ]
    )
    if card.risk_map is not None:
        scored = (
            f"-- sparseauc_risk: {card.risk_text}\n"
            f"SELECT scored.*, {_sql_risk(card.risk_map)} AS sparseauc_risk\n"
            f"FROM (\n{scored}\n) AS scored"
        )
    return f"{note}\n{scored}"


def _sql_risk(how: RiskMap) -> str:
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


def _sql_effect(one: Effect) -> str:
    name = _quoted(one.column, '"')
    missing = "NULL"
    if not isinstance(one.formula, Pieces):
        if not one.required:
            missing = _literal(one.formula.missing)
        levels = [
            f"WHEN {_quoted(level, chr(39))} THEN {_literal(effect)}"
            for level, effect in one.levels.items()
        ]
        if not levels:
            return missing
        text = f"TRIM(CAST({name} AS VARCHAR))"
        # What training had not would be taken as missing without a word, "a" with a tab
        # too.
        unknown = f"ELSE CASE WHEN {text} <> '' THEN NULL ELSE {missing} END END"
        return "\n    ".join([f"CASE {text} {levels[0]}", *levels[1:], unknown])
    if not one.required:
        missing = _literal(float(one.formula.at(np.nan)))
    if one.kind == "boolean":
        return _sql_boolean(name, one, missing)
    if one.type.limits:
        return _sql_limits(name, one, one.formula, missing)
    given = f"CASE WHEN TRIM(CAST({name} AS VARCHAR)) <> '' THEN {name} END"
    number = f"CAST({given} AS DOUBLE PRECISION)"
    # -ABS(NaN) is not less than anything; of infinite numbers it is. Text differs from
    # what it is cast to where it is not a number and the database does not refuse it.
    return (
        f"CASE WHEN -ABS({number}) < -{_MOST}\n"
        f"    OR {given} <> {number} THEN NULL\n"
        f"    WHEN {number} <= {_MOST}\n"
        f"    THEN {_sql_pieces(one.formula, number)} ELSE {missing} END"
    )


def _sql_boolean(name: str, one: Effect, missing: str) -> str:
    """Read true and false in any spelling that databases and text files have."""
    text = f"LOWER(TRIM(CAST({name} AS VARCHAR)))"
    true, false = (
        ", ".join(f"'{one}'" for one in spellings)
        for spellings in (("true", "t", "1", "1.0"), ("false", "f", "0", "0.0"))
    )
    yes, no = (_literal(one.at(value)) for value in (1.0, 0.0))
    return (
        f"CASE WHEN {text} IN ({true}) THEN {yes} WHEN {text} IN ({false}) THEN {no}\n"
        f"    WHEN {text} <> '' THEN NULL ELSE {missing} END"
    )


def _sql_limits(name: str, one: Effect, formula: Pieces, missing: str) -> str:
    """Read a number from text, perhaps a limit such as >5; without a digit it is missing."""
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
        f"    THEN {_sql_pieces(formula, number)}\n"
        f"    WHEN {skeleton} <> {text} THEN NULL ELSE {missing} END"
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


def _sql_pieces(formula: Pieces, number: str) -> str:
    """Write the effect of a number, NULL of NULL."""
    parts = [
        f"WHEN {number} {sign} {_literal(end)} THEN {_literal(float(formula.at(end)))}"
        for end, sign in ((formula.low, "<="), (formula.high, ">="))
        if math.isfinite(end)
    ]
    first, *others = formula.pieces
    parts += [
        f"WHEN {number} > {_literal(one.start)} THEN {_polynomial(one, number)}"
        for one in reversed(others)
    ]
    if not parts:
        return _polynomial(first, number)
    if others:  # a constant for the rest would count for NULL too
        parts.append(f"WHEN {number} IS NULL THEN NULL")
    return "\n    ".join(["CASE", *parts, f"ELSE {_polynomial(first, number)} END"])


def _polynomial(one: Piece, number: str) -> str:
    """Write a polynomial, by Horner's scheme."""
    offset = number if one.origin == 0 else f"({number} - ({_literal(one.origin)}))"
    *lower, found = map(_literal, one.coef)
    for coef in reversed(lower):
        found = (
            f"({found}) * {offset} + ({coef})"
            if coef != "0.0e0"
            else f"({found}) * {offset}"
        )
    return found


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
