"""What the classifiers compared share: checks of input, one way to fit, scores, a history."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from sparseauc.metrics import auc

from ..arrays import Array, Indices, Mask
from ..objective import AUCObjective
from ..thresholding import Solver


# Fields of a dataclass, so that a parameter which several classifiers have is written
# once.
@dataclass(kw_only=True, eq=False, repr=False)
class StochasticClassifier(SelectorMixin, ClassifierMixin, BaseEstimator):
    """A linear classifier fitted in epochs, with the parameters named here and a ``_begin``.

    ``classes_[1]`` is the positive class. The threshold of 0 is midway between the
    class means of the score.
    """

    step_size: float | Literal["auto"] = "auto"
    max_epochs: int = 50
    tol: float = 1e-4
    shuffle: bool = True
    warm_start: bool = False
    record_history: bool = True
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "record_history": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _begin(self, objective: AUCObjective, start: Array | None) -> Solver:
        """Begin a run; ``start`` are the coefficients of a fit before, if it goes on from them."""

    @abstractmethod
    def _epochs(
        self, objective: AUCObjective, rng: np.random.Generator
    ) -> Iterator[Any]:
        """Yield what each epoch visits."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Binary labels; the one that sorts last is positive.

        Returns
        -------
        self
        """
        start = self.coef_[0] if self.warm_start and hasattr(self, "coef_") else None
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        if start is not None and start.size != X.shape[1]:
            raise ValueError(
                f"the previous fit had {start.size} columns, X has {X.shape[1]}"
            )
        check_classification_targets(y)
        self.classes_ = _two_classes(y)
        objective = AUCObjective(X, y == self.classes_[1])
        # Two are drawn, as by SHTAUCClassifier, so that the same seed gives the same
        # blocks.
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=2
        )
        solver = self._begin(objective, start)
        epochs = self._epochs(objective, np.random.default_rng(seeds[1]))
        self.history_: dict[str, list[float]] = {}
        after = solver.coef.copy()
        for epoch, visited in enumerate(islice(epochs, self.max_epochs), 1):
            self.n_iter_ = epoch
            before = after
            undone = solver.run_epoch(visited)
            after = solver.coef.copy()
            if not np.isfinite(after).all():
                raise ValueError(
                    f"{type(self).__name__} diverged in epoch {epoch} with "
                    f"step_size={solver.step:g}: give a smaller one, or rescale the columns"
                )
            if self.record_history or self.verbose:
                self._record(objective, after, solver.step)
            if not undone and np.linalg.norm(
                after - before
            ) < self.tol * np.linalg.norm(before):
                break
        return self._set_fitted(objective, solver)

    def _set_fitted(self, objective: AUCObjective, solver: Solver) -> Self:
        coef = self._cut(solver.answer)
        middle = (coef @ objective.mean_positive + coef @ objective.mean_negative) / 2
        self.coef_ = coef.reshape(1, -1)
        self.intercept_ = np.array([-middle])
        self.objective_ = objective.value(coef)
        return self

    def _cut(self, coef: Array) -> Array:
        """Return the coefficients that count."""
        return coef

    def decision_function(self, X: Any) -> Array:
        """Score rows. Rows with a score above 0 are predicted positive."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        scores: Array = X @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row: positive if its score is above 0."""
        scores = self.decision_function(X)
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

    def _record(self, objective: AUCObjective, coef: Array, step: float) -> None:
        """Note an epoch."""
        seen = {
            "epoch": self.n_iter_,
            "objective": objective.value(coef),
            "auc": auc(objective.positive, objective.scores(coef)),
            "support_size": int(np.count_nonzero(coef)),
            "step_size": step,
        }
        for name, value in seen.items():
            self.history_.setdefault(name, []).append(value)
        if self.verbose:
            print("  ".join(f"{name} {value:.4g}" for name, value in seen.items()))

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "coef_")
        mask: Mask = self.coef_[0] != 0
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _two_classes(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    classes = np.unique(y)
    if classes.size == 1:
        raise ValueError("y holds one class only: ranking needs two")
    if classes.size > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}, with {classes.size} classes"
        )
    return classes


class RowSolver(Solver):
    """A run that takes one row at a time."""

    def __init__(self, objective: AUCObjective, step_size: float) -> None:
        self.X = objective.table
        self.positive = objective.positive
        self.step_size = float(step_size)
        self.w = np.zeros(objective.n_features)
        self.total = np.zeros_like(
            self.w
        )  # the sum of iterates whose mean is the answer
        self.t = 0

    @property
    def step(self) -> float:  # type: ignore[override]
        """The step ξ/√t taken last."""
        return self.step_size / math.sqrt(max(self.t, 1))


def row_norms(X: Array) -> Array:
    """Euclidean norm of every row."""
    unit = (
        np.abs(X).max() or 1.0
    )  # in units of the largest entry, squares stay in range
    norms: Array = np.linalg.norm(X / unit, axis=1) * unit
    return norms


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineClassifier(StochasticClassifier):
    """A convex method that takes one row at a time."""

    zero_threshold: float = 0.0

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "zero_threshold": [Interval(Real, 0, None, closed="left")],
    }

    def _epochs(
        self, objective: AUCObjective, rng: np.random.Generator
    ) -> Iterator[Indices]:
        """Yield the rows of each epoch."""
        n = objective.n_rows
        while True:
            yield rng.permutation(n) if self.shuffle else np.arange(n)

    def _step(self, X: Array) -> float:
        """``step_size``, or one over the mean squared length of the rows.

        With that step, a row changes its own score by about one.
        """
        if not isinstance(self.step_size, str):
            return float(self.step_size)
        norms = row_norms(X)
        longest = float(norms.max()) or 1.0
        # In units of the longest, so that squares stay in range.
        return 1.0 / (float(np.mean((norms / longest) ** 2)) or 1.0) / longest / longest

    def _cut(self, coef: Array) -> Array:
        return np.where(np.abs(coef) < self.zero_threshold, 0.0, coef)
