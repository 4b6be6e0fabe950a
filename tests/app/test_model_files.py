import json
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparseauc
from sparseauc import Limits
from sparseauc.datasets import make_outbreak
from sparseauc_app import load_model, save_model
from sparseauc_app.card_making import make_card
from sparseauc_app.model_files import FORMAT, ModelFileError

X, y = make_outbreak(n=200, d=12, k=3, mu=1.0, r=0.3, random_state=0)


@pytest.fixture(scope="module")
def model():
    return sparseauc.SparseAUCClassifier(k=3).fit(X, y)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    """The bytes of a sound model file."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    save_model(path, model, summary={"rows": 200, "note": "größer"}, target="ill")
    return path.read_bytes()


@pytest.fixture
def path(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    return path


# -------------------------------------------------------------------------------- sound


@pytest.mark.parametrize(
    "make",
    [
        lambda: sparseauc.SparseAUCClassifier(k=3),
        lambda: sparseauc.SparseAUCClassifier(k=3, limits=Limits(always_include=[1])),
        lambda: sparseauc.SparseAUCClassifierCV(
            ks=range(1, 4), alphas=np.array([1.0, 10.0])
        ),
        lambda: sparseauc.SparseAUCClassifierCV(
            ks=[2], cv=StratifiedGroupKFold(3), curves=False
        ),
        lambda: sparseauc.SHTAUCClassifier(k=3, random_state=0),
        lambda: sparseauc.MeanDifferenceClassifier(k=3),
        lambda: sparseauc.SparseAUCClassifier(k=3, curves=True),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_classifier_scores_as_before(make, dtype, tmp_path):
    rows, model = X.astype(dtype), make()
    grouped = isinstance(getattr(model, "cv", None), StratifiedGroupKFold)
    model.fit(rows, y, **({"groups": np.arange(y.size) // 2} if grouped else {}))
    card = save_model(tmp_path / "model.json", model)
    loaded = load_model(tmp_path / "model.json")
    assert loaded.as_dict() == card.as_dict()
    # Up to single precision where that is used.
    tolerance = 1e-12 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(
        loaded.decision_function(rows), model.decision_function(rows),
        rtol=tolerance, atol=tolerance,
    )  # fmt: skip
    assert loaded.classes_.tolist() == model.classes_.tolist()
    if dtype is np.float64:
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(
            loaded.predict_proba(rows), model.predict_proba(rows), atol=tolerance
        )
    else:
        assert not hasattr(loaded, "predict_proba")


def test_every_classifier_of_the_package_is_tried_above():
    assert {name for name in sparseauc.__all__ if "Classifier" in name} == {
        "MeanDifferenceClassifier", "SHTAUCClassifier",
        "SparseAUCClassifier", "SparseAUCClassifierCV",
    }  # fmt: skip


def test_names_classes_summary_and_version_are_inside(path):
    card = load_model(path)
    assert card.columns == tuple(f"x{j}" for j in range(12))
    assert (card.negative, card.positive, card.target) == ("-1", "1", "ill")
    assert card.summary == {"rows": 200, "note": "größer"}
    assert card.version == sparseauc.__version__
    assert repr(card).startswith("ScoreCard for ill = 1: 3 columns ('")


def test_the_file_says_how_rows_are_scored(content):
    said = json.loads(content)["how"]
    for one in (
        "sum over terms of the effect",
        "slope * score + intercept",
        "required",
        "levels",
    ):
        assert one in said


def test_names_of_a_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"col {j}" for j in range(12)])
    model = sparseauc.SparseAUCClassifier(k=2).fit(
        frame, np.where(y > 0, "ill", "well")
    )
    card = save_model(tmp_path / "m.json", model)
    assert {term.column for term in card.terms} == set(model.get_feature_names_out())
    assert (card.negative, card.positive) == ("ill", "well")
    found = load_model(tmp_path / "m.json").predict(frame[frame.columns[::-1]])
    np.testing.assert_array_equal(found, model.predict(frame))


@pytest.mark.parametrize("curves", [False, True])
def test_missing_values_count_as_medians(curves, tmp_path):
    gaps = X.copy()
    gaps[::7, :] = np.nan
    model = sparseauc.SparseAUCClassifier(k=3, curves=curves).fit(gaps, y)
    save_model(tmp_path / "m.json", model)
    card = load_model(tmp_path / "m.json")
    places = [int(term.column[1:]) for term in card.terms]
    medians = np.nanquantile(gaps, 0.5, axis=0, method="inverted_cdf")
    assert [term.fill for term in card.terms] == medians[places].tolist()
    np.testing.assert_allclose(
        card.scores(gaps[:, places]),
        model.decision_function(gaps),
        rtol=1e-12,
        atol=1e-12,
    )
    filled = np.where(np.isnan(gaps), medians, gaps)
    np.testing.assert_array_equal(
        card.scores(gaps[:, places]), card.scores(filled[:, places])
    )


def test_rows_that_lack_what_is_required_have_no_score():
    model = sparseauc.SparseAUCClassifier(k=3).fit(X, y)
    card = make_card(model, required=True)
    assert [term.fill for term in card.terms] == [None] * 3
    gaps = X.copy()
    unused, used = np.argmin(model.coef_[0] != 0), int(card.terms[1].column[1:])
    gaps[3, unused] = np.nan
    gaps[5, used] = np.nan
    assert np.flatnonzero(np.isnan(card.decision_function(gaps))).tolist() == [5]


def test_columns_of_every_kind_are_saved(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({
        "bent": rng.normal(size=n), "ward": rng.choice(["a", "b", "c"], n),
        "flag": rng.random(n) < 0.5, "line": rng.normal(size=n),
    })  # fmt: skip
    score = (
        frame["bent"] ** 2 + 2 * (frame["ward"] == "b") + frame["flag"] + frame["line"]
    )
    outcome = score + rng.normal(size=n) > 2
    frame.loc[::9, "ward"] = None
    frame.loc[::11, "bent"] = np.nan
    model = sparseauc.SparseAUCClassifier(k=4, curves=["bent"]).fit(frame, outcome)
    card = save_model(tmp_path / "m.json", model)
    loaded = load_model(tmp_path / "m.json")
    assert loaded == card
    assert [term.encoding.kind for term in card.terms] == [
        "curve",
        "levels",
        "line",
        "line",
    ]
    frame.loc[5, "ward"] = "never seen"
    with pytest.warns(
        UserWarning, match="'ward' has levels not seen in training in 1 of 400"
    ):
        found = loaded.decision_function(frame)
    expected = model.decision_function(frame)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), sparseauc.SparseAUCClassifier(k=3)),
    ],
)
def test_other_models_are_not_saved(model, tmp_path):
    said = f"expected a fitted model of sparseauc, got {type(model).__name__}"
    with pytest.raises(
        TypeError, match=f"{said}.*in place of a pipeline, fit the model to"
    ):
        save_model(tmp_path / "m.json", model.fit(X, y))
    assert list(tmp_path.iterdir()) == []


def test_estimators_are_pickled_by_whoever_wants_that(model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )


# ------------------------------------------------------------------------------ refused


class Harmful:
    """Would leave a trace if a pickle of it were loaded."""

    def __reduce__(self):
        return exec, ("import sys; sys.modules['harm'] = True",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pickle.dumps(Harmful()), "it is not JSON"),
        (b"", "it is not JSON"),
        (b"PK\x03\x04 an archive", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b'{"a": NaN}', "it is not JSON"),
        (b"[1, 2]", "not a sparseauc model"),
        (b'{"terms": []}', "not a sparseauc model"),
    ],
)
def test_other_files(tmp_path, content, says):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=says) as error:
        load_model(path)
    assert "\n" not in str(error.value)
    assert "harm" not in sys.modules


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(path, content, share):
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="or is damaged"):
        load_model(path)


def test_a_file_that_would_fill_the_memory(path, monkeypatch):
    monkeypatch.setattr("sparseauc_app.model_files._LARGEST", 1000)
    with pytest.raises(ModelFileError, match="too large"):
        load_model(path)


def test_absent_file_and_folder(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        load_model(tmp_path / "absent.json")
    with pytest.raises(ModelFileError, match="directory"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"terms": 3}, "not iterable"),
        ({"terms": [{"column": 1}]}, "is damaged"),
        ({"intercept": "0"}, "finite number"),
        ({"intercept": 1e400}, "finite number"),
        ({"positive": None}, "got None"),
        ({"positive": "a\ud800"}, "surrogates"),
        ({"labels": [1, 2, 3]}, "3 labels"),
        ({"risk_map": {"slope": 1.0}}, "it lacks 'intercept'"),
    ],
)
def test_a_card_of_the_wrong_shape(path, content, changes, says):
    path.write_text(
        json.dumps(json.loads(content) | changes).replace("Infinity", "1e400")
    )
    with pytest.raises(ModelFileError, match=says):
        load_model(path)


def test_another_format_is_refused_naming_the_version(path, content):
    changed = json.loads(content) | {"sparseauc": FORMAT + 1, "version": "9.1"}
    path.write_text(json.dumps(changed))
    with pytest.raises(
        ModelFileError, match=r"written by sparseauc 9\.1 in another format"
    ):
        load_model(path)


@settings(max_examples=150)
@given(
    places=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)),
        max_size=5,
    ),
    end=st.floats(0, 1),
)
def test_damage_is_refused_or_read(content, tmp_path_factory, places, end):
    damaged = bytearray(content[: int(end * len(content))] if end < 0.7 else content)
    for place, new in places:
        start = int(place * len(damaged))
        damaged[start : start + len(new)] = new
    path = tmp_path_factory.mktemp("damaged") / "model.json"
    path.write_bytes(bytes(damaged))
    try:
        loaded = load_model(path)
    except ModelFileError:
        return
    for term in loaded.terms:
        assert np.isfinite(term.encoding.coef).all()


@pytest.mark.parametrize(
    "changes",
    [
        {"coef": ["\x1b[2J", 0.0]},
        {"coef": [1.0]},
        {"coef": [1.0, None]},
        {"knots": [0.0, 1.0]},
        {"low": "0"},
        {"tilt": None},
        {"kind": "levels"},
        {"kind": ["curve"]},
        {"kind": "levels", "levels": ["a"], "taken_as": [0, 7], "coef": [1.0]},
        {"kind": "levels", "levels": ["a", "b"], "taken_as": [0, 1], "coef": [1.0]},
        {
            "kind": "levels",
            "levels": ["a", "b"],
            "against": -1,
            "taken_as": [0, 1, 0],
            "coef": [1],
        },
        {
            "kind": "levels",
            "levels": ["a", "b"],
            "against": 2,
            "taken_as": [0, 1, 0],
            "coef": [1],
        },
        {"kind": "steps", "cuts": [2.0, 1.0], "coef": [0.0, 1.0, 2.0]},
    ],
)
def test_an_effect_that_does_not_fit_together(tmp_path, changes):
    model = sparseauc.SparseAUCClassifier(k=1, curves=True).fit(X, y)
    save_model(tmp_path / "m.json", model)
    content = json.loads((tmp_path / "m.json").read_text())
    (term,) = content["terms"]
    assert term["encoding"]["kind"] == "curve"
    term["encoding"] = (term["encoding"] if "kind" not in changes else {}) | changes
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.json")
