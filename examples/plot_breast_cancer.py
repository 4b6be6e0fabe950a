"""
Breast cancer: three measurements instead of thirty
===================================================

569 biopsies with 30 measurements of cell nuclei, many of them strongly correlated. How
many does it take to rank malignant biopsies above benign ones?
"""

# %% AUC against the number of columns ---------------------------------
# Cross-validation fits every length and ridge. ``rule="1se"`` takes the shortest list
# within one standard error of the highest AUC.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import SparseAUCClassifierCV
from sparseauc.metrics import auc, delong_test
from sparseauc.plotting import AUCPathDisplay, ROCBandDisplay
from sparseauc.selection import column_table, nested_scores

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
y = y.map({0: "malignant", 1: "benign"})  # the label that sorts last is positive

model = SparseAUCClassifierCV(ks=range(1, 16), rule="1se", random_state=0).fit(X, y)
AUCPathDisplay.from_estimator(model)
plt.show()

# %%
# The list
# --------
column_table(model, X, y).round(3)

# %% Nested cross-validation ----------------------- The AUC to report repeats the whole
# procedure in every outer fold, choice of columns included.

nested = nested_scores(model, X, y, cv=5, random_state=0)
one = nested.interval
print(f"AUC {one.auc:.3f} (95 % CI {one.low:.3f} to {one.high:.3f})")
print("columns per fold:", [len(columns) for columns in nested.fold_columns])
ROCBandDisplay.from_predictions(y == "malignant", nested.scores)
plt.show()

# %% All thirty columns ------------------ Logistic regression on all columns ranks
# slightly better, with ten times as many measurements.

everything = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
scores = cross_val_predict(everything, X, y, cv=5, method="decision_function")
test = delong_test(y, scores, nested.scores)
print(
    f"all columns: AUC {auc(y, scores):.3f}; difference {test.difference:+.3f}, p {test.pvalue:.2g}"
)
