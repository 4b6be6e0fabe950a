"""SHTAUCClassifier: the paper's SHT-AUC behind scikit-learn's interface."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Self

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..blocks import BLOCK_ORDERS, BlockOrder
from ..chunks import Chunks, DeviceChunks
from ..objective import Array, Mask, Objective
from ..objective.chunks import ChunkObjective
from ..objective.device import DeviceObjective
from ..solvers import EpochRecord, SolverResult, sht_auc
from ..solvers.sht_auc_stream import SHTAUCStream
from .stochastic import StochasticClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class SHTAUCClassifier(StochasticClassifier):
    """Rank positives above negatives with at most k columns, by stochastic hard thresholding.

    Minimises the squared pairwise loss of the AUC,

        F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   ‖w‖₀ ≤ k,

    with Algorithm 1 of Yang, Zhou, Lei and Ying (ICDM 2020): a gradient step on a block of rows,
    then only the k largest coefficients are kept. So columns must be on comparable scales: put
    ``StandardScaler``, or ``MaxAbsScaler`` for sparse data, before it.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. If X has fewer, all are kept, with a warning.
    batch_size : int, default=64
        Rows of a block (b in the paper). More than n means all rows. Where X is read in chunks, as
        from :func:`sparseauc.chunks.open_table` or a Dask collection, a block is a chunk.
    step_size : float or "auto", default="auto"
        γ on the paper's scale, constant. ``"auto"`` follows the course of F, cannot diverge, and
        ends at the best iterate seen. (The authors' programs multiply the gradient by r(1 − r):
        their c = 1 is γ = r(1 − r) here, with r the share of positives.)
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the coefficients move over an epoch by less than ``tol`` times their norm. With
        ``early_stopping``, also the least gain in validation AUC that counts.
    block_order : {"replacement", "permutation", "cyclic"}, default="replacement"
        Blocks drawn with replacement (the paper), in a fresh random order every epoch, or in order.
    shuffle : bool, default=True
        Deal the rows to the blocks at random; otherwise neighbouring rows form a block, which
        reads a memory map in order. Rows that are read in chunks stay where they are.
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
        Compute F and the training AUC after every epoch. This is cheap with more columns than rows,
        and costs more than the epoch itself with far more rows than columns.
    callback : callable or None, default=None
        Called in ``fit`` with an ``EpochRecord`` after each epoch; returning
        True ends the run.
    random_state : int, RandomState instance or None, default=None
        Seed of the blocks and of the held-out rows.
    verbose : int, default=0
        Above 0, one line per epoch.
    device : str or None, default=None
        Torch device to fit on: ``"cuda"``, ``"cuda:1"``, ``"cpu"``. Needs torch and a dense X;
        arrays larger than its memory are streamed block by block. ``None`` fits arrays on the CPU
        without torch, and tensors on their device. Fitted attributes are NumPy arrays.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Puts the threshold of 0 midway between the class means of the score, so that both classes
        count the same. For probabilities use ``CalibratedClassifierCV``.
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
    sparseauc.solvers.sht_auc : The algorithm on its own.

    Notes
    -----
    Choose k by cross-validation with
    ``GridSearchCV(SHTAUCClassifier(), {"k": [5, 10, 20]}, scoring="roc_auc")``.

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

    k: int = field(default=10, kw_only=False)
    batch_size: int = 64
    block_order: BlockOrder = "replacement"
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    device: str | None = None
    callback: Callable[[EpochRecord], bool | None] | None = None

    _reads_chunks = True

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "k": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "block_order": [StrOptions(set(BLOCK_ORDERS))],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "device": [str, None],
        "callback": [callable, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Take one step of SHT-AUC on a block of rows, which is read once and not kept.

        Class means and the share of positives are those of the rows seen so far. No step is taken
        before rows of both classes have come. A first call starts from zero, also after ``fit``; a
        later ``fit`` starts anew. The columns should be on comparable scales, as in ``fit``.

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
        X, positive = self._check_more_rows(X, y, classes)
        if not hasattr(self, "_stream"):
            k = self._columns_to_keep(self.k, X.shape[1])
            self._stream = SHTAUCStream(X.shape[1], k, self.step_size)
            self.n_iter_ = 1
        self._stream.take(X, positive)
        return self._set_fitted(self._stream.w.astype(X.dtype), *self._stream.means.astype(X.dtype))

    def _objective(self, X: Any, positive: Mask, weight: Array | None) -> Any:
        if isinstance(X, DeviceChunks):
            return DeviceObjective(X, positive, weight)
        if isinstance(X, Chunks):
            return ChunkObjective(X, positive, weight)
        return super()._objective(X, positive, weight)

    def _solve(self, objective: Objective, **common: Any) -> SolverResult:
        return sht_auc(
            objective,
            self._columns_to_keep(self.k, objective.n_features),
            batch_size=self.batch_size,
            step_size=self.step_size,
            block_order=self.block_order,
            **common,
        )
