"""The methods compared: the paper's seven, its elastic net, and those that were not in the paper.

A method fits *all* points of a grid on one training set in one call, so that what the
points share is done once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.utils.fixes import parse_version

from sparseauc import MeanDifferenceClassifier, SparseAUCClassifierCV

from .arrays import Array, Mask
from .baselines.fsauc import FSAUC
from .baselines.hsg_ht import visit_growing_batches
from .baselines.solam import SOLAM
from .baselines.spam import SPAM
from .blocks import RowBlocks
from .presets import one_of
from .theory.empirical import largest_curvature
from .thresholding import BlockDescent, Visits, visit_equal_blocks
from .training import Point, Training

Coef = npt.NDArray[Any]

# From scikit-learn 1.8 on l1_ratio says it; before, it is ignored.
_NEW = parse_version(sklearn.__version__) >= parse_version("1.8")
_L1: dict[str, Any] = {"l1_ratio": 1.0} if _NEW else {"penalty": "l1"}

# Coefficients of the convex methods below this count as zero when columns are counted.
NEGLIGIBLE = 1e-3


Fit = Callable[[Training, Sequence[Point]], Array]


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    ``solve(training, points)`` returns one column of coefficients for each point, NaN
    where the fit diverged.
    """

    key: str  # on the command line and in the store
    name: str  # in tables
    solve: Fit
    in_paper: bool = True
    truncated: bool = (
        False  # its answer is dense, and columns are counted from 0.001 on
    )
    in_tables: bool = True  # the elastic net is in the paper's text and Figure 2 alone
    raw: bool = False  # it is given the table as it is, and scales it itself

    def fit(
        self, trainings: Sequence[Training], points: Sequence[Point]
    ) -> Iterator[Array]:
        """Solve for each training set; the convex methods tune all at once on a device."""
        first = trainings[0]
        if first.device and first.tuning and self.truncated:
            from .on_gpu import fit_grids

            yield from fit_grids(self.key, trainings, points)
        else:
            for training in trainings:
                yield self.solve(training, points)


def families(
    training: Training, points: Sequence[Point]
) -> dict[tuple[tuple[str, float], ...], dict[int, list[int]]]:
    """Places of the points that differ in k alone, by the columns they keep, if any.

    They make the same random choices.
    """
    found: dict[tuple[tuple[str, float], ...], dict[int, list[int]]] = {}
    for place, point in enumerate(points):
        rest = {name: value for name, value in point.items() if name != "k"}
        if "batch_size" in rest:
            # Sizes that mean the same number of blocks on these rows are the same fit.
            rest = {"blocks": training.n_blocks(point)}
        size = training.n_columns(point)
        if size > 0:
            family = found.setdefault(tuple(rest.items()), {})
            family.setdefault(size, []).append(place)
    return found


def _fit_hard(method: str, training: Training, points: Sequence[Point]) -> Array:
    """SHT-AUC, StoIHT or HSG-HT; points that keep no column stay at zero."""
    W = np.zeros((training.X.shape[1], len(points)))
    logistic = method != "sht-auc"
    for rest, places in families(training, points).items():
        epochs, step_size, ridge = _hard_run(method, training, dict(rest))
        for k, at in places.items():
            solver = BlockDescent(
                training.objective,
                k,
                step_size=step_size,
                max_epochs=training.epochs,
                logistic=logistic,
                ridge=ridge,
                intercept=training.intercept if logistic else 0.0,
            )
            for visited in epochs:
                solver.run_epoch(visited)
            W[:, at] = solver.answer[:, None]
    return W


def _hard_run(
    method: str, training: Training, point: Point
) -> tuple[list[Visits], float | Literal["auto"], float]:
    """Blocks of all epochs, step and ridge, as the protocol has them: the same for every k."""
    protocol, objective = training.protocol, training.objective
    rng = training.rng(point)
    shuffle = not protocol.fixed_order
    n = objective.n_rows
    r = objective.moments.ratio
    if method == "hsg-ht":
        # The published programs' growth of batches, and step.
        batches = visit_growing_batches(
            n,
            point["tau"],
            1.033,
            rng,
            restart=protocol.restart_batches,
            shuffle=shuffle,
        )
        return list(islice(batches, training.epochs)), 3.0, 0.0
    batch_size = -(-n // training.n_blocks(point))
    blocks = RowBlocks.partition(n, batch_size, shuffle=shuffle, rng=rng)
    visits = visit_equal_blocks(
        objective, blocks, "replacement", rng, logistic=method == "sto-iht"
    )
    epochs = list(islice(visits, training.epochs))
    if method == "sto-iht":
        return epochs, 1.0, 0.0
    if protocol.paper_step:
        return epochs, 1.0 / largest_curvature(objective, blocks), 0.0
    if protocol.automatic_step:
        return epochs, "auto", 0.0
    step_size = r * (1 - r)
    # w is divided by 1 + step · ridge = 1.1 after every step.
    shrinks = protocol.ridge_while_tuning and training.tuning
    return epochs, step_size, 0.1 / step_size if shrinks else 0.0


def _each(fit: Callable[[Training, Point], Coef]) -> Fit:
    """Fit points one by one."""
    return lambda training, points: np.column_stack(
        [fit(training, point) for point in points]
    )


@_each
def _fit_solam(training: Training, point: Point) -> Coef:
    # Rows have unit length, and the published programs rely on it: here, and in FSAUC.
    solver = SOLAM(
        training.objective,
        radius=point["radius"],
        step_size=point["xi"],
        max_norm=1.0,
        clip_below=not training.protocol.clip_above_only,
    )
    return _run_with_stop_rule(solver, training, point)


@_each
def _fit_spam(training: Training, point: Point) -> Coef:
    solver = SPAM(
        training.objective,
        l1=point.get("l1", 0.0),
        l2=point.get("l2", 0.0),
        step_size=point["xi"],
        average=not training.protocol.last_iterate,
    )
    return _run_with_stop_rule(solver, training, point)


def _run_with_stop_rule(solver: SOLAM | SPAM, training: Training, point: Point) -> Coef:
    """Run until an epoch's last step moves little, if that is switched on; NaN if it diverges."""
    for rows in training.orders(point).reshape(training.epochs, -1):
        # The last step by itself: the stop rule looks at what it alone does.
        solver.run_epoch(rows[:-1])
        before = solver.watched.copy()
        solver.run_epoch(rows[-1:])
        with np.errstate(over="ignore", invalid="ignore"):
            moved, length = (
                np.linalg.norm(solver.watched - before),
                np.linalg.norm(before),
            )
        stopped = training.tol and length > 0.0 and moved <= training.tol * length
        if stopped or not np.isfinite(moved):
            break
    return (
        solver.coef
        if np.isfinite(solver.coef).all()
        else np.full_like(solver.coef, np.nan)
    )


@_each
def _fit_fsauc(training: Training, point: Point) -> Coef:
    """FSAUC, whose projections keep every iterate finite."""
    orders = training.orders(point)
    solver = FSAUC(
        training.objective,
        radius=point["radius"],
        step_size=point["eta"],
        max_norm=1.0,
        n_rows=orders.size,
    )
    solver.run_epoch(orders)
    return solver.coef


@_each
def _fit_sparse_auc_cv(training: Training, point: Point) -> Coef:
    """Our own estimator with its defaults: it scales the columns and tunes itself."""
    seed = int(training.rng(point).integers(2**31))
    model = SparseAUCClassifierCV(random_state=seed).fit(training.X, training.positive)
    return np.array(model.coef_[0])


@_each
def _fit_mean_difference(training: Training, point: Point) -> Coef:
    model = MeanDifferenceClassifier(int(point["k"])).fit(training.X, training.positive)
    return np.array(model.coef_[0])


def shrunken_centroids(X: Array, positive: Mask, ks: Sequence[int]) -> Array:
    """Coefficients of the nearest shrunken centroid that leaves k columns, for each k.

    With two classes these are the standardised differences of means, soft-thresholded
    by the (k + 1)-th largest, over s_j + s_0: the pooled deviation within classes and
    its median.
    """
    classes = X[positive], X[~positive]
    means = [rows.mean(axis=0) for rows in classes]
    scatter = sum(
        ((rows - mean) ** 2).sum(axis=0)
        for rows, mean in zip(classes, means, strict=True)
    )
    deviation = np.sqrt(scatter / (X.shape[0] - 2))
    deviation += np.median(deviation)
    deviation[deviation == 0] = 1.0
    difference = (means[0] - means[1]) / deviation
    largest = np.append(np.sort(np.abs(difference))[::-1], 0.0)
    thresholds = largest[np.minimum(ks, largest.size - 1)]
    excess = np.maximum(np.abs(difference)[:, None] - thresholds, 0.0)
    return np.asarray(np.sign(difference)[:, None] * excess / deviation[:, None])


def _fit_shrunken_centroid(training: Training, points: Sequence[Point]) -> Array:
    ks = [int(point["k"]) for point in points]
    return shrunken_centroids(training.X, training.positive, ks)


@_each
def _fit_l1_logistic(training: Training, point: Point) -> Coef:
    # Rows have unit length; C is meant for columns of about unit variance.
    scale = np.sqrt(training.X.shape[1])
    model = LogisticRegression(
        C=point["C"],
        solver="liblinear",
        class_weight="balanced",
        random_state=int(training.rng(point).integers(2**31)),
        **_L1,
    )
    with warnings.catch_warnings():
        # A fit that has not converged is judged by its validation AUC like any other.
        warnings.simplefilter("ignore")
        return np.asarray(
            model.fit(training.X * scale, training.positive).coef_[0] * scale
        )


METHODS: Mapping[str, Method] = {
    method.key: method
    for method in (
        Method("sht-auc", "SHT-AUC", partial(_fit_hard, "sht-auc")),
        Method("spam-l1", "SPAM-l1", _fit_spam, truncated=True),
        Method("spam-l2", "SPAM-l2", _fit_spam, truncated=True),
        Method("fsauc", "FSAUC", _fit_fsauc, truncated=True),
        Method("solam", "SOLAM", _fit_solam, truncated=True),
        Method("sto-iht", "StoIHT", partial(_fit_hard, "sto-iht")),
        Method("hsg-ht", "HSG-HT", partial(_fit_hard, "hsg-ht")),
        Method("spam-l1l2", "SPAM-l1/l2", _fit_spam, truncated=True, in_tables=False),
        Method(
            "sparse-auc",
            "SparseAUCClassifierCV",
            _fit_sparse_auc_cv,
            in_paper=False,
            raw=True,
        ),
        Method(
            "mean-difference",
            "top-k mean difference",
            _fit_mean_difference,
            in_paper=False,
        ),
        Method(
            "shrunken-centroid",
            "nearest shrunken centroid",
            _fit_shrunken_centroid,
            in_paper=False,
        ),
        Method("l1-logistic", "L1 logistic", _fit_l1_logistic, in_paper=False),
    )
}
PAPER_METHODS = tuple(m.key for m in METHODS.values() if m.in_paper and m.in_tables)


def find_methods(names: str | None) -> tuple[str, ...]:
    """Keys of the methods named in a list with commas, by key or by printed name; all for none."""
    if names is None:
        return tuple(METHODS)
    by_name = {m.name.casefold(): m.key for m in METHODS.values()}
    wanted = [part.strip().casefold() for part in names.split(",")]
    keys = {
        one_of(METHODS, by_name.get(name, name), "method") for name in wanted if name
    }
    if not keys:
        raise ValueError(f"no method is named; there are {', '.join(METHODS)}")
    return tuple(key for key in METHODS if key in keys)
