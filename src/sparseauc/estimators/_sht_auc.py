"""SHTAUCClassifier: the paper's SHT-AUC behind scikit-learn's interface."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..blocks import BLOCK_ORDERS, BlockOrder
from ..metrics import fast_auc
from ..objective import AUCObjective
from ..solvers.sht_auc import EpochRecord, sht_auc
from ._base import SparseLinearClassifier


class SHTAUCClassifier(SparseLinearClassifier):
    """Rank positives above negatives with at most k columns, by stochastic hard thresholding.

    Minimises the squared pairwise loss of the AUC,

        F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   ‖w‖₀ ≤ k,

    with Algorithm 1 of Yang, Zhou, Lei and Ying (ICDM 2020): a gradient step on a block of rows, then
    only the k largest coefficients are kept. Columns should be on comparable scales (put
    ``StandardScaler``, or ``MaxAbsScaler`` for sparse data, before it): a coefficient competes by its size.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. More than there are keeps all, with a warning.
    batch_size : int, default=64
        Rows of a block (b in the paper). More than n means all rows.
    step_size : float or "auto", default="auto"
        γ on the paper's scale, constant. ``"auto"`` follows the course of F, cannot diverge, and ends
        at the best iterate seen. (The authors' programs multiply the gradient by r(1 − r): their
        c = 1 is γ = r(1 − r) here, with r the share of positives.)
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the coefficients move over an epoch by less than ``tol`` times their norm. With
        ``early_stopping``, also the least gain in validation AUC that counts.
    block_order : {"replacement", "permutation", "cyclic"}, default="replacement"
        Blocks drawn with replacement (the paper), in a fresh random order every epoch, or in order.
    shuffle : bool, default=True
        Deal the rows to the blocks at random; otherwise neighbouring rows form a block.
    early_stopping : bool, default=False
        Hold out a stratified part of the rows, stop when their AUC no longer improves, and return
        the coefficients of the best epoch. Run to the end, SHT-AUC overfits when rows are few.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping.
    n_iter_no_change : int, default=5
        Epochs without improvement before early stopping ends the run.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    record_history : bool, default=True
        Compute F and the training AUC after every epoch. Costs little while columns outnumber rows
        and more than the epoch itself when rows far outnumber columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the blocks and of the held-out rows.
    verbose : int, default=0
        Above 0, a line an epoch.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Minus the score midway between the class means, so that each class weighs the same in the
        threshold however rare it is. For probabilities use ``CalibratedClassifierCV``.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    n_iter_ : int
        Epochs run.
    history_ : dict of str to list
        ``epoch``, ``objective`` (F), ``auc`` (on the training rows), ``support_size``,
        ``step_size``, and with ``early_stopping`` ``validation_auc``. Empty lists without
        ``record_history``.
    objective_ : float
        F at ``coef_``, on the rows used for training.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X has string column names.

    See Also
    --------
    sparseauc.solvers.sht_auc : The algorithm on its own, with a callback.

    References
    ----------
    Z. Yang, B. Zhou, Y. Lei and Y. Ying, "Stochastic Hard Thresholding Algorithms for AUC
    Maximization", IEEE International Conference on Data Mining, 2020.

    Examples
    --------
    >>> from sparseauc import SHTAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=50, k=5, mu=1.0, r=0.1, random_state=0)
    >>> model = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    >>> int(model.get_support().sum())
    5
    >>> model.transform(X).shape
    (2000, 5)
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's protocol
        "k": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "block_order": [StrOptions(set(BLOCK_ORDERS))],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "record_history": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        k: int = 10,
        *,
        batch_size: int = 64,
        step_size: float | Literal["auto"] = "auto",
        max_epochs: int = 50,
        tol: float = 1e-4,
        block_order: BlockOrder = "replacement",
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        record_history: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.batch_size = batch_size
        self.step_size = step_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.block_order = block_order
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are not copied.
        y : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; a pair of rows counts with the product of theirs.

        Returns
        -------
        self
        """
        start = self.coef_[0] if self.warm_start and hasattr(self, "coef_") else None
        X, positive, weight = self._check_training_data(X, y, sample_weight)
        k = self._columns_to_keep(self.k, X.shape[1])
        if start is not None and start.size != X.shape[1]:
            raise ValueError(
                f"warm_start: the previous fit had {start.size} columns, X has {X.shape[1]}; "
                "set warm_start=False or give the same columns"
            )
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2)
        monitor = _EpochMonitor(self, positive)
        if self.early_stopping:
            weight = monitor.hold_out(weight, int(seeds[0]))
        objective = AUCObjective(X, positive, weight)
        result = sht_auc(
            objective,
            k,
            batch_size=self.batch_size,
            step_size=self.step_size,
            max_epochs=self.max_epochs,
            tol=0.0 if self.early_stopping else self.tol,
            block_order=self.block_order,
            shuffle=self.shuffle,
            start=start,
            callback=monitor if monitor.needed else None,
            rng=np.random.default_rng(seeds[1]),
        )
        coef = result.dense(X.shape[1])
        self.objective_ = result.objective
        if monitor.best is not None:
            coef = np.zeros_like(coef)
            coef[monitor.best.support] = monitor.best.values
            self.objective_ = monitor.best.objective
        if self.objective_ > 1.0:
            warnings.warn(
                f"F ended at {self.objective_:g}, above its value 1 for no column at all: "
                f'step_size={self.step_size:g} is too large for these data; use "auto" or less',
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = result.n_epochs
        self.history_ = monitor.history
        return self._set_fitted(coef, objective.mean_positive, objective.mean_negative)


class _EpochMonitor:
    """Keeps the history of a fit, prints it, and decides when to stop early."""

    def __init__(self, model: SHTAUCClassifier, positive: npt.NDArray[np.bool_]) -> None:
        self.model = model
        self.positive = positive
        self.held_out: npt.NDArray[np.intp] | None = None
        self.best: EpochRecord | None = None
        self._best_auc = -np.inf
        self._epochs_without_gain = 0
        names = ["epoch", "objective", "auc", "support_size", "step_size"]
        if model.early_stopping:
            names.append("validation_auc")
        self.history: dict[str, list[float]] = {name: [] for name in names}

    @property
    def needed(self) -> bool:
        model = self.model
        return bool(model.record_history or model.early_stopping or model.verbose)

    def hold_out(
        self, weight: npt.NDArray[np.float64] | None, seed: int
    ) -> npt.NDArray[np.float64]:
        """Weights with zeros on the held-out rows: the rows themselves need not be copied."""
        fewest = min(self.positive.sum(), (~self.positive).sum())
        if fewest < 2:
            raise ValueError(
                "early_stopping needs at least 2 rows of each class, one to train and one to "
                f"validate; the smaller class has {fewest}"
            )
        n = self.positive.size
        size = max(2, round(self.model.validation_fraction * n))
        split = StratifiedShuffleSplit(1, test_size=min(size, n - 2), random_state=seed)
        _, held_out = next(split.split(np.empty((n, 1)), self.positive))
        # A rare class may be left out of a small stratified part; one row of it is enough.
        for mask in (self.positive, ~self.positive):
            if not mask[held_out].any():
                held_out = np.append(held_out, np.flatnonzero(mask)[seed % mask.sum()])
        self.held_out = held_out
        training = np.ones(n) if weight is None else weight.copy()
        training[held_out] = 0.0
        return training

    def __call__(self, record: EpochRecord) -> bool:
        for name in ("epoch", "objective", "auc", "support_size", "step_size"):
            self.history[name].append(getattr(record, name))
        line = (
            f"epoch {record.epoch:4d}  F {record.objective:.6f}  AUC {record.auc:.4f}  "
            f"columns {record.support_size}  step {record.step_size:.3g}"
        )
        stop = False
        if self.held_out is not None:
            auc = fast_auc(record.scores[self.held_out], self.positive[self.held_out])
            self.history["validation_auc"].append(auc)
            line += f"  validation AUC {auc:.4f}"
            if auc > self._best_auc + (self.model.tol if self.best is not None else 0.0):
                self._epochs_without_gain = 0
            else:
                self._epochs_without_gain += 1
            if auc > self._best_auc:
                self.best, self._best_auc = record, auc
            stop = self._epochs_without_gain >= self.model.n_iter_no_change
        if self.model.verbose:
            print(line)
        return stop
