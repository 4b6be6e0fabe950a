"""The gene data: Table III and Figures 3 and 4."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan

import pandas as pd

from . import plan, printed
from .comparison import Comparison
from .estimates import Sample, Values, mean_of
from .page import Figure, Panel
from .plan import Request
from .protocols import HARD_THRESHOLDING, PROTOCOLS, Protocol
from .summaries import (
    ABOUT_DIFFERENCES,
    AUC,
    PROTOCOL_WORDS,
    Outcomes,
    extent_of,
    frame_of,
    name_of,
    series_of,
    values_of,
)
from .tasks import Task
from .tuning import N_FOLDS

_ON_THESE = (
    "The same patients are split again and again: standard errors are those of the mean over such "
    "splits of these patients, and say nothing about others"
)


@dataclass(frozen=True)
class RealResults:
    """What the tasks of a protocol on the gene data hold, by method, data set and k, if any."""

    tuned: Values  # test AUCs with k as the protocol chooses it
    by_k: dict[tuple[str, str, str], Sample]  # test AUCs
    share: dict[tuple[str, str, str], Sample]  # share of markers among the columns chosen
    best_k: dict[tuple[str, str], str]  # k with the best mean test AUC


def real_results(
    tasks: Mapping[plan.Key, Task], outcomes: Outcomes, protocol: Protocol
) -> RealResults:
    """Read all numbers off the tasks of the gene data."""
    reading = "published" if protocol.published_markers else "corrected"
    by_k: dict[tuple[str, str, str], Sample] = {}
    share: dict[tuple[str, str, str], Sample] = {}
    own: Values = {}
    for (method, dataset, trial, fold), task in tasks.items():
        if task not in outcomes:
            continue
        result = outcomes[task].result
        values = own.setdefault((method, dataset), {})
        values[trial, fold] = nan
        if result is None:
            continue
        values[trial, fold] = result["by_k"][result["best"]]["auc"]
        for k, at_k in result["by_k"].items():
            place = method, dataset, k
            hits, columns = at_k["markers"][reading], at_k["columns"]
            auc = nan if at_k["auc"] is None else at_k["auc"]
            by_k.setdefault(place, {})[trial, fold] = auc
            share.setdefault(place, {})[trial, fold] = hits / columns if columns else 0.0
    best_k: dict[tuple[str, str], str] = {}
    for (method, dataset, k), sample in by_k.items():
        now = best_k.get((method, dataset))
        if now is None or mean_of(sample).mean > mean_of(by_k[method, dataset, now]).mean:
            best_k[method, dataset] = k
    tuned = dict(own)
    if protocol.best_k_on_test:
        for (method, dataset), k in best_k.items():
            if method in HARD_THRESHOLDING:
                # Tasks that failed have no value at any k; they count all the same.
                failed = {key: v for key, v in own[method, dataset].items() if isnan(v)}
                tuned[method, dataset] = {**by_k[method, dataset, k], **failed}
    return RealResults(tuned, by_k, share, best_k)


def results_under(request: Request, protocol: str, outcomes: Outcomes) -> RealResults:
    """Results of a protocol's tasks on the gene data."""
    return real_results(plan.real_tasks(request, protocol), outcomes, PROTOCOLS[protocol])


def _trials(request: Request) -> str:
    return extent_of(request.preset.real_trials, N_FOLDS, "trial")


def table3(request: Request, protocol: str, outcomes: Outcomes) -> Comparison:
    """Table III under a protocol."""
    results = results_under(request, protocol, outcomes)
    lines = frame_of(
        results.tuned, AUC, printed.REAL_AUC, printed.REAL,
        {name: name for name in request.datasets},
        by_trial=PROTOCOLS[protocol].hold_out_fifty,
    )  # fmt: skip
    chosen = (
        "k of the hard-thresholding methods is the one with the best mean test AUC, as there"
        if PROTOCOLS[protocol].best_k_on_test
        else "k is tuned on training rows like everything else"
    )
    return Comparison(
        name_of("table3", request, protocol),
        f"Table III, {protocol} protocol",
        f"Test AUC on the gene data under {PROTOCOL_WORDS[protocol]}; {chosen}; "
        f"{_trials(request)}{values_of(results.tuned)}. {_ON_THESE}. {ABOUT_DIFFERENCES}",
        pd.DataFrame(lines),
    )


def figure3(request: Request, protocol: str, outcomes: Outcomes) -> Figure:
    """Figure 3: test AUC against k."""
    results = results_under(request, protocol, outcomes)
    return Figure(
        name_of("figure3", request, protocol),
        f"Figure 3: AUC against k, {protocol} protocol",
        f"Test AUC on the gene data for every k, {_trials(request)}; what else there is to tune is "
        "tuned for each k. Methods without a limit k are drawn level. Bands are one standard "
        "error over splits of these patients. Leukemia is drawn as 1 − AUC on an axis of powers of "
        "ten, so that lines near 1 can be told apart: there lower is better.",
        _panels_by_k(request, protocol, results.by_k, AUC, near_one=("leukemia",)),
    )


def figure4(request: Request, protocol: str, outcomes: Outcomes) -> Figure:
    """Figure 4: share of markers among the columns chosen, against k."""
    results = results_under(request, protocol, outcomes)
    reading = "published" if PROTOCOLS[protocol].published_markers else "corrected"
    limited = {place: sample for place, sample in results.share.items() if place[2]}
    return Figure(
        name_of("figure4", request, protocol),
        f"Figure 4: share of related genes against k, {protocol} protocol",
        "Share of the columns chosen that measure one of the paper's markers (a precision: the "
        f"paper's formula has a recall, its text and programs this). {_trials(request)}; markers "
        f"in the {reading} reading. Bands are one standard error over splits of these patients.",
        _panels_by_k(request, protocol, limited, "share of markers among columns"),
    )


def _panels_by_k(
    request: Request,
    protocol: str,
    values: Mapping[tuple[str, str, str], Sample],
    label: str,
    near_one: tuple[str, ...] = (),
) -> list[Panel]:
    """A panel for each data set that has values, with a line for each method."""
    methods = request.methods if protocol == request.protocol else request.paper_methods
    panels = []
    for dataset in request.datasets:
        limits = sorted({float(k) for _, name, k in values if k and name == dataset})
        series = []
        for method in methods:
            ks = [k for key, name, k in values if (key, name) == (method, dataset)]
            samples = [values[method, dataset, k] for k in ks]
            if dataset in near_one:
                samples = [{key: 1 - v for key, v in sample.items()} for sample in samples]
            means = [mean_of(sample) for sample in samples]
            if ks == [""]:
                ends = [limits[0], limits[-1]] if limits else [1.0, 500.0]
                series.append(series_of(method, ends, means * 2))
            elif ks:
                series.append(series_of(method, [float(k) for k in ks], means))
        if series:
            turned = dataset in near_one
            panels.append(
                Panel(
                    dataset, "columns allowed k", f"1 − {label}" if turned else label, series,
                    x_log=True, y_log=turned,
                )
            )  # fmt: skip
    return panels
