"""Problems for the methods that take one row at a time."""

import numpy as np


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
