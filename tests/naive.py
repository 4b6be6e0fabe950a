"""Tables and naive versions that several test files compare with."""

import numpy as np
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
