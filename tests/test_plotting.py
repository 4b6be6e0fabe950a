import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sparseauc import (
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    sparse_auc_path,
)
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc_confidence_interval
from sparseauc.plotting import (
    AUCPathDisplay,
    CoefficientPathDisplay,
    ConvergenceDisplay,
    ROCBandDisplay,
    ScoreDistributionDisplay,
    StabilityPathDisplay,
)
from sparseauc.plotting.axes import PALE, _spread
from sparseauc.selection.stability import stability_selection

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

HISTORY = {"epoch": [1, 2, 3], "objective": [0.9, 0.5, 0.4], "auc": [0.6, 0.7, 0.8]}
VALIDATED = {**HISTORY, "validation_auc": [0.55, 0.65, 0.6]}


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


def test_draws_what_the_fit_recorded(data):
    model = SHTAUCClassifier(k=3, max_epochs=7, random_state=0).fit(*data)
    display = ConvergenceDisplay.from_estimator(model)
    assert set(display.lines_) == {"objective", "auc"}
    for name, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), model.history_["epoch"])
        np.testing.assert_array_equal(line.get_ydata(), model.history_[name])
    top, bottom = display.ax_
    assert display.lines_["objective"].axes is top
    assert display.lines_["auc"].axes is bottom
    assert display.figure_ is top.figure
    assert (top.get_ylabel(), bottom.get_ylabel(), bottom.get_xlabel()) == ("F", "AUC", "epoch")
    assert legend_texts(top) == legend_texts(bottom) == []


def test_held_out_rows_are_dashed_with_the_best_epoch_marked(data):
    model = SHTAUCClassifier(k=3, early_stopping=True, random_state=0).fit(*data)
    display = ConvergenceDisplay.from_estimator(model)
    line = display.lines_["validation_auc"]
    np.testing.assert_array_equal(line.get_ydata(), model.history_["validation_auc"])
    assert line.get_linestyle() == "--"
    assert line.get_markevery() == [int(np.argmax(model.history_["validation_auc"]))]
    assert line.get_color() == display.lines_["auc"].get_color()
    assert legend_texts(display.ax_[1]) == ["training", "held out"]


def test_pipeline_is_drawn_by_its_last_step(data):
    model = make_pipeline(StandardScaler(), SHTAUCClassifier(k=3, max_epochs=4, random_state=0))
    display = ConvergenceDisplay.from_estimator(model.fit(*data))
    assert display.lines_["auc"].get_xdata().size == model[-1].n_iter_


def test_runs_are_drawn_over_one_another_in_their_own_colours():
    first = ConvergenceDisplay.from_history(HISTORY, name="k = 5")
    second = ConvergenceDisplay.from_history(VALIDATED, name="k = 10", ax=first.ax_)
    assert list(second.ax_) == list(first.ax_)
    assert legend_texts(first.ax_[0]) == ["k = 5", "k = 10"]
    assert legend_texts(first.ax_[1]) == ["k = 5, training", "k = 10, training", "k = 10, held out"]
    colours = [display.lines_["objective"].get_color() for display in (first, second)]
    assert len(set(colours)) == 2
    assert [display.lines_["auc"].get_color() for display in (first, second)] == colours


def test_one_axes_is_divided_in_place():
    figure, (left, right) = plt.subplots(1, 2)
    display = ConvergenceDisplay.from_history(HISTORY, ax=right)
    assert display.figure_ is figure
    assert len(figure.axes) == 4
    figure.canvas.draw()
    for panel in display.ax_:
        assert panel.get_position().x0 > left.get_position().x1


def test_line_style_is_passed_on():
    display = ConvergenceDisplay.from_history(VALIDATED, color="red", linewidth=3, linestyle=":")
    for line in display.lines_.values():
        assert (line.get_color(), line.get_linewidth(), line.get_linestyle()) == ("red", 3, ":")


def test_plot_again_elsewhere():
    display = ConvergenceDisplay.from_history(HISTORY)
    before = display.figure_
    assert display.plot(name="again") is display
    assert display.figure_ is not before
    assert legend_texts(display.ax_[0]) == ["again"]


def test_not_fitted():
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(SHTAUCClassifier())


def test_estimator_without_epochs(data):
    with pytest.raises(ValueError, match="StandardScaler has no history_"):
        ConvergenceDisplay.from_estimator(StandardScaler().fit(data.X))


def test_nothing_recorded(data):
    model = SHTAUCClassifier(k=3, record_history=False, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="record_history=True"):
        ConvergenceDisplay.from_estimator(model)


def test_incomplete_history():
    with pytest.raises(ValueError, match="no 'auc'"):
        ConvergenceDisplay.from_history({"epoch": [1], "objective": [1.0]})


def test_three_axes_are_refused():
    _, axes = plt.subplots(3, 1)
    with pytest.raises(ValueError, match="a pair"):
        ConvergenceDisplay.from_history(HISTORY, ax=axes)


def test_axes_outside_a_grid_are_refused():
    ax = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="pair of axes"):
        ConvergenceDisplay.from_history(HISTORY, ax=ax)


# ---------------------------------------------------------------------------------- AUC against k


@pytest.fixture(scope="module")
def searched(data):
    return SparseAUCClassifierCV(ks=[1, 2, 3, 5, 8], alphas=[0.1, 10.0], cv=4, rule="1se").fit(
        *data
    )


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
    assert display.k_best_ == [1, 2, 3, 5, 8][np.argmax(mean)]
    assert display.points_["best"].get_ydata() == [mean.max()]
    assert display.points_["chosen"].get_xdata() == [searched.k_]
    assert display.points_["chosen"].get_ydata() == [searched.best_score_]
    assert legend_texts(display.ax_) == [
        "mean ± one standard error",
        f"best: k = {display.k_best_}",
        f"chosen: k = {searched.k_}",
    ]
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "number of columns k"


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_auc_path_marks_the_choice_of_the_fit(rule):
    X, y = make_outbreak(n=100, d=10, k=2, mu=1.0, r=0.3, random_state=0)
    model = SparseAUCClassifierCV(ks=[1, 2, 4, 8], alphas=[0.1, 10.0], rule=rule).fit(X, y)
    display = AUCPathDisplay.from_estimator(model)
    mark = display.points_["chosen"]
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([model.k_], [model.best_score_])


def test_auc_path_of_a_grid_search_and_of_two_runs(data, searched):
    search = GridSearchCV(SparseAUCClassifier(), {"k": [1, 2, 3]}, scoring="roc_auc", cv=3)
    first = AUCPathDisplay.from_cv_results(search.fit(*data).cv_results_, name="grid")
    np.testing.assert_allclose(first.line_.get_ydata(), search.cv_results_["mean_test_score"])
    pipeline = make_pipeline(StandardScaler(), searched)
    second = AUCPathDisplay.from_estimator(pipeline, ax=first.ax_, name="own", color="red")
    assert second.ax_ is first.ax_
    assert second.line_.get_color() == "red"
    assert len(legend_texts(first.ax_)) == 5
    assert legend_texts(first.ax_)[0].startswith("grid, ")


def test_auc_path_needs_folds(data):
    with pytest.raises(ValueError, match="SparseAUCClassifier was not cross-validated"):
        AUCPathDisplay.from_estimator(SparseAUCClassifier(k=2).fit(*data))
    with pytest.raises(NotFittedError):
        AUCPathDisplay.from_estimator(SparseAUCClassifierCV())
    with pytest.raises(ValueError, match="needs 'param_k'"):
        AUCPathDisplay.from_cv_results({"mean_test_score": [0.5]})


# ---------------------------------------------------------------------------------- coefficients


def test_coefficients_where_columns_are_chosen(data):
    path = sparse_auc_path(*data, ks=range(1, 9))
    display = CoefficientPathDisplay.from_path(path, n_labels=3)
    used = sorted({j for k in path.ks for j in path.support(k, 1.0).tolist()})
    assert set(display.lines_) == {f"x{j}" for j in used}
    for j in used:
        expected = [path.coef(k, 1.0)[j] * path.scale[j] or np.nan for k in path.ks]
        np.testing.assert_allclose(display.lines_[f"x{j}"].get_ydata(), expected)
    last = path.coef(8, 1.0) * path.scale
    named = [text.get_text() for text in display.ax_.texts]
    assert sorted(named) == sorted(f"x{j}" for j in np.argsort(-np.abs(last))[:3])
    assert display.line_ is None


def test_coefficients_of_a_search(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(20)])
    model = SparseAUCClassifierCV(ks=range(1, 7), alphas=[1.0], cv=3).fit(frame, y)
    display = CoefficientPathDisplay.from_estimator(model, n_labels=4)
    assert set(model.get_feature_names_out()) <= set(display.lines_)
    assert list(display.line_.get_xdata()) == [model.k_, model.k_]
    texts = [text.get_text() for text in display.ax_.texts]
    assert f"k = {model.k_}" in texts
    weights = np.abs(model.coef_[0] * model.scale_)
    top = {f"gene{j}" for j in np.argsort(-weights)[: min(4, model.k_)]}
    assert top == set(texts) - {f"k = {model.k_}"}
    # Named columns in colour, the others grey.
    for name, line in display.lines_.items():
        assert (line.get_color() == PALE) == (name not in top)


def test_coefficients_need_a_path_and_one_ridge(data):
    with pytest.raises(ValueError, match="keeps no path: pass sparse_auc_path"):
        CoefficientPathDisplay.from_estimator(SparseAUCClassifier(k=2).fit(*data))
    path = sparse_auc_path(*data, ks=[1, 2], alphas=(0.1, 1.0))
    with pytest.raises(ValueError, match="several ridges"):
        CoefficientPathDisplay.from_path(path)
    assert CoefficientPathDisplay.from_path(path, alpha=0.1).lines_
    with pytest.raises(ValueError, match="there are 2 names, and a column"):
        CoefficientPathDisplay.from_path(path, alpha=0.1, names=["a", "b"])


def test_names_are_spread_apart():
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = np.sort(rng.random(rng.integers(1, 15)) ** 3).tolist()
        places = np.array(_spread(wanted, 0.05, 0.0, 1.0))
        assert np.all(np.diff(places) >= 0.05 - 1e-12)
        assert places.min() >= 0.0
        assert places.max() <= 1.0
    assert _spread([0.2, 0.5, 0.9], 0.05, 0.0, 1.0) == [0.2, 0.5, 0.9]


# ------------------------------------------------------------------------------------ stability


def test_stability_names_the_stable_columns():
    ks = [1, 2, 3]
    frequencies = np.array([[0.5, 0.1, 0.0, 0.4], [0.8, 0.3, 0.1, 0.6], [0.9, 0.6, 0.2, 0.55]])
    names = ["a", "b", "c", "d"]
    display = StabilityPathDisplay(ks=ks, frequencies=frequencies, names=names).plot()
    for name, column in zip("abcd", frequencies.T, strict=True):
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), column)
    assert sorted(text.get_text() for text in display.ax_.texts) == ["a", "b", "d"]
    assert list(display.line_.get_ydata()) == [0.6, 0.6]
    assert legend_texts(display.ax_) == ["threshold 0.6: 3 columns reach it"]
    few = StabilityPathDisplay(ks=ks, frequencies=frequencies, names=names).plot(n_labels=1)
    assert [text.get_text() for text in few.ax_.texts] == ["a"]
    with pytest.raises(ValueError, match=r"a row for each of the 3 ks, got shape \(4, 3\)"):
        StabilityPathDisplay(ks=ks, frequencies=frequencies.T, names=names).plot()


def test_stability_of_a_result(data):
    result = stability_selection(*data, k=4, n_pairs=5, random_state=0)
    display = StabilityPathDisplay.from_result(result, names=[f"g{j}" for j in range(20)])
    assert set(display.lines_) == {f"g{j}" for j in result.columns}


# ------------------------------------------------------------------------------------------- ROC


@pytest.mark.parametrize("band", ["pointwise", "simultaneous"])
def test_roc_with_its_band(data, band):
    X, y = data
    model = SparseAUCClassifier(k=3).fit(X[:150], y[:150])
    scores = model.decision_function(X[150:])
    display = ROCBandDisplay.from_estimator(
        model, X[150:], np.where(y[150:] > 0, "sick", "healthy"), band=band, name="test"
    )
    fpr, tpr, _ = roc_curve(y[150:], scores)
    np.testing.assert_array_equal(display.line_.get_xdata(), fpr)
    np.testing.assert_array_equal(display.line_.get_ydata(), tpr)
    limits = auc_confidence_interval(y[150:], scores)
    assert display.auc == pytest.approx(roc_auc_score(y[150:], scores))
    assert display.interval == (limits.low, limits.high)
    assert legend_texts(display.ax_) == [
        f"test: AUC {limits.auc:.2f} ({limits.low:.2f}–{limits.high:.2f})",
        f"95 %: CI of the AUC, {band} band",
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


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"band": "wide"}, "band must be 'pointwise' or 'simultaneous'"),
        ({"confidence": 95}, "confidence must lie strictly between 0 and 1"),
    ],
)
def test_roc_arguments_are_checked(arguments, match):
    with pytest.raises(ValueError, match=match):
        ROCBandDisplay.from_predictions([0, 1], [0.0, 1.0], **arguments)


def test_roc_scores_are_checked():
    with pytest.raises(ValueError, match="one class only, 1"):
        ROCBandDisplay.from_predictions([1, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="y_score is nan in row 1"):
        ROCBandDisplay.from_predictions([0, 1], [0.0, np.nan])


# ---------------------------------------------------------------------------------------- scores


def test_scores_by_class_as_shares_of_the_class(data):
    X, y = data
    model = SparseAUCClassifier(k=3).fit(X, y)
    display = ScoreDistributionDisplay.from_estimator(model, X, np.where(y > 0, "sick", "healthy"))
    scores = model.decision_function(X)
    assert list(display.patches_) == ["healthy", "sick"]
    assert list(display.line_.get_xdata()) == [0.0, 0.0]
    healthy, sick = (100 * np.mean(scores[mask] > 0) for mask in (y < 0, y > 0))
    assert legend_texts(display.ax_) == [
        f"healthy (n = 240, {healthy:.0f} % above)",
        f"sick (n = 60, {sick:.0f} % above)",
        "threshold 0",
    ]
    for patch in display.patches_.values():
        # Steps of equal width, so that heights are shares: they add up to one.
        x, height = patch.get_xy().T
        top = height[: len(height) // 2 + 1][1::2]
        assert top.sum() == pytest.approx(1.0)
        assert np.ptp(np.diff(np.unique(x))) < 1e-9


def test_scores_without_a_threshold_and_with_bins():
    display = ScoreDistributionDisplay.from_predictions(
        [0, 0, 1, 1], [0.0, 1.0, 1.0, 3.0], bins=[0, 1, 2, 3], linewidth=3
    )
    assert display.line_ is None
    assert legend_texts(display.ax_) == ["0 (n = 2)", "1 (n = 2)"]
    assert display.patches_["1"].get_linewidth() == 3
    assert display.patches_["0"].get_xy()[:, 1].max() == 0.5


def test_threshold_of_probabilities(data):
    X, y = data
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    display = ScoreDistributionDisplay.from_estimator(tree, X, y)
    assert list(display.line_.get_xdata()) == [0.5, 0.5]


# --------------------------------------------------------------------------------- all displays


def one_of_each(ax=None):
    yield AUCPathDisplay(ks=[1, 2, 3], mean=[0.6, 0.8, 0.81], error=[0.05] * 3).plot(ax=ax)
    yield CoefficientPathDisplay(ks=[1, 2], coefs=[[1, 0], [0.5, 0.2]], names=["a", "b"]).plot(
        ax=ax
    )
    yield StabilityPathDisplay(ks=[1, 2], frequencies=[[0.1], [0.9]], names=["a"]).plot(ax=ax)
    yield ROCBandDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], ax=ax)
    yield ScoreDistributionDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], ax=ax)


def test_every_display_draws_where_it_is_told():
    figure, ax = plt.subplots()
    for display in one_of_each(ax):
        assert display.ax_ is ax
        assert display.figure_ is figure
        before = display.figure_
        assert display.plot() is display
        assert display.figure_ is not before
    figure.canvas.draw()
