"""The saddle point that SOLAM and FSAUC descend and ascend, one row at a time.

With p the share of positives, p(1 − p)·F(w) is the mean over rows of

    (1 − p)(w·x − a)² − 2(1 − p)(1 + α) w·x − p(1 − p)α²     on a positive row
    p(w·x − b)² + 2p(1 + α) w·x − p(1 − p)α²                 on a negative row

at its minimum over a and b and its maximum over α, up to a constant. They are reached at a = w·x̄₊,
b = w·x̄₋ and α = w·(x̄₋ − x̄₊), so the means need not be known.
"""

from __future__ import annotations

from .._jit import kernel


@kernel
def saddle_point_step(is_positive, p, score, step, a, b, alpha):  # type: ignore[no-untyped-def]
    """Descend in (w, a, b) and ascend in α along *half* the gradient at a row with this score.

    FSAUC defines its gradient so; SOLAM's step γ along the whole gradient is the step 2γ here.
    Returns the factor ``move`` of w ← w − move·x, and a, b and α before any projection.
    """
    if is_positive:
        share = 1.0 - p
        move = step * share * (score - a - 1.0 - alpha)
        a += step * share * (score - a)
        ascent = -share * score
    else:
        share = p
        move = step * share * (score - b + 1.0 + alpha)
        b += step * share * (score - b)
        ascent = share * score
    return move, a, b, alpha + step * (ascent - p * (1.0 - p) * alpha)


@kernel
def clip(value, centre, radius):  # type: ignore[no-untyped-def]
    """Nearest number to ``value`` within ``radius`` of ``centre``."""
    return min(max(value, centre - radius), centre + radius)
