"""Many fits at once: a grid of (k, step, ridge, start) on shared blocks.

    for every model m:   minimise F(w) + ridge_m/2 ‖w‖²,   ‖w‖₀ ≤ k_m

Fits that visit the same blocks read each row once for all of them: a step of g models is a product
of a g × b matrix with the b × d block instead of g products with a vector. Use it to tune k, the
step or the ridge. The answers are those of one fit at a time.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .arrays import Array, Floats, Indices, Mask, is_tensor, to_host
from .blocks import BlockOrder, visiting_order
from .bold_driver import BoldDriver
from .grids_numpy import NumpyModels
from .models import Loss, Models
from .objective import AUCObjective
from .projections import hard_threshold
from .thresholding import deal_blocks


class GridResult(NamedTuple):
    """Outcome of g fits.

    Attributes
    ----------
    coef : array of shape (g, d)
        Of the kind of X: a tensor where X is one, on its device. NaN for a model that diverged.
    intercept : array of shape (g,)
        Of the methods that train one; 0 for SHT-AUC.
    n_epochs : ndarray of shape (g,)
        Epochs until the model stopped.
    converged : bool ndarray of shape (g,)
        Whether w moved by less than ``tol`` over the last epoch.
    diverged : bool ndarray of shape (g,)
        Whether the coefficients left the range of floating-point numbers: give a smaller step, or
        rescale the columns.
    """

    coef: Any
    intercept: Any
    n_epochs: Indices
    converged: Mask
    diverged: Mask


class _Grid(NamedTuple):
    """The models, one entry each; ``steps`` are all 1 where they are automatic."""

    ks: Indices
    automatic: bool
    steps: Array
    shrinkage: Array
    starts: Floats | None

    @classmethod
    def from_arguments(
        cls,
        ks: npt.ArrayLike,
        step_sizes: npt.ArrayLike | str,
        shrinkage: npt.ArrayLike,
        starts: npt.ArrayLike | None,
        d: int,
    ) -> Self:
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
        if first is not None and (first.ndim not in (1, 2) or first.shape[-1] != d):
            raise ValueError(f"starts must have shape ({d},) or (g, {d}), got {first.shape}")
        of_starts = () if first is None else first.shape[:-1]
        g = _common_shape(k.shape, step.shape, ridge.shape, of_starts)
        k = np.minimum(np.broadcast_to(k, g), d).astype(np.int64)
        if first is not None:
            each = np.broadcast_to(first, (*g, d))
            first = np.stack([hard_threshold(w, most) for w, most in zip(each, k, strict=True)])
        return cls(k, automatic, np.broadcast_to(step, g), np.broadcast_to(ridge, g), first)


def _common_shape(
    ks: tuple[int, ...], steps: tuple[int, ...], ridges: tuple[int, ...], starts: tuple[int, ...]
) -> tuple[int, ...]:
    """Shape that those of all parameters are broadcast to; at least one model."""
    try:
        return np.broadcast_shapes((1,), ks, steps, ridges, starts)
    except ValueError:
        raise ValueError(
            "ks, step_sizes, ridges and starts must agree on the number of models, got shapes "
            f"{ks}, {steps}, {ridges} and {starts}"
        ) from None


def sht_auc_grid(
    X: Any,
    positive: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    step_sizes: npt.ArrayLike | Literal["auto"] = "auto",
    ridges: npt.ArrayLike = 0.0,
    **settings: Any,
) -> GridResult:
    """Fit SHT-AUC for a whole grid.

    Parameters
    ----------
    X : ndarray or tensor of shape (n, d)
        Dense, float32 or float64. Of arrays, row-major ones are read in place; tensors are copied
        once in the order of their blocks where memory allows.
    positive : array-like of shape (n,)
        Positive where true or greater than zero.
    ks : int or array-like of shape (g,)
        Largest number of non-zeros. ``ks``, ``step_sizes``, ``ridges`` and ``starts`` are
        broadcast against each other: model m has the m-th of each.
    step_sizes : float, array-like of shape (g,), or "auto", default="auto"
        γ on the paper's scale. ``"auto"`` adapts the step of each model to its F.
    ridges : float or array-like of shape (g,), default=0.0
        After every gradient step w is divided by 1 + γ·ridge, the proximal step of ridge/2·‖w‖²,
        and then thresholded. The published programs' l2 with c is ridge = l2/(r(1 − r)) with
        γ = c·r(1 − r) here, r being the share of positives.
    batch_size, max_epochs, tol, block_order, shuffle
        As in :func:`sparseauc.solvers.sht_auc`. A model that has converged stays where it is
        while others go on.
    starts : array-like of shape (d,) or (g, d), optional
        w_0 of each model. Only its k largest entries are used.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. Rows of weight zero are left out.
    rng : numpy.random.Generator, optional
        Source of the random choices. Rows are dealt once, and every epoch's blocks are drawn once,
        for all models: each fit is the one that ``sht_auc`` gives from a generator in the same
        state.

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
    return _fit_grid(X, positive, "auc", ridges, ks=ks, step_sizes=step_sizes, **settings)


def sto_iht_grid(
    X: Any,
    positive: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    step_sizes: npt.ArrayLike,
    alphas: npt.ArrayLike = 0.0,
    intercept: float = 0.0,
    **settings: Any,
) -> GridResult:
    """Fit StoIHT (logistic loss, with an intercept) for a whole grid.

    Parameters
    ----------
    X, positive, ks
        As in :func:`sparseauc_paper.grids.sht_auc_grid`.
    step_sizes : float or array-like of shape (g,)
        γ on the mean logistic gradient of a block; here always given.
    alphas : float or array-like of shape (g,), default=0.0
        Ridge, in the gradient, as in :func:`sparseauc_paper.baselines.sto_iht`.
    intercept : float, default=0.0
        Intercept that all models start from.
    **settings
        ``batch_size`` and all that follow it there.

    Returns
    -------
    GridResult
        With the intercepts.
    """
    if isinstance(step_sizes, str):
        raise ValueError("sto_iht_grid has no automatic step: give step_sizes as numbers")
    return _fit_grid(
        X, positive, "logistic", alphas, ks=ks, step_sizes=step_sizes, intercept=intercept,
        **settings,
    )  # fmt: skip


def _fit_grid(
    X: Any,
    positive: npt.ArrayLike,
    loss: Loss,
    shrinkage: npt.ArrayLike,
    *,
    ks: npt.ArrayLike,
    step_sizes: npt.ArrayLike | str,
    batch_size: int = 64,
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    starts: npt.ArrayLike | None = None,
    intercept: float = 0.0,
    sample_weight: npt.ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> GridResult:
    rng = np.random.default_rng() if rng is None else rng
    table = _check_table(X)
    n, d = table.shape
    labels: Mask = _per_row("positive", positive, n) > 0
    weight = None
    if sample_weight is not None:
        weight = _per_row("sample_weight", sample_weight, n).astype(np.float64)
    grid = _Grid.from_arguments(ks, step_sizes, shrinkage, starts, d)
    counted = np.arange(n) if weight is None else np.flatnonzero(weight)
    if labels[counted].all() or not labels[counted].any():
        raise ValueError("the training set holds rows of one class only: ranking needs two")
    blocks = deal_blocks(counted, batch_size, shuffle=shuffle, rng=rng)

    def run(objective: AUCObjective, models: Models) -> GridResult:
        if grid.starts is not None:
            models.start_from(grid.starts.astype(objective.dtype))
        models.intercept[:] = intercept
        return _run(
            objective, models, grid, lambda: visiting_order(len(blocks), block_order, rng),
            max_epochs, tol, loss,
        )  # fmt: skip

    if not is_tensor(table):
        objective = AUCObjective(np.ascontiguousarray(table), labels, weight)
        return run(objective, NumpyModels(objective, blocks, grid.ks, loss))
    from .models_torch import TensorObjective, TorchModels

    on_device = TensorObjective(table, labels, weight)
    return run(on_device, TorchModels(on_device, blocks, grid.ks, loss))


def _run(
    objective: AUCObjective,
    models: Models,
    grid: _Grid,
    draw: Callable[[], Indices],
    max_epochs: int,
    tol: float,
    loss: Loss,
) -> GridResult:
    """Run epochs until every model has stopped."""
    driver = None
    if grid.automatic:
        first_steps = np.array([objective.exact_first_step(int(k)) for k in grid.ks])
        driver = BoldDriver(first_steps, models.point(), models.losses(), max_epochs, models.choose)
    stopped = np.zeros(grid.ks.size, np.bool_)
    n_epochs = np.full(grid.ks.size, max_epochs)
    for number in range(1, max_epochs + 1):
        steps = grid.steps if driver is None else driver.step(number)
        # A step of zero is how a model that has stopped stays where it is.
        steps = np.where(stopped, 0.0, steps)
        before = models.point() if tol > 0 else None
        decays, shrinks = np.ones(steps.size), np.ones(steps.size)
        if loss == "auc":
            shrinks /= 1.0 + steps * grid.shrinkage
        else:
            decays -= steps * grid.shrinkage
        models.run(draw(), steps, decays, shrinks)
        undone: Mask = np.zeros_like(stopped)
        if driver is not None:
            undone, point = driver.update(models.point(), models.losses(), ~stopped)
            if undone.any():
                models.move_to(point)
        if before is not None:
            moved, length = models.movement(before)
            converged = ~stopped & ~undone & (moved < tol**2 * length)
            n_epochs[converged] = number
            stopped |= converged
            if stopped.all():
                break
    if driver is not None:
        models.move_to(driver.best)
    lost = models.overflowed()
    if lost.any():
        models.w[np.flatnonzero(lost).tolist()] = np.nan
    return GridResult(models.w, models.intercept, n_epochs, stopped, lost)


def _check_table(X: Any) -> Any:
    """Give X as a dense array or tensor of shape (n, d)."""
    if scipy.sparse.issparse(X):
        raise TypeError("a grid is fitted to dense tables: fit CSR tables one at a time")
    table = X if is_tensor(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"X must have shape (n, d), got {tuple(table.shape)}")
    if str(table.dtype).removeprefix("torch.") not in ("float32", "float64"):
        raise ValueError(f"X must hold float32 or float64, got {table.dtype}")
    return table


def _per_row(name: str, values: Any, n: int) -> npt.NDArray[Any]:
    array = np.asarray(to_host(values))
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape {(n,)}, got {array.shape}")
    return array
