"""``sparseauc demo``: SHT-AUC on the paper's outbreak data, judged on rows it has not seen."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split

from .._files import write_atomically
from ..datasets import make_outbreak
from ..estimators import SHTAUCClassifier
from ..metrics import AUCInterval, auc, auc_confidence_interval, support_f1
from ..plotting import ConvergenceDisplay
from ..projections import top_k
from ._errors import OutputError
from ._output import check_writable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.floating]

# Colour-blind-safe (Okabe and Ito), dark enough for thin lines on white.
_METHOD_COLOURS = {"SHT-AUC": "#0072B2", "mean difference": "#D55E00"}
_RUN_COLOURS = ("#56B4E9", "#009E73", "#E69F00", "#CC79A7")


@dataclass(frozen=True)
class Task:
    """What is drawn: sizes, share of positives, shift, and the numbers of columns that tell."""

    n_train: int = 1000
    n_test: int = 5000
    d: int = 1000
    r: float = 0.05
    mu: float = 0.3
    supports: tuple[int, ...] = (20, 40, 60, 80)


PAPER = Task()


@dataclass(frozen=True)
class Design:
    """How columns hang together, and what that teaches."""

    name: str
    correlation: float
    lesson: str


DESIGNS = (
    Design(
        "independent",
        0.0,
        "Independent columns hold nothing that only a joint fit could see, so the largest mean "
        "differences, which fit less noise, are hard to beat. The gap between training and test "
        "AUC is overfitting: columns are many, positives few.",
    ),
    Design(
        "AR(0.8)",
        0.8,
        "Neighbouring columns share noise. Coefficients fitted together cancel some of it; mean "
        "differences look at one column at a time and cannot. The best possible score uses more "
        "than the k* shifted columns here.",
    ),
)


@dataclass(frozen=True)
class Run:
    """One fit and how it did; scores are those of the test rows."""

    k: int
    model: SHTAUCClassifier
    seconds: float
    training_auc: float
    y_test: npt.NDArray[np.int64] = field(repr=False)
    scores: Floats = field(repr=False)
    baseline_scores: Floats = field(repr=False)
    f1: float
    bayes_auc: float

    @property
    def interval(self) -> AUCInterval:
        """Test AUC with its DeLong 95 % interval."""
        return auc_confidence_interval(self.y_test, self.scores)

    @property
    def baseline_auc(self) -> float:
        """Test AUC of the mean difference."""
        return auc(self.y_test, self.baseline_scores)


def run_demo(out: Path, seed: int, *, task: Task | None = None) -> None:
    """Fit, print a table for each design and save the plot to ``out/demo.png``.

    Parameters
    ----------
    out : Path
        Folder of the plot, made if it does not exist.
    seed : int
        Seed of the data and of the fits.
    task : Task, optional
        Sizes; the paper's by default.

    Raises
    ------
    OutputError
        If ``out`` cannot be written to; found out before anything is computed.
    """
    task = PAPER if task is None else task
    console = Console(highlight=False)
    started = time.perf_counter()
    can_plot = importlib.util.find_spec("matplotlib") is not None
    if can_plot:
        check_writable(out)

    console.print(
        f"Outbreak data: {task.n_train} training rows, {100 * task.r:g} % positive, "
        f"{task.d} columns, of which k* are shifted by {task.mu:g} in positives. Each test: "
        f"{task.n_test} fresh rows.\n"
    )
    with console.status("Loading kernels …"):
        load_kernels()
    runs = {}
    for index, design in enumerate(DESIGNS):
        with console.status(f"{design.name} columns …"):
            runs[design.name] = [
                fit_and_test(task, k, design.correlation, seeds=(seed, index, k))
                for k in task.supports
            ]
        console.print(results_table(f"Columns: {design.name}", runs[design.name]))
        console.print(f"{compared(runs[design.name])} {design.lesson}\n")

    console.print(
        "kept: columns with a coefficient. test AUC: with its DeLong interval. F1: of the columns "
        "kept. mean diff.: test AUC of the same number of columns, those of largest mean "
        "difference, weighted by it. best: AUC of the best possible score. s: seconds of the fit."
    )
    if can_plot:
        target = out / "demo.png"
        save_whole(draw(runs), target)
        console.print(f"Plot: {target} (overwritten by the next demo)", soft_wrap=True)
    else:
        console.print("No plot: it needs matplotlib, pip install 'sparseauc\\[plot]'")
    console.print(f"Done in {time.perf_counter() - started:.1f} s.")


def load_kernels() -> None:
    """Fit once to a toy, so that no fit is charged with loading or compiling its kernels."""
    toy = make_outbreak(n=40, d=4, k=2, r=0.5, random_state=0)
    SHTAUCClassifier(k=2, max_epochs=1, random_state=0).fit(*toy)


def fit_and_test(task: Task, k: int, correlation: float, seeds: tuple[int, ...]) -> Run:
    """Draw rows, fit on some of them and on nothing else, score the rest."""
    rng = np.random.default_rng(seeds)
    data = make_outbreak(
        n=task.n_train + task.n_test, d=task.d, k=k, mu=task.mu, r=task.r,
        correlation=correlation, random_state=rng,
    )  # fmt: skip
    X, X_test, y, y_test = train_test_split(
        *data, train_size=task.n_train, stratify=data.y, random_state=int(rng.integers(2**31))
    )
    # A block of 200 rows holds 10 positives; at the default of 64 it holds 3, and the noise of the
    # gradient cost 0.01 of test AUC over eight seeds. Early stopping, where 5 held-out positives
    # decide, gained 0.01 on independent columns and lost 0.05 on correlated ones.
    model = SHTAUCClassifier(k=k, batch_size=200, random_state=int(rng.integers(2**31)))
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start

    kept = int(model.get_support().sum())
    return Run(
        k=k,
        model=model,
        seconds=seconds,
        training_auc=auc(y, model.decision_function(X)),
        y_test=y_test,
        scores=model.decision_function(X_test),
        baseline_scores=X_test @ mean_difference(X, y, kept),
        f1=support_f1(model.coef_, data.support),
        bayes_auc=data.bayes_auc,
    )


def mean_difference(X: Floats, y: npt.NDArray[np.int64], k: int) -> Floats:
    """Differences of the class means, zero but for the k largest: no fit at all."""
    difference = X[y == 1].mean(axis=0) - X[y != 1].mean(axis=0)
    kept = top_k(difference, k)
    coef: Floats = np.zeros_like(difference)
    coef[kept] = difference[kept]
    return coef


def results_table(title: str, runs: list[Run]) -> Table:
    """One line a run, within the 80 characters of a plain terminal."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.pad_edge, table.collapse_padding = False, True
    for heading in (
        "k*", "kept", "F", "train\nAUC", "test AUC (95 %)", "F1", "mean\ndiff.", "best", "s",
    ):  # fmt: skip
        table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    for run in runs:
        test = run.interval
        table.add_row(
            f"{run.k}",
            f"{run.model.get_support().sum()}",
            f"{run.model.objective_:.3f}",
            f"{run.training_auc:.3f}",
            f"{test.auc:.3f} ({test.low:.3f} to {test.high:.3f})",
            f"{run.f1:.2f}",
            f"{run.baseline_auc:.3f}",
            f"{run.bayes_auc:.3f}",
            f"{run.seconds:.2f}",
        )
    return table


def compared(runs: list[Run]) -> str:
    """Say how often the fit ranks the test rows better than the mean difference."""
    better = sum(run.interval.auc > run.baseline_auc for run in runs)
    return f"SHT-AUC ranks better than the mean difference in {better} of {len(runs)} runs."


def draw(runs: dict[str, list[Run]]) -> Figure:
    """Course of the fits on the left, ROC curves of the last fit of each design on the right."""
    # Not through pyplot: nothing is shown, so no display or window system is needed.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_convergence(left, next(iter(runs.values())))
    draw_roc_curves(right, {design: several[-1] for design, several in runs.items()})
    return figure


def draw_convergence(ax: Axes, runs: list[Run]) -> None:
    """F and training AUC of each run against epochs, in the place of ``ax``."""
    panels: Any = ax
    for run, colour in zip(runs, cycle(_RUN_COLOURS)):
        panels = ConvergenceDisplay.from_history(
            run.model.history_, name=f"k* = {run.k}", ax=panels, color=colour
        ).ax_
    top, bottom = panels
    top.set(title="Training, independent columns", ylabel="objective F")
    # Room for the legend above the highest line.
    low, high = top.get_ylim()
    top.set_ylim(low, high + 0.2 * (high - low))
    top.legend(loc="upper center", ncols=len(runs), fontsize=9, columnspacing=1.2, handlelength=1.5)
    bottom.set(ylabel="training AUC")
    for panel in panels:
        panel.yaxis.set_label_coords(-0.1, 0.5)


def draw_roc_curves(ax: Axes, runs: dict[str, Run]) -> None:
    """Draw test ROC curves: colour tells the method, the kind of line the design."""
    ax.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=0.8, zorder=0)
    for (design, run), line in zip(runs.items(), cycle(["-", (0, (4, 1.5))])):
        scores = {"SHT-AUC": run.scores, "mean difference": run.baseline_scores}
        for method, score in scores.items():
            area = auc(run.y_test, score)
            false_positive, true_positive, _ = roc_curve(run.y_test, score)
            ax.plot(
                false_positive, true_positive, color=_METHOD_COLOURS[method], linestyle=line,
                linewidth=1.8, label=f"{area:.2f}  {method}, {design}",
            )  # fmt: skip
    k = next(iter(runs.values())).k
    ax.set(
        title=f"Test rows, k* = {k}", xlabel="false positive rate", ylabel="true positive rate",
        xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal",
    )  # fmt: skip
    ax.legend(loc="lower right", title="Area under the curve", fontsize=9, alignment="left")


def save_whole(figure: Figure, target: Path) -> None:
    """Write ``figure`` as PNG beside ``target`` and rename: a half-written plot is never seen."""
    try:
        write_atomically(target, lambda file: figure.savefig(file, format="png"))
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
