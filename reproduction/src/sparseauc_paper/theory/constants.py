"""The constants of Theorems 1 and 2: how fast SHT-AUC must converge, if it must.

Theorem 1. Let w* have at most k* non-zeros, s = 2k + k*, and let F be strongly convex
with constant ρ⁻ and every block objective f_B smooth with constant ρ⁺ along vectors of
at most s non-zeros (Assumptions 1 and 2). With the step γ = 1/ρ⁺ and the restricted
condition number ρ = ρ⁺/ρ⁻,

    E‖w_{t+1} − w*‖ ≤ κ^{t+1} ‖w_0 − w*‖ + σ/(1 − κ),

    κ = √(ν (1 − 1/ρ)),   σ = γ √ν · mean over blocks B of max_{|Ω| ≤ s} ‖P_Ω ∇f_B(w*)‖,

where ν > 1 is what hard thresholding may add to a squared distance. It says something
where κ < 1, which is where k is large beside k*, and larger the worse ρ is.

Theorem 2. If all rows are drawn from one N(0, Σ) with variances of at most 1, then with
high probability ρ⁻ and ρ⁺ may be taken from (n, d, s, r, b, Σ) alone.

The functions here are the formulas *as printed*; each says when it is meaningful.
``slips.csv`` lists where statement and proof part ways, ``empirical.py`` measures the
same constants on data.
"""

import math
from dataclasses import dataclass


def expansion_of_theorem(k: int, k_star: int) -> float:
    """ν as Theorem 1 defines it: 1 + k*/k + √(k*/k).

    An upper bound of ``expansion_of_lemma``, and not the ν of the proof, whose 1 + ν it
    replaces.

    Examples
    --------
    >>> expansion_of_theorem(20, 20)
    3.0
    """
    q = k_star / k
    return 1 + q + math.sqrt(q)


def expansion_of_lemma(k: int, k_star: int, d: int | None = None) -> float:
    """1 + ν of the proof: the most H_k multiplies the squared distance to a k*-sparse vector by.

    Lemma 2: ‖H_k(v) − w*‖² ≤ (1 + ν) ‖v − w*‖² with

        ν = (μ + √((4 + μ)·μ)) / 2,     μ = min(k*, d − k) / (k − k* + min(k*, d − k)).

    with 1 ≤ k* ≤ k. Without d there are at least k + k* columns, and μ = k*/k.

    Since ν² = μ(1 + ν), (1 + ν)(1 − 1/ρ) < 1 exactly if 1/μ > ρ² − ρ: the condition of
    Theorem 1, k > (ρ² − ρ)k*, is κ < 1 with *this* factor.

    Examples
    --------
    >>> round(expansion_of_lemma(20, 20), 3)
    2.618
    """
    outside = k_star if d is None else min(k_star, d - k)
    if outside == 0:
        return 1.0  # k = d keeps everything
    mu = outside / (k - k_star + outside)
    return 1 + (mu + math.sqrt((4 + mu) * mu)) / 2


def contraction(condition: float, expansion: float) -> float:
    """κ = √(ν (1 − 1/ρ)): the factor by which a step brings w nearer to w*, in expectation.

    ρ is infinite where there is no ρ⁻; the expansion is ν of the theorem or 1 + ν of
    the proof. Where κ is 1 or more the theorem says nothing.

    Examples
    --------
    >>> round(contraction(1.5, expansion_of_lemma(20, 2)), 3)
    0.676
    """
    return math.sqrt(expansion * (1 - 1 / condition))


def tolerance_parameter(
    gradient_norm: float, rho_plus: float, expansion: float
) -> float:
    """σ of Theorem 1, γ√ν times ``empirical.block_gradient_norm`` at w*, with γ = 1/ρ⁺."""
    return math.sqrt(expansion) * gradient_norm / rho_plus


def tolerance(sigma: float, kappa: float) -> float:
    """σ/(1 − κ): how near to w* Theorem 1 promises to come; infinite where κ ≥ 1."""
    return sigma / (1 - kappa) if kappa < 1 else math.inf


@dataclass(frozen=True)
class GaussianConstants:
    """All constants of Theorems 1 and 2 for rows from one N(0, Σ), as printed.

    Examples
    --------
    >>> paper = GaussianConstants(n=1000, d=1000, k=20, k_star=20, r=0.05, b=50)
    >>> paper.is_bound, round(paper.kappa, 2), round(paper.rows_needed)
    (False, 1.73, 4578757)
    >>> round(paper.rho_minus), f"{paper.rho_plus:.3g}"
    (484, '1.18e+06')
    """

    n: float  # rows
    d: int
    k: int  # non-zeros kept in each step
    k_star: int  # non-zeros of w*
    r: float  # share of positives
    b: float  # rows of a block
    deviation: float = 1.0  # λ = λ_min(Σ^½), 1 for independent columns of variance 1

    @property
    def s(self) -> int:
        """2k + k*, non-zeros of the vectors that matter."""
        return 2 * self.k + self.k_star

    @property
    def _noise(self) -> float:
        """T = √(s·log(d) / (r·n)), the size of what sampling does to the curvature."""
        return math.sqrt(self.s * math.log(self.d) / (self.r * self.n))

    @property
    def rho_minus(self) -> float:
        """ρ⁻ = (λ/2 − 6√2·t)² − (32/3)·t², with probability of at least 1 − exp(−n₊/72) − 2s/d.

        The least curvature of F along vectors of at most s non-zeros. It is a bound
        only where ``is_bound``, which takes several hundred times s·log(d) positives;
        with fewer the printed value grows again, without limit as n → 0.
        """
        t = self._noise
        return (self.deviation / 2 - 6 * math.sqrt(2) * t) ** 2 - 32 / 3 * t**2

    @property
    def rho_plus(self) -> float:
        """ρ⁺ = 16·s·log(d)·(½·log(b) + log(d)) / r, with probability of at least 1 − s/(2d).

        The greatest curvature of a block along vectors of at most s non-zeros. The 1/r
        comes from the worst share of positives a block could have.
        """
        logs = math.log(self.b) / 2 + math.log(self.d)
        return 16 * self.s * math.log(self.d) * logs / self.r

    @property
    def is_bound(self) -> bool:
        """Whether ρ⁻ is positive for a reason, and not the square of a negative number."""
        t = self._noise
        return self.deviation / 2 - 6 * math.sqrt(2) * t > math.sqrt(32 / 3) * t

    @property
    def rows_needed(self) -> float:
        """Rows above which ρ⁻ is a bound: about 552·s·log(d) / (r·λ²)."""
        root = 2 * (6 * math.sqrt(2) + math.sqrt(32 / 3)) / self.deviation
        return root**2 * self.s * math.log(self.d) / self.r

    @property
    def condition_as_printed(self) -> float:
        """ρ⁺/ρ⁻ of the printed values; infinite where ρ⁻ is not positive."""
        return self.rho_plus / self.rho_minus if self.rho_minus > 0 else math.inf

    @property
    def condition(self) -> float:
        """ρ⁺/ρ⁻ where ρ⁻ is a bound, infinite elsewhere."""
        return self.condition_as_printed if self.is_bound else math.inf

    @property
    def kappa(self) -> float:
        """κ with the theorem's ν and ``condition``: at least 1, whatever the design.

        Variances of at most 1 make λ ≤ 1 and ρ⁻ ≤ 1/4, hence ρ ≥ 64·s·log(d)²/r >
        100·k, and ρ² − ρ > k, while Theorem 1 asks for k/k* above it. Where there is no
        ρ⁻ it is √ν.
        """
        return contraction(self.condition, expansion_of_theorem(self.k, self.k_star))
