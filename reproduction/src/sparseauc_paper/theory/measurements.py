"""Two tasks for SHT-AUC, the paper's and an easy one, and what is measured on them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sparseauc import sparse_auc_path
from sparseauc.datasets import make_outbreak

from ..blocks import RowBlocks
from ..objective import AUCObjective
from ..tasks import Task
from .constants import (
    GaussianConstants,
    expansion_of_lemma,
    tolerance,
    tolerance_parameter,
)
from .empirical import (
    EmpiricalConstants,
    block_gradient_norm,
    empirical_constants,
    measure_course,
)


@dataclass(frozen=True)
class Setting:
    """A task for SHT-AUC on a table of ``make_outbreak`` with k* columns shifted by μ."""

    n: int
    d: int
    k_star: int
    mu: float
    k: int  # columns kept
    b: int  # rows of a block
    n_epochs: int

    def gaussian(self, r: float, n: float | None = None) -> GaussianConstants:
        """Constants of Theorem 2, for this or another number of rows."""
        return GaussianConstants(
            self.n if n is None else n, self.d, self.k, self.k_star, r, self.b
        )

    def __str__(self) -> str:
        blocks = "one block" if self.b == self.n else f"blocks of {self.b}"
        return f"{grouped(self.n)} rows × {grouped(self.d)} columns, k = {self.k}, {blocks}"


# The paper's Figure 1 (k = k* = 20, b = 50), and a task easy enough for Theorem 1 to
# speak.
PAPER = Setting(n=1000, d=1000, k_star=20, mu=0.3, k=20, b=50, n_epochs=60)
EASY = Setting(n=50_000, d=40, k_star=2, mu=0.6, k=10, b=50_000, n_epochs=30)
SETTINGS = {"paper": PAPER, "easy": EASY}
# Enough rows for Theorem 2's ρ⁻ to be a bound at every ratio.
MANY_ROWS = 1e8

# Numbers that a task gives as a pair: what was found, and what is certain.
PAIRS = ("rho_minus", "rho_plus", "condition", "kappa")
# What a task found; by the share of positives, that of each table drawn.
Measurement = Mapping[str, Any]
Measurements = Mapping[float, Sequence[Measurement]]


def theory_task(setting: Setting, **drawn: float) -> Task:
    """Name the measurements on a drawn table: ratio, least_ratio, whose step is tried too, …"""
    return Task("theory", asdict(setting) | drawn)


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Draw a table, measure its constants, and run SHT-AUC on it; see ``theory_task``.

    Pairs are (found, certain). ``rate`` and ``remaining`` are of a run with Theorem 1's
    step, 1/ρ⁺, ``same_rate`` of one with the least ratio's. Distances, to the best
    vector of k* columns, are shares of the first; ``slack`` is the least room between
    one and Theorem 1's bound, which is infinite where κ is 1 or more. ``printed_kappa``
    is that of Theorem 2's formulas with very many rows.
    """
    setting = Setting(**{name: settings[name] for name in Setting.__dataclass_fields__})
    objective, blocks, constants, rng = _drawn(
        setting, settings["ratio"], settings["table"], settings["seed"]
    )
    path = sparse_auc_path(
        objective.table, objective.positive, ks=[setting.k_star], alphas=[0.0]
    )
    best = path.coef(setting.k_star, 0.0)
    norm = block_gradient_norm(objective, blocks, best, constants.s)
    step = _step(constants)
    course, same = (
        measure_course(
            objective,
            blocks,
            best,
            setting.k,
            step_size=size,
            n_epochs=setting.n_epochs,
            rng=rng,
        )
        for size in (step, _step_of(setting, settings["least_ratio"], settings["seed"]))
    )
    expansion = expansion_of_lemma(setting.k, setting.k_star, setting.d)
    kappa = constants.kappa[1]
    first = float(course.distances[0])
    promised = tolerance(tolerance_parameter(norm, 1 / step, expansion), kappa) / first
    to_best = course.distances / first
    # Where κ is above 1 the bound is infinite; its powers would only overflow.
    bound = min(kappa, 1.0) ** np.arange(to_best.size) + promised
    return {
        "rho_minus": constants.rho_minus,
        "rho_plus": constants.rho_plus,
        "condition": constants.condition,
        "condition_on_random": constants.condition_on_random,
        "kappa": constants.kappa,
        "rate": course.rate,
        "same_rate": same.rate,
        "remaining": course.plateau / first,
        "promised": promised,
        "slack": float(np.min(bound - to_best)),
        "printed_kappa": setting.gaussian(settings["ratio"], MANY_ROWS).kappa,
    }


def _drawn(
    setting: Setting, ratio: float, table: int, seed: int
) -> tuple[AUCObjective, RowBlocks, EmpiricalConstants, np.random.Generator]:
    """Draw a table and measure its constants; and the generator, for what comes next."""
    rng = np.random.default_rng([seed, table, round(1000 * ratio), setting.d])
    data = make_outbreak(
        setting.n, setting.d, setting.k_star, setting.mu, ratio, random_state=rng
    )
    objective = AUCObjective(data.X, data.y)
    # The rows are shuffled already.
    blocks = RowBlocks.partition(setting.n, setting.b, shuffle=False, rng=rng)
    constants = empirical_constants(
        objective, blocks, setting.k, setting.k_star, n_random=10, rng=rng
    )
    return objective, blocks, constants, rng


@lru_cache(maxsize=2)
def _step_of(setting: Setting, ratio: float, seed: int) -> float:
    """1/ρ⁺ of the first table of a ratio."""
    return _step(_drawn(setting, ratio, 0, seed)[2])


def _step(constants: EmpiricalConstants) -> float:
    """1/ρ⁺: the certain one where the theorem speaks, otherwise the best estimate there is."""
    found, certain = constants.rho_plus
    return 1 / (certain if constants.kappa[1] < 1 else found)


def grouped(number: int) -> str:
    """Thousands set apart, from five digits on."""
    return f"{number:,}".replace(",", " ") if number >= 10_000 else str(number)
