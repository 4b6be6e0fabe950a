"""Export models as an ONNX graph, a JSON score card or an SQL expression.

All three compute what :meth:`ScoreCard.scores` does, from the chosen columns alone.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from sparseauc._optional import import_optional

from .scorecard import ColumnType, ScoreCard, Term

_HOW = (
    "score = intercept + sum over terms of coefficient * value. A term with a level has value 1 if "
    "the column equals that level and 0 if it equals another level. A term with above has value 1 "
    "if the number in the column is larger than that, and 0 if it is not. Any other term has the "
    "number in the column, but low if it is smaller than low and high if it is larger than high, "
    "where these are not null; true is 1 and false is 0. NULL, NaN and unknown levels are missing "
    "(if levels is null, no level is unknown). If limits is true, >5 counts as 5, and text without "
    "a digit is missing. A missing value is replaced by fill; if fill is null, the row has no "
    "score. A row with an infinite number has no score. Rows with a score above 0 are predicted "
    "positive, others negative. If calibration is not null, the probability of the positive class "
    "is 1 / (1 + exp(-(slope * score + intercept))), with its slope and intercept; n_positive and "
    "n_negative out-of-fold scores were used to fit it. If points is not null, score = total - "
    "threshold, and the total is the sum of points * value / unit."
)

# The largest number. NaN is greater than all in some databases and comparable to none in others:
# either way it is not between this and its negative.
_MOST = "1.7976931348623157e308"


def to_json(card: ScoreCard) -> str:
    """Export a score card as JSON.

    Parameters
    ----------
    card : ScoreCard
        From :func:`~sparseauc_app.model_files.read_card` or
        :func:`~sparseauc_app.card_making.make_card`.

    Returns
    -------
    str
    """
    content = {
        "target": card.target,
        "positive": card.positive,
        "negative": card.negative,
        "intercept": card.intercept,
        "terms": [asdict(term) for term in card.terms],
        "columns": {
            term.column: {
                "kind": of.kind,
                "levels": list(of.levels) or None,
                "limits": of.limits,
            }
            for term in card.terms
            for of in [card.type_of(term)]
        },
        "calibration": None if card.calibration is None else asdict(card.calibration),
        "points": card.summary.get("points"),
        "how": _HOW,
        "auc": card.summary.get("auc"),
        "version": card.version,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


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
    >>> from .export import to_sql
    >>> from .scorecard import ColumnType, ScoreCard, Term
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
        *(f"+ {_sql_term(term, card.type_of(term))}" for term in card.terms),
    ]
    notes = ["Above 0 is predicted positive. NULL means that a value is missing and not filled in."]
    if card.calibration is not None:
        slope, intercept = _literal(card.calibration.slope), _literal(card.calibration.intercept)
        notes.append(f"Probability: 1 / (1 + EXP(-({slope} * score + ({intercept}))))")
    return "\n".join([*(f"-- {note}" for note in notes), "(", *(f"  {x}" for x in lines), ")"])


def _sql_term(term: Term, of: ColumnType) -> str:
    name = _quoted(term.column, '"')
    fill = "NULL" if term.fill is None else _literal(term.fill)
    if term.level is not None:
        value = _sql_indicator(f"CAST({name} AS VARCHAR)", term.level, of, fill)
    elif of.kind == "boolean":
        # Not every database casts booleans to anything but whole numbers.
        value = f"COALESCE(CAST(CAST({name} AS INTEGER) AS DOUBLE PRECISION), {fill})"
    else:
        number = f"CAST({_without_limits(name) if of.limits else name} AS DOUBLE PRECISION)"
        taken = number
        if term.above is not None:
            taken = f"CASE WHEN {number} > {_literal(term.above)} THEN 1.0e0 ELSE 0.0e0 END"
        elif term.clips:
            ends = ((term.low, "<"), (term.high, ">"))
            beyond = " ".join(
                f"WHEN {number} {sign} {_literal(end)} THEN {_literal(end)}"
                for end, sign in ends
                if end is not None
            )
            taken = f"CASE {beyond} ELSE {number} END"
        # -ABS(NaN) is not less than anything; of infinite numbers it is.
        value = (
            f"CASE WHEN -ABS({number}) < -{_MOST} THEN NULL\n"
            f"    WHEN {number} <= {_MOST}\n"
            f"    THEN {taken} ELSE {fill} END"
        )
    coefficient = _literal(term.coefficient)
    return f"({coefficient}) * {value}" if term.coefficient < 0 else f"{coefficient} * {value}"


def _without_limits(name: str) -> str:
    """The text of a column without signs such as > in front of its numbers; NULL if empty."""
    text = f"CAST({name} AS VARCHAR)"
    for sign in "<>≤≥~=":
        text = f"REPLACE({text}, '{sign}', '')"
    return f"NULLIF(TRIM({text}), '')"


def _sql_indicator(text: str, level: str, of: ColumnType, fill: str) -> str:
    match = f"CASE WHEN {text} = {_quoted(level, chr(39))} THEN 1.0e0\n    "
    if not of.levels:
        return f"{match}WHEN {text} IS NULL THEN {fill} ELSE 0.0e0 END"
    others = ", ".join(_quoted(other, "'") for other in of.levels if other != level)
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


def to_onnx(card: ScoreCard) -> bytes:
    """Export an ONNX model that scores rows in double precision.

    Parameters
    ----------
    card : ScoreCard

    Returns
    -------
    bytes
        A model with one input for each chosen column, of its name and shape (n, 1): double, NaN
        where missing, or string, empty where missing, for columns of text. Outputs are ``score``
        (n, 1), NaN where a value is missing that is not filled in or infinite, and ``label``
        (n, 1), the predicted class, empty where there is no score; and where the model is
        calibrated ``probability`` (n, 1), that of the positive class. Should a column be called so,
        an output's name ends with an underscore.

    Raises
    ------
    ValueError
        If the model uses no column, so that nothing tells the number of rows, or one without a
        name.
    """
    onnx = import_optional("onnx", "to_onnx")
    helper, TensorProto = onnx.helper, onnx.TensorProto
    if not card.terms:
        raise ValueError("the model uses no columns: there is nothing to export to ONNX")

    inputs = {
        term.column: TensorProto.DOUBLE if term.level is None else TensorProto.STRING
        for term in card.terms
    }
    if "" in inputs:
        raise ValueError("a column has no name, and ONNX needs one")
    graph = _Graph(onnx, inputs)
    score, label = graph.free("score"), graph.free("label")
    values = [graph.value(term, card) for term in card.terms]
    coefficients = np.array([[term.coefficient] for term in card.terms], np.float64)
    product = graph.add(
        "MatMul", graph.add("Concat", *values, axis=1), graph.constant(coefficients)
    )
    graph.add("Add", product, graph.constant(np.array([[card.intercept]])), output=score)
    above = graph.add("Greater", score, graph.constant(np.zeros((1, 1))))
    named = graph.add("Where", above, graph.text(card.positive), graph.text(card.negative))
    graph.add("Where", graph.add("IsNaN", score), graph.text(""), named, output=label)
    outputs = {score: TensorProto.DOUBLE, label: TensorProto.STRING}
    if card.calibration is not None:
        probability = graph.free("probability")
        scaled = graph.add("Mul", score, graph.constant([[card.calibration.slope]]))
        shifted = graph.add("Add", scaled, graph.constant([[card.calibration.intercept]]))
        graph.add("Sigmoid", shifted, output=probability)
        outputs[probability] = TensorProto.DOUBLE

    def shaped(kinds: dict[str, int]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, kind, ["rows", 1]) for name, kind in kinds.items()
        ]

    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "sparseauc",
            shaped(inputs),
            shaped(outputs),
            initializer=graph.constants,
        ),
        # The first that compares text, and an old enough format for runtimes of that time.
        opset_imports=[helper.make_opsetid("", 19)],
        ir_version=9,
        producer_name="sparseauc",
        producer_version=card.version,
        doc_string=f"Score of {card.positive!r} against {card.negative!r} in {card.target!r}",
    )
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


class _Graph:
    """Nodes and constants under names that no column has."""

    def __init__(self, onnx: Any, columns: Iterable[str]) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken = set(columns)

    def free(self, name: str) -> str:
        """Return the name, with underscores if it is taken."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def add(self, operator: str, *inputs: str, output: str | None = None, **settings: Any) -> str:
        """Add a node and return the name of its output."""
        output = output or self.free(f"value {len(self._taken)}")
        node = self._onnx.helper.make_node(operator, list(inputs), [output], **settings)
        self.nodes.append(node)
        return output

    def constant(self, values: Any) -> str:
        """Add numbers and return their name."""
        name = self.free(f"constant {len(self._taken)}")
        array = np.asarray(values, np.float64)
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def text(self, text: str) -> str:
        """Add a text and return its name."""
        name = self.free(f"text {len(self._taken)}")
        kind, content = self._onnx.TensorProto.STRING, [text.encode()]
        self.constants.append(self._onnx.helper.make_tensor(name, kind, [1, 1], content))
        return name

    def value(self, term: Term, card: ScoreCard) -> str:
        """Add what computes the value of a term, and return its name."""
        double = self._onnx.TensorProto.DOUBLE
        fill = self.constant([[math.nan if term.fill is None else term.fill]])
        if term.level is None:
            number = term.column
            if term.above is not None:
                above = self.add("Greater", number, self.constant([[term.above]]))
                number = self.add("Cast", above, to=double)
            if term.low is not None:
                number = self.add("Max", number, self.constant([[term.low]]))
            if term.high is not None:
                number = self.add("Min", number, self.constant([[term.high]]))
            finite = self.add(
                "Where", self.add("IsInf", term.column), self.constant([[math.nan]]), number
            )
            # An infinite number is none, and none to be filled in either.
            return self.add("Where", self.add("IsNaN", term.column), fill, finite)
        matches = self.add("Equal", term.column, self.text(term.level))
        value = self.add("Cast", matches, to=double)
        levels = card.type_of(term).levels
        if not levels:
            if any(other.column == term.column and other.level == "" for other in card.terms):
                return value  # the empty text is a level of its own
            lacking = self.add("Equal", term.column, self.text(""))
            return self.add("Where", lacking, fill, value)
        known = matches
        for level in levels:
            if level != term.level:
                known = self.add("Or", known, self.add("Equal", term.column, self.text(level)))
        return self.add("Where", known, value, fill)
