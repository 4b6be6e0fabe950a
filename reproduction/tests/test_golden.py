"""The methods compared give the weight vectors of the published programs.

Those of SHT-AUC are in ``tests/test_golden.py`` of the library.
"""

import numpy as np

from sparseauc.objective import AUCObjective
from sparseauc_paper.baselines import fsauc, hsg_ht, solam, spam, sto_iht

IN_ORDER = {"tol": 0.0, "shuffle": False}


def reproduce(method, objective, p):
    """Run ``method`` with the published program's parameters ``p``, translated to ours."""
    common = IN_ORDER | {"max_epochs": int(p["epochs"])}
    match method:
        case "sto_iht":
            return sto_iht(
                objective, int(p["k"]), batch_size=int(p["batch_size"]), step_size=p["c"],
                block_order="cyclic", **common,
            )  # fmt: skip
        case "hsg_ht":
            return hsg_ht(
                objective, int(p["k"]), step_size=p["c"], initial_batch_size=p["tau"],
                growth=p["zeta"], restart_batches=True, **common,
            )  # fmt: skip
        case "spam_l1" | "spam_l2" | "spam_l1l2":
            return spam(
                objective, l1=p.get("l1", 0.0), l2=p.get("l2", 0.0), step_size=p["xi"],
                average=False, **common,
            )  # fmt: skip
        case "solam":
            return solam(objective, radius=p["R"], step_size=p["xi"], max_norm=1.0, **common)
        case "fsauc":
            return fsauc(objective, radius=p["R"], step_size=p["eta"], max_norm=1.0, **common)
    raise AssertionError(f"no translation for the published method {method!r}")


def test_every_published_weight_vector(golden):
    objective = AUCObjective(golden["X"], golden["y"])
    # The library's own test compares those of SHT-AUC.
    keys = [key for key in golden if "|" in key and not key.startswith("sht_auc|")]
    assert len(keys) >= 18
    for key in keys:
        method, *parts = key.split("|")
        parameters = {name: float(value) for name, value in (part.split("=") for part in parts)}
        result = reproduce(method, objective, parameters)
        np.testing.assert_allclose(
            result.dense(objective.n_features), golden[key], atol=1e-10, rtol=0, err_msg=key
        )
