"""
A first fit
===========

A table, a fit, the short list, and its AUC on new rows. Everything after the first
section works the same with your own data frame.
"""

# %% A table ------- 1000 simulated patients, 5 % of them sick, with 200 correlated
# markers. Ten markers differ between sick and healthy. Test rows are set aside first.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from sparseauc import SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc_confidence_interval
from sparseauc.plotting import ROCBandDisplay
from sparseauc.selection import column_table

data = make_outbreak(n=1000, d=200, k=10, mu=0.6, correlation=0.7, random_state=0)
X = pd.DataFrame(data.X, columns=[f"marker_{j}" for j in range(200)])
y = pd.Series(data.y).map({1: "sick", -1: "healthy"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %% The fit ------- Cross-validation chooses the number of columns, up to 30, and the
# ridge. The label that sorts last is positive, here "sick". ``rule="1se"`` takes the
# shortest list within one standard error of the best.

model = SparseAUCClassifierCV(ks=range(1, 31), rule="1se", random_state=0).fit(
    X_train, y_train
)
print(f"{model.k_} of {X.shape[1]} columns, ridge {model.alpha_:g}")

# %% The short list -------------- ``standardised`` is the coefficient per standard
# deviation, ``auc`` that of the column alone. A column with an AUC of about 0.5, or
# whose coefficient and direction differ in sign, cancels noise that it shares with
# others.

column_table(model, X_train, y_train).round(3)

# %%
# New rows
# --------
# The interval is wide, because only 12 of the test rows are sick.

scores = model.decision_function(X_test)
interval = auc_confidence_interval(y_test, scores)
print(
    f"AUC {interval.auc:.3f}, 95 % between {interval.low:.3f} and {interval.high:.3f}"
)
print(f"the best possible: {data.bayes_auc:.3f}")

# %% The ROC curve with its band, and the scores of both classes. Scores are in log
# odds: above 0, the threshold of ``predict``, a row is more probably sick than healthy.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
ROCBandDisplay.from_estimator(model, X_test, y_test, ax=left)
edges = np.histogram_bin_edges(scores, 20)
for label in ("healthy", "sick"):
    rows = y_test.to_numpy() == label
    shares = np.full(rows.sum(), 1 / rows.sum())
    right.hist(scores[rows], edges, weights=shares, alpha=0.5, label=label)
right.axvline(0, color="0.4", linestyle=":", label="threshold")
right.set(xlabel="score", ylabel="share of the class")
right.legend()
plt.show()
