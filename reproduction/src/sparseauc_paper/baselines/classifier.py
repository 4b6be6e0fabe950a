"""What all classifiers compared share: checks of input, one way to fit, scores, a history."""

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..arrays import Array, Floats, Mask
from ..epochs import EpochRecord, SolverResult
from ..objective import AUCObjective

_RECORDED = ("epoch", "objective", "auc", "support_size", "step_size")


# Fields of a dataclass, so that a parameter which several classifiers have is written once.
@dataclass(kw_only=True, eq=False, repr=False)
class StochasticClassifier(SelectorMixin, ClassifierMixin, BaseEstimator):
    """A linear classifier fitted in epochs, which has the parameters named here and a ``_solve``.

    ``classes_[1]`` is the positive class. The threshold of 0 is midway between the class means of
    the score.
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
    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        """Run the solver; ``common`` holds max_epochs, tol, shuffle, start, callback and rng."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are not copied.
        y : array-like of shape (n,)
            Binary labels; the one that sorts last is positive.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        start = self.coef_[0] if self.warm_start and hasattr(self, "coef_") else None
        self._forget_fit()
        X, y = self._check_table(X, y)
        if start is not None and start.size != X.shape[1]:
            raise ValueError(f"the previous fit had {start.size} columns, X has {X.shape[1]}")
        check_classification_targets(y)
        self.classes_ = _two_classes(y)
        weight: Array | None = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if np.unique(y[weight > 0]).size < 2:
                raise ValueError("sample_weight is zero on all rows of a class")
        objective = AUCObjective(X, y == self.classes_[1], weight)
        self.history_: dict[str, list[float]] = {name: [] for name in _RECORDED}
        result = self._solve(
            objective,
            max_epochs=self.max_epochs,
            tol=self.tol,
            shuffle=self.shuffle,
            start=start,
            callback=self._record if self.record_history or self.verbose else None,
            rng=self._generator(),
        )
        coef = result.dense(X.shape[1])
        self.objective_ = objective.value(coef)
        self.n_iter_ = result.n_epochs
        return self._set_fitted(coef, objective.mean_positive, objective.mean_negative)

    def decision_function(self, X: Any) -> Floats:
        """Score rows. Rows with a score above 0 are predicted positive."""
        check_is_fitted(self, "coef_")
        (table,) = self._check_table(X, reset=False)
        support = np.flatnonzero(self.coef_[0])
        scores: Floats = table[:, support] @ self.coef_[0, support] + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row: positive if its score is above 0."""
        scores = self.decision_function(X)
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

    def _check_table(self, X: Any, *y: Any, reset: bool = True) -> tuple[Any, ...]:
        """Return X as an array or CSR matrix of finite numbers, and y where it is given."""
        checked = validate_data(
            self, X, *y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return checked if isinstance(checked, tuple) else (checked,)

    def _check_more_rows(self, X: Any, y: Any, classes: Any) -> tuple[Any, Mask]:
        """Return rows of a stream and the mask of positives."""
        first = not hasattr(self, "_stream")
        X, y = self._check_table(X, y, reset=first)
        if first:
            labels = np.unique(y if classes is None else classes)
            if labels.size != 2:
                raise ValueError(
                    f"the first call has {labels.size} class(es): "
                    "name both with partial_fit(X, y, classes=[negative, positive])"
                )
            self.classes_ = labels
        for label in np.setdiff1d(y, self.classes_).tolist():
            raise ValueError(f"y holds {label}, not among the classes {self.classes_.tolist()}")
        return X, y == self.classes_[1]

    def _generator(self) -> np.random.Generator:
        """Random choices of a fit."""
        state = check_random_state(self.random_state)
        # Two are drawn, as by SHTAUCClassifier, so that the same seed gives the same blocks.
        return np.random.default_rng(state.randint(np.iinfo(np.int32).max, size=2)[1])

    def _record(self, record: EpochRecord) -> None:
        """Note an epoch."""
        for name in _RECORDED:
            self.history_[name].append(getattr(record, name))
        if self.verbose:
            print(
                f"epoch {record.epoch:4d}  F {record.objective:.6f}  AUC {record.auc:.4f}  "
                f"columns {record.support_size}  step {record.step_size:.3g}"
            )

    def _forget_fit(self) -> None:
        """Remove everything that a fit has set."""
        for name in list(vars(self)):
            if name == "_stream" or (name.endswith("_") and not name.startswith("_")):
                delattr(self, name)

    def _set_fitted(self, coef: Floats, mean_positive: Floats, mean_negative: Floats) -> Self:
        """Set ``coef_``, and ``intercept_`` so that the threshold is midway between the classes."""
        middle = (coef @ mean_positive + coef @ mean_negative) / 2
        self.coef_ = coef.reshape(1, -1)
        self.intercept_ = np.array([-middle], dtype=coef.dtype)
        return self

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "coef_")
        mask: Mask = self.coef_[0] != 0
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
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
