"""What the sentences of the report on a fit are about."""

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
    say = words_of(fit)
    paragraphs = [
        say("data"),
        _describe_score(fit, say),
        _describe_search(fit, say),
        say("validation"),
    ]
    if fit.stability is not None:
        paragraphs.append(say("stability"))
    return [*paragraphs, _describe_software(say)]


def _describe_score(fit: FitResult, say: Words) -> str:
    classifier = fit.model
    on_list: Limits = getattr(classifier, "limits", None) or Limits()
    return say(
        "score",
        ours=chooses_by_exchanges(classifier),
        limits=list(on_list.describe(fit.table.columns)),
        budget=getattr(classifier, "budget_", on_list.budget),
    )


def _describe_search(fit: FitResult, say: Words) -> str:
    classifier = fit.model
    results = getattr(classifier, "cv_results_", None)
    if results is None:
        return say("search", what=None)
    repeats = classifier.n_repeats_
    tried = sorted(set(np.asarray(results["param_k"]).tolist()))
    ridges = len(set(np.asarray(results["param_alpha"]).tolist()))
    budgets = sorted(set(np.asarray(results.get("param_budget", ())).tolist()))
    what = [f"Lists of {tried[0]} to {tried[-1]} columns"] if len(tried) > 1 else []
    what += (
        [f"{len(budgets)} budgets up to {budgets[-1]:g}"] if len(budgets) > 1 else []
    )
    what += [f"{ridges} ridge penalties"] if ridges > 1 else []
    return say(
        "search",
        what=what or ["Coefficients"],
        folds=round(classifier.n_splits_ / repeats),
        repeats=round(repeats),
    )


def _describe_software(say: Words) -> str:
    import platform

    import scipy
    import sklearn

    versions = {one.__name__: one.__version__ for one in (np, scipy, sklearn)}
    return say("software", python=platform.python_version(), **versions)


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
