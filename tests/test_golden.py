"""SHT-AUC gives the weight vectors of the published program.

Those of the methods it is compared with are in ``reproduction/tests/test_golden.py``.
"""

import numpy as np

from sparseauc.objective import AUCObjective
from sparseauc.solvers import sht_auc


def test_every_published_weight_vector(golden):
    objective = AUCObjective(golden["X"], golden["y"])
    r = objective.moments.ratio
    keys = [key for key in golden if key.startswith("sht_auc|")]
    assert len(keys) >= 4
    for key in keys:
        p = {name: float(value) for name, value in (part.split("=") for part in key.split("|")[1:])}
        result = sht_auc(
            objective,
            int(p["k"]),
            batch_size=int(p["batch_size"]),
            step_size=p["c"] * r * (1 - r),
            block_order="cyclic",
            max_epochs=int(p["epochs"]),
            tol=0.0,
            shuffle=False,
        )
        np.testing.assert_allclose(
            result.dense(objective.n_features), golden[key], atol=1e-10, rtol=0, err_msg=key
        )
