"""Time and memory of the path for times to event, against the path for two classes.

The same table, with events as the positive class. Memory is the most that the process
has beyond what it had with the table alone; the ratio counts the table for both.
"""

from common import Watch, interleaved_minimum, memory_of, report, verdict  # isort: skip

import argparse

import numpy as np

from sparseauc.moments import class_moments
from sparseauc.moments.pairs import PairMoments
from sparseauc.path import path_of_moments
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.survival import ComparablePairs, SurvivalTimes

KS, ALPHAS = np.arange(1, 51), np.array([1.0])


def make_table(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    time = rng.exponential(np.exp(-0.3 * X[:, :10].sum(axis=1)))
    end = rng.exponential(1.5, n)
    return X, SurvivalTimes(np.minimum(time, end), time <= end)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    X, times = make_table(arguments.rows, arguments.columns)

    def two_classes():
        return path_of_moments(
            class_moments(X, times.event), KS, ALPHAS, Restrictions()
        )

    def pairs():
        moments = PairMoments(X, ComparablePairs.from_times(times))
        return path_of_moments(moments, KS, ALPHAS, Restrictions())

    methods = {"two classes": two_classes, "times to event": pairs}
    seconds = interleaved_minimum(list(methods.values()), arguments.repeats)
    most = []
    for method in methods.values():
        before = memory_of("self", "RssAnon")
        with Watch(lambda: memory_of("self", "RssAnon")) as watch:
            method()
        most.append(max(watch.most - before, 0))
    rows = [
        (name, f"{second:.1f} s", f"{bytes_ / 2**20:.0f} MiB")
        for name, second, bytes_ in zip(methods, seconds, most, strict=True)
    ]
    ratio, memory = seconds[1] / seconds[0], (X.nbytes + most[1]) / (X.nbytes + most[0])
    rows.append(
        (
            "ratio",
            f"{ratio:.2f}, {verdict(ratio, 3)}",
            f"{memory:.2f}, {verdict(memory, 2)}",
        )
    )
    report(
        "survival_time",
        f"Paths of up to 50 columns, {arguments.rows:,} rows of {arguments.columns} columns",
        ("path", "processor time", "memory beyond the table"),
        rows,
    )


if __name__ == "__main__":
    main()
