"""Lists under restrictions against all lists there are: how often the best is found and proved.

Ten columns that are correlated, 80 rows, ridges of 0 to 10, lists of up to five columns
or five budgets, with signs, costs, families and a column that must be on the list,
alone and together. Seconds are processor time of one list, and of its proof.
"""

from common import machine, report  # isort: skip

import time
from dataclasses import replace
from itertools import combinations

import numpy as np

from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.solvers.certificate import certify
from sparseauc.solvers.exchange_columns import exchange_path
from sparseauc.solvers.restrictions import Restrictions

D, ALPHAS, PROBLEMS = 10, (0.0, 0.1, 1.0, 10.0), 30
KINDS = {
    "signs": ("signs",),
    "families": ("families",),
    "budget": ("costs",),
    "signs, budget": ("signs", "costs"),
    "all, and a column that must be there": ("signs", "families", "costs", "fixed"),
}


def problem(seed, kind):
    """Moments, a ridge, and what makes lists feasible."""
    rng = np.random.default_rng(seed)
    X, y = make_outbreak(
        n=80, d=D, k=5, mu=0.7, r=0.4, correlation=0.7, random_state=seed
    )
    costs = rng.integers(1, 9, D) * 1.0
    every = {
        "signs": rng.integers(-1, 2, D),
        "families": rng.integers(0, 5, D),
        "fixed": rng.choice(D, 1),
        "costs": costs,
    }
    given = {key: every[key] for key in kind}
    restrictions = Restrictions(max_per_family=2, **given)
    if "costs" in kind:
        budget = restrictions.cost_of(restrictions.fixed) + rng.uniform(
            2, costs.sum() / 2
        )
        restrictions = replace(restrictions, budgets=np.array([budget]))
    return (
        StandardisedGram(class_moments(X, y)),
        ALPHAS[seed % 4],
        1 + seed % 5,
        restrictions,
    )


def least_objective(gram, alpha, k, restrictions):
    """Least objective of all lists of up to k columns that are feasible."""
    H = gram.block(np.arange(D), np.arange(D)) + alpha * np.eye(D)
    least = 1.0
    for size in range(1, k + 1):
        for columns in combinations(range(D), size):
            support = np.array(columns)
            if np.union1d(
                support, restrictions.fixed
            ).size > k or not restrictions.allows(support):
                continue
            w = -np.linalg.solve(H[np.ix_(support, support)], gram.delta[support])
            if restrictions.right_signs(support, w):
                least = min(least, 1 + gram.delta[support] @ w)
    return least


def measure(kind):
    """Lists that are the best, proofs that close, and seconds of each."""
    best = proved = 0
    seconds = []
    for seed in range(PROBLEMS):
        gram, alpha, k, restrictions = problem(seed, kind)
        least = least_objective(gram, alpha, k, restrictions)
        start = time.process_time()
        found = exchange_path(gram, k, alpha, restrictions)[-1]
        middle = time.process_time()
        certificate = certify(gram, found, k, alpha, restrictions=restrictions)
        seconds.append((middle - start, time.process_time() - middle))
        assert restrictions.allows(found.support)
        assert restrictions.right_signs(found.support, found.coef)
        assert certificate.lower_bound <= least + 1e-9
        best += found.objective <= least + 1e-9
        proved += certificate.status == "optimal"
    return best, proved, np.median(seconds, axis=0)


if __name__ == "__main__":
    print(machine())
    measure(KINDS["signs, budget"])  # compiles
    rows = []
    for name, kind in KINDS.items():
        best, proved, (finding, proving) = measure(kind)
        rows.append(
            [name, f"{best} of {PROBLEMS}", f"{proved} of {PROBLEMS}",
             f"{1e3 * finding:.1f} ms", f"{1e3 * proving:.1f} ms"]
        )  # fmt: skip
    header = ["restrictions", "the best list", "proved", "found in", "proved in"]
    report("limits", "Lists under restrictions against all lists", header, rows)
