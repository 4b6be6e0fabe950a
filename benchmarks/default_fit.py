"""Time of ``SparseAUCClassifierCV()`` against that of another commit, on the ordinary tables.

``git worktree add ../base 8ebf0c4``, the last before curves, and then ``python
benchmarks/default_fit.py ../base``. Both are fitted in turn, each in a process of its
own, and the least processor time of some repeats counts. Besides the ordinary tables of
``peer_tables.py`` there is a table of 10 000 rows, 77 columns and 66 positives. Two
tables of genes are compared with f6e2f2a: ``--tables colon shipp``.
"""

from common import HERE, machine  # isort: skip

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from peer_tables import ORDINARY, read_table

LONG = "10 000 × 77, 66 positives"
# What was to be reached, of the geometric mean, of the long table and of each table of
# genes. Tables of genes are compared with f6e2f2a.
MOST = {"ordinary": 1.5, LONG: 1.5, "colon": 0.3, "shipp": 0.2}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path, help="a checkout of the other commit")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--tables", nargs="+", default=[*ORDINARY, LONG])
    parser.add_argument(
        "--worker", action="store_true", help="print times, for one commit"
    )
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps({name: fit_time(name) for name in arguments.tables}))
        return
    sources = (arguments.base / "src", Path(__file__).parents[1] / "src")
    least = [dict.fromkeys(arguments.tables, np.inf) for _ in sources]
    for _ in range(arguments.repeats):
        for source, times in zip(sources, least, strict=True):
            for name, seconds in run(source, arguments).items():
                times[name] = min(times[name], seconds)
    write_report(arguments, *least)


def run(source, arguments):
    """Times of all tables with the library of one commit."""
    command = [sys.executable, __file__, str(arguments.base), "--worker", "--tables"]
    known = {**os.environ, "PYTHONPATH": str(source.resolve())}
    done = subprocess.run(
        [*command, *arguments.tables],
        env=known,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def fit_time(name):
    """Processor time of a fit, after a small one that loads what is compiled."""
    from sparseauc import SparseAUCClassifierCV

    X, positive = make_long_table() if name == LONG else read_table(name)
    if np.isnan(X).any():
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random = np.random.default_rng(0)
        for shape in ((60, 4), (20, 40)):
            SparseAUCClassifierCV().fit(
                np.exp(random.normal(size=shape)), np.arange(shape[0]) % 3 == 0
            )
        start = time.process_time()
        SparseAUCClassifierCV().fit(X, positive)
        return time.process_time() - start


def make_long_table():
    """Indicators, normal and skewed columns, few of which say anything of rare positives."""
    random = np.random.default_rng(0)
    X = random.normal(size=(10_000, 77))
    X[:, :20] = X[:, :20] > 1
    X[:, 30:] = np.exp(0.8 * X[:, 30:])
    score = X[:, [25, 26, 40, 41, 50]] @ [0.5, 0.5, 0.3, 0.3, 0.2] + random.logistic(
        size=len(X)
    )
    positive = np.zeros(len(X), bool)
    positive[np.argsort(-score)[:66]] = True
    return X, positive


def write_report(arguments, before, after):
    """Write ``results/default_fit.md``, or without ordinary tables ``default_fit_wide.md``."""
    ratios = {name: after[name] / before[name] for name in arguments.tables}
    ordinary = [ratios[name] for name in arguments.tables if name in ORDINARY]
    commit = subprocess.run(
        ["git", "-C", arguments.base, "rev-parse", "--short", "HEAD"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    lines = [
        f"# Time of a default fit against that of {commit}",
        "",
        f"`python benchmarks/default_fit.py` · {machine()}",
        "",
        f"Processor time, the least of {arguments.repeats}.",
        "",
        "| table | before, s | now, s | ratio | |",
        "| --- | --- | --- | --- | --- |",
    ]
    if ordinary:
        mean = float(np.exp(np.mean(np.log(ordinary))))
        lines.append(
            f"| geometric mean of {len(ordinary)} ordinary tables | | | {mean:.2f} | "
            f"{_verdict(mean, 'ordinary')} |"
        )
    lines += [
        f"| {name} | {before[name]:.2f} | {after[name]:.2f} | {ratios[name]:.2f} | "
        f"{_verdict(ratios[name], name)} |"
        for name in arguments.tables
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    name = "default_fit" if ordinary else "default_fit_wide"
    (HERE / "results" / f"{name}.md").write_text(text, encoding="utf-8")


def _verdict(ratio, name):
    if name not in MOST:
        return ""
    return f"{'kept' if ratio <= MOST[name] else 'MISSED'} (≤ {MOST[name]})"


if __name__ == "__main__":
    main()
