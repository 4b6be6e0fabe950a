"""SHTAUCClassifier on tensors and on a device; here the device is torch's CPU."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sparseauc import SHTAUCClassifier
from sparseauc.datasets import make_outbreak

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=400, d=60, k=5, mu=1.0, r=0.2, random_state=0)


def same_fit(one, other, atol=1e-10):
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=atol)
    assert one.n_iter_ == other.n_iter_
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert one.history_.keys() == other.history_.keys()
    # In single precision a sum in another order may turn round one pair of a positive and a
    # negative, of which there are 80 × 320 here.
    pair = 1.01 / (80 * 320) if one.coef_.dtype == np.float32 else 0.0
    for name, values in one.history_.items():
        allowed = 1e-5 + (pair if "auc" in name else 0.0)
        np.testing.assert_allclose(values, other.history_[name], atol=allowed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"step_size": 0.01},
        {"early_stopping": True, "validation_fraction": 0.3},
        {"block_order": "permutation", "shuffle": False},
        {"record_history": False},
    ],
)
def test_tensors_and_devices_fit_as_arrays_do(outbreak, dtype, parameters):
    X, y = outbreak.X.astype(dtype), outbreak.y
    expected = SHTAUCClassifier(k=5, random_state=0, **parameters).fit(X, y)
    atol = 1e-10 if dtype == np.float64 else 1e-5
    for model, table in [
        (SHTAUCClassifier(k=5, random_state=0, **parameters), torch.from_numpy(X)),
        (SHTAUCClassifier(k=5, random_state=0, device="cpu", **parameters), X),
        (SHTAUCClassifier(k=5, random_state=0, device="cpu", **parameters), torch.from_numpy(X)),
    ]:
        model.fit(table, y)
        same_fit(model, expected, atol)
        assert type(model.coef_) is type(model.intercept_) is np.ndarray
        assert model.coef_.dtype == dtype
        assert model.n_features_in_ == 60


def test_labels_and_weights_may_be_tensors(outbreak):
    X, y = outbreak
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    expected = SHTAUCClassifier(k=5, random_state=0).fit(X, y, sample_weight=weight)
    found = SHTAUCClassifier(k=5, random_state=0).fit(
        torch.from_numpy(X), torch.from_numpy(y), sample_weight=torch.from_numpy(weight)
    )
    same_fit(found, expected)


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


def test_warm_start_and_clone_and_pickle(outbreak):
    X, y = outbreak
    models = [
        SHTAUCClassifier(k=5, max_epochs=3, warm_start=True, random_state=0, device=device)
        for device in ("cpu", None)
    ]
    for model in models:
        model.fit(X, y).fit(X, y)
    same_fit(*models)
    assert clone(models[0]).device == "cpu"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(models[0])).coef_, models[0].coef_)


def test_a_memory_map_goes_to_the_device(outbreak, tmp_path):
    X, y = outbreak
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", X.dtype, X.shape)
    mapped[:] = X
    mapped.flush()
    found = SHTAUCClassifier(k=5, random_state=0, device="cpu").fit(
        np.load(tmp_path / "X.npy", mmap_mode="r"), y
    )
    same_fit(found, SHTAUCClassifier(k=5, random_state=0).fit(X, y))


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
    with pytest.raises(TypeError, match="needs a dense X"):
        SHTAUCClassifier(device="cpu").fit(sp.csr_array(outbreak.X), y)
    with pytest.raises(ValueError, match="not a device torch knows"):
        SHTAUCClassifier(device="abacus").fit(X, y)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="finds no GPU"):
            SHTAUCClassifier(device="cuda").fit(X, y)
