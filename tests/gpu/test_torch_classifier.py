"""SHTAUCClassifier on tensors, which are read as any source of rows."""

import numpy as np
import pytest
from sklearn.base import clone

from sparseauc import SHTAUCClassifier
from sparseauc.datasets import make_outbreak

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=400, d=60, k=5, mu=1.0, r=0.2, random_state=0)


def test_tensors_fit_as_a_source_does(outbreak):
    X, y = outbreak
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    model = SHTAUCClassifier(k=5, max_epochs=100, random_state=0)
    expected = clone(model).fit(X, y, sample_weight=weight)
    found = clone(model).fit(
        torch.from_numpy(X), torch.from_numpy(y), sample_weight=torch.from_numpy(weight)
    )
    assert found.objective_ == pytest.approx(expected.objective_, rel=0.01)
    assert type(found.coef_) is type(found.intercept_) is np.ndarray


def test_scores_and_predicts_tensors(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    table = torch.from_numpy(X)
    scores = model.decision_function(table)
    assert type(scores) is np.ndarray
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(table), model.predict(X))
    with pytest.raises(ValueError, match="X has 59 features"):
        model.decision_function(table[:, 1:])
    spoilt = table.clone()
    column = int(model.get_support(indices=True)[0])
    spoilt[3, column] = torch.nan
    with pytest.raises(ValueError, match=f"row 3, column {column}"):
        model.decision_function(spoilt)


def test_bad_input_is_named(outbreak):
    X, y = torch.from_numpy(outbreak.X), outbreak.y
    with pytest.raises(ValueError, match="float32 or float64"):
        SHTAUCClassifier().fit(X.half(), y)
    with pytest.raises(ValueError, match=r"shape \(n, d\)"):
        SHTAUCClassifier().fit(X[0], y)
    with pytest.raises(ValueError, match="one class only"):
        SHTAUCClassifier().fit(X, np.ones(400))
    with pytest.raises(ValueError, match="X has 400 rows but y has 399"):
        SHTAUCClassifier().fit(X, y[1:])
    spoilt = X.clone()
    spoilt[7, 11] = torch.inf
    with pytest.raises(ValueError, match="infinity: first at row 7, column 11"):
        SHTAUCClassifier().fit(spoilt, y)
