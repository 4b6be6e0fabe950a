"""The squared pairwise loss of AUC maximisation, wherever the rows live.

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²

Proposition 1 of the paper makes it a sum over single rows. With x̄± the class means, δ = x̄₋ − x̄₊
and r the share of positives, F is the mean over rows of

    f̃(w; x) = (w·(x − x̄₊))²/r        on a positive row
             + (w·(x − x̄₋))²/(1 − r)  on a negative row
             + (1 + w·δ)²,

which is 1 + 2 w·δ + wᵀHw with H = S₊ + S₋ + δδᵀ. Nothing here costs more than one read of the
rows. With sample weights, every pair counts with the product of its rows' weights.

Without a limit on the columns the minimiser is Fisher's discriminant with equally weighted classes.

``Objective`` is what SHT-AUC asks of its data. ``AUCObjective`` answers for arrays and CSR in
memory, ``objective.chunks`` for files and clusters, ``objective.device`` for tensors and GPUs.
"""

from ..utils.types import Array, Floats, Indices, Mask
from ._protocol import Descent, Objective, Point, SparseVector
from .arrays import AUCObjective
from .closed_form import minimise_on_support

__all__ = [
    "AUCObjective",
    "Array",
    "Descent",
    "Floats",
    "Indices",
    "Mask",
    "Objective",
    "Point",
    "SparseVector",
    "minimise_on_support",
]
