"""Missing values are replaced by the middle of values as they are clipped and logged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from typer.testing import CliRunner

from sparseauc.transforms import learn_transforms
from sparseauc_app.cli import app
from sparseauc_app.imputing import Imputer

CENTRES = {"mean": np.mean, "median": np.median}


def naive(values, strategy, clip, log):
    """The middle of one column's values, each clipped, logged and then back in its units."""
    known = np.sort(values[~np.isnan(values)])
    if known.size == 0:
        return 0.0
    share = 0.05 if clip == "auto" else clip
    (how,) = learn_transforms(
        known[:, None], [None], clip=share, heavy_only=clip == "auto", log=bool(log)
    )
    (low, high), offset = how.limits[:, 0], how.offsets[0]
    clipped = np.minimum(np.maximum(known, low), high)
    if np.isnan(offset):
        return CENTRES[strategy](clipped)
    return np.exp(CENTRES[strategy](np.log(clipped + offset))) - offset


@given(
    seed=st.integers(0, 2**32 - 1),
    strategy=st.sampled_from(["mean", "median"]),
    clip=st.sampled_from(["auto", 0.05, 0.2, None]),
    log=st.sampled_from(["auto", True, False]),
)
def test_the_middle_is_that_of_clipped_logged_values(seed, strategy, clip, log):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 60))
    X = np.column_stack([
        rng.normal(size=n),
        np.exp(2 * rng.normal(size=n)).round(1),
        rng.standard_t(1, n) * 1e5,
        rng.random(n) < 0.05,
        rng.integers(0, 4, n),
        np.full(n, np.nan),
    ])  # fmt: skip
    X[rng.random(X.shape) < 0.2] = np.nan
    imputer = clone(Imputer(strategy=strategy, clip=clip, log=log)).fit(X)
    expected = [naive(column, strategy, clip, log) for column in X.T]
    np.testing.assert_allclose(imputer.statistics_, expected, rtol=1e-10, atol=1e-10)
    filled = imputer.transform(X)
    np.testing.assert_array_equal(filled, np.where(np.isnan(X), imputer.statistics_, X))


def test_without_transforms_it_is_scikit_learns():
    X = np.array([[1.0, np.nan], [5.0, 2.0], [np.nan, 1000.0], [6.0, 3.0]])
    for strategy in CENTRES:
        plain = SimpleImputer(strategy=strategy, keep_empty_features=True).fit(X)
        np.testing.assert_array_equal(Imputer(strategy=strategy).fit(X).statistics_,
                                      plain.statistics_)  # fmt: skip


@pytest.mark.parametrize("kind", ["clipped", "logged"])
def test_wrong_values_do_not_decide_what_missing_ones_count_as(kind, tmp_path):
    rng = np.random.default_rng(3)
    n = 400
    y = rng.random(n) < 0.4
    if kind == "clipped":  # a few values are a thousand times too large
        x = np.where(rng.random(n) < 0.03, 1000 * rng.random(n), rng.normal(size=n)) + y
    else:
        x = np.exp(1.2 * rng.normal(size=n) + y)
    x = x.round(4)
    gaps = rng.random(n) < 0.1
    rows = zip(x, gaps, rng.normal(size=n), y, strict=True)
    lines = [f"{'' if gap else one},{b:.3f},{int(label)}" for one, gap, b, label in rows]
    (tmp_path / "t.csv").write_text("\n".join(["x,b,y", *lines]))
    how = ["--transform", "clip=auto" if kind == "clipped" else "clip=none",
           "--transform", "log=always" if kind == "logged" else "log=none"]  # fmt: skip
    run = CliRunner().invoke(app, [
        "fit", str(tmp_path / "t.csv"), "-t", "y", "--quick", "-k", "1", "--missing", "mean", *how,
        "--out", str(tmp_path / "m.json"),
    ])  # fmt: skip
    assert run.exit_code == 0, run.output
    (term,) = json.loads((tmp_path / "m.json").read_text())["terms"]
    assert (term["high"] is not None) == (kind == "clipped")
    assert (term["log"] is not None) == (kind == "logged")
    known = x[~gaps]
    if kind == "clipped":
        expected = naive(known, "mean", "auto", False)
        assert expected < 1 < known.mean()
    else:
        expected = np.mean(np.log(known))
    assert term["fill"] == pytest.approx(expected, rel=1e-6)
