import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import sparseauc
from sparseauc import Limits
from sparseauc.datasets import make_outbreak
from sparseauc_app.model_files import (
    CARD,
    FORMAT,
    ModelFileError,
    ModelVersionWarning,
    load_model,
    read_card,
    save_model,
)

X, y = make_outbreak(n=200, d=12, k=3, mu=1.0, r=0.3, random_state=0)


@pytest.fixture(scope="module")
def model():
    return sparseauc.SparseAUCClassifier(k=3).fit(X, y)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    """The bytes of a sound model file."""
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save_model(path, model, summary={"rows": 200, "note": "größer"}, target="ill")
    return path.read_bytes()


@pytest.fixture
def path(content, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    return path


def rewritten(content, **members):
    """The archive with members replaced by what a function makes of them, or left out by None."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            change = members.get(name.removesuffix(".json"), lambda data: data)
            data = change(old.read(name))
            if data is not None:
                new.writestr(name, data)
    return buffer.getvalue()


def changed_card(content, **changes):
    def change(data):
        head = json.loads(data)
        for key, value in changes.items():
            (head if key in head else head["card"])[key] = value
        return json.dumps(head)

    return rewritten(content, sparseauc=change)


# -------------------------------------------------------------------------------------------- sound


@pytest.mark.parametrize(
    "make",
    [
        lambda: sparseauc.SparseAUCClassifier(k=3),
        lambda: sparseauc.SparseAUCClassifier(k=3, limits=Limits(always_include=[1])),
        lambda: sparseauc.SparseAUCClassifierCV(ks=range(1, 4), alphas=np.array([1.0, 10.0])),
        lambda: sparseauc.SparseAUCClassifierCV(ks=[2], cv=StratifiedGroupKFold(3)),
        lambda: sparseauc.SHTAUCClassifier(k=3, random_state=0),
        lambda: sparseauc.MeanDifferenceClassifier(k=3),
        lambda: make_pipeline(SimpleImputer(), sparseauc.SparseAUCClassifier(k=3)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_classifier_comes_back_the_same(make, dtype, tmp_path):
    rows, model = X.astype(dtype), make()
    grouped = isinstance(getattr(model, "cv", None), StratifiedGroupKFold)
    model.fit(rows, y, **({"groups": np.arange(y.size) // 2} if grouped else {}))
    card = save_model(tmp_path / "model.skops", model)
    loaded = load_model(tmp_path / "model.skops")
    assert type(loaded.estimator) is type(model)
    np.testing.assert_array_equal(
        loaded.estimator.decision_function(rows), model.decision_function(rows)
    )
    assert loaded.card == card == read_card(tmp_path / "model.skops")
    chosen = [int(term.column) for term in card.terms]
    # The card scores as the estimator does, up to single precision where that is used.
    tolerance = 1e-12 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(
        card.scores(rows[:, chosen].astype(np.float64)),
        model.decision_function(rows),
        rtol=tolerance,
        atol=tolerance,
    )


def test_every_classifier_of_the_package_is_tried_above():
    names = {name for name in sparseauc.__all__ if "Classifier" in name}
    assert names == {
        "MeanDifferenceClassifier", "SHTAUCClassifier",
        "SparseAUCClassifier", "SparseAUCClassifierCV",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "old"),
    [
        (sparseauc.MeanDifferenceClassifier, "sparseauc.estimators._mean_difference"),
    ],
)
def test_files_of_earlier_versions_name_other_modules(make, old, tmp_path):
    model = make().fit(X, y)
    save_model(tmp_path / "model.skops", model)
    earlier = rewritten(
        (tmp_path / "model.skops").read_bytes(),
        schema=lambda data: json.dumps(_renamed(json.loads(data), make.__name__, old)),
    )
    (tmp_path / "earlier.skops").write_bytes(earlier)
    loaded = load_model(tmp_path / "earlier.skops").estimator
    assert type(loaded) is make
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def _renamed(node, name, module):
    """The schema with the modules that earlier versions had."""
    if isinstance(node, list):
        return [_renamed(item, name, module) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _renamed(value, name, module) for key, value in node.items()}
    if node.get("__class__") == name:
        node["__module__"] = module
    return node


def test_names_classes_summary_and_version_are_inside(path):
    card = read_card(path)
    assert card.columns == tuple(str(j) for j in range(12))
    assert (card.negative, card.positive, card.target) == ("-1", "1", "ill")
    assert card.summary == {"rows": 200, "note": "größer"}
    assert card.version == sparseauc.__version__


def test_names_of_a_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"col {j}" for j in range(12)])
    model = sparseauc.SparseAUCClassifier(k=2).fit(frame, np.where(y > 0, "ill", "well"))
    card = save_model(tmp_path / "m.skops", model)
    assert {term.column for term in card.terms} == set(model.get_feature_names_out())
    assert (card.negative, card.positive) == ("ill", "well")
    assert list(load_model(tmp_path / "m.skops").estimator.feature_names_in_) == list(frame)


def test_fills_are_those_of_the_imputer(tmp_path):
    gaps = X.copy()
    gaps[::7, :] = np.nan
    model = make_pipeline(SimpleImputer(strategy="median"), sparseauc.SparseAUCClassifier(k=3))
    card = save_model(tmp_path / "m.skops", model.fit(gaps, y))
    for term in card.terms:
        assert term.fill == np.nanmedian(gaps[:, int(term.column)])
    values = gaps[:, [int(term.column) for term in card.terms]]
    np.testing.assert_allclose(card.scores(values), model.decision_function(gaps), rtol=1e-12)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [SimpleImputer(strategy="median"), StandardScaler()],
        [StandardScaler(), SimpleImputer()],
        [SimpleImputer(), StandardScaler(), SimpleImputer(strategy="constant", fill_value=9.0)],
    ],
)
def test_scalers_are_folded_into_the_card(steps, tmp_path):
    rows = 1e3 + 7 * X
    gaps = rows.copy()
    if any(isinstance(step, SimpleImputer) for step in steps):
        gaps[::5] = np.nan
    model = make_pipeline(*steps, sparseauc.SparseAUCClassifier(k=3)).fit(gaps, y)
    save_model(tmp_path / "m.skops", model)
    loaded = load_model(tmp_path / "m.skops")
    expected = model.decision_function(gaps)
    np.testing.assert_allclose(loaded.decision_function(gaps), expected, rtol=1e-9, atol=1e-9)
    assert loaded.predict(gaps).tolist() == model.predict(gaps).tolist()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(MinMaxScaler(), sparseauc.SparseAUCClassifier(k=3)),
    ],
)
def test_other_models_are_not_saved(model, tmp_path):
    with pytest.raises(TypeError, match=r"expected a sparseauc model"):
        save_model(tmp_path / "m.skops", model.fit(X, y))
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_could_not_be_loaded_again_is_not_saved(tmp_path):
    class Strange:
        pass

    model = sparseauc.SparseAUCClassifier(k=3).fit(X, y)
    model.extra_ = LogisticRegression()
    with pytest.raises(TypeError, match="LogisticRegression"):
        save_model(tmp_path / "m.skops", model)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ refused


def refused(path, says):
    for load in (read_card, load_model):
        with pytest.raises(ModelFileError, match=says):
            load(path)


class Harmful:
    """Would leave a trace if a pickle of it were loaded."""

    loaded = False

    def __reduce__(self):
        return exec, ("import sys; sys.modules['harm'] = True",)


def test_a_renamed_pickle(tmp_path):
    import sys

    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Harmful()))
    refused(path, "Pickles are never loaded")
    assert "harm" not in sys.modules


def test_a_foreign_type(tmp_path, content, model):
    """An estimator that holds something else, in a file that is ours in all other ways."""
    foreign = sparseauc.SparseAUCClassifier(k=3).fit(X, y)
    foreign.extra_ = RandomForestClassifier()
    buffer = io.BytesIO(skops.io.dumps(foreign))
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "a") as new:
        new.writestr(CARD, old.read(CARD))
    path = tmp_path / "model.skops"
    path.write_bytes(buffer.getvalue())
    refused(path, r"RandomForestClassifier, which no sparseauc model contains")


def test_a_type_that_is_not_even_known(path, content):
    path.write_bytes(rewritten(content, schema=lambda data: data.replace(b"ndarray", b"Popen")))
    refused(path, r"object of type numpy\.Popen")


def test_another_estimator_of_trusted_types_only(path, content):
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        card = old.read(CARD)
    buffer = io.BytesIO(skops.io.dumps(SimpleImputer().fit(X)))
    with zipfile.ZipFile(buffer, "a") as new:
        new.writestr(CARD, card)
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match="its estimator cannot be read"):
        load_model(path)


def test_a_plain_skops_file_and_a_plain_archive(tmp_path, model):
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    refused(path, "not a sparseauc model")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(path, "not a sparseauc model")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(path, content, share):
    path.write_bytes(content[: int(share * len(content))])
    refused(path, "truncated")


def test_an_archive_that_would_fill_the_memory(path, content, monkeypatch):
    monkeypatch.setattr("sparseauc_app.model_files._LARGEST", 1000)
    refused(path, "more than 1000 bytes")


def test_absent_file_and_folder(tmp_path):
    refused(tmp_path / "absent.skops", "no such file")
    refused(tmp_path, "directory")


@pytest.mark.parametrize(
    "changes",
    [
        {"intercept": 0.5},
        {"positive": "other"},
        {"columns": ["x"]},
        {"summary": {"auc": 1.0}},
        {"terms": []},
    ],
)
def test_a_changed_card(path, content, changes):
    path.write_bytes(changed_card(content, **changes))
    refused(path, "was changed after it was written")


@pytest.mark.parametrize("card", [None, [], "text", {"terms": 3}, {"terms": [{"column": 1}]}])
def test_a_card_of_the_wrong_shape(path, content, card):
    path.write_bytes(changed_card(content, card=card))
    refused(path, "its score card cannot be read")


def test_estimator_and_card_that_disagree(path, content, tmp_path):
    other = sparseauc.SparseAUCClassifier(k=3, alpha=5.0).fit(X, y)
    buffer = io.BytesIO(skops.io.dumps(other))
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "a") as new:
        new.writestr(CARD, old.read(CARD))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match="its estimator and its card disagree"):
        load_model(path)


def test_a_later_format_is_refused_naming_the_version(path, content):
    path.write_bytes(changed_card(content, format=FORMAT + 1, version="9.1"))
    refused(path, r"written by sparseauc 9\.1 in a later format")


@pytest.mark.parametrize("version", ["9.0.0", "0.0.1"])
def test_another_version_is_said(path, monkeypatch, version):
    monkeypatch.setattr(sparseauc, "__version__", version)
    with pytest.warns(ModelVersionWarning, match=rf"this is {version}"):
        read_card(path)


@settings(max_examples=150)
@given(
    places=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)), max_size=5
    ),
    end=st.floats(0, 1),
)
def test_damage_is_refused_or_harmless(content, model, tmp_path_factory, places, end):
    damaged = bytearray(content[: int(end * len(content))] if end < 0.7 else content)
    for place, new in places:
        start = int(place * len(damaged))
        damaged[start : start + len(new)] = new
    path = tmp_path_factory.mktemp("damaged") / "model.skops"
    path.write_bytes(bytes(damaged))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loaded = load_model(path)
        except ModelFileError:
            return
    np.testing.assert_array_equal(loaded.estimator.coef_, model.coef_)
