"""Lists within strata: brute force over all lists, every home of the rows, and the folds."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_validate,
)

from sparseauc import (
    ClassMoments,
    Limits,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    class_moments,
    sparse_auc_path,
)
from sparseauc.chunks import chunks_in_memory, open_table
from sparseauc.outcome import Binary
from sparseauc.selection import near_equal_lists, point_score, replacements
from sparseauc.selection.confidence import nested_scores
from sparseauc.selection.stability import stability_selection


def pairs_within(X, positive, strata, weight=None, weighting="pairs"):
    """Differences x_i − x_j of all pairs of one stratum, and what each pair counts, 1 in all."""
    weight = np.ones(len(X)) if weight is None else weight
    differences, counts = [], []
    for stratum in np.unique(strata):
        rows = np.flatnonzero((strata == stratum) & (weight > 0))
        ones, others = rows[positive[rows]], rows[~positive[rows]]
        if ones.size and others.size:
            differences.append(
                (X[ones][:, None] - X[others][None]).reshape(-1, X.shape[1])
            )
            count = np.outer(weight[ones], weight[others]).ravel()
            counts.append(count / (count.sum() if weighting == "equal" else 1.0))
    counts = np.concatenate(counts)
    return np.concatenate(differences), counts / counts.sum()


def within_deviations(X, positive, strata, weight, weighting):
    """Deviations within strata: those of both classes, and what lies between them."""
    weight = np.ones(len(X)) if weight is None else weight
    shares, spreads, totals = [], [], np.zeros(2)
    for stratum in np.unique(strata):
        members = (strata == stratum) & (weight > 0)
        sides = [
            np.flatnonzero(members & positive),
            np.flatnonzero(members & ~positive),
        ]
        if min(side.size for side in sides):
            weights = [weight[side].sum() for side in sides]
            totals += weights
            shares.append(weights[0] * weights[1] if weighting == "pairs" else 1.0)
            means = [
                np.average(X[side], axis=0, weights=weight[side]) for side in sides
            ]
            spreads.append(
                [np.average((X[side] - mean) ** 2, axis=0, weights=weight[side])
                 for side, mean in zip(sides, means, strict=True)]
                + [(means[1] - means[0]) ** 2]
            )  # fmt: skip
    first, second, between = np.average(spreads, axis=0, weights=shares)
    r = totals[0] / totals.sum()
    return np.sqrt(r * first + (1 - r) * second + r * (1 - r) * between)


def best_of_all_lists(X, positive, strata, weight, weighting, k, alpha):
    """Least F(w) + alpha‖w‖² over all lists of k columns, columns divided by their deviations."""
    scale = within_deviations(X, positive, strata, weight, weighting)
    differences, counts = pairs_within(X / scale, positive, strata, weight, weighting)
    least = np.inf
    for columns in combinations(range(X.shape[1]), k):
        D = differences[:, columns]
        A = (D.T * counts) @ D + alpha * np.eye(k)
        b = counts @ D
        w = np.linalg.solve(A, b)
        least = min(least, counts @ (1 - D @ w) ** 2 + alpha * w @ w)
    return least, scale


def random_problem(rng, n=60, d=8, s=4, shift=1.0):
    strata = rng.integers(s, size=n)
    positive = rng.random(n) < rng.uniform(0.2, 0.8, s)[strata]
    for stratum in range(s):  # every stratum has both classes
        rows = np.flatnonzero(strata == stratum)[:2]
        positive[rows] = [True, False][: rows.size]
    X = rng.normal(size=(n, d)) + positive[:, None] * rng.normal(size=d) * 0.7
    X += X @ rng.normal(size=(d, d)) * 0.4 + shift * rng.normal(size=(s, d))[strata]
    return X, positive, strata


@pytest.mark.filterwarnings("ignore:.*one class only")
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4), d=st.integers(4, 10),
       s=st.integers(1, 6), alpha=st.sampled_from([0.01, 0.1, 1.0]),
       weighting=st.sampled_from(["pairs", "equal"]), weighted=st.booleans())  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_brute_force_over_all_lists(seed, k, d, s, alpha, weighting, weighted):
    rng = np.random.default_rng(seed)
    X, positive, strata = random_problem(rng, d=d, s=s)
    weight = rng.integers(1, 4, len(X)) * 1.0 if weighted else None
    least, scale = best_of_all_lists(X, positive, strata, weight, weighting, k, alpha)
    model = SparseAUCClassifier(k, alpha)
    model.fit(X, positive, weight, strata=strata, stratum_weights=weighting)
    model.certify(X, positive, weight, strata, time_limit=0.2)
    assert_allclose(model.scale_, scale, rtol=1e-9)
    assert np.count_nonzero(model.coef_) <= k
    w = model.coef_[0]
    differences, counts = pairs_within(X, positive, strata, weight, weighting)
    loss = counts @ (1 - differences @ w) ** 2
    assert model.objective_ == pytest.approx(loss, rel=1e-10)
    objective = loss + alpha * np.sum((w * scale) ** 2)
    assert objective >= least * (1 - 1e-9)
    assert model.lower_bound_ <= least * (1 + 1e-9)


def test_nearly_all_lists_found_without_a_proof_are_the_best():
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        k, d, alpha = (
            rng.integers(2, 5),
            rng.integers(6, 11),
            rng.choice([0.01, 0.1, 1.0]),
        )
        X, positive, strata = random_problem(rng, d=d, s=rng.integers(2, 6))
        least, _ = best_of_all_lists(X, positive, strata, None, "pairs", k, alpha)
        path = sparse_auc_path(X, positive, [k], [alpha], strata=strata)
        assert path.objectives[0, 0] >= least * (1 - 1e-9)
        found.append(path.objectives[0, 0] <= least * (1 + 1e-9))
    assert np.mean(found) >= 0.97


def homes(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    yield "columns first", np.asfortranarray(X)
    yield "sparse", sp.csr_array(X)
    yield "chunks", chunks_in_memory(X)
    yield "file", open_table(tmp_path / "X.npy", chunk_bytes=2000)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_home_gives_the_same_list(tmp_path, weighted):
    rng = np.random.default_rng(5)
    X, positive, strata = random_problem(rng, n=200, d=12, s=5, shift=3.0)
    names = np.array(list("abcde"))[strata]
    weight = rng.random(200) + 0.5 if weighted else None
    model = SparseAUCClassifier(4, 0.1)
    expected = clone(model).fit(X, positive, weight, strata=names)
    assert_array_equal(
        expected.get_support(),
        clone(model).fit(X, positive, weight, strata=strata).get_support(),
    )
    for name, table in homes(X, tmp_path):
        actual = clone(model).fit(table, positive, weight, strata=names)
        assert_allclose(
            actual.coef_, expected.coef_, rtol=1e-8, atol=1e-12, err_msg=name
        )
        assert_allclose(actual.intercept_, expected.intercept_, rtol=1e-8)
    single = clone(model).fit(X.astype(np.float32), positive, weight, strata=names)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, expected.coef_, rtol=2e-3, atol=1e-5)
    parts = [
        class_moments(X[rows], positive[rows], None if weight is None else weight[rows])
        .summary()
        for rows in (names == name for name in "abcde")
    ]  # fmt: skip
    merged = clone(model).fit_moments(ClassMoments.of_strata(parts))
    assert_allclose(merged.coef_, expected.coef_, rtol=1e-8, atol=1e-12)


def test_columns_too_many_to_gather_at_once_are_read_again(monkeypatch):
    rng = np.random.default_rng(6)
    X, positive, strata = random_problem(rng, n=300, d=30, s=4)
    expected = SparseAUCClassifierCV(
        ks=range(1, 6), coefficients="auc", curves=False
    ).fit(X, positive, strata=strata)
    monkeypatch.setattr("sparseauc.moments.chunked._ALL_BYTES", 0)
    read = SparseAUCClassifierCV(ks=range(1, 6), coefficients="auc", curves=False).fit(
        chunks_in_memory(X), positive, strata=strata
    )
    in_memory = SparseAUCClassifierCV(
        ks=range(1, 6), coefficients="auc", curves=False
    ).fit(X, positive, strata=strata)
    for model in (read, in_memory):
        assert_allclose(
            model.cv_results_["mean_test_score"],
            expected.cv_results_["mean_test_score"],
        )
        assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-12)


def naive_stratified_auc(positive, scores, strata, weight, weighting):
    wins, shares = [], []
    for stratum in np.unique(strata):
        won = count = 0.0
        for i in np.flatnonzero((strata == stratum) & positive):
            for j in np.flatnonzero((strata == stratum) & ~positive):
                won += (
                    weight[i]
                    * weight[j]
                    * (0.5 * (scores[i] == scores[j]) + (scores[i] > scores[j]))
                )
                count += weight[i] * weight[j]
        if count > 0:
            wins.append(won / count)
            shares.append(count if weighting == "pairs" else 1.0)
    return np.average(wins, weights=shares)


@pytest.mark.parametrize("weighting", ["pairs", "equal"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("luggage", [2**28, 0])
def test_validation_aucs_are_means_within_strata(
    weighting, weighted, luggage, monkeypatch
):
    rng = np.random.default_rng(7)
    X, positive, strata = random_problem(rng, n=150, d=6, s=4)
    X = X.round(1)
    weight = rng.integers(1, 3, 150) * 1.0 if weighted else np.ones(150)
    splits = list(StratifiedKFold(3).split(X, positive))
    monkeypatch.setattr("sparseauc.chunks.base.Chunks.max_payload_bytes", luggage)
    model = SparseAUCClassifierCV(
        ks=[1, 2, 3], alphas=[0.1], cv=splits, coefficients="auc"
    ).fit(
        X, positive, weight if weighted else None, strata=strata, stratum_weights=weighting
    )  # fmt: skip
    for number, (train, test) in enumerate(splits):
        for at, k in enumerate([1, 2, 3]):
            alone = SparseAUCClassifier(k, 0.1).fit(
                X[train], positive[train], weight[train] if weighted else None,
                strata=strata[train], stratum_weights=weighting,
            )  # fmt: skip
            scores = alone.decision_function(X[test])
            naive = naive_stratified_auc(
                positive[test], scores, strata[test], weight[test], weighting
            )
            assert model.cv_results_[f"split{number}_test_score"][at] == pytest.approx(
                naive, abs=1e-9
            )


def test_default_folds_hold_every_stratum_or_keep_small_ones_whole():
    rng = np.random.default_rng(8)
    sites, positive = rng.integers(4, size=400), rng.random(400) < 0.4
    outcome = Binary(positive).within(sites)
    for train, test in outcome.split(None, sites, None, 0):
        for rows in (train, test):
            assert len(outcome.take(rows).strata) == 4
    sets, positive = np.repeat(np.arange(60), 3), np.tile([True, False, False], 60)
    outcome = Binary(positive).within(sets)
    splits = outcome.split(None, sets, None, 0)
    assert len(splits) == 20
    for train, test in splits:
        assert not set(sets[train]) & set(sets[test])
    assert len(outcome.split(4, sets, None, None)) == 4
    groups = outcome.split(GroupKFold(6), sets, None, None)
    assert all(not set(sets[train]) & set(sets[test]) for train, test in groups)


def test_sites_that_are_left_out_one_by_one():
    rng = np.random.default_rng(9)
    X, positive, sites = random_problem(rng, n=300, d=8, s=5)
    model = SparseAUCClassifierCV(ks=[2, 3], cv=LeaveOneGroupOut()).fit(
        X, positive, strata=sites
    )
    assert model.n_splits_ == 5
    matched, y = np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    first = np.arange(80) % 4 < 2
    apart = SparseAUCClassifierCV(
        cv=[(np.flatnonzero(first), np.flatnonzero(~first)[[0, 3]])]
    )
    with pytest.raises(
        ValueError, match="no stratum has both classes among the validation rows"
    ):
        apart.fit(rng.normal(size=(80, 3)), y, strata=matched)


def test_matched_sets_work():
    rng = np.random.default_rng(10)
    n_sets, d = 150, 40
    sets = np.repeat(np.arange(n_sets), 3)
    y = np.tile([1, 0, 0], n_sets)
    X = rng.normal(size=(3 * n_sets, d)) + 5 * rng.normal(size=(n_sets, d))[sets]
    X[:, :4] += 0.9 * y[:, None]
    model = SparseAUCClassifierCV(ks=range(1, 9)).fit(X, y, strata=sets)
    assert set(range(4)) <= set(np.flatnonzero(model.get_support()))
    pooled = SparseAUCClassifierCV(ks=range(1, 9), coefficients="auc").fit(X, y)
    assert model.best_score_ > pooled.best_score_ + 0.05


def test_within_beats_pooled_on_new_hospitals():
    within, pooled = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y, sites = hospitals(rng)
        new_X, new_y, new_sites = hospitals(rng)
        for found, strata in ((within, sites), (pooled, None)):
            model = SparseAUCClassifier(8, 1.0).fit(X, y, strata=strata)
            scores = model.decision_function(new_X)
            found.append(
                naive_stratified_auc(
                    new_y == 1, scores, new_sites, np.ones(len(new_y)), "pairs"
                )
            )
    assert np.mean(within) > np.mean(pooled) + 0.015


def hospitals(rng, n_sites=6, rows=100):
    """Hospitals that differ in prevalence and in the level of half their columns."""
    prevalence = np.linspace(0.05, 0.6, n_sites)
    X, y, sites = [], [], []
    for site in range(n_sites):
        labels = (rng.random(rows) < prevalence[site]).astype(int)
        labels[:2] = [1, 0]
        table = rng.normal(size=(rows, 60))
        table[:, :8] += 0.5 * labels[:, None]
        table[:, 30:] += rng.normal(size=30)
        X.append(table)
        y.append(labels)
        sites.append(np.full(rows, site))
    return np.concatenate(X), np.concatenate(y), np.concatenate(sites)


def test_strata_are_routed_as_other_metadata():
    rng = np.random.default_rng(11)
    X, positive, sites = random_problem(rng, n=200, d=6, s=4)
    with config_context(enable_metadata_routing=True):
        model = SparseAUCClassifier(2).set_fit_request(strata=True)
        result = cross_validate(
            model, X, positive, params={"strata": sites}, cv=3, scoring="roc_auc",
            return_estimator=True,
        )  # fmt: skip
    train = next(StratifiedKFold(3).split(X, positive))[0]
    expected = SparseAUCClassifier(2).fit(
        X[train], positive[train], strata=sites[train]
    )
    assert_allclose(result["estimator"][0].coef_, expected.coef_)


def test_what_does_not_go_together_is_refused():
    rng = np.random.default_rng(12)
    X, positive, sites = random_problem(rng, n=100, d=4, s=3)
    missing = sites.astype(object)
    missing[[3, 50]] = None
    for model in (SparseAUCClassifier(2), SparseAUCClassifierCV()):
        with pytest.raises(ValueError, match="strata are missing in rows 3, 50"):
            model.fit(X, positive, strata=missing)
    one_class = np.where(positive & (sites == 0), 9, sites)
    with pytest.warns(
        UserWarning, match="2 of 4 strata hold rows of one class only.*: 0, 9"
    ):
        SparseAUCClassifier(2).fit(X, positive, strata=one_class)
    parts = [
        class_moments(X[sites == s], positive[sites == s]).summary() for s in range(3)
    ]
    fitted = SparseAUCClassifier(2).fit_moments(ClassMoments.of_strata(parts))
    assert fitted.n_strata_ == 3
    for model in (SparseAUCClassifier(2), SparseAUCClassifierCV()):
        with pytest.raises(
            ValueError, match="stratum_weights must be 'pairs' or 'equal'"
        ):
            model.fit(X, positive, strata=sites, stratum_weights="rows")
        with pytest.raises(ValueError, match="'equal' has no effect without strata"):
            model.fit(X, positive, stratum_weights="equal")


def test_a_stratum_of_its_own_changes_nothing():
    rng = np.random.default_rng(13)
    X, positive, _ = random_problem(rng, n=120, d=9)
    plain = SparseAUCClassifierCV(ks=range(1, 6), coefficients="auc").fit(X, positive)
    one = SparseAUCClassifierCV(ks=range(1, 6), coefficients="auc").fit(
        X, positive, strata=np.zeros(120)
    )
    assert_allclose(one.coef_, plain.coef_)
    assert_allclose(
        one.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("kind", ["array", "dataframe"])
def test_dask(kind):
    dask_array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(14)
    X, positive, sites = random_problem(rng, n=240, d=7, s=4)
    if kind == "array":
        table, y, strata = (dask_array.from_array(a, chunks=(50, -1)[: a.ndim])
                            for a in (X, positive, sites))  # fmt: skip
    else:
        import dask.dataframe as dd
        import pandas as pd

        frame = pd.DataFrame(X, columns=list("abcdefg")).assign(y=positive, site=sites)
        both = dd.from_pandas(frame, npartitions=4)
        table, y, strata = both[list("abcdefg")], both["y"], both["site"]
    settings = {"ks": [1, 2, 3], "coefficients": "auc"}
    expected = SparseAUCClassifierCV(**settings).fit(X, positive, strata=sites)
    actual = SparseAUCClassifierCV(**settings).fit(table, y, strata=strata)
    assert_allclose(actual.coef_, expected.coef_, rtol=1e-8, atol=1e-12)
    assert actual.best_score_ == pytest.approx(expected.best_score_)


def test_a_column_of_a_file_names_the_strata(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(15)
    X, positive, sites = random_problem(rng, n=240, d=4, s=4)
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    path = tmp_path / "table.parquet"
    names = np.array(["Oslo", "Bergen", "Tromsø", "Bodø"])[sites]
    pq.write_table(pa.table(columns | {"y": positive, "site": names}), path)
    table = open_table(path, target="y", leave_out=["site"])
    actual = SparseAUCClassifier(2).fit(table, strata="site")
    assert_allclose(
        actual.coef_, SparseAUCClassifier(2).fit(X, positive, strata=names).coef_
    )
    with pytest.raises(ValueError, match="'a' is a feature"):
        SparseAUCClassifier(2).fit(table, strata="a")
    with pytest.raises(ValueError, match="no column 'town'"):
        SparseAUCClassifier(2).fit(table, strata="town")
    with pytest.raises(ValueError, match="give strata row by row"):
        SparseAUCClassifier(2).fit(chunks_in_memory(X), positive, strata="site")


def test_questions_about_a_list_within_strata():
    rng = np.random.default_rng(16)
    X, positive, sites = random_problem(rng, n=240, d=8, s=4)
    model = SparseAUCClassifier(3, 0.1).fit(X, positive, strata=sites)
    assert model.n_strata_ == 4
    table = replacements(model, X, positive, n_best=1, strata=sites, cv=3)
    assert len(table) == 3
    # The objective after an exchange is that of a fit to the exchanged columns.
    first = table.iloc[0]
    columns = [j for j in np.flatnonzero(model.get_support()) if j != first["column"]]
    exchanged = SparseAUCClassifier(
        3, 0.1, limits=Limits(always_include=[*columns, int(first["replacement"])])
    ).fit(X, positive, strata=sites)
    ridged = [one.objective_ + 0.1 * np.sum((one.coef_ * one.scale_) ** 2)
              for one in (exchanged, model)]  # fmt: skip
    assert ridged[0] - ridged[1] == pytest.approx(first["objective_change"])
    lists = near_equal_lists(model, X, positive, strata=sites, within=0.2)
    assert lists.complete
    assert lists.objectives[0] == pytest.approx(ridged[1])
    for ask in (replacements, near_equal_lists, point_score):
        with pytest.raises(ValueError, match="give those of the fit"):
            ask(model, X, positive)
    nested = nested_scores(model, X, positive, strata=sites, random_state=0)
    within = [
        naive_stratified_auc(
            positive[nested.folds == fold], nested.scores[nested.folds == fold],
            sites[nested.folds == fold], np.ones(240), "pairs",
        )
        for fold in range(5)
    ]  # fmt: skip
    assert_allclose(nested.fold_aucs, within)
    assert nested.interval.low < nested.interval.auc < nested.interval.high
    half = stability_selection(
        X, positive, 3, alpha=0.1, n_pairs=10, strata=sites, random_state=0
    )
    assert set(np.flatnonzero(half.frequency > 0.5)) <= set(range(8))
    sets, y = np.repeat(np.arange(60), 2), np.tile([0, 1], 60)
    table = rng.normal(size=(120, 5)) + 5 * rng.normal(size=(60, 5))[sets]
    table[:, 0] += 1.5 * y
    matched = stability_selection(table, y, 1, n_pairs=10, strata=sets, random_state=0)
    assert matched.frequency[0] > 0.9


@pytest.mark.parametrize("weighting", ["pairs", "equal"])
def test_logistic_coefficients_have_an_intercept_for_each_stratum(weighting):
    rng = np.random.default_rng(17)
    X, positive, sites = random_problem(rng, n=240, d=5, s=4, shift=4.0)
    weight = rng.uniform(0.5, 2.0, 240)
    model = SparseAUCClassifierCV(
        [3], [0.1], cv=3, coefficients="logistic", curves=False
    ).fit(X, positive, weight, strata=sites, stratum_weights=weighting)
    chosen = np.flatnonzero(model.coef_[0])
    counts = weight / (
        np.bincount(sites, weight)[sites] if weighting == "equal" else 1.0
    )
    counts /= counts.sum()
    scale = np.sqrt(counts @ (X - counts @ X) ** 2)[chosen]
    ridge = model.cv_results_["param_logistic_ridge"][model.best_index_]

    def loss(parameters):
        scores = X[:, chosen] / scale @ parameters[:3] + parameters[3:][sites]
        losses = np.logaddexp(0, scores) - positive * scores
        return counts @ losses + ridge / 2 * np.sum(parameters[:3] ** 2)

    least = minimize(loss, np.zeros(7), tol=1e-12)
    found = model.coef_[0, chosen] / model.platt_["slope"]
    assert_allclose(found * scale, least.x[:3], rtol=1e-3, atol=1e-4)


def all_limits(seed, d):
    """Signs, costs, a budget, families and a column that must be there, by turns."""
    rng = np.random.default_rng(seed)
    limits = {
        "signs": rng.integers(-1, 2, d),
        "costs": rng.integers(1, 6, d),
        "budget": float(rng.integers(5, 12)),
        "families": np.where(rng.random(d) < 0.7, rng.integers(0, 3, d), np.nan),
        "max_per_family": 2,
        "always_include": [int(rng.integers(d))],
    }
    left_out = [
        ("signs",),
        ("families", "max_per_family"),
        ("costs", "budget"),
        ("always_include",),
        (),
    ]
    return {key: limits[key] for key in limits if key not in left_out[seed % 5]}


def least_of_all_lists(X, positive, strata, k, alpha, limits, required):
    """Least objective over all lists that obey, and the coefficients that obey on each."""
    d = X.shape[1]
    scale = within_deviations(X, positive, strata, None, "pairs")
    differences, counts = pairs_within(X / scale, positive, strata)
    H, delta = (
        (differences.T * counts) @ differences + alpha * np.eye(d),
        counts @ differences,
    )
    signs = limits.get("signs", np.zeros(d))
    least = 1.0
    for size in range(1, k + 1):
        for columns in combinations(range(d), size):
            at = list(columns)
            w = np.linalg.solve(H[np.ix_(at, at)], delta[at])
            if required <= set(at) and (signs[at] * w >= 0).all() and obeys(at, limits):
                least = min(least, 1 - delta[at] @ w)
    return least


def obeys(listed, limits):
    if "families" in limits:
        labels = limits["families"][listed]
        counts = np.unique(labels[~np.isnan(labels)], return_counts=True)[1]
        if (counts > limits["max_per_family"]).any():
            return False
    if "costs" in limits:
        return paid_for(listed, limits) <= limits["budget"]
    return True


def paid_for(listed, limits):
    return limits["costs"][listed].sum()


@pytest.mark.filterwarnings("ignore:always_include")
def test_everything_combines():
    """Strata, signs, costs and a budget, families, columns that must be there."""
    best, n_lost = [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d, k, alpha = (
            int(rng.integers(5, 9)),
            int(rng.integers(2, 5)),
            [0.1, 1.0][seed % 2],
        )
        X, positive, strata = random_problem(rng, d=d, s=3)
        limits = all_limits(seed, d)
        model = SparseAUCClassifier(k, alpha, limits=Limits(**limits))
        model.fit(X, positive, strata=strata)
        if seed % 4 == 0:
            model.certify(X, positive, strata=strata)
        chosen, w = np.flatnonzero(model.coef_[0]), model.coef_[0]
        required = {*limits.get("always_include", ())} - set(
            model.not_included_.tolist()
        )
        n_lost += model.not_included_.size
        assert required <= set(chosen.tolist())
        assert chosen.size <= k
        assert obeys(chosen, limits)
        if "costs" in limits:
            assert model.cost_ == paid_for(chosen, limits)
        assert (limits.get("signs", np.zeros(d)) * w >= 0).all()
        least = least_of_all_lists(X, positive, strata, k, alpha, limits, required)
        found = model.objective_ + alpha * np.sum((w * model.scale_) ** 2)
        assert found >= least - 1e-9
        best.append(found <= least + 1e-9)
        if seed % 4 == 0:
            assert model.lower_bound_ <= least + 1e-9
        if seed % 6 == 0:
            in_chunks = clone(model).fit(chunks_in_memory(X), positive, strata=strata)
            assert_allclose(in_chunks.coef_, model.coef_, rtol=1e-7, atol=1e-12)
            parts = [class_moments(X[strata == s], positive[strata == s]).summary()
                     for s in range(3)]  # fmt: skip
            merged = clone(model).fit_moments(ClassMoments.of_strata(parts))
            assert_allclose(merged.coef_, model.coef_, rtol=1e-7, atol=1e-12)
    assert np.mean(best) >= 0.97
    assert n_lost > 3
