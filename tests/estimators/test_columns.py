"""Columns as units in the estimators: frames as they are, curves, and what folds learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from sparseauc import (
    Limits,
    MeanDifferenceClassifier,
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    SparseConcordance,
    SparseConcordanceCV,
)
from sparseauc.chunks import ArrayChunks
from sparseauc.columns import Curve, Levels, Line
from sparseauc.columns.reading import read_table
from sparseauc.columns.units import Units
from sparseauc.errors import InputError
from sparseauc.metrics import fast_auc
from sparseauc.selection import (
    column_table,
    near_equal_lists,
    nested_scores,
    replacements,
    stability_selection,
)
from sparseauc.selection.fitted_list import FittedList

N = 240


def make_frame(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "bent": rng.normal(size=N),
            "straight": rng.normal(size=N),
            "ward": rng.choice(["east", "north", "west"], N),
            "smokes": rng.random(N) < 0.4,
            "noise": rng.gamma(1.0, size=N),
            "group": pd.Categorical(rng.choice(["a", "b"], N)),
        }
    )
    score = frame["bent"] ** 2 + frame["straight"] + 1.5 * (frame["ward"] == "west")
    score += frame["smokes"] + rng.normal(size=N)
    frame.loc[::7, "bent"] = np.nan
    frame.loc[::11, "ward"] = None
    times = np.column_stack([rng.random(N) < 0.8, np.exp(-score) + 0.01])
    return frame, (score > score.median()).to_numpy().astype(int), times


FRAME, Y, TIMES = make_frame()
MODELS = {
    "cv": SparseAUCClassifierCV(ks=[1, 2, 3, 4], alphas=[1.0]),
    "cv of lines": SparseAUCClassifierCV(ks=[1, 2, 3, 4], alphas=[1.0], curves=False),
    "cv of curves": SparseAUCClassifierCV(ks=[1, 2, 3, 4], alphas=[1.0], curves=True),
    "list": SparseAUCClassifier(k=4),
    "list of curves": SparseAUCClassifier(k=4, curves=True),
    "list with a curve": SparseAUCClassifier(k=4, curves=["bent"]),
    "times": SparseConcordance(k=3, curves=True),
    "times cv": SparseConcordanceCV(ks=[2, 3], alphas=[1.0]),
}


def fit(model, X, **more):
    return clone(model).fit(
        X,
        Y
        if hasattr(model, "predict_log_proba") or "AUC" in type(model).__name__
        else TIMES,
        **more,
    )


def score(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_score_is_the_intercept_and_the_effects(name):
    model = fit(MODELS[name], FRAME)
    total = np.full(N, model.intercept_[0])
    for place, encoding in model.encodings_.items():
        total += encoding.effect(FRAME.iloc[:, place])
    assert_allclose(score(model, FRAME), total, atol=1e-10)
    chosen = list(model.encodings_)
    assert np.flatnonzero(model.coef_[0]).tolist() == chosen
    assert model.get_feature_names_out().tolist() == FRAME.columns[chosen].tolist()
    assert np.flatnonzero(model.bend_[0]).tolist() == [
        j for j in chosen if isinstance(model.encodings_[j], Curve)
    ]
    assert np.isfinite(model.knots_[:, model.bend_[0] != 0]).all()
    assert len(chosen) == getattr(model, "k_", getattr(model, "k", None))


@pytest.mark.parametrize("name", ["cv of curves", "list with a curve", "times cv"])
def test_frames_of_polars_give_the_same(name):
    one = fit(MODELS[name], FRAME)
    other = fit(MODELS[name], pl.from_pandas(FRAME))
    assert one.encodings_ == other.encodings_
    assert_array_equal(score(one, FRAME), score(other, pl.from_pandas(FRAME)))


def test_curves_are_found_where_effects_bend():
    model = fit(MODELS["cv"], FRAME)
    assert model.curves_
    assert isinstance(model.encodings_[0], Curve)
    assert isinstance(model.encodings_[2], Levels)
    assert model.best_score_ > fit(MODELS["cv of lines"], FRAME).best_score_
    below, above = model.encodings_[0].outer_slopes
    assert below < 0 < above


@pytest.mark.parametrize("curves", [False, True])
def test_every_fold_learns_from_its_training_rows(curves):
    """Validation scores are those of a naive loop over splits."""
    splits = list(StratifiedKFold(4).split(FRAME, Y))
    model = SparseAUCClassifierCV(
        ks=[3], alphas=[1.0], coefficients="auc", cv=splits, curves=curves
    ).fit(FRAME, Y)
    table = read_table(FRAME)
    layout = Units.learn(table, curved=np.full(FRAME.shape[1], curves))
    expected = []
    scores = np.empty(N)
    for train, test in splits:
        units = layout.learn_again(
            table.values, np.isin(np.arange(N), train).astype(float)
        )
        groups = Limits(column_groups=units.columns)
        part = SparseAUCClassifier(k=3, limits=groups).fit(
            units.basis(table.values[train]), Y[train]
        )
        scores[test] = part.decision_function(units.basis(table.values[test]))
        expected.append(fast_auc(scores[test], Y[test] == 1))
    found = [model.cv_results_[f"split{i}_test_score"][0] for i in range(4)]
    assert_allclose(found, expected, atol=1e-12)


def test_rows_of_weight_zero_are_absent():
    weight = np.random.default_rng(1).integers(0, 3, N).astype(float)
    # A level, and extreme values, that only rows without weight have.
    frame = FRAME.copy()
    frame.loc[weight == 0, "ward"] = "elsewhere"
    frame.loc[weight == 0, "bent"] = 1e6
    there = weight > 0
    model = MODELS["cv of curves"]
    one = clone(model).fit(frame, Y, sample_weight=weight)
    other = clone(model).fit(frame[there], Y[there], sample_weight=weight[there])
    assert one.encodings_ == other.encodings_


def test_a_missing_number_counts_as_the_median_and_an_unknown_text_as_missing():
    model = fit(MODELS["cv of curves"], FRAME)
    rows = FRAME.iloc[:3].copy()
    unknown = rows.assign(ward=["elsewhere"] * 3)
    assert_array_equal(
        score(model, unknown), score(model, rows.assign(ward=[None] * 3))
    )
    median = model.encodings_[0].missing
    assert_array_equal(
        score(model, rows.assign(bent=np.nan)), score(model, rows.assign(bent=median))
    )


def test_arrays_may_have_missing_values_and_no_infinite_ones():
    X = FRAME[["bent", "straight", "noise"]].to_numpy(copy=True)
    model = SparseAUCClassifier(k=2).fit(X, Y)
    filled = np.where(
        np.isnan(X), np.nanquantile(X, 0.5, axis=0, method="inverted_cdf"), X
    )
    expected = SparseAUCClassifier(k=2).fit(filled, Y)
    assert_allclose(model.coef_, expected.coef_)
    assert_allclose(model.decision_function(X), expected.decision_function(filled))
    X[5, 1] = np.inf
    with pytest.raises(InputError, match="contains infinity: first at row 5, column 1"):
        SparseAUCClassifier(k=2).fit(X, Y)


def test_columns_that_cannot_bend_are_lines():
    X = np.random.default_rng(0).integers(0, 2, (N, 6)).astype(float)
    X[:, 0] += Y
    X = np.minimum(X, 1.0)
    curves = SparseAUCClassifierCV(ks=[2], curves=True).fit(X, Y)
    lines = SparseAUCClassifierCV(ks=[2], curves=False).fit(X, Y)
    assert not curves.curves_
    assert_allclose(curves.coef_, lines.coef_)


def test_limits_are_of_columns_of_the_table():
    limits = Limits(
        costs=dict.fromkeys(FRAME.columns, 1.0),
        budget=3,
        always_include=["noise"],
        exclude=["bent"],
    )
    model = SparseAUCClassifierCV(alphas=[1.0], limits=limits, curves=True).fit(
        FRAME, Y
    )
    names = model.get_feature_names_out().tolist()
    assert "noise" in names
    assert "bent" not in names
    assert model.cost_ == len(names) <= 3
    assert model.path_.support(model.k_, 1.0, model.budget_).tolist() == list(
        model.encodings_
    )


def test_a_users_group_is_one_unit():
    together = {"bent": "g", "straight": "g"}
    model = SparseAUCClassifier(k=2, curves=True, limits=Limits(column_groups=together))
    model.fit(FRAME, Y)
    assert {0, 1} <= set(model.encodings_)
    assert len(model.encodings_) == 3


def test_columns_with_a_sign_are_lines_beside_curves():
    signs = Limits(signs={"bent": "+"})
    model = SparseAUCClassifier(k=2, curves=True, limits=signs).fit(FRAME, Y)
    kinds = [type(one) for one in model._units.encodings]
    assert kinds[:2] == [Line, Curve]
    families = Limits(families={"bent": "f"})
    model = SparseAUCClassifier(k=2, curves=True, limits=families).fit(FRAME, Y)
    kinds = [type(one) for one in model._units.encodings]
    assert kinds[:2] == [Curve, Curve]


@pytest.mark.parametrize(
    "model", [SparseAUCClassifierCV(curves=True), SparseAUCClassifier(2, curves=True)]
)
def test_curves_of_rows_that_are_not_a_table_in_memory_are_refused(model):
    X = FRAME[["straight", "noise"]].to_numpy(np.float64)
    for rows in (ArrayChunks(X), csr_array(X)):
        with pytest.raises(InputError, match="curves need quantiles of whole columns"):
            clone(model).fit(rows, Y)


@pytest.mark.parametrize(
    "model", [MeanDifferenceClassifier(k=2), SHTAUCClassifier(k=2)]
)
def test_others_refuse_text_by_name(model):
    with pytest.raises(InputError, match="'ward' and 1 more could not be converted"):
        model.fit(FRAME.drop(columns="bent"), Y)


def test_a_number_where_the_fit_had_text_and_the_other_way_round():
    model = fit(MODELS["list"], FRAME)
    assert {1, 2} <= set(model.encodings_)
    numbers = FRAME.assign(ward=1.0)
    assert_array_equal(score(model, numbers), score(model, FRAME.assign(ward=None)))
    with pytest.raises(
        InputError, match="'straight' holds text, and was numbers in the fit"
    ):
        score(model, FRAME.assign(straight="high"))
    # Columns that are not on the list are not looked at.
    outside = next(name for j, name in enumerate(FRAME) if j not in model.encodings_)
    assert_array_equal(
        score(model, FRAME.assign(**{outside: None})), score(model, FRAME)
    )


def test_what_is_asked_about_fitted_lists_takes_frames():
    model = fit(MODELS["cv of curves"], FRAME)
    table = column_table(model, FRAME, Y)
    assert set(table["column"]) == set(model.get_feature_names_out())
    assert table["effect"].str.len().min() > 0
    for row in table.to_dict("records"):
        place = FRAME.columns.get_loc(row["column"])
        effect = model.encodings_[place].effect(FRAME.iloc[:, place])
        area = fast_auc(effect, Y == 1)
        assert row["auc"] == pytest.approx(max(area, 1 - area))
        assert abs(row["standardised"]) == pytest.approx(effect.std())
    nested = nested_scores(
        clone(MODELS["list of curves"]), FRAME, Y, cv=3, random_state=0
    )
    assert nested.interval.auc > 0.6
    stable = stability_selection(FRAME, Y, k=3, n_pairs=3, random_state=0)
    assert stable.frequency.shape == (FRAME.shape[1],)


def test_a_line_keeps_what_it_learned():
    model = SparseAUCClassifier(k=1).fit(FRAME[["straight"]], Y)
    (line,) = model.encodings_.values()
    values = np.sort(FRAME["straight"])
    assert line == Line(values[N // 2 - 1], values[0], values[-1], "number", line.coef)


@pytest.mark.parametrize("name", ["cv of curves", "list with a curve", "times cv"])
def test_exchanges_of_units_are_those_of_every_list_solved_anew(name):
    model = fit(MODELS[name], FRAME)
    y = TIMES if name == "times cv" else Y
    fitted = FittedList.from_model(model, FRAME, y)
    before, after = fitted.exchanges(fitted.support)
    assert before == pytest.approx(fitted.solution(fitted.support).objective)
    for place, column in enumerate(fitted.support):
        rest = fitted.support[fitted.support != column]
        for j in range(FRAME.shape[1]):
            if j in fitted.support:
                assert after[place, j] == np.inf
            else:
                expected = fitted.solution(np.sort(np.append(rest, j))).objective
                assert after[place, j] == pytest.approx(expected)
    table = replacements(model, FRAME, y, n_best=2)
    assert set(table["column"]) <= set(model.get_feature_names_out())
    assert not set(table["replacement"]) & set(model.get_feature_names_out())
    assert (table["objective_change"] > -1e-12).all()
    near = near_equal_lists(model, FRAME, y, within=0.5)
    assert len(near.lists) > 1
    assert {len(one) for one in near.lists} == {len(model.encodings_)}
    assert set(near.lists[0]) == set(model.get_feature_names_out())


def test_costs_in_the_table_are_of_columns():
    limits = Limits(costs={name: 1.0 + j for j, name in enumerate(FRAME.columns)})
    model = SparseAUCClassifierCV(ks=[3], alphas=[1.0], curves=True, limits=limits).fit(
        FRAME, Y
    )
    table = column_table(model, FRAME, Y).set_index("column")
    for name, cost in table["cost"].items():
        assert cost == 1.0 + FRAME.columns.get_loc(name)
    assert model.cost_ == table["cost"].sum()


@pytest.mark.parametrize(
    "model", [MeanDifferenceClassifier(k=2), SHTAUCClassifier(k=2, random_state=0)]
)
def test_others_score_frames_as_arrays(model):
    frame = FRAME[["straight", "noise"]].assign(more=1.0 - FRAME["noise"])
    X = frame.to_numpy()
    of_frame = clone(model).fit(frame, Y).decision_function(frame)
    assert_allclose(of_frame, clone(model).fit(X, Y).decision_function(X))
