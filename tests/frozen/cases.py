"""Fits whose answers are frozen: drawn tables, models, and runs of the command.

``python tests/frozen/cases.py`` writes ``answers.json`` anew; with names of cases, it
writes these. ``tests/test_frozen.py`` compares. Tables are drawn by NumPy alone, so
that they do not depend on the library.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ANSWERS = Path(__file__).parent / "answers.json"

CASES: dict[str, Callable[[], dict[str, Any]]] = {}


def freeze(name: str, answer: Callable[[], dict[str, Any]]) -> None:
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = answer


# Tables


@cache
def draw(
    n: int = 240,
    d: int = 30,
    seed: int = 0,
    rho: float = 0.5,
    share: float = 0.3,
    signal: int = 6,
    kind: str = "normal",
) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns of which the first few carry signal, spread over the table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    order = rng.permutation(d)
    effect = np.zeros(d)
    effect[order[:signal]] = rng.choice([-1, 1], size=signal) * rng.uniform(
        0.4, 1.0, size=signal
    )
    score = X @ effect + rng.normal(size=n)
    y = (score > np.quantile(score, 1 - share)).astype(int)
    if kind == "skewed":
        X[:, ::2] = np.exp(X[:, ::2])
    if kind == "heavy":
        X[:, ::3] *= 1 + 9 * (rng.uniform(size=X[:, ::3].shape) < 0.03)
    if kind == "ties":
        X = np.rint(2 * X)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y


@cache
def sparse_table(
    n: int = 300, d: int = 80, seed: int = 3
) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    dense = rng.poisson(0.15, size=(n, d)).astype(float)
    score = (
        dense[:, :5].sum(axis=1) - dense[:, 5:8].sum(axis=1) + 0.5 * rng.normal(size=n)
    )
    y = (score > np.quantile(score, 0.75)).astype(int)
    return sp.csr_array(dense), y


@cache
def weights(n: int = 240, seed: int = 11) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 3.0, size=n)


@cache
def sites(n: int = 240, levels: int = 4, seed: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).integers(levels, size=n)


@cache
def times(n: int = 240, d: int = 20, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Columns, and events with exponential times and censoring."""
    rng = np.random.default_rng(seed)
    X, _ = draw(n, d, seed=seed)
    effect = np.zeros(d)
    effect[[1, 4, 9, 15]] = [0.9, -0.7, 0.6, -0.5]
    event_time = rng.exponential(np.exp(-X @ effect)) * 100
    end = rng.exponential(200, size=n)
    outcome = np.empty(n, dtype=[("event", bool), ("time", float)])
    outcome["event"] = event_time <= end
    outcome["time"] = np.rint(np.minimum(event_time, end)) + 1
    return X, outcome


def families(d: int = 30) -> dict[int, str]:
    return {j: f"f{j // 3}" for j in range(d)}


def groups(d: int = 30) -> dict[int, str]:
    return {j: f"g{j // 3}" for j in range(0, d - 6)}


# Answers


def of_model(model: Any) -> dict[str, Any]:
    coef = np.ravel(model.coef_)
    columns = np.flatnonzero(coef)
    answer = {
        "columns": columns.tolist(),
        "coef": coef[columns].tolist(),
    }
    if np.any(model.bend_):
        answer["bend"] = model.bend_[0, columns].tolist()
    for name in ("intercept_", "objective_", "best_score_", "alpha_", "k_", "horizon_"):
        value = getattr(model, name, None)
        if value is not None:
            answer[name] = float(np.ravel(value)[0])
    return answer


def fit(
    make: Callable[[], Any], data: Callable[[], Any], **given: Any
) -> dict[str, Any]:
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, y, **{name: value() for name, value in given.items()})
    return of_model(model)


def plain(**parameters: Any) -> Callable[[], Any]:
    from sparseauc import SparseAUCClassifier

    return partial(SparseAUCClassifier, **parameters)


def validated(**parameters: Any) -> Callable[[], Any]:
    from sparseauc import SparseAUCClassifierCV

    return partial(SparseAUCClassifierCV, **parameters)


def limited(k: int = 5, alpha: float = 1.0, **limits: Any) -> Callable[[], Any]:
    from sparseauc import Limits, SparseAUCClassifier

    return lambda: SparseAUCClassifier(k=k, alpha=alpha, limits=Limits(**limits))


def limited_cv(**limits: Any) -> Callable[[], Any]:
    from sparseauc import Limits, SparseAUCClassifierCV

    return lambda: SparseAUCClassifierCV(limits=Limits(**limits), ks=range(1, 9))


def concordance(**parameters: Any) -> Callable[[], Any]:
    from sparseauc import SparseConcordance

    return lambda: SparseConcordance(**parameters)


def concordance_cv(**parameters: Any) -> Callable[[], Any]:
    from sparseauc import SparseConcordanceCV

    return lambda: SparseConcordanceCV(**parameters)


def sht(batch_size: int = 64, **parameters: Any) -> Callable[[], Any]:
    """Several blocks, even of small tables."""
    from sparseauc import SHTAUCClassifier

    return lambda: SHTAUCClassifier(batch_size=batch_size, random_state=0, **parameters)


def from_source(
    make: Callable[[], Any], data: Callable[[], Any], **given: Any
) -> dict[str, Any]:
    """Fit a table on disk that is read in chunks."""
    from sparseauc.chunks import open_table

    X, y = data()
    with tempfile.TemporaryDirectory() as folder:
        if sp.issparse(X):
            for name in ("data", "indices", "indptr"):
                np.save(Path(folder) / f"{name}.npy", getattr(X, name))
            np.save(Path(folder) / "shape.npy", X.shape)
            source: Path = Path(folder)
        else:
            source = Path(folder) / "X.npy"
            np.save(source, X)
        table = open_table(source, chunk_bytes=2**13)
        return fit(make, lambda: (table, y), **given)


def from_dask(make: Callable[[], Any], data: Callable[[], Any]) -> dict[str, Any]:
    import dask
    import dask.array as da

    X, y = data()
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(np.array(X), chunks=(70, -1))
        return fit(make, lambda: (rows, da.from_array(np.array(y), chunks=70)))


def from_moments(k: int, alpha: float) -> dict[str, Any]:
    from sparseauc import SparseAUCClassifier, class_moments

    X, y = draw()
    one = class_moments(X[:100], y[:100]).summary()
    other = class_moments(X[100:], y[100:]).summary()
    return of_model(SparseAUCClassifier(k=k, alpha=alpha).fit_moments(one + other))


def points(
    make: Callable[[], Any], data: Callable[[], Any], **how: Any
) -> dict[str, Any]:
    from sparseauc.selection import point_score

    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, y)
        score = point_score(model, X, y, **how)
    return {
        "columns": [str(name) for name in score.columns["column"].unique()],
        "points": score.columns["points"].tolist(),
        "coef": [
            cut
            for one in score.model.points_.values()
            for cut in getattr(one, "cuts", ())
        ],
        "slope": float(score.slope),
        "intercept": float(score.intercept),
        "auc": float(score.auc),
    }


def path(
    alphas: list[float], ks: range, data: Callable[[], Any], **given: Any
) -> dict[str, Any]:
    from sparseauc import sparse_auc_path

    X, y = data()
    found = sparse_auc_path(X, y, ks=ks, alphas=alphas, **given)
    lists = [np.sort(found.support(k, alpha)).tolist() for alpha in alphas for k in ks]
    coef = [
        found.coef(k, alpha)[np.sort(found.support(k, alpha))]
        for alpha in alphas
        for k in ks
    ]
    return {"columns": lists, "coef": np.concatenate(coef).tolist()}


def nested(make: Callable[[], Any], data: Callable[[], Any]) -> dict[str, Any]:
    from sparseauc.selection import nested_scores

    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nested_scores(make(), X, y, random_state=0)
    interval = found.interval
    return {
        "columns": [np.sort(columns).tolist() for columns in found.fold_columns],
        "coef": [float(interval.auc), float(interval.low), float(interval.high)],
    }


WIDE = partial(draw, n=70, d=900, seed=2, rho=0.3, share=0.4)
CSR = sparse_table

# Plain fits

for k, alpha in [
    (1, 1.0),
    (3, 0.0),
    (5, 0.01),
    (5, 1.0),
    (5, 100.0),
    (12, 1.0),
    (30, 1.0),
]:
    freeze(f"plain k={k} alpha={alpha}", partial(fit, plain(k=k, alpha=alpha), draw))
freeze("plain ties", partial(fit, plain(k=6), partial(draw, kind="ties", seed=4)))
freeze("plain skewed", partial(fit, plain(k=6), partial(draw, kind="skewed", seed=6)))
freeze(
    "plain few positives", partial(fit, plain(k=4), partial(draw, share=0.05, seed=7))
)
freeze(
    "plain strong correlation",
    partial(fit, plain(k=8, alpha=0.1), partial(draw, rho=0.95)),
)
freeze(
    "plain float32",
    partial(fit, plain(k=5), lambda: (draw()[0].astype(np.float32), draw()[1])),
)
freeze(
    "plain labels in words",
    partial(fit, plain(k=5), lambda: (draw()[0], np.array(["no", "yes"])[draw()[1]])),
)
for k, alpha in [(5, 1.0), (10, 0.1), (20, 10.0)]:
    freeze(f"wide k={k} alpha={alpha}", partial(fit, plain(k=k, alpha=alpha), WIDE))
for k, alpha in [(4, 1.0), (8, 0.1)]:
    freeze(f"csr k={k} alpha={alpha}", partial(fit, plain(k=k, alpha=alpha), CSR))
freeze("weights", partial(fit, plain(k=5), draw, sample_weight=weights))
freeze(
    "weights wide", partial(fit, plain(k=5), WIDE, sample_weight=partial(weights, 70))
)
freeze(
    "weights csr", partial(fit, plain(k=5), CSR, sample_weight=partial(weights, 300))
)
freeze("strata pairs", partial(fit, plain(k=5), draw, strata=sites))
freeze(
    "strata equal",
    partial(fit, plain(k=5), draw, strata=sites, stratum_weights=lambda: "equal"),
)
freeze(
    "strata weights",
    partial(fit, plain(k=5), draw, strata=sites, sample_weight=weights),
)
freeze("strata csr", partial(fit, plain(k=5), CSR, strata=partial(sites, 300)))
freeze("strata wide", partial(fit, plain(k=5), WIDE, strata=partial(sites, 70, 2)))
freeze("moments merged", partial(from_moments, 5, 1.0))
freeze("moments merged, small ridge", partial(from_moments, 9, 0.01))
freeze("path", partial(path, [0.01, 1.0], range(1, 11), draw))
freeze("path wide", partial(path, [1.0], range(1, 9), WIDE))

# Homes of rows

freeze("chunks", partial(from_source, plain(k=5), draw))
freeze("chunks csr", partial(from_source, plain(k=5), CSR))
freeze(
    "chunks strata weights",
    partial(from_source, plain(k=5), draw, strata=sites, sample_weight=weights),
)
freeze("chunks cv", partial(from_source, validated(ks=range(1, 9)), draw))
freeze("chunks cv csr", partial(from_source, validated(ks=range(1, 9)), CSR))
freeze("dask", partial(from_dask, plain(k=5), draw))
freeze("dask cv", partial(from_dask, validated(ks=range(1, 9)), draw))

# Limits

freeze("signs", partial(fit, limited(signs=dict.fromkeys(range(15), "+")), draw))
freeze(
    "signs both",
    partial(
        fit, limited(k=7, alpha=0.1, signs={j: "+-"[j % 2] for j in range(30)}), draw
    ),
)
freeze("always_include", partial(fit, limited(always_include=[0, 17]), draw))
freeze("exclude", partial(fit, limited(exclude=list(range(0, 30, 4))), draw))
freeze(
    "families", partial(fit, limited(k=6, families=families(), max_per_family=1), draw)
)
freeze(
    "families with signs",
    partial(
        fit,
        limited(
            k=6,
            families=families(),
            max_per_family=1,
            signs=dict.fromkeys(range(0, 30, 2), "+"),
        ),
        draw,
    ),
)
freeze(
    "budget",
    partial(
        fit, limited(k=8, costs={j: 1 + j % 5 for j in range(30)}, budget=12), draw
    ),
)
freeze(
    "budget with signs",
    partial(
        fit,
        limited(
            k=8,
            costs={j: 1 + j % 4 for j in range(30)},
            budget=9,
            signs=dict.fromkeys(range(10, 20), "-"),
        ),
        draw,
    ),
)
freeze(
    "budget required",
    partial(
        fit,
        limited(
            k=8, costs={j: 1 + j % 5 for j in range(30)}, budget=14, always_include=[3]
        ),
        draw,
    ),
)
freeze("groups", partial(fit, limited(k=4, column_groups=groups()), draw))
freeze(
    "groups small ridge",
    partial(fit, limited(k=6, alpha=0.01, column_groups=groups()), draw),
)
freeze(
    "groups with costs",
    partial(
        fit,
        limited(
            k=5,
            column_groups=groups(),
            costs={j: 1 + j // 3 % 3 for j in range(30)},
            budget=8,
        ),
        draw,
    ),
)
freeze("groups wide", partial(fit, limited(k=3, column_groups=groups(900)), WIDE))
freeze(
    "signs wide", partial(fit, limited(k=8, signs=dict.fromkeys(range(900), "+")), WIDE)
)
freeze(
    "families wide",
    partial(fit, limited(k=6, families=families(900), max_per_family=2), WIDE),
)
freeze("signs csr", partial(fit, limited(signs=dict.fromkeys(range(80), "+")), CSR))

# Cross-validation

freeze("cv", partial(fit, validated(), draw))
freeze("cv 1se", partial(fit, validated(rule="1se"), draw))
freeze("cv auc coefficients", partial(fit, validated(coefficients="auc"), draw))
freeze(
    "cv logistic coefficients",
    partial(fit, validated(coefficients="logistic"), partial(draw, seed=8)),
)
freeze("cv skewed", partial(fit, validated(), partial(draw, kind="skewed", seed=6)))
freeze("cv heavy", partial(fit, validated(), partial(draw, kind="heavy", seed=9)))
freeze(
    "curves",
    partial(fit, plain(k=4, curves=True), partial(draw, kind="skewed", seed=6)),
)
freeze(
    "cv curves",
    partial(fit, validated(curves=True), partial(draw, kind="skewed", seed=6)),
)
freeze(
    "cv lines",
    partial(fit, validated(curves=False), partial(draw, kind="heavy", seed=9)),
)
freeze("cv ten folds", partial(fit, validated(cv=10), draw))
freeze("cv wide", partial(fit, validated(ks=range(1, 13)), WIDE))
freeze("cv csr", partial(fit, validated(), CSR))
freeze("cv weights", partial(fit, validated(), draw, sample_weight=weights))
freeze("cv strata", partial(fit, validated(), draw, strata=sites))
freeze(
    "cv groups of rows",
    partial(fit, validated(), draw, groups=lambda: np.arange(240) // 3),
)
freeze("cv signs", partial(fit, limited_cv(signs=dict.fromkeys(range(30), "+")), draw))
freeze(
    "cv budgets",
    partial(
        fit,
        limited_cv(costs={j: 1 + j % 3 for j in range(30)}, budget=[4, 8, 12]),
        draw,
    ),
)
freeze("cv groups", partial(fit, limited_cv(column_groups=groups()), draw))
freeze(
    "cv families", partial(fit, limited_cv(families=families(), max_per_family=1), draw)
)
freeze("nested", partial(nested, validated(ks=range(1, 7)), draw))

# Times to event

freeze("times", partial(fit, concordance(k=4), times))
freeze("times small ridge", partial(fit, concordance(k=6, alpha=0.01), times))
freeze("times weights", partial(fit, concordance(k=4), times, sample_weight=weights))
freeze("times strata", partial(fit, concordance(k=4), times, strata=sites))
freeze("times cv", partial(fit, concordance_cv(), times))
freeze(
    "times cv uno", partial(fit, concordance_cv(scoring="uno", ks=range(1, 7)), times)
)
freeze(
    "times cv strata", partial(fit, concordance_cv(ks=range(1, 7)), times, strata=sites)
)

# Points

freeze("points", partial(points, plain(k=4), draw))
freeze("points of cv", partial(points, validated(ks=[3, 4]), draw))
freeze("points up to 3", partial(points, plain(k=4), draw, largest=3))
freeze(
    "points of times", partial(points, concordance_cv(ks=[3, 4], curves=False), times)
)

# SHT-AUC and the difference of means

freeze("sht", partial(fit, sht(k=5), draw))
freeze("sht step", partial(fit, sht(k=5, step_size=0.05, max_epochs=20), draw))
freeze("sht csr", partial(fit, sht(batch_size=75, k=5, max_epochs=20), CSR))
freeze("sht wide", partial(fit, sht(batch_size=16, k=8, max_epochs=30), WIDE))
freeze(
    "sht weights", partial(fit, sht(k=5, max_epochs=20), draw, sample_weight=weights)
)
freeze("sht stops early", partial(fit, sht(k=5, early_stopping=True), draw))


def mean_difference(k: int) -> dict[str, Any]:
    from sparseauc import MeanDifferenceClassifier

    return fit(lambda: MeanDifferenceClassifier(k=k), draw)


freeze("mean difference", partial(mean_difference, 5))

# Runs of the command

NAMES = [f"marker {j}" for j in range(14)]


def write_table(path: Path, kind: str) -> None:
    """Write a table as people have them: text, gaps, sites, weights, patients, times."""
    import pandas as pd

    rng = np.random.default_rng(20)
    X, y = draw(260, 14, seed=21, kind="skewed" if kind == "skewed" else "normal")
    frame = pd.DataFrame(np.round(X, 3), columns=NAMES)
    if kind == "text":
        ward = rng.choice(["north", "south", "west"], size=len(y), p=[0.5, 0.3, 0.2])
        frame["ward"] = np.where(
            (y == 1) & (rng.uniform(size=len(y)) < 0.4), "west", ward
        )
        frame["sex"] = rng.choice(["f", "m"], size=len(y))
    if kind == "gaps":
        for j in range(0, 14, 3):
            frame.loc[rng.uniform(size=len(y)) < 0.1, NAMES[j]] = np.nan
    if kind == "design":
        frame["site"] = rng.integers(3, size=len(y)).astype(str)
        frame["weight"] = np.round(rng.uniform(0.5, 2, size=len(y)), 2)
        frame["patient"] = [f"p{i // 2}" for i in range(len(y))]
    if kind == "times":
        late = rng.exponential(np.exp(-0.8 * X[:, 2] + 0.6 * X[:, 7])) * 100
        end = rng.exponential(200, size=len(y))
        frame["days"] = np.rint(np.minimum(late, end)) + 1
        frame["status"] = np.where(late <= end, "dead", "alive")
    else:
        frame["outcome"] = np.where(y == 1, "case", "control")
    frame.to_csv(path, index=False)


def command(kind: str, *options: str) -> dict[str, Any]:
    from typer.testing import CliRunner

    from sparseauc_app.cli import app

    outcome = (
        ["--time", "days", "--event", "status", "--event-value", "dead"]
        if kind == "times"
        else ["--target", "outcome"]
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Path(folder) / "table.csv"
        write_table(table, kind)
        limits = Path(folder) / "limits.csv"
        signs = [f"{name},{'+-'[j % 2]},{1 + j % 4}" for j, name in enumerate(NAMES)]
        limits.write_text("\n".join(["name,sign,cost", *signs]))
        told = [one.replace("LIMITS", str(limits)) for one in options]
        result = CliRunner().invoke(app, ["fit", str(table), *outcome, *told, "--json"])
    if result.exit_code != 0:
        raise RuntimeError(f"{kind} {options}: {result.output}")
    found = json.loads(result.stdout)
    answer = {
        "columns": [one["column"] for one in found["chosen"]],
        "coef": [one["coefficient"] for one in found["chosen"]],
        "training_auc": found["training_auc"],
        "k": found["k"],
        "alpha": found["alpha"],
    }
    for name in ("value", "low", "high"):
        if isinstance(found["auc"], dict) and name in found["auc"]:
            answer[f"auc {name}"] = found["auc"][name]
    if found["points"] is not None:
        answer["points"] = [one["points"] for one in found["points"]["columns"]]
    return answer


RUNS = {
    "plain": ("numbers",),
    "quick": ("numbers", "--quick"),
    "k": ("numbers", "-k", "3", "--quick"),
    "range of k": ("numbers", "-k", "2-5", "--quick"),
    "ridge": ("numbers", "-k", "4", "--alpha", "0.1", "--quick"),
    "1se": ("numbers", "--rule", "1se", "--quick"),
    "seed": ("numbers", "--seed", "5", "--quick"),
    "skewed": ("skewed", "--quick"),
    "text": ("text", "--quick"),
    "text dropped": ("text", "--text", "drop", "--quick"),
    "text nested": ("text", "-k", "1-6"),
    "median": ("gaps", "--missing", "median", "--quick"),
    "drop rows": ("gaps", "--missing", "drop-rows", "--quick"),
    "strata": ("design", "--strata", "site", "--exclude", "weight", "--quick"),
    "weights and patients": (
        "design",
        "--weights",
        "weight",
        "--groups",
        "patient",
        "--exclude",
        "site",
        "-k",
        "1-6",
    ),
    "signs and budget": (
        "numbers",
        "--limits",
        "LIMITS",
        "--limits",
        "budget=9",
        "--quick",
    ),
    "always included": (
        "numbers",
        "--limits",
        "always_include=marker 3",
        "-k",
        "4",
        "--quick",
    ),
    "points": ("numbers", "--points", "5", "-k", "4", "--quick"),
    "times": ("times", "--quick"),
    "times nested": ("times", "-k", "1-5"),
    "times points": ("times", "--points", "4", "-k", "3", "--quick"),
}
for title, run in RUNS.items():
    freeze(f"command {title}", partial(command, *run))


def main() -> None:
    names = sys.argv[1:] or list(CASES)
    known = json.loads(ANSWERS.read_text()) if sys.argv[1:] else {}
    for name in names:
        known[name] = CASES[name]()
        print(name, str(known[name])[:150], flush=True)
    kept = {name: known[name] for name in CASES}
    lines = [
        f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in kept.items()
    ]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
