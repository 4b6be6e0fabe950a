"""
Stool species: who has colorectal cancer?
=========================================

The shares of 1,754 species of bacteria in the stool of 141 people, 53 of them with
colorectal cancer. Zeller and others (2014) built a classifier of 22 species by L1
logistic regression. With twelve times as many columns as rows, most lists are chance:
how many species are needed, and which of them are chosen again and again?

The table is in the folder that ``SPARSEAUC_DATA`` names; where it was absent when these
pages were built, this page has no output but the table at its end.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from sparseauc import SparseAUCClassifierCV
from sparseauc.plotting import AUCPathDisplay
from sparseauc.selection import stability_selection

folder = Path(os.environ["SPARSEAUC_DATA"]) / "published"
species = pd.read_csv(folder / "crc_stool_species.csv.gz", index_col=0).T
species.columns = [f"{name} {j}" for j, name in enumerate(species.columns)]
people = pd.read_csv(folder / "crc_stool_patients.csv", index_col=0).loc[species.index]
cancer = people["Group"] == "CRC"

# %%
# How many species
# ----------------

model = SparseAUCClassifierCV(ks=range(1, 31), random_state=0).fit(species, cancer)
print(model.k_, "species, cross-validated AUC", round(model.best_score_, 3))
AUCPathDisplay.from_estimator(model)
plt.show()

# %% Which of them come again ------------------------ Lists from random halves of the
# people. Few species are on most of them: the signal is that of groups of related
# species, not of single ones.

halves = stability_selection(species, cancer, k=model.k_, n_pairs=10, random_state=0)
print(halves)

# %%
# Against L1 logistic regression
# ------------------------------
# Mean AUC of test folds. The 22 published species are not named in the table, so that their list
# is not refitted.
#
# .. include:: /generated/parts/published_stool_species.rst
