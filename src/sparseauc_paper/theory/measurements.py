"""Two tasks for SHT-AUC, the paper's and an easy one, and what is measured on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparseauc.blocks import RowBlocks
from sparseauc.datasets import make_outbreak
from sparseauc.moments.base import Array
from sparseauc.objective import AUCObjective
from sparseauc.selection import sparse_auc_path

from .constants import (
    GaussianConstants,
    expansion_of_lemma,
    tolerance,
    tolerance_parameter,
)
from .empirical import (
    Course,
    EmpiricalConstants,
    block_gradient_norm,
    empirical_constants,
    measure_course,
)


@dataclass(frozen=True)
class Setting:
    """A task for SHT-AUC.

    Attributes
    ----------
    n, d, k_star, mu
        Rows, columns, shifted columns and their shift, as for ``make_outbreak``.
    k, b : int
        Columns kept, and rows of a block.
    n_epochs : int
    """

    n: int
    d: int
    k_star: int
    mu: float
    k: int
    b: int
    n_epochs: int

    def gaussian(self, r: float, n: float | None = None) -> GaussianConstants:
        """Constants of Theorem 2, for this or another number of rows."""
        return GaussianConstants(self.n if n is None else n, self.d, self.k, self.k_star, r, self.b)

    def __str__(self) -> str:
        blocks = "one block" if self.b == self.n else f"blocks of {self.b}"
        return f"{grouped(self.n)} rows × {grouped(self.d)} columns, k = {self.k}, {blocks}"


# The paper's Figure 1 (k = k* = 20, b = 50), and a task easy enough for Theorem 1 to speak.
PAPER = Setting(n=1000, d=1000, k_star=20, mu=0.3, k=20, b=50, n_epochs=60)
EASY = Setting(n=50_000, d=40, k_star=2, mu=0.6, k=10, b=50_000, n_epochs=30)


@dataclass(frozen=True)
class Measurement:
    """One drawn table, and a run of SHT-AUC on it.

    Attributes
    ----------
    constants : EmpiricalConstants
    course : Course
        With Theorem 1's step, 1/ρ⁺.
    same_step : Course
        With a step given from outside.
    sigma : float
        Theorem 1's σ for the best vector of k* columns.
    """

    constants: EmpiricalConstants
    course: Course
    same_step: Course
    sigma: float

    @property
    def bound(self) -> Array:
        """Theorem 1's bound of ``course.distances``; infinite where it is silent."""
        kappa = self.constants.kappa[1]
        distances = self.course.distances
        if kappa >= 1:
            return np.full_like(distances, np.inf)
        shrunk: Array = kappa ** np.arange(len(distances)) * distances[0]
        return shrunk + tolerance(self.sigma, kappa)

    @property
    def promised(self) -> float:
        """Theorem 1's tolerance, as a share of the first distance."""
        return tolerance(self.sigma, self.constants.kappa[1]) / float(self.course.distances[0])

    @property
    def remaining(self) -> float:
        """What remained of the distance to w*, as a share of the first."""
        return self.course.plateau / float(self.course.distances[0])


# By the share of positives, a measurement for each table drawn.
Measurements = dict[float, list[Measurement]]


def measure_ratios(
    setting: Setting, ratios: Sequence[float], n_tables: int, seed: int
) -> Measurements:
    """Measure ``n_tables`` tables for every ratio; the smallest ratio's step is tried on all."""
    results: Measurements = {}
    same_step: float | None = None
    for r in sorted(ratios):
        results[r] = []
        for table in range(n_tables):
            rng = np.random.default_rng([seed, table, round(1000 * r), setting.d])
            results[r].append(_measure(setting, r, rng, same_step))
            if same_step is None:
                same_step = _step(results[r][0].constants)
    return results


def _measure(
    setting: Setting, r: float, rng: np.random.Generator, same_step: float | None
) -> Measurement:
    data = make_outbreak(setting.n, setting.d, setting.k_star, setting.mu, r, random_state=rng)
    objective = AUCObjective(data.X, data.y)
    # The rows are shuffled already.
    blocks = RowBlocks.partition(setting.n, setting.b, shuffle=False, rng=rng)
    constants = empirical_constants(
        objective, blocks, setting.k, setting.k_star, n_random=10, rng=rng
    )
    path = sparse_auc_path(data.X, data.y, ks=[setting.k_star], alphas=[0.0])
    best = path.coef(setting.k_star, 0.0)
    norm = block_gradient_norm(objective, blocks, best, constants.s)
    step = _step(constants)
    expansion = expansion_of_lemma(setting.k, setting.k_star, setting.d)
    course, same = (
        measure_course(
            objective, blocks, best, setting.k, step_size=size, n_epochs=setting.n_epochs, rng=rng
        )
        for size in (step, step if same_step is None else same_step)
    )
    return Measurement(constants, course, same, tolerance_parameter(norm, 1 / step, expansion))


def _step(constants: EmpiricalConstants) -> float:
    """1/ρ⁺: the certain one where the theorem speaks, otherwise the best estimate there is."""
    found, certain = constants.rho_plus
    return 1 / (certain if constants.kappa[1] < 1 else found)


def grouped(number: int) -> str:
    """Thousands set apart, from five digits on."""
    return f"{number:,}".replace(",", " ") if number >= 10_000 else str(number)
