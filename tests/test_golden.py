"""SHT-AUC gives the weight vectors of the published program.

Those of the methods it is compared with are in ``reproduction/tests/test_golden.py``.
"""

import numpy as np

from sparseauc import SHTAUCClassifier


def test_every_published_weight_vector(golden):
    X, y = golden["X"], golden["y"]
    r = np.mean(y > 0)
    keys = [key for key in golden if key.startswith("sht_auc|")]
    assert len(keys) >= 4
    for key in keys:
        p = {
            name: float(value)
            for name, value in (part.split("=") for part in key.split("|")[1:])
        }
        model = SHTAUCClassifier(
            int(p["k"]),
            batch_size=int(p["batch_size"]),
            step_size=p["c"] * r * (1 - r),
            block_order="cyclic",
            max_epochs=int(p["epochs"]),
            tol=0.0,
            shuffle=False,
        ).fit(X, y)
        np.testing.assert_allclose(
            model.coef_[0], golden[key], atol=1e-10, rtol=0, err_msg=key
        )
