"""What displays share: estimators and names they are given, axes, lines with names beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..selection.confidence import scores_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Okabe and Ito's colours, told apart by readers with any kind of colour vision; yellow, too pale
# for a line, is left out, and black is that of text.
TEXT, QUIET, PALE, BACKGROUND = "#1f2328", "#5b6169", "#cccac4", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", TEXT)
_STYLES = ("-", "--", "-.")

# A point of a display and what it says there, for pages that show it under the pointer.
Reading = tuple[float, float, str]


def fitted_step(estimator: Any, attribute: str, otherwise: str) -> Any:
    """Last step of a fitted estimator, which must have an attribute."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(model)
    if not hasattr(model, attribute):
        raise InputError(f"{type(model).__name__} {otherwise}")
    return model


class PathDisplay(ABC):
    """Base of displays of the path of a model, at the ridge it chose."""

    # What a fitted model must have, and what is said of those without it.
    _needed: ClassVar[tuple[str, str]]

    @classmethod
    def from_estimator(cls, estimator: Any, **kwargs: Any) -> Self:
        """Draw the path of a ``SparseAUCClassifierCV``.

        Parameters
        ----------
        estimator : SparseAUCClassifierCV
            Fitted; or a pipeline that ends in one.
        **kwargs
            Other parameters, such as those of :meth:`plot`.
        """
        model = fitted_step(estimator, *cls._needed)
        chosen = getattr(model, path_axis(model.cv_results_) + "_", None)
        return cls._from_model(model, chosen=chosen, **kwargs)

    @classmethod
    @abstractmethod
    def _from_model(cls, model: Any, **kwargs: Any) -> Self:
        """Draw the path of a fitted model."""


class ScoreDisplay(ABC):
    """Base of displays of the scores of rows."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: npt.ArrayLike, **kwargs: Any) -> Self:
        """Draw the scores of rows by a fitted classifier.

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
        return cls.from_predictions(y, scores_by(estimator, X), **cls._known(estimator), **kwargs)

    @classmethod
    @abstractmethod
    def from_predictions(cls, y_true: npt.ArrayLike, y_score: npt.ArrayLike, **kwargs: Any) -> Self:
        """Draw scores."""

    @classmethod
    def _known(cls, estimator: Any) -> dict[str, Any]:  # noqa: ARG003
        """Parameters of :meth:`from_predictions` that an estimator knows."""
        return {}


def names_of(columns: npt.NDArray[Any], names: Sequence[str] | None) -> list[str]:
    """Names of columns; x0, x1, … where there are none."""
    if names is None:
        return [f"x{j}" for j in columns.tolist()]
    if len(names) <= max(columns.tolist(), default=-1):
        raise InputError(f"there are {len(names)} names, and a column {max(columns.tolist())}")
    return [str(names[j]) for j in columns.tolist()]


def one_panel(ax: Any, *, square: bool = False) -> Any:
    """The Axes given, or those of a new figure."""
    if ax is None:
        # Only a new figure needs pyplot, which sets up a window system where there is one.
        from matplotlib import pyplot as plt

        width, height = plt.rcParams["figure.figsize"]
        size = (height, height) if square else (width, height)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def path_axis(cv_results: Mapping[str, Any]) -> str:
    """What a path that was cross-validated runs along: "k", or "budget" of several."""
    return "budget" if np.unique(cv_results.get("param_budget", ())).size > 1 else "k"


def label_path(ax: Axes, along: str = "k") -> None:
    """Say what a path runs along; numbers of columns are whole."""
    from matplotlib.ticker import MaxNLocator

    if along == "budget":
        ax.set_xlabel("budget")
        return
    ax.set_xlabel("number of columns k")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def draw_columns(
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
        style = {"color": PALE, "linewidth": 1, "marker": ".", "markersize": 3, "zorder": 1.5}
        (lines[names[j]],) = ax.plot(ks, values[:, j], **{**style, **kwargs})
    for place, j in enumerate(named):
        style = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": _STYLES[place // len(COLOURS) % len(_STYLES)],
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
