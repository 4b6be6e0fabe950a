"""Displays, as in scikit-learn: ``from_estimator``, ``from_…``, ``plot(ax=…)``.

matplotlib is imported only when something is drawn.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics import roc_curve
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .errors import InputError
from .metrics import auc, auc_confidence_interval
from .performance import roc_band
from .rules import auc_by_k
from .selection.confidence import scores_by
from .utils.optional import import_optional

__all__ = ["AUCPathDisplay", "ROCBandDisplay"]

# Okabe and Ito's colours, told apart by readers with any kind of colour vision; yellow,
# too pale for a line, is left out, and black is that of text.
TEXT = "#1f2328"
QUIET = "#5b6169"
PALE = "#cccac4"
BACKGROUND = "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", TEXT)


@dataclass(kw_only=True, eq=False, repr=False)
class AUCPathDisplay:
    """Validation AUC against the number of columns.

    Use :meth:`from_estimator`. The line is the mean over the
    folds, at each k with its best ridge; the band is ± one standard error. The k with
    the highest mean and the chosen k are marked; the dotted line lies one standard
    error below the highest mean. If several budgets were tried, the x-axis is the
    budget instead of k.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Values of k, or budgets, ascending.
    mean, error : array-like of shape (n_ks,)
        Mean validation AUC, and its standard error.
    chosen : float, optional
        The k, or budget, that the fit chose.
    chosen_auc : float, optional
        Its mean validation AUC, which is below the line if the fit chose another ridge
        than the best for this k; the line's by default.
    along : {"k", "budget"}, default="k"
        What ``ks`` are.
    measure : str, default="AUC"
        What was validated; "C" for times to event.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D
        The mean.
    band_ : matplotlib PolyCollection
        One standard error to either side.
    points_ : dict of str to matplotlib Line2D
        The marks ``"best"`` and, where it is known, ``"chosen"``.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifierCV, datasets, plotting
    >>> X, y = datasets.make_outbreak(n=500, d=50, k=5, mu=1.0, random_state=0)
    >>> model = SparseAUCClassifierCV(ks=range(1, 11), cv=5).fit(X, y)
    >>> display = plotting.AUCPathDisplay.from_estimator(model)
    >>> display.chosen == model.k_
    True
    """

    ks: npt.ArrayLike
    mean: npt.ArrayLike
    error: npt.ArrayLike
    chosen: float | None = None
    chosen_auc: float | None = None
    along: str = "k"
    measure: str = "AUC"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the path of a fitted model that was cross-validated.

        Parameters
        ----------
        estimator : SparseAUCClassifierCV, SparseConcordanceCV or GridSearchCV
            Fitted; a grid search over ``k``. Or a pipeline that ends in one.
        ax, name, **kwargs
            As of :meth:`plot`.
        """
        model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        check_is_fitted(model)
        if not hasattr(model, "cv_results_"):
            raise InputError(f"{type(model).__name__} was not cross-validated")
        # Repeats use the same rows again and do not make the standard error smaller.
        rows = auc_by_k(model.cv_results_, getattr(model, "n_repeats_", 1.0))
        along = "budget" if "budget" in rows[0] else "k"
        display = cls(
            ks=[row[along] for row in rows],
            mean=[row["auc"] for row in rows],
            error=[row["standard_error"] for row in rows],
            chosen=getattr(model, f"{along}_", None),
            chosen_auc=getattr(model, "best_score_", None),
            along=along,
            measure="AUC" if is_classifier(model) else "C",
        )
        return display.plot(ax, name=name, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the line, its band and the marks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        name : str, optional
            Name of the line in the legend.
        **kwargs
            Passed to matplotlib's ``plot`` for the line.
        """
        ax = _one_panel(ax)
        prefix = "" if name is None else f"{name}, "
        ks = np.asarray(self.ks)
        mean = np.asarray(self.mean)
        error = np.asarray(self.error)
        style = {"label": f"{prefix}mean ± one standard error", **kwargs}
        (self.line_,) = ax.plot(ks, mean, **style)
        colour = self.line_.get_color()
        self.band_ = ax.fill_between(
            ks, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0
        )
        best = int(np.argmax(mean))
        ax.axhline(
            mean[best] - error[best], color=colour, linestyle=":", linewidth=1, zorder=1
        )
        called = "k = {:g}" if self.along == "k" else "budget {:g}"
        self.points_ = {}
        # Filled within hollow, so that both are seen where they coincide.
        mark = {"linestyle": "none", "marker": "o", "color": colour, "zorder": 3}
        label = f"{prefix}best: {called.format(ks[best])}"
        (self.points_["best"],) = ax.plot(
            ks[best],
            mean[best],
            **mark,
            markerfacecolor=BACKGROUND,
            markersize=9,
            label=label,
        )
        if self.chosen is not None:
            line = mean[np.searchsorted(ks, self.chosen)]
            chosen_auc = float(line if self.chosen_auc is None else self.chosen_auc)
            label = f"{prefix}chosen: {called.format(self.chosen)}"
            (self.points_["chosen"],) = ax.plot(
                self.chosen, chosen_auc, **mark, markersize=5, label=label
            )
        ax.set(ylabel=f"validation {self.measure}")
        if self.along == "budget":
            ax.set_xlabel("budget")
        else:
            ax.set_xlabel("number of columns k")
            ax.locator_params("x", integer=True, steps=[1, 2, 5, 10])
        ax.legend(loc="lower right", fontsize="small")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class ROCBandDisplay:
    """ROC curve with a confidence band, and the AUC with its interval in the legend.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n_thresholds,)
        Points of the curve.
    band_fpr, band_low, band_high : array-like of shape (n_points,)
        False positive rates, and the limits of the true positive rate there.
    confidence : float
        Level of band and interval.
    auc : float
    interval : pair of float, optional
        Interval of the AUC; undefined when a class has a single row.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, chance_line_ : matplotlib Line2D
    band_ : matplotlib PolyCollection

    Notes
    -----
    The band is pointwise: at each false positive rate it has at least the stated
    coverage, for any continuous scores and any number of rows. Let c be the threshold
    with false positive rate t. The number of negatives above c is binomial, and bounds c
    by two negative scores; the numbers of positives above these bound the true positive
    rate at t, with the limits of Clopper and Pearson. The classes are independent, so
    each takes the square root of the level.

    Use rows that were not used for fitting: otherwise curve, band and interval are
    optimistic.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.plotting import ROCBandDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [200, 50])
    >>> display = ROCBandDisplay.from_predictions(y, rng.standard_normal(250) + y)
    >>> display.line_.get_label()
    'AUC 0.71 (0.62–0.78)'
    """

    fpr: npt.ArrayLike
    tpr: npt.ArrayLike
    band_fpr: npt.ArrayLike
    band_low: npt.ArrayLike
    band_high: npt.ArrayLike
    confidence: float
    auc: float
    interval: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: npt.ArrayLike, **kwargs: Any
    ) -> Self:
        """Draw the curve of the scores of rows by a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Binary labels; the one that sorts last is positive.
        **kwargs
            Other parameters of :meth:`from_predictions`.
        """
        check_is_fitted(estimator)
        return cls.from_predictions(y, scores_by(estimator, X), **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        *,
        confidence: float = 0.95,
        interval: tuple[float, float] | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        y_true, y_score : array-like of shape (n,)
            Binary labels and scores, as for :func:`sparseauc.metrics.auc`.
        confidence : float, default=0.95
            Level of band and interval.
        interval : pair of float, optional
            Interval of the AUC in the legend, such as that of nested cross-validation.
            DeLong's by default.
        name : str, optional
            Name of the curve in the legend.
        ax : matplotlib Axes, optional
            A new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for the curve.
        """
        if not 0.0 < confidence < 1.0:
            raise InputError(
                f"confidence must lie strictly between 0 and 1, got {confidence}"
            )
        area = auc(y_true, y_score)  # which checks both
        labels = np.asarray(y_true)
        scores = np.asarray(y_score, np.float64)
        positive = labels == np.unique(labels)[1]
        fpr, tpr, _ = roc_curve(positive, scores)
        if interval is None and min(positive.sum(), (~positive).sum()) > 1:
            limits = auc_confidence_interval(y_true, y_score, confidence)
            interval = limits.low, limits.high
        grid, low, high = roc_band(scores, positive, confidence)
        display = cls(
            fpr=fpr,
            tpr=tpr,
            band_fpr=grid,
            band_low=low,
            band_high=high,
            confidence=confidence,
            auc=area,
            interval=interval,
        )
        return display.plot(ax, name=name, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve, its band and the line of chance.

        Parameters are those of :meth:`from_predictions`.
        """
        ax = _one_panel(ax, square=True)
        label = f"{'' if name is None else name + ': '}AUC {self.auc:.2f}"
        if self.interval is not None:
            label += f" ({self.interval[0]:.2f}–{self.interval[1]:.2f})"
        # Steps, as the curve of finitely many rows is one; ties make it slant.
        (self.line_,) = ax.plot(self.fpr, self.tpr, **{"label": label, **kwargs})
        self.band_ = ax.fill_between(
            np.asarray(self.band_fpr),
            np.asarray(self.band_low),
            np.asarray(self.band_high),
            color=self.line_.get_color(),
            alpha=0.2,
            linewidth=0,
            label=f"{100 * self.confidence:g} %: CI of the AUC, pointwise band",
        )
        (self.chance_line_,) = ax.plot(
            [0, 1], [0, 1], color=QUIET, linestyle=":", linewidth=1, zorder=1
        )
        ax.set_xlabel("1 − specificity (false positive rate)")
        ax.set_ylabel("sensitivity")
        ax.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.legend(loc="lower right", fontsize="small")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _one_panel(ax: Any, *, square: bool = False) -> Any:
    """Return the Axes given, or those of a new figure."""
    if ax is None:
        # Only a new figure needs pyplot, which sets up a window system where there is
        # one.
        plt = import_optional("matplotlib.pyplot", "a display")
        width, height = plt.rcParams["figure.figsize"]
        size = (height, height) if square else (width, height)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax
