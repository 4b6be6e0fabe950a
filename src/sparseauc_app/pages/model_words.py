"""What the sentences of the report on a fit are about."""

from typing import Any

import numpy as np

from sparseauc.limits import Limits

from ..fit_result import FitResult
from ..formatting import Words
from ..models import chooses_by_exchanges
from ..reading.columns import is_number


def words_of(fit: FitResult) -> Words:
    """The sentences of a report: what differs for times to event is in a file of its own."""
    from sparseauc import __version__

    positive, negative = class_names(fit)
    own = () if fit.table.times is None else ("times_words.j2",)
    return Words(
        *own,
        "model_words.j2",
        fit=fit,
        table=fit.table,
        about=fit.summary,
        label=fit.label,
        positive=positive,
        negative=negative,
        measure=fit.card.measure,
        version=__version__,
    )


def describe_method(fit: FitResult) -> list[str]:
    """Describe the analysis, one paragraph for each step."""
    import platform

    import scipy
    import sklearn

    say = words_of(fit)
    model = fit.model
    limits: Limits = getattr(model, "limits", None) or Limits()
    score = say(
        "score",
        ours=chooses_by_exchanges(model),
        limits=list(limits.describe(fit.table.columns)),
        budget=getattr(model, "budget_", limits.budget),
    )
    paragraphs = [say("data"), score, _describe_search(model, say), say("validation")]
    if fit.stability is not None:
        paragraphs.append(say("stability"))
    versions = {one.__name__: one.__version__ for one in (np, scipy, sklearn)}
    software = say("software", python=platform.python_version(), **versions)
    return [*paragraphs, software]


def _describe_search(model: Any, say: Words) -> str:
    results = getattr(model, "cv_results_", None)
    if results is None:
        return say("search", what=None)
    ks, ridges, budgets = (
        sorted({*np.asarray(results.get(f"param_{name}", ())).tolist()})
        for name in ("k", "alpha", "budget")
    )
    what = [f"Lists of {ks[0]} to {ks[-1]} columns"] if len(ks) > 1 else []
    if len(budgets) > 1:
        what.append(f"{len(budgets)} budgets up to {budgets[-1]:g}")
    if len(ridges) > 1:
        what.append(f"{len(ridges)} ridge penalties")
    return say(
        "search",
        what=what or ["Coefficients"],
        folds=round(model.n_splits_ / model.n_repeats_),
        repeats=round(model.n_repeats_),
    )


def class_names(fit: FitResult) -> tuple[str, str]:
    """Names of the positive and the negative class: "ill", but "state=1" rather than "1"."""
    if fit.label:
        return fit.label, "other"
    table = fit.table

    def called(label: str) -> str:
        bare = is_number(label) or label.lower() in (
            "yes",
            "no",
            "true",
            "false",
            "y",
            "n",
        )
        return f"{table.target}={label}" if bare else label

    positive = called(table.positive)
    rest = table.negative == f"not {table.positive}"
    return positive, f"not {positive}" if rest else called(table.negative)
