"""Time of an epoch of StoIHT and HSG-HT against one bare pass over the same table (`X.T @ c`).

n = d = 1000, float64, one thread, k = 20; an epoch is the difference of fits of E and 2E epochs
divided by E.
"""

import measuring  # noqa: F401  # isort: skip
from common import interleaved_minimum, report, verdict  # isort: skip

from functools import partial

import numpy as np

from sparseauc.datasets import make_outbreak
from sparseauc_paper.baselines import hsg_ht, sto_iht
from sparseauc_paper.objective import AUCObjective

EPOCHS = 20


def run(solver, objective, arguments):
    solver(objective, 20, rng=np.random.default_rng(0), **arguments)


def main():
    X, y = make_outbreak(random_state=0)
    objective = AUCObjective(X, y)
    c = np.random.default_rng(1).standard_normal(1000)
    cases = [
        ("StoIHT, b=64", sto_iht, {"batch_size": 64}, 2.0),
        ("HSG-HT, batches grow over the run", hsg_ht, {}, 3.0),
        (
            "HSG-HT, from 10 rows anew each epoch",
            hsg_ht,
            {"restart_batches": True, "initial_batch_size": 10},
            3.0,
        ),
        (
            "HSG-HT, from 1 row anew each epoch (109 batches)",
            hsg_ht,
            {"restart_batches": True},
            3.0,
        ),
    ]
    functions = [lambda: X.T @ c]
    for _, solver, arguments, _ in cases:
        for epochs in (EPOCHS, 2 * EPOCHS):
            common = {"step_size": 1e-3, "max_epochs": epochs, "tol": 0.0}
            functions.append(partial(run, solver, objective, common | arguments))
    bare, *times = interleaved_minimum(functions, 25)
    rows = []
    for (name, _, _, limit), one, two in zip(cases, times[::2], times[1::2], strict=True):
        ratio = (two - one) / EPOCHS / bare
        rows.append((name, f"{ratio:.2f}", verdict(ratio, limit)))
    report(
        "block_methods",
        f"An epoch of the hard-thresholding methods against one bare pass ({bare * 1e3:.3f} ms)",
        ["method", "epoch / pass", "limit"],
        rows,
    )


if __name__ == "__main__":
    main()
