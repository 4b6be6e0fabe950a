"""Coefficients against the number of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from . import axes


@dataclass(kw_only=True, eq=False, repr=False)
class CoefficientPathDisplay(axes.PathDisplay):
    """Standardised coefficients against the number of columns.

    Use :meth:`from_estimator` or :meth:`from_path`. A line is drawn where its column is among the k
    chosen. The columns with the largest coefficients are named, the others are grey.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Values of k, or budgets, ascending.
    coefs : array-like of shape (n_ks, n_columns)
        Coefficients of the standardised columns, zero or NaN where a column is not chosen.
    names : sequence of str of length n_columns
    chosen : float, optional
        The k, or budget, that the fit chose, marked by a vertical line. Columns are named by their
        coefficients there, otherwise at the largest k.
    along : {"k", "budget"}, default="k"
        What ``ks`` are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to matplotlib Line2D
        By name of the column.
    line_ : matplotlib Line2D or None
        The vertical line at the k chosen.

    Examples
    --------
    >>> from sparseauc import datasets, plotting, sparse_auc_path
    >>> X, y = datasets.make_outbreak(n=500, d=50, k=5, mu=1.0, random_state=0)
    >>> path = sparse_auc_path(X, y, ks=range(1, 11))
    >>> display = plotting.CoefficientPathDisplay.from_path(path)
    >>> len(display.lines_) >= 10
    True
    """

    ks: npt.ArrayLike
    coefs: npt.ArrayLike
    names: Sequence[str]
    chosen: float | None = None
    along: str = "k"

    _needed = "path_", "keeps no path: pass sparse_auc_path(…) to from_path"

    @classmethod
    def _from_model(cls, model: Any, **kwargs: Any) -> Self:
        return cls.from_path(model.path_, names=getattr(model, "feature_names_in_", None), **kwargs)

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        alpha: float | None = None,
        names: Sequence[str] | None = None,
        chosen: float | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : SparseAUCPath
        alpha : float, optional
            Ridge to draw; by default the only one of the path.
        names : sequence of str, optional
            Names of all columns of the table; x0, x1 … by default.
        chosen : float, optional
            A k, or budget, to mark by a vertical line.
        **kwargs
            Parameters of :meth:`plot`.
        """
        if alpha is None:
            if len(path.alphas) > 1:
                raise InputError(f"the path has several ridges: pass one of {list(path.alphas)}")
            alpha = float(path.alphas[0])
        if alpha not in path.alphas:
            raise KeyError(f"alpha={alpha} is not on the path: see alphas")
        solutions = path.solutions[list(path.alphas).index(alpha)]
        used = np.unique(np.concatenate([solution.support for solution in solutions]))
        coefs = np.zeros((len(solutions), used.size))
        for row, solution in zip(coefs, solutions, strict=True):
            row[np.searchsorted(used, solution.support)] = solution.coef
        along = axes.path_axis({"param_budget": () if path.budgets is None else path.budgets})
        display = cls(
            ks=path.ks if along == "k" else path.budgets,
            coefs=coefs,
            names=axes.names_of(used, names),
            chosen=chosen,
            along=along,
        )
        return display.plot(**kwargs)

    def plot(self, ax: Any = None, *, n_labels: int = 8, **kwargs: Any) -> Self:
        """Draw the lines and name those with the largest coefficients.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        n_labels : int, default=8
            Columns named.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.
        """
        ax = axes.one_panel(ax)
        ks = np.asarray(self.ks)
        coefs = np.nan_to_num(np.asarray(self.coefs, np.float64))
        judged = coefs[-1] if self.chosen is None else coefs[np.searchsorted(ks, self.chosen)]
        named = [j for j in np.argsort(-np.abs(judged), kind="stable")[:n_labels] if judged[j] != 0]
        ax.axhline(0.0, color=axes.PALE, linewidth=0.8, zorder=1)
        shown = np.where(coefs == 0, np.nan, coefs)
        self.lines_ = axes.draw_columns(ax, ks, shown, list(self.names), named, kwargs)
        self.line_ = None
        if self.chosen is not None:
            self.line_ = ax.axvline(
                self.chosen, color=axes.QUIET, linestyle="--", linewidth=1, zorder=1
            )
            ax.annotate(
                f"{self.along} = {self.chosen:g}", (self.chosen, 1),
                xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                ha="center", va="bottom", color=axes.QUIET, fontsize="small",
            )  # fmt: skip
        axes.label_path(ax, self.along)
        ax.set(ylabel="standardised coefficient")
        self.ax_, self.figure_ = ax, ax.figure
        return self
