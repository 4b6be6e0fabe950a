"""scikit-learn's checks of estimators, with numbers in place of times, all of them observed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_array, column_or_1d

from sparseauc import SparseConcordance, SparseConcordanceCV


class OfNumbers:
    """Takes one number for each row as the time of its event."""

    def fit(self, X, y=None, sample_weight=None):
        if y is not None:
            y = column_or_1d(check_array(y, ensure_2d=False, input_name="y"), warn=True)
            y = y.astype(np.float64)
            y = np.column_stack([np.ones_like(y), y - y.min(initial=0.0)])
        return super().fit(X, y, sample_weight)

    def score(self, X, y, sample_weight=None):
        y = np.column_stack([np.ones(len(y)), y - np.min(y)])
        return super().score(X, y, sample_weight)


class Fixed(OfNumbers, SparseConcordance):
    def __init__(self, k=3, alpha=1.0, *, horizon=None, limits=None):
        super().__init__(k, alpha, horizon=horizon, limits=limits)


@pytest.mark.filterwarnings("ignore:k=3 is greater")
@parametrize_with_checks([Fixed()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "model", [SparseConcordance(3), SparseConcordanceCV(ks=[1, 2], cv=3)]
)
def test_parameters_are_kept(model):
    assert clone(model).get_params() == model.get_params()
    rng = np.random.default_rng(0)
    X, y = (
        rng.standard_normal((60, 5)),
        np.column_stack([np.ones(60), rng.exponential(size=60)]),
    )
    before = dict(model.get_params())
    model.fit(X, y)
    assert model.get_params() == before
    assert model.n_features_in_ == 5
