"""
Would the same columns be chosen again?
=======================================

A column may be on the list because of a few rows. Stability selection chooses columns
again from random halves of the rows, and bounds the number of columns that are selected
by chance.
"""

# %% Halves of the rows ------------------ 400 rows and 50 columns, five of them with
# signal. Ten columns are chosen from each half, more than the final list needs.

import matplotlib.pyplot as plt

from sparseauc import SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.selection import column_table, stability_selection

data = make_outbreak(n=400, d=50, k=5, mu=0.6, r=0.3, correlation=0.5, random_state=2)
stability = stability_selection(data.X, data.y, k=10, n_pairs=50, random_state=0)
print("in most halves:", stability.selected(0.8).tolist())
print("with a shift:  ", data.support.tolist())

# %% Bounds on selections by chance ------------------------------ The bound of Shah and
# Samworth needs no assumptions on the method or the columns.

for threshold in (0.7, 0.8, 0.9):
    print(
        f"chosen in {threshold:.0%} of the halves: {stability.selected(threshold).size} columns, "
        f"of which by chance at most {stability.error_bound(threshold):.1f} on average"
    )

# %% The frequencies ------------------ How often each column is among the ten of a half.
# Columns with signal stand apart.

threshold = 0.8
figure, ax = plt.subplots(layout="constrained")
columns = stability.selected(0.05)
ax.bar([f"x{column}" for column in columns], stability.frequency[columns])
ax.axhline(threshold, color="0.4", linestyle="--", label=f"threshold {threshold:g}")
ax.set(ylabel="selection frequency", ylim=(0, 1.04))
ax.tick_params(axis="x", rotation=90)
ax.legend(loc="upper right")
plt.show()

# %%
# With the list
# -------------
# Show the frequencies with the coefficients of the final model.

model = SparseAUCClassifier(k=6).fit(data.X, data.y)
column_table(model, data.X, data.y, stability).round(3)
