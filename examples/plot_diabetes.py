"""
Diabetes: a list that keeps age and sex
=======================================

442 patients with diabetes. The outcome is progression within a year, here the quarter
of patients with the fastest. Age and sex must be on the list; which other measurements
help?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sparseauc import Limits, SparseAUCClassifierCV
from sparseauc.selection import (
    column_table,
    nested_scores,
    replacements,
    stability_selection,
)

X, progression = load_diabetes(as_frame=True, return_X_y=True, scaled=False)
X = X.rename(columns={"bp": "blood pressure", "s5": "log triglycerides", "s3": "HDL"})
y = progression > progression.quantile(0.75)

# %%
# The list
# --------
# ``frequency`` is the share of refits on half of the rows that chose the column.

kept = ["age", "sex"]
model = SparseAUCClassifierCV(
    rule="1se", limits=Limits(always_include=kept), random_state=0
).fit(X, y)
stability = stability_selection(
    X, y, k=model.k_, limits=Limits(always_include=kept), n_pairs=25, random_state=0
)
column_table(model, X, y, stability).round(3)

# %%
# How well it ranks
# -----------------
nested = nested_scores(model, X, y, cv=5, random_state=0)
one = nested.interval
print(f"AUC {one.auc:.3f} (95 % CI {one.low:.3f} to {one.high:.3f})")
figure, ax = plt.subplots(layout="constrained")
edges = np.histogram_bin_edges(nested.scores, 20)
for label, rows in (("slower", ~y), ("fast progression", y)):
    shares = np.full(rows.sum(), 1 / rows.sum())
    ax.hist(nested.scores[rows], edges, weights=shares, alpha=0.5, label=label)
ax.set(xlabel="score", ylabel="share of the class")
ax.legend()
plt.show()

# %%
# A measurement is not available
# ------------------------------
# The best replacement of each column, with the change of the cross-validated AUC.

replacements(model, X, y, n_best=1).round(3)
