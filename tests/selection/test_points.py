"""Points against all whole numbers there are, and what is printed of them."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import stratified_auc
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.outcome import Binary
from sparseauc.selection import point_score
from sparseauc.selection.points import write_points
from sparseauc.solvers.points import points_range, whole_points


def explained(P, delta, points):
    square = points @ P @ points
    return (points @ delta) ** 2 / square if square > 0 else 0.0


def random_problem(seed, k):
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((k, 2 * k))
    scale = 10.0 ** rng.uniform(-0.5, 0.5, k)
    delta = rng.standard_normal(k) * scale
    P = mixed @ mixed.T / (2 * k) * np.outer(scale, scale) + np.outer(delta, delta)
    return P, delta


@pytest.mark.parametrize(("k", "largest"), [(1, 5), (2, 5), (3, 3), (3, 5), (4, 2), (5, 1), (4, 3)])
def test_the_best_points_of_all_in_nearly_all_cases(k, largest):
    grid = np.array(list(product(range(-largest, largest + 1), repeat=k)))
    optimal = 0
    for seed in range(60):
        P, delta = random_problem(seed, k)
        points = whole_points(P, delta, (-largest, largest))
        assert points.dtype == np.int64
        assert np.abs(points).max() <= largest
        assert points @ delta < 0
        squares = np.einsum("ij,jk,ik->i", grid, P, grid)
        best = np.max((grid @ delta) ** 2 / np.where(squares > 0, squares, np.inf))
        found = explained(P, delta, points)
        assert found <= best * (1 + 1e-9)
        optimal += found >= best * (1 - 1e-9)
    assert optimal >= 0.97 * 60


@pytest.mark.slow
def test_never_worse_than_rounding():
    for seed in range(100):
        P, delta = random_problem(seed, 8)
        w = -np.linalg.solve(P, delta)
        for scale in np.arange(1, 6):
            rounded = np.rint(w / np.abs(w).max() * scale)
            found = explained(P, delta, whole_points(P, delta, (-5, 5)))
            assert found >= explained(P, delta, rounded) * (1 - 1e-9)


def test_without_a_difference_there_are_no_points():
    assert whole_points(np.eye(3), np.zeros(3), (-5, 5)).tolist() == [0, 0, 0]


@pytest.fixture(scope="module")
def table():
    data = make_outbreak(n=600, d=8, k=4, mu=0.8, r=0.3, correlation=0.4, random_state=3)
    X = data.X * 10.0 ** np.arange(-3, 5)
    X[:, data.support[0]] = X[:, data.support[0]] > 0  # a column of 0 and 1
    return pd.DataFrame(X, columns=[f"gene {j}" for j in range(8)]), data.y, data.support


def test_points_of_a_model(table):
    X, y, support = table
    model = SparseAUCClassifier(k=4, alpha=0.1, limits=Limits(always_include=[support[0]])).fit(
        X, y
    )
    score = point_score(model, X, y)
    chosen = model.get_support(indices=True)
    assert score.columns["column"].tolist() == model.get_feature_names_out().tolist()
    deviations = X.to_numpy()[:, chosen].std(axis=0)
    units = [float(f"{deviation:.1g}") for deviation in deviations]
    units[chosen.tolist().index(support[0])] = 1.0
    assert score.columns["unit"].tolist() == units
    points = score.columns["points"].to_numpy()
    assert np.abs(points).max() <= 5
    values = X.to_numpy()[:, chosen] / units
    found = roc_auc_score(y, values @ points)
    for j, step in product(range(4), (-2, -1, 1, 2)):
        other = points + step * (np.arange(4) == j)
        if np.abs(other).max() <= 5:
            assert roc_auc_score(y, values @ other) <= found + 1e-4

    totals = X[model.get_feature_names_out()].to_numpy() @ (points / np.array(units))
    np.testing.assert_allclose(score.totals(X), totals, atol=1e-8)
    np.testing.assert_array_equal(score.totals(X.to_numpy()), score.totals(X))
    np.testing.assert_array_equal(score.totals(X.to_numpy().tolist()), score.totals(X))
    np.testing.assert_array_equal(score.totals(sp.csr_matrix(X.to_numpy())), score.totals(X))
    assert score.auc > score.model_auc - 0.01


def test_never_below_the_points_of_least_loss(table):
    X, y, _ = table
    for k, alpha in product((2, 4, 6), (0.01, 1.0)):
        model = SparseAUCClassifier(k=k, alpha=alpha).fit(X, y)
        chosen = model.get_support(indices=True)
        gram = StandardisedGram(class_moments(X.to_numpy(), y))
        score = point_score(model, X, y)
        worth = gram.scale[chosen] / score.columns["unit"].to_numpy()
        P = (gram.block(chosen, chosen) + alpha * np.eye(k)) * np.outer(worth, worth)
        points = whole_points(P, gram.delta[chosen] * worth, (-5, 5))
        totals = X.to_numpy()[:, chosen] @ (points / score.columns["unit"].to_numpy())
        assert roc_auc_score(y, score.totals(X)) >= roc_auc_score(y, totals) - 1e-12


@pytest.mark.parametrize(
    "estimator",
    [SparseAUCClassifier(k=4), SparseAUCClassifierCV(ks=[4], curves=False)],
)
def test_a_model_whose_score_is_the_log_odds_of_the_total(table, estimator):
    X, y, _ = table
    labels = np.where(y > 0, "z ill", "well")
    model = estimator.fit(X, labels)
    coef = model.coef_.copy()
    score = point_score(model, X, labels)
    totals, of_points = score.totals(X), score.model
    scores = of_points.decision_function(X)
    np.testing.assert_allclose(scores, score.slope * totals + score.intercept, atol=1e-8)
    np.testing.assert_allclose(of_points.predict_proba(X)[:, 1], score.risks(totals), atol=1e-8)
    assert score.prevalence == pytest.approx((y > 0).mean())
    assert score.threshold % 1 == 0
    assert score.risks(score.threshold - 1) < score.prevalence < score.risks(score.threshold + 1)
    np.testing.assert_array_equal(model.coef_, coef)
    assert not hasattr(model, "points_")
    assert type(of_points) is type(model)
    np.testing.assert_allclose(
        of_points.coef_[0], score.slope * of_points.points_ / of_points.units_
    )
    assert abs(score.risks(totals).mean() - (y > 0).mean()) < 0.05


def test_whole_totals_have_whole_thresholds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 4)) * 1.0
    y = (X[:, 0] + X[:, 1] + rng.random(300)) > 1.2
    score = point_score(SparseAUCClassifier(k=3).fit(X, y), X, y)
    assert set(score.totals(X) % 1) == {0.0}
    above = score.totals(X) > score.threshold
    np.testing.assert_array_equal(above, score.risks(score.totals(X)) > score.prevalence)
    ends = score.risk[["above", "up_to"]].to_numpy()
    assert set(ends[np.isfinite(ends)] % 1) == {0.0}
    assert "if so" in str(score)
    assert "points of all that apply" in str(score)


def test_what_json_holds(table):
    X, y, _ = table
    score = point_score(SparseAUCClassifier(k=3).fit(X, y), X, y)
    content = json.loads(json.dumps(score.as_dict(), allow_nan=False))
    assert write_points(content) == str(score)
    assert content["risk"][0]["above"] is None
    assert content["risk"][-1]["up_to"] is None


def totals_left_out(X, y, k, alpha, largest, splits, final):
    """Totals by points given without the rows, on the scale of the final totals."""

    def ends(totals, y):
        return totals[y > 0].mean(), totals[y <= 0].mean()

    high, low = ends(final, y)
    found = np.empty(y.size)
    for train, test in splits:
        model = SparseAUCClassifier(k=k, alpha=alpha).fit(X[train], y[train])
        score = point_score(model, X[train], y[train], largest=largest, cv=2)
        own_high, own_low = ends(score.totals(X[train]), y[train])
        place = (score.totals(X[test]) - (own_high + own_low) / 2) / (own_high - own_low)
        found[test] = (high + low) / 2 + place * (high - low)
    return found


def test_risk_is_that_of_rows_left_out(table):
    X, y, _ = table
    X = X.to_numpy()
    splits = list(StratifiedKFold(4).split(X, y))
    score = point_score(SparseAUCClassifier(3, 0.1).fit(X, y), X, y, largest=3, cv=4)
    totals = totals_left_out(X, y, 3, 0.1, 3, splits, score.totals(X))
    risk = score.risk
    assert risk["rows"].sum() == 600
    assert risk["positives"].sum() == (y > 0).sum()
    assert risk["above"].tolist()[1:] == risk["up_to"].tolist()[:-1]
    for row in risk.itertuples():
        inside = (totals > row.above) & (totals <= row.up_to)
        assert row.rows == inside.sum() > 0
        assert row.risk == pytest.approx((y[inside] > 0).mean())
        assert row.low <= row.risk <= row.high
        assert row.predicted == pytest.approx(score.risks(totals[inside].mean()))
        assert row.sensitivity == pytest.approx((totals[y > 0] > row.above).mean())
        assert row.specificity == pytest.approx((totals[y <= 0] <= row.above).mean())
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(totals[:, None], y)
    assert score.slope == pytest.approx(oracle.coef_[0, 0], rel=0.01)
    assert score.auc == pytest.approx(
        np.mean([roc_auc_score(y[test], totals[test]) for _, test in splits])
    )


@pytest.mark.filterwarnings("ignore")
def test_on_noise_no_total_promises_anything():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(120, 150)), np.arange(120) % 2
    score = point_score(SparseAUCClassifier(k=5).fit(X, y), X, y)
    assert 0.2 < score.risk["risk"].iloc[-1] < 0.8
    assert 0.35 < score.auc < 0.65


@pytest.mark.parametrize("with_strata", [False, True])
def test_weights_count_as_repeated_rows(with_strata):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = rng.random(300) < 1 / (1 + np.exp(0.5 - X[:, :4] @ [1, 0.7, -0.6, 0.4]))
    y[150:] = rng.random(150) < 1 / (1 + np.exp(0.5 + X[150:, :4] @ [1, -0.7, -0.6, 1.4]))
    weight = np.where(np.arange(300) < 150, 8, 1)
    rows, site = np.repeat(np.arange(300), weight), np.arange(300) % 2
    strata, again = (site, site[rows]) if with_strata else (None, None)
    how = {"cv": [(np.arange(0, 300, 2), np.arange(1, 300, 2))]}
    train, test = (np.flatnonzero(rows % 2 == part) for part in (0, 1))
    one = point_score(
        SparseAUCClassifier(4, 0.1).fit(X, y, weight, strata=strata), X, y, sample_weight=weight,
        strata=strata, **how,
    )  # fmt: skip
    other = point_score(
        SparseAUCClassifier(4, 0.1).fit(X[rows], y[rows], strata=again), X[rows], y[rows],
        strata=again, cv=[(train, test)],
    )  # fmt: skip
    assert one.columns.equals(other.columns)
    for name in ("slope", "intercept", "auc", "model_auc", "prevalence"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-4)


def test_points_of_one_sign_choose_columns_of_that_sign():
    rng = np.random.default_rng(1)
    gain = 0
    for _ in range(10):
        X = rng.normal(size=(200, 6))
        y = rng.random(200) < 1 / (1 + np.exp(-X @ [-1.0, -0.9, 0.6, 0.5, 0.0, 0.0]))
        free = SparseAUCClassifier(k=2).fit(X, y)
        assert (free.coef_[0] < 0).any()
        score = point_score(free, X, y, largest=(0, 3))
        signed = SparseAUCClassifier(k=2, limits=Limits(signs=np.ones(6, int))).fit(X, y)
        assert set(score.columns["column"]) <= set(signed.get_support(indices=True))
        assert (score.columns["points"] > 0).all()
        gain += roc_auc_score(y, score.totals(X)) - 0.5
    assert gain / 10 > 0.1
    down = point_score(free, X, y, largest=(-3, 0))
    assert (down.columns["points"] < 0).all()
    with pytest.raises(ValueError, match="no column is worth a point from 0 to 3"):
        point_score(SparseAUCClassifier(k=1).fit(-X[:, 2:3], y), -X[:, 2:3], y, largest=(0, 3))


def test_a_page(table):
    X, y, _ = table
    score = point_score(SparseAUCClassifier(k=4).fit(X, y), X, y)
    lines = str(score).splitlines()
    assert len(lines) <= 66
    assert max(map(len, lines)) <= 80
    for name, points in zip(score.columns["column"], score.columns["points"], strict=True):
        assert any(line.startswith(name) and f"{points:+d}" in line for line in lines)


def test_points_per_unit():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 4)) * 1.0
    y = (X[:, 0] + X[:, 1] + rng.random(300)) > 1.2
    score = point_score(SparseAUCClassifier(k=2).fit(X, y), X, y, per="unit")
    assert score.columns["unit"].tolist() == [1.0, 1.0]
    assert set(score.totals(X)) <= set(range(-10, 11))
    assert len(score.risk) <= 4


def test_refusals(table):
    X, y, _ = table
    model = SparseAUCClassifier(k=3).fit(X, y)
    for bad in (0, True, 10**6, (1, 5), (0, 0), (5, -5), (-1.5, 2), (1, 2, 3)):
        with pytest.raises(ValueError, match="points are whole numbers from"):
            point_score(model, X, y, largest=bad)
    with pytest.raises(ValueError, match="per must be"):
        point_score(model, X, y, per="inch")
    score = point_score(model, X, y)
    name = score.columns["column"][0]
    with pytest.raises(ValueError, match=f"no column '{name}'"):
        score.totals(X.drop(columns=name))
    with pytest.raises(ValueError, match="X has 1 columns, the points need column"):
        score.totals(X.to_numpy()[:, :1])


@pytest.mark.parametrize("given", [5, (-2, 4), (0, 3)])
def test_points_stay_within_their_range(table, given):
    X, y, _ = table
    model = point_score(SparseAUCClassifier(k=4, alpha=0.1).fit(X, y), X, y, largest=given).model
    low, high = points_range(given)
    assert ((model.points_ >= low) & (model.points_ <= high)).all()
    assert not hasattr(clone(model).fit(X, y), "points_")


def test_points_within_strata():
    rng = np.random.default_rng(1)
    site = rng.integers(4, size=400)
    y = rng.random(400) < np.array([0.1, 0.3, 0.5, 0.8])[site]
    X = rng.normal(size=(400, 6)) + np.outer(y, [0.9, 0.7, 0.5, 0, 0, 0])
    X[:, 4] += 5 * site  # tells sites apart, and nothing within them
    plain = SparseAUCClassifier(k=3).fit(X, y, strata=site)
    score = point_score(plain, X, y, strata=site)
    model = score.model
    assert model.get_support(indices=True).tolist() == [0, 1, 2]
    totals = score.totals(X)
    found = stratified_auc(y, totals, site).auc
    assert score.auc > score.model_auc - 0.01
    for j, step in product(range(3), (-2, -1, 1, 2)):
        other = model.points_[:3] + step * (np.arange(3) == j)
        if np.abs(other).max() <= 5:
            of_other = X[:, :3] / model.units_[:3] @ other
            assert stratified_auc(y, of_other, site).auc <= found + 1e-4
    with pytest.raises(ValueError, match="give those of the fit"):
        point_score(model, X, y)


@pytest.mark.filterwarnings("ignore:.*one class only")
@pytest.mark.parametrize("weighting", ["pairs", "equal"])
def test_the_quick_auc_within_strata(weighting):
    rng = np.random.default_rng(2)
    for n in (8, 40, 200):
        site, y = rng.integers(n // 4, size=n), rng.random(n) < 0.5
        scores = rng.integers(0, 5, n) * 0.5
        divided = Binary(y).within(site, weighting)
        expected = stratified_auc(y, scores, site, weights=weighting).auc
        assert divided.score(scores) == pytest.approx(expected, abs=1e-12)
