"""The methods that ``compare``, ``reproduce`` and the benchmarks set side by side, in one place.

Importing this module is cheap: estimators are imported when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sparseauc

KS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)


@dataclass(frozen=True)
class Method:
    """A classifier and what is tuned of it.

    Attributes
    ----------
    key : str
        Its name on the command line.
    title : str
        What it is, in a few words.
    make : callable
        Returns the unfitted classifier.
    grid : mapping of str to sequence of float
        Values to try of each parameter; empty for a classifier that tunes itself, without scaling.
    """

    key: str
    title: str
    make: Callable[[], Any]
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def feasible_grid(self, n_features: int) -> dict[str, list[float]]:
        """Grid for a table of so many features: a list is not longer than the table is wide."""
        values = {key: list(values) for key, values in self.grid.items()}
        if "k" in values:
            values["k"] = [k for k in values["k"] if k <= n_features]
        return values


def l1_logistic(C: float = 1.0, random_state: int = 0) -> Any:
    """Logistic regression with an L1 penalty, balanced classes, on every scikit-learn we allow.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty.
    random_state : int, default=0

    Returns
    -------
    LogisticRegression
        Unfitted.
    """
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils.fixes import parse_version

    # From 1.8 on l1_ratio says it; before, l1_ratio is ignored unless penalty="elasticnet".
    new = parse_version(sklearn.__version__) >= parse_version("1.8")
    penalty: dict[str, Any] = {"l1_ratio": 1.0} if new else {"penalty": "l1"}
    return LogisticRegression(
        C=C, solver="liblinear", class_weight="balanced", random_state=random_state, **penalty
    )


def _l2_logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(class_weight="balanced", max_iter=1000)


def _powers_of_ten(low: float, high: float, count: int) -> tuple[float, ...]:
    """Evenly spaced on the logarithmic scale, both ends included."""
    return tuple(10 ** (low + (high - low) * i / (count - 1)) for i in range(count))


def _stochastic(name: str, **settings: Any) -> Callable[[], Any]:
    def make() -> Any:
        return getattr(sparseauc, name)(record_history=False, random_state=0, **settings)

    return make


OURS = "sparse-auc"
METHODS: Mapping[str, Method] = {
    method.key: method
    for method in (
        Method(
            OURS,
            "best k columns, k and ridge by cross-validation",
            lambda: sparseauc.SparseAUCClassifierCV(),
        ),
        Method(
            "sparse-auc-1se",
            "the same, the shortest list within one standard error",
            lambda: sparseauc.SparseAUCClassifierCV(rule="1se"),
        ),
        Method("sht-auc", "SHT-AUC", _stochastic("SHTAUCClassifier"), {"k": KS}),
        Method("sto-iht", "StoIHT", _stochastic("StoIHTClassifier"), {"k": KS}),
        Method("hsg-ht", "HSG-HT", _stochastic("HSGHTClassifier"), {"k": KS}),
        Method(
            "spam-l1",
            "SPAM with an L1 penalty",
            _stochastic("SPAMClassifier", penalty="l1"),
            {"alpha": _powers_of_ten(-5, -1, 5)},
        ),
        Method(
            "solam", "SOLAM", _stochastic("SOLAMClassifier"), {"radius": _powers_of_ten(-1, 2, 4)}
        ),
        Method(
            "fsauc", "FSAUC", _stochastic("FSAUCClassifier"), {"radius": _powers_of_ten(-1, 2, 4)}
        ),
        Method(
            "opauc", "OPAUC", _stochastic("OPAUCClassifier"), {"alpha": _powers_of_ten(-4, 0, 3)}
        ),
        Method(
            "mean-difference",
            "largest differences of class means",
            lambda: sparseauc.MeanDifferenceClassifier(),
            {"k": KS},
        ),
        Method(
            "l1-logistic",
            "logistic regression, L1 penalty",
            l1_logistic,
            {"C": _powers_of_ten(-2, 2, 12)},
        ),
        Method(
            "l2-logistic",
            "logistic regression, L2 penalty, all columns",
            _l2_logistic,
            {"C": _powers_of_ten(-4, 2, 7)},
        ),
    )
}
