"""Selection frequencies against the number of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .axes import QUIET, draw_columns, label_path, names_of, one_panel


@dataclass(kw_only=True, eq=False, repr=False)
class StabilityPathDisplay:
    """Selection frequency of each column against the number of columns.

    Use :meth:`from_result`. Columns that reach the threshold at any k
    are named, the others are grey.

    Parameters
    ----------
    ks : array-like of shape (n_ks,)
        Values of k, ascending.
    frequencies : array-like of shape (n_ks, n_columns)
        Share of the halves in which the column was among the k chosen.
    names : sequence of str of length n_columns
    threshold : float, default=0.6
        Frequency from which a column counts as stable, marked by a horizontal line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to matplotlib Line2D
        By name of the column.
    line_ : matplotlib Line2D
        The threshold.

    Examples
    --------
    >>> from sparseauc.plotting import StabilityPathDisplay
    >>> display = StabilityPathDisplay(
    ...     ks=[1, 2, 3], frequencies=[[0.9, 0.1], [1.0, 0.3], [1.0, 0.4]], names=["age", "height"]
    ... ).plot()
    >>> sorted(display.lines_)
    ['age', 'height']
    """

    ks: npt.ArrayLike
    frequencies: npt.ArrayLike
    names: Sequence[str]
    threshold: float = 0.6

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        names: Sequence[str] | None = None,
        threshold: float = 0.6,
        **kwargs: Any,
    ) -> Self:
        """Draw the result of ``stability_selection``.

        Parameters
        ----------
        result : StabilityResult
        names : sequence of str, optional
            Names of all columns of the table; by default those of the data frame, else x0, x1 …
        threshold : float, default=0.6
            Frequency from which a column counts as stable.
        **kwargs
            Parameters of :meth:`plot`.
        """
        display = cls(
            ks=result.ks,
            frequencies=result.path,
            names=names_of(result.columns, result.feature_names if names is None else names),
            threshold=threshold,
        )
        return display.plot(**kwargs)

    def plot(self, ax: Any = None, *, n_labels: int = 12, **kwargs: Any) -> Self:
        """Draw the lines, the threshold, and the names of the stable columns.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        n_labels : int, default=12
            Largest number of stable columns to name.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.
        """
        ks, table = np.asarray(self.ks), np.asarray(self.frequencies, np.float64)
        if table.ndim != 2 or table.shape[0] != ks.size:
            raise InputError(
                f"frequencies must have a row for each of the {ks.size} ks, got shape {table.shape}"
            )
        ax = one_panel(ax)
        stable = np.flatnonzero((table >= self.threshold).any(axis=0))
        # Of equally frequent columns, those that are so from fewer columns on.
        order = np.lexsort((-table[:, stable].sum(axis=0), -table[:, stable].max(axis=0)))
        named = stable[order][:n_labels].tolist()
        self.line_ = ax.axhline(
            self.threshold, color=QUIET, linestyle="--", linewidth=1, zorder=1,
            label=f"threshold {self.threshold:g}: {stable.size} columns reach it",
        )  # fmt: skip
        self.lines_ = draw_columns(ax, ks, table, list(self.names), named, kwargs)
        label_path(ax)
        ax.set(ylabel="selection frequency", ylim=(0.0, 1.04))
        ax.legend(handles=[self.line_], loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self
