"""Stored results, read as numbers: by method and column, draw and test part."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log10, nan
from typing import Any, get_args

import numpy as np

from . import plan
from .arrays import Array
from .convergence import Scale
from .estimates import Sample, Values, difference_of, mean_of
from .marker_genes import DatasetName, Reading, markers_of
from .plan import Request
from .protocols import HARD_THRESHOLDING, PROTOCOLS, Protocol
from .store import Outcome
from .tasks import Task
from .theory.measurements import Measurements

Outcomes = Mapping[Task, Outcome]
Result = Mapping[str, Any]
# What was found by tasks that were run, none where one failed.
Found = dict[plan.Key, Result | None]
# By method, data set and k, if any.
AtK = dict[tuple[str, str, str], Sample]
# By k*, share of positives and scale of the step: the epochs, and a line of values for
# each draw.
Courses = dict[tuple[int, float, Scale], tuple[list[int], Array]]


def found_by(tasks: Mapping[Any, Task], outcomes: Outcomes) -> dict[Any, Result | None]:
    """Results of those of the tasks that were run."""
    return {
        key: outcomes[task].result for key, task in tasks.items() if task in outcomes
    }


def values_of(found: Found, number: Callable[[Result], float]) -> Values:
    """Read one number off every result; NaN where a task failed."""
    values: Values = {}
    for (method, column, trial, fold), result in found.items():
        sample = values.setdefault((method, column), {})
        sample[trial, fold] = nan if result is None else float(number(result))
    return values


def simulated(found: Found, protocol: Protocol, measure: str) -> Values:
    """Numbers of the simulation, as a protocol reads them.

    ``auc`` is that of all coefficients, ``auc of the list`` that of the columns whose
    ``f1`` and ``jaccard`` are taken: those of the k that was tuned, or of k = k* if
    that was ``given``.
    """
    name, _, how = measure.partition(" ")
    suffix = "" if protocol.absolute_cut else "_told" if how == "given" else "_tuned"
    if name == "auc" and (how != "of the list" or not suffix):
        suffix = ""
        name = "auc_cut" if protocol.truncate_before_auc else "auc"
    return values_of(found, lambda result: result[name + suffix])


@dataclass(frozen=True)
class Genes:
    """What the tasks of a protocol on the gene data hold."""

    tuned: Values  # test AUCs with k as the protocol chooses it
    auc: AtK
    precision: (
        AtK  # share of markers among the columns chosen, as the paper's text has it
    )
    recall: AtK  # share of the markers that were chosen, as its formula has it
    best_k: dict[tuple[str, str], str]  # k with the best mean test AUC

    def gain(
        self, method: str, dataset: str, ks: Iterable[str], others: Iterable[str]
    ) -> Sample:
        """AUC at the best of some k less that at the best of others."""
        ends = [
            [
                self.auc[method, dataset, k]
                for k in part
                if (method, dataset, k) in self.auc
            ]
            for part in (ks, others)
        ]
        if not all(ends):
            return {}
        best, other = (
            max(part, key=lambda sample: mean_of(sample).mean) for part in ends
        )
        return difference_of(best, other)


def read_genes(found: Found, protocol: Protocol) -> Genes:
    """Read all numbers off results on the gene data."""
    reading: Reading = "published" if protocol.published_markers else "corrected"
    tuned = values_of(found, lambda result: result["by_k"][result["best"]]["auc"])
    auc, precision, recall = AtK(), AtK(), AtK()
    markers = {
        name: len(
            {
                column
                for marker in markers_of(name, reading)
                for column in marker.columns
            }
        )
        for name in get_args(DatasetName)
    }
    for (method, dataset, trial, fold), result in found.items():
        for k, at_k in ({} if result is None else result["by_k"]).items():
            place = method, dataset, k
            hits, columns = at_k["markers"][reading], at_k["columns"]
            score = nan if at_k["auc"] is None else at_k["auc"]
            auc.setdefault(place, {})[trial, fold] = score
            precision.setdefault(place, {})[trial, fold] = hits / max(columns, 1)
            recall.setdefault(place, {})[trial, fold] = hits / markers[dataset]
    best_k: dict[tuple[str, str], str] = {}
    means = {at: np.nan_to_num(mean_of(sample).mean) for at, sample in auc.items()}
    # The first of equals stays.
    for method, dataset, k in sorted(means, key=lambda at: -means[at]):
        best_k.setdefault((method, dataset), k)
    if protocol.best_k_on_test:
        for (method, dataset), k in best_k.items():
            if method in HARD_THRESHOLDING:
                # Tasks that failed have no value at any k; they count all the same.
                failed = {
                    key: v for key, v in tuned[method, dataset].items() if np.isnan(v)
                }
                tuned[method, dataset] = {**auc[method, dataset, k], **failed}
    return Genes(tuned, auc, precision, recall, best_k)


@dataclass(frozen=True)
class Results:
    """All results that a report may need, by protocol where they depend on it."""

    request: Request
    outcomes: Outcomes

    def _under_both(
        self, tasks: Callable[[Request, str], Mapping[plan.Key, Task]]
    ) -> dict[str, Found]:
        return {
            name: found_by(tasks(self.request, name), self.outcomes)
            for name in PROTOCOLS
        }

    @cached_property
    def tables(self) -> dict[str, Found]:
        """Results of Tables I and II."""
        return self._under_both(plan.table_tasks)

    @cached_property
    def figure2(self) -> dict[str, Found]:
        """Results of Figure 2; columns are shares of positives."""
        return self._under_both(plan.figure2_tasks)

    @cached_property
    def genes(self) -> dict[str, Genes]:
        """Results of Table III and Figures 3 and 4."""
        found = self._under_both(plan.real_tasks)
        return {name: read_genes(found[name], PROTOCOLS[name]) for name in PROTOCOLS}

    @cached_property
    def one_sided(self) -> Found:
        """Results of SOLAM where all shifts have the sign of its start."""
        return found_by(plan.one_sided_tasks(self.request), self.outcomes)

    def _grouped(self, tasks: Mapping[Any, Task]) -> dict[Any, list[Result]]:
        """Results of the tasks that were run, by all of their key but the draw."""
        groups: dict[Any, list[Result]] = {}
        for key, result in found_by(tasks, self.outcomes).items():
            if result is not None:
                groups.setdefault(key[:-1], []).append(result)
        return groups

    @cached_property
    def theory(self) -> dict[str, Measurements]:
        """Measurements of each of the theory's tasks, by share of positives."""
        measured: dict[str, dict[float, list[Result]]] = {}
        groups = self._grouped(plan.theory_tasks(self.request))
        for (name, ratio), results in groups.items():
            measured.setdefault(name, {})[ratio] = results
        return dict(measured)

    def table(self, protocol: str, measure: str) -> Values:
        """Numbers of Tables I and II."""
        return simulated(self.tables[protocol], PROTOCOLS[protocol], measure)

    def falls(self, protocol: str, measure: str) -> Values:
        """How much a number falls as positives become rare, along a line fitted to each draw."""
        numbers = simulated(self.figure2[protocol], PROTOCOLS[protocol], measure)
        ratios = self.request.preset.ratios
        span = max(ratios) - min(ratios)
        values: Values = {}
        for method in dict.fromkeys(method for method, _ in numbers):
            samples = [numbers.get((method, f"{ratio:g}"), {}) for ratio in ratios]
            draws = set.intersection(*(set(sample) for sample in samples))
            values[method, ""] = {
                draw: span
                * float(np.polyfit(ratios, [sample[draw] for sample in samples], 1)[0])
                for draw in draws
            }
        return values

    def courses(self, field: str) -> Courses:
        """Epochs of Figure 1, and what was recorded at them in every draw that was run."""
        runs = self._grouped(plan.figure1_tasks(self.request))
        return {
            place: (parts[0]["epochs"], np.array([part[field] for part in parts]))
            for place, parts in runs.items()
        }

    def over_draws(
        self,
        field: str,
        scale: Scale,
        ratio: float,
        read: Callable[[list[int], Array], float],
    ) -> Sample:
        """What is read off each course of Figure 1, by draw and k*."""
        return {
            (draw, k): read(epochs, values)
            for (k, *place), (epochs, draws) in self.courses(field).items()
            if place == [ratio, scale]
            for draw, values in enumerate(draws)
        }

    @cached_property
    def seconds(self) -> Values:
        """Powers of ten of the seconds of a fit, by method and width of the table."""
        found = found_by(plan.cost_tasks(self.request), self.outcomes)
        return values_of(found, lambda result: log10(max(result["seconds"], 1e-9)))


def epochs_to(share: float) -> Callable[[list[int], Array], float]:
    """Epochs until F has made a share of its way down."""

    def first(epochs: list[int], values: Array) -> float:
        goal = values[0] - share * (values[0] - values.min())
        return float(epochs[int(np.argmax(values <= goal))])

    return first


def rise_between(first: int, last: int) -> Callable[[list[int], Array], float]:
    """Share of the whole rise in training AUC since the first epoch that comes between two."""

    def share(epochs: list[int], values: Array) -> float:
        low, high = (
            min(int(np.searchsorted(epochs, e)), len(epochs) - 1) for e in (first, last)
        )
        rise = values[-1] - values[1]
        return float((values[high] - values[low]) / rise) if rise > 0 else 0.0

    return share
