"""
Meningitis: bacterial or viral?
===============================

A child with meningitis needs antibiotics at once if it is bacterial, and none if it is
viral; cultures take days. Spanos and others (1989) gave a rule of four values: age, the
ratio of glucose in cerebrospinal fluid and blood, protein, and neutrophils in the
fluid. Here are 501 of their patients, 217 with bacterial meningitis, some values
missing.

The table is in the folder that ``SPARSEAUC_DATA`` names; where it was absent when these
pages were built, this page has no output but the table at its end.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sparseauc import SparseAUCClassifierCV
from sparseauc.selection import nested_scores

folder = Path(os.environ["SPARSEAUC_DATA"]) / "published"
patients = pd.read_csv(folder / "bacterial_meningitis.csv").dropna(subset="abm")
bacterial = patients.pop("abm") == 1
# Cultures and the Gram stain are the answer, not a predictor.
patients = patients.drop(
    columns=["casenum", "year", "gram", "csf_cult", "blood_cult", "subset"]
)
blood = patients["blood_gluc"].where(patients["blood_gluc"] > 0)
patients["glucose_ratio"] = patients["csf_gluc"] / blood
patients["csf_neutrophils"] = patients["csf_wbc"] * patients["csf_neut_pct"] / 100

# %% Four values, as in the rule --------------------------- Missing values are filled
# in inside each fold. Cross-validation decides whether columns count as curves or as
# lines.

rule = SparseAUCClassifierCV(ks=[4], random_state=0)
print("four values: ", ", ".join(rule.fit(patients, bacterial).get_feature_names_out()))
default = SparseAUCClassifierCV(random_state=0).fit(patients, bacterial)
print("its own choice:", ", ".join(default.get_feature_names_out()))

# %%
# How well four values tell them apart
# ------------------------------------

nested = nested_scores(rule, patients, bacterial, cv=5, random_state=0)
one = nested.interval
print(
    f"AUC {one.auc:.3f} (95 % CI {one.low:.3f} to {one.high:.3f}) by nested cross-validation"
)
figure, ax = plt.subplots(layout="constrained")
edges = np.histogram_bin_edges(nested.scores, 20)
for label, rows in (("viral", ~bacterial), ("bacterial", bacterial)):
    shares = np.full(rows.sum(), 1 / rows.sum())
    ax.hist(nested.scores[rows], edges, weights=shares, alpha=0.5, label=label)
ax.set(xlabel="score", ylabel="share of the class")
ax.legend()
plt.show()

# %%
# Against the published rule
# --------------------------
# Mean AUC of test folds; the published values were chosen on all rows, ours on the training rows
# only.
#
# .. include:: /generated/parts/published_meningitis.rst
