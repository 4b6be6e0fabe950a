"""Time of an epoch of the methods compared against one bare pass over the same table (`X.T @ c`).

n = d = 1000, float64, one thread, rows of unit length, k = 20; an epoch is the
difference of fits of E and 2E epochs divided by E, so that what a fit does once does
not count. FSAUC is measured twice, with an L1 ball so small that every step projects,
and with one that w never leaves.
"""

import measuring  # noqa: F401  # isort: skip
from common import interleaved_minimum, report, verdict  # isort: skip

import numpy as np

from sparseauc.datasets import make_outbreak
from sparseauc_paper.baselines import (
    FSAUCClassifier,
    HSGHTClassifier,
    SOLAMClassifier,
    SPAMClassifier,
    StoIHTClassifier,
)

EPOCHS = 10
# name: classifier and its limit in passes
CASES = {
    "StoIHT, b = 64": (StoIHTClassifier(20), 3.0),
    "HSG-HT, batches grow over the run": (HSGHTClassifier(20), 4.0),
    "HSG-HT, from 1 row anew each epoch": (
        HSGHTClassifier(20, restart_batches=True),
        4.0,
    ),
    "SPAM-l2": (SPAMClassifier("l2"), 5.0),
    "SPAM-l1": (SPAMClassifier("l1"), 5.0),
    "SOLAM": (SOLAMClassifier(1.0), 5.0),
    "FSAUC, projecting": (FSAUCClassifier(0.01), 15.0),
    "FSAUC, inside the ball": (FSAUCClassifier(1000.0), 15.0),
}


def main():
    X, y = make_outbreak(random_state=0)
    X /= np.linalg.norm(X, axis=1)[:, None]
    c = np.random.default_rng(1).standard_normal(1000)
    functions = [lambda: X.T @ c]
    for model, _ in CASES.values():
        for epochs in (EPOCHS, 2 * EPOCHS):
            model.set_params(
                step_size=0.01, tol=0.0, record_history=False, random_state=0
            )

            def fit(model=model, epochs=epochs):
                model.set_params(max_epochs=epochs).fit(X, y)

            functions.append(fit)
    bare, *times = interleaved_minimum(functions, 20)
    rows = []
    for (name, (_, limit)), one, two in zip(
        CASES.items(), times[::2], times[1::2], strict=True
    ):
        ratio = (two - one) / EPOCHS / bare
        rows.append((name, f"{ratio:.2f}", verdict(ratio, limit)))
    report(
        "epochs",
        f"An epoch of the methods compared against one bare pass ({bare * 1e3:.3f} ms)",
        ["method", "epoch / pass", "limit"],
        rows,
    )


if __name__ == "__main__":
    main()
