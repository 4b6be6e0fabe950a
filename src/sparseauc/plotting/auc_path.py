"""Cross-validated AUC against the number of columns, or against the budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from ..metrics import auc_by_k
from .axes import BACKGROUND, PathDisplay, label_path, one_panel, path_axis


@dataclass(kw_only=True, eq=False, repr=False)
class AUCPathDisplay(PathDisplay):
    """Validation AUC against the number of columns.

    Use :meth:`from_estimator` or :meth:`from_cv_results`. The line is the mean over the folds, at
    each k with its best ridge; the band is ± one standard error. The k with the highest mean and
    the chosen k are marked; the dotted line lies one standard error below the highest mean. If
    several budgets were tried, the x-axis is the budget instead of k.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Values of k, or budgets, ascending.
    mean, error : array-like of shape (n_ks,)
        Mean validation AUC, and its standard error.
    chosen : float, optional
        The k, or budget, that the fit chose.
    chosen_auc : float, optional
        Its mean validation AUC, which is below the line if the fit chose another ridge than the
        best for this k; the line's by default.
    name : str, optional
        Name of the line in the legend.
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
    k_best_ : float
        The k, or budget, of the best mean.

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
    name: str | None = None
    along: str = "k"
    measure: str = "AUC"

    _needed = "cv_results_", "was not cross-validated"

    @classmethod
    def _from_model(cls, model: Any, **kwargs: Any) -> Self:
        return cls.from_cv_results(
            model.cv_results_,
            repeats=getattr(model, "n_repeats_", 1.0),
            chosen_auc=getattr(model, "best_score_", None),
            measure="AUC" if is_classifier(model) else "C",
            **kwargs,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        repeats: float = 1.0,
        chosen: float | None = None,
        chosen_auc: float | None = None,
        name: str | None = None,
        measure: str = "AUC",
        **kwargs: Any,
    ) -> Self:
        """Draw a table of validation scores.

        Parameters
        ----------
        cv_results : mapping of str to array
            With ``param_k`` and ``split0_test_score`` …, as ``SparseAUCClassifierCV`` and
            ``GridSearchCV`` over ``k`` have them.
        repeats : float, default=1.0
            How often each row was validated. Repeats use the same rows again and do not make the
            standard error smaller.
        chosen, chosen_auc, name, measure : optional
            See :class:`AUCPathDisplay`.
        **kwargs
            Parameters of :meth:`plot`.
        """
        rows, along = auc_by_k(cv_results, repeats), path_axis(cv_results)
        display = cls(
            ks=[row[along] for row in rows],
            mean=[row["auc"] for row in rows],
            error=[row["standard_error"] for row in rows],
            chosen=chosen,
            chosen_auc=chosen_auc,
            name=name,
            along=along,
            measure=measure,
        )
        return display.plot(**kwargs)

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
        self.k_best_ = ks.tolist()[best]
        called = "k = {:g}" if self.along == "k" else "budget {:g}"
        ax.axhline(mean[best] - error[best], color=colour, linestyle=":", linewidth=1, zorder=1)
        self.points_ = {}
        # Filled within hollow, so that both are seen where they coincide.
        mark = {"linestyle": "none", "marker": "o", "color": colour, "zorder": 3}
        (self.points_["best"],) = ax.plot(
            ks[best], mean[best], **mark, markerfacecolor=BACKGROUND, markersize=9,
            label=f"{prefix}best: {called.format(ks[best])}",
        )  # fmt: skip
        self.readings_ = [
            (float(k), float(m), f"{called.format(k)}: {self.measure} {m:.3f} ± {e:.3f}")
            for k, m, e in zip(ks.tolist(), mean, error, strict=True)
        ]
        if self.chosen is not None:
            line = mean[np.searchsorted(ks, self.chosen)]
            auc = float(line if self.chosen_auc is None else self.chosen_auc)
            text = f"chosen: {called.format(self.chosen)}"
            (self.points_["chosen"],) = ax.plot(
                self.chosen, auc, **mark, markersize=5, label=f"{prefix}{text}",
            )  # fmt: skip
            self.readings_.append((self.chosen, auc, f"{text}, {self.measure} {auc:.3f}"))
        label_path(ax, self.along)
        ax.set(ylabel=f"validation {self.measure}")
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
