"""The methods compared: the paper's seven, its elastic net, and those that were not in the paper.

A method fits *all* points of a grid on one training set in one call, so that what the points share
is done once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparseauc.baselines import fsauc, hsg_ht, mean_difference
from sparseauc.baselines._online import ClassSums
from sparseauc.baselines.hsg_ht import batches_of_epochs
from sparseauc.baselines.spam import SPAMState
from sparseauc.blocks import RowBlocks, visiting_order
from sparseauc.estimators import SparseAUCClassifierCV
from sparseauc.objective import AUCObjective
from sparseauc.rows import read_only
from sparseauc.solvers.batched import GridResult, sht_auc_grid, sto_iht_grid
from sparseauc.tabular.methods import l1_logistic

from .protocols import Protocol
from .row_space import RowSpace
from .seeds import generator
from .theory.empirical import largest_curvature

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
Point = Mapping[str, float]

# Coefficients of the convex methods below this count as zero when columns are counted.
NEGLIGIBLE = 1e-3
# The published programs' step and growth of batches for HSG-HT.
_HSG_STEP, _GROWTH = 3.0, 1.033


@dataclass(frozen=True)
class Training:
    """Rows to fit, and how.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    positive : ndarray of bool of shape (n,)
    protocol : Protocol
    epochs : int
    seed : tuple
        What the random choices depend on, besides the grid point.
    tuning_rows : int
        Rows that a training set has while tuning.
    tuning : bool
        Whether this is such a set, or that of the final fit.
    stop_tol : float
        Of the published stop rule.
    device : str, optional
        Where ``on_gpu`` fits whole grids; a final fit is of one point and quicker on the CPU.
    """

    X: Floats
    positive: Mask
    protocol: Protocol
    epochs: int
    seed: tuple[Any, ...]
    tuning_rows: int
    tuning: bool
    stop_tol: float = 1e-4
    device: str | None = None

    @cached_property
    def objective(self) -> AUCObjective:
        """F on these rows, made once for all grid points."""
        return AUCObjective(self.X, self.positive)

    @cached_property
    def row_space(self) -> RowSpace:
        """Products of these rows with each other, made once for all grid points."""
        return RowSpace.of(self.X, self.positive)

    @property
    def on_gpu(self) -> bool:
        """Whether these fits are for ``on_gpu``."""
        return self.device is not None and self.tuning

    @property
    def tol(self) -> float:
        """Tolerance of the stop rule, 0 where it is off."""
        return self.stop_tol if self.protocol.stop_rule else 0.0

    def orders(self, point: Point) -> Indices:
        """Rows of all epochs, one after the other."""
        n = self.X.shape[0]
        if self.protocol.fixed_order:
            return np.tile(np.arange(n), self.epochs)
        rng = self.rng(point)
        return np.concatenate([rng.permutation(n) for _ in range(self.epochs)])

    def all_orders(self, points: Sequence[Point]) -> Indices:
        """Return those of each point, one below the other."""
        return np.stack([self.orders(point) for point in points])

    def rng(self, point: Point) -> np.random.Generator:
        """Random choices of a grid point; all k make the same ones."""
        return generator(*self.seed, {name: point[name] for name in point if name != "k"})

    def n_blocks(self, point: Point) -> int:
        """Number of blocks that a grid point means on this many rows."""
        n = int(self.X.shape[0])
        if "blocks" in point:
            blocks = int(point["blocks"])
            if not self.protocol.keep_batch_size:
                return min(blocks, n)
            return max(1, n // max(1, self.tuning_rows // blocks))
        return max(1, n // int(point["batch_size"]))

    def n_columns(self, point: Point) -> int:
        """Non-zeros that k stands for."""
        return int(point["k"]) - self.protocol.one_fewer


Fit = Callable[[Training, Sequence[Point]], Floats]


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Attributes
    ----------
    key : str
        Name on the command line and in the store.
    name : str
        Name in tables.
    fit : callable
        ``fit(training, points)`` returns one column of coefficients for each point, NaN where the
        fit diverged.
    in_paper : bool
        Whether it is a row of the paper's tables.
    truncated : bool
        Whether its answer is dense, and columns are counted from 0.001 on.
    in_tables : bool
        Whether the paper's tables have it; the elastic net is in its text and Figure 2 alone.
    raw : bool
        Whether it is given the table as it is, and scales it itself.
    """

    key: str
    name: str
    fit: Fit
    in_paper: bool = True
    truncated: bool = False
    in_tables: bool = True
    raw: bool = False


def _families(training: Training, points: Sequence[Point]) -> Iterator[tuple[Point, list[int]]]:
    """Points that differ in k alone, as places in the list.

    Batch sizes that mean the same number of blocks on these rows are the same fit.
    """
    families: dict[tuple[tuple[str, float], ...], list[int]] = {}
    for place, point in enumerate(points):
        rest = {name: value for name, value in point.items() if name != "k"}
        if "batch_size" in rest:
            rest = {"blocks": training.n_blocks(point)}
        families.setdefault(tuple(rest.items()), []).append(place)
    for rest_items, places in families.items():
        yield dict(rest_items), places


# ------------------------------------------------------------------------- hard thresholding


class Schedule(NamedTuple):
    """Blocks in the order in which a run visits them, for all k that share it.

    Attributes
    ----------
    rows, rates : ndarrays of shape (number of visits of rows,)
        The rows, and what the gradient of each is multiplied by, the step included.
    sizes : ndarray of shape (number of steps,)
        Rows of each block.
    ks : list of int
    step, shrink : float
        γ, and what w is multiplied by after a step.
    """

    rows: Indices
    rates: Floats
    sizes: Indices
    ks: Sequence[int]
    step: float
    shrink: float


def _fit_sht_auc(training: Training, points: Sequence[Point]) -> Floats:
    protocol, r = training.protocol, training.objective.moments.ratio
    step = r * (1 - r)
    # w is divided by 1 + step · ridge = 1.1 after every step.
    ridge = 0.1 / step if protocol.ridge_while_tuning and training.tuning else 0.0

    def options(blocks: RowBlocks) -> dict[str, Any]:
        if protocol.paper_step:
            return {"step_sizes": 1.0 / largest_curvature(training.objective, blocks)}
        return {"step_sizes": "auto" if protocol.automatic_step else step, "ridges": ridge}

    return _fit_blockwise(sht_auc_grid, training, points, options)


def _fit_sto_iht(training: Training, points: Sequence[Point]) -> Floats:
    return _fit_blockwise(sto_iht_grid, training, points, lambda _: {"step_sizes": 1.0})


def _fit_blockwise(
    fit_grid: Callable[..., GridResult],
    training: Training,
    points: Sequence[Point],
    options: Callable[[RowBlocks], dict[str, Any]],
) -> Floats:
    """Fit all k that share their blocks together."""
    n, d = training.X.shape
    W = np.zeros((d, len(points)))
    shuffle = not training.protocol.fixed_order
    logistic = fit_grid is sto_iht_grid
    schedules: list[Schedule] = []
    wanted: list[list[int]] = []
    for rest, places in _families(training, points):
        # Places of each size; none is left at k = 1 where one too many is removed: it stays zero.
        sizes: dict[int, list[int]] = {}
        for place in places:
            sizes.setdefault(training.n_columns(points[place]), []).append(place)
        ks = [size for size in sizes if size > 0]
        if not ks:
            continue
        batch_size = -(-n // training.n_blocks(points[places[0]]))
        # Dealt by a generator in the same state as the fit's: the blocks that it will see.
        rng = training.rng(rest)
        blocks = RowBlocks.partition(n, batch_size, shuffle=shuffle, rng=rng)
        of_family = options(blocks)
        if training.on_gpu and of_family["step_sizes"] != "auto":
            schedules.append(_schedule(training, blocks, rng, ks, logistic, **of_family))
            wanted += [sizes[size] for size in ks]
            continue
        coef = fit_grid(
            training.X, training.positive, ks=ks, batch_size=batch_size,
            max_epochs=training.epochs, tol=0.0, shuffle=shuffle, rng=training.rng(rest),
            **of_family,
        ).coef  # fmt: skip
        for size, w in zip(ks, coef, strict=True):
            W[:, sizes[size]] = w[:, None]
    _run_on_gpu(training, schedules, wanted, W, logistic=logistic)
    return W


def _schedule(
    training: Training,
    blocks: RowBlocks,
    rng: np.random.Generator,
    ks: Sequence[int],
    logistic: bool,
    step_sizes: float,
    ridges: float = 0.0,
) -> Schedule:
    """Draw the blocks of all epochs, as the solvers do."""
    orders = [visiting_order(len(blocks), "replacement", rng) for _ in range(training.epochs)]
    visits = np.concatenate(orders)
    parts = [blocks.rows[start:stop] for start, stop in pairwise(blocks.starts)]
    rows = np.concatenate([parts[i] for i in visits])
    scales = np.array(training.objective.block_scales(len(blocks)))
    rates = step_sizes * np.where(training.positive[rows], *scales)
    if logistic:
        rates = np.full(rows.size, step_sizes * len(blocks) / training.positive.size)
    sizes = np.diff(blocks.starts)[visits]
    return Schedule(rows, rates, sizes, ks, step_sizes, 1.0 / (1.0 + step_sizes * ridges))


def _run_on_gpu(
    training: Training,
    schedules: Sequence[Schedule],
    wanted: Sequence[Sequence[int]],
    W: Floats,
    *,
    logistic: bool,
) -> None:
    """Run the schedules and write each answer where it is wanted."""
    if not schedules:
        return
    from .on_gpu import hard_grid

    found = hard_grid(
        training.X, training.positive, schedules, logistic=logistic, device=str(training.device)
    )
    for places, w in zip(wanted, found.T, strict=True):
        W[:, places] = w[:, None]


def _fit_hsg_ht(training: Training, points: Sequence[Point]) -> Floats:
    W = np.zeros((training.X.shape[1], len(points)))
    if training.on_gpu:
        schedules, wanted = [], []
        for rest, places in _families(training, points):
            kept = [place for place in places if training.n_columns(points[place]) > 0]
            ks = [training.n_columns(points[place]) for place in kept]
            schedules.append(_growing_schedule(training, rest, ks))
            wanted += [[place] for place in kept]
        _run_on_gpu(training, schedules, wanted, W, logistic=True)
        return W
    for place, point in enumerate(points):
        k = training.n_columns(point)
        if k == 0:
            continue
        result = hsg_ht(
            training.objective, k, step_size=_HSG_STEP, initial_batch_size=point["tau"],
            growth=_GROWTH, restart_batches=training.protocol.restart_batches,
            max_epochs=training.epochs, tol=0.0, shuffle=not training.protocol.fixed_order,
            rng=training.rng(point),
        )  # fmt: skip
        W[result.support, place] = result.values
    return W


def _growing_schedule(training: Training, point: Point, ks: Sequence[int]) -> Schedule:
    """Draw HSG-HT's batches of all epochs, as the solver does."""
    n, rng = training.positive.size, training.rng(point)
    batches = batches_of_epochs(n, point["tau"], _GROWTH, restart=training.protocol.restart_batches)
    rows, sizes = [], []
    for starts in islice(batches, training.epochs):
        order = np.arange(n) if training.protocol.fixed_order else rng.permutation(n)
        rows.append(order[: starts[-1]])
        sizes.append(np.diff(starts))
    all_sizes = np.concatenate(sizes)
    rates = np.repeat(_HSG_STEP / all_sizes, all_sizes)
    return Schedule(np.concatenate(rows), rates, all_sizes, ks, _HSG_STEP, 1.0)


# ------------------------------------------------------------------------------------ convex


def _fit_solam(training: Training, points: Sequence[Point]) -> Floats:
    clip_below = not training.protocol.clip_above_only
    settings = [(point["xi"], point["radius"]) for point in points]
    if training.on_gpu:
        from .on_gpu import solam_grid

        return solam_grid(
            training.X, training.positive, training.all_orders(points), np.array(settings),
            clip_below=clip_below, tol=training.tol, device=str(training.device),
        )  # fmt: skip
    orders = (training.orders(point) for point in points)
    return training.row_space.solam(settings, orders, clip_below=clip_below, tol=training.tol)


def _fit_spam(training: Training, points: Sequence[Point]) -> Floats:
    """SPAM; with an L1 penalty it needs all columns at every step."""
    average = not training.protocol.last_iterate
    if training.on_gpu:
        from .on_gpu import spam_grid

        return spam_grid(
            training.X, training.positive, training.all_orders(points),
            np.array([(p["xi"], p.get("l1", 0.0), p.get("l2", 0.0)) for p in points]),
            average=average, tol=training.tol, device=str(training.device),
        )  # fmt: skip
    if "l1" not in points[0]:
        return training.row_space.spam(
            [(point["xi"], point["l2"]) for point in points],
            (training.orders(point) for point in points),
            average=average, tol=training.tol,
        )  # fmt: skip
    n, d = training.X.shape
    sums = ClassSums.from_objective(training.objective)
    table, positive = training.objective.table, training.objective.positive
    W = np.full((d, len(points)), np.nan)
    for place, point in enumerate(points):
        state = SPAMState(
            d, np.float64, l1=point["l1"], l2=point.get("l2", 0.0), step_size=point["xi"],
            average=average, sums=sums,
        )  # fmt: skip
        for rows in training.orders(point).reshape(-1, n):
            # The last step by itself: the stop rule looks at what it alone does.
            state.advance(table, read_only(rows[:-1]), positive)
            before = state.w.copy()
            state.advance(table, read_only(rows[-1:]), positive)
            with np.errstate(over="ignore", invalid="ignore"):
                moved, length = np.linalg.norm(state.w - before), np.linalg.norm(before)
            stopped = training.tol and length > 0.0 and moved <= training.tol * length
            if stopped or not np.isfinite(moved):
                break
        if np.isfinite(state.coef).all():
            W[:, place] = state.coef
    return W


def _fit_fsauc(training: Training, points: Sequence[Point]) -> Floats:
    """FSAUC, whose projections keep every iterate finite."""
    if training.on_gpu:
        from .on_gpu import fsauc_grid

        return fsauc_grid(
            training.X, training.positive, training.all_orders(points),
            np.array([(p["radius"], p["eta"]) for p in points]), device=str(training.device),
        )  # fmt: skip
    d = training.X.shape[1]
    W = np.empty((d, len(points)))
    for place, point in enumerate(points):
        # Rows have unit length, and the published programs rely on it.
        W[:, place] = fsauc(
            training.objective, radius=point["radius"], step_size=point["eta"], max_norm=1.0,
            max_epochs=training.epochs, tol=0.0, shuffle=not training.protocol.fixed_order,
            rng=training.rng(point),
        ).dense(d)  # fmt: skip
    return W


# ------------------------------------------------------------------------- not in the paper


def _fit_sparse_auc_cv(training: Training, points: Sequence[Point]) -> Floats:
    """Our own estimator with its defaults: it scales the columns and tunes itself."""
    (point,) = points
    seed = int(training.rng(point).integers(2**31))
    model = SparseAUCClassifierCV(random_state=seed).fit(training.X, training.positive)
    return np.array(model.coef_).T


def _fit_mean_difference(training: Training, points: Sequence[Point]) -> Floats:
    W = np.zeros((training.X.shape[1], len(points)))
    for place, point in enumerate(points):
        support, values = mean_difference(training.objective.moments, int(point["k"]))
        W[support, place] = values
    return W


def shrunken_centroids(X: Floats, positive: Mask, ks: Sequence[int]) -> Floats:
    """Coefficients of the nearest shrunken centroid that leaves k columns, for each k.

    With two classes the centroids move towards the overall mean by the same amount, so the log
    odds are linear in x with the soft-thresholded standardised mean difference over s_j + s_0 as
    coefficients. s_j is the pooled deviation within classes, s_0 its median. The threshold is the
    (k + 1)-th largest difference.
    """
    classes = X[positive], X[~positive]
    means = [rows.mean(axis=0) for rows in classes]
    scatter = sum(
        ((rows - mean) ** 2).sum(axis=0) for rows, mean in zip(classes, means, strict=True)
    )
    deviation = np.sqrt(scatter / (X.shape[0] - 2))
    deviation += np.median(deviation)
    deviation[deviation == 0] = 1.0
    difference = (means[0] - means[1]) / deviation
    largest = np.append(np.sort(np.abs(difference))[::-1], 0.0)
    thresholds = largest[np.minimum(ks, largest.size - 1)]
    excess = np.maximum(np.abs(difference)[:, None] - thresholds, 0.0)
    return np.asarray(np.sign(difference)[:, None] * excess / deviation[:, None])


def _fit_shrunken_centroid(training: Training, points: Sequence[Point]) -> Floats:
    ks = [int(point["k"]) for point in points]
    return shrunken_centroids(training.X, training.positive, ks)


def _fit_l1_logistic(training: Training, points: Sequence[Point]) -> Floats:
    # Rows have unit length; C is meant for columns of about unit variance.
    scale = np.sqrt(training.X.shape[1])
    X = training.X * scale
    W = np.empty((training.X.shape[1], len(points)))
    with warnings.catch_warnings():
        # A fit that has not converged is judged by its validation AUC like any other.
        warnings.simplefilter("ignore")
        for place, point in enumerate(points):
            seed = int(training.rng(point).integers(2**31))
            W[:, place] = l1_logistic(point["C"], seed).fit(X, training.positive).coef_[0] * scale
    return W


METHODS: Mapping[str, Method] = {
    method.key: method
    for method in (
        Method("sht-auc", "SHT-AUC", _fit_sht_auc),
        Method("spam-l1", "SPAM-l1", _fit_spam, truncated=True),
        Method("spam-l2", "SPAM-l2", _fit_spam, truncated=True),
        Method("fsauc", "FSAUC", _fit_fsauc, truncated=True),
        Method("solam", "SOLAM", _fit_solam, truncated=True),
        Method("sto-iht", "StoIHT", _fit_sto_iht),
        Method("hsg-ht", "HSG-HT", _fit_hsg_ht),
        Method("spam-l1l2", "SPAM-l1/l2", _fit_spam, truncated=True, in_tables=False),
        Method("sparse-auc", "SparseAUCClassifierCV", _fit_sparse_auc_cv, in_paper=False, raw=True),
        Method("mean-difference", "top-k mean difference", _fit_mean_difference, in_paper=False),
        Method(
            "shrunken-centroid", "nearest shrunken centroid", _fit_shrunken_centroid, in_paper=False
        ),
        Method("l1-logistic", "L1 logistic", _fit_l1_logistic, in_paper=False),
    )
}
PAPER_METHODS = tuple(m.key for m in METHODS.values() if m.in_paper and m.in_tables)


def find_methods(names: str | None) -> tuple[str, ...]:
    """Keys of the methods named in a list with commas, by key or by printed name; all for none.

    Raises
    ------
    ValueError
        For a name that is not among them, or an empty list.
    """
    if names is None:
        return tuple(METHODS)
    by_name = {name.casefold(): m.key for m in METHODS.values() for name in (m.key, m.name)}
    wanted = []
    for name in (part.strip() for part in names.split(",")):
        if not name:
            continue
        if name.casefold() not in by_name:
            raise ValueError(f"no method is named {name!r}; there are {', '.join(METHODS)}")
        wanted.append(by_name[name.casefold()])
    if not wanted:
        raise ValueError(f"no method is named; there are {', '.join(METHODS)}")
    return tuple(key for key in METHODS if key in wanted)
