"""Means, differences and how well they are known."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan, sqrt

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as student

# Values by draw (or trial) and test part, NaN for a task that failed; samples by method
# and column.
Sample = dict[tuple[int, int], float]
Values = dict[tuple[str, str], Sample]

# Nothing is called different, or clear, that rests on fewer values.
FEWEST = 10


@dataclass(frozen=True)
class Mean:
    """Mean of some values and how well it is known."""

    mean: float
    se: float  # standard error of the mean; NaN for a single value
    df: float  # degrees of freedom of the standard error
    n: int
    std: float = nan  # the population deviation, as the paper prints it
    failed: int = 0  # values missing because their task failed
    draws: int = 0  # independent draws or trials behind the values

    @property
    def known(self) -> bool:
        """Whether it rests on enough values to be judged."""
        return self.n >= FEWEST and not isnan(self.half_width())

    def half_width(self, level: float = 0.05) -> float:
        """Half of the interval that misses the mean with probability ``level``: Student's t."""
        if self.df < 1 or isnan(self.se):
            return nan
        return float(student.isf(level / 2, self.df)) * self.se

    def bounds(self, level: float = 0.05) -> tuple[float, float]:
        """Ends of that interval."""
        half = self.half_width(level)
        return self.mean - half, self.mean + half


def mean_of(sample: Sample, *, by_trial: bool = False) -> Mean:
    """Summarise some values, of which NaN ones are failures.

    The error is that of independent values, or that of independent draws, whichever is
    larger; ``by_trial``, for trials whose values all judge the same rows, always that
    of trials.
    """
    finite = {key: value for key, value in sample.items() if not isnan(value)}
    failed = len(sample) - len(finite)
    if not finite:
        return Mean(nan, nan, 0, 0, failed=failed)
    good = np.array(list(finite.values()))
    means = np.array(list(trial_means(finite).values()))
    errors = [
        (float(units.std(ddof=1)) / sqrt(units.size), units.size - 1)
        for units in ([means] if by_trial else [good, means])
        if units.size > 1
    ]
    se, df = max(errors, default=(nan, 0))
    return Mean(
        float(good.mean()), se, df, good.size, float(good.std()), failed, means.size
    )


def resampled_mean(sample: Sample, test_share: float, *, by_trial: bool) -> Mean:
    """Summarise values from splits of the same rows again and again, for other rows like them.

    Splits of the same rows share most of their training rows: however many there are,
    the error does not vanish. Nadeau and Bengio (2003) put 1/J + n_test/n_train in
    place of 1/J, J being the number of splits. ``test_share`` is n_test/n_train;
    ``by_trial`` takes one value for each trial.
    """
    known = mean_of(sample)
    units = trial_means(sample) if by_trial else sample
    values = np.array([value for value in units.values() if not isnan(value)])
    if values.size < 2:
        return known
    error = sqrt((1 / values.size + test_share) * float(values.var(ddof=1)))
    return replace(known, se=error, df=values.size - 1)


def trial_means(sample: Sample) -> Sample:
    """One value for each draw or trial."""
    trials: dict[int, list[float]] = {}
    for (trial, _), value in sample.items():
        trials.setdefault(trial, []).append(value)
    return {(trial, 0): float(np.mean(values)) for trial, values in trials.items()}


def difference_of(one: Sample, other: Sample) -> Sample:
    """``one`` minus ``other``, on the draws and parts that both have."""
    return {key: value - other[key] for key, value in one.items() if key in other}


def unpaired_difference(one: Mean, other: Mean) -> Mean:
    """Difference of two means of different draws, with Welch's degrees of freedom."""
    parts = [(known.se**2, known.df) for known in (one, other)]
    variance = sum(square for square, _ in parts)
    terms = sum(square**2 / df for square, df in parts if df > 0)
    df = variance**2 / terms if terms > 0 else min(one.df, other.df)
    return Mean(one.mean - other.mean, sqrt(variance), df, min(one.n, other.n))


def difference_in_errors(mine: Mean, theirs: Mean) -> float:
    """Difference from a printed mean in standard errors; NaN from fewer than ten values.

    A few values that happen to agree do not make an error small: ours is at least what
    the printed deviation makes of as many draws. The quotient is Student's t; what is
    returned is the normal deviate of the same probability, so that 2 means the same for
    any number of values.
    """
    if mine.n < FEWEST or mine.df < 1:
        return nan
    se = max(mine.se, theirs.std / sqrt(mine.df + 1))
    change = unpaired_difference(replace(mine, se=se), theirs)
    if not change.se > 0:
        return nan
    quotient = change.mean / change.se
    return float(np.sign(quotient) * normal.isf(student.sf(abs(quotient), change.df)))


def draws_of(
    values: Mapping[tuple[str, str], Sample], method: str, columns: Collection[str] = ()
) -> Sample:
    """Values of a method over some columns, or all: a draw of each column is one by itself."""
    samples = {
        column: sample
        for (key, column), sample in values.items()
        if key == method and (column in columns or not columns)
    }
    return {
        (trial * len(samples) + place, part): value
        for place, sample in enumerate(samples.values())
        for (trial, part), value in sample.items()
    }


def shown(change: Mean, digits: int = 3) -> str:
    """Show a change with its sign, and half of its 95 % interval where that is known."""
    half = change.half_width()
    text = f"{round(change.mean, digits) + 0.0:+.{digits}f}".replace("-", "−")
    return text if isnan(half) else f"{text} ± {half:.{digits}f}"
