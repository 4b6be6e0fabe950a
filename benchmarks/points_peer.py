"""Fit FasterRisk to folds that ``points.py`` has written; run by FasterRisk's own Python."""

import json
import sys
import time
from pathlib import Path

import numpy as np
from fasterrisk.fasterrisk import RiskScoreOptimizer

for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    done = path.with_suffix(".json")
    if done.exists():
        continue
    with np.load(path) as fold:
        X, y, X_test = fold["X"], np.where(fold["y"], 1.0, -1.0), fold["X_test"]
    start = time.process_time()
    optimizer = RiskScoreOptimizer(X, y, k=5, lb=-5, ub=5)
    optimizer.optimize()
    # The first of its pool, which is sorted by loss.
    _, _, points = optimizer.get_models(model_index=0)
    seconds = time.process_time() - start
    done.write_text(json.dumps({"scores": (X_test @ points).tolist(), "seconds": seconds}))
