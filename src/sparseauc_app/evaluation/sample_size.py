"""Sample sizes: what a prediction model needs to be developed, and to be validated.

Development by the criteria of Riley et al. (2019, Statistics in Medicine 38,
1276–1296), validation by those of Riley et al. (2021, Statistics in Medicine 40,
4230–4251).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri, xlogy

from sparseauc.utils.types import Array

# As the authors propose: shrinkage, optimism of R², and margin of error of the overall
# risk.
_SHRINKAGE = 0.9
_OPTIMISM = 0.05
_MARGIN = 0.05
# Widths of the 95 % CIs in validation: observed/expected ratio, slope, AUC.
_WIDTHS = {"ratio": 0.2, "slope": 0.2, "auc": 0.1}
_Z = 1.96


@dataclass(frozen=True)
class DevelopmentSize:
    """Rows that a model with so many parameters needs, by each criterion.

    Attributes
    ----------
    parameters : int
    r_squared, largest_r_squared : float
        Cox and Snell's R² that goes with the AUC and the prevalence, and the largest
        possible.
    shrinkage, optimism, intercept : int
        Rows for a shrinkage of 0.9, for an optimism of R² of at most 0.05, and for the
        overall risk to within 0.05.
    events_per_parameter : float
        With so many rows.
    """

    parameters: int
    r_squared: float
    largest_r_squared: float
    shrinkage: int
    optimism: int
    intercept: int
    events_per_parameter: float

    @property
    def rows(self) -> int:
        """Rows by the most demanding criterion."""
        return max(self.shrinkage, self.optimism, self.intercept)


@dataclass(frozen=True)
class ValidationSize:
    """Rows that a validation needs for precise estimates, by each criterion."""

    ratio: int
    slope: int
    auc: int

    @property
    def rows(self) -> int:
        """Rows by the most demanding criterion."""
        return max(self.ratio, self.slope, self.auc)


def development_size(
    auc: float, prevalence: float, parameters: int
) -> DevelopmentSize | None:
    """Rows needed to develop a model; None for an AUC that is no better than chance or perfect.

    Parameters
    ----------
    auc : float
        AUC to expect in new rows.
    prevalence : float
    parameters : int
        Number of coefficients.
    """
    if not 0.5 < auc < 1 or not 0 < prevalence < 1 or parameters < 1:
        return None
    r2 = r_squared_of_auc(auc, prevalence)
    most = 1 - math.exp(2 * _null_log_likelihood(prevalence))
    if not 0 < r2 < min(most, _SHRINKAGE):
        return None

    def rows(shrinkage: float) -> int:
        return math.ceil(parameters / ((shrinkage - 1) * math.log(1 - r2 / shrinkage)))

    by_shrinkage = rows(_SHRINKAGE)
    by_optimism = rows(r2 / (r2 + _OPTIMISM * most))
    by_intercept = math.ceil((_Z / _MARGIN) ** 2 * prevalence * (1 - prevalence))
    needed = max(by_shrinkage, by_optimism, by_intercept)
    return DevelopmentSize(
        parameters,
        r2,
        most,
        by_shrinkage,
        by_optimism,
        by_intercept,
        needed * prevalence / parameters,
    )


def r_squared_of_auc(auc: float, prevalence: float) -> float:
    """Cox and Snell's R² of a model with this AUC, if log odds are normal in both classes.

    As in Riley et al. (2021, Statistics in Medicine 40, 859–864), but by integration
    instead of simulation: with variance one in both classes, the means are apart by √2
    Φ⁻¹(AUC), and that is also the slope of the logistic model.
    """
    apart = math.sqrt(2) * float(ndtri(auc))
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    odds = math.log(prevalence / (1 - prevalence))
    gain = 0.0
    for share, mean, sign in ((prevalence, apart, 1), (1 - prevalence, 0.0, -1)):
        log_odds = odds + apart * (nodes + mean) - apart**2 / 2
        gain += share * float(weights @ -np.logaddexp(0.0, -sign * log_odds))
    return 1 - math.exp(2 * (_null_log_likelihood(prevalence) - gain))


def _null_log_likelihood(prevalence: float) -> float:
    """Log-likelihood of a row by a model without predictors."""
    return float(xlogy(prevalence, prevalence) + xlogy(1 - prevalence, 1 - prevalence))


def validation_size(
    log_odds: Array, auc: float, prevalence: float
) -> ValidationSize | None:
    """Rows needed to validate a model whose predicted log odds are distributed like these."""
    if not 0.5 < auc < 1 or not 0 < prevalence < 1 or log_odds.std() == 0:
        return None
    error = brentq(lambda se: 2 * math.sinh(_Z * se) - _WIDTHS["ratio"], 1e-6, 5.0)
    by_ratio = math.ceil((1 - prevalence) / (prevalence * error**2))
    p = expit(log_odds)
    weight = p * (1 - p)
    a = weight.mean()
    b = (weight * log_odds**2).mean()
    both = (weight * log_odds).mean()
    information = a * b - both**2
    if information <= 0:
        return None
    by_slope = math.ceil(a / ((_WIDTHS["slope"] / (2 * _Z)) ** 2 * information))

    def width(n: float) -> float:
        return 2 * _Z * _auc_error(auc, n, prevalence)

    largest = 1e9
    if width(largest) > _WIDTHS["auc"]:
        return None
    by_auc = math.ceil(brentq(lambda n: width(n) - _WIDTHS["auc"], 4.0, largest))
    return ValidationSize(by_ratio, by_slope, by_auc)


def _auc_error(auc: float, n: float, prevalence: float) -> float:
    """Newcombe's standard error of an AUC."""
    more = (n / 2 - 1) * ((1 - auc) / (2 - auc) + auc / (1 + auc))
    return math.sqrt(
        auc * (1 - auc) * (1 + more) / (n**2 * prevalence * (1 - prevalence))
    )
