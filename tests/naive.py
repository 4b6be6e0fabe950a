"""Tables and naive versions that several test files compare with."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp


def shifted_table(seed, n, d, ratio=0.4, scale=1.0):
    """Normal columns, of which the first quarter is larger for positives."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < ratio
    positive[:2] = True, False
    X = rng.standard_normal((n, d)) * scale
    X[positive, : max(1, d // 4)] += 0.5 * scale
    return X, positive


def storages(X):
    """The same table as it may lie in memory."""
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "read-only": read_only,
        "CSR": sp.csr_array(X),
    }


def naive_top_k(v, k):
    """Sort by magnitude, largest first; a stable sort lets the smaller index win a tie."""
    by_magnitude = np.argsort(-np.abs(v), kind="stable")
    return np.array(sorted(j for j in by_magnitude[:k] if v[j] != 0), np.int64)


def naive_hard_threshold(v, k):
    kept = naive_top_k(v, k)
    result = np.zeros_like(v)
    result[kept] = v[kept]
    return result


def naive_part(X, weight):
    """Weight, mean and Σ w (x − mean)(x − mean)ᵀ of the rows of one class."""
    X, weight = X.astype(np.longdouble), weight.astype(np.longdouble)
    total = weight.sum()
    mean = weight @ X / total if total > 0 else np.zeros(X.shape[1], X.dtype)
    centred = X - mean
    return total, mean, (weight[:, None] * centred).T @ centred


def minimise_on_support(moments, support, alpha=0.0):
    """Coefficients on ``support`` that minimise F(w) + alpha‖w‖², in its order, and the value.

    They solve (H_AA + alpha I) w_A = −δ_A; of many minimisers, that of least norm in
    units of the columns' deviations.
    """
    index = np.asarray(support, np.int64)
    if index.size == 0:
        return np.empty(0), 1.0
    h = moments.columns(support)[index]
    h.flat[:: index.size + 1] += alpha
    delta = moments.delta[index]
    # Columns may live on scales 1e12 apart: solve in units where the diagonal is one.
    # Rounding can leave less than nothing of a constant column.
    unit = np.sqrt(np.maximum(h.diagonal(), 0.0))
    unit[unit == 0] = 1.0
    correlation = h / np.outer(unit, unit)
    try:
        factor = scipy.linalg.cho_factor(correlation, lower=True, check_finite=False)
        if factor[0].diagonal().min() < 1e-7:
            raise np.linalg.LinAlgError
        w = -scipy.linalg.cho_solve(factor, delta / unit, check_finite=False) / unit
    except np.linalg.LinAlgError:
        # Not by way of a pseudo-inverse: forming one costs the digits of the condition
        # number.
        w = -scipy.linalg.lstsq(correlation, delta / unit, cond=1e-12)[0] / unit
    return w, float(1.0 + 2.0 * delta @ w + w @ h @ w)
