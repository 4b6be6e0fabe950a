from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, jaccard_score, roc_auc_score
from sklearn.preprocessing import normalize, scale

from fits import run_algorithm
from sparseauc_paper import synthetic
from sparseauc_paper.methods import METHODS
from sparseauc_paper.objective import AUCObjective
from sparseauc_paper.presets import points
from sparseauc_paper.projections import hard_threshold
from sparseauc_paper.protocols import CORRECTED, PUBLISHED, Protocol, one_switch_on
from sparseauc_paper.seeds import generator
from sparseauc_paper.synthetic import (
    inner_splits,
    outbreak,
    outer_split,
    scaled,
    support_f1,
    support_jaccard,
    synthetic_task,
)
from sparseauc_paper.training import Training
from tiny import TINY

DRAW = (0, 3, 0.2, 0, 200, 30)


def task(method, protocol, **changes):
    settings = {"k": 3, "ratio": 0.2, "trial": 0, "fold": 1, "seed": 0} | changes
    return synthetic_task(TINY, protocol, method, **settings)


def naive_published_sht_auc(settings):
    """The published tuning and test of SHT-AUC, written out, one fit at a time."""
    data = outbreak(*DRAW)
    X, y = normalize(scale(data.X)), data.y > 0
    order = generator("independent split", *DRAW, settings["fold"]).permutation(200)
    test = order[40 * settings["fold"] : 40 * (settings["fold"] + 1)]
    train = np.array([row for row in order if row not in set(test)])
    grid = [(k, m) for k in settings["grid"]["k"] for m in settings["grid"]["blocks"]]

    def draws(number, m):
        return generator(
            "fit", *DRAW, settings["fold"], "sht-auc", number, {"blocks": m}
        )

    totals = {}
    for place, (k, m) in enumerate(grid):
        total = 0.0
        for fold in range(5):
            validation = train[32 * fold : 32 * (fold + 1)]
            part = np.array([row for row in train if row not in set(validation)])
            objective = AUCObjective(X[part], y[part])
            r, w, rng = y[part].mean(), np.zeros(30), draws(fold, m)
            for _ in range(settings["epochs"]):
                for i in rng.integers(0, m, size=m):
                    rows = np.arange(i * 128 // m, (i + 1) * 128 // m)
                    w = (w - r * (1 - r) * objective.block_gradient(w, rows, m)) / 1.1
                    w[np.argsort(np.abs(w))[: 30 - (k - 1)]] = 0
            total += roc_auc_score(y[validation], X[validation] @ w)
        totals[place] = total / 5
    best = max(totals, key=totals.get)
    k, m = grid[best]
    r = y[train].mean()
    w = run_algorithm(
        X[train],
        y[train],
        k - 1,
        batch_size=160 // (160 // (128 // m)),
        step_size=r * (1 - r),
        n_epochs=settings["epochs"],
        shuffle=False,
        rng=draws(5, m),
    )
    return {
        "auc": roc_auc_score(y[test], X[test] @ w),
        "f1": support_f1(np.flatnonzero(w), data.support),
        "validation_auc": totals[best],
        "chosen": {"k": k, "blocks": m},
    }


@pytest.mark.parametrize("fold", [0, 3])
def test_published_task_equals_the_naive_program(fold):
    settings = task("sht-auc", PUBLISHED, fold=fold).settings
    result = synthetic.compute(settings)
    expected = naive_published_sht_auc(settings)
    assert result["chosen"] == expected["chosen"]
    for name in ("auc", "f1", "validation_auc"):
        assert result[name] == pytest.approx(expected[name], abs=1e-12), name


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "protocol", [CORRECTED, PUBLISHED], ids=["corrected", "published"]
)
def test_every_method_under_both_protocols(method, protocol):
    result = task(method, protocol).compute()
    for kind in ("cut", "tuned", "told"):
        assert 0 <= result[f"auc_{kind}"] <= 1
    for end in ("", "_tuned", "_told"):
        assert 0 <= result[f"f1{end}"] <= 1
        assert result[f"jaccard{end}"] == pytest.approx(
            result[f"f1{end}"] / (2 - result[f"f1{end}"])
        )
    assert result["columns_told"] <= 3
    if not METHODS[method].truncated:
        assert result["auc"] == result["auc_cut"] == result["auc_tuned"]
        assert result["f1"] == result["f1_tuned"]


def validated(settings):
    """Validation rows, their labels and coefficients of every grid point, split by split."""
    protocol, method = Protocol(**settings["switches"]), METHODS[settings["method"]]
    draw = tuple(settings[name] for name in ("seed", "k", "ratio", "trial", "n", "d"))
    data = outbreak(*draw)
    positive, fold = data.y > 0, settings["fold"]
    split = outer_split(protocol, positive, draw, fold)
    parts = [*inner_splits(protocol, positive, split.train, (*draw, fold)), split]
    for number, part in enumerate(parts):
        X = scaled(protocol, data, part.train)
        training = Training(
            np.ascontiguousarray(X[part.train]),
            positive[part.train],
            protocol,
            settings["epochs"],
            ("fit", *draw, fold, method.key, number),
            parts[0].train.size,
            tuning=number < 5,
        )
        grid = points(settings["grid"])
        yield (
            X[part.test],
            positive[part.test],
            method.solve(training, grid),
            data.support,
        )


def test_number_of_columns_of_a_dense_answer_is_tuned_or_given():
    """Every point and every k tried one by one; k is 3, or one of those of SHT-AUC."""
    settings = task("spam-l1", CORRECTED).settings
    *tuning, final = validated(settings)
    X, judged, W, support = final
    result = synthetic.compute(settings)
    for name, ks in (("tuned", settings["limits"]), ("told", [3])):
        best = max(
            ((place, k) for place in range(W.shape[1]) for k in ks),
            key=lambda at: np.mean(
                [
                    roc_auc_score(y, V @ hard_threshold(C[:, at[0]], at[1]))
                    for V, y, C, _ in tuning
                ]
            ),
        )
        coef = hard_threshold(W[:, best[0]], best[1])
        assert result[f"columns_{name}"] == best[1]
        assert result[f"auc_{name}"] == pytest.approx(roc_auc_score(judged, X @ coef))
        chosen = np.flatnonzero(coef)
        assert result[f"f1_{name}"] == support_f1(chosen, support)


def test_methods_with_a_limit_are_given_k_too():
    """k* = 3 is not in the grid of k: it is fitted besides, and tuned over the blocks alone."""
    settings = task("sht-auc", CORRECTED).settings
    assert 3 not in settings["grid"]["k"]
    given = {**settings, "grid": {**settings["grid"], "k": [3]}}
    expected, result = synthetic.compute(given), synthetic.compute(settings)
    for name in ("f1", "jaccard", "auc"):
        assert result[f"{name}_told"] == expected[name]
    assert result["columns_told"] == 3


def test_columns_of_dense_answers_do_not_depend_on_their_scale(monkeypatch):
    """All coefficients below the cut: nothing is left, but the largest are still the largest."""
    method = METHODS["spam-l2"]
    whole = task("spam-l2", CORRECTED).compute()
    tiny = replace(
        method, solve=lambda training, grid: 1e-9 * method.solve(training, grid)
    )
    monkeypatch.setitem(METHODS, "spam-l2", tiny)
    small = task("spam-l2", CORRECTED).compute()
    assert (small["columns"], small["f1"]) == (0, 0.0)
    for name in ("f1_tuned", "f1_told", "jaccard_told"):
        assert small[name] == whole[name]
    assert small["auc"] == whole["auc"]
    assert small["auc_cut"] == 0.5


def test_steps_of_the_paper():
    plain, text = (
        task("spam-l1", CORRECTED),
        task("spam-l1", one_switch_on("paper_spam_steps")),
    )
    assert plain.settings["grid"]["xi"] == [0.1, 10.0]
    assert text.settings["grid"]["xi"] == [1.0]


def test_our_estimator_gets_the_table_as_it_is(monkeypatch):
    seen = []
    method = METHODS["sparse-auc"]

    def fit(training, grid):
        seen.append(training.X)
        return method.solve(training, grid)

    monkeypatch.setitem(METHODS, "sparse-auc", replace(method, solve=fit))
    task("sparse-auc", CORRECTED).compute()
    data = outbreak(*DRAW)
    (X,) = seen
    np.testing.assert_array_equal(
        X, data.X[outer_split(CORRECTED, data.y > 0, DRAW, 1).train]
    )


def test_corrected_test_parts_are_a_stratified_partition():
    positive = outbreak(*DRAW).y > 0
    parts = [outer_split(CORRECTED, positive, DRAW, fold) for fold in range(5)]
    np.testing.assert_array_equal(
        np.sort(np.concatenate([p.test for p in parts])), np.arange(200)
    )
    assert {int(positive[p.test].sum()) for p in parts} == {8}
    for part in parts:
        assert not set(part.train) & set(part.test)
        inner = inner_splits(CORRECTED, positive, part.train, (0,))
        for split in inner:
            assert not set(split.train) & set(split.test)
            assert not (set(split.train) | set(split.test)) & set(part.test)
            assert positive[split.test].sum() in (6, 7)
        judged = np.concatenate([split.test for split in inner])
        np.testing.assert_array_equal(np.sort(judged), np.sort(part.train))


def test_published_test_parts_are_neither():
    positive = outbreak(*DRAW).y > 0
    parts = [outer_split(PUBLISHED, positive, DRAW, fold) for fold in range(5)]
    assert all(p.test.size == 40 and not set(p.train) & set(p.test) for p in parts)
    assert np.unique(np.concatenate([p.test for p in parts])).size < 200
    assert len({int(positive[p.test].sum()) for p in parts}) > 1
    inner = inner_splits(PUBLISHED, positive, parts[0].train, (0,))
    np.testing.assert_array_equal(
        np.concatenate([s.test for s in inner]), parts[0].train
    )
    assert len({int(positive[s.test].sum()) for s in inner}) > 1


def test_scaling_learns_from_training_rows_alone():
    data = outbreak(*DRAW)
    train = outer_split(CORRECTED, data.y > 0, DRAW, 0).train
    X = scaled(CORRECTED, data, train)
    expected = (data.X - data.X[train].mean(0)) / data.X[train].std(0)
    np.testing.assert_allclose(X, normalize(expected))
    leaky = scaled(one_switch_on("scale_with_test_rows"), data, train)
    np.testing.assert_allclose(leaky, normalize(scale(data.X)))
    raw = scaled(one_switch_on("no_scaling"), data, train)
    np.testing.assert_allclose(raw, normalize(data.X))


def test_all_methods_and_protocols_see_the_same_draw():
    one, other = (
        task("sht-auc", p).compute()["bayes_auc"] for p in (CORRECTED, PUBLISHED)
    )
    assert one == other
    assert outbreak(*DRAW).support.size == 3
    assert not np.array_equal(outbreak(*DRAW).X, outbreak(1, *DRAW[1:]).X)


def test_a_task_is_determined_by_its_settings():
    base = task("sht-auc", CORRECTED)
    assert base.key == task("sht-auc", CORRECTED).key
    for changed in (
        task("sto-iht", CORRECTED),
        task("sht-auc", PUBLISHED),
        task("sht-auc", CORRECTED, fold=0),
        task("sht-auc", CORRECTED, seed=1),
        task("sht-auc", CORRECTED, trial=1),
        task("sht-auc", CORRECTED, ratio=0.5),
        task("sht-auc", CORRECTED, k=6),
    ):
        assert changed.key != base.key
    assert base.key == task("sht-auc", one_switch_on("truncate_before_auc")).key
    assert base.key == task("sht-auc", one_switch_on("last_iterate")).key
    assert base.key != task("sht-auc", one_switch_on("one_fewer")).key
    assert (
        '"version"' not in base.description
    )  # results outlive a version of the library
    assert '"revision"' in base.description


def test_random_signs_change_nothing_but_the_direction_of_columns():
    plain, signed = outbreak(*DRAW), outbreak(*DRAW, random_signs=True)
    signs = signed.X[0] / plain.X[0]
    assert set(signs.tolist()) == {-1.0, 1.0}
    np.testing.assert_array_equal(signed.X, plain.X * signs)
    np.testing.assert_array_equal(signed.coef, plain.coef * signs)
    np.testing.assert_array_equal(signed.support, plain.support)


@pytest.mark.parametrize(
    "protocol", [CORRECTED, PUBLISHED], ids=["corrected", "published"]
)
@pytest.mark.parametrize(
    "method", [m.key for m in METHODS.values() if m.key != "sparse-auc"]
)
def test_signs_of_columns_matter_to_solam_alone(method, protocol):
    """All others start at 0: so one arm of the simulation does for them, and SOLAM has two."""
    results = []
    for one_sided in (True, False):
        settings = dict(task(method, protocol).settings)
        settings["switches"] = {**settings["switches"], "one_sided_shifts": one_sided}
        result = synthetic.compute(settings)
        results.append({name: result[name] for name in result if name != "seconds"})
    if method == "solam":
        assert results[0]["validation_auc"] != results[1]["validation_auc"]
    else:
        assert results[0] == results[1]


def test_solam_alone_has_a_task_for_either_sign():
    for method in ("sht-auc", "solam"):
        named = "one_sided_shifts" in task(method, CORRECTED).settings["switches"]
        assert named == (method == "solam")
    assert PUBLISHED.one_sided_shifts
    assert not CORRECTED.one_sided_shifts


def test_f1_and_jaccard_are_scikit_learns():
    rng = np.random.default_rng(0)
    for _ in range(50):
        selected, relevant = rng.random((2, 30)) < rng.random()
        relevant[3] = True
        columns = np.flatnonzero(selected), np.flatnonzero(relevant)
        assert support_f1(*columns) == pytest.approx(f1_score(relevant, selected))
        assert support_jaccard(*columns) == pytest.approx(
            jaccard_score(relevant, selected)
        )
