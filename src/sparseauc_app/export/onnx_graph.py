"""The score as an ONNX graph."""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from sparseauc.utils.optional import import_optional

from ..scorecard import ScoreCard
from .terms import Clip, IsAbove, IsLevel, Log, TermValue, Writers, term_values, write_steps


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
        (n, 1), or ``total`` of points, NaN where a value is missing that is not filled in or
        infinite, and ``label`` (n, 1), the class at the card's threshold, empty where there is no
        score; and where the model is calibrated ``risk`` (n, 1) of the positive class. A model of
        times to event has no label, and its risk is that until its horizon. Should a
        column be called so, an output's name ends with an underscore.

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
    score = graph.free(card.score_name)
    empty = {term.column for term in card.terms if term.level == ""}  # where it is a level
    values = [graph.value(term, term.column in empty) for term in term_values(card)]
    coefficients = np.array([[term.coefficient] for term in card.terms], np.float64)
    product = graph.add(
        "MatMul", graph.add("Concat", *values, axis=1), graph.constant(coefficients)
    )
    graph.add("Add", product, graph.constant(np.array([[card.intercept]])), output=score)
    outputs = {score: TensorProto.DOUBLE}
    if card.times is None:
        label = graph.free("label")
        above = graph.add("Greater", score, graph.constant([[card.threshold]]))
        named = graph.add("Where", above, graph.text(card.positive), graph.text(card.negative))
        graph.add("Where", graph.add("IsNaN", score), graph.text(""), named, output=label)
        outputs[label] = TensorProto.STRING
    if card.calibration is not None:
        risk = graph.free("risk")
        scaled = graph.add("Mul", score, graph.constant([[card.calibration.slope]]))
        shifted = graph.add("Add", scaled, graph.constant([[card.calibration.intercept]]))
        graph.risk(shifted, card.calibration.link, risk)
        outputs[risk] = TensorProto.DOUBLE

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
        doc_string=f"Score of {card.event}"
        + (
            ""
            if card.times is None
            else f"; risk until {card.times.horizon:g} of {card.times.time}"
        ),
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

    def risk(self, linear: str, link: str, output: str) -> None:
        """Add what turns log odds, or logarithms of cumulative hazards, into a risk."""
        if link == "logit":
            self.add("Sigmoid", linear, output=output)
            return
        free = self.add("Exp", self.add("Neg", self.add("Exp", linear)))
        self.add("Sub", self.constant([[1.0]]), free, output=output)

    def value(self, term: TermValue, empty_is_level: bool) -> str:
        """Add what computes the value of a term, and return its name."""
        fill = self.constant([[math.nan if term.fill is None else term.fill]])
        if term.kind == "text":
            write = partial(self._indicator, fill=fill, empty_is_level=empty_is_level)
            writers: Writers[str] = {IsLevel: write}
            return write_steps(term, term.column, writers, "ONNX")
        writers = {IsAbove: self._above, Clip: self._clip, Log: self._log}
        number = write_steps(term, term.column, writers, "ONNX")
        infinite = self.add("IsInf", term.column)
        # An infinite number is none, and none to be filled in either.
        finite = self.add("Where", infinite, self.constant([[math.nan]]), number)
        return self.add("Where", self.add("IsNaN", term.column), fill, finite)

    def _above(self, step: IsAbove, number: str) -> str:
        above = self.add("Greater", number, self.constant([[step.cut]]))
        return self.add("Cast", above, to=self._onnx.TensorProto.DOUBLE)

    def _clip(self, step: Clip, number: str) -> str:
        if step.low is not None:
            number = self.add("Max", number, self.constant([[step.low]]))
        if step.high is not None:
            number = self.add("Min", number, self.constant([[step.high]]))
        return number

    def _log(self, step: Log, number: str) -> str:
        return self.add("Log", self.add("Add", number, self.constant([[step.offset]])))

    def _indicator(self, step: IsLevel, text: str, fill: str, empty_is_level: bool) -> str:
        matches = self.add("Equal", text, self.text(step.level))
        value = self.add("Cast", matches, to=self._onnx.TensorProto.DOUBLE)
        if not step.levels:
            if empty_is_level:
                return value
            lacking = self.add("Equal", text, self.text(""))
            return self.add("Where", lacking, fill, value)
        known = matches
        for level in step.levels:
            if level != step.level:
                known = self.add("Or", known, self.add("Equal", text, self.text(level)))
        return self.add("Where", known, value, fill)
