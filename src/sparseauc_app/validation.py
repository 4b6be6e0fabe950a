"""Validate a model on new rows, such as those of another hospital or year."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from sparseauc.errors import InputError
from sparseauc.metrics import AUCInterval
from sparseauc.operating_points import OperatingPoint, judge_threshold
from sparseauc.outcome import Binary, Outcome, Times
from sparseauc.utils.types import Array, Mask

from .cautions import warn_of_chance
from .column_types import ColumnType, Rows
from .evaluation.probabilities import (
    CalibrationCheck,
    Risks,
    describe_risks,
    judge_risks,
    judge_scores,
)
from .evaluation.ranking import Followed, RankCurves, follow_scores, rank_curves
from .evaluation.sample_size import ValidationSize, validation_size
from .model_files import ModelFileError
from .reading import DataError, Rules
from .reading.columns import texts
from .reading.outcome import find_new_classes, follow_rows
from .reading.scoring import ColumnShift, compare_columns, read_numbers, score_rows
from .reading.source import Source
from .reading.training import read_complete_column
from .scorecard import ScoreCard, read_record


@dataclass(frozen=True)
class GroupResult:
    """The rows of one group; ``interval`` is None with fewer than two rows of a class."""

    name: str
    rows: int
    positives: int
    interval: AUCInterval | None


@dataclass(frozen=True, eq=False, repr=False)
class OtherScore:
    """Another score or risk of the same rows, such as an established one, beside the model's.

    Attributes
    ----------
    name : str
    rows : int
        Rows that have it; the model is compared on these.
    interval, own : AUCInterval
        Its AUC, and that of the model on the same rows; of times to event, the
        concordance.
    difference, error, pvalue : float
        AUC of the model minus its own, with DeLong's paired standard error and test.
    risks : Risks, optional
        If it holds probabilities.
    at_horizon : AUCInterval, optional
        Of times to event: its AUC at the horizon.
    """

    name: str
    rows: int
    interval: AUCInterval
    own: AUCInterval
    difference: float
    error: float
    pvalue: float
    risks: Risks | None
    at_horizon: AUCInterval | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """95 % CI of the difference."""
        return self.difference - 1.96 * self.error, self.difference + 1.96 * self.error

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "name": self.name,
            "rows": self.rows,
            "auc": asdict(self.interval),
            "own_auc": asdict(self.own),
            "difference": self.difference,
            "standard_error": self.error,
            "pvalue": self.pvalue,
            **describe_risks(self.risks),
            "auc_at_horizon": None
            if self.at_horizon is None
            else asdict(self.at_horizon),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """Performance of a model on new rows: those that have an outcome and a score.

    ``within`` is the column within whose values rows were compared, if the model was
    fitted so; ``promised`` the AUC by nested cross-validation, from the card, and
    ``pvalue`` the unpaired test of the difference of the two AUCs. ``risks`` compares
    probabilities with the outcome; ``size`` is what a precise validation needs.
    ``points`` are the card's thresholds, on these rows, and ``others`` other scores of
    these rows.
    """

    card: ScoreCard
    source: str
    scores: Array
    outcome: Outcome
    interval: AUCInterval
    within: str | None
    promised: AUCInterval | None
    pvalue: float | None
    risks: Risks | None
    size: ValidationSize | None
    points: Sequence[OperatingPoint]
    groups: Sequence[GroupResult]
    columns: Sequence[ColumnShift]
    notes: tuple[str, ...] = ()
    reading_warnings: tuple[str, ...] = ()
    others: Sequence[OtherScore] = ()
    followed: Followed | None = None
    curves: RankCurves | None = None

    @property
    def calibration(self) -> CalibrationCheck | None:
        """Intercept and slope of the probabilities, if the model has any."""
        return None if self.risks is None else self.risks.check

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to rely on the result."""
        measure = self.card.measure
        told = [
            *self.reading_warnings,
            *warn_of_chance(asdict(self.interval), "model", measure),
        ]
        if self.promised is not None and self.pvalue is not None and self.pvalue < 0.05:
            lower = self.interval.auc < self.promised.auc
            how = "lower" if lower else "higher"
            told.append(
                f"The {measure} of {self.interval.auc:.3f} is {how} than that of nested "
                f"cross-validation in training, {self.promised.auc:.3f} (p = {self.pvalue:.2g})"
                + (
                    "."
                    if lower
                    else ": make sure that none of these rows was used for fitting."
                )
            )
        told += [one.sentence for one in self.columns if one.moved]
        return tuple(dict.fromkeys(told))

    @property
    def positive(self) -> Mask:
        """Rows with the event."""
        return self.outcome.positive

    @property
    def rows(self) -> int:
        """Number of rows judged."""
        return int(self.positive.size)

    @property
    def positives(self) -> int:
        """Number of positive rows."""
        return int(self.positive.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON except rows."""
        return {
            "source": self.source,
            "target": self.card.target,
            "positive": self.card.positive,
            "rows": self.rows,
            "positives": self.positives,
            "measure": self.card.measure,
            "auc": asdict(self.interval),
            "within": self.within,
            "promised": None if self.promised is None else asdict(self.promised),
            "pvalue": self.pvalue,
            **describe_risks(self.risks),
            "auc_at": None
            if self.followed is None
            else [{"time": time, **asdict(one)} for time, one in self.followed.at],
            "operating_points": [point.as_dict() for point in self.points],
            "groups": [asdict(one) for one in self.groups],
            "columns": [asdict(one) for one in self.columns],
            "others": [one.as_dict() for one in self.others],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


def validate_model(
    card: ScoreCard,
    source: Source,
    by: str | None = None,
    *,
    groups: str | None = None,
    positive: str | None = None,
    negative: str | None = None,
    risk_columns: Sequence[str] = (),
) -> Validation:
    """Evaluate a model on a table with known outcome, and each group of the column ``by``.

    The groups are by default the strata of the model, and the labels of the two classes
    those of the model; with ``negative``, rows with other labels are left out.
    ``groups`` is a column that marks related rows, which intervals and tests of
    rankings take together. ``risk_columns`` are columns of other scores or risks to
    compare with.
    """
    found = score_rows(source, card)
    scores = found.scores
    new = _read_outcome(source, card, scores, positive, negative)
    judged = new.judged
    related = read_complete_column(source, groups, "--groups", np.flatnonzero(judged))
    outcome = new.outcome.related(related)
    new = replace(new, outcome=outcome)
    truth = outcome.positive
    _refuse_few(source, card, truth)
    notes = [*source.notes, *found.notes, *new.notes]
    values = found.values[judged]
    kept = scores[judged]
    interval, within = _judge_ranking(card, source, new, kept)
    warnings = list(found.warnings)
    short = _is_short(outcome)
    how = None if short else card.risk_map
    try:
        of_card = card.summary.get("auc")
        # What is promised is Uno's C until the horizon.
        promised = (
            None if of_card is None or short else read_record(AUCInterval, of_card)
        )
        points = [
            replace(
                judge_threshold(truth, kept, threshold, name),
                risk=None if how is None else float(how.risks(np.array(threshold))),
                total=card.total,
            )
            for name, threshold in (
                card.thresholds or {"default": card.threshold}
            ).items()
            if card.follow_up is None
        ]
        columns = compare_columns(card, values)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError("the model's summary is damaged") from error
    if within != card.within:
        promised = None
        warnings.append(
            f"the model was judged within {card.within!r}, and this table has no rows of "
            f"both classes to compare so: its {card.measure} is over all rows, and none was "
            "promised for that"
        )
    pvalue = None if promised is None else _compare(promised, interval)
    risks = size = None
    if how is not None:
        risks = judge_scores(outcome, how, kept)
        expected = interval if promised is None else promised
        if card.follow_up is None:
            size = validation_size(how.linear(kept), expected.auc, float(truth.mean()))
    followed = curves = None
    if isinstance(outcome, Times):
        followed = follow_scores(outcome.times, outcome.horizon, kept)
    else:
        curves = rank_curves(kept, truth)
    by = within if by is None else by
    parts = (
        []
        if by is None
        else judge_groups(_read_groups(source, by, judged), outcome, kept)
    )
    return Validation(
        card=card,
        source=source.name,
        scores=kept,
        outcome=outcome,
        interval=interval,
        within=within,
        promised=promised,
        pvalue=pvalue,
        risks=risks,
        size=size,
        points=points,
        groups=parts,
        columns=columns,
        notes=tuple(notes),
        reading_warnings=tuple(warnings),
        others=[_judge_other(card, source, name, new, kept) for name in risk_columns],
        followed=followed,
        curves=curves,
    )


def _refuse_few(source: Source, card: ScoreCard, truth: Mask) -> None:
    """Refuse fewer than two rows of a class; rows need not be censored."""
    counts = {card.positive: truth.sum(), card.negative: (~truth).sum()}
    for label, count in counts.items():
        if count < 2 and (card.times is None or label == card.positive):
            raise DataError(
                f"{source.name}: only {count} scored rows are {label!r}; at least 2 are needed"
            )


def _compare(promised: AUCInterval, found: AUCInterval) -> float | None:
    """P-value of the unpaired test of two AUCs; None if both have no error."""
    error = np.hypot(promised.standard_error, found.standard_error)
    return (
        float(2 * norm.sf(abs(found.auc - promised.auc) / error)) if error > 0 else None
    )


def _judge_other(
    card: ScoreCard, source: Source, name: str, new: "NewOutcome", scores: Array
) -> OtherScore:
    """Compare a column of other scores with the model, on the rows that have both."""
    # A column that the model uses too is read as the model does.
    of = card.types.get(name) or ColumnType("number")
    values = read_numbers(source, name, of, "--risk-column")[new.judged]
    known = np.isfinite(values)
    outcome = new.outcome.take(known)
    state = None if _is_short(outcome) else new.outcome.at_horizon().take(known)
    values = values[known]
    scores = scores[known]
    if outcome.informative < 2:
        few = (
            "rows of a class"
            if card.times is None
            else "rows with an event until the horizon"
        )
        raise DataError(f"{source.name}: {name!r} has fewer than 2 {few}")
    paired = outcome.compare(scores, values)
    probabilities = (
        values.min() >= 0 and values.max() <= 1 and np.unique(values).size > 2
    )
    return OtherScore(
        name=name,
        rows=int(known.sum()),
        interval=outcome.interval(values),
        own=outcome.interval(scores),
        difference=paired.difference,
        error=paired.standard_error,
        pvalue=paired.pvalue,
        risks=judge_risks(values, state.positive, weight=state.weight)
        if probabilities and state is not None
        else None,
        at_horizon=None
        if card.times is None or state is None
        else state.interval(values),
    )


def _is_short(outcome: Outcome) -> bool:
    """Return whether rows are not followed until the horizon of the model."""
    return isinstance(outcome, Times) and outcome.horizon is None


@dataclass(frozen=True, eq=False)
class NewOutcome:
    """Rows of a table with an outcome and a score, and their outcome."""

    judged: Mask
    outcome: Outcome
    notes: tuple[str, ...] = ()


def _read_outcome(
    source: Source,
    card: ScoreCard,
    scores: Array,
    positive: str | None,
    negative: str | None,
) -> NewOutcome:
    """Find the outcome of new rows, as the model was fitted to it."""
    follow_up = card.follow_up
    needed = [card.target] if follow_up is None else [card.target, follow_up.time]
    absent = [repr(name) for name in needed if name not in source.names]
    if absent:
        raise DataError(f"{source.name} has no outcome column {' and '.join(absent)}")
    judged, event, notes = find_new_classes(source, card, scores, positive, negative)
    if follow_up is None:
        return NewOutcome(judged, Binary(event), notes)
    # Ranking needs no horizon, which these rows may not reach.
    horizon = follow_up.horizon if follow_up.binary else None
    rules = Rules(
        target=card.target,
        time=follow_up.time,
        horizon=horizon,
        within=follow_up.binary,
    )
    value = follow_up.event if positive is None else positive
    followed = follow_rows(source, rules, np.flatnonzero(judged), event, value)
    judged = np.zeros_like(judged)
    judged[followed.rows] = True
    outcome: Outcome = Binary(followed.y == 1, followed.weight)
    if followed.times is not None:
        try:
            outcome = Times(
                followed.times, horizon=followed.times.check_horizon(follow_up.horizon)
            )
        except InputError:
            outcome = Times(followed.times)
            notes = (
                *notes,
                "C is Harrell's, and risks are not judged: they are until "
                f"{follow_up.horizon:g}, and times go from {followed.times.time.min():g} to "
                f"{followed.times.time.max():g}",
            )
    return NewOutcome(judged, outcome, (*notes, *followed.notes))


def _judge_ranking(
    card: ScoreCard, source: Source, found: NewOutcome, scores: Array
) -> tuple[AUCInterval, str | None]:
    """AUC of the judged rows of a table, and the column within which they were compared.

    That is the column of the strata that the model was fitted with, where the table has
    it.
    """
    if card.within is not None and card.within in source.names:
        groups = _read_groups(source, card.within, found.judged)
        within = found.outcome.interval_within(scores, groups)
        if within is not None:
            return within, card.within
    return found.outcome.interval(scores), None


def _read_groups(source: Source, by: str, judged: Mask) -> npt.NDArray[np.str_]:
    """Name of each judged row's group."""
    groups = texts(source.column(by, "--by"))
    found = ["missing" if name is None else str(name) for name in groups]
    return np.array(found, np.str_)[judged]


def judge_groups(
    of_row: npt.NDArray[Any],
    outcome: Outcome,
    scores: npt.NDArray[np.floating],
    folds: Rows | None = None,
) -> list[GroupResult]:
    """AUC within each group; of scores by models of several folds within group and fold."""
    found = []
    for name in np.unique(of_row.astype(np.str_)).tolist():
        here = np.flatnonzero(of_row == name)
        part = outcome.take(here)
        interval = None
        if part.informative >= 2:
            same = None if folds is None else folds[here]
            interval = part.interval_within(scores[here], same)
        found.append(GroupResult(name, here.size, int(part.positive.sum()), interval))
    return found
