"""
Heart failure: two laboratory values
====================================

299 patients with heart failure, of whom 96 died during follow-up. Chicco and Jurman
(2020) reported that serum creatinine and ejection fraction suffice to predict who will
die. Which two measurements are best when the choice has to be made without the patients
that it is judged on?

The table is in the folder that ``SPARSEAUC_DATA`` names; where it was absent when these
pages were built, this page has no output but the table at its end.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from sparseauc import SparseAUCClassifierCV
from sparseauc.plotting import AUCPathDisplay
from sparseauc.selection import column_table, near_equal_lists, nested_scores

folder = Path(os.environ["SPARSEAUC_DATA"]) / "published"
# The time of follow-up is known only afterwards.
patients = pd.read_csv(folder / "heart_failure.csv").drop(columns="time")
died = patients.pop("DEATH_EVENT") == 1

# %%
# Two measurements
# ----------------
# Other pairs are nearly as good: no list of two is *the* list of this disease.

pair = SparseAUCClassifierCV(ks=[2], random_state=0).fit(patients, died)
for names in near_equal_lists(pair, patients, died, within=0.1).lists:
    print(" and ".join(names))
column_table(pair, patients, died).round(3)

# %%
# As many as it takes
# -------------------

model = SparseAUCClassifierCV(random_state=0).fit(patients, died)
one = nested_scores(model, patients, died, cv=5, random_state=0).interval
print(f"AUC {one.auc:.3f} (95 % CI {one.low:.3f} to {one.high:.3f}), nested")
AUCPathDisplay.from_estimator(model)
plt.show()

# %%
column_table(model, patients, died).round(3)

# %%
# Against the published pair
# --------------------------
# Mean AUC of test folds; the published pair was chosen on all rows, ours on the training rows only.
#
# .. include:: /generated/parts/published_heart_failure.rst
