"""What the stochastic classifiers share: one way to fit, a history, stopping early."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..errors import InputError
from ..metrics import fast_auc
from ..objective import Array, AUCObjective, Mask
from ..solvers import EpochRecord, SolverResult
from ._base import SparseLinearClassifier, check_scale, checks_parameters


# Fields of a dataclass, so that a parameter which several classifiers have is written once.
@dataclass(kw_only=True, eq=False, repr=False)
class StochasticClassifier(SparseLinearClassifier):
    """A classifier fitted in epochs, which has the parameters named here and a ``_solve``."""

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

    # Whether the method lowers F itself from w = 0, so that only too large a step can end above
    # F(0) = 1.
    _descends_from_zero: ClassVar[bool] = True

    @abstractmethod
    def _solve(self, objective: Any, **common: Any) -> SolverResult:
        """Run the solver; ``common`` holds max_epochs, tol, shuffle, start, callback and rng."""

    def _objective(self, X: Any, positive: Mask, weight: Array | None) -> Any:
        """Wrap the data; a subclass may support data that are not in memory."""
        check_scale(X)
        return AUCObjective(X, positive, weight)

    @checks_parameters()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
        X, positive, weight = self._check_training_data(X, y, sample_weight)
        if start is not None and start.size != X.shape[1]:
            raise InputError(
                f"warm_start: the previous fit had {start.size} columns, X has {X.shape[1]}; "
                "set warm_start=False or give the same columns"
            )
        seeds = self._seeds()
        monitor = EpochMonitor(positive, print_lines=bool(self.verbose))
        tol = self.tol
        if getattr(self, "early_stopping", False):
            weight = monitor.hold_out(
                weight, self.validation_fraction, self.n_iter_no_change, tol, seed=int(seeds[0])
            )
            tol = 0.0  # the held-out rows decide
        objective = self._objective(X, positive, weight)
        callback = getattr(self, "callback", None)
        watched = self.record_history or self.verbose or monitor.held_out is not None

        def watch(record: EpochRecord) -> bool:
            stop = monitor(record) if watched else False
            return bool(callback is not None and callback(record)) or stop

        result = self._solve(
            objective,
            max_epochs=self.max_epochs,
            tol=tol,
            shuffle=self.shuffle,
            start=start,
            callback=watch if watched or callback is not None else None,
            rng=np.random.default_rng(seeds[1]),
        )
        if monitor.best is not None:
            result = result._replace(support=monitor.best.support, values=monitor.best.values)
        coef = result.dense(X.shape[1])
        self.objective_ = objective.value(coef)
        self.n_iter_ = result.n_epochs
        self.history_ = monitor.history
        if self._descends_from_zero and self.objective_ > 1.0:
            warnings.warn(
                f"F ended at {self.objective_:g}, above its value 1 for no column at all: "
                f"step_size={self.step_size!r} is too large for these data",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self._set_fitted(coef, objective.mean_positive, objective.mean_negative)

    def _seeds(self) -> npt.NDArray[np.integer]:
        """Seeds of the rows held out, and of everything else."""
        state = check_random_state(self.random_state)
        seeds: npt.NDArray[np.integer] = state.randint(np.iinfo(np.int32).max, size=2)
        return seeds


class EpochMonitor:
    """Keeps the history of a fit, prints it, and decides when to stop early."""

    _RECORDED = ("epoch", "objective", "auc", "support_size", "step_size")

    def __init__(self, positive: Mask, *, print_lines: bool) -> None:
        # One list a quantity, one entry an epoch.
        self.history: dict[str, list[float]] = {name: [] for name in self._RECORDED}
        self.held_out: npt.NDArray[np.intp] | None = None  # rows for early stopping
        self.best: EpochRecord | None = None  # with the best AUC on them
        self._positive = positive
        self._print_lines = print_lines

    def hold_out(
        self, weight: Array | None, fraction: float, patience: int, least_gain: float, *, seed: int
    ) -> Array:
        """Hold out rows; return weights that are zero there, so that no row is copied."""
        fewest = int(min(self._positive.sum(), (~self._positive).sum()))
        if fewest < 2:
            raise InputError(
                "early_stopping needs at least 2 rows of each class, one to train and one to "
                f"validate; the smaller class has {fewest}"
            )
        n = self._positive.size
        size = min(max(2, round(fraction * n)), n - 2)
        split = StratifiedShuffleSplit(1, test_size=size, random_state=seed)
        _, held_out = next(split.split(np.empty((n, 1)), self._positive))
        # A rare class may be left out of a small stratified part; one row of it is enough.
        for mask in (self._positive, ~self._positive):
            if not mask[held_out].any():
                held_out = np.append(held_out, np.flatnonzero(mask)[seed % mask.sum()])
        self.held_out = held_out
        self.history["validation_auc"] = []
        self._patience, self._least_gain = patience, least_gain
        self._best_auc, self._to_beat, self._epochs_without_gain = -np.inf, -np.inf, 0
        training = np.ones(n) if weight is None else weight.copy()
        training[held_out] = 0.0
        return training

    def __call__(self, record: EpochRecord) -> bool:
        """Note an epoch; True where training should stop."""
        for name in self._RECORDED:
            self.history[name].append(getattr(record, name))
        stop = False
        if self.held_out is not None:
            auc = fast_auc(record.scores[self.held_out], self._positive[self.held_out])
            self.history["validation_auc"].append(auc)
            if auc > self._best_auc:
                self.best, self._best_auc = record, auc
            if auc > self._to_beat:
                self._to_beat, self._epochs_without_gain = auc + self._least_gain, 0
            else:
                self._epochs_without_gain += 1
            stop = self._epochs_without_gain >= self._patience
        if self._print_lines:
            held_out = "" if self.held_out is None else f"  validation AUC {auc:.4f}"
            print(
                f"epoch {record.epoch:4d}  F {record.objective:.6f}  AUC {record.auc:.4f}  "
                f"columns {record.support_size}  step {record.step_size:.3g}{held_out}"
            )
        return stop
