"""Methods that take one row at a time: an epoch against one bare pass (`X.T @ c`), CSR by width.

Dense: an epoch is the difference of two fits of E and 2E epochs divided by E, so that what a fit
does once does not count. FSAUC is measured twice, with an L1 ball so small that every step
projects, and with one that w never leaves.

CSR: a step should cost what its row's non-zeros cost, however many columns there are. So the time
for a non-zero is compared between dorothea (100 000 columns) and a9a (123).
"""

import measuring  # noqa: F401  # isort: skip
from common import interleaved_minimum, report, verdict  # isort: skip

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sparseauc_paper.baselines.fsauc import fsauc
from sparseauc_paper.baselines.solam import solam
from sparseauc_paper.baselines.spam import spam
from sparseauc_paper.objective import AUCObjective

# name: solver, its arguments, limit for a dense epoch in passes, limit for the ratio of the widths
CASES = {
    "SPAM-l2": (spam, {"l2": 1e-3, "average": True}, 3, None),
    "SPAM-l2, last iterate": (spam, {"l2": 1e-3, "average": False}, 3, None),
    "SPAM-l1": (spam, {"l1": 1e-4, "average": True}, 5, None),
    "SPAM-l1, last iterate": (spam, {"l1": 1e-4, "average": False}, 5, None),
    "SPAM-l1, ten times stronger": (spam, {"l1": 1e-3, "average": True}, None, None),
    "SPAM elastic net": (spam, {"l1": 1e-4, "l2": 1e-3, "average": True}, None, None),
    "SOLAM": (solam, {"radius": 1.0}, 5, 3),
    "FSAUC, projecting": (fsauc, {"radius": 0.01}, 15, None),
    "FSAUC, inside the ball": (fsauc, {"radius": 1000.0}, 15, None),
}
STEP = 0.01


def epoch_times(objective, names, epochs, repeats, *others):
    """Seconds of an epoch of each method, and of the other functions, taken in turn."""
    functions = list(others)
    for name in names:
        solver, arguments, *_ = CASES[name]
        for n_epochs in (epochs, 2 * epochs):

            def fit(solver=solver, arguments=arguments, n_epochs=n_epochs):
                solver(
                    objective, **arguments, step_size=STEP, max_epochs=n_epochs, tol=0.0,
                    rng=np.random.default_rng(0),
                )  # fmt: skip

            functions.append(fit)
    least = interleaved_minimum(functions, repeats)
    others, fits = least[: len(others)], least[len(others) :]
    return [(two - one) / epochs for one, two in zip(fits[::2], fits[1::2], strict=True)], others


def dense_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 1000))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(np.arange(1000) % 20 == 0, 1, -1)
    c = rng.standard_normal(1000)
    seconds, (bare,) = epoch_times(AUCObjective(X, y), CASES, 10, 40, lambda: X.T @ c)
    for name, epoch in zip(CASES, seconds, strict=True):
        limit = CASES[name][2]
        yield (
            f"{name}: dense epoch / pass",
            f"{epoch / bare:.2f}",
            f"{epoch * 1e6:.0f} / {bare * 1e6:.0f} µs",
            verdict(epoch / bare, limit) if limit else "",
        )


def load(name):
    with np.load(Path(os.environ["SPARSEAUC_DATA"]) / f"{name}.npz") as file:
        data = file["data"].astype(np.float64)
        return sp.csr_array((data, file["indices"], file["indptr"]), file["shape"]), file["y"]


def csr_rows():
    if "SPARSEAUC_DATA" not in os.environ:
        yield "CSR", "", "", "not measured: SPARSEAUC_DATA is not set"
        return
    # FSAUC's cost depends on how often w meets the surface of its ball, not on widths alone.
    names = [name for name in CASES if not name.startswith("FSAUC")]
    per_nonzero = {}
    for data in ("a9a", "dorothea"):
        X, y = load(data)
        seconds, _ = epoch_times(AUCObjective(X, y), names, 2, 15)
        per_nonzero[data] = [epoch / X.nnz * 1e9 for epoch in seconds]
    for name, narrow, wide in zip(names, *per_nonzero.values(), strict=True):
        limit = CASES[name][3]
        yield (
            f"{name}: a non-zero on dorothea / on a9a",
            f"{wide / narrow:.2f}",
            f"{wide:.1f} / {narrow:.1f} ns",
            verdict(wide / narrow, limit) if limit else "",
        )


def main():
    report(
        "online_methods",
        "Methods that take one row at a time (dense: n = d = 1000, float64)",
        ["case", "ratio", "measured", "limit"],
        [*dense_rows(), *csr_rows()],
    )


if __name__ == "__main__":
    main()
