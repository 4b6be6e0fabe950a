"""What rows are ranked by: quadratics to choose columns with, and scores of validation rows.

Cross-validation asks a target for both and knows nothing else of it. Labels of two classes are
``ClassTarget`` (``validation``), times to event ``TimeTarget`` (``concordance``); another loss is
another class with these methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..chunks import Chunks
from ..labels import Labels
from ..moments.base import Quadratic
from ..utils.types import Array, Indices
from .folds import Split, SplitPlan

if TYPE_CHECKING:
    from .validation import Models


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
    """What rows are ranked by, and within which strata if there are any."""

    @property
    def labels(self) -> Labels:
        """Classes of rows to be divided between folds, and their strata."""

    def moments(self, table: Any, weight: Array | None) -> Quadratic:
        """Quadratic of the rows of weight above 0 of a table in memory."""

    def score(self, scores: Array, rows: Indices) -> float:
        """Score of some rows, given theirs by a model; higher is better."""

    def splits(self, cv: Any, X: Any, groups: Any, weight: Array | None, seed: Any) -> list[Split]:
        """Divide rows as ``cv`` says, and refuse splits that cannot be fitted or judged."""

    def training_sets(self, table: Any, chunks: Chunks, plan: SplitPlan) -> TrainingSets:
        """Quadratics of a table, which is in memory or the chunks themselves."""

    def validate(
        self, chunks: Chunks, plan: SplitPlan, models: "Sequence[Models]", n_threads: int = 1
    ) -> tuple[list[Array], float]:
        """Scores of all models of each split on its validation rows, and how far they may be off.

        Higher is better.
        """
