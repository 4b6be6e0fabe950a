"""How tight the proven bounds are, and what closing them takes.

n = d = 1000, k = 20; columns independent, AR(0.6) or AR(0.9); 5 % or 30 % of the rows
positive.
"""

from common import report  # isort: skip

import time

import numpy as np

from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.solvers import certificate, exchange_path
from sparseauc.solvers.certificate import bound_all, certify
from sparseauc.solvers.restrictions import Restrictions

SECONDS = 10.0


def timed(function, *arguments, **options):
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start


def gram_of(*arguments, **options):
    X, y = make_outbreak(*arguments, **options)
    return StandardisedGram(class_moments(X, y))


def lower_bound(gram, k, alpha, upper=np.inf):
    return min(bound_all(gram, k, alpha, Restrictions(), upper)[1].bound, upper)


def row(name, gram, k, alpha):
    solution, exchanging = timed(lambda: exchange_path(gram, k, alpha)[-1])
    bound, bounding = timed(lower_bound, gram, k, alpha, upper=solution.objective)
    result, searching = timed(certify, gram, solution, k, alpha, time_limit=SECONDS)
    best = result.solution.objective
    closed = result.status == "optimal"
    return (
        name,
        f"{alpha:g}",
        f"{solution.objective:.4f}",
        f"{exchanging:.2f}",
        f"{bound:.4f}",
        f"{100 * (1 - bound / solution.objective):.2f} %",
        f"{bounding:.2f}",
        f"{best:.4f}",
        "**closed**" if closed else f"{100 * (1 - result.lower_bound / best):.2f} %",
        f"{searching:.2f}",
        result.nodes,
    )


def small(name, alpha, enumerable):
    """Enumerable problems: share closed, with the columns of ``row``."""
    certificate._ENUMERABLE = enumerable
    gaps, bounding, searching, nodes, closed, excess = [], [], [], [], [], []
    for seed in range(10):
        for d, k in ((16, 3), (16, 5), (30, 3), (30, 5)):
            n, correlation = (40, 200)[seed % 2], (0.0, 0.9)[seed // 2 % 2]
            gram = gram_of(
                n, d, k, mu=0.5, r=0.3, correlation=correlation, random_state=seed
            )
            solution = exchange_path(gram, k, alpha)[-1]
            bound, seconds = timed(lower_bound, gram, k, alpha)
            bounding.append(seconds)
            gaps.append(1 - bound / solution.objective)
            result, seconds = timed(
                certify, gram, solution, k, alpha, time_limit=SECONDS
            )
            searching.append(seconds)
            nodes.append(result.nodes)
            closed.append(result.status == "optimal")
            excess.append(solution.objective > result.solution.objective * (1 + 1e-6))
    return (
        name,
        f"{alpha:g}",
        f"best in {100 * (1 - np.mean(excess)):.0f} %",
        "",
        "",
        f"{100 * np.mean(gaps):.2f} %",
        f"{np.mean(bounding):.4f}",
        "",
        f"{sum(closed)} of {len(closed)} closed",
        f"{np.mean(searching):.4f} (max {max(searching):.2f})",
        f"{np.mean(nodes):.0f}",
    )


def main():
    warm = gram_of(200, 50, 5, random_state=0)
    certify(warm, exchange_path(warm, 5, 0.1)[-1], 5, 0.1)
    rows = []
    for correlation in (0.0, 0.6, 0.9):
        for r in (0.05, 0.3):
            gram = gram_of(
                1000, 1000, 20, mu=0.3, r=r, correlation=correlation, random_state=100
            )
            name = f"AR({correlation})" if correlation else "independent"
            rows += [
                row(f"{name}, r = {r}", gram, 20, alpha) for alpha in (0.1, 1.0, 10.0)
            ]
    for alpha in (0.0, 0.1, 1.0):
        rows.append(small("40 small, enumerated", alpha, certificate._ENUMERABLE))
    enumerable = certificate._ENUMERABLE
    for alpha in (0.0, 0.1, 1.0):
        rows.append(small("40 small, branched only", alpha, 0))
    certificate._ENUMERABLE = enumerable
    report(
        "certificate",
        "Proven bounds: n = d = 1000, k = 20, and small problems (n = 40 or 200, d = 16 or 30, "
        f"k = 3 or 5); branching for at most {SECONDS:g} s",
        [
            "design",
            "alpha",
            "exchanges",
            "seconds",
            "bound",
            "gap",
            "seconds",
            "after branching",
            "gap",
            "seconds",
            "nodes",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
