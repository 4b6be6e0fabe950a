"""
Infarct: death within 30 days
=============================

GUSTO-I: 40,830 patients with an acute myocardial infarct, of whom 2,851 died within 30
days. The trial's authors (1995) found that five values carry most of the information:
age, systolic pressure, Killip class, pulse, and an anterior infarct. With 6,000
patients to learn from, which five are chosen, and how do they rank the 34,830 others?

The table is in the folder that ``SPARSEAUC_DATA`` names; where it was absent when these
pages were built, this page has no output but the table at its end.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split

from sparseauc import SparseAUCClassifierCV
from sparseauc.metrics import auc_confidence_interval
from sparseauc.selection import column_table

folder = Path(os.environ["SPARSEAUC_DATA"]) / "published"
# Regions and hospitals are places, not patients' values.
patients = pd.read_csv(folder / "gusto.csv.gz").drop(columns=["regl", "grpl", "grps"])
died = patients.pop("day30") == 1
patients["Killip"] = patients["Killip"].map({"I": 1, "II": 2, "III": 3, "IV": 4})
known, others, y, y_others = train_test_split(
    patients, died, train_size=6000, stratify=died, random_state=0
)

# %%
# Five values
# -----------

model = SparseAUCClassifierCV(ks=[5], random_state=0).fit(known, y)
column_table(model, known, y).round(3)

# %%
# On patients that it never saw
# -----------------------------

scores = model.decision_function(others)
one = auc_confidence_interval(y_others, scores)
print(f"AUC {one.auc:.3f} (95 % CI {one.low:.3f} to {one.high:.3f})")
RocCurveDisplay.from_predictions(y_others, scores)
plt.show()

# %%
# Against the published five
# --------------------------
# AUC on the patients that were not used; means over two draws of 6,000.
#
# .. include:: /generated/parts/published_gusto_i.rst
