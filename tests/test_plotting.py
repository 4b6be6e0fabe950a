import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import SHTAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.plotting import ConvergenceDisplay

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


def test_without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install sparseauc\[plot\]"):
        ConvergenceDisplay.from_history(HISTORY)
