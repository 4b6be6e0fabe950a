import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sparseauc import (
    SparseAUCClassifier,
    SparseAUCClassifierCV,
)
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc_confidence_interval
from sparseauc.plotting import AUCPathDisplay, ROCBandDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return make_outbreak(n=300, d=20, k=3, mu=1.0, r=0.2, random_state=0)


def legend_texts(panel):
    legend = panel.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


# ---------------------------------------------------------------------------------- AUC
# against k


@pytest.fixture(scope="module")
def searched(data):
    return SparseAUCClassifierCV(
        ks=[1, 2, 3, 5, 8], alphas=[0.1, 10.0], cv=4, rule="1se"
    ).fit(*data)


def naive_path(model):
    """Mean and standard error at each k of its best ridge, from cv_results_."""
    results = model.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(model.n_splits_)])
    means, errors = [], []
    for k in np.unique(results["param_k"]):
        models = np.flatnonzero(results["param_k"] == k)
        best = models[np.argmax(scores[:, models].mean(axis=0))]
        means.append(scores[:, best].mean())
        errors.append(scores[:, best].std(ddof=1) / np.sqrt(len(scores)))
    return np.array(means), np.array(errors)


def test_auc_path_shows_mean_error_and_choices(searched):
    display = AUCPathDisplay.from_estimator(searched)
    mean, error = naive_path(searched)
    np.testing.assert_array_equal(display.line_.get_xdata(), [1, 2, 3, 5, 8])
    np.testing.assert_allclose(display.line_.get_ydata(), mean)
    heights = display.band_.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((mean + error).max())
    assert heights.min() == pytest.approx((mean - error).min())
    best = [1, 2, 3, 5, 8][np.argmax(mean)]
    assert display.points_["best"].get_ydata() == [mean.max()]
    assert display.points_["chosen"].get_xdata() == [searched.k_]
    assert display.points_["chosen"].get_ydata() == [searched.best_score_]
    assert legend_texts(display.ax_) == [
        "mean ± one standard error",
        f"best: k = {best}",
        f"chosen: k = {searched.k_}",
    ]
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "number of columns k"


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_auc_path_marks_the_choice_of_the_fit(rule):
    X, y = make_outbreak(n=100, d=10, k=2, mu=1.0, r=0.3, random_state=0)
    model = SparseAUCClassifierCV(ks=[1, 2, 4, 8], alphas=[0.1, 10.0], rule=rule).fit(
        X, y
    )
    display = AUCPathDisplay.from_estimator(model)
    mark = display.points_["chosen"]
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == (
        [model.k_],
        [model.best_score_],
    )


def test_auc_path_of_a_grid_search_and_of_two_runs(data, searched):
    search = GridSearchCV(
        SparseAUCClassifier(), {"k": [1, 2, 3]}, scoring="roc_auc", cv=3
    )
    first = AUCPathDisplay.from_estimator(search.fit(*data), name="grid")
    np.testing.assert_allclose(
        first.line_.get_ydata(), search.cv_results_["mean_test_score"]
    )
    pipeline = make_pipeline(StandardScaler(), searched)
    second = AUCPathDisplay.from_estimator(
        pipeline, ax=first.ax_, name="own", color="red"
    )
    assert second.ax_ is first.ax_
    assert second.line_.get_color() == "red"
    assert len(legend_texts(first.ax_)) == 5
    assert legend_texts(first.ax_)[0].startswith("grid, ")


def test_auc_path_needs_folds(data):
    with pytest.raises(ValueError, match="SparseAUCClassifier was not cross-validated"):
        AUCPathDisplay.from_estimator(SparseAUCClassifier(k=2).fit(*data))
    with pytest.raises(NotFittedError):
        AUCPathDisplay.from_estimator(SparseAUCClassifierCV())
    ridges = GridSearchCV(SparseAUCClassifier(), {"alpha": [1.0]}, cv=2).fit(*data)
    with pytest.raises(ValueError, match="needs 'param_k'"):
        AUCPathDisplay.from_estimator(ridges)


# ---------------------------------------------------------------------------------- ROC


def test_roc_with_its_band(data):
    X, y = data
    model = SparseAUCClassifier(k=3).fit(X[:150], y[:150])
    scores = model.decision_function(X[150:])
    display = ROCBandDisplay.from_estimator(
        model, X[150:], np.where(y[150:] > 0, "sick", "healthy"), name="test"
    )
    fpr, tpr, _ = roc_curve(y[150:], scores)
    np.testing.assert_array_equal(display.line_.get_xdata(), fpr)
    np.testing.assert_array_equal(display.line_.get_ydata(), tpr)
    limits = auc_confidence_interval(y[150:], scores)
    assert display.auc == pytest.approx(roc_auc_score(y[150:], scores))
    assert display.interval == (limits.low, limits.high)
    assert legend_texts(display.ax_) == [
        f"test: AUC {limits.auc:.2f} ({limits.low:.2f}–{limits.high:.2f})",
        "95 %: CI of the AUC, pointwise band",
    ]
    # The curve itself lies within its band.
    low = np.interp(fpr, display.band_fpr, display.band_low)
    high = np.interp(fpr, display.band_fpr, display.band_high)
    assert np.all(low <= tpr + 1e-12)
    assert np.all(tpr <= high + 0.02)  # the grid is coarser than the steps


def test_roc_of_probabilities_ties_and_a_single_positive(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    assert ROCBandDisplay.from_estimator(model, X, y).auc > 0.8
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    display = ROCBandDisplay.from_estimator(tree, X, y)
    assert np.isfinite(display.band_low).all()
    one = ROCBandDisplay.from_predictions([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.25])
    assert one.interval is None
    assert one.line_.get_label() == "AUC 0.67"


def test_roc_confidence_is_checked():
    with pytest.raises(
        ValueError, match="confidence must lie strictly between 0 and 1"
    ):
        ROCBandDisplay.from_predictions([0, 1], [0.0, 1.0], confidence=95)


def test_roc_scores_are_checked():
    with pytest.raises(ValueError, match="one class only, 1"):
        ROCBandDisplay.from_predictions([1, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="y_score is nan in row 1"):
        ROCBandDisplay.from_predictions([0, 1], [0.0, np.nan])


# --------------------------------------------------------------------------------- all
# displays


def one_of_each(ax=None):
    yield AUCPathDisplay(ks=[1, 2, 3], mean=[0.6, 0.8, 0.81], error=[0.05] * 3).plot(
        ax=ax
    )
    yield ROCBandDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], ax=ax)


def test_every_display_draws_where_it_is_told():
    figure, ax = plt.subplots()
    for display in one_of_each(ax):
        assert display.ax_ is ax
        assert display.figure_ is figure
        before = display.figure_
        assert display.plot() is display
        assert display.figure_ is not before
    figure.canvas.draw()
