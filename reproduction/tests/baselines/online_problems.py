"""Problems for the methods that take one row at a time, and one run of such a method."""

import numpy as np

from sparseauc_paper.objective import AUCObjective


def problem(seed, n=None, d=None, density=0.3):
    """A random table, with an empty row and now and then a single positive."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(5, 60)), d or int(rng.integers(1, 40))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[n // 2] = 0.0
    y = np.where(rng.random(n) < 0.4, 1, -1)
    if seed % 5 == 0:
        y[:] = -1
    y[:2] = 1, -1
    return X, y


def orders(n, epochs, seed=7):
    """Rows of each epoch."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(epochs)]


def run(solver, X, y, epochs, **settings):
    """Run a method on shuffled rows; returns it."""
    if solver.__name__ == "FSAUC":
        settings["n_rows"] = len(y) * epochs
    started = solver(AUCObjective(X, y), **settings)
    for rows in orders(len(y), epochs):
        started.run_epoch(rows)
    return started
