"""A fitted model as what it comes to: a few columns, their weights, and a threshold.

That is all that scoring needs, so it is what model files keep in plain JSON and what exports are
made of. It holds numbers and text only, and nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators import SparseLinearClassifier

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """One chosen column's part in the score.

    Attributes
    ----------
    column : str
        Name of the column in the table.
    level : str, optional
        For a column of text: the term is 1 where the entry is this level and 0 where it is not.
    coefficient : float
    fill : float, optional
        Takes the place of a missing value; without it such a row has no score.
    """

    column: str
    level: str | None
    coefficient: float
    fill: float | None = None

    @property
    def name(self) -> str:
        """Name of the term: that of the column, with the level if there is one."""
        return self.column if self.level is None else f"{self.column}={self.level}"


@dataclass(frozen=True)
class ScoreCard:
    """How to score rows, and what is known of how the score was found.

    Attributes
    ----------
    terms : tuple of Term
        The score is the sum of coefficient × value, plus the intercept. Above 0 is positive.
    intercept : float
    negative, positive : str
        What rows with a score up to 0, and above it, are predicted to be.
    target : str
        Name of the outcome.
    columns : tuple of str
        All columns that could be chosen, those of text by level.
    summary : dict
        How the model was fitted, on what, and how well it ranks; only what JSON can hold.
    version : str
        Of the library that made it.
    """

    terms: tuple[Term, ...]
    intercept: float
    negative: str
    positive: str
    target: str
    columns: tuple[str, ...] = field(repr=False)
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)
    version: str = ""

    def scores(self, values: Floats) -> Floats:
        """Score rows given the values of the terms, (n, n_terms), NaN where missing."""
        fills = np.array([np.nan if term.fill is None else term.fill for term in self.terms])
        filled = np.where(np.isnan(values), fills, values)
        coefficients = np.array([term.coefficient for term in self.terms], np.float64)
        scores: Floats = filled @ coefficients + self.intercept
        return scores

    def as_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ScoreCard:
        """Undo :meth:`as_dict`; raises KeyError, TypeError or ValueError on anything else."""
        terms = tuple(
            Term(
                column=_text(term["column"]),
                level=None if term["level"] is None else _text(term["level"]),
                coefficient=float(term["coefficient"]),
                fill=None if term["fill"] is None else float(term["fill"]),
            )
            for term in content["terms"]
        )
        return cls(
            terms=terms,
            intercept=float(content["intercept"]),
            negative=_text(content["negative"]),
            positive=_text(content["positive"]),
            target=_text(content["target"]),
            columns=tuple(_text(name) for name in content["columns"]),
            summary=dict(content["summary"]),
            version=_text(content["version"]),
        )

    def digest(self) -> str:
        """SHA-256 of all that decides a score or says what it means.

        It notices damage and careless edits. It is no signature: whoever changes the file on
        purpose can compute it anew.
        """
        content = self.as_dict()
        # Numbers by their shortest exact text, names in Unicode: the same on every machine.
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, got {type(value).__name__}")
    return value


def make_card(
    model: Any,
    *,
    inputs: Sequence[tuple[str, str | None]] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
    summary: Mapping[str, Any] | None = None,
) -> ScoreCard:
    """Write down what a fitted model comes to.

    Parameters
    ----------
    model : SparseLinearClassifier, or Pipeline of SimpleImputer and one
        Fitted.
    inputs : sequence of (column, level), optional
        Where each column of X comes from, level being None but for text; by default the names the
        model was fitted with, or numbers.
    classes : (str, str), optional
        Names of the negative and the positive class; the model's own by default.
    target : str, default="y"
        Name of the outcome.
    summary : mapping, optional
        What else to keep; only what JSON can hold.

    Returns
    -------
    ScoreCard
    """
    from .. import __version__

    imputer, classifier = parts_of(model)
    coef = np.asarray(classifier.coef_[0], np.float64)
    if inputs is None:
        names = getattr(model, "feature_names_in_", np.arange(coef.size))
        inputs = [(str(name), None) for name in names]
    if len(inputs) != coef.size:
        raise ValueError(f"inputs names {len(inputs)} columns, the model has {coef.size}")
    fills = [None] * coef.size if imputer is None else imputer.statistics_.tolist()
    terms = tuple(
        Term(*inputs[j], coefficient=float(coef[j]), fill=fills[j])
        for j in np.flatnonzero(coef).tolist()
    )
    negative, positive = classes or tuple(str(label) for label in classifier.classes_.tolist())
    return ScoreCard(
        terms=terms,
        intercept=float(classifier.intercept_[0]),
        negative=negative,
        positive=positive,
        target=target,
        columns=tuple(Term(*one, coefficient=0.0).name for one in inputs),
        summary={} if summary is None else dict(summary),
        version=__version__,
    )


def parts_of(model: Any) -> tuple[SimpleImputer | None, SparseLinearClassifier]:
    """The imputer, if there is one, and the classifier of a fitted model."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, classifier = steps
    sound = isinstance(classifier, SparseLinearClassifier) and (
        not before or (len(before) == 1 and isinstance(before[0], SimpleImputer))
    )
    if not sound:
        named = ", ".join(type(step).__name__ for step in steps)
        raise TypeError(
            f"a model is a classifier of sparseauc, alone or after a SimpleImputer; got {named}"
        )
    check_is_fitted(classifier)
    imputer = before[0] if before else None
    if imputer is not None and imputer.statistics_.size != classifier.n_features_in_:
        raise TypeError(
            "the imputer dropped or added columns: make it with keep_empty_features=True and "
            "without add_indicator"
        )
    return imputer, classifier
