"""
Acting on a list
================

Three questions that follow a short list. What can replace a column that is not
available? Which other lists are as good? What does the score look like as points to be
added up by hand?
"""

# %%
# A list
# ------
# Four of twelve markers are chosen. Neighbouring markers are correlated.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sparseauc import SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.selection import near_equal_lists, point_score, replacements

data = make_outbreak(n=800, d=12, k=4, mu=0.8, r=0.3, correlation=0.7, random_state=2)
X, y = pd.DataFrame(data.X, columns=[f"marker {j}" for j in range(12)]), data.y
model = SparseAUCClassifier(k=4, alpha=0.1).fit(X, y)

# %% Replacements of a column ------------------------ The three best replacements of
# each column: the cross-validated change of AUC, with its 95 % CI. That marker 0 is
# needed, these rows cannot tell; replacing marker 7 costs AUC.

table = replacements(model, X, y, n_best=3)
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.errorbar(
    table["auc_change"],
    range(len(table)),
    xerr=1.96 * table["standard_error"],
    fmt="o",
    capsize=2,
)
ax.axvline(0, color="grey", linewidth=1)
ax.set_yticks(
    range(len(table)),
    [f"{column} → {other}" for column, other in table.to_numpy()[:, :2]],
)
ax.set_xlabel("change of AUC")
ax.invert_yaxis()

# %% Other lists as good ------------------- All lists of four columns whose loss is
# within 5 % of that of the best, which is on top. Dark columns are in all of them.

found = near_equal_lists(model, X, y, within=0.05)
order = np.argsort(found.objectives, kind="stable")
members = np.array(
    [[name in found.lists[place] for name in found.names] for place in order]
)
fig, ax = plt.subplots(figsize=(7, 0.8 + 0.25 * len(order)), layout="constrained")
ax.imshow(
    members * (0.4 + 0.6 * (found.share == 1)),
    cmap="Blues",
    vmin=0,
    vmax=1,
    aspect="auto",
)
ax.set_xticks(range(12), found.names, rotation=60, ha="right")
ax.set_yticks(range(len(order)), [f"{loss:.3f}" for loss in found.objectives[order]])
ax.set_ylabel("loss")
ax.set_title(f"{'All' if found.complete else 'At least'} {len(order)} lists")

# %%
# Points to be added up by hand
# -----------------------------
# Whole points for each class of a column, and the risk by total with its 95 % CI.
# ``score.model`` is an ordinary model with these points, to be saved and exported.

score = point_score(model, X, y)
print(score.columns.to_string(index=False))

risk = score.risk
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ends = [
    f"{low:g} to {high:g}"
    for low, high in zip(risk["above"], risk["up_to"], strict=True)
]
ends[0], ends[-1] = (
    f"up to {risk['up_to'].iloc[0]:g}",
    f"above {risk['above'].iloc[-1]:g}",
)
reach = [100 * (risk["risk"] - risk["low"]), 100 * (risk["high"] - risk["risk"])]
ax.bar(ends, 100 * risk["risk"], yerr=reach, capsize=3, color="tab:blue", alpha=0.7)
ax.set_xlabel("total of points")
ax.set_ylabel("positives, %")
ax.tick_params(axis="x", rotation=45)
