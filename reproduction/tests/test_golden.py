"""The methods compared give the weight vectors of the published programs.

Those of SHT-AUC are in ``tests/test_golden.py`` of the library.
"""

import numpy as np

from sparseauc_paper.baselines import (
    FSAUCClassifier,
    HSGHTClassifier,
    SOLAMClassifier,
    SPAMClassifier,
    StoIHTClassifier,
)

IN_ORDER = {"tol": 0.0, "shuffle": False, "record_history": False}


def reproduce(method, p):
    """The classifier with the published program's parameters ``p``, translated to ours."""
    common = IN_ORDER | {"max_epochs": int(p["epochs"])}
    match method:
        case "sto_iht":
            return StoIHTClassifier(
                int(p["k"]),
                batch_size=int(p["batch_size"]),
                step_size=p["c"],
                block_order="cyclic",
                **common,
            )
        case "hsg_ht":
            return HSGHTClassifier(
                int(p["k"]),
                step_size=p["c"],
                initial_batch_size=p["tau"],
                growth=p["zeta"],
                restart_batches=True,
                **common,
            )
        case "spam_l1":
            return SPAMClassifier(
                "l1", alpha=p["l1"], step_size=p["xi"], average=False, **common
            )
        case "spam_l2":
            return SPAMClassifier(
                "l2", alpha=p["l2"], step_size=p["xi"], average=False, **common
            )
        case "solam":
            return SOLAMClassifier(p["R"], step_size=p["xi"], max_norm=1.0, **common)
        case "fsauc":
            return FSAUCClassifier(p["R"], step_size=p["eta"], max_norm=1.0, **common)
    raise AssertionError(f"no translation for the published method {method!r}")


def test_every_published_weight_vector(golden):
    # The library's own test compares those of SHT-AUC.
    keys = [key for key in golden if "|" in key and not key.startswith("sht_auc|")]
    assert len(keys) >= 18
    for key in keys:
        method, *parts = key.split("|")
        parameters = {
            name: float(value) for name, value in (part.split("=") for part in parts)
        }
        model = reproduce(method, parameters).fit(golden["X"], golden["y"])
        np.testing.assert_allclose(
            model.coef_[0], golden[key], atol=1e-10, rtol=0, err_msg=key
        )
