"""The flagship: exchange columns until no exchange helps, for every k in one go.

    minimise F(w) + alpha‖w‖²   subject to   ‖w‖₀ ≤ k,       F(w) = 1 + 2 w·δ + wᵀHw

On a fixed support A the minimiser is w_A = −M δ_A with M = (H_AA + alpha I)⁻¹. Let
T = M H_A on all columns, q_j = H_jj + alpha − T_j·H_jA what column j adds that A does
not already explain, and g_j = δ_j + H_jA·w_A half the gradient. Then the objective
changes by

    −g_j²/q_j                                                 when j joins,
    w_i²/M_ii                                                 when i leaves,
    w_i²/M_ii − (g_j − T_ij w_i/M_ii)² / (q_j + T_ij²/M_ii)   when i makes room for j,

exactly. A column that joins or leaves changes M, T, w, q and g by rank-one updates, the
sweeps of Gauss–Jordan elimination, in O(d·k), and needs one row of H. So nothing is d ×
d, and all k·d exchanges are compared in a few passes over k vectors of length d.

``state`` keeps these numbers and ``sweeps`` updates them; ``gain`` has the formula
above, also for columns outside the state, and ``groups`` what it becomes where a unit
has several columns. ``limits`` answers whether an exchange is feasible, and what must
leave where a list is not; ``moves`` and ``search`` grow, shrink and exchange.

Use it whenever the moments can be had: it takes the time of a few runs of SHT-AUC,
gives all k at once, and its supports are the better the more the columns are
correlated.
"""

from .gain import exchange_gains
from .limits import ExchangeLimits
from .search import Found, make_plan, search
from .solution import Solution, solve_on
from .state import DEPENDENT, MIN_RELATIVE_GAIN, State, dependence_tolerance, make_state

__all__ = [
    "DEPENDENT",
    "MIN_RELATIVE_GAIN",
    "ExchangeLimits",
    "Found",
    "Solution",
    "State",
    "dependence_tolerance",
    "exchange_gains",
    "make_plan",
    "make_state",
    "search",
    "solve_on",
]
