"""What this package adds to ``sparseauc compare``, by an entry point.

Importing this module is cheap: estimators are imported when one is made.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sparseauc_app.methods import Method

_KS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
_RADII = (0.1, 1.0, 10.0, 100.0)


def _make(name: str, **settings: Any) -> Callable[[], Any]:
    def make() -> Any:
        classifier = getattr(import_module("sparseauc_paper.baselines"), name)
        return classifier(record_history=False, random_state=0, **settings)

    return make


METHODS = (
    Method("sto-iht", "StoIHT, logistic loss", _make("StoIHTClassifier"), {"k": _KS}),
    Method("hsg-ht", "HSG-HT, logistic loss", _make("HSGHTClassifier"), {"k": _KS}),
    Method(
        "spam-l1",
        "SPAM with an L1 penalty",
        _make("SPAMClassifier", penalty="l1"),
        {"alpha": (1e-5, 1e-4, 1e-3, 1e-2, 0.1)},
    ),
    Method("solam", "SOLAM, all columns", _make("SOLAMClassifier"), {"radius": _RADII}),
    Method("fsauc", "FSAUC, L1 ball", _make("FSAUCClassifier"), {"radius": _RADII}),
)
