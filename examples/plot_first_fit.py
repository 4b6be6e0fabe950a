"""
A first fit
===========

A table, a fit, the short list, and how far to trust it. Everything after the first paragraph works
the same on a data frame of your own.
"""

# %%
# A table
# -------
# 1000 patients of whom 5 % are sick, and 200 markers that share noise with their neighbours. Ten of
# them are shifted in the sick. Rows are split before anything is looked at.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from sparseauc import SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc_confidence_interval
from sparseauc.plotting import ROCBandDisplay, ScoreDistributionDisplay
from sparseauc.selection import column_table

data = make_outbreak(n=1000, d=200, k=10, mu=0.6, correlation=0.7, random_state=0)
X = pd.DataFrame(data.X, columns=[f"marker_{j}" for j in range(200)])
y = pd.Series(data.y).map({1: "sick", -1: "healthy"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# The fit
# -------
# The number of columns, no more than 30, and the ridge are chosen by cross-validation. Of labels
# the one that sorts last is positive, here "sick". ``rule="1se"`` asks for the shortest list that
# is as good as can be told.

model = SparseAUCClassifierCV(ks=range(1, 31), rule="1se", random_state=0).fit(X_train, y_train)
print(f"{model.k_} of {X.shape[1]} columns, ridge {model.alpha_:g}")

# %%
# The short list
# --------------
# ``standardised`` compares columns, ``auc`` is that of the column alone. A column whose coefficient
# has another sign than its direction, or that is worth little alone, is there for the others' sake:
# it cancels noise that it shares with them.

column_table(model, X_train, y_train).round(3)

# %%
# New rows
# --------
# With 12 sick people in the test rows an AUC is a rough number, and the interval says how rough.

scores = model.decision_function(X_test)
interval = auc_confidence_interval(y_test, scores)
print(f"AUC {interval.auc:.3f}, 95 % between {interval.low:.3f} and {interval.high:.3f}")
print(f"the best possible: {data.bayes_auc:.3f}")

# %%
# The ROC curve with its band, and the scores of both classes. Zero lies midway between the class
# means of the training rows, so the rare class weighs as much as the common one.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
ROCBandDisplay.from_estimator(model, X_test, y_test, ax=left)
ScoreDistributionDisplay.from_estimator(model, X_test, y_test, ax=right)
plt.show()
