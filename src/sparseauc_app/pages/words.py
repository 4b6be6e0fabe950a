"""Sentences of the reports: templates in which every block is a text with a name."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseauc.defaults import CLIP
from sparseauc.limits import Limits

from ..fit_result import FitResult
from ..formatting import auc_text, count, make_environment, percent
from ..models import chooses_by_exchanges
from ..reading import Table
from ..reading.columns import is_number

if TYPE_CHECKING:
    from jinja2 import Environment


class Words:
    """The texts of one template file, called by the name of their block.

    Facts are filled in; lines are joined, and a blank line begins a new paragraph. Texts that a
    file has not are those of ``otherwise``.
    """

    def __init__(self, name: str, otherwise: Words | None = None) -> None:
        self._name = name
        self._otherwise = otherwise

    def __call__(self, block: str, **facts: Any) -> str:
        """Write a text; empty if the template has no such block."""
        template = _environment().get_template(self._name)
        if block not in template.blocks:
            return "" if self._otherwise is None else self._otherwise(block, **facts)
        text = "".join(template.blocks[block](template.new_context(facts)))
        parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
        return "\n\n".join(part for part in parts if part)


def write_table(name: str, **facts: Any) -> list[list[str]]:
    """Write a template of lines whose cells stand between bars."""
    text = _environment().get_template(name).render(facts)
    return [line.removesuffix(" |").split(" | ", 3) for line in text.splitlines() if line]


@cache
def _environment() -> Environment:
    environment = make_environment("sparseauc_app.pages", escape=False)
    environment.finalize = _on_one_line
    environment.filters |= {
        "count": count,
        "percent": percent,
        "auc": auc_text,
        "g": lambda number: f"{number:g}".replace("-", "−"),
        "fixed": lambda number, digits=2: f"{number:.{digits}f}".replace("-", "−"),
        "signed": lambda number, digits=3: f"{number:+.{digits}f}".replace("-", "−"),
        "names": lambda names: ", ".join(map(str, names)),
        "quoted": lambda names: ", ".join(repr(str(name)) for name in names),
    }
    return environment


def _on_one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


SAY = Words("model_words.j2")
_OF_TIMES = Words("times_words.j2", SAY)


def words_of(fit: FitResult) -> Words:
    """The sentences of a report: what differs for times to event is in a file of its own."""
    return SAY if fit.table.times is None else _OF_TIMES


def describe_method(fit: FitResult) -> list[str]:
    """Describe the analysis, one paragraph for each step."""
    paragraphs = [
        _describe_data(fit),
        _describe_score(fit),
        _describe_search(fit),
        _describe_validation(fit),
    ]
    if fit.stability is not None:
        paragraphs.append(words_of(fit)("stability", pairs=fit.stability.n_pairs, k=fit.k))
    return [*paragraphs, _describe_software(fit)]


def _describe_data(fit: FitResult) -> str:
    table = fit.table
    return words_of(fit)(
        "data", table=table, n=table.y.size, positives=int(table.y.sum()), event=fit.card.event
    )


def _describe_score(fit: FitResult) -> str:
    classifier: Any = fit.classifier
    table = fit.table
    limits = fit.summary["clip"]
    share = getattr(classifier, "clip", None)
    on_list: Limits = getattr(classifier, "limits", None) or Limits()
    return words_of(fit)(
        "score",
        ours=chooses_by_exchanges(classifier),
        classifier=classifier,
        alpha=fit.summary["alpha"],
        logistic_ridge=fit.summary["logistic_ridge"],
        clipped=list(limits),
        clip=CLIP if share == "auto" else share,
        clip_chosen=share == "auto",
        logged=list(fit.summary["log"]),
        added={name: offset for name, offset in fit.summary["log"].items() if offset},
        log_chosen=getattr(classifier, "log", None) == "auto",
        points=fit.settings.get("points"),
        n_within=table.n_within,
        of_the_same=of_the_same(table),
        limits=list(on_list.describe(table.columns)),
        budget=getattr(classifier, "budget_", on_list.budget),
        cost=getattr(classifier, "cost_", None),
    )


def _describe_search(fit: FitResult) -> str:
    settings = fit.settings
    classifier = fit.classifier
    results = getattr(classifier, "cv_results_", None)
    if results is None:
        return words_of(fit)("search", tuned=False, k=fit.k)
    repeats = classifier.n_repeats_
    tried = sorted(set(np.asarray(results["param_k"]).tolist()))
    ridges = len(set(np.asarray(results["param_alpha"]).tolist()))
    budgets = sorted(set(np.asarray(results.get("param_budget", ())).tolist()))
    what = [f"Lists of {tried[0]} to {tried[-1]} columns"] if len(tried) > 1 else []
    what += [f"{len(budgets)} budgets up to {budgets[-1]:g}"] if len(budgets) > 1 else []
    what += [f"{ridges} ridge penalties"] if ridges > 1 else []
    times = {1: "", 2: ", repeated twice"}
    return words_of(fit)(
        "search",
        tuned=True,
        what=what or ["Coefficients"],
        folds=round(classifier.n_splits_ / repeats),
        often=times.get(round(repeats), f", repeated {round(repeats)} times"),
        given_k=settings.get("k"),
        given_alpha=settings.get("alpha") is not None,
    )


def _describe_validation(fit: FitResult) -> str:
    nested = fit.nested
    groups = fit.table.groups
    return words_of(fit)(
        "validation",
        folds=0 if nested is None else nested.fold_aucs.size,
        groups=0 if groups is None else np.unique(groups).size,
    )


def _describe_software(fit: FitResult) -> str:
    import platform

    import scipy
    import sklearn

    from sparseauc import __version__

    return words_of(fit)(
        "software",
        seed=fit.settings.get("seed", ""),
        version=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        sklearn=sklearn.__version__,
    )


def class_names(fit: FitResult) -> tuple[str, str]:
    """Names of the positive and the negative class: "ill", but "state=1" rather than "1"."""
    if fit.label:
        return fit.label, "other"
    table = fit.table

    def called(label: str) -> str:
        bare = is_number(label) or label.lower() in ("yes", "no", "true", "false", "y", "n")
        return f"{table.target}={label}" if bare else label

    positive = called(table.positive)
    rest = table.negative == f"not {table.positive}"
    return positive, f"not {positive}" if rest else called(table.negative)


def of_the_same(table: Table) -> str:
    """Return " of the same site" where rows are compared within sites, else nothing."""
    return "" if table.within is None else f" of the same {table.within}"
