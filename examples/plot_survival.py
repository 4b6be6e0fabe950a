"""
Breast cancer: time to recurrence
=================================

686 patients of the German Breast Cancer Study Group, 299 with a recurrence; the others
are censored. Which few measurements rank patients by the time to recurrence? The table
comes with scikit-survival.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, cross_val_predict
from sksurv.datasets import load_gbsg2

from sparseauc import SparseConcordanceCV
from sparseauc.selection import near_equal_lists
from sparseauc.survival import SurvivalTimes, harrell_concordance, kaplan_meier

columns, y = load_gbsg2()
X = pd.get_dummies(columns, drop_first=True).astype(float)

# %%
# The list
# --------
# Hazard ratios are of columns that count as lines; by default curves are tried too.

model = SparseConcordanceCV(rule="1se", curves=False).fit(X, y)
print(f"C {model.best_score_:.3f} in cross-validation, up to day {model.horizon_:.0f}")
ratios = {
    "hazard ratio": np.exp(model.coef_[0]),
    "per SD": np.exp(model.coef_[0] * model.scale_),
}
chosen = pd.DataFrame(ratios, index=X.columns)
chosen[model.get_support()].round(3)

# %% How well it ranks ----------------- Every patient is scored by a model that was
# fitted, choice of columns included, without the patient's fold. Kaplan–Meier curves of
# thirds of these scores:

folds = KFold(5, shuffle=True, random_state=0)
scores = cross_val_predict(SparseConcordanceCV(rule="1se"), X, y, cv=folds)
parts = [harrell_concordance(y[test], scores[test]) for _, test in folds.split(X)]
print(f"C {np.mean(parts):.3f} on patients that were not used for the list")

times = SurvivalTimes.from_target(y)
third = np.digitize(scores, np.quantile(scores, [1 / 3, 2 / 3]))
at = np.linspace(0, 2200, 200)
for number, name in enumerate(["low", "middle", "high"]):
    plt.step(
        at / 365.25,
        kaplan_meier(times.take(third == number))(at),
        where="post",
        label=name,
    )
plt.xlabel("years")
plt.ylabel("free of recurrence")
plt.ylim(0, 1)
plt.legend(title="third of the score")
plt.show()

# %%
# Risk until a day
# ----------------
risk = model.predict_risk(X, horizon=3 * 365.25)
print(
    "risk of recurrence within three years:",
    np.quantile(risk, [0.1, 0.5, 0.9]).round(2),
)

# %%
# Other lists that are as good
# ----------------------------
# Lists of the same length whose loss is within two per cent of the best.

near = near_equal_lists(model, X, y, within=0.02)
print(f"{len(near.lists)} lists; in all of them: {', '.join(near.in_all)}")
