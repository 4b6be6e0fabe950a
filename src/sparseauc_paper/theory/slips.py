"""Where the statement of Theorems 1 and 2, their proofs and their discussion part ways.

Each was checked with numbers; the tests of ``constants.py`` and ``empirical.py`` do so again.
"""

from __future__ import annotations

from typing import NamedTuple


class Slip(NamedTuple):
    """A place where the paper's theory does not follow, or does not say what it means."""

    where: str
    printed: str
    follows: str
    matters: str


SLIPS = (
    Slip(
        "Theorem 1, ν",
        "ν = 1 + k*/k + √(k*/k) in the theorem, 1 + ν in the proof and in the appendix's tolerance",
        "two different ν: the theorem's is an upper bound of the proof's 1 + ν",
        "κ up to 7 % larger than the proof needs; 1 + ν with the theorem's ν counts the 1 twice",
    ),
    Slip(
        "Theorem 1, κ < 1",
        "k > (ρ² − ρ)k* makes κ < 1",
        "true with the proof's 1 + ν, exactly; not with the theorem's ν",
        "ρ = 2, k = 2.1 k* meets the condition and has κ = 1.04",
    ),
    Slip(
        "Theorems 1 and 2 together",
        "for n large enough κ < 1",
        "ρ of Theorem 2 exceeds 100k for every n, so that k > (ρ² − ρ)k* is impossible",
        "with the printed constants Theorem 1 never says anything, however many rows",
    ),
    Slip(
        "Theorem 2, ρ⁻",
        "the square of λ/2 − 6√2·√(s·log d/(rn))",
        "a bound only while the number squared is positive",
        "everywhere in the paper's simulations it is negative: the printed ρ⁻ means nothing there",
    ),
    Slip(
        "Discussion of ρ(r)",
        "ρ falls with r, since the vertex of a quadratic in √r is close to 0",
        "left of the vertex, which is where the number squared is negative, the formula rises with "
        "r; the quadratic is convex, not concave",
        "with the paper's n, d and k the vertex lies beyond r = 100: taken at its word the formula "
        "says that balanced data converge more slowly",
    ),
    Slip(
        "Discussion of ρ(r), coefficients",
        "½·log b + log d under the root in the coefficient of √r",
        "outside the root",
        "the vertex is at √r = 12√2·√(k·log d/n)/λ, without that factor",
    ),
    Slip(
        "Proof of Theorem 2, Hessians",
        "∇²F = H and ∇²f_B = H_B",
        "twice that",
        "the printed ρ⁻ and ρ⁺ survive, with room; but a step of one over the greatest eigenvalue "
        "of the printed Hessian is twice too long, and the proof's factor becomes 1",
    ),
    Slip(
        "Proof of Theorem 2, sparsity",
        "6√2, which pays for vectors of 2s non-zeros",
        "6: the assumption has s",
        "twice as many rows asked for as necessary",
    ),
    Slip(
        "Proof of Theorem 2, logarithms",
        "log(d)·(½·log b + log d)",
        "log(2d√b) with the proof's own t",
        "ρ⁺ some log(d) times too large",
    ),
    Slip(
        "Proof of Theorem 2, probabilities",
        "each row fails with probability s/(2bd); the union is over b rows",
        "true for s = 1 only; the greatest over all blocks needs all n rows, and ρ⁻ needs the "
        "negatives' exp(−n₋/72) too",
        "small beside the log(d) given away",
    ),
    Slip(
        "Proof of Theorem 2, smoothness",
        "Assumption 2 bounds the whole gradient and is called equivalent to an upper quadratic "
        "bound",
        "only the gradient on the s columns is bounded by it; the rest may be larger",
        "Theorem 1 needs only those columns: the assumption asks for more than is used",
    ),
    Slip(
        "Theorem 2, data",
        "both classes from one N(0, Σ)",
        "then there is nothing to find; different means add δδᵀ to H",
        "ρ⁻ stays a bound; in ρ⁺ the term of δ becomes 2‖δ‖², taken on s columns",
    ),
    Slip(
        "Tolerance",
        "at least c₁r/(1 − c₂√(1 − r)), hence larger with imbalance; formula in the appendix",
        "a lower bound of an upper bound; the formula has another ρ⁺, k for 2k + k* and n₋ for n",
        "no statement about the error follows",
    ),
    Slip(
        "Proof of Theorem 1",
        "H_{2k+k*}, F = Σ f_B, probability 1/n, a fixed Ω",
        "H_k, the mean of f_B, 1/m; Ω depends on the block drawn, which the lemma survives, as "
        "P_Ω w_t = w_t and P_Ω w* = w* for every such Ω",
        "none",
    ),
)
