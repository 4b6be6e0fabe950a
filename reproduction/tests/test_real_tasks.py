import numpy as np
import pytest
from sklearn.datasets import make_classification

from sparseauc_paper import real
from sparseauc_paper.gene_tables import Genes
from sparseauc_paper.methods import METHODS, families
from sparseauc_paper.protocols import CORRECTED, PUBLISHED, one_switch_on
from sparseauc_paper.real import real_task, splits
from sparseauc_paper.training import Training
from tiny import TINY


@pytest.fixture(autouse=True)
def _genes(monkeypatch):
    """A table of colon's height, so that the tests need no file."""
    X, y = make_classification(
        62, 40, n_informative=5, weights=[22 / 62], flip_y=0, random_state=0
    )
    assert y.sum() == 40
    X[:, 7] = 1.0  # a gene that never varies
    markers = {"corrected": np.array([1, 2, 3]), "published": np.array([2, 3])}
    monkeypatch.setattr(
        real, "genes", lambda dataset: Genes(X + 3, y > 0, markers, "made")
    )


def task(method, protocol, **changes):
    settings = {"dataset": "colon", "trial": 0, "fold": 2, "seed": 0} | changes
    return real_task(TINY, protocol, method, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "protocol", [CORRECTED, PUBLISHED], ids=["corrected", "published"]
)
def test_every_method_under_both_protocols(method, protocol):
    result = task(method, protocol).compute()
    limited = "k" in TINY.real_grid(method, "colon", protocol)
    assert list(result["by_k"]) == (
        [f"{k:g}" for k in TINY.real_grid(method, "colon", protocol)["k"]]
        if limited
        else [""]
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
    assert result == task(method, protocol).compute()


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
        once, _ = splits(
            one_switch_on("hold_out_fifty"), positives(), (0, "colon", trial), 0
        )
        twice, (inner,) = splits(
            one_switch_on("permute_twice"), positives(), (0, "colon", trial), 0
        )
        assert not set(twice.train) & set(twice.test)
        # The folds are those of the split before the second permutation.
        assert set(inner.train) | set(inner.test) == set(once.train)
        shared.append(len(set(twice.test) & (set(inner.train) | set(inner.test))))
        sizes.append(int(positives()[twice.train].sum()))
    assert np.mean(shared) > 5
    assert (
        len(set(sizes)) > 2
    )  # the check of the classes does not hold for the final split


def test_untuned_batches_hold_all_rows():
    point = task("hsg-ht", PUBLISHED).compute()["by_k"]["3"]["point"]
    assert point["tau"] == 1000
    assert task("hsg-ht", CORRECTED).settings["grid"]["tau"] == [1, 1000]


def test_the_data_are_part_of_the_key(monkeypatch):
    before = task("sht-auc", CORRECTED)
    other = real.genes("colon")._replace(fingerprint="other")
    monkeypatch.setattr(real, "genes", lambda dataset: other)
    assert task("sht-auc", CORRECTED).key != before.key
    with pytest.raises(ValueError, match="the colon data here are other, not made"):
        before.compute()


def test_ranges_of_the_paper():
    switch = one_switch_on("paper_gene_ranges")
    grid = task("fsauc", switch).settings["grid"]
    assert (grid["radius"][0], grid["radius"][-1]) == (1e-5, 1e4)
    assert task("spam-l1", switch).settings["grid"]["l1"][0] == pytest.approx(1e-5)


def test_batch_sizes_of_the_same_number_of_blocks_are_fitted_once():
    X, positive, _, _ = real.genes("colon")
    training = Training(X[:40], positive[:40], PUBLISHED, 2, ("test",), 40, True)
    grid = [{"k": 3, "batch_size": b} for b in range(1, 40)]
    assert len(families(training, grid)) == len({40 // b for b in range(1, 40)}) == 11
    W = METHODS["sht-auc"].solve(training, grid)
    assert np.ptp(W[:, 20:], axis=1).max() == 0


def test_real_tables(data_folder, monkeypatch):
    """The loaders' tables go through a task as they are."""
    monkeypatch.undo()
    for dataset in ("colon", "leukemia"):
        result = real_task(
            TINY, PUBLISHED, "sht-auc", dataset=dataset, trial=0, fold=0, seed=0
        )
        assert result.kind == "real"
        assert 0 <= result.compute()["by_k"]["3"]["auc"] <= 1
