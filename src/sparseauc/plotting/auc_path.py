"""Cross-validated AUC against the number of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._axes import count_columns, one_panel
from ._given import fitted_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D


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
        model = fitted_step(estimator, "cv_results_", "was not cross-validated")
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
        ax = one_panel(ax)
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
        count_columns(ax)
        ax.set(ylabel="validation AUC")
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
