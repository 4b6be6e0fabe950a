"""The objective and the training AUC, epoch by epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .axes import fitted_step


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay:
    """The objective F and the AUC against epochs.

    Use :meth:`from_estimator` or :meth:`from_history`. The AUC is that of the training rows and, if
    the fit recorded it, of held-out rows.

    Parameters
    ----------
    epoch, objective, auc : array-like of shape (n_epochs,)
        Numbers of the epochs; F, and the AUC of the training rows, after each.
    validation_auc : array-like of shape (n_epochs,), optional
        AUC of the held-out rows after each.
    name : str, optional
        Name of the run in the legend.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        The panel of F and the panel of the AUC.
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        By ``"objective"``, ``"auc"`` and, where recorded, ``"validation_auc"``.

    Examples
    --------
    >>> from sparseauc import SHTAUCClassifier, datasets, plotting
    >>> X, y = datasets.make_outbreak(n=500, d=50, k=5, random_state=0)
    >>> model = SHTAUCClassifier(k=5, early_stopping=True, random_state=0).fit(X, y)
    >>> display = plotting.ConvergenceDisplay.from_estimator(model)
    >>> sorted(display.lines_)
    ['auc', 'objective', 'validation_auc']

    A second run is drawn over the first by handing it the same panels:

    >>> longer = SHTAUCClassifier(k=10, random_state=0).fit(X, y)
    >>> _ = plotting.ConvergenceDisplay.from_estimator(longer, ax=display.ax_, name="k = 10")
    """

    epoch: npt.ArrayLike
    objective: npt.ArrayLike
    auc: npt.ArrayLike
    validation_auc: npt.ArrayLike | None = None
    name: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, **kwargs: Any) -> Self:
        """Draw the fit of a classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a ``history_``; or a pipeline that ends in one.
        **kwargs
            ``name`` and other parameters of :meth:`plot`.
        """
        model = fitted_step(estimator, "history_", "has no history_: it records no epochs")
        return cls.from_history(model.history_, **kwargs)

    @classmethod
    def from_history(
        cls, history: Mapping[str, Sequence[float]], *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw a recorded history.

        Parameters
        ----------
        history : mapping of str to sequence
            With ``epoch``, ``objective``, ``auc`` and perhaps ``validation_auc``, as a
            classifier's ``history_`` has them.
        name : str, optional
            Name of the run in the legend.
        **kwargs
            Parameters of :meth:`plot`.
        """
        for key in ("epoch", "objective", "auc"):
            if key not in history:
                raise InputError(f"the history has no {key!r}, only {sorted(history)}")
        if len(history["epoch"]) == 0:
            raise InputError("the history is empty: fit with record_history=True")
        display = cls(
            epoch=history["epoch"],
            objective=history["objective"],
            auc=history["auc"],
            validation_auc=history.get("validation_auc"),
            name=name,
        )
        return display.plot(**kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the two panels.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            The panels of F and of the AUC, for instance the ``ax_`` of another display; or one
            Axes, which is divided in two. By default a new figure.
        name : str, optional
            Name of the run in the legend.
        **kwargs
            Passed to matplotlib's ``plot`` for every line.
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


def _two_panels(ax: Any) -> tuple[Any, Any]:
    """Panels for F and the AUC: those given, one Axes divided, or a new figure's."""
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
            raise InputError("ax is not part of a grid and cannot be divided: give a pair of axes")
        ax.set_axis_off()
        grid = GridSpecFromSubplotSpec(2, 1, subplot_spec=place)
        figure = ax.figure
        first = figure.add_subplot(grid[0])
        panels = [first, figure.add_subplot(grid[1], sharex=first)]
        first.tick_params(labelbottom=False)
    else:
        panels = list(ax)
        if len(panels) != 2 or not all(isinstance(panel, Axes) for panel in panels):
            raise InputError("ax must be one matplotlib Axes or a pair of them: F, AUC")
    top, bottom = panels
    top.set_ylabel("F")
    bottom.set_ylabel("AUC")
    bottom.set_xlabel("epoch")
    bottom.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return top, bottom
