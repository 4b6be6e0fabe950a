"""Score cards: the columns, coefficients and intercept of a fitted model.

Model files keep the card as plain JSON, and exports are made from it. It holds numbers and text
only; nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..estimators import SparseLinearClassifier

Floats = npt.NDArray[np.float64]
Kind = Literal["number", "boolean", "text"]
Origin = tuple[str, str | None] | tuple[str, str | None, float | None]


@dataclass(frozen=True)
class ColumnType:
    """Type of a column in training, used to read new tables.

    Attributes
    ----------
    kind : {"number", "boolean", "text"}
    decimal, thousands : str, optional
        Decimal and thousands marks in the text file; None if there were none.
    levels : tuple of str
        Levels of a text column. Any other text is treated as missing.
    low, high : float, optional
        Smallest and largest number.
    limits : bool
        Whether ``>2000`` is read as 2000, and text without a digit as missing.
    """

    kind: Kind
    decimal: str | None = None
    thousands: str | None = None
    levels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    limits: bool = False

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ColumnType:
        """Undo ``asdict``; raises KeyError, TypeError or ValueError on anything else."""
        kind = content["kind"]
        if kind not in get_args(Kind):
            raise ValueError(f"unknown kind {kind!r}")
        return cls(
            kind=cast(Kind, kind),
            decimal=_mark(content["decimal"]),
            thousands=_mark(content["thousands"]),
            levels=tuple(_text(level) for level in content["levels"]),
            low=None if content["low"] is None else _finite(content["low"]),
            high=None if content["high"] is None else _finite(content["high"]),
            limits=content["limits"] is True,
        )


def term_name(column: str, level: str | None, above: float | None) -> str:
    """Name of a column of X: that of its origin, with the level or the cut if there is one."""
    if above is not None:
        return f"{column} > {above:.12g}"
    return column if level is None else f"{column}={level}"


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
    """

    column: str
    level: str | None
    coefficient: float
    fill: float | None = None
    above: float | None = None

    @property
    def name(self) -> str:
        """Name of the term: that of the column, with the level or the cut if there is one."""
        return term_name(self.column, self.level, self.above)


@dataclass(frozen=True)
class Calibration:
    """How a score becomes a probability: 1 / (1 + exp(−(slope · score + intercept))).

    Attributes
    ----------
    slope, intercept : float
    n_positive, n_negative : int
        Number of out-of-fold scores it was fitted to. With few, probabilities are rough.
    """

    slope: float
    intercept: float
    n_positive: int
    n_negative: int

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Calibration:
        """Undo ``asdict``; raises KeyError, TypeError or ValueError on anything else."""
        return cls(
            slope=_finite(content["slope"]),
            intercept=_finite(content["intercept"]),
            n_positive=int(_finite(content["n_positive"])),
            n_negative=int(_finite(content["n_negative"])),
        )


@dataclass(frozen=True)
class ScoreCard:
    """How to score rows, with a summary of the fit.

    Attributes
    ----------
    terms : tuple of Term
        The score is the sum of coefficient × value, plus the intercept. Above 0 is positive.
    intercept : float
    negative, positive : str
        Predicted class of rows with a score up to 0, and above 0.
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
        Turns scores into probabilities.
    """

    terms: tuple[Term, ...]
    intercept: float
    negative: str
    positive: str
    target: str
    columns: tuple[str, ...] = field(repr=False)
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)
    version: str = ""
    types: Mapping[str, ColumnType] = field(default_factory=dict, repr=False)
    calibration: Calibration | None = None

    def with_cuts(self, values: Floats) -> Floats:
        """Numbers as the terms take them: 1 or 0 where a term asks if they are above a cut."""
        cuts = np.array([np.nan if one.above is None else one.above for one in self.terms])
        taken: Floats = np.where(np.isnan(cuts) | np.isnan(values), values, values > cuts)
        return taken

    def scores(self, values: Floats) -> Floats:
        """Score rows given the numbers of the terms, (n, n_terms), NaN where missing.

        Raises
        ------
        ValueError
            If a score overflows.
        """
        fills = np.array([np.nan if term.fill is None else term.fill for term in self.terms])
        filled = np.where(np.isnan(values), fills, self.with_cuts(values))
        coefficients = np.array([term.coefficient for term in self.terms], np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            scores: Floats = filled @ coefficients + self.intercept
        beyond = np.flatnonzero(~np.isfinite(scores) & ~np.isnan(filled).any(axis=1))
        if beyond.size:
            raise ValueError(f"the score of row {beyond[0] + 1} overflows")
        return scores

    def probabilities(self, scores: Floats) -> Floats:
        """Turn scores into probabilities of the positive class; NaN stays NaN.

        Raises
        ------
        ValueError
            If the model was not calibrated.
        """
        if self.calibration is None:
            raise ValueError("the model has no probabilities")
        how = self.calibration
        probabilities: Floats = expit(how.slope * scores + how.intercept)
        return probabilities

    @property
    def chosen(self) -> list[dict[str, Any]]:
        """The short list, largest weights first: from the summary, or from the terms."""
        ordered = sorted(self.terms, key=lambda term: -abs(term.coefficient))
        return list(self.summary.get("chosen", ())) or [
            {"rank": rank, "column": term.name, "coefficient": term.coefficient}
            for rank, term in enumerate(ordered, start=1)
        ]

    @property
    def strata_column(self) -> str | None:
        """Column within whose values the model compares rows, if it was fitted so."""
        about = self.summary.get("strata")
        name = about.get("column") if isinstance(about, Mapping) else None
        return name if isinstance(name, str) else None

    def type_of(self, term: Term) -> ColumnType:
        """Return the type of a term's column in training, guessed if unknown."""
        known = self.types.get(term.column)
        return known or ColumnType("number" if term.level is None else "text")

    def as_dict(self) -> dict[str, Any]:
        """Return the card as a dictionary for JSON."""
        content = asdict(self)
        # Cards of version 0.1 had neither, and their digest is of what they had.
        for name in ("types", "calibration"):
            if not content[name]:
                del content[name]
        for term in content["terms"]:
            if term["above"] is None:
                del term["above"]
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ScoreCard:
        """Undo :meth:`as_dict`; raises KeyError, TypeError or ValueError on anything else."""
        terms = tuple(
            Term(
                column=_text(term["column"]),
                level=None if term["level"] is None else _text(term["level"]),
                coefficient=_finite(term["coefficient"]),
                fill=None if term["fill"] is None else _finite(term["fill"]),
                above=_finite(term["above"]) if "above" in term else None,
            )
            for term in content["terms"]
        )
        return cls(
            terms=terms,
            intercept=_finite(content["intercept"]),
            negative=_text(content["negative"]),
            positive=_text(content["positive"]),
            target=_text(content["target"]),
            columns=tuple(_text(name) for name in content["columns"]),
            types={
                _text(name): ColumnType.from_dict(kind)
                for name, kind in content.get("types", {}).items()
            },
            calibration=(
                Calibration.from_dict(content["calibration"]) if "calibration" in content else None
            ),
            summary=dict(content["summary"]),
            version=_text(content["version"]),
        )

    def digest(self) -> str:
        """SHA-256 of the card.

        It detects damage and careless edits. It is not a signature: whoever changes the file on
        purpose can compute it again.
        """
        content = self.as_dict()
        # Numbers by their shortest exact text, names in Unicode: the same on every machine.
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, got {type(value).__name__}")
    return value


def _finite(value: Any) -> float:
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"a finite number expected, got {value!r}")
    return float(value)


def _mark(value: Any) -> str | None:
    if value not in (None, ".", ","):
        raise ValueError(f"a decimal or thousands mark expected, got {value!r}")
    return cast("str | None", value)


def make_card(
    model: Any,
    *,
    inputs: Sequence[Origin] | None = None,
    types: Mapping[str, ColumnType] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
    summary: Mapping[str, Any] | None = None,
) -> ScoreCard:
    """Make the score card of a fitted model.

    Parameters
    ----------
    model : SparseLinearClassifier, or Pipeline that ends with one
        A fitted classifier, alone or after ``SimpleImputer`` and ``StandardScaler``. A scaler is
        folded into the coefficients.
    inputs : sequence of (column, level, above), optional
        Origin of each column of X; the level is None except for text, and above is None except for
        numbers that were cut, or left out. By default the names that the model was fitted with, or
        indices.
    types : mapping of str to ColumnType, optional
        Column types in training; only those of chosen columns are kept.
    classes : (str, str), optional
        Names of the negative and the positive class; the model's own by default.
    target : str, default="y"
        Name of the outcome.
    summary : mapping, optional
        Further content, as JSON.

    Returns
    -------
    ScoreCard
    """
    from .. import __version__

    before, classifier = steps_of(model)
    coef = np.asarray(classifier.coef_[0], np.float64)
    if inputs is None:
        names = getattr(model, "feature_names_in_", np.arange(coef.size))
        inputs = [(str(name), None) for name in names]
    if len(inputs) != coef.size:
        raise ValueError(f"inputs names {len(inputs)} columns, the model has {coef.size}")
    chosen = np.flatnonzero(coef)
    slope, offset, fills = _folded(before, chosen)
    terms = tuple(
        Term(*inputs[j][:2], weight, None if np.isnan(fill) else fill, *inputs[j][2:])
        for j, weight, fill in zip(
            chosen.tolist(), (coef[chosen] * slope).tolist(), fills.tolist(), strict=True
        )
    )
    negative, positive = classes or tuple(str(label) for label in classifier.classes_.tolist())
    used = {term.column for term in terms}
    card = ScoreCard(
        terms=terms,
        intercept=float(classifier.intercept_[0] + coef[chosen] @ offset),
        negative=negative,
        positive=positive,
        target=target,
        columns=tuple(Term(*one[:2], 0.0, None, *one[2:]).name for one in inputs),
        types={name: kind for name, kind in (types or {}).items() if name in used},
        calibration=_calibration_of(classifier),
        summary={} if summary is None else dict(summary),
        version=__version__,
    )
    _check_names(card)
    return card


def _calibration_of(classifier: SparseLinearClassifier) -> Calibration | None:
    fitted = getattr(classifier, "calibration_", None)
    return None if fitted is None else Calibration.from_dict(fitted)


def _check_names(card: ScoreCard) -> None:
    for name in (card.target, card.negative, card.positive, *card.columns):
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise ValueError(f"{name!r} is not valid Unicode and cannot be written: rename it")


def _folded(before: Sequence[Any], chosen: npt.NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    """Combine the steps before the classifier, for the chosen columns.

    A value x reaches the classifier as slope · x + offset. A missing value is replaced by its fill,
    which is NaN if no step imputes it.
    """
    slope, offset = np.ones(chosen.size), np.zeros(chosen.size)
    fills = np.full(chosen.size, np.nan)
    for step in before:
        if isinstance(step, SimpleImputer):
            statistics = (step.statistics_[chosen].astype(np.float64) - offset) / slope
            fills = np.where(np.isnan(fills), statistics, fills)
        else:
            mean = step.mean_[chosen] if step.with_mean else 0.0
            scale = step.scale_[chosen] if step.with_std else 1.0
            slope, offset = slope / scale, (offset - mean) / scale
    return slope, offset, fills


def steps_of(model: Any) -> tuple[list[Any], SparseLinearClassifier]:
    """The steps before the classifier, and the classifier, of a fitted model."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, classifier = [step for step in steps if step not in (None, "passthrough")]
    if not isinstance(classifier, SparseLinearClassifier) or not all(
        isinstance(step, SimpleImputer | StandardScaler) for step in before
    ):
        named = ", ".join(type(step).__name__ for step in steps)
        raise TypeError(
            "expected a sparseauc classifier, alone or after SimpleImputer and StandardScaler; got "
            f"{named}"
        )
    for step in (*before, classifier):
        check_is_fitted(step)
    for step in before:
        width = len(step.get_feature_names_out())
        if width != classifier.n_features_in_ or step.n_features_in_ != width:
            raise TypeError(
                "the imputer dropped or added columns: use keep_empty_features=True and "
                "add_indicator=False"
            )
    return before, classifier


def without_gaps(model: Any, X: Any) -> Any:
    """X after the first step of a model fitted by the command, which imputes missing values."""
    before, _ = steps_of(model)
    if not before:
        return X
    with warnings.catch_warnings():
        # X is the matrix that the model was fitted to, whose columns were named afterwards.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return before[0].transform(X)
