"""The learning curve: AUC or C of lists of the same length that are fitted to fewer rows."""

import time
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sparseauc.limits import Limits
from sparseauc.metrics import AUCInterval
from sparseauc.selection.confidence import fit_rows

from ..fit_result import FitResult
from ..folds import Progress, Rows, score_folds, splits_of
from ..methods import list_of_k
from ..models import chooses_by_exchanges

_SHARES = (0.3, 0.5, 0.75, 1.0)
# Seconds that the curve may take, judged by its first point.
_PATIENCE = 20.0


def learning_curve(
    fit: FitResult, report: Progress = lambda *_: None
) -> list[tuple[int, AUCInterval]] | None:
    """AUC on the outer folds by the number of training rows; None where it would take minutes.

    Every fit chooses its columns anew, as many as the final list has, with the final ridge.
    """
    table = fit.table
    nested = fit.nested
    k = fit.k
    ours = chooses_by_exchanges(fit.classifier) and table.weight is None
    if nested is None or k == 0 or not ours:
        return None
    splits = splits_of(nested.folds)
    given = fit.classifier.limits
    groups = None if given is None else Limits(column_groups=given.column_groups)
    found: list[tuple[int, AUCInterval]] = []
    started = time.perf_counter()
    for share in _SHARES[::-1]:

        def fit_share(fold: int, train: Rows, share: float = share) -> Any:
            done = len(splits) * len(found) + fold
            report("Learning curve", done, len(splits) * len(_SHARES))
            rows = _share_of(train, table.y, share, fold)
            fill = SimpleImputer(strategy=table.imputation or "median", keep_empty_features=True)
            model = list_of_k(table.outcome, k, fit.summary["alpha"]).set_params(limits=groups)
            return fit_rows(
                make_pipeline(fill, model), table.X, table.outcome.y, rows, **table.known()
            )

        fewest = _share_of(splits[0][0], table.y, share, 0)
        if table.outcome.take(fewest).informative < 3:
            break
        judged = score_folds(table, splits, fit_share)
        size = np.mean([_share_of(train, table.y, share, 0).size for train, _ in splits])
        found.append((round(float(size)), judged.interval))
        slow = (time.perf_counter() - started) * len(_SHARES) > _PATIENCE
        if len(found) == 1 and slow:
            return None
    return found[::-1] if len(found) > 1 else None


def _share_of(train: Rows, y: Any, share: float, seed: int) -> Rows:
    """A share of the rows of each class, at random."""
    rng = np.random.default_rng(seed)
    parts = []
    for label in (0, 1):
        rows = train[y[train] == label]
        parts.append(rng.permutation(rows)[: max(1, round(share * rows.size))])
    return np.sort(np.concatenate(parts))
