"""Effects of the chosen columns in bootstrap samples, in which columns are chosen anew."""

import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

from sparseauc.columns import Encoding, Levels
from sparseauc.performance import fit_logistic
from sparseauc.selection.confidence import scores_by
from sparseauc.survival import ProportionalHazards
from sparseauc.utils.types import Array

from ..fit_result import FitResult
from ..folds import Progress
from ..methods import list_of_k
from ..models import chooses_by_exchanges, labels_for, ridge_of

SAMPLES = 50
# Seconds that all samples may take, judged by those done.
_PATIENCE = 30.0
# Values at which an effect is drawn.
_MOST_AT = 60


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect:
    """What a chosen column adds to the score, less than at its reference, and in the samples.

    Attributes
    ----------
    at : ndarray of shape (m,)
        Numbers; of text the numbers of its levels.
    levels : tuple of str, optional
        Of text.
    reference : float
        The median; of text the number of the level that counts 0.
    quartiles : (float, float)
        The 25th and the 75th percentile of the rows.
    effect : ndarray of shape (m,)
    samples : ndarray of shape (n_samples, m)
        0 where a sample did not choose the column.
    across : float
        The effect from the 25th to the 75th percentile; NaN of text.
    across_samples : ndarray of shape (n_samples,)
    """

    at: Array
    levels: tuple[str, ...] | None
    reference: float
    quartiles: tuple[float, float]
    effect: Array
    samples: Array
    across: float
    across_samples: Array

    @property
    def band(self) -> Array | None:
        """Ends within which 95 % of the samples lie; None without samples."""
        return _middle_of(self.samples)

    @property
    def interval(self) -> Array | None:
        """The same of the effect from the 25th to the 75th percentile."""
        return _middle_of(self.across_samples)


def _middle_of(samples: Array) -> Array | None:
    if not len(samples):
        return None
    ends: Array = np.quantile(samples, [0.025, 0.975], axis=0)
    return ends


def bootstrap_effects(
    fit: FitResult, report: Progress = lambda *_: None
) -> list[ColumnEffect]:
    """Effects of the chosen columns, in the order of ``fit.columns``.

    Each sample chooses as many columns anew, with the final ridge; its effects are
    brought to the scale of the model by a regression of all rows on its score. Groups
    are drawn as a whole. There are no samples where they would take minutes.
    """
    found = [_look_at(fit, j) for j in fit.chosen.values()]
    refits = _refit(fit, report)
    for place, j in enumerate(fit.chosen.values()):
        one = found[place]
        rows = [_evaluate(encodings.get(j), one, slope) for encodings, slope in refits]
        samples = np.array([effect for effect, _ in rows]).reshape(
            len(rows), one.at.size
        )
        across = np.array([of for _, of in rows])
        found[place] = ColumnEffect(
            **{**vars(one), "samples": samples, "across_samples": across}
        )
    return found


def _look_at(fit: FitResult, j: int) -> ColumnEffect:
    """The effect of a column by the model itself."""
    values = fit.table.values_of(j)
    known = values[np.isfinite(values)]
    encoding = fit.model.encodings_[j]
    levels = fit.table.numbers.levels.get(j)
    if levels is None:
        at = np.unique(known)
        if at.size > _MOST_AT:
            at = np.linspace(at[0], at[-1], _MOST_AT)
        low, reference, high = np.quantile(known, [0.25, 0.5, 0.75]).tolist()
    else:
        at = np.arange(len(levels), dtype=np.float64)
        effects = [*encoding.formula().effects.values()]
        reference = float(np.argmin(np.abs(effects)))
        low = high = reference
    none = np.empty((0, at.size))
    plain = ColumnEffect(
        at, levels, reference, (low, high), np.zeros(at.size), none, 0.0, np.empty(0)
    )
    effect, across = _evaluate(encoding, plain, _slope_of_model(fit.model))
    return ColumnEffect(**{**vars(plain), "effect": effect, "across": across})


def _evaluate(
    encoding: Encoding | None, where: ColumnEffect, slope: float
) -> tuple[Array, float]:
    """Evaluate an effect at values less than at the reference, and between the quartiles."""
    if encoding is None:
        return np.zeros(where.at.size), 0.0
    if where.levels is not None:
        assert isinstance(encoding, Levels)
        effects = encoding.effect(where.levels)
        return slope * (effects - effects[int(where.reference)]), np.nan
    at_reference, low, high = encoding.effect([where.reference, *where.quartiles])
    return slope * (encoding.effect(where.at) - at_reference), float(
        slope * (high - low)
    )


def _slope_of(fit: FitResult, scores: Array) -> float:
    """What scores are multiplied by to be log odds, or logarithms of hazards, of these rows."""
    table = fit.table
    if table.times is not None:
        return float(ProportionalHazards.fit(scores, table.times).slope)
    return float(fit_logistic(scores, table.y == 1, table.weight)[0])


def _refit(fit: FitResult, report: Progress) -> list[tuple[dict[int, Encoding], float]]:
    """Encodings of the models of all samples, and what brings them to the scale of the model."""
    table = fit.table
    model = fit.model
    if fit.nested is None or fit.points is not None or not chooses_by_exchanges(model):
        return []
    limits = model.limits
    if limits is not None and limits.budget is not None:
        limits = replace(limits, budget=getattr(model, "budget_", limits.budget))
    refit = list_of_k(table.outcome, fit.k, ridge_of(model))
    refit.set_params(limits=limits, curves=getattr(model, "curves_", model.curves))
    y = labels_for(model, table)
    known = table.known()
    weight = known.pop("sample_weight", np.ones(table.y.size))
    units = np.arange(table.y.size) if table.groups is None else table.groups
    n_units = int(units.max()) + 1
    rng = np.random.default_rng(int(fit.settings.get("seed") or 0))
    own = _slope_of(fit, np.asarray(fit.training_scores, np.float64))
    found = []
    started = time.perf_counter()
    for sample in range(SAMPLES):
        report("Bootstrap", sample, SAMPLES)
        drawn = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[units]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # of chance, which the fit told
                refit.fit(table.X, y, sample_weight=drawn * weight, **known)
        except ValueError:  # of so few rows that the sample lacks a class
            return []
        slope = _slope_of(fit, np.asarray(scores_by(refit, table.X), np.float64))
        if np.isfinite(slope / own):  # neither score separates the classes
            found.append((refit.encodings_, slope / own * _slope_of_model(model)))
        if SAMPLES * (time.perf_counter() - started) > _PATIENCE * (sample + 1):
            return []
    return found


def _slope_of_model(model: object) -> float:
    """What the score of a model is multiplied by in logarithms of hazards; 1 of log odds."""
    hazards = getattr(model, "hazards_", None)
    return 1.0 if hazards is None else float(hazards.slope)
