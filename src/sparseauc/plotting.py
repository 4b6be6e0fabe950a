"""Plots, in the shape of scikit-learn's displays: ``from_estimator``, ``from_…``, ``plot(ax=…)``.

matplotlib is needed only when something is drawn: ``pip install sparseauc[plot]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom
from sklearn.metrics import roc_curve
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .metrics import auc, auc_confidence_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = [
    "AUCPathDisplay",
    "CoefficientPathDisplay",
    "ConvergenceDisplay",
    "ROCBandDisplay",
    "ScoreDistributionDisplay",
    "StabilityPathDisplay",
]

# Okabe and Ito's colours, told apart by readers with any kind of colour vision; yellow, too pale
# for a line, is left out.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_STYLES = ("-", "--", "-.")


class ConvergenceDisplay:
    """Course of a fit: the objective F, and under it the AUC, against epochs.

    Make one with :meth:`from_estimator` or :meth:`from_history`. F says whether the solver has
    finished; the AUC of training rows, and of held-out rows where the fit recorded them, whether
    finishing was worth it.

    Parameters
    ----------
    epoch : array-like of shape (n_epochs,)
        Numbers of the epochs.
    objective : array-like of shape (n_epochs,)
        F after each.
    auc : array-like of shape (n_epochs,)
        AUC of the training rows after each.
    validation_auc : array-like of shape (n_epochs,), optional
        AUC of the held-out rows after each.
    name : str, optional
        Name of the run in the legend.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        The panel of F and the panel of the AUC.
    figure_ : matplotlib Figure
        The figure they are in.
    lines_ : dict of str to matplotlib Line2D
        By ``"objective"``, ``"auc"`` and, where recorded, ``"validation_auc"``.

    Examples
    --------
    >>> from sparseauc import SHTAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.plotting import ConvergenceDisplay
    >>> X, y = make_outbreak(n=500, d=50, k=5, random_state=0)
    >>> model = SHTAUCClassifier(k=5, early_stopping=True, random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> sorted(display.lines_)
    ['auc', 'objective', 'validation_auc']

    A second run is drawn over the first by handing it the same panels:

    >>> longer = SHTAUCClassifier(k=10, random_state=0).fit(X, y)
    >>> _ = ConvergenceDisplay.from_estimator(longer, ax=display.ax_, name="k = 10")
    """

    ax_: npt.NDArray[np.object_]
    figure_: Figure | SubFigure
    lines_: dict[str, Line2D]

    def __init__(
        self,
        *,
        epoch: npt.ArrayLike,
        objective: npt.ArrayLike,
        auc: npt.ArrayLike,
        validation_auc: npt.ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        self.epoch = epoch
        self.objective = objective
        self.auc = auc
        self.validation_auc = validation_auc
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> ConvergenceDisplay:
        """Draw the fit of a classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a ``history_``; or a pipeline that ends in one.
        name : str, optional
            Name of the run in the legend.
        ax : Axes or pair of Axes, optional
            Where to draw; see :meth:`plot`.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        ConvergenceDisplay
        """
        model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        check_is_fitted(model)
        history = getattr(model, "history_", None)
        if history is None:
            raise ValueError(f"{type(model).__name__} has no history_: it records no epochs")
        return cls.from_history(history, name=name, ax=ax, **kwargs)

    @classmethod
    def from_history(
        cls,
        history: Mapping[str, Sequence[float]],
        *,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ConvergenceDisplay:
        """Draw a recorded history.

        Parameters
        ----------
        history : mapping of str to sequence
            With ``epoch``, ``objective``, ``auc`` and perhaps ``validation_auc``, as a
            classifier's ``history_`` has them.
        name : str, optional
            Name of the run in the legend.
        ax : Axes or pair of Axes, optional
            Where to draw; see :meth:`plot`.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        ConvergenceDisplay
        """
        for key in ("epoch", "objective", "auc"):
            if key not in history:
                raise ValueError(f"the history has no {key!r}, only {sorted(history)}")
        if len(history["epoch"]) == 0:
            raise ValueError("the history is empty: fit with record_history=True")
        display = cls(
            epoch=history["epoch"],
            objective=history["objective"],
            auc=history["auc"],
            validation_auc=history.get("validation_auc"),
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw the two panels.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            The panels of F and of the AUC, for instance the ``ax_`` of another display; or one
            Axes, whose place is divided in two. By default a new figure.
        name : str, optional
            Name of the run in the legend; by default the one the display was made with.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        ConvergenceDisplay
            This display, with ``ax_``, ``figure_`` and ``lines_`` set.
        """
        top, bottom = _two_panels(ax)
        name = self.name if name is None else name
        prefix = "" if name is None else f"{name}, "
        styles = {"label": name, **kwargs}
        # One colour a run, in both panels; dashes tell held-out rows from training rows.
        (objective,) = top.plot(self.epoch, self.objective, **styles)
        styles = {"color": objective.get_color(), **styles}
        (training,) = bottom.plot(
            self.epoch, self.auc, **{**styles, "label": kwargs.get("label", f"{prefix}training")}
        )
        self.lines_ = {"objective": objective, "auc": training}
        if self.validation_auc is not None:
            # The point marks the epoch whose coefficients early stopping returns.
            best = int(np.argmax(self.validation_auc))
            style = {"linestyle": "--", "marker": "o", "markevery": [best], **styles}
            style["label"] = f"{prefix}held out"
            (self.lines_["validation_auc"],) = bottom.plot(self.epoch, self.validation_auc, **style)
            bottom.legend()
        if objective.get_label() and not str(objective.get_label()).startswith("_"):
            top.legend()
        self.ax_ = np.array([top, bottom], dtype=object)
        self.figure_ = top.figure
        return self


class AUCPathDisplay:
    """Validation AUC against the number of columns: how short can the list be?

    Make one with :meth:`from_estimator` or :meth:`from_cv_results`. The line is the mean over the
    folds, at each k that of its best ridge; the band is one standard error of that mean to either
    side. Marked are the k of the best mean and the smallest k whose mean lies within one standard
    error of it: the list that is as good as can be told.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Numbers of columns, ascending.
    mean : array-like of shape (n_ks,)
        Mean validation AUC.
    error : array-like of shape (n_ks,)
        Its standard error.
    chosen : int, optional
        The k that the fit chose.
    name : str, optional
        Name of the line in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The mean.
    band_ : matplotlib PolyCollection
        One standard error to either side.
    points_ : dict of str to matplotlib Line2D
        The marks ``"best"`` and ``"1se"``.
    k_best_, k_1se_ : int
        The numbers of columns marked.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifierCV
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.plotting import AUCPathDisplay
    >>> X, y = make_outbreak(n=500, d=50, k=5, mu=1.0, random_state=0)
    >>> model = SparseAUCClassifierCV(ks=range(1, 11), cv=5).fit(X, y)
    >>> display = AUCPathDisplay.from_estimator(model)
    >>> display.k_1se_ <= display.k_best_
    True
    """

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    band_: Any
    points_: dict[str, Line2D]

    def __init__(
        self,
        *,
        ks: npt.ArrayLike,
        mean: npt.ArrayLike,
        error: npt.ArrayLike,
        chosen: int | None = None,
        name: str | None = None,
    ) -> None:
        self.ks = ks
        self.mean = mean
        self.error = error
        self.chosen = chosen
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> AUCPathDisplay:
        """Draw the search of a ``SparseAUCClassifierCV``.

        Parameters
        ----------
        estimator : SparseAUCClassifierCV
            Fitted; or a pipeline that ends in one.
        name : str, optional
            Name of the line in the legend.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for the line.

        Returns
        -------
        AUCPathDisplay
        """
        model = _fitted(estimator, "cv_results_", "was not cross-validated")
        return cls.from_cv_results(
            model.cv_results_,
            repeats=getattr(model, "n_repeats_", 1.0),
            chosen=getattr(model, "k_", None),
            name=name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        repeats: float = 1.0,
        chosen: int | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> AUCPathDisplay:
        """Draw a table of validation scores.

        Parameters
        ----------
        cv_results : mapping of str to array
            With ``param_k`` and ``split0_test_score`` …, as ``SparseAUCClassifierCV`` and
            ``GridSearchCV`` over ``k`` have them.
        repeats : float, default=1.0
            How often each row was validated. Repeats judge the same rows again and do not make the
            standard error smaller.
        chosen : int, optional
            The k that the fit chose.
        name : str, optional
            Name of the line in the legend.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for the line.

        Returns
        -------
        AUCPathDisplay
        """
        if "param_k" not in cv_results or "split0_test_score" not in cv_results:
            raise ValueError("cv_results needs 'param_k' and 'split0_test_score', 'split1_…'")
        n_splits = sum(f"split{i}_test_score" in cv_results for i in range(len(cv_results)))
        scores = np.array([cv_results[f"split{i}_test_score"] for i in range(n_splits)])
        param_k = np.asarray(cv_results["param_k"], np.int64)
        mean = scores.mean(axis=0)
        folds = n_splits / repeats
        error = scores.std(axis=0, ddof=1) / np.sqrt(folds) if n_splits > 1 else np.zeros_like(mean)
        ks = np.unique(param_k)
        best = [int(np.argmax(np.where(param_k == k, mean, -np.inf))) for k in ks.tolist()]
        display = cls(ks=ks, mean=mean[best], error=error[best], chosen=chosen, name=name)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> AUCPathDisplay:
        """Draw the line, its band and the two marks.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            Name of the line in the legend; by default the one the display was made with.
        **kwargs
            Passed to matplotlib's ``plot`` for the line.

        Returns
        -------
        AUCPathDisplay
            This display, with its fitted attributes set.
        """
        ax = _one_panel(ax)
        name = self.name if name is None else name
        prefix = "" if name is None else f"{name}, "
        ks, mean, error = (np.asarray(a) for a in (self.ks, self.mean, self.error))
        (self.line_,) = ax.plot(
            ks, mean, **{"label": f"{prefix}mean ± one standard error", **kwargs}
        )
        colour = self.line_.get_color()
        self.band_ = ax.fill_between(
            ks, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0,
        )  # fmt: skip
        best = int(np.argmax(mean))
        within = int(np.flatnonzero(mean >= mean[best] - error[best])[0])
        self.k_best_, self.k_1se_ = int(ks[best]), int(ks[within])
        ax.axhline(mean[best] - error[best], color=colour, linestyle=":", linewidth=1, zorder=1)
        self.points_ = {}
        for key, at, face, what in (
            ("best", best, colour, "best"),
            ("1se", within, "white", "within one error of it"),
        ):
            suffix = " (chosen)" if self.chosen == ks[at] else ""
            # Hollow within filled, so that both are seen where they coincide.
            (self.points_[key],) = ax.plot(
                ks[at], mean[at], linestyle="none", marker="o", color=colour,
                markerfacecolor=face, markersize=9 if key == "best" else 6, zorder=3,
                label=f"{prefix}{what}: k = {ks[at]}{suffix}",
            )  # fmt: skip
        _count_columns(ax)
        ax.set(ylabel="validation AUC")
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class CoefficientPathDisplay:
    """Standardised coefficients against the number of columns: who joins, and who gives way?

    Make one with :meth:`from_estimator` or :meth:`from_path`. A line is drawn where its column is
    among the k chosen. The weightiest columns are named, the others are grey.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Numbers of columns, ascending.
    coefs : array-like of shape (n_ks, n_columns)
        Coefficients of the standardised columns, zero or NaN where a column is not chosen.
    names : sequence of str of length n_columns
    chosen : int, optional
        The k that the fit chose, marked by a vertical line; the columns named are the weightiest
        there, otherwise those at the largest k.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        By name of the column.
    line_ : matplotlib Line2D or None
        The vertical line at the k chosen.

    Examples
    --------
    >>> from sparseauc import sparse_auc_path
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.plotting import CoefficientPathDisplay
    >>> X, y = make_outbreak(n=500, d=50, k=5, mu=1.0, random_state=0)
    >>> path = sparse_auc_path(X, y, ks=range(1, 11))
    >>> display = CoefficientPathDisplay.from_path(path)
    >>> len(display.lines_) >= 10
    True
    """

    ax_: Axes
    figure_: Figure | SubFigure
    lines_: dict[str, Line2D]
    line_: Line2D | None

    def __init__(
        self,
        *,
        ks: npt.ArrayLike,
        coefs: npt.ArrayLike,
        names: Sequence[str],
        chosen: int | None = None,
    ) -> None:
        self.ks = ks
        self.coefs = coefs
        self.names = names
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_labels: int = 8, ax: Any = None, **kwargs: Any
    ) -> CoefficientPathDisplay:
        """Draw the path of a ``SparseAUCClassifierCV``, at the ridge it chose.

        Parameters
        ----------
        estimator : SparseAUCClassifierCV
            Fitted; or a pipeline that ends in one.
        n_labels : int, default=8
            Columns named.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        CoefficientPathDisplay
        """
        model = _fitted(estimator, "path_", "keeps no path: pass sparse_auc_path(…) to from_path")
        return cls.from_path(
            model.path_,
            names=getattr(model, "feature_names_in_", None),
            chosen=getattr(model, "k_", None),
            n_labels=n_labels,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        alpha: float | None = None,
        names: Sequence[str] | None = None,
        chosen: int | None = None,
        n_labels: int = 8,
        ax: Any = None,
        **kwargs: Any,
    ) -> CoefficientPathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : SparseAUCPath
        alpha : float, optional
            Ridge to draw; by default the only one of the path.
        names : sequence of str, optional
            Names of all columns of the table; x0, x1 … by default.
        chosen : int, optional
            A k to mark by a vertical line.
        n_labels : int, default=8
            Columns named.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        CoefficientPathDisplay
        """
        if alpha is None:
            if len(path.alphas) > 1:
                raise ValueError(f"the path has several ridges: pass one of {list(path.alphas)}")
            alpha = float(path.alphas[0])
        supports = [path.support(k, alpha) for k in path.ks]
        used = np.unique(np.concatenate(supports))
        coefs = np.zeros((len(path.ks), used.size))
        for row, k, support in zip(coefs, path.ks, supports, strict=True):
            standardised = path.coef(k, alpha) * path.scale
            row[np.searchsorted(used, support)] = standardised[support]
        display = cls(ks=path.ks, coefs=coefs, names=_names(used, names), chosen=chosen)
        return display.plot(ax=ax, n_labels=n_labels, **kwargs)

    def plot(self, ax: Any = None, *, n_labels: int = 8, **kwargs: Any) -> CoefficientPathDisplay:
        """Draw the lines and name the weightiest.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        n_labels : int, default=8
            Columns named.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        CoefficientPathDisplay
            This display, with its fitted attributes set.
        """
        ax = _one_panel(ax)
        ks = np.asarray(self.ks)
        coefs = np.nan_to_num(np.asarray(self.coefs, np.float64))
        judged = coefs[-1] if self.chosen is None else coefs[np.searchsorted(ks, self.chosen)]
        named = [j for j in np.argsort(-np.abs(judged), kind="stable")[:n_labels] if judged[j] != 0]
        ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
        shown = np.where(coefs == 0, np.nan, coefs)
        self.lines_ = _draw_columns(ax, ks, shown, list(self.names), named, kwargs)
        self.line_ = None
        if self.chosen is not None:
            self.line_ = ax.axvline(self.chosen, color="0.3", linestyle="--", linewidth=1, zorder=1)
            ax.annotate(
                f"k = {self.chosen}", (self.chosen, 1), xycoords=("data", "axes fraction"),
                xytext=(0, 3), textcoords="offset points", ha="center", va="bottom", color="0.3",
                fontsize="small",
            )  # fmt: skip
        _count_columns(ax)
        ax.set(ylabel="standardised coefficient")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class StabilityPathDisplay:
    """How often each column is chosen from half of the rows, against the number of columns.

    Make one with :meth:`from_result` or :meth:`from_frequencies`. Columns that reach the threshold
    at any k are named, the others are grey.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Numbers of columns, ascending.
    frequencies : array-like of shape (n_ks, n_columns)
        Share of the halves in which the column was among the k chosen.
    names : sequence of str of length n_columns
    threshold : float, default=0.6
        Frequency from which a column counts as stable, marked by a horizontal line.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        By name of the column.
    line_ : matplotlib Line2D
        The threshold.

    Examples
    --------
    >>> from sparseauc.plotting import StabilityPathDisplay
    >>> display = StabilityPathDisplay.from_frequencies(
    ...     ks=[1, 2, 3], frequencies=[[0.9, 0.1], [1.0, 0.3], [1.0, 0.4]], names=["age", "height"]
    ... )
    >>> sorted(display.lines_)
    ['age', 'height']
    """

    ax_: Axes
    figure_: Figure | SubFigure
    lines_: dict[str, Line2D]
    line_: Line2D

    def __init__(
        self,
        *,
        ks: npt.ArrayLike,
        frequencies: npt.ArrayLike,
        names: Sequence[str],
        threshold: float = 0.6,
    ) -> None:
        self.ks = ks
        self.frequencies = frequencies
        self.names = names
        self.threshold = threshold

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        names: Sequence[str] | None = None,
        threshold: float = 0.6,
        n_labels: int = 12,
        ax: Any = None,
        **kwargs: Any,
    ) -> StabilityPathDisplay:
        """Draw what ``stability_selection`` returned.

        Parameters
        ----------
        result : StabilityResult
        names : sequence of str, optional
            Names of all columns of the table; x0, x1 … by default.
        threshold : float, default=0.6
            Frequency from which a column counts as stable.
        n_labels : int, default=12
            Stable columns named at most, the most frequent first.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        StabilityPathDisplay
        """
        display = cls(
            ks=result.ks,
            frequencies=result.path,
            names=_names(result.columns, names),
            threshold=threshold,
        )
        return display.plot(ax=ax, n_labels=n_labels, **kwargs)

    @classmethod
    def from_frequencies(
        cls,
        ks: npt.ArrayLike,
        frequencies: npt.ArrayLike,
        *,
        names: Sequence[str] | None = None,
        threshold: float = 0.6,
        n_labels: int = 12,
        ax: Any = None,
        **kwargs: Any,
    ) -> StabilityPathDisplay:
        """Draw frequencies.

        Parameters
        ----------
        ks : array-like of shape (n_ks,)
            Numbers of columns, ascending.
        frequencies : array-like of shape (n_ks, n_columns)
        names : sequence of str of length n_columns, optional
            x0, x1 … by default.
        threshold : float, default=0.6
            Frequency from which a column counts as stable.
        n_labels : int, default=12
            Stable columns named at most, the most frequent first.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        StabilityPathDisplay
        """
        table = np.asarray(frequencies, np.float64)
        if table.ndim != 2 or table.shape[0] != np.size(ks):
            raise ValueError(
                f"frequencies must have a row for each of the {np.size(ks)} ks, "
                f"got shape {table.shape}"
            )
        known = _names(np.arange(table.shape[1]), names)
        display = cls(ks=ks, frequencies=table, names=known, threshold=threshold)
        return display.plot(ax=ax, n_labels=n_labels, **kwargs)

    def plot(self, ax: Any = None, *, n_labels: int = 12, **kwargs: Any) -> StabilityPathDisplay:
        """Draw the lines, the threshold, and the names of the stable columns.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        n_labels : int, default=12
            Stable columns named at most, the most frequent first.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.

        Returns
        -------
        StabilityPathDisplay
            This display, with its fitted attributes set.
        """
        ax = _one_panel(ax)
        ks, table = np.asarray(self.ks), np.asarray(self.frequencies, np.float64)
        stable = np.flatnonzero((table >= self.threshold).any(axis=0))
        # Of equally frequent columns, those that are so from fewer columns on.
        order = np.lexsort((-table[:, stable].sum(axis=0), -table[:, stable].max(axis=0)))
        named = stable[order][:n_labels].tolist()
        self.line_ = ax.axhline(
            self.threshold, color="0.3", linestyle="--", linewidth=1, zorder=1,
            label=f"threshold {self.threshold:g}: {stable.size} columns reach it",
        )  # fmt: skip
        self.lines_ = _draw_columns(ax, ks, table, list(self.names), named, kwargs)
        _count_columns(ax)
        ax.set(ylabel="selection frequency", ylim=(0.0, 1.04))
        ax.legend(handles=[self.line_], loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ROCBandDisplay:
    """ROC curve with a confidence band, and the AUC with its DeLong interval in the legend.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n_thresholds,)
        Points of the curve.
    band_fpr, band_low, band_high : array-like of shape (n_points,)
        False positive rates, and the limits of the true positive rate there.
    band : {"pointwise", "simultaneous"}
        What the band promises; it is told in the legend.
    confidence : float
        Level of band and interval.
    auc : float
    interval : pair of float, optional
        DeLong interval of the AUC; undefined when a class has a single row.
    name : str, optional
        Name of the curve in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection
    chance_line_ : matplotlib Line2D

    Notes
    -----
    Both bands hold for any continuous scores at any number of rows, and both are wide when rows of
    a class are few, as they must be. Let c be the threshold whose false positive rate is t. How
    many negatives exceed c says between which negatives c lies; how many positives exceed those
    says what the true positive rate at t may be. The classes are independent, so each takes the
    square root of the level.

    *Pointwise*: the number of negatives above c is binomial, and the limits for the positives are
    those of Clopper and Pearson. At any one t the band covers the truth with the level stated;
    somewhere along the curve it will more often fail.

    *Simultaneous*: both distribution functions lie within Massart's bound √(log(2/a)/2n) of the
    empirical ones everywhere at once, and so the whole true curve lies in the band with the level
    stated.

    Rows scored must not be those fitted to: curve, band and interval would be too good.

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

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    band_: Any
    chance_line_: Line2D

    def __init__(
        self,
        *,
        fpr: npt.ArrayLike,
        tpr: npt.ArrayLike,
        band_fpr: npt.ArrayLike,
        band_low: npt.ArrayLike,
        band_high: npt.ArrayLike,
        band: Literal["pointwise", "simultaneous"],
        confidence: float,
        auc: float,
        interval: tuple[float, float] | None = None,
        name: str | None = None,
    ) -> None:
        self.fpr = fpr
        self.tpr = tpr
        self.band_fpr = band_fpr
        self.band_low = band_low
        self.band_high = band_high
        self.band = band
        self.confidence = confidence
        self.auc = auc
        self.interval = interval
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        band: Literal["pointwise", "simultaneous"] = "pointwise",
        confidence: float = 0.95,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ROCBandDisplay:
        """Draw the curve of a fitted classifier on rows it was not fitted to.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.
        band : {"pointwise", "simultaneous"}, default="pointwise"
        confidence : float, default=0.95
            Level of band and interval.
        name : str, optional
            Name of the curve in the legend.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for the curve.

        Returns
        -------
        ROCBandDisplay
        """
        return cls.from_predictions(
            y, _scores(estimator, X), band=band, confidence=confidence, name=name, ax=ax, **kwargs
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        *,
        band: Literal["pointwise", "simultaneous"] = "pointwise",
        confidence: float = 0.95,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ROCBandDisplay:
        """Draw the curve of scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.
        y_score : array-like of shape (n,)
            Scores, higher for rows thought positive.
        band : {"pointwise", "simultaneous"}, default="pointwise"
        confidence : float, default=0.95
            Level of band and interval.
        name : str, optional
            Name of the curve in the legend.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for the curve.

        Returns
        -------
        ROCBandDisplay
        """
        if band not in ("pointwise", "simultaneous"):
            raise ValueError(f"band must be 'pointwise' or 'simultaneous', got {band!r}")
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
        area = auc(y_true, y_score)  # which checks both
        labels, scores = np.asarray(y_true), np.asarray(y_score, np.float64)
        positive = labels == np.unique(labels)[1]
        fpr, tpr, _ = roc_curve(positive, scores)
        interval = None
        if min(positive.sum(), (~positive).sum()) > 1:
            limits = auc_confidence_interval(y_true, y_score, confidence)
            interval = limits.low, limits.high
        grid, low, high = _roc_band(
            scores[positive], scores[~positive], confidence, simultaneous=band == "simultaneous"
        )
        display = cls(
            fpr=fpr, tpr=tpr, band_fpr=grid, band_low=low, band_high=high, band=band,
            confidence=confidence, auc=area, interval=interval, name=name,
        )  # fmt: skip
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> ROCBandDisplay:
        """Draw the curve, its band and the line of chance.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            Name of the curve in the legend; by default the one the display was made with.
        **kwargs
            Passed to matplotlib's ``plot`` for the curve.

        Returns
        -------
        ROCBandDisplay
            This display, with its fitted attributes set.
        """
        ax = _one_panel(ax, square=True)
        name = self.name if name is None else name
        level = f"{100 * self.confidence:g} %"
        label = f"{'' if name is None else name + ': '}AUC {self.auc:.2f}"
        if self.interval is not None:
            label += f" ({self.interval[0]:.2f}–{self.interval[1]:.2f})"
        # Steps, as the curve of finitely many rows is one; ties make it slant.
        (self.line_,) = ax.plot(self.fpr, self.tpr, **{"label": label, **kwargs})
        self.band_ = ax.fill_between(
            np.asarray(self.band_fpr), np.asarray(self.band_low), np.asarray(self.band_high),
            color=self.line_.get_color(), alpha=0.2, linewidth=0,
            label=f"{level}: DeLong interval, {self.band} band",
        )  # fmt: skip
        (self.chance_line_,) = ax.plot(
            [0, 1], [0, 1], color="0.5", linestyle=":", linewidth=1, zorder=1
        )
        ax.set(
            xlabel="false positive rate", ylabel="true positive rate", aspect="equal",
            xlim=(-0.01, 1.01), ylim=(-0.01, 1.01),
        )  # fmt: skip
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ScoreDistributionDisplay:
    """Scores of each class, and where the threshold falls.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`. Each class is drawn as shares
    of its own rows, so that a rare class is as visible as a common one.

    Parameters
    ----------
    scores : array-like of shape (n,)
    positive : array-like of bool of shape (n,)
    threshold : float, optional
        Scores above it are predicted positive.
    labels : pair of str, default=("negative", "positive")
        Names of the classes in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    patches_ : dict of str to matplotlib Polygon
        The outlines, by label of the class.
    line_ : matplotlib Line2D or None
        The threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.plotting import ScoreDistributionDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["healthy", "sick"], [200, 50])
    >>> scores = rng.standard_normal(250) + (y == "sick")
    >>> display = ScoreDistributionDisplay.from_predictions(y, scores, threshold=0.5)
    >>> sorted(display.patches_)
    ['healthy', 'sick']
    """

    ax_: Axes
    figure_: Figure | SubFigure
    patches_: dict[str, Any]
    line_: Line2D | None

    def __init__(
        self,
        *,
        scores: npt.ArrayLike,
        positive: npt.ArrayLike,
        threshold: float | None = None,
        labels: tuple[str, str] = ("negative", "positive"),
    ) -> None:
        self.scores = scores
        self.positive = positive
        self.threshold = threshold
        self.labels = labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: npt.ArrayLike, *, ax: Any = None, **kwargs: Any
    ) -> ScoreDistributionDisplay:
        """Draw the scores of a fitted classifier, and its own threshold.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``hist`` for both classes.

        Returns
        -------
        ScoreDistributionDisplay
        """
        threshold = 0.0 if hasattr(estimator, "decision_function") else 0.5
        return cls.from_predictions(y, _scores(estimator, X), threshold=threshold, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        *,
        threshold: float | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ScoreDistributionDisplay:
        """Draw scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.
        y_score : array-like of shape (n,)
            Scores, higher for rows thought positive.
        threshold : float, optional
            Scores above it are predicted positive.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``hist`` for both classes.

        Returns
        -------
        ScoreDistributionDisplay
        """
        auc(y_true, y_score)  # which checks both
        labels = np.asarray(y_true)
        classes = np.unique(labels)
        display = cls(
            scores=np.asarray(y_score, np.float64),
            positive=labels == classes[1],
            threshold=threshold,
            labels=(str(classes[0]), str(classes[1])),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ScoreDistributionDisplay:
        """Draw both classes and the threshold.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``hist`` for both classes.

        Returns
        -------
        ScoreDistributionDisplay
            This display, with its fitted attributes set.
        """
        ax = _one_panel(ax)
        scores, positive = np.asarray(self.scores), np.asarray(self.positive, np.bool_)
        bins = kwargs.pop("bins", None)
        if bins is None:
            # As many as the smaller class can fill, the same for both.
            fewer = min(positive.sum(), (~positive).sum())
            bins = int(np.clip(2 * np.sqrt(fewer), 12, 40))
        edges = np.histogram_bin_edges(scores, bins)
        self.patches_ = {}
        for label, mask, colour, style in (
            (self.labels[0], ~positive, _COLOURS[0], "-"),
            (self.labels[1], positive, _COLOURS[1], "--"),
        ):
            above = ""
            if self.threshold is not None:
                above = f", {100 * np.mean(scores[mask] > self.threshold):.0f} % above"
            _, _, (patch,) = ax.hist(
                scores[mask],
                **{
                    "bins": edges, "weights": np.full(mask.sum(), 1.0 / mask.sum()),
                    "histtype": "stepfilled", "facecolor": (colour, 0.3), "edgecolor": colour,
                    "linestyle": style, "linewidth": 1.5,
                    "label": f"{label} (n = {mask.sum()}{above})", **kwargs,
                },
            )  # fmt: skip
            self.patches_[label] = patch
        self.line_ = None
        if self.threshold is not None:
            self.line_ = ax.axvline(
                self.threshold, color="0.2", linestyle=":", linewidth=1.5,
                label=f"threshold {self.threshold:.3g}",
            )  # fmt: skip
        ax.set(xlabel="score", ylabel="share of the class")
        ax.margins(y=0.3)  # room for the legend
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _two_panels(ax: Any) -> tuple[Axes, Axes]:
    """Panels for F and the AUC: those given, one Axes divided, or a new figure's."""
    _need_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecFromSubplotSpec
    from matplotlib.ticker import MaxNLocator

    if ax is None:
        # Only a new figure needs pyplot, which sets up a window system where there is one.
        from matplotlib import pyplot as plt

        _, panels = plt.subplots(2, 1, sharex=True, layout="constrained")
    elif isinstance(ax, Axes):
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError("ax is not part of a grid and cannot be divided: give a pair of axes")
        ax.set_axis_off()
        grid = GridSpecFromSubplotSpec(2, 1, subplot_spec=place)
        figure = ax.figure
        first = figure.add_subplot(grid[0])
        panels = [first, figure.add_subplot(grid[1], sharex=first)]
        first.tick_params(labelbottom=False)
    else:
        panels = list(ax)
        if len(panels) != 2 or not all(isinstance(panel, Axes) for panel in panels):
            raise ValueError("ax must be one matplotlib Axes or a pair of them: F, AUC")
    top, bottom = panels
    top.set_ylabel("F")
    bottom.set_ylabel("AUC")
    bottom.set_xlabel("epoch")
    bottom.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return top, bottom


def _roc_band(
    positives: npt.NDArray[np.float64],
    negatives: npt.NDArray[np.float64],
    confidence: float,
    *,
    simultaneous: bool,
    n_points: int = 501,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Limits of the true positive rate at evenly spaced false positive rates.

    Parameters
    ----------
    positives, negatives : ndarray
        Scores of each class.
    confidence : float
        Level, of each point or of the whole curve.
    simultaneous : bool
        Whether the level is that of the whole curve; see :class:`ROCBandDisplay`.
    n_points : int, default=501

    Returns
    -------
    fpr, low, high : ndarrays of shape (n_points,)
    """
    n_positive, n_negative = positives.size, negatives.size
    fpr = np.linspace(0.0, 1.0, n_points)
    miss = 1.0 - np.sqrt(confidence)  # of each class
    # How many negatives exceed the threshold whose false positive rate is t: from fewest to most.
    if simultaneous:
        margin = np.sqrt(np.log(2.0 / miss) / (2 * n_negative))
        fewest = np.ceil(np.maximum(fpr - margin, 0.0) * n_negative)
        most = np.floor(np.minimum(fpr + margin, 1.0) * n_negative)
    else:
        fewest = binom.ppf(miss / 2, n_negative, fpr)
        most = binom.ppf(1 - miss / 2, n_negative, fpr)
    # So it lies below the `fewest`-th and not below the one after the `most`-th largest negative.
    bounded = np.concatenate([[np.inf], np.sort(negatives)[::-1], [-np.inf]])
    ascending = np.sort(positives)
    upper, lower = (bounded[np.clip(c, 0, n_negative + 1).astype(int)] for c in (fewest, most + 1))
    at_least = n_positive - ascending.searchsorted(upper, "left")
    at_most = n_positive - ascending.searchsorted(lower, "right")
    if simultaneous:
        margin = np.sqrt(np.log(2.0 / miss) / (2 * n_positive))
        low = np.maximum(at_least / n_positive - margin, 0.0)
        high = np.minimum(at_most / n_positive + margin, 1.0)
    else:
        low = np.zeros(n_points)
        some = at_least > 0
        low[some] = beta.ppf(miss / 2, at_least[some], n_positive - at_least[some] + 1)
        high = np.ones(n_points)
        some = at_most < n_positive
        high[some] = beta.ppf(1 - miss / 2, at_most[some] + 1, n_positive - at_most[some])
    return fpr, low, high


def _draw_columns(
    ax: Axes,
    ks: npt.NDArray[Any],
    values: npt.NDArray[np.float64],
    names: list[str],
    named: list[int],
    kwargs: dict[str, Any],
) -> dict[str, Line2D]:
    """Draw a line a column; those ``named`` in colour with their name at the right end."""
    lines: dict[str, Line2D] = {}
    rest = [j for j in range(values.shape[1]) if j not in set(named)]
    for j in rest:
        style = {"color": "0.8", "linewidth": 1, "marker": ".", "markersize": 3, "zorder": 1.5}
        (lines[names[j]],) = ax.plot(ks, values[:, j], **{**style, **kwargs})
    for place, j in enumerate(named):
        style = {
            "color": _COLOURS[place % len(_COLOURS)],
            "linestyle": _STYLES[place // len(_COLOURS) % len(_STYLES)],
            "linewidth": 1.6, "marker": "o", "markersize": 3,
        }  # fmt: skip
        (lines[names[j]],) = ax.plot(ks, values[:, j], **{**style, **kwargs})
    _name_at_right(ax, [(lines[names[j]], names[j]) for j in named])
    ax.margins(x=0.02)
    return lines


def _name_at_right(ax: Axes, entries: list[tuple[Line2D, str]]) -> None:
    """Write names beside the right ends of lines, moved apart where they would overlap."""
    ends = []
    for line, name in entries:
        x, y = (np.asarray(data, np.float64) for data in line.get_data())
        last = int(np.flatnonzero(np.isfinite(y))[-1])
        ends.append((y[last], x[last], line, name))
    if not ends:
        return
    ends.sort(key=lambda end: end[0])
    low, high = ax.get_ylim()
    figure = ax.figure
    # The height of a line of small print, in units of y.
    height = ax.get_window_extent().height * 72.0 / figure.dpi
    gap = (high - low) * 11.0 / height
    places = _spread([end[0] for end in ends], gap, low, high)
    for place, (y_end, x_end, line, name) in zip(places, ends, strict=True):
        ax.annotate(
            name, (x_end, y_end), xytext=(1.03, place),
            textcoords=ax.get_yaxis_transform(), color=line.get_color(), fontsize="small",
            va="center", ha="left", annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": line.get_color(), "linewidth": 0.6, "alpha": 0.6,
                "shrinkA": 1, "shrinkB": 3,
            },
        )  # fmt: skip


def _spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places near those wanted, ascending, no two nearer than ``gap``, in bounds if they fit."""
    # Names that would overlap form a block, centred on what its members want.
    blocks: list[list[float]] = []
    for value in wanted:
        blocks.append([value])
        while len(blocks) > 1 and _end(blocks[-2], gap, 1) + gap > _end(blocks[-1], gap, -1):
            last = blocks.pop()
            blocks[-1] += last
    places = [_end(block, gap, -1) + gap * i for block in blocks for i in range(len(block))]
    for i in reversed(range(len(places))):
        above = places[i + 1] - gap if i + 1 < len(places) else high
        places[i] = min(places[i], above)
    for i in range(len(places)):
        below = places[i - 1] + gap if i > 0 else low
        places[i] = max(places[i], below)
    return places


def _end(block: list[float], gap: float, side: int) -> float:
    """Lowest (-1) or highest (1) place of a block."""
    return float(np.mean(block)) + side * gap * (len(block) - 1) / 2


def _fitted(estimator: Any, attribute: str, otherwise: str) -> Any:
    """Last step of a fitted estimator, which must have an attribute."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(model)
    if not hasattr(model, attribute):
        raise ValueError(f"{type(model).__name__} {otherwise}")
    return model


def _names(columns: npt.NDArray[Any], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [f"x{j}" for j in columns.tolist()]
    if len(names) <= max(columns.tolist(), default=-1):
        raise ValueError(f"there are {len(names)} names, and a column {max(columns.tolist())}")
    return [str(names[j]) for j in columns.tolist()]


def _scores(estimator: Any, X: Any) -> npt.NDArray[Any]:
    check_is_fitted(estimator)
    scores: npt.NDArray[Any]
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        scores = estimator.predict_proba(X)[:, 1]
    return scores


def _one_panel(ax: Any, *, square: bool = False) -> Any:
    """The Axes given, or those of a new figure."""
    _need_matplotlib()
    if ax is None:
        # Only a new figure needs pyplot, which sets up a window system where there is one.
        from matplotlib import pyplot as plt

        width, height = plt.rcParams["figure.figsize"]
        size = (height, height) if square else (width, height)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def _count_columns(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("number of columns k")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install sparseauc[plot]") from error
