"""Rows of weight 0 are as good as absent: fits with them equal fits without them, bit for bit."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from sparseauc import (
    MeanDifferenceClassifier,
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    SparseConcordance,
    SparseConcordanceCV,
)
from sparseauc.chunks import open_table
from sparseauc.metrics import fast_auc
from sparseauc.outcome import Binary
from sparseauc.selection import (
    near_equal_lists,
    point_score,
    replacements,
    stability_selection,
)
from sparseauc.survival import SurvivalTimes


class Rows:
    """Skewed columns, labels and times; rows of weight 0 have other columns and later times."""

    def __init__(self, seed, *, n=140, d=6):
        rng = np.random.default_rng(seed)
        latent = rng.standard_normal(n)
        X = rng.standard_normal((n, d)) + np.outer(latent, 0.6 * rng.standard_normal(d))
        X[:, :2] = np.exp(1.5 * X[:, :2])
        time = 1 + np.round(50 * rng.exponential(np.exp(-latent)), 1)
        self.kept = rng.random(n) < 0.6
        X[~self.kept] *= 50
        self.X = X
        self.y = (latent + 0.8 * rng.standard_normal(n) > 0).astype(int)
        self.times = np.column_stack(
            [rng.random(n) < 0.7, np.where(self.kept, time, 20 * time)]
        )
        self.weight = self.kept * rng.choice([1.0, 2.0], n)
        self.fold = rng.integers(0, 4, n)
        self.site = rng.integers(0, 3, n)

    def both(self, model, target, **by_row):
        """Fit two models: to all rows, and to those of weight above 0."""
        kept = self.kept
        y = getattr(self, target)
        every = model().fit(self.X, y, sample_weight=self.weight, **by_row)
        without = {name: values[kept] for name, values in by_row.items()}
        weight = self.weight[kept]
        return every, model().fit(
            self.X[kept], y[kept], sample_weight=weight, **without
        )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (lambda: MeanDifferenceClassifier(k=3), "y"),
        (lambda: SHTAUCClassifier(k=3, max_epochs=3, random_state=0), "y"),
        (
            lambda: SHTAUCClassifier(
                k=3, max_epochs=3, early_stopping=True, random_state=0
            ),
            "y",
        ),
        (lambda: SparseAUCClassifier(k=3), "y"),
        (lambda: SparseAUCClassifierCV(), "y"),
        (lambda: SparseAUCClassifierCV(cv=StratifiedKFold(3), rule="1se"), "y"),
        (lambda: SparseConcordance(k=3), "times"),
        (lambda: SparseConcordanceCV(), "times"),
    ],
    ids=[
        "mean-difference",
        "sht",
        "early-stopping",
        "auc",
        "cv",
        "1se",
        "times",
        "times-cv",
    ],
)
def test_fits(seed, model, target):
    rows = Rows(seed)
    every, without = rows.both(model, target)
    np.testing.assert_array_equal(every.coef_, without.coef_)
    np.testing.assert_array_equal(every.intercept_, without.intercept_)
    if hasattr(every, "cv_results_"):
        for name, values in without.cv_results_.items():
            np.testing.assert_array_equal(every.cv_results_[name], values)
        scores = every.out_of_fold_scores_
        assert np.isnan(scores[~rows.kept]).all()
        np.testing.assert_array_equal(scores[rows.kept], without.out_of_fold_scores_)
    if target == "times":
        assert every.horizon_ == without.horizon_
    if hasattr(every, "hazards_"):
        np.testing.assert_array_equal(
            every.predict_risk(rows.X), without.predict_risk(rows.X)
        )


@pytest.mark.parametrize(
    ("model", "target"), [(SparseAUCClassifierCV, "y"), (SparseConcordanceCV, "times")]
)
def test_given_folds_groups_and_strata(model, target):
    rows = Rows(7)

    def splits(fold):
        return [
            (np.flatnonzero(fold != q), np.flatnonzero(fold == q)) for q in range(4)
        ]

    y = getattr(rows, target)
    kept = rows.kept
    every = model(ks=range(1, 4), cv=splits(rows.fold))
    every.fit(rows.X, y, sample_weight=rows.weight)
    without = model(ks=range(1, 4), cv=splits(rows.fold[kept]))
    without.fit(rows.X[kept], y[kept], sample_weight=rows.weight[kept])
    np.testing.assert_array_equal(every.coef_, without.coef_)
    patient = np.arange(140) // 2
    for by_row in ({"strata": rows.site}, {"groups": patient}):
        if target == "times" and "groups" in by_row:
            continue
        every, without = rows.both(lambda: model(ks=range(1, 4)), target, **by_row)
        np.testing.assert_array_equal(every.coef_, without.coef_)


def test_rows_read_in_chunks(tmp_path):
    rows = Rows(11)
    np.save(tmp_path / "X.npy", rows.X)
    for model in (SparseAUCClassifier(k=3), SparseAUCClassifierCV(curves=False)):
        read = open_table(tmp_path / "X.npy", chunk_bytes=2000)
        model.fit(read, rows.y, sample_weight=rows.weight)
        coef = model.coef_
        kept = rows.kept
        model.fit(rows.X[kept], rows.y[kept], sample_weight=rows.weight[kept])
        np.testing.assert_allclose(coef, model.coef_, rtol=1e-8)


@pytest.mark.parametrize("target", ["y", "times"])
def test_questions_about_a_list(target):
    rows = Rows(5)
    kind = SparseAUCClassifier if target == "y" else SparseConcordance
    y = getattr(rows, target)
    kept = rows.kept
    model = kind(k=2).fit(rows.X, y, sample_weight=rows.weight)
    weights = {"sample_weight": rows.weight}
    of_kept = {"sample_weight": rows.weight[kept]}
    every = replacements(model, rows.X, y, **weights)
    assert every.equals(replacements(model, rows.X[kept], y[kept], **of_kept))
    every = near_equal_lists(model, rows.X, y, **weights)
    without = near_equal_lists(model, rows.X[kept], y[kept], **of_kept)
    np.testing.assert_array_equal(every.objectives, without.objectives)
    every = point_score(model, rows.X, y, **weights)
    without = point_score(model, rows.X[kept], y[kept], **of_kept)
    assert every.risk.equals(without.risk)
    assert every.auc == without.auc
    found = [
        stability_selection(
            table, labels, 2, n_pairs=4, random_state=0, **given
        ).frequency
        for table, labels, given in (
            (rows.X, y, weights),
            (rows.X[kept], y[kept], of_kept),
        )
    ]
    np.testing.assert_array_equal(*found)


def test_variance_and_counts():
    rows = Rows(3)
    scores = rows.X[:, 2]
    every = Binary(rows.y == 1, rows.weight)
    without = every.take(rows.kept)
    assert every.informative == without.informative
    assert fast_auc(scores, rows.y == 1, rows.weight) == fast_auc(
        scores[rows.kept], rows.y[rows.kept] == 1, rows.weight[rows.kept]
    )
    others = rows.X[:, 3]
    assert every.difference_variance(scores, others) == pytest.approx(
        without.difference_variance(scores[rows.kept], others[rows.kept]), rel=1e-12
    )


def test_default_horizon_is_that_of_repeated_rows():
    for seed in range(20):
        rows = Rows(seed)
        times = SurvivalTimes.from_target(rows.times)
        repeats = rows.weight.astype(int)
        repeated = times.take(np.repeat(np.arange(140), repeats))
        assert times.default_horizon(rows.weight) == repeated.default_horizon()
        assert times.default_horizon(rows.weight / 10) == repeated.default_horizon()
        expected = np.quantile(
            repeated.time[repeated.event], 0.8, method="inverted_cdf"
        )
        assert repeated.default_horizon() == expected
