"""
How many columns?
=================

Cross-validated AUC against the number of columns, the choice of the two rules, and the
coefficients as the list grows.
"""

# %% Two rules --------- Lists of all lengths are fitted in every fold, for several
# ridges. ``"best"`` takes the fewest columns within 0.002 of the highest AUC, ``"1se"``
# the fewest within one standard error of it.

import matplotlib.pyplot as plt
import numpy as np

from sparseauc import SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc
from sparseauc.plotting import AUCPathDisplay

data = make_outbreak(n=6000, d=150, k=8, mu=0.7, r=0.1, correlation=0.6, random_state=3)
X, y = data.X[:800], data.y[:800]
X_new, y_new = data.X[800:], data.y[800:]

models = {
    rule: SparseAUCClassifierCV(ks=range(1, 31), rule=rule, random_state=0).fit(X, y)
    for rule in ("best", "1se")
}
for rule, model in models.items():
    print(
        f"{rule:>4}: k = {model.k_:2d}, ridge {model.alpha_:g}; "
        f"AUC {model.best_score_:.3f} in validation folds, "
        f"{auc(y_new, model.decision_function(X_new)):.3f} on 5200 new rows"
    )

# %% AUC against k ------------- The curve is flat where more columns gain nothing. The
# highest of many validation AUCs is slightly optimistic;
# :func:`~sparseauc.selection.nested_scores` gives the AUC to report.

AUCPathDisplay.from_estimator(models["1se"])
plt.show()

# %% Which columns enter and leave ----------------------------- Lists are not nested: a
# column that replaced two others leaves when both are on the list.

best = models["best"]
ks = list(best.path_.ks)
# Coefficients of all columns, per standard deviation, at each k.
coefs = [best.path_.coef(k, best.alpha_) * best.path_.scale for k in ks]
figure, ax = plt.subplots(layout="constrained")
for j in np.flatnonzero(np.any(coefs, axis=0)):
    ax.plot(ks, [coef[j] or np.nan for coef in coefs], marker=".", label=f"x{j}")
ax.axvline(best.k_, color="0.4", linestyle=":", label=f"k = {best.k_}")
ax.set(xlabel="number of columns k", ylabel="coefficient per standard deviation")
ax.legend(ncols=2, fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
