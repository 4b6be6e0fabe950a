"""
Digits: a few pixels that tell 3 from 8
=======================================

Images of 8 × 8 pixels, the digits 3 and 8 only. Neighbouring pixels are correlated, so
the best single pixels repeat one another; pixels that are chosen jointly do not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sparseauc import MeanDifferenceClassifier, sparse_auc_path
from sparseauc.metrics import auc

X, y = load_digits(return_X_y=True)
rows = np.isin(y, (3, 8))
X, X_new, y, y_new = train_test_split(
    X[rows], y[rows] == 8, random_state=0, stratify=y[rows]
)

# %% All lengths at once ------------------- ``sparse_auc_path`` gives the list of every
# length. The alternative takes the pixels with the largest differences of class means.

KS = range(1, 13)
path = sparse_auc_path(X, y, ks=KS, alphas=[1.0])
jointly = [auc(y_new, X_new @ path.coef(k, 1.0)) for k in KS]
models = [MeanDifferenceClassifier(k=k).fit(X, y) for k in KS]
one_by_one = [auc(y_new, model.decision_function(X_new)) for model in models]

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10, 3.4), layout="constrained"
)
left.plot(KS, jointly, "o-", label="chosen jointly")
left.plot(KS, one_by_one, "^-", color="C7", label="largest mean differences")
left.set(xlabel="pixels", ylabel="AUC on new images")
left.legend(frameon=False)
shift = (X[y].mean(axis=0) - X[~y].mean(axis=0)).reshape(8, 8)
for panel, title, coef in (
    (middle, "3 pixels chosen jointly", path.coef(3, 1.0)),
    (right, "3 largest mean differences", models[2].coef_[0]),
):
    panel.imshow(shift, cmap="RdBu_r", vmin=-12, vmax=12)
    place = np.flatnonzero(coef)
    panel.scatter(
        place % 8, place // 8, s=90, facecolors="none", edgecolors="k", linewidths=2
    )
    panel.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Colours: mean of the eights minus mean of the threes. Circles: chosen pixels.
