"""Compile the kernels of the usual fits, in several processes.

``python compile_kernels.py`` compiles for this machine, into the files that its fits
look for. ``python compile_kernels.py FOLDER`` compiles for many machines, into
FOLDER/sparseauc: what a wheel carries.

Which kernels there are is found by running the fits below on random numbers.
"""

import argparse
import json
import logging
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "src"))

RANDOM = np.random.default_rng(0)


def outcome_of(X):
    """Draw labels that the first two columns say something of."""
    return X[:, 0] + X[:, 1] > RANDOM.lognormal(size=len(X)) + 1


SMALL = RANDOM.lognormal(size=(60, 8))
LONG = RANDOM.lognormal(size=(1000, 40))
WIDE = RANDOM.lognormal(size=(60, 1500))
TIMES = np.empty(len(SMALL), [("event", bool), ("time", float)])
TIMES["event"] = RANDOM.random(len(SMALL)) < 0.7
TIMES["time"] = RANDOM.exponential(np.exp(-SMALL[:, 0]))


def fit_by_cross_validation():
    from sparseauc import SparseAUCClassifierCV

    SparseAUCClassifierCV().fit(SMALL, outcome_of(SMALL))


def fit_by_hard_thresholding():
    from sparseauc import SHTAUCClassifier

    SHTAUCClassifier(k=3).fit(SMALL, outcome_of(SMALL))


def fit_columns_in_groups():
    from sparseauc import Limits, SparseAUCClassifierCV

    limits = Limits(column_groups={0: "a", 1: "a"})
    SparseAUCClassifierCV(limits=limits).fit(SMALL, outcome_of(SMALL))


def certify():
    from sparseauc import SparseAUCClassifier

    # So many lists that not all are tried.
    y = outcome_of(LONG)
    SparseAUCClassifier(k=8).fit(LONG, y).certify(LONG, y)


def look_round():
    """Compute what a report has besides the fit."""
    from sparseauc import SparseAUCClassifier
    from sparseauc.selection import near_equal_lists, point_score, replacements

    y = outcome_of(LONG)
    model = SparseAUCClassifier(k=3).fit(LONG, y)
    near_equal_lists(model, LONG, y)
    replacements(model, LONG, y)
    point_score(model, LONG, y)


def fit_times():
    from sparseauc import SparseConcordanceCV

    SparseConcordanceCV().fit(SMALL, TIMES)


def fit_other_tables():
    from scipy.sparse import csr_array

    from sparseauc import SparseAUCClassifierCV

    single = SMALL.astype(np.float32)
    for X in (LONG, WIDE, single, np.asfortranarray(SMALL)):
        SparseAUCClassifierCV(ks=range(1, 4)).fit(X, outcome_of(X))
    SparseAUCClassifierCV(ks=range(1, 4)).fit(csr_array(SMALL), outcome_of(SMALL))


# Those of one stage run side by side, and have few kernels in common.
STAGES = (
    (fit_by_cross_validation, fit_by_hard_thresholding),
    (look_round, certify, fit_columns_in_groups, fit_times, fit_other_tables),
)


def run(fit):
    """Run one fit in a process of its own; return its processor seconds."""
    logging.getLogger("sparseauc").setLevel(logging.ERROR)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
    return time.process_time() - started


def run_all(processes):
    """Run all fits; processes take what they need from the files that others wrote."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for stage in STAGES:
            for fit, seconds in zip(stage, pool.map(run, stage), strict=True):
                print(f"{fit.__name__}: {seconds:.1f} s", flush=True)
        return pool.submit(target).result()


def target():
    from numba.core.registry import cpu_target

    from sparseauc.utils.jit import Target

    return Target.of(cpu_target.target_context.codegen())


def compile_for_wheel(folder, processes):
    """Compile for the common processor, with a note on the target."""
    from sparseauc.utils.jit import ABOUT, can_stand_in

    processor = "x86-64-v3"
    if not can_stand_in(processor):
        processor = "generic"
    # Settings of the processes that compile, and of none else.
    os.environ |= {
        "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder),
    }  # fmt: skip
    about = run_all(processes)
    (folder / "sparseauc" / ABOUT).write_text(json.dumps(about._asdict(), indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", help="where a wheel takes kernels from"
    )
    parser.add_argument("--processes", type=int, default=min(4, os.cpu_count() or 1))
    arguments = parser.parse_args()
    if arguments.folder is None:
        run_all(arguments.processes)
    else:
        compile_for_wheel(arguments.folder, arguments.processes)


if __name__ == "__main__":
    main()
