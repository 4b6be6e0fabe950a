"""The ROC curve with a confidence band."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_curve

from ..curves import roc_band
from ..errors import InputError
from ..metrics import auc, auc_confidence_interval
from .axes import QUIET, Reading, ScoreDisplay, one_panel


@dataclass(kw_only=True, eq=False, repr=False)
class ROCBandDisplay(ScoreDisplay):
    """ROC curve with a confidence band, and the AUC with its interval in the legend.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n_thresholds,)
        Points of the curve.
    band_fpr, band_low, band_high : array-like of shape (n_points,)
        False positive rates, and the limits of the true positive rate there.
    band : {"pointwise", "simultaneous"}
        Kind of coverage, shown in the legend.
    confidence : float
        Level of band and interval.
    auc : float
    interval : pair of float, optional
        Interval of the AUC; undefined when a class has a single row.
    name : str, optional
        Name of the curve in the legend.
    thresholds : array-like of shape (n_thresholds,), optional
        Score from which rows count as positive at each point of the curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, chance_line_ : matplotlib Line2D
    band_ : matplotlib PolyCollection

    Notes
    -----
    :func:`~sparseauc.curves.roc_band` describes the bands. Use rows that were not used for fitting:
    otherwise curve, band and interval are optimistic.

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
    band: Literal["pointwise", "simultaneous"]
    confidence: float
    auc: float
    interval: tuple[float, float] | None = None
    name: str | None = None
    thresholds: npt.ArrayLike | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        *,
        band: Literal["pointwise", "simultaneous"] = "pointwise",
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
        band : {"pointwise", "simultaneous"}, default="pointwise"
        confidence : float, default=0.95
            Level of band and interval.
        interval : pair of float, optional
            Interval of the AUC in the legend, such as that of nested cross-validation. DeLong's by
            default.
        name : str, optional
            Name of the curve in the legend.
        ax : matplotlib Axes, optional
            A new figure by default.
        **kwargs
            Passed to matplotlib's ``plot`` for the curve.
        """
        if band not in ("pointwise", "simultaneous"):
            raise InputError(f"band must be 'pointwise' or 'simultaneous', got {band!r}")
        if not 0.0 < confidence < 1.0:
            raise InputError(f"confidence must lie strictly between 0 and 1, got {confidence}")
        area = auc(y_true, y_score)  # which checks both
        labels, scores = np.asarray(y_true), np.asarray(y_score, np.float64)
        positive = labels == np.unique(labels)[1]
        fpr, tpr, thresholds = roc_curve(positive, scores)
        if interval is None and min(positive.sum(), (~positive).sum()) > 1:
            limits = auc_confidence_interval(y_true, y_score, confidence)
            interval = limits.low, limits.high
        grid, low, high = roc_band(scores, positive, confidence, band=band)
        display = cls(
            fpr=fpr, tpr=tpr, band_fpr=grid, band_low=low, band_high=high, band=band,
            confidence=confidence, auc=area, interval=interval, name=name, thresholds=thresholds,
        )  # fmt: skip
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve, its band and the line of chance.

        Parameters are those of :meth:`from_predictions`.
        """
        ax = one_panel(ax, square=True)
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
            label=f"{level}: CI of the AUC, {self.band} band",
        )  # fmt: skip
        (self.chance_line_,) = ax.plot(
            [0, 1], [0, 1], color=QUIET, linestyle=":", linewidth=1, zorder=1
        )
        self.readings_ = self._readings()
        ax.set(
            xlabel="1 − specificity (false positive rate)", ylabel="sensitivity", aspect="equal",
            xlim=(-0.01, 1.01), ylim=(-0.01, 1.01),
        )  # fmt: skip
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _readings(self) -> list[Reading]:
        """Thresholds along the curve, a few hundred at most, and what the band says there."""
        if self.thresholds is None:
            return []
        curve = (self.fpr, self.tpr, self.thresholds)
        fpr, tpr, thresholds = (np.asarray(values, np.float64) for values in curve)
        way = fpr + tpr
        shown = np.unique(np.searchsorted(way, np.linspace(0, way[-1], 200)))
        band = (self.band_fpr, self.band_low, self.band_high)
        grid, low, high = (np.asarray(values, np.float64) for values in band)
        return [
            (
                float(fpr[i]),
                float(tpr[i]),
                f"threshold {thresholds[i]:.3g}: sensitivity {tpr[i]:.2f} "
                f"({np.interp(fpr[i], grid, low):.2f}–{np.interp(fpr[i], grid, high):.2f}), "
                f"specificity {1 - fpr[i]:.2f}",
            )
            for i in shown.tolist()
            if np.isfinite(thresholds[i])
        ]
