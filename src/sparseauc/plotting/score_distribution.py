"""The distribution of scores by class."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..curves import score_bins
from ..metrics import auc
from .axes import COLOURS, QUIET, ScoreDisplay, one_panel


@dataclass(kw_only=True, eq=False, repr=False)
class ScoreDistributionDisplay(ScoreDisplay):
    """Distribution of the scores of each class, with the threshold.

    Use :meth:`from_estimator`, which draws the classifier's own threshold, or
    :meth:`from_predictions`. Each class is drawn as shares of its own rows.

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
    ax_, figure_ : matplotlib Axes and Figure
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

    scores: npt.ArrayLike
    positive: npt.ArrayLike
    threshold: float | None = None
    labels: tuple[str, str] = ("negative", "positive")

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        *,
        threshold: float | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw scores.

        Parameters
        ----------
        y_true, y_score : array-like of shape (n,)
            Binary labels and scores, as for :func:`sparseauc.metrics.auc`.
        threshold : float, optional
            Scores above it are predicted positive.
        **kwargs
            Parameters of :meth:`plot`.
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
        return display.plot(**kwargs)

    @classmethod
    def _known(cls, estimator: Any) -> dict[str, Any]:
        """Return the classifier's own threshold."""
        return {"threshold": 0.0 if hasattr(estimator, "decision_function") else 0.5}

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both classes and the threshold.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        **kwargs
            Passed to matplotlib's ``hist`` for both classes.
        """
        ax = one_panel(ax)
        scores, positive = np.asarray(self.scores), np.asarray(self.positive, np.bool_)
        bins = kwargs.pop("bins", None)
        edges = (
            score_bins(scores, positive) if bins is None else np.histogram_bin_edges(scores, bins)
        )
        shown = np.clip(scores, edges[0], edges[-1])
        self.readings_ = []
        self.patches_ = {}
        for label, mask, colour, style in (
            (self.labels[0], ~positive, COLOURS[0], "-"),
            (self.labels[1], positive, COLOURS[1], "--"),
        ):
            above = ""
            if self.threshold is not None:
                above = f", {100 * np.mean(scores[mask] > self.threshold):.0f} % above"
            shares, _, (patch,) = ax.hist(
                shown[mask],
                **{
                    "bins": edges, "weights": np.full(mask.sum(), 1.0 / mask.sum()),
                    "histtype": "stepfilled", "facecolor": (colour, 0.3), "edgecolor": colour,
                    "linestyle": style, "linewidth": 1.5,
                    "label": f"{label} (n = {mask.sum()}{above})", **kwargs,
                },
            )  # fmt: skip
            self.patches_[label] = patch
            self.readings_ += [
                ((a + b) / 2, share, f"{label}: {100 * share:.3g} % score {a:.3g} to {b:.3g}")
                for a, b, share in zip(edges[:-1], edges[1:], shares.tolist(), strict=True)
                if share
            ]
        self.line_ = None
        if self.threshold is not None:
            self.line_ = ax.axvline(
                self.threshold, color=QUIET, linestyle=":", linewidth=1.5,
                label=f"threshold {self.threshold:.3g}",
            )  # fmt: skip
        ax.set(xlabel="score", ylabel="share of the class")
        ax.margins(y=0.3)  # room for the legend
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
