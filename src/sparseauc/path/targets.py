"""What rows are ranked by: quadratics to choose columns with, and scores of validation rows.

Cross-validation asks a target for both and knows nothing else of it. Labels of two classes are
``ClassTarget``, times to event ``TimeTarget``; another loss is another class with these methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..chunks import Chunks
from ..metrics import fast_auc_within
from ..moments import Moments, class_moments
from ..moments.base import Quadratic
from ..moments.chunked import GatheredMoments, fits_whole
from ..strata import Strata
from ..utils.types import Array, Indices, Mask
from .folds import Split, SplitPlan, check_splits, make_splits
from .validation import Models, validate

# Tables in memory with more columns than this are wide: H of every fold would fill the memory. So
# are those with fewer rows than columns, which are smaller than H.
_WIDE = 1500


@dataclass(frozen=True)
class TrainingSets:
    """Quadratics of the training rows of each split, and of all rows.

    ``centres`` are a point among the rows of each, all rows last: scores are 0 there, so that those
    of several models can be compared. Quadratics are computed from rows in memory when they are
    asked for, unless they are ``gathered`` beforehand; ``read_again`` if that takes further passes
    over the rows.
    """

    training: Sequence[Quadratic]
    everything: Quadratic
    centres: Sequence[Array]
    gathered: bool = False
    read_again: bool = False


class Target(Protocol):
    """What rows are ranked by."""

    def moments(self, table: Any, weight: Array | None, strata: Strata | None = None) -> Quadratic:
        """Quadratic of the rows of weight above 0 of a table in memory."""

    def score(self, scores: Array, rows: Indices, strata: Strata | None = None) -> float:
        """Score of some rows, given theirs by a model; higher is better."""

    def splits(
        self, cv: Any, X: Any, groups: Any, weight: Array | None, strata: Strata | None, seed: Any
    ) -> list[Split]:
        """Divide rows as ``cv`` says, and refuse splits that cannot be fitted or judged."""

    def training_sets(self, table: Any, chunks: Chunks, plan: SplitPlan) -> TrainingSets:
        """Quadratics of a table, which is in memory or the chunks themselves."""

    def validate(
        self, chunks: Chunks, plan: SplitPlan, models: Sequence[Models], n_threads: int = 1
    ) -> tuple[list[Array], float]:
        """Scores of all models of each split on its validation rows, and how far they may be off.

        Higher is better.
        """


@dataclass(frozen=True)
class ClassTarget:
    """Labels of two classes: the squared loss over pairs, and the AUC."""

    positive: Mask

    def moments(self, table: Any, weight: Array | None, strata: Strata | None = None) -> Moments:
        """Class moments."""
        return class_moments(table, self.positive, weight, strata=strata)

    def score(self, scores: Array, rows: Indices, strata: Strata | None = None) -> float:
        """AUC, within strata where there are any."""
        positive = self.positive[rows]
        if strata is not None:
            strata = replace(strata, code=strata.code[rows]).with_both_classes(positive)
        return fast_auc_within(scores, positive, strata)

    def splits(
        self, cv: Any, X: Any, groups: Any, weight: Array | None, strata: Strata | None, seed: Any
    ) -> list[Split]:
        """Splits with rows of both classes on either side."""
        splits = make_splits(cv, X, self.positive, groups, strata, seed)
        check_splits(splits, self.positive, weight, strata)
        return splits

    def training_sets(self, table: Any, chunks: Chunks, plan: SplitPlan) -> TrainingSets:
        """Class moments of the training rows of each split, and of all rows.

        Training folds are merged, and the validation fold is not subtracted from the whole: a
        column that varies in that fold only would be left with a rounding error for its difference,
        and no variance, as if it told the classes apart.
        """
        strata = plan.strata
        n, d = chunks.shape
        wide = d > _WIDE or d >= n
        if strata is not None:
            n_parts = sum(partition.n_parts for partition in plan.partitions)
            wide |= not fits_whole(d, n_parts * len(strata))
        sets: list[Moments]
        if table is not chunks and wide:
            weights = [*map(plan.training_weights, range(len(plan.training))), plan.weight]
            sets = [self.moments(table, weight, strata) for weight in weights]
            gathered = None
        else:
            gathered = GatheredMoments(chunks, self.positive, plan.partitions, strata=strata)
            parts = [*plan.training, plan.everything]
            sets = [gathered.merged(some, solver=True) for some in parts]
        return TrainingSets(
            sets[:-1], sets[-1], [np.mean(moments.means, axis=0) for moments in sets],
            gathered is not None, gathered is not None and not gathered.whole,
        )  # fmt: skip

    def validate(
        self, chunks: Chunks, plan: SplitPlan, models: Sequence[Models], n_threads: int = 1
    ) -> tuple[list[Array], float]:
        """AUCs; see ``validation.validate``."""
        return validate(chunks, self.positive, plan, models, n_threads)
