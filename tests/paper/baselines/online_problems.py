"""Problems for the methods that take one row at a time, and the tables they are stored in."""

import numpy as np
import scipy.sparse as sp


def problem(seed, n=None, d=None, density=0.3):
    """A random sparse table, with an empty row and now and then a single positive."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(5, 60)), d or int(rng.integers(1, 40))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[n // 2] = 0.0
    y = np.where(rng.random(n) < 0.4, 1, -1)
    if seed % 5 == 0:
        y[:] = -1
    y[:2] = 1, -1
    return X, y


def storages(X):
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "read-only": read_only,
        "CSR": sp.csr_array(X),
    }
