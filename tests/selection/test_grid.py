"""Cross-validation of SHT-AUC's grid: equal to fitting and scoring one model at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from sparseauc.datasets import make_outbreak
from sparseauc.objective import AUCObjective
from sparseauc.selection.grid import GridScores, sht_auc_cv_scores
from sparseauc.solvers import sht_auc

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("cv", [3, KFold(4)])  # 130 rows: folds of two sizes
def test_equals_one_model_at_a_time(kind, cv):
    X, y = make_outbreak(n=130, d=25, k=4, mu=1.0, r=0.3, random_state=0)
    ks, batch_sizes = [2, 5], [16, 1000]
    found = sht_auc_cv_scores(
        torch.from_numpy(X) if kind == "torch" else X, y, ks=ks, batch_sizes=batch_sizes, cv=cv,
        step_size=0.01, max_epochs=8, random_state=3,
    )  # fmt: skip
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max)
    splitter = StratifiedKFold(3) if cv == 3 else cv
    for i, (train, test) in enumerate(splitter.split(X, y)):
        objective = AUCObjective(X[train], y[train])
        for b, batch_size in enumerate(batch_sizes):
            for m, k in enumerate(ks):
                model = sht_auc(
                    objective, k, batch_size=batch_size, step_size=0.01, max_epochs=8,
                    rng=np.random.default_rng(seed),
                )  # fmt: skip
                expected = roc_auc_score(y[test], X[test] @ model.dense(25))
                assert found.aucs[i, b, m] == pytest.approx(expected, abs=1e-12)


def test_the_best_is_the_smallest_of_equal_models():
    ks, batch_sizes = np.array([30, 10, 20]), np.array([64, 8])
    aucs = np.array([[[0.8, 0.7, 0.9], [0.9, 0.8, 0.1]], [[0.6, 0.7, 0.5], [0.5, np.nan, 0.1]]])
    assert GridScores(aucs, ks, batch_sizes).best == (10, 64)
    with pytest.raises(ValueError, match="diverged"):
        _ = GridScores(aucs * np.nan, ks, batch_sizes).best


def test_a_model_that_diverges_has_no_auc():
    X, y = make_outbreak(n=60, d=10, k=2, mu=1.0, r=0.3, random_state=0)
    found = sht_auc_cv_scores(X, y, ks=[2], cv=2, step_size=1e300)
    assert np.isnan(found.aucs).all()


def test_bad_data_are_refused():
    X, y = make_outbreak(n=60, d=10, k=2, mu=1.0, r=0.3, random_state=0)
    with pytest.raises(TypeError, match="dense"):
        sht_auc_cv_scores(sp.csr_array(X), y, ks=[2])
    with pytest.raises(ValueError, match="split 0 has no positives among its training rows"):
        sht_auc_cv_scores(X, y, ks=[2], cv=[(np.flatnonzero(y < 0), np.arange(60))])
