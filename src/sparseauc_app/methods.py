"""The methods that ``compare`` and the benchmarks compare: ours, simple ones, and those of plugins.

Importing this module is cheap: estimators are imported when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import sparseauc

if TYPE_CHECKING:
    from sparseauc.outcome import Outcome

KS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)


@dataclass(frozen=True)
class Method:
    """A model and the grid it is tuned over, empty for one that scales and tunes itself.

    ``needs`` is a module that must be installed for it, and ``usual`` methods are
    compared unless others are named.
    """

    key: str
    title: str
    make: Callable[[], Any]
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)
    needs: str | None = None
    usual: bool = False

    @property
    def installed(self) -> bool:
        """Return whether all that it needs is installed."""
        return self.needs is None or find_spec(self.needs) is not None

    def feasible_grid(self, n_features: int) -> dict[str, list[float]]:
        """Return the grid without values of k above the number of features."""
        values = {key: list(values) for key, values in self.grid.items()}
        if "k" in values:
            values["k"] = [k for k in values["k"] if k <= n_features]
        return values


def choose_by_validation(outcome: Outcome, rows: Any, **settings: Any) -> Any:
    """Return a model that chooses its list by cross-validation, to be fitted to some rows."""
    from sparseauc.outcome import Times

    if not isinstance(outcome, Times):
        return sparseauc.SparseAUCClassifierCV(**settings)
    settings.pop("coefficients", None)
    # The last row of all may be left out.
    last = float(outcome.times.time[rows].max())
    horizon = last if outcome.horizon is None else min(outcome.horizon, last)
    return sparseauc.SparseConcordanceCV(horizon=horizon, **settings)


def list_of_k(outcome: Outcome, k: int, alpha: float = 1.0) -> Any:
    """Return a model of k columns, without cross-validation."""
    from sparseauc.outcome import Times

    make = (
        sparseauc.SparseConcordance
        if isinstance(outcome, Times)
        else sparseauc.SparseAUCClassifier
    )
    return make(k, alpha)


def simple_methods(outcome: Outcome) -> dict[str, Callable[[int], Any]]:
    """Return makers of simple models of as many columns, by title, to compare with."""
    from sparseauc.outcome import Times

    methods: dict[str, Callable[[int], Any]] = {
        "best single column": lambda _: list_of_k(outcome, 1)
    }
    if not isinstance(outcome, Times):
        methods["largest mean differences"] = sparseauc.MeanDifferenceClassifier
    return methods


def l1_logistic(C: float = 1.0, random_state: int = 0) -> Any:
    """L1-penalised logistic regression with balanced classes, for every supported scikit-learn."""
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils.fixes import parse_version

    # From 1.8 on l1_ratio says it; before, l1_ratio is ignored unless
    # penalty="elasticnet".
    new = parse_version(sklearn.__version__) >= parse_version("1.8")
    penalty: dict[str, Any] = {"l1_ratio": 1.0} if new else {"penalty": "l1"}
    return LogisticRegression(
        C=C,
        solver="liblinear",
        class_weight="balanced",
        random_state=random_state,
        **penalty,
    )


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(early_stopping=False, random_state=0)


def _l2_logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(class_weight="balanced", max_iter=1000)


def _cox(penalty: Literal["l1", "l2"]) -> Any:
    from .cox_peers import CoxPeer

    return CoxPeer(penalty)


def powers_of_ten(low: float, high: float, count: int) -> tuple[float, ...]:
    """Return powers, evenly spaced on the logarithmic scale, both ends included."""
    return tuple(10 ** (low + (high - low) * i / (count - 1)) for i in range(count))


OURS = "sparse-auc"
L1_LOGISTIC = Method(
    "l1-logistic",
    "logistic regression, L1 penalty",
    l1_logistic,
    {"C": powers_of_ten(-2, 2, 12)},
    usual=True,
)


def _make(name: str, **settings: Any) -> Any:
    return getattr(sparseauc, name)(**settings)


def _ours(key: str, name: str) -> tuple[Method, ...]:
    """Return a class of ours by its rules, and with a single column."""
    return (
        Method(key, "this library, default rule", partial(_make, name), usual=True),
        Method(
            f"{key}-1se",
            "this library, rule 1se",
            partial(_make, name, rule="1se"),
            usual=True,
        ),
        Method(
            "single-column",
            "the best column alone",
            partial(_make, name, ks=[1]),
            usual=True,
        ),
    )


_OWN: Mapping[str, Method] = {
    method.key: method
    for method in (
        *_ours(OURS, "SparseAUCClassifierCV"),
        Method(
            "mean-difference",
            "largest differences of class means",
            lambda: sparseauc.MeanDifferenceClassifier(),
            {"k": KS},
            usual=True,
        ),
        L1_LOGISTIC,
        Method(
            "l2-logistic",
            "logistic regression, L2 penalty, all columns",
            _l2_logistic,
            {"C": powers_of_ten(-4, 2, 7)},
            usual=True,
        ),
        Method(
            "gradient-boosting",
            "boosted trees, all columns",
            _boosting,
            {"max_leaf_nodes": (4, 16)},
            usual=True,
        ),
        Method(
            "sht-auc",
            "stochastic hard thresholding",
            lambda: sparseauc.SHTAUCClassifier(record_history=False, random_state=0),
            {"k": KS},
        ),
    )
}


@cache
def all_methods() -> Mapping[str, Method]:
    """Return the methods by name: those above, then those that installed packages add.

    A package adds methods by the entry point ``sparseauc.methods``, as the paper's
    does.
    """
    added = [
        one for point in entry_points(group="sparseauc.methods") for one in point.load()
    ]
    return {**_OWN, **{method.key: method for method in added}}


@cache
def methods_of_times() -> Mapping[str, Method]:
    """Return the methods that rank rows by the time to their event, by name."""
    found = (
        *_ours("sparse-concordance", "SparseConcordanceCV"),
        Method(
            "l1-cox",
            "Cox model, L1 penalty",
            partial(_cox, "l1"),
            {"alpha": powers_of_ten(-3, 0, 13)},
            "sksurv",
            usual=True,
        ),
        Method(
            "ridge-cox",
            "Cox model, L2 penalty, all columns",
            partial(_cox, "l2"),
            {"alpha": powers_of_ten(-2, 4, 13)},
            "sksurv",
            usual=True,
        ),
    )
    return {method.key: method for method in found}
