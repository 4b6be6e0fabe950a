"""The methods that ``compare``, ``reproduce`` and the benchmarks compare.

Importing this module is cheap: estimators are imported when one is made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sparseauc

KS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
RADII = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Method:
    """A classifier and the grid it is tuned over, empty for one that scales and tunes itself."""

    key: str
    title: str
    make: Callable[[], Any]
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def feasible_grid(self, n_features: int) -> dict[str, list[float]]:
        """Return the grid without values of k above the number of features."""
        values = {key: list(values) for key, values in self.grid.items()}
        if "k" in values:
            values["k"] = [k for k in values["k"] if k <= n_features]
        return values


def l1_logistic(C: float = 1.0, random_state: int = 0) -> Any:
    """L1-penalised logistic regression with balanced classes, for every supported scikit-learn."""
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
        Method(OURS, "this library, default rule", lambda: sparseauc.SparseAUCClassifierCV()),
        Method(
            "sparse-auc-1se",
            "this library, rule 1se",
            lambda: sparseauc.SparseAUCClassifierCV(rule="1se"),
        ),
        Method(
            "sht-auc", "stochastic hard thresholding", _stochastic("SHTAUCClassifier"), {"k": KS}
        ),
        Method("sto-iht", "StoIHT, logistic loss", _stochastic("StoIHTClassifier"), {"k": KS}),
        Method("hsg-ht", "HSG-HT, logistic loss", _stochastic("HSGHTClassifier"), {"k": KS}),
        Method(
            "spam-l1",
            "SPAM with an L1 penalty",
            _stochastic("SPAMClassifier", penalty="l1"),
            {"alpha": _powers_of_ten(-5, -1, 5)},
        ),
        Method("solam", "SOLAM, all columns", _stochastic("SOLAMClassifier"), {"radius": RADII}),
        Method("fsauc", "FSAUC, L1 ball", _stochastic("FSAUCClassifier"), {"radius": RADII}),
        Method(
            "opauc",
            "OPAUC, all columns",
            _stochastic("OPAUCClassifier"),
            {"alpha": _powers_of_ten(-4, 0, 3)},
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
