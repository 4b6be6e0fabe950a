"""Score cards: the columns, coefficients and intercept of a fitted model, and what is known of it.

A model file is a card as JSON, and exports are made from it. It holds numbers and text
only; nothing in it is ever executed.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from sparseauc.columns import (
    Curve,
    Encoding,
    Levels,
    Line,
    Pieces,
    Steps,
    Table,
    encoding_from_dict,
)
from sparseauc.utils.links import Link, from_linear, to_linear
from sparseauc.utils.text import listed
from sparseauc.utils.types import Array

from .column_types import ColumnType, FollowUp

Record = TypeVar("Record")


@dataclass(frozen=True)
class Term:
    """What one chosen column adds to the score.

    Attributes
    ----------
    column : str
        Name of the column in the table.
    encoding : Encoding
        What it counts.
    required : bool
        Whether a row without a value has no score.
    """

    column: str
    encoding: Encoding
    required: bool = False

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column

    @property
    def formula(self) -> Pieces | Table:
        """How anyone can compute the effect; that of a missing value is NaN if it is required."""
        formula = self.encoding.formula()
        return replace(formula, missing=np.nan) if self.required else formula

    @property
    def fill(self) -> float | None:
        """What a missing number counts as; None for text, and where there is no such number."""
        missing = self.formula.missing
        return (
            missing if self.encoding.reads != "text" and np.isfinite(missing) else None
        )

    @property
    def formula_text(self) -> str:
        """The effect as a term of a sum, in words where it is not a line."""
        encoding = self.encoding
        if isinstance(encoding, Line):
            sign = "−" if encoding.coef[0] < 0 else "+"
            return f"{sign} {abs(encoding.coef[0]):.6g} × {self.column}"
        if not isinstance(encoding, Curve):
            return f"+ {self.column} [{encoding.words()}]"
        formula = encoding.formula()
        ends = [piece.start for piece in formula.pieces[1:]]
        parts = []
        for piece, start, end in zip(
            formula.pieces, [formula.low, *ends], [*ends, formula.high], strict=True
        ):
            powers = [
                f"{coef:+.6g} (x − {piece.origin:.6g})^{power}"
                if power
                else f"{coef:.6g}"
                for power, coef in enumerate(piece.coef)
                if coef or not power
            ]
            parts.append(f"{start:.6g} to {end:.6g}: {' '.join(powers)}")
        return f"+ {self.column} [x from {'; '.join(parts)}]"

    def effect(self, values: Array) -> Array:
        """Evaluate at numbers, of texts those of their levels, NaN where missing."""
        formula = self.formula
        if isinstance(formula, Pieces):
            return formula.at(values)
        effects = np.array([*formula.effects.values(), formula.missing], np.float64)
        # The last is that of a missing value.
        return effects[np.where(np.isnan(values), -1.0, values).astype(np.intp)]


@dataclass(frozen=True)
class RiskMap:
    """How a score becomes a risk: 1 / (1 + exp(−(slope · score + intercept))).

    Attributes
    ----------
    slope, intercept : float
    n_positive, n_negative : int
        Number of out-of-fold scores it was fitted to. With few, probabilities are
        rough.
    link : {"logit", "cloglog"}
        "cloglog" for a time to event: the risk until the horizon is
        1 − exp(−exp(slope · score + intercept)).
    """

    slope: float
    intercept: float
    n_positive: int
    n_negative: int
    link: Link = "logit"

    def linear(self, scores: npt.NDArray[Any]) -> Array:
        """Log odds, or logarithms of cumulative hazards until the horizon."""
        with np.errstate(over="ignore"):  # beyond all numbers, the risk is 0 or 1
            linear: Array = self.slope * scores + self.intercept
        return linear

    def risks(self, scores: npt.NDArray[Any]) -> Array:
        """Risk of scores; NaN stays NaN."""
        return self.inverse(self.linear(scores))

    def inverse(self, linear: Array) -> Array:
        """Risk of log odds, or of logarithms of cumulative hazards."""
        return from_linear(linear, self.link)

    def score_of(self, risk: float) -> float:
        """Score with a risk; infinite for risks of 0 and 1."""
        if self.slope == 0:
            raise ValueError("the model has no probabilities")
        return float((to_linear(risk, self.link) - self.intercept) / self.slope)


@dataclass(frozen=True, repr=False)
class ScoreCard:
    """A model that scores rows, with a summary of its fit.

    Columns are found by name, in any order. A row that lacks a value that is required
    has no score.

    Attributes
    ----------
    terms : tuple of Term
        The score is the sum of their effects, plus the intercept.
    intercept : float
    negative, positive : str
        Label of rows with a score up to the threshold, and above it.
    target : str
        Name of the outcome.
    columns : tuple of str
        All candidate columns.
    summary : dict
        Summary of the fit, as JSON.
    version : str
        Version of the library.
    types : dict of str to ColumnType
        Types of the chosen columns in training, if known.
    risk_map : RiskMap, optional
        Turns scores into risks. Scores that are log odds have a slope of 1 and an
        intercept of 0.
    follow_up : FollowUp, optional
        Of a model that was fitted to times.
    threshold : float
        Score above which rows are labelled positive, unless another threshold is given:
        where the risk is that of the training rows.
    total : bool
        Whether the score is a total of whole points.
    labels : (float, float), optional
        The negative and the positive label where they are numbers.
    """

    terms: tuple[Term, ...]
    intercept: float
    negative: str
    positive: str
    target: str
    columns: tuple[str, ...]
    summary: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    risk_map: RiskMap | None = None
    threshold: float = 0.0
    total: bool = False
    follow_up: FollowUp | None = None
    labels: tuple[int | float, ...] | None = None

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != 2:
            raise ValueError(f"there are {len(self.labels)} labels, not 2")
        if len({term.column for term in self.terms}) < len(self.terms):
            raise ValueError("two terms have the same column")
        for term in self.terms:
            if (self.type_of(term).kind == "text") != (term.encoding.reads == "text"):
                raise ValueError(f"{term.column!r} is text and a number")

    def __repr__(self) -> str:
        auc = self.summary.get("auc")
        names = listed([repr(term.name) for term in self.terms], 6)
        tested = (
            "" if not isinstance(auc, dict) else f", {self.measure} {auc['auc']:.3f}"
        )
        return (
            f"ScoreCard for {self.event}: {len(self.terms)} columns ({names}){tested}, "
            f"sparseauc {self.version}. predict finds columns by name"
        )

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The negative and the positive label."""
        return np.array(self.labels or (self.negative, self.positive))

    def decision_function(self, X: Any) -> Array:
        """Score rows, in log odds if the model has probabilities; above 0 is predicted positive.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or pyarrow.Table
            With the chosen columns, in any order, among others. Or an array or sparse
            matrix of all columns that the model was fitted to, in their order, if all
            are numbers.

        Returns
        -------
        scores : ndarray of shape (n,)
            NaN where a value is missing and the model does not fill it in.

        Warns
        -----
        UserWarning
            If a column is wholly missing, has texts that training had not, or lies far
            outside the range of training.
        """
        scores = self._score_rows(X)
        in_log_odds = self.total and self.times is None
        return self.log_odds(scores) if in_log_odds else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row, None where it has no score; of times to event, score."""
        scores = self.decision_function(X)
        if self.times is not None:
            return scores
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        if np.isnan(scores).any():
            labels = labels.astype(object)
            labels[np.isnan(scores)] = None
        return labels

    def predict_risk(self, X: Any) -> Array:
        """Estimate the risk of each row, of times to event until the horizon of the card.

        NaN for rows without a score. Needs a calibrated model.
        """
        if self.risk_map is None:
            raise AttributeError(
                "this model has no probabilities: use decision_function, or fit "
                "SparseAUCClassifierCV, which gives them"
            )
        return self.probabilities(self._score_rows(X))

    @property
    def predict_proba(self) -> Callable[[Any], Array]:
        """Return class probabilities, NaN for rows without a score. Needs a calibrated model."""
        if self.risk_map is None or self.times is not None:
            raise AttributeError(
                "this model has no class probabilities: use decision_function, predict_risk of "
                "times to event, or fit SparseAUCClassifierCV, which gives them"
            )

        def probabilities(X: Any) -> Array:
            positive = self.predict_risk(X)
            return np.column_stack([1.0 - positive, positive])

        return probabilities

    def _score_rows(self, X: Any) -> Array:
        from .reading.scoring import score_rows
        from .reading.source import source_of

        found = score_rows(source_of(X, self), self)
        for warning in found.warnings:
            warnings.warn(warning, stacklevel=3)
        return found.scores

    def scores(self, values: Array) -> Array:
        """Score rows given their values in the columns of the terms, (n, n_terms), NaN for missing.

        Texts are numbers of their levels.

        Raises
        ------
        ValueError
            If a score overflows.
        """
        scores = np.full(len(values), self.intercept)
        with np.errstate(over="ignore", invalid="ignore"):
            for j, term in enumerate(self.terms):
                scores += term.effect(values[:, j])
        lacking = np.zeros(len(values), np.bool_)
        for j, term in enumerate(self.terms):
            if np.isnan(term.formula.missing):
                lacking |= np.isnan(values[:, j])
        beyond = np.flatnonzero(~np.isfinite(scores) & ~lacking)
        if beyond.size:
            raise ValueError(f"the score of row {beyond[0] + 1} overflows")
        return scores

    def probabilities(self, scores: Array) -> Array:
        """Turn scores into risks; NaN stays NaN.

        Raises
        ------
        ValueError
            If the model was not calibrated.
        """
        return self._calibrated.risks(scores)

    def log_odds(self, scores: Array) -> Array:
        """Turn scores into what risks are a function of, such as log odds of the positive class."""
        return self._calibrated.linear(scores)

    @property
    def _calibrated(self) -> RiskMap:
        if self.risk_map is None:
            raise ValueError("the model has no probabilities")
        return self.risk_map

    @property
    def times(self) -> FollowUp | None:
        """The follow-up, if rows are ranked by the time to their event and have no classes."""
        return (
            None if self.follow_up is None or self.follow_up.binary else self.follow_up
        )

    @property
    def event_value(self) -> str:
        """Value of the outcome column of rows that had the event."""
        return self.positive if self.follow_up is None else self.follow_up.event

    @property
    def measure(self) -> str:
        """Measure of the ranking: "AUC", or "C" of times to event."""
        return "AUC" if self.times is None else "C"

    @property
    def risk_text(self) -> str:
        """Name of a risk: "risk", or "risk until 365"."""
        return "risk" if self.times is None else f"risk until {self.times.horizon:g}"

    @property
    def score_name(self) -> str:
        """Name of the score: "total" of whole points, or "score"."""
        return "total" if self.total else "score"

    @property
    def chosen(self) -> list[dict[str, Any]]:
        """The short list, largest weights first: from the summary, or from the terms."""
        ordered = sorted(self.terms, key=lambda term: -abs(term.encoding.leading_coef))
        return list(self.summary.get("chosen", ())) or [
            {
                "rank": rank,
                "column": term.column,
                "coefficient": term.encoding.leading_coef,
            }
            for rank, term in enumerate(ordered, start=1)
        ]

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds on the card by name; raises what a damaged summary raises."""
        points = self.summary.get("operating_points") or ()
        return {str(point["name"]): float(point["threshold"]) for point in points}

    @property
    def within(self) -> str | None:
        """Column within whose values the model compares rows, if it was fitted so."""
        about = self.summary.get("strata")
        name = about.get("column") if isinstance(about, Mapping) else None
        return name if isinstance(name, str) else None

    @property
    def event(self) -> str:
        """Name of the outcome, or else its column and positive label, such as "sepsis = yes"."""
        settings = self.summary.get("settings")
        label = settings.get("label") if isinstance(settings, Mapping) else None
        if isinstance(label, str) and label:
            return label
        return f"{self.target} = {self.positive}"

    def type_of(self, term: Term) -> ColumnType:
        """Return the type of a term's column in training, guessed if unknown."""
        known = self.types.get(term.column) or ColumnType(term.encoding.reads)
        levels = term.encoding.levels if isinstance(term.encoding, Levels) else ()
        return replace(known, levels=levels)

    def as_dict(self) -> dict[str, Any]:
        """Return the card as a dictionary for JSON."""
        content = asdict(replace(self, terms=()))
        terms = [
            {**vars(term), "encoding": term.encoding.as_dict()} for term in self.terms
        ]
        return content | {"terms": terms}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Undo :meth:`as_dict`; raises KeyError, TypeError or ValueError on anything else."""
        return read_record(cls, content)


def read_record(kind: type[Record], content: Mapping[str, Any]) -> Record:
    """Make a dataclass of JSON, whose fields with a default may be absent."""
    hints = get_type_hints(kind)
    known: Any = kind
    return kind(
        **{
            one.name: _read(hints[one.name], content[one.name])
            for one in fields(known)
            if one.name in content or one.default is one.default_factory is MISSING
        }
    )


def _read_encoding(content: Mapping[str, Any]) -> Encoding:
    """An encoding of JSON; one whose numbers do not fit together is refused."""
    encoding = encoding_from_dict(content)
    hints = get_type_hints(type(encoding))
    for name, value in content.items():
        if name != "kind" and value is not None:
            _read(hints[name], value)
    fits = len(encoding.coef) == encoding.width
    if isinstance(encoding, Levels):
        places = range(max(len(encoding.levels) + encoding.has_missing, 1))
        fits &= len(encoding.taken_as) == len(encoding.levels) + 1
        fits &= {*encoding.taken_as} <= {*places} and encoding.against in (-1, *places)
    if isinstance(encoding, Curve):
        fits &= len(encoding.knots) == 3
    if isinstance(encoding, Steps):
        fits &= list(encoding.cuts) == sorted({*encoding.cuts})
    if not fits:
        raise ValueError(f"its {encoding.kind} do not fit together")
    return encoding


def _read(kind: Any, value: Any) -> Any:
    """A value of JSON as an annotated type; anything else is refused."""
    inside = get_args(kind)
    make = kind
    if kind is Encoding:
        return _read_encoding(value)
    if is_dataclass(kind):
        return read_record(make, value)
    if type(None) in inside:
        return None if value is None else _read(inside[0], value)
    if get_origin(kind) is tuple:
        return tuple(_read(inside[0], one) for one in value)
    if get_origin(kind) is Mapping:
        return {
            _read(inside[0], key): _read(inside[1], one)
            for key, one in dict(value).items()
        }
    if get_origin(kind) is Literal:
        fits = value in inside
    elif kind is float:
        fits = isinstance(value, int | float) and bool(np.isfinite(value))
    else:
        fits = kind is Any or isinstance(value, kind)
    if not fits:
        wanted = "a finite number" if kind is float else kind
        raise ValueError(f"expected {wanted}, got {value!r}")
    return float(value) if kind is float else value
