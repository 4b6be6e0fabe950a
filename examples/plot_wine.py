"""
Wine: two measurements for each cultivar
========================================

178 wines of three cultivars, with 13 chemical measurements. For each cultivar, which
two measurements tell it from the other two?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from sparseauc import SparseAUCClassifierCV
from sparseauc.selection import nested_scores

X, y = load_wine(as_frame=True, return_X_y=True)

# %% One cultivar against the rest ----------------------------- ``ks=[2]`` fixes the
# length; cross-validation chooses the ridge. The dashed line is the threshold of
# ``predict``: a score of 0.

figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for cultivar, panel in enumerate(panels):
    positive = y == cultivar
    model = SparseAUCClassifierCV(ks=[2], random_state=0).fit(X, positive)
    auc = nested_scores(model, X, positive, cv=5, random_state=0).interval
    a, b = model.get_support(indices=True)
    for label, rows, marker in (
        ("other", ~positive, "o"),
        (f"cultivar {cultivar}", positive, "^"),
    ):
        panel.scatter(
            X.loc[rows].iloc[:, a],
            X.loc[rows].iloc[:, b],
            s=14,
            marker=marker,
            label=label,
        )
    x = np.array(panel.get_xlim())
    coef, ends = model.coef_[0], panel.get_ylim()
    panel.plot(
        x, -(model.intercept_[0] + coef[a] * x) / coef[b], color="0.4", linestyle="--"
    )
    panel.set(xlabel=X.columns[a], ylabel=X.columns[b], ylim=ends, xlim=x)
    panel.set_title(f"AUC {auc.auc:.3f} ({auc.low:.3f} to {auc.high:.3f})")
    panel.legend(frameon=False)
plt.show()
