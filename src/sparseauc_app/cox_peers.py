"""Cox models of scikit-survival, to compare lists of times to event with."""

from typing import Any, Literal, Self

import numpy as np
from numpy.linalg import LinAlgError
from sklearn.base import BaseEstimator

from sparseauc.outcome import Times
from sparseauc.survival import SurvivalTimes
from sparseauc.utils.optional import import_optional

# What scikit-survival says of a step of Newton's method that cannot be taken.
_NOWHERE = "search direction contains NaN"


class CoxPeer(BaseEstimator):
    """A Cox model with an L1 or L2 penalty, fitted to events and times."""

    def __init__(self, penalty: Literal["l1", "l2"] = "l1", alpha: float = 0.1) -> None:
        self.penalty = penalty
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Self:
        """Fit coefficients; where the optimiser fails they are 0, and ``converged_`` is False."""
        models = import_optional(
            "sksurv.linear_model", f"{self.penalty}-penalised Cox regression"
        )
        target = Times(SurvivalTimes.from_target(y, needs_events=False)).y
        dense = X.toarray() if hasattr(X, "toarray") else X
        if self.penalty == "l1":
            model = models.CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=[self.alpha])
        else:
            model = models.CoxPHSurvivalAnalysis(alpha=self.alpha)
        self.converged_ = True
        try:
            self.coef_ = np.reshape(model.fit(dense, target).coef_, (1, -1))
        except (ArithmeticError, ValueError) as error:
            # A wrong table raises a ValueError too.
            if not isinstance(
                error, ArithmeticError | LinAlgError
            ) and _NOWHERE not in str(error):
                raise
            self.coef_ = np.zeros((1, dense.shape[1]))
            self.converged_ = False
        return self

    def predict(self, X: Any) -> Any:
        """Score rows: the higher, the earlier the event is expected."""
        return X @ self.coef_[0]
