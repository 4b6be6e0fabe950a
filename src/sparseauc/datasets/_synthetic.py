"""The paper's disease-outbreak simulation, with the best reachable AUC known in closed form."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.signal import lfilter
from scipy.special import ndtr
from sklearn.utils import check_scalar

from ..errors import InputError

RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None

# Rows are correlated a few at a time, so that the work space stays small beside X
# itself.
_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True, eq=False)
class OutbreakData:
    """A simulated outbreak: the table, and the truth behind it.

    It unpacks as scikit-learn's ``make_*`` functions do: ``X, y = make_outbreak(...)``.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The table. Neither columns nor rows are scaled.
    y : ndarray of shape (n,), int64
        Labels, +1 for the outbreak and -1 for the rest.
    support : ndarray of shape (k,), int64
        The shifted columns S, in increasing order.
    coef : ndarray of shape (d,), float64
        Bayes direction Σ⁻¹δ, δ being mu on S and 0 elsewhere; no linear score has a
        larger AUC. With correlated columns it is non-zero outside S too: a column that
        carries no shift still helps by cancelling the noise of one that does.
    bayes_auc : float
        AUC of that direction in the population, Φ(Δ/√2) with Δ² = δᵀΣ⁻¹δ.
    k, mu, r, correlation
        The parameters the data were drawn with.
    """

    X: NDArray[Any] = field(repr=False)
    y: NDArray[np.int64] = field(repr=False)
    support: NDArray[np.int64] = field(repr=False)
    coef: NDArray[np.float64] = field(repr=False)
    bayes_auc: float
    k: int
    mu: float
    r: float
    correlation: float

    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield self.X
        yield self.y


def make_outbreak(
    n: int = 1000,
    d: int = 1000,
    k: int = 20,
    mu: float = 0.3,
    r: float = 0.05,
    *,
    correlation: float = 0.0,
    shuffle: bool = True,
    random_state: RandomState = None,
    dtype: DTypeLike = np.float64,
) -> OutbreakData:
    """Draw the paper's simulation: few positives, and few columns with signal.

    Negative rows are N(0, Σ), positive rows N(δ, Σ), where δ is `mu` on a random set S
    of `k` columns and zero elsewhere. The paper's task is Σ = I; `correlation` makes it
    harder for methods that look at one column at a time. All variances are one.

    The paper's published scripts then standardise the columns and scale the rows to
    unit length. That is part of the experiment and not done here.

    Parameters
    ----------
    n : int, default=1000
        Rows, at least 2.
    d : int, default=1000
        Columns, at least 1.
    k : int, default=20
        Shifted columns (the paper's k*), 0 to d; 0 gives pure noise.
    mu : float, default=0.3
        Shift of the positives on S.
    r : float, default=0.05
        Share of positives, in (0, 1). There are ``floor(n * r)`` of them, rounding
        errors of the product apart (0.29 of 100 is 29), and never fewer than one row of
        each class.
    correlation : float, default=0.0
        ρ in (-1, 1) of Σ_ij = ρ^|i-j|.
    shuffle : bool, default=True
        Spread the positives over random rows; otherwise they come first.
    random_state : int, numpy Generator, RandomState or None, default=None
        An integer seeds ``numpy.random.default_rng``; a Generator is drawn from as it
        is; a RandomState gives a seed, and so moves on. None draws afresh at each call.
    dtype : {float64, float32}, default=float64
        Type of X.

    Returns
    -------
    OutbreakData
        X, y, the support, the Bayes direction and its AUC.

    Examples
    --------
    >>> from sparseauc.datasets import make_outbreak
    >>> data = make_outbreak(k=40, random_state=0)
    >>> X, y = data
    >>> X.shape, int((y == 1).sum()), round(data.bayes_auc, 3)
    ((1000, 1000), 50, 0.91)
    """
    for name, size, least, most in (
        ("n", n, 2, None),
        ("d", d, 1, None),
        ("k", k, 0, d),
    ):
        check_scalar(size, name, Integral, min_val=least, max_val=most)
    _check_between("mu", mu, -math.inf, math.inf)
    _check_between("r, the share of positives,", r, 0.0, 1.0)
    _check_between("correlation", correlation, -1.0, 1.0)
    rho = float(correlation)
    dtype = np.dtype(dtype)
    if dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InputError(f"dtype must be float64 or float32, got {dtype}")
    rng = _generator(random_state)

    support = np.sort(rng.choice(d, size=k, replace=False)).astype(np.int64)
    # Generator.standard_normal is typed for each precision apart, hence the branch.
    X: NDArray[Any]
    if dtype == np.float32:
        X = rng.standard_normal((n, d), dtype=np.float32)
    else:
        X = rng.standard_normal((n, d))
    _correlate_columns(X, rho)

    y = np.full(n, -1, dtype=np.int64)
    y[: _count_positives(n, r)] = 1
    if shuffle:
        # The noise rows are exchangeable, so shuffling the labels shuffles the rows,
        # free of a copy of X.
        rng.shuffle(y)
    X[np.ix_(y == 1, support)] += X.dtype.type(mu)

    delta = np.zeros(d)
    delta[support] = mu
    coef = _solve_covariance(delta, rho)
    return OutbreakData(
        X=X,
        y=y,
        support=support,
        coef=coef,
        # Rounding may leave a tiny negative form when δ = 0 or ρ is next to 1.
        bayes_auc=float(ndtr(math.sqrt(max(float(delta @ coef), 0.0) / 2.0))),
        k=k,
        mu=mu,
        r=r,
        correlation=rho,
    )


def _count_positives(n: int, r: float) -> int:
    """floor(n·r), safe from products that fall just short of an integer, in 1 … n-1."""
    # 100 * 0.29 is 28.999999999999996 in binary; the factor is far above that error,
    # and far below anything a caller could mean.
    return min(max(math.floor(n * r * (1.0 + 1e-12)), 1), n - 1)


def _correlate_columns(X: NDArray[Any], rho: float) -> None:
    """Turn independent standard normal columns into correlated ones, in place and in O(nd)."""
    if rho == 0.0:
        return
    n, d = X.shape
    # x_j = ρ x_{j-1} + √(1-ρ²) z_j, started in its stationary law: x_0 = z_0.
    X[:, 1:] *= X.dtype.type(math.sqrt((1.0 - rho) * (1.0 + rho)))
    numerator = np.array([1.0], X.dtype)
    denominator = np.array([1.0, -rho], X.dtype)
    step = max(1, _CHUNK_ELEMENTS // d)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        X[rows] = lfilter(numerator, denominator, X[rows], axis=1)


def _solve_covariance(delta: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Σ⁻¹δ in O(d), by the inverse of Σ, which is tridiagonal."""
    if rho == 0.0 or len(delta) == 1:
        return delta.copy()
    out = (1.0 + rho * rho) * delta
    out[[0, -1]] = delta[[0, -1]]
    out[1:] -= rho * delta[:-1]
    out[:-1] -= rho * delta[1:]
    return out / ((1.0 - rho) * (1.0 + rho))


def _generator(random_state: RandomState) -> np.random.Generator:
    """Return a Generator; a RandomState gives it a seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(
            random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        )
    return np.random.default_rng(random_state)


def _check_between(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no number strictly between two."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not low < float(value) < high:
        raise InputError(
            f"{name} must lie strictly between {low:g} and {high:g}, got {value}"
        )
