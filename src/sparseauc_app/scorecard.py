"""Score cards: the columns, coefficients and intercept of a fitted model, and what is known of it.

A model file is a card as JSON, and exports are made from it. It holds numbers and text only;
nothing in it is ever executed.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from sparseauc.utils.links import Link, from_linear, to_linear
from sparseauc.utils.text import listed
from sparseauc.utils.types import Array

from .column_types import ColumnType, FollowUp, Input

Record = TypeVar("Record")


@dataclass(frozen=True)
class Term:
    """The contribution of one chosen column to the score.

    Attributes
    ----------
    column : str
        Name of the column in the table.
    level : str, optional
        For a text column: the term is 1 if the entry is this level, else 0.
    coefficient : float
    fill : float, optional
        Replaces missing values; without it, rows with a missing value have no score.
    above : float, optional
        The term is 1 if the number is larger, else 0.
    low, high : float, optional
        A smaller number counts as ``low``, a larger one as ``high``.
    log : float, optional
        The term is the natural logarithm of the number, after limits, plus this.
    """

    column: str
    level: str | None
    coefficient: float
    fill: float | None = None
    above: float | None = None
    low: float | None = None
    high: float | None = None
    log: float | None = None

    @property
    def name(self) -> str:
        """Name of the term: that of the column, with the level or the cut if there is one."""
        return Input(self.column, self.level, self.above).name

    @property
    def clips(self) -> bool:
        """Return whether numbers beyond limits count as the limit."""
        return self.low is not None or self.high is not None

    @property
    def fill_in_units(self) -> float | None:
        """Replacement of a missing value, in the units of the column."""
        if self.fill is None or self.log is None:
            return self.fill
        return float(np.exp(self.fill)) - self.log

    @property
    def formula(self) -> str:
        """The factor of the coefficient, as text."""
        if self.level is not None:
            return f"[{self.column} is {self.level}]"
        if self.above is not None:
            return f"[{self.name}]"
        text = self.column
        if self.low is not None and self.high is not None:
            text = f"[{text} clipped to {self.low:.6g} … {self.high:.6g}]"
        elif self.clips:
            limit = "least" if self.high is None else "most"
            text = f"[{text}, at {limit} {self.low if self.high is None else self.high:.6g}]"
        if self.log is None:
            return text
        return f"ln({text} + {self.log:.6g})" if self.log else f"ln({text})"


@dataclass(frozen=True)
class Calibration:
    """The map from a score to a probability: 1 / (1 + exp(−(slope · score + intercept))).

    Attributes
    ----------
    slope, intercept : float
    n_positive, n_negative : int
        Number of out-of-fold scores it was fitted to. With few, probabilities are rough.
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

    Columns are found by name, in any order. Text becomes indicators, and missing values are filled
    in, as when the model was fitted; a row that lacks a value which is not filled in has no score.

    Attributes
    ----------
    terms : tuple of Term
        The score is the sum of coefficient × value, plus the intercept.
    intercept : float
    negative, positive : str
        Label of rows with a score up to the threshold, and above it.
    target : str
        Name of the outcome.
    columns : tuple of str
        All candidate columns; text columns by level.
    summary : dict
        Summary of the fit, as JSON.
    version : str
        Version of the library.
    types : dict of str to ColumnType
        Types of the chosen columns in training, if known.
    calibration : Calibration, optional
        Turns scores into risks. Scores that are log odds have a slope of 1 and an intercept of 0.
    follow_up : FollowUp, optional
        Of a model that was fitted to times.
    threshold : float
        Score above which rows are labelled positive, unless another threshold is given: where
        the risk is that of the training rows.
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
    calibration: Calibration | None = None
    threshold: float = 0.0
    total: bool = False
    follow_up: FollowUp | None = None
    labels: tuple[int | float, ...] | None = None

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != 2:
            raise ValueError(f"there are {len(self.labels)} labels, not 2")
        for term in self.terms:
            if term.log is not None and (term.low is None or term.low + term.log <= 0):
                raise ValueError(f"{term.name!r} is logged, and may be 0 or less")
            if not term.clips:
                continue
            if term.low is not None and term.high is not None and term.low > term.high:
                raise ValueError(f"{term.name!r} has the limits {term.low} and {term.high}")
            numeric = (term.level, term.above) == (None, None)
            if not numeric or self.type_of(term).kind == "boolean":
                raise ValueError(f"{term.name!r} is 0 or 1 and has limits")

    def __repr__(self) -> str:
        auc = self.summary.get("auc")
        names = listed([repr(term.name) for term in self.terms], 6)
        tested = "" if not isinstance(auc, dict) else f", {self.measure} {auc['auc']:.3f}"
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
            With the chosen columns, in any order, among others. Or an array or sparse matrix of all
            columns that the model was fitted to, in their order, if all are numbers.

        Returns
        -------
        scores : ndarray of shape (n,)
            NaN where a value is missing and the model does not fill it in.

        Warns
        -----
        UserWarning
            If a column is wholly missing, has texts that training had not, or lies far outside the
            range of training.
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
        if self.calibration is None:
            raise AttributeError(
                "this model has no probabilities: use decision_function, or fit "
                "SparseAUCClassifierCV, which gives them"
            )
        return self.probabilities(self._score_rows(X))

    @property
    def predict_proba(self) -> Callable[[Any], Array]:
        """Return class probabilities, NaN for rows without a score. Needs a calibrated model."""
        if self.calibration is None or self.times is not None:
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

    def as_taken(self, values: Array) -> Array:
        """Numbers as the terms take them: clipped, logged, or 1 or 0 if they are above a cut."""
        low = self._of_terms("low", -np.inf)
        high = self._of_terms("high", np.inf)
        cuts = self._of_terms("above")
        logs = self._of_terms("log")
        within = np.clip(values, low, high)
        logged = ~np.isnan(logs)
        within[:, logged] = np.log(within[:, logged] + logs[logged])
        # An infinite number stays one: its row has no score.
        within = np.where(np.isinf(values), values, within)
        taken: Array = np.where(np.isnan(cuts) | np.isnan(values), within, values > cuts)
        return taken

    def _of_terms(self, name: str, otherwise: float = np.nan) -> Array:
        """A number of each term."""
        given = [getattr(term, name) for term in self.terms]
        return np.array([otherwise if of is None else of for of in given], np.float64)

    def scores(self, values: Array) -> Array:
        """Score rows given the numbers of the terms, (n, n_terms), NaN where missing.

        Raises
        ------
        ValueError
            If a score overflows.
        """
        filled = np.where(np.isnan(values), self._of_terms("fill"), self.as_taken(values))
        with np.errstate(over="ignore", invalid="ignore"):
            scores: Array = filled @ self._of_terms("coefficient") + self.intercept
        beyond = np.flatnonzero(~np.isfinite(scores) & ~np.isnan(filled).any(axis=1))
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
    def _calibrated(self) -> Calibration:
        if self.calibration is None:
            raise ValueError("the model has no probabilities")
        return self.calibration

    @property
    def times(self) -> FollowUp | None:
        """The follow-up, if rows are ranked by the time to their event and have no classes."""
        return None if self.follow_up is None or self.follow_up.binary else self.follow_up

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
        ordered = sorted(self.terms, key=lambda term: -abs(term.coefficient))
        return list(self.summary.get("chosen", ())) or [
            {"rank": rank, "column": term.name, "coefficient": term.coefficient}
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
        known = self.types.get(term.column)
        return known or ColumnType("number" if term.level is None else "text")

    def as_dict(self) -> dict[str, Any]:
        """Return the card as a dictionary for JSON."""
        return asdict(self)

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


def _read(kind: Any, value: Any) -> Any:
    """A value of JSON as an annotated type; anything else is refused."""
    inside = get_args(kind)
    make = kind
    if is_dataclass(kind):
        return read_record(make, value)
    if type(None) in inside:
        return None if value is None else _read(inside[0], value)
    if get_origin(kind) is tuple:
        return tuple(_read(inside[0], one) for one in value)
    if get_origin(kind) is Mapping:
        return {_read(inside[0], key): _read(inside[1], one) for key, one in dict(value).items()}
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
