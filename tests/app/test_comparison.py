from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc, delong_test
from sparseauc_app import comparison
from sparseauc_app.comparison import compare_methods
from sparseauc_app.methods import all_methods, l1_logistic
from sparseauc_app.reading import DataError, Table

X, labels = make_outbreak(n=90, d=6, k=2, mu=1.5, r=0.3, random_state=0)
Y = (labels > 0).astype(np.int64)


def table(X=X, **extra):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Table(pd.DataFrame(X, columns=names), names, Y, "ill", "no", "yes", **extra)


@pytest.mark.slow
def test_every_method_runs_and_ranks_better_than_chance():
    results = compare_methods(table(), list(all_methods()), folds=2)
    for one in results:
        assert 0.5 < one.low < one.auc < one.high <= 1, one
        assert 1 <= one.columns <= 6
        assert one.scores.shape == (90,)
        assert np.isfinite(one.scores).all()
    assert results[0].difference is None


@pytest.mark.slow
def test_what_is_compared_unless_named():
    results = compare_methods(table(), folds=2)
    assert [one.method for one in results] == [
        "sparse-auc", "sparse-auc-1se", "single-column", "mean-difference", "l1-logistic",
        "l2-logistic", "gradient-boosting",
    ]  # fmt: skip
    assert (results[2].columns, results[-1].columns) == (1, 6)


@pytest.mark.slow
def test_a_peer_against_scikit_learn_by_hand():
    (found,) = compare_methods(table(), ["l1-logistic"], folds=3)
    scores = np.empty(Y.size)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), l1_logistic()),
            {"logisticregression__C": np.logspace(-2, 2, 12)},
            scoring="roc_auc",
            cv=StratifiedKFold(5, shuffle=True, random_state=1000),
        ).fit(X[train], Y[train])
        fitted = search.decision_function(X[train])
        means = fitted[Y[train] == 1].mean(), fitted[Y[train] == 0].mean()
        scores[test] = (search.decision_function(X[test]) - np.mean(means)) / (
            means[0] - means[1]
        )
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9, atol=1e-12)
    assert found.auc == auc(Y, scores)


def test_a_narrow_table_leaves_a_peer_its_whole_grid(monkeypatch):
    """Six columns limit k, and no other parameter."""
    grids = []

    def spy(grid):
        grids.append(grid)
        return ParameterGrid(grid)

    monkeypatch.setattr(comparison, "ParameterGrid", spy)
    compare_methods(table(), ["l2-logistic", "mean-difference"], folds=2)
    assert max(grids[0]["C"]) == 100
    assert max(grids[-1]["k"]) == 5


def test_paired_differences():
    first, second = compare_methods(table(), ["mean-difference", "sparse-auc"], folds=3)
    assert first.auc == auc(Y, first.scores)
    paired = delong_test(Y, second.scores, first.scores)
    expected = paired.difference, paired.pvalue
    assert (second.difference, second.pvalue) == pytest.approx(expected, rel=1e-12)
    assert first.difference is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "gaps", "groups"])
def test_sparse_missing_and_grouped(kind):
    gaps = X.copy()
    gaps[::9, 0] = np.nan
    ready = {
        "sparse": replace(table(), X=sp.csr_array(X)),
        "gaps": table(gaps, imputation="median"),
        "groups": table(groups=np.arange(Y.size) // 2),
    }[kind]
    for one in compare_methods(
        ready, ["sparse-auc-1se", "l1-logistic", "sht-auc"], folds=2
    ):
        assert one.auc > 0.7


def test_unknown_method_and_too_few_rows():
    with pytest.raises(DataError, match="unknown method 'forest'"):
        compare_methods(table(), ["forest"])
    one = Table(
        table().X[:5], table().names, np.array([1, 0, 0, 0, 0]), "ill", "no", "yes"
    )
    with pytest.raises(DataError, match="at least 4"):
        compare_methods(one, ["sparse-auc"])
