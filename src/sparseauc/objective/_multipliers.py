"""What the rows of a block contribute to a step, written once for NumPy and for torch.

Only operators are used, so that the same function runs on tensors as it stands and is compiled for
NumPy. Arrays have the shape (models, rows of the block); what belongs to a model has a last axis of
one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def auc_multipliers(
    scores: Any, on_positive: Any, on_negative: Any, positive: Any, rates: Any, double_steps: Any
) -> tuple[Any, Any]:
    """Multipliers c and e such that −γ∇f_B(w) = Σ_i c_i (x_i − x̄ of its class) + e·δ.

    ``scores`` are w·x, the next two w·x̄₊ and w·x̄₋; ``positive`` is 1 or 0; ``rates`` are γ times
    2m/W₊ or 2m/W₋ times the row's weight (``AUCObjective.block_scales``), ``double_steps`` 2γ.
    """
    gap = on_positive - on_negative
    return rates * (on_negative + gap * positive - scores), double_steps * (gap - 1)


def logistic_multipliers(
    scores: Any, intercepts: Any, positive: Any, rates: Any, exp: Callable[[Any], Any]
) -> Any:
    """Multipliers c such that −γ∇f_B(w) = Σ_i c_i x_i for the logistic loss; rates have m/W."""
    signs = 2 * positive - 1
    # An exponential that overflows gives 0, as it should.
    return rates * signs / (1 + exp(signs * (scores + intercepts)))
