"""A second loss, least squares of a number, runs through everything that exchanges columns."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr
from sklearn.datasets import make_regression
from sklearn.model_selection import KFold

from sparseauc.cross_validation import CVTask, cross_validate
from sparseauc.folds import SplitPlan, rows_by_number
from sparseauc.moments.base import Quadratic, StandardisedGram
from sparseauc.path import path_of_moments
from sparseauc.solvers.certificate import certify
from sparseauc.solvers.restrictions import Restrictions

ALPHA = 0.1


# ------------------------------------------------------------------------------- the
# second loss
class LeastSquares(Quadratic):
    """F(w) = Σ (y − Xw)² / Σ y², with X and y less their means."""

    def __init__(self, X, y):
        self.middle = X.mean(axis=0)
        self.X, self.y = X - self.middle, y - y.mean()
        self.total = self.y @ self.y

    @property
    def centre(self):
        return self.middle

    @property
    def delta(self):
        return -self.y @ self.X / self.total

    @property
    def diagonal(self):
        return (self.X**2).sum(axis=0) / self.total

    @property
    def deviations(self):
        return self.X.std(axis=0)

    def block(self, columns, others):
        return self.X[:, columns].T @ self.X[:, others] / self.total


@dataclass
class Regression:
    y: np.ndarray

    def training_sets(self, table, chunks, plan):
        rows = [
            np.flatnonzero(plan.training_weights(i)) for i in range(len(plan.training))
        ]
        rows.append(np.arange(self.y.size))
        return [LeastSquares(table[some], self.y[some]) for some in rows]

    def validate(self, chunks, plan, models, n_threads=1):
        judged = [
            each for validated in plan.rounds for each in rows_by_number(validated)
        ]
        scores = [
            models[i].scores(chunks.take(rows, np.arange(9))) for i, rows in judged
        ]
        ranked = zip(judged, scores, strict=True)
        return [
            np.array([spearmanr(s, self.y[rows])[0] for s in by])
            for (_, rows), by in ranked
        ], 0.0


# ---------------------------------------------------------------------------- the proof


@pytest.fixture(scope="module")
def table():
    X, y = make_regression(120, 9, n_informative=4, noise=30.0, random_state=0)
    return X @ np.random.default_rng(0).normal(size=(9, 9)), y


def naive(X, y, columns):
    """The least penalised loss on some columns, by the normal equations."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    centred = y - y.mean()
    Z, total = Z[:, columns], centred @ centred
    coef = np.linalg.solve(
        Z.T @ Z / total + ALPHA * np.eye(len(columns)), Z.T @ centred / total
    )
    return ((centred - Z @ coef) ** 2).sum() / total + ALPHA * coef @ coef, coef


def allowed(restrictions, columns, coef):
    signs = restrictions.signs_of(np.array(columns))
    dear = (
        restrictions.costs is not None and restrictions.costs[list(columns)].sum() > 4
    )
    families = (
        [] if restrictions.families is None else restrictions.families[list(columns)]
    )
    many = any(f and np.sum(families == f) > 1 for f in families)
    return (
        not dear
        and not many
        and set(restrictions.fixed) <= {*columns}
        and (coef * signs >= 0).all()
    )


LIMITS = {
    "none": Restrictions(),
    "fixed": Restrictions(np.array([7])),
    "families": Restrictions(families=np.array([1, 1, 1, 2, 2, 2, 0, 0, 0])),
    "signs": Restrictions(signs=np.array([1, -1, 1, -1, 0, 0, 1, 0, 0])),
    "budget": Restrictions(costs=np.arange(9.0), budgets=np.array([4.0])),
}


@pytest.mark.parametrize("limits", LIMITS)
def test_path_restrictions_and_certificate(table, limits):
    X, y = table
    restrictions, quadratic = LIMITS[limits], LeastSquares(X, y)
    path = path_of_moments(
        quadratic, np.array([3]), np.array([ALPHA]), restrictions, thorough=True
    )
    ((found,),) = path.solutions
    lists = (columns for size in (1, 2, 3) for columns in combinations(range(9), size))
    judged = [(*naive(X, y, list(columns)), columns) for columns in lists]
    best = min(
        value for value, coef, columns in judged if allowed(restrictions, columns, coef)
    )
    assert_allclose(found.objective, best, rtol=1e-9)
    w = path.coef(3, ALPHA)
    centred = y - y.mean()
    expected = ((centred - (X - X.mean(axis=0)) @ w) ** 2).sum() / (centred @ centred)
    assert_allclose(quadratic.loss(w), expected, rtol=1e-9)
    proof = certify(
        StandardisedGram(quadratic),
        found,
        3,
        ALPHA,
        restrictions=restrictions,
        time_limit=10,
    )
    assert proof.lower_bound <= best * (1 + 1e-12)
    assert proof.gap < 1e-6


def test_cross_validation_with_a_scorer(table):
    X, y = table
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    plan = SplitPlan.from_splits(splits, y.size, None)
    ks, alphas = np.arange(1, 6), np.array([0.01, ALPHA])
    found = cross_validate(CVTask(X, Regression(y), plan, ks, alphas, Restrictions()))
    for split, (train, test) in enumerate(splits):
        path = path_of_moments(
            LeastSquares(X[train], y[train]), ks, alphas, Restrictions()
        )
        for alpha in alphas:
            scores = [X[test] @ path.coef(k, alpha) for k in ks]
            expected = [spearmanr(score, y[test])[0] for score in scores]
            of_alpha = found.results["param_alpha"] == alpha
            assert found.results["param_k"][of_alpha].tolist() == ks.tolist()
            actual = found.results[f"split{split}_test_score"][of_alpha]
            assert_allclose(actual, expected, rtol=1e-12)
    assert spearmanr(found.out_of_fold(), y)[0] > 0.5
    assert found.path().ks.tolist() == ks.tolist()
