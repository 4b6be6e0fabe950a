"""Fit FasterRisk to folds that ``points.py`` has written; run by FasterRisk's own Python."""

import contextlib
import io
import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from fasterrisk.binarization_util import convert_continuous_df_to_binary_df
from fasterrisk.fasterrisk import RiskScoreOptimizer

KS = (3, 5)
THRESHOLDS = 3  # of each column, on average
MOST_THRESHOLDS = 20  # to choose from


def optimize(X, y, k, group):
    """Fit with three thresholds a column, or fewer where it runs out of columns and fails."""
    for most in range(THRESHOLDS * k, 0, -1):
        optimizer = RiskScoreOptimizer(
            X,
            y,
            k=most,
            lb=-5,
            ub=5,
            group_sparsity=k,
            featureIndex_to_groupIndex=group,
        )
        try:
            optimizer.optimize()
        except ValueError as error:
            if "empty sequence" not in str(error):
                raise
            continue
        return optimizer
    raise ValueError(f"FasterRisk fails with {k} columns")


for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    with np.load(path) as fold:
        X, y, X_test = fold["X"], np.where(fold["y"], 1.0, -1.0), fold["X_test"]
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    for k in KS:
        done = path.with_suffix(f".{k}.json")
        if done.exists():
            continue
        start = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            binary, group = convert_continuous_df_to_binary_df(
                frame, MOST_THRESHOLDS, get_featureIndex_to_groupIndex=True
            )
            optimizer = optimize(binary.to_numpy(np.float64), y, k, np.asarray(group))
            # The first of its pool, which is sorted by loss.
            _, _, points = optimizer.get_models(model_index=0)
        seconds = time.process_time() - start
        totals = np.zeros(len(X_test))
        for name, worth in zip(binary.columns, points, strict=True):
            if worth:
                column, _, threshold = name.partition("<=")
                totals += worth * (X_test[:, int(column[1:])] <= float(threshold))
        done.write_text(json.dumps({"scores": totals.tolist(), "seconds": seconds}))
