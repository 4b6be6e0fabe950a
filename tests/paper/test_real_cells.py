import numpy as np
import pytest
from sklearn.datasets import make_classification
from tiny import TINY

from sparseauc_paper import real
from sparseauc_paper.methods import METHODS
from sparseauc_paper.protocols import CORRECTED, PUBLISHED, one_switch_on
from sparseauc_paper.real import real_cell, splits


@pytest.fixture(autouse=True)
def _genes(monkeypatch):
    """A table of colon's height, so that the tests need no file."""
    X, y = make_classification(62, 40, n_informative=5, weights=[22 / 62], flip_y=0, random_state=0)
    assert y.sum() == 40
    X[:, 7] = 1.0  # a gene that never varies
    markers = {"corrected": np.array([1, 2, 3]), "published": np.array([2, 3])}
    monkeypatch.setattr(real, "genes", lambda dataset: (X + 3, y > 0, markers))


def cell(method, protocol, **changes):
    settings = {"dataset": "colon", "trial": 0, "fold": 2, "seed": 0} | changes
    return real_cell(TINY, protocol, method, **settings)


@pytest.mark.parametrize("method", [key for key in METHODS if key != "spam-l1l2"])
@pytest.mark.parametrize("protocol", [CORRECTED, PUBLISHED], ids=["corrected", "published"])
def test_every_method_under_both_protocols(method, protocol):
    result = cell(method, protocol).compute()
    limited = "k" in TINY.real_grid(method, "colon")
    assert list(result["by_k"]) == (
        [f"{k:g}" for k in TINY.real_grid(method, "colon")["k"]] if limited else [""]
    )
    for k, at_k in result["by_k"].items():
        assert 0 <= at_k["auc"] <= 1
        assert at_k["markers"]["published"] <= at_k["markers"]["corrected"] <= 3
        if limited:
            assert at_k["point"]["k"] == float(k)
        if limited and METHODS[method].in_paper:
            assert at_k["columns"] == int(k) - protocol.one_fewer
    scores = [at_k["validation_auc"] for at_k in result["by_k"].values()]
    if None not in scores:
        assert result["by_k"][result["best"]]["validation_auc"] == max(scores)
    assert result == cell(method, protocol).compute()


def positives():
    return np.arange(62) < 40


def test_corrected_splits_never_show_a_test_row_while_tuning():
    tests = []
    for fold in range(5):
        split, inner = splits(CORRECTED, positives(), (0, "colon", 0), fold)
        tests.append(split.test)
        assert len(inner) == 5
        assert positives()[split.test].sum() == 8
        for part in inner:
            assert not set(split.test) & (set(part.train) | set(part.test))
            assert not set(part.train) & set(part.test)
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(62))


@pytest.mark.parametrize("trial", range(4))
def test_hold_out_of_fifty(trial):
    protocol = one_switch_on("hold_out_fifty")
    judged = []
    for fold in range(5):
        split, (inner,) = splits(protocol, positives(), (0, "colon", trial), fold)
        assert split.train.size == 50
        assert split.test.size == 12
        assert positives()[split.train].sum() in (32, 33)
        assert set(inner.train) | set(inner.test) == set(split.train)
        assert (~positives()[inner.test]).sum() >= 3
        judged.append(inner.test)
    np.testing.assert_array_equal(np.sort(np.concatenate(judged)), np.sort(split.train))


def test_permuting_twice_lets_tuning_see_test_rows():
    shared, sizes = [], []
    for trial in range(10):
        once, _ = splits(one_switch_on("hold_out_fifty"), positives(), (0, "colon", trial), 0)
        twice, (inner,) = splits(
            one_switch_on("permute_twice"), positives(), (0, "colon", trial), 0
        )
        assert not set(twice.train) & set(twice.test)
        # The folds are those of the split before the second permutation.
        assert set(inner.train) | set(inner.test) == set(once.train)
        shared.append(len(set(twice.test) & (set(inner.train) | set(inner.test))))
        sizes.append(int(positives()[twice.train].sum()))
    assert np.mean(shared) > 5
    assert len(set(sizes)) > 2  # the check of the classes does not hold for the final split


def test_untuned_batches_hold_all_rows():
    point = cell("hsg-ht", PUBLISHED).compute()["by_k"]["3"]["point"]
    assert point["tau"] == 1000
    assert cell("hsg-ht", CORRECTED).settings["grid"]["tau"] == [1, 1000]


def test_real_tables(data_folder):
    """The loaders' tables go through a cell as they are."""
    for dataset in ("colon", "leukemia"):
        result = real_cell(TINY, PUBLISHED, "sht-auc", dataset=dataset, trial=0, fold=0, seed=0)
        assert result.kind == "real"
        assert 0 <= result.compute()["by_k"]["3"]["auc"] <= 1
