"""What the theorems bound, measured: restricted eigenvalues of blocks, and the course of a run.

F = 1 + 2w·δ + wᵀHw has the Hessian 2H, and the block objective f_B has 2H_B with

    H_B = Σ_{x in B, positive} (m/n₊)(x − x̄₊)(x − x̄₊)ᵀ
        + Σ_{x in B, negative} (m/n₋)(x − x̄₋)(x − x̄₋)ᵀ + δδᵀ,

m being the number of blocks. So the constants of Theorem 1 are twice the least
eigenvalue of H and the greatest of any H_B, over all choices of s columns.

There are too many choices to try them all. Supports that are tried, at random or by
looking for bad ones, err to one side: the worst support there is may be worse. The
whole spectrum and Gershgorin's discs err to the other side. Between the two lies the
truth.
"""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ..algorithm import iterates, rows_of
from ..arrays import Array, Indices
from ..blocks import RowBlocks
from ..objective import AUCObjective
from ..projections import hard_threshold
from .constants import contraction, expansion_of_lemma

# An exchange must gain this much, relatively, or rounding would keep the search going.
_LEAST_GAIN = 1e-9
# Columns tried as the one to give way, those that matter least first.
_EXCHANGES = 8
# A distance this small beside the first is rounding.
_ROUNDING = 1e-6


class Eigenpair(NamedTuple):
    """The greatest eigenvalue of a matrix on some columns, its eigenvector, and the columns."""

    value: float
    vector: Array
    support: list[int]


@dataclass(frozen=True)
class Bracket:
    """Where the least or greatest eigenvalue over all supports of s columns lies."""

    random: float  # the worst among random supports
    found: float  # the worst found by any means; the truth is as bad or worse
    bound: float  # the truth is as good or better
    support: Indices = field(repr=False, compare=False)  # the columns of ``found``


def hessian_root(objective: AUCObjective, rows: npt.ArrayLike, n_blocks: int) -> Array:
    """Z with ZᵀZ = H_B = ½∇²f_B, for the block of these rows, one of ``n_blocks``: H for one."""
    index = np.asarray(rows, np.int64)
    positive = objective.positive[index]
    root = objective.table[index]
    scales = 0.5 * np.array(objective.block_scales(n_blocks))
    weight = np.where(positive, *scales)
    for mask, mean in zip((positive, ~positive), objective.moments.means, strict=True):
        root[mask] -= mean
    root *= np.sqrt(weight)[:, None]
    return np.vstack([root, objective.moments.delta])


def restricted_eigenvalue(
    root: Array, size: int, sign: float, *, n_random: int = 30, rng: np.random.Generator
) -> Bracket:
    """Bracket the greatest (sign 1) or least (sign −1) eigenvalue of ZᵀZ on any ``size`` columns.

    Sought is the greatest of ±ZᵀZ; the sign is undone at the end.
    """
    d = root.shape[1]
    matrix = sign * (root.T @ root)
    tried = [
        _top_eigenpair(matrix, rng.choice(d, size, replace=False).tolist())
        for _ in range(n_random)
    ]
    starts = [_grown(matrix, size)]
    if tried:
        starts.append(max(tried, key=attrgetter("value")))
    worst = max(
        (_exchanged(matrix, start) for start in starts), key=attrgetter("value")
    )
    bound = min(_whole_spectrum(root, sign), _discs(matrix, size))
    return Bracket(
        random=sign * starts[1].value if tried else np.nan,
        found=sign * worst.value,
        # Rounding must not put the bound on the wrong side of what was found.
        bound=sign * max(bound, worst.value),
        support=np.sort(np.array(worst.support, np.int64)),
    )


def _grown(matrix: Array, size: int) -> Eigenpair:
    """Columns with a large eigenvalue, from a single one by adding the best one at a time."""
    pair = _top_eigenpair(matrix, [int(np.argmax(matrix.diagonal()))])
    while len(pair.support) < size:
        pair = _top_eigenpair(matrix, [*pair.support, _best_addition(matrix, pair)])
    return pair


def _exchanged(matrix: Array, pair: Eigenpair) -> Eigenpair:
    """Exchange columns that matter little for better ones, for as long as that helps."""
    improved = len(pair.support) > 1
    while improved:
        improved = False
        for out in np.argsort(np.abs(pair.vector))[:_EXCHANGES].tolist():
            rest = _top_eigenpair(matrix, pair.support[:out] + pair.support[out + 1 :])
            new = _top_eigenpair(matrix, [*rest.support, _best_addition(matrix, rest)])
            if new.value > pair.value + _LEAST_GAIN * abs(pair.value):
                pair, improved = new, True
                break
    return pair


def _best_addition(matrix: Array, pair: Eigenpair) -> int:
    """Find the column that promises the greatest eigenvalue together with those in hand."""
    # A column j is judged by the span of the eigenvector in hand and e_j, where the
    # greatest eigenvalue is that of a 2 × 2 matrix, and at most the one to come.
    diagonal = matrix.diagonal()
    coupling = pair.vector @ matrix[pair.support]
    promise = (pair.value + diagonal) / 2 + np.hypot(
        (pair.value - diagonal) / 2, coupling
    )
    promise[pair.support] = -np.inf
    return int(np.argmax(promise))


def _top_eigenpair(matrix: Array, support: list[int]) -> Eigenpair:
    last = len(support) - 1
    values, vectors = scipy.linalg.eigh(
        matrix[np.ix_(support, support)],
        subset_by_index=[last, last],
        check_finite=False,
    )
    return Eigenpair(float(values[0]), vectors[:, 0], support)


def _whole_spectrum(root: Array, sign: float) -> float:
    """Greatest eigenvalue of ±ZᵀZ on all columns: taking columns away cannot exceed it."""
    short = root.shape[0] < root.shape[1]
    if short and sign < 0:
        return 0.0  # more columns than rows
    gram = root @ root.T if short else root.T @ root
    place = len(gram) - 1 if sign > 0 else 0
    value = float(scipy.linalg.eigvalsh(gram, subset_by_index=[place, place])[0])
    # A singular matrix has rounding in place of its zeros.
    return sign * value if value > 1e-14 * float(np.trace(gram)) else 0.0


def _discs(matrix: Array, size: int) -> float:
    """Greatest right end of a Gershgorin disc that ``size`` columns can form."""
    others = np.abs(matrix)
    np.fill_diagonal(others, 0.0)
    radii = np.partition(others, len(others) - size, axis=1)[
        :, len(others) - size + 1 :
    ].sum(axis=1)
    return float((matrix.diagonal() + radii).max())


@dataclass(frozen=True)
class EmpiricalConstants:
    """The constants of Theorem 1 for a table and its blocks.

    Every pair goes from the friendlier to the sterner side: what was *found* is what
    the worst support tried allows to hope for, what is *certain* holds for all
    supports.
    """

    k: int
    k_star: int
    d: int
    n_blocks: int  # steps of an epoch
    least: Bracket  # of H; ρ⁻ is twice this
    greatest: Bracket  # of the worst H_B; ρ⁺ is twice this

    @property
    def s(self) -> int:
        """Non-zeros that matter: 2k + k*, or d where that is less."""
        return min(2 * self.k + self.k_star, self.d)

    @property
    def rho_plus(self) -> tuple[float, float]:
        """(found, certain) ρ⁺."""
        return 2 * self.greatest.found, 2 * self.greatest.bound

    @property
    def rho_minus(self) -> tuple[float, float]:
        """(found, certain) ρ⁻; 0 where it is not certain that F is strictly convex."""
        return 2 * max(self.least.found, 0.0), 2 * max(self.least.bound, 0.0)

    @property
    def condition_on_random(self) -> float:
        """ρ as random supports have it."""
        return _ratio(self.greatest.random, self.least.random)

    @property
    def condition(self) -> tuple[float, float]:
        """(found, certain) ρ⁺/ρ⁻; infinite where ρ⁻ is 0."""
        found, certain = (
            _ratio(plus, minus)
            for plus, minus in zip(self.rho_plus, self.rho_minus, strict=True)
        )
        return found, certain

    @property
    def kappa(self) -> tuple[float, float]:
        """(found, certain) κ with Lemma 2's factor; where the second is below 1 Theorem 1 holds."""
        expansion = expansion_of_lemma(self.k, self.k_star, self.d)
        found, certain = (
            contraction(condition, expansion) for condition in self.condition
        )
        return found, certain


def empirical_constants(
    objective: AUCObjective,
    blocks: RowBlocks,
    k: int,
    k_star: int,
    *,
    n_random: int = 30,
    rng: np.random.Generator,
) -> EmpiricalConstants:
    """Measure ρ⁻ of F and ρ⁺ of its blocks along vectors of at most 2k + k* non-zeros.

    Examples
    --------
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=4000, d=20, k=2, r=0.25, random_state=0)
    >>> objective, rng = AUCObjective(X, y), np.random.default_rng(0)
    >>> blocks = RowBlocks.partition(4000, 4000, shuffle=False, rng=rng)
    >>> measured = empirical_constants(objective, blocks, k=8, k_star=1, rng=rng)
    >>> found, certain = measured.kappa
    >>> 0.5 < found <= certain < 1
    True
    """
    d = objective.n_features
    size = min(2 * k + k_star, d)
    whole = hessian_root(objective, blocks.rows, 1)
    least = restricted_eigenvalue(whole, size, -1.0, n_random=n_random, rng=rng)
    brackets = [
        restricted_eigenvalue(
            hessian_root(objective, rows, len(blocks)),
            size,
            1.0,
            n_random=n_random,
            rng=rng,
        )
        for rows in rows_of(blocks)
    ]
    worst = max(brackets, key=attrgetter("found"))
    greatest = Bracket(
        random=max(bracket.random for bracket in brackets),
        found=worst.found,
        bound=max(bracket.bound for bracket in brackets),
        support=worst.support,
    )
    return EmpiricalConstants(k, k_star, d, len(blocks), least, greatest)


def largest_curvature(objective: AUCObjective, blocks: RowBlocks) -> float:
    """Largest eigenvalue of ∇²f_B over the blocks B: no less than ρ⁺ for any number of columns."""
    return 2 * max(
        _whole_spectrum(hessian_root(objective, rows, len(blocks)), 1.0)
        for rows in rows_of(blocks)
    )


def block_gradient_norm(
    objective: AUCObjective, blocks: RowBlocks, w: npt.ArrayLike, size: int
) -> float:
    """Mean over blocks of max_{|Ω| ≤ size} ‖P_Ω ∇f_B(w)‖: what Theorem 1's σ is made of."""
    # The greatest norm on ``size`` columns is that of the ``size`` largest entries.
    norms = [
        np.linalg.norm(
            hard_threshold(objective.block_gradient(w, rows, len(blocks)), size)
        )
        for rows in rows_of(blocks)
    ]
    return float(np.mean(norms))


def _ratio(plus: float, minus: float) -> float:
    return plus / minus if minus > 0 else np.inf


@dataclass(frozen=True)
class Course:
    """How SHT-AUC approached a vector, step by step, and the place where it ended."""

    distances: Array = field(repr=False)  # ‖w_t − w*‖
    to_limit: Array = field(
        repr=False
    )  # ‖w_t − w̄‖, w̄ the mean of the last fifth of the iterates

    @property
    def plateau(self) -> float:
        """Distance to w* that the run ended with, the median of the last fifth."""
        return float(np.median(_last_fifth(self.distances)))

    @property
    def rate(self) -> float:
        """Factor by which a step came nearer to where the run ended, in its first descent."""
        # Not to w*: what a run cannot reach of w* hides how fast it reached the rest.
        return fit_rate(self.to_limit)


def fit_rate(distances: npt.ArrayLike) -> float:
    """Fit c to the first descent of distances that fall as c^t, then wander and hover.

    c is that of the least-squares line through log(D_t) until D_t is half of D_0, or
    for five entries if that comes sooner; NaN where there are not even two. Entries
    count only down to twice the median of the last fifth, where noise takes over, and
    to a millionth of D_0, where rounding does.

    Examples
    --------
    >>> round(fit_rate(0.8 ** np.arange(100)), 6)
    0.8
    """
    course = np.asarray(distances, np.float64)
    noise = max(2 * float(np.median(_last_fifth(course))), _ROUNDING * float(course[0]))
    falling = _entries_above(course, noise)
    descent = min(falling, max(_entries_above(course, course[0] / 2), 5))
    if descent < 2:
        return np.nan
    return float(np.exp(np.polyfit(np.arange(descent), np.log(course[:descent]), 1)[0]))


def _entries_above(course: Array, level: float) -> int:
    """How many entries come before the first that is not above ``level``."""
    below = np.flatnonzero(course <= level)
    return int(below[0]) if below.size else course.size


def measure_course(
    objective: AUCObjective,
    blocks: RowBlocks,
    target: npt.ArrayLike,
    k: int,
    *,
    step_size: float,
    n_epochs: int,
    rng: np.random.Generator,
) -> Course:
    """Run Algorithm 1 from zero, step by step, and watch its distance to a vector w*."""
    w_star = np.asarray(target, np.float64)
    run = iterates(
        objective, blocks, k, step_size=step_size, rng=rng, n_epochs=n_epochs
    )
    path = np.array([np.zeros_like(w_star), *run])
    limit = _last_fifth(path).mean(axis=0)
    return Course(
        np.linalg.norm(path - w_star, axis=1),
        np.linalg.norm(path - limit, axis=1),
    )


def _last_fifth(course: Array) -> Array:
    return course[-max(1, len(course) // 5) :]
