"""Many fits at once: a grid of (k, step, ridge, start) on shared blocks, for many training sets.

    for every training set and every model m:   minimise F(w) + ridge_m/2 ‖w‖²,   ‖w‖₀ ≤ k_m

Fits that visit the same blocks read the same rows. Done together, a step of g models is a product
of a g × b matrix with the b × d block instead of g products with a vector: each row is read once
for all of them. Use it to tune k, the step or the ridge, and for folds of equal size; on a GPU,
for thousands of small training sets at once. The answers are those of one fit at a time.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .._arrays import is_tensor, out_of_memory_explained, to_host
from ..blocks import BlockOrder, RowBlocks
from ..device import DeviceObjective, DeviceTables
from ..objective import AUCObjective
from ..projections import top_k
from ._bold_driver import _GROW, _SETTLED, _SETTLING, _SHRINK, _START, _STRAY, BoldDriver
from ._epochs import Callback, Epoch, SolverResult, SparseVector, diverged, run_epochs
from ._hard_thresholding import deal_blocks
from ._models import Array, Loss, Mask, Models, Point
from ._models_numpy import NumpyModels
from .sht_auc import exact_first_step


class GridResult(NamedTuple):
    """Outcome of many fits; s training sets and g models.

    Attributes
    ----------
    coef : array of shape (g, d), or (s, g, d) for a stack
        Of the kind of X: a tensor where X is one, on its device. NaN for a model that diverged.
    intercept : array of shape (g,) or (s, g)
        Of the methods that train one; 0 for SHT-AUC.
    n_epochs : ndarray of shape (g,) or (s, g)
        Epochs until the model stopped.
    converged : bool ndarray of shape (g,) or (s, g)
        Whether w moved by less than ``tol`` over the last epoch.
    diverged : bool ndarray of shape (g,) or (s, g)
        Whether the coefficients left the range of floating-point numbers: give a smaller step, or
        rescale the columns.
    """

    coef: Any
    intercept: Any
    n_epochs: npt.NDArray[np.int64]
    converged: Mask
    diverged: Mask


def sht_auc_grid(
    X: Any,
    positive: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    step_sizes: npt.ArrayLike | Literal["auto"] = "auto",
    ridges: npt.ArrayLike = 0.0,
    batch_size: int = 64,
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    starts: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> GridResult:
    """Fit SHT-AUC for a whole grid, on one training set or on many of the same size.

    Parameters
    ----------
    X : ndarray or tensor of shape (n, d), or (s, n, d) for s training sets
        Dense, float32 or float64. Of arrays, row-major ones are read in place; tensors are copied
        once in the order of their blocks where memory allows.
    positive : array-like of shape (n,) or (s, n)
        Positive where true or greater than zero.
    ks : int or array-like of shape (g,)
        Largest number of non-zeros. ``ks``, ``step_sizes``, ``ridges`` and ``starts`` are
        broadcast against each other: model m has the m-th of each.
    step_sizes : float, array-like of shape (g,), or "auto", default="auto"
        γ on the paper's scale. ``"auto"`` follows the course of F, each model on its own.
    ridges : float or array-like of shape (g,), default=0.0
        After every gradient step w is divided by 1 + γ·ridge, the proximal step of ridge/2·‖w‖²,
        and then thresholded. The published programs' l2 with c is ridge = l2/(r(1 − r)) with
        γ = c·r(1 − r) here, r being the share of positives.
    batch_size, max_epochs, tol, block_order, shuffle
        As in :func:`sparseauc.solvers.sht_auc`. A model that has converged stays where it is
        while others go on.
    starts : array-like of shape (d,), (g, d) or (s, g, d), optional
        w_0 of each model. Only its k largest entries are used.
    sample_weight : array-like of the shape of ``positive``, optional
        Weights of the rows. Rows of weight zero are left out; in a stack they must be the same in
        every set.
    rng : numpy.random.Generator, optional
        Source of the random choices. Rows are dealt once, and every epoch's blocks are drawn once,
        for all models and all sets: each fit is the one that ``sht_auc`` gives from a generator in
        the same state.

    Returns
    -------
    GridResult

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=500, d=40, k=5, mu=1.0, r=0.2, random_state=0)
    >>> result = sht_auc_grid(X, y, ks=[2, 5, 10], rng=np.random.default_rng(0))
    >>> (result.coef != 0).sum(axis=1)
    array([ 2,  5, 10])
    """
    return _fit_grid(
        X, positive, ks=ks, step_sizes=step_sizes, shrinkage=ridges, batch_size=batch_size,
        max_epochs=max_epochs, tol=tol, block_order=block_order, shuffle=shuffle, starts=starts,
        sample_weight=sample_weight, rng=rng, loss="auc",
    )  # fmt: skip


def sto_iht_grid(
    X: Any,
    positive: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    step_sizes: npt.ArrayLike,
    alphas: npt.ArrayLike = 0.0,
    batch_size: int = 64,
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    starts: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> GridResult:
    """Fit StoIHT (logistic loss, with an intercept) for a whole grid.

    Parameters
    ----------
    X, positive, ks, batch_size, max_epochs, tol, block_order, shuffle, starts, sample_weight, rng
        As in :func:`sparseauc.solvers.sht_auc_grid`.
    step_sizes : float or array-like of shape (g,)
        γ on the mean logistic gradient of a block; here always given.
    alphas : float or array-like of shape (g,), default=0.0
        Ridge, in the gradient, as in :func:`sparseauc.solvers.sto_iht`.

    Returns
    -------
    GridResult
        With the intercepts.
    """
    if isinstance(step_sizes, str):
        raise ValueError("sto_iht_grid has no automatic step: give step_sizes as numbers")
    return _fit_grid(
        X, positive, ks=ks, step_sizes=step_sizes, shrinkage=alphas, batch_size=batch_size,
        max_epochs=max_epochs, tol=tol, block_order=block_order, shuffle=shuffle, starts=starts,
        sample_weight=sample_weight, rng=rng, loss="logistic",
    )  # fmt: skip


def sht_auc_on_device(
    objective: DeviceObjective,
    k: int,
    *,
    batch_size: int = 64,
    step_size: float | Literal["auto"] = "auto",
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Run :func:`sparseauc.solvers.sht_auc` on rows that are torch tensors, or stream to a GPU.

    Parameters
    ----------
    objective : DeviceObjective
        The data.
    k, batch_size, step_size, max_epochs, tol, block_order, shuffle, start, callback, rng
        As in :func:`sparseauc.solvers.sht_auc`.

    Returns
    -------
    SolverResult
        With NumPy arrays.
    """
    rng = np.random.default_rng() if rng is None else rng
    data: Any = objective
    k = min(k, objective.n_features)
    blocks = deal_blocks(data, batch_size, shuffle=shuffle, rng=rng)
    rows = objective.n_rows if not objective.tables.streamed else 2 * blocks.largest
    nbytes = objective.dtype.itemsize * objective.n_features * rows
    with out_of_memory_explained(f"SHT-AUC with blocks of {blocks.largest} rows", nbytes):
        fit = _DeviceFit(objective, k, blocks, step_size, start, max_epochs)
        result = run_epochs(
            data,
            lambda number: fit.epoch(number, blocks.visiting_order(block_order, rng)),
            start=fit.here,
            max_epochs=max_epochs,
            tol=tol,
            callback=callback,
        )
    return result if fit.driver is None else result._replace(**fit.driver.best._asdict())


class _DeviceFit:
    """One model on a device, with the bold driver of the single fit."""

    def __init__(
        self,
        objective: DeviceObjective,
        k: int,
        blocks: RowBlocks,
        step_size: float | Literal["auto"],
        start: npt.ArrayLike | None,
        max_epochs: int,
    ) -> None:
        from ._models_torch import TorchModels

        self._objective, self._step_size = objective, step_size
        self._models = TorchModels(objective.tables, blocks, np.array([k]), "auc")
        self.here = SparseVector(np.empty(0, np.int64), np.empty(0, objective.dtype))
        if start is not None:
            first = np.asarray(start, objective.dtype)
            kept = top_k(first, k)
            self._go_to(SparseVector(kept, first[kept]))
        self.driver: BoldDriver[SparseVector] | None = None
        if isinstance(step_size, str):
            data: Any = objective
            self.driver = BoldDriver(
                exact_first_step(data, k), self.here, objective.value_on(*self.here), max_epochs
            )

    def epoch(self, number: int, drawn: npt.NDArray[np.int64]) -> Epoch:
        """Run one epoch."""
        step = float(self._step_size) if self.driver is None else self.driver.step(number)
        one = np.ones((1, 1))
        self._models.epoch(drawn, step * one, one, one)
        self.here = SparseVector(*self._models.non_zeros())
        overflowed = not np.isfinite(self.here.values).all()
        if self.driver is None:
            if overflowed:
                raise diverged("SHT-AUC", number, step)
            return Epoch(self.here, step)
        reached = np.inf if overflowed else self._objective.value_on(*self.here)
        undone = self.driver.strayed(self.here, reached)
        if undone:
            self._go_to(self.driver.best)
        return Epoch(self.here, step, undone)

    def _go_to(self, point: SparseVector) -> None:
        w = np.zeros((1, 1, self._objective.n_features), self._objective.dtype)
        w[0, 0, point.support] = point.values
        self._models.set(self._models.as_point(w))
        self.here = point


def _fit_grid(
    X: Any,
    positive: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    step_sizes: npt.ArrayLike | str,
    shrinkage: npt.ArrayLike,
    batch_size: int,
    max_epochs: int,
    tol: float,
    block_order: BlockOrder,
    shuffle: bool,
    starts: npt.ArrayLike | None,
    sample_weight: npt.ArrayLike | None,
    rng: np.random.Generator | None,
    loss: Loss,
) -> GridResult:
    rng = np.random.default_rng() if rng is None else rng
    table, stacked = _check_table(X)
    s, n, d = table.shape
    labels = _per_row("positive", positive, (s, n), stacked) > 0
    weight = None
    if sample_weight is not None:
        weight = _per_row("sample_weight", sample_weight, (s, n), stacked).astype(np.float64)
    grid = _Grid.of(ks, step_sizes, shrinkage, starts, (s, d))
    blocks = _common_blocks(labels, weight, batch_size, shuffle, rng)

    if not is_tensor(X):
        objectives = [
            AUCObjective(np.ascontiguousarray(part), mask, None if weight is None else weight[i])
            for i, (part, mask) in enumerate(zip(table, labels, strict=True))
        ]
        models: Models = NumpyModels(objectives, blocks, grid.ks, loss)
        result = _run(models, blocks, grid, max_epochs, tol, block_order, rng, loss)
    else:
        from ._models_torch import TorchModels

        # The rows once more, in the order of their blocks, and a few tables of coefficients.
        nbytes = table.element_size() * s * d * (n + 6 * grid.ks.size)
        with out_of_memory_explained(f"a grid of {s} × {grid.ks.size} models", nbytes):
            tables = DeviceTables(table, labels, weight, table.device)
            models = TorchModels(tables, blocks, grid.ks, loss)
            result = _run(models, blocks, grid, max_epochs, tol, block_order, rng, loss)
    return result if stacked else GridResult(*(part[0] for part in result))


def _run(
    models: Models,
    blocks: RowBlocks,
    grid: _Grid,
    max_epochs: int,
    tol: float,
    block_order: BlockOrder,
    rng: np.random.Generator,
    loss: Loss,
) -> GridResult:
    """Run epochs until every model has stopped."""
    if grid.starts is not None:
        models.set(models.as_point(grid.starts))
    drivers = _BoldDrivers(models, max_epochs) if grid.steps is None else None
    stopped = np.zeros(models.shape, np.bool_)
    n_epochs = np.full(models.shape, max_epochs)
    for number in range(1, max_epochs + 1):
        drawn = blocks.visiting_order(block_order, rng)
        given = drivers.steps(number) if drivers is not None else grid.steps
        # A step of zero is how a model that has stopped stays where it is.
        steps = np.where(stopped, 0.0, cast(Array, given))
        before = models.point() if tol > 0 else None
        decays, shrinks = np.ones(models.shape), np.ones(models.shape)
        if loss == "auc":
            shrinks /= 1.0 + steps * grid.shrinkage
        else:
            decays -= steps * grid.shrinkage
        models.epoch(drawn, steps, decays, shrinks)
        undone = np.zeros_like(stopped) if drivers is None else drivers.strayed(models, ~stopped)
        if before is not None:
            moved, length = models.movement(before)
            converged = ~stopped & ~undone & (moved < tol**2 * length)
            n_epochs[converged] = number
            stopped |= converged
            if stopped.all():
                break
    if drivers is not None:
        models.set(drivers.best)
    return GridResult(models.w, models.intercept, n_epochs, stopped, models.overflowed())


class _Grid(NamedTuple):
    """The models, one entry each; ``steps`` is None where they are automatic."""

    ks: npt.NDArray[np.int64]
    steps: Array | None
    shrinkage: Array
    starts: npt.NDArray[np.floating] | None

    @classmethod
    def of(
        cls,
        ks: npt.ArrayLike,
        step_sizes: npt.ArrayLike | str,
        shrinkage: npt.ArrayLike,
        starts: npt.ArrayLike | None,
        shape: tuple[int, int],
    ) -> _Grid:
        s, d = shape
        automatic = isinstance(step_sizes, str)
        if automatic and step_sizes != "auto":
            raise ValueError(f"step_sizes must be numbers or 'auto', got {step_sizes!r}")
        k = np.asarray(ks)
        step = np.ones(1) if automatic else np.asarray(step_sizes, np.float64)
        ridge = np.asarray(shrinkage, np.float64)
        first = None if starts is None else np.asarray(starts)
        if k.dtype.kind not in "iu" or k.ndim > 1 or k.size == 0 or k.min() < 1:
            raise ValueError(f"ks must be one or more whole numbers of at least 1, got {ks!r}")
        if not (np.isfinite(step).all() and (step > 0).all()):
            raise ValueError(f"step_sizes must be positive and finite, got {step_sizes!r}")
        if not (np.isfinite(ridge).all() and (ridge >= 0).all()):
            raise ValueError(f"ridges and alphas must be 0 or more and finite, got {shrinkage!r}")
        if first is not None and (first.ndim not in (1, 2, 3) or first.shape[-1] != d):
            raise ValueError(
                f"starts must have shape ({d},), (g, {d}) or (s, g, {d}), got {first.shape}"
            )
        of_starts = () if first is None or first.ndim == 1 else (first.shape[-2],)
        try:
            g = np.broadcast_shapes((1,), k.shape, step.shape, ridge.shape, of_starts)
            first = None if first is None else np.broadcast_to(first, (s, *g, d))
        except ValueError:
            raise ValueError(
                "ks, step_sizes, ridges and starts must agree on the number of models, got shapes "
                f"{k.shape}, {step.shape}, {ridge.shape} and {of_starts}"
            ) from None
        k = np.minimum(np.broadcast_to(k, g), d).astype(np.int64)
        if first is not None:
            first = _largest(first, k)
        return cls(
            k,
            None if automatic else np.broadcast_to(step, g),
            np.broadcast_to(ridge, g),
            first,
        )


def _largest(w: npt.NDArray[np.floating], ks: npt.NDArray[np.int64]) -> npt.NDArray[np.floating]:
    """Keep the k_m largest entries of w[:, m]."""
    kept = np.zeros_like(w)
    for i, m in np.ndindex(w.shape[:2]):
        chosen = top_k(w[i, m], int(ks[m]))
        kept[i, m, chosen] = w[i, m, chosen]
    return kept


class _BoldDrivers:
    """A bold driver for every model: ``BoldDriver`` with an array for each of its numbers."""

    def __init__(self, models: Models, max_epochs: int) -> None:
        self.best: Point = models.point()
        self._best_values = models.losses()
        self._bold = _START * models.exact_first_steps()
        self._max_epochs = max_epochs
        self._settled = 0.0

    def steps(self, epoch: int) -> Array:
        """Steps for an epoch, counted from 1."""
        left = (self._max_epochs - epoch) / self._max_epochs
        self._settled = max(0.0, 1.0 - left / _SETTLING)
        return self._bold * float(_SETTLED**self._settled)

    def strayed(self, models: Models, active: Mask) -> Mask:
        """Take note of where an epoch ended; return the models that were taken back."""
        values = models.losses()
        stray = active & ~(values <= _STRAY * self._best_values)
        better = active & (values < self._best_values)
        self._bold[stray] *= _SHRINK
        if self._settled == 0.0:
            self._bold[active & ~stray] *= _GROW
        if better.any():
            self.best = models.mixed(better, models.point(), self.best)
            self._best_values = np.where(better, values, self._best_values)
        if stray.any():
            models.set(models.mixed(stray, self.best, models.point()))
        return stray


def _check_table(X: Any) -> tuple[Any, bool]:
    """View X as a stack of dense tables, and say whether it came as one."""
    if scipy.sparse.issparse(X):
        raise TypeError("a grid is fitted to dense tables: fit CSR tables one at a time")
    table = X if is_tensor(X) else np.asarray(X)
    if table.ndim not in (2, 3):
        raise ValueError(f"X must have shape (n, d) or (s, n, d), got {tuple(table.shape)}")
    if str(table.dtype).removeprefix("torch.") not in ("float32", "float64"):
        raise ValueError(f"X must hold float32 or float64, got {table.dtype}")
    return (table, True) if table.ndim == 3 else (table[None], False)


def _per_row(name: str, values: Any, shape: tuple[int, int], stacked: bool) -> npt.NDArray[Any]:
    array = np.asarray(to_host(values))
    expected = shape if stacked else shape[1:]
    if array.shape != expected:
        raise ValueError(f"{name} must have shape {expected}, got {array.shape}")
    return array.reshape(shape)


def _common_blocks(
    labels: Mask,
    weight: Array | None,
    batch_size: int,
    shuffle: bool,
    rng: np.random.Generator,
) -> RowBlocks:
    """Deal the rows that count to blocks; they must be the same in every training set."""
    s, n = labels.shape
    counted = np.ones((s, n), np.bool_) if weight is None else weight > 0
    for i in np.flatnonzero((counted != counted[0]).any(axis=1))[:1]:
        raise ValueError(
            f"training sets 0 and {i} give weight zero to different rows: they cannot share "
            "blocks, so fit them apart"
        )
    rows = np.flatnonzero(counted[0])
    positives = labels[:, rows].sum(axis=1)
    for i in np.flatnonzero((positives == 0) | (positives == rows.size))[:1]:
        which = f"training set {i}" if s > 1 else "the training set"
        raise ValueError(f"{which} holds rows of one class only: ranking needs two")
    blocks = RowBlocks.partition(rows.size, min(batch_size, rows.size), shuffle=shuffle, rng=rng)
    return RowBlocks(rows[blocks.rows], blocks.starts)
