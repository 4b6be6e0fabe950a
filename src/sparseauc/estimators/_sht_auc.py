"""SHTAUCClassifier: the paper's SHT-AUC behind scikit-learn's interface."""

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call

from .._validation import check_known_labels
from ..chunks import Chunks
from ..errors import InputError
from ..metrics import fast_auc
from ..moments import ColumnError
from ..solvers.rows import BLOCK_ORDERS, BlockOrder
from ..solvers.sht_auc import (
    EpochRecord,
    StepSize,
    TrainingSet,
    sht_auc,
)
from ..solvers.sht_auc_stream import SHTAUCStream, TrainingChunks
from ..utils.types import Mask
from ._base import (
    SparseLinearClassifier,
    check_table,
    check_target,
    checks_parameters,
    columns_to_keep,
    frames_of_ours,
    set_lines,
)


class SHTAUCClassifier(SparseLinearClassifier):
    """Rank positives above negatives with at most k columns, by stochastic hard thresholding.

    Minimises the squared pairwise loss of the AUC,

        F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   ‖w‖₀ ≤ k,

    with Algorithm 1 of Yang, Zhou, Lei and Ying (ICDM 2020): a gradient step on a block
    of rows, then only the k largest coefficients are kept. So columns must be on
    comparable scales: put ``StandardScaler``, or ``MaxAbsScaler`` for sparse data,
    before it.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. If X has fewer, all are kept, with a warning.
    batch_size : int, default=256
        Rows of a block (b in the paper); more than n means all rows. With few positives
        small blocks rank new rows worse. Where X is read in chunks, as from
        :func:`sparseauc.chunks.open_table` or a Dask collection, every epoch reads the
        chunks from first to last and cuts each into blocks.
    step_size : float, "auto" or "paper", default="auto"
        γ on the paper's scale, constant. ``"auto"`` follows the course of F, cannot
        diverge, and ends at the best iterate seen. ``"paper"`` is the step of the
        authors' programs, c = 1: γ = r(1 − r)/mean‖x‖², with r the share of positives.
        So small a step acts as early stopping: it ranks new rows better where columns
        are weak and independent, and worse where they are correlated.
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the coefficients move over an epoch by less than ``tol`` times their
        norm. With ``early_stopping``, also the least gain in validation AUC that
        counts.
    block_order : {"replacement", "permutation", "cyclic"}, default="replacement"
        Blocks drawn with replacement (the paper), in a fresh random order every epoch,
        or in order, which reads files from first to last.
    shuffle : bool, default=True
        Deal the rows to the blocks at random; otherwise neighbouring rows form a block,
        which reads a memory map in order. Rows that are read in chunks are dealt within
        their chunk.
    early_stopping : bool, default=False
        Hold out a stratified part of the rows, stop when their AUC no longer improves,
        and return the coefficients of the best epoch. Run to the end, SHT-AUC overfits
        when rows are few; but few positives held out are a poor judge, and correlated
        columns need many epochs.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping.
    n_iter_no_change : int, default=5
        Epochs without improvement before early stopping ends the run.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    record_history : bool, default=True
        Compute F and the training AUC after every epoch. This is cheap with more
        columns than rows, and costs more than the epoch itself with far more rows than
        columns.
    callback : callable or None, default=None
        Called in ``fit`` with an ``EpochRecord`` after each epoch; returning
        True ends the run.
    random_state : int, RandomState instance or None, default=None
        Seed of the blocks and of the held-out rows.
    verbose : int, default=0
        Above 0, one line per epoch.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Puts the threshold of 0 midway between the class means of the score, so that
        both classes count the same. For probabilities use ``CalibratedClassifierCV``.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    n_iter_ : int
        Epochs run.
    history_ : dict of str to list
        ``epoch``, ``objective`` (F), ``auc`` (on the training rows), ``support_size``,
        ``step_size``, and with ``early_stopping`` ``validation_auc``. Empty lists
        without ``record_history``.
    objective_ : float
        F at ``coef_``, on the rows used for training.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X has string column names.

    Notes
    -----
    Choose k by cross-validation with
    ``GridSearchCV(SHTAUCClassifier(), {"k": [5, 10, 20]}, scoring="roc_auc")``.

    References
    ----------
    Z. Yang, B. Zhou, Y. Lei and Y. Ying, "Stochastic Hard Thresholding Algorithms for
    AUC Maximization", IEEE International Conference on Data Mining, 2020.

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

    # Of partial_fit.
    _stream: SHTAUCStream | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "step_size": [
            StrOptions({"auto", "paper"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "block_order": [StrOptions(set(BLOCK_ORDERS))],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "record_history": ["boolean"],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        k: int = 10,
        *,
        batch_size: int = 256,
        step_size: StepSize = "auto",
        max_epochs: int = 50,
        tol: float = 1e-4,
        block_order: BlockOrder = "replacement",
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        record_history: bool = True,
        callback: Callable[[EpochRecord], bool | None] | None = None,
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
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @checks_parameters
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
        X, outcome, _ = self._check_rows(X, y, sample_weight)
        positive = outcome.positive
        weight = outcome.weight
        if start is not None and start.size != X.shape[1]:
            raise InputError(
                f"warm_start: the previous fit had {start.size} columns, X has {X.shape[1]}; "
                "set warm_start=False or give the same columns"
            )
        if not isinstance(X, Chunks):
            _check_scale(X)
        state = check_random_state(self.random_state)
        # Of the rows held out, and of everything else.
        seeds = state.randint(np.iinfo(np.int32).max, size=2)
        held_out = None
        if self.early_stopping:
            weight = np.ones(positive.size) if weight is None else weight.copy()
            counted = np.flatnonzero(weight)
            held_out = counted[
                _rows_to_hold_out(
                    positive[counted], self.validation_fraction, int(seeds[0])
                )
            ]
            weight[held_out] = 0.0  # as good as absent, without a copy of the others
        home = TrainingChunks if isinstance(X, Chunks) else TrainingSet
        training = home(
            X,
            positive,
            weight,
            batch_size=self.batch_size,
            block_order=self.block_order,
            shuffle=self.shuffle,
            rng=np.random.default_rng(seeds[1]),
        )
        monitor = _Monitor(self, positive, held_out)
        watched = self.record_history or self.verbose or self.early_stopping
        w, self.n_iter_ = sht_auc(
            training,
            columns_to_keep(self),
            step_size=self.step_size,
            max_epochs=self.max_epochs,
            tol=0.0
            if self.early_stopping
            else self.tol,  # else the rows held out decide
            start=start,
            callback=monitor if watched or self.callback is not None else None,
        )
        if monitor.best is not None:
            w = np.zeros_like(w)
            w[monitor.best.support] = monitor.best.values
        self.objective_ = training.value(training.scores(w))
        self.history_ = monitor.history
        if self.objective_ > 1.0:
            warnings.warn(
                f"F ended at {self.objective_:g}, above its value 1 for no column at all: "
                f"step_size={self.step_size!r} is too large for these data",
                ConvergenceWarning,
                stacklevel=frames_of_ours(),
            )
        set_lines(self, w, training.means.mean(axis=0))
        return self

    @checks_parameters
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Take one step of SHT-AUC on a block of rows, which is read once and not kept.

        Class means and the share of positives are those of the rows seen so far. No
        step is taken before rows of both classes have come. A first call starts from
        zero, also after ``fit``; a later ``fit`` starts anew. The columns should be on
        comparable scales, as in ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The block. ``batch_size`` and the other parameters of epochs have no effect.
        y : array-like of shape (n,)
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call if its rows are of one class.

        Returns
        -------
        self
        """
        first = self._stream is None
        X = check_table(self, X, reset=first)
        y = check_target(self, y, X.shape[0])
        if first:
            labels = np.unique(y if classes is None else classes)
            if labels.size != 2:
                raise InputError(
                    f"the first call has {labels.size} class(es): "
                    "name both with partial_fit(X, y, classes=[negative, positive])"
                )
        else:
            _check_partial_fit_first_call(self, classes)
            labels = self.classes_
        positive = check_known_labels(y, labels)
        self.classes_ = labels
        if self._stream is None:
            k = columns_to_keep(self)
            self._stream = SHTAUCStream(X.shape[1], k, self.step_size)
            self.n_iter_ = 1
        self._stream.take(X, positive)
        centre = self._stream.means.mean(axis=0)
        set_lines(self, self._stream.w.astype(X.dtype), centre)
        return self


def _check_scale(X: Any) -> None:
    """Refuse columns whose squares leave the range of their type, naming the first."""
    sparse = sp.issparse(X)
    values = X.data if sparse else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    range_ = np.finfo(values.dtype)
    # Sums over a million rows stay in range, too.
    upper = math.sqrt(range_.max) * 2.0**-10
    lower = math.sqrt(range_.tiny) * 2.0**2
    if largest > upper:
        magnitudes = abs(X).max(axis=0)
        column = int(
            np.argmax((magnitudes.toarray() if sparse else magnitudes) > upper)
        )
        raise ColumnError(column, f"too large to square in {values.dtype}")
    if 0.0 < largest < lower:
        raise InputError(
            f"no value of X is larger than {largest:g}, too small to square in {values.dtype}: "
            "rescale the columns"
        )


class _Monitor:
    """The callback of a fit: keeps its history, prints it, and decides when to stop early."""

    _RECORDED = ("epoch", "objective", "auc", "support_size", "step_size")

    def __init__(
        self,
        model: SHTAUCClassifier,
        positive: Mask,
        held_out: npt.NDArray[np.intp] | None,
    ) -> None:
        self.best: EpochRecord | None = None  # with the best AUC of the rows held out
        # One list a quantity, one entry an epoch.
        self.history: dict[str, list[float]] = {name: [] for name in self._RECORDED}
        if held_out is not None:
            self.history["validation_auc"] = []
        self._model = model
        self._positive = positive
        self._held_out = held_out
        self._best_auc = -np.inf
        self._to_beat = -np.inf
        self._epochs_without_gain = 0

    def __call__(self, record: EpochRecord) -> bool:
        """Note an epoch; True where training should stop."""
        model = self._model
        stop = False
        line = (
            f"epoch {record.epoch:4d}  F {record.objective:.6f}  AUC {record.auc:.4f}  "
            f"columns {record.support_size}  step {record.step_size:.3g}"
        )
        if model.record_history or model.verbose or self._held_out is not None:
            for name in self._RECORDED:
                self.history[name].append(getattr(record, name))
        if self._held_out is not None:
            auc = fast_auc(
                record.scores[self._held_out], self._positive[self._held_out]
            )
            self.history["validation_auc"].append(auc)
            line += f"  validation AUC {auc:.4f}"
            stop = self._stops(record, auc)
        if model.verbose:
            print(line)
        return bool(model.callback is not None and model.callback(record)) or stop

    def _stops(self, record: EpochRecord, auc: float) -> bool:
        """Return whether the AUC of the rows held out has not risen for too long."""
        if auc > self._best_auc:
            self.best = record
            self._best_auc = auc
        self._epochs_without_gain += 1
        if auc > self._to_beat:
            self._to_beat = auc + self._model.tol
            self._epochs_without_gain = 0
        return self._epochs_without_gain >= self._model.n_iter_no_change


def _rows_to_hold_out(
    positive: Mask, fraction: float, seed: int
) -> npt.NDArray[np.intp]:
    """Draw rows for early stopping, at least one of each class."""
    fewest = int(min(positive.sum(), (~positive).sum()))
    if fewest < 2:
        raise InputError(
            "early_stopping needs at least 2 rows of each class, one to train and one to "
            f"validate; the smaller class has {fewest}"
        )
    n = positive.size
    size = min(max(2, round(fraction * n)), n - 2)
    split = StratifiedShuffleSplit(1, test_size=size, random_state=seed)
    _, held_out = next(split.split(np.empty((n, 1)), positive))
    # A rare class may be left out of a small stratified part; one row of it is enough.
    for mask in (positive, ~positive):
        if not mask[held_out].any():
            held_out = np.append(held_out, np.flatnonzero(mask)[seed % mask.sum()])
    return np.asarray(held_out)
