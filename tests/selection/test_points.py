"""Points are the rounded effects: against a card made by hand, and what is printed of it."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.columns import Levels, Steps, encoding_from_dict
from sparseauc.datasets import make_outbreak
from sparseauc.estimators._base import set_lines
from sparseauc.metrics import stratified_auc
from sparseauc.outcome import Binary
from sparseauc.selection import point_score
from sparseauc.selection.points import round_between


@pytest.fixture(scope="module")
def table():
    data = make_outbreak(
        n=600, d=8, k=4, mu=0.8, r=0.3, correlation=0.4, random_state=3
    )
    X = data.X * 10.0 ** np.arange(-3, 5)
    X[:, data.support[0]] = X[:, data.support[0]] > 0  # a column of 0 and 1
    return (
        pd.DataFrame(X, columns=[f"gene {j}" for j in range(8)]),
        data.y,
        data.support,
    )


@pytest.fixture(scope="module")
def patients(table):
    """Numbers that bend, texts, true and false, and missing values."""
    X, y, _ = table
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, 600).astype(float)
    ward = np.where(rng.random(600) < 0.3, "a", np.where(y > 0, "b", "c")).astype(
        object
    )
    age[::11] = np.nan
    ward[::7] = None
    bent = (X["gene 1"] / X["gene 1"].std()) ** 2
    flag = rng.random(600) < np.where(y > 0, 0.7, 0.3)
    more = {"age": age + 4 * (y > 0), "ward": ward, "bent": bent, "flag": flag}
    return X[["gene 0", "gene 2"]].assign(**more), y


def by_hand(model, X, largest):
    """Points of every row in each column: round((f − lowest) / unit), of the effects themselves."""
    effects = {
        j: np.array(
            one.effect(X.iloc[:, j].tolist() if one.reads == "text" else X.iloc[:, j])
        )
        for j, one in model.encodings_.items()
    }
    ends = {}
    for j, effect in effects.items():
        shares = (0, 1) if model.encodings_[j].reads == "text" else (0.01, 0.99)
        ends[j] = np.quantile(effect, shares, method="inverted_cdf")
        if ends[j][0] == ends[j][1]:
            ends[j] = np.array([effect.min(), effect.max()])
    unit = max(high - low for low, high in ends.values()) / largest
    return {
        j: np.rint((np.clip(f, *ends[j]) - ends[j][0]) / unit)
        for j, f in effects.items()
    }


@pytest.mark.parametrize("largest", [1, 5, 10, 40])
@pytest.mark.parametrize(
    "estimator",
    [
        SparseAUCClassifier(6, 0.1, curves=True),
        SparseAUCClassifier(3, 0.1),
        SparseAUCClassifierCV(ks=[4], alphas=[0.1]),
        SparseAUCClassifierCV(ks=[4], alphas=[0.1], curves=True),
    ],
)
def test_points_are_the_rounded_effects(patients, estimator, largest):
    X, y = patients
    model = clone(estimator).fit(X, y)
    score = point_score(model, X, y, largest=largest, cv=2)
    expected = by_hand(model, X, largest)
    np.testing.assert_array_equal(score.totals(X), sum(expected.values()))
    points = score.columns.groupby("column")["points"]
    assert (points.min() == 0).all()
    assert points.max().max() == largest
    worth = [X.columns[j] for j, one in expected.items() if one.any()]
    assert [*dict.fromkeys(score.columns["column"])] == worth
    # By the words of the card alone.
    totals = np.zeros(len(X))
    for name, classes in score.columns.groupby("column"):
        for one in classes.itertuples(index=False):
            totals += one.points * in_class(X[name], one[1], score.model)
    np.testing.assert_array_equal(totals, score.totals(X))


def in_class(values, name, model):
    """Rows of a class by its name; a missing number is its median."""
    if values.name == "ward":
        return values.isna() if name == "missing" else values == name
    numbers = values.astype(float)
    place = list(model.feature_names_in_).index(values.name)
    numbers = numbers.fillna(model.points_[place].missing)
    found = np.ones(len(values), bool)
    words = name.split()
    if "above" in words:
        found &= numbers > float(words[words.index("above") + 1])
    if "to" in words:
        found &= numbers <= float(words[words.index("to") + 1])
    return found


def test_cuts_have_few_digits_and_cost_nothing(table):
    X, y, _ = table
    X = np.round(X.to_numpy() / X.to_numpy().std(axis=0), 2)
    model = SparseAUCClassifier(k=3).fit(X, y)
    score = point_score(model, X, y, cv=2)
    for j, one in score.model.points_.items():
        known = np.unique(X[:, j])
        for cut in one.cuts:
            place = np.searchsorted(known, cut, side="right")
            assert known[place - 1] <= cut < known[place]
            assert len(f"{abs(cut):g}".replace(".", "").strip("0")) <= 4


@pytest.mark.parametrize(
    ("low", "high", "whole", "expected"),
    [(60.0, 61.0, True, 60.0), (-1.0, 0.0, True, -1.0), (-0.3, 0.4, False, 0.0),
     (0.0, 1.0, True, 0.0), (98.0, 104.0, False, 100.0), (1.23456, 1.23457, False, 1.23456),
     (-0.052, -0.04, False, -0.05), (5.0, np.nextafter(5.0, 6.0), False, 5.0)],
)  # fmt: skip
def test_round_numbers(low, high, whole, expected):
    assert round_between(low, high, whole=whole) == expected


def test_one_far_value_makes_no_scale(table):
    X, y, _ = table
    X = X.to_numpy() / X.to_numpy().std(axis=0)
    X[0, 2] = 1e4
    model = SparseAUCClassifier(k=2, limits=Limits(always_include=[2, 3])).fit(X, y)
    set_lines(model, np.eye(8)[2] + np.eye(8)[3], np.zeros(8))
    score = point_score(model, X, y, cv=2)
    assert score.columns.groupby("column")["points"].max().tolist() == [10, 10]


def test_encodings_of_points_survive_json(patients):
    X, y = patients
    score = point_score(SparseAUCClassifier(6, curves=True).fit(X, y), X, y, cv=2)
    kinds = {type(one) for one in score.model.points_.values()}
    assert kinds == {Steps, Levels}
    for one in score.model.points_.values():
        again = encoding_from_dict(json.loads(json.dumps(one.as_dict())))
        assert again == one
        assert again.words() == one.words()


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
    np.testing.assert_allclose(
        scores, score.slope * totals + score.intercept, atol=1e-8
    )
    np.testing.assert_allclose(
        of_points.predict_proba(X)[:, 1], score.risks(totals), atol=1e-8
    )
    assert score.prevalence == pytest.approx((y > 0).mean())
    assert score.threshold % 1 == 0
    assert (
        score.risks(score.threshold - 1)
        < score.prevalence
        < score.risks(score.threshold + 1)
    )
    above = totals > score.threshold
    np.testing.assert_array_equal(above, score.risks(totals) > score.prevalence)
    np.testing.assert_array_equal(model.coef_, coef)
    assert not hasattr(model, "points_")
    assert not hasattr(clone(of_points).fit(X, labels), "points_")
    assert type(of_points) is type(model)
    assert abs(score.risks(totals).mean() - (y > 0).mean()) < 0.05
    assert score.auc > score.model_auc - 0.015
    np.testing.assert_array_equal(
        point_score(
            clone(estimator).fit(X.to_numpy(), labels), sp.csr_matrix(X), labels
        ).totals(sp.csr_matrix(X)),
        totals,
    )


def test_what_json_holds(table):
    X, y, _ = table
    score = point_score(SparseAUCClassifier(k=3).fit(X, y), X, y)
    content = json.loads(json.dumps(score.as_dict(), allow_nan=False))
    assert len(content["columns"]) == len(score.columns)
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
        place = (score.totals(X[test]) - (own_high + own_low) / 2) / (
            own_high - own_low
        )
        found[test] = (high + low) / 2 + place * (high - low)
    return found


def test_risk_is_that_of_rows_left_out(table):
    X, y, _ = table
    X = X.to_numpy()
    splits = list(StratifiedKFold(4).split(X, y))
    score = point_score(SparseAUCClassifier(3, 0.1).fit(X, y), X, y, largest=3, cv=4)
    totals = totals_left_out(X, y, 3, 0.1, 3, splits, score.totals(X))
    rounded = np.rint(totals)
    risk = score.risk
    assert risk["rows"].sum() == 600
    assert risk["positives"].sum() == (y > 0).sum()
    assert risk["above"].tolist()[1:] == risk["up_to"].tolist()[:-1]
    for row in risk.itertuples():
        inside = (rounded > row.above) & (rounded <= row.up_to)
        assert row.rows == inside.sum() > 0
        assert row.risk == pytest.approx((y[inside] > 0).mean())
        assert row.low <= row.risk <= row.high
        assert row.predicted == pytest.approx(score.risks(rounded[inside].mean()))
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
    y[150:] = rng.random(150) < 1 / (
        1 + np.exp(0.5 + X[150:, :4] @ [1, -0.7, -0.6, 1.4])
    )
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


def test_refusals(table):
    X, y, _ = table
    model = SparseAUCClassifier(k=3).fit(X, y)
    for bad in (0, 10**6, -5, 2.5):
        with pytest.raises((TypeError, ValueError), match="largest"):
            point_score(model, X, y, largest=bad)
    flat = SparseAUCClassifier(k=1).fit(X, y)
    set_lines(flat, np.zeros(8), np.zeros(8))
    with pytest.raises(ValueError, match="chose no column"):
        point_score(flat, X, y)


def test_points_within_strata():
    rng = np.random.default_rng(1)
    site = rng.integers(4, size=400)
    y = rng.random(400) < np.array([0.1, 0.3, 0.5, 0.8])[site]
    X = rng.normal(size=(400, 6)) + np.outer(y, [0.9, 0.7, 0.5, 0, 0, 0])
    X[:, 4] += 5 * site  # tells sites apart, and nothing within them
    score = point_score(
        SparseAUCClassifier(k=3).fit(X, y, strata=site), X, y, strata=site
    )
    assert score.model.get_support(indices=True).tolist() == [0, 1, 2]
    assert score.auc > score.model_auc - 0.015
    assert abs(stratified_auc(y, score.totals(X), site).auc - score.auc) < 0.03
    with pytest.raises(ValueError, match="give those of the fit"):
        point_score(score.model, X, y)


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
