"""Data frames of pandas and polars are read alike."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sparseauc.columns.reading import read_table
from sparseauc.errors import InputError

CONTENT = {
    "number": [1.5, None, 3.0],
    "whole": [1, 2, None],
    "text": ["x", " y ", None],
    "true": [True, None, False],
}
LEVELS = pd.Categorical(["q", None, "r"])
FRAMES = {
    "pandas": pd.DataFrame({**CONTENT, "level": LEVELS}),
    "pandas with types of its own": pd.DataFrame(
        {**CONTENT, "level": LEVELS}
    ).convert_dtypes(),
    "polars": pl.DataFrame(CONTENT).with_columns(
        level=pl.Series(["q", None, "r"], dtype=pl.Categorical)
    ),
}
EXPECTED = np.array(
    [[1.5, 1, 0, 1, 0], [np.nan, 2, 1, np.nan, np.nan], [3, np.nan, np.nan, 0, 1]]
)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
def test_frames_are_read_alike(frame):
    found = read_table(frame)
    np.testing.assert_array_equal(found.values, EXPECTED)
    assert found.levels == {2: ("x", "y"), 4: ("q", "r")}
    assert found.booleans == {3}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
def test_columns_are_read_by_the_levels_of_the_fit(frame):
    found = read_table(frame, {2: ("y",), 4: ("q", "r")})
    assert found.values[1, 2] == 0.0
    assert np.isnan(found.values[[0, 2], 2]).all()
    with pytest.raises(
        InputError, match="'text' holds text, and was numbers in the fit"
    ):
        read_table(frame, {4: ("q", "r")})


def test_other_columns_are_not_looked_at():
    found = read_table(FRAMES["pandas"], {}, only=[1, 3])
    assert np.isnan(found.values[:, [0, 2, 4]]).all()
    np.testing.assert_array_equal(found.values[:, [1, 3]], EXPECTED[:, [1, 3]])


def test_taking_rows_takes_the_levels_that_these_have():
    found = read_table(FRAMES["pandas"])[np.array([1, 2])]
    assert found.levels == {2: ("y",), 4: ("r",)}
    np.testing.assert_array_equal(found.values[:, 2], [0.0, np.nan])


def test_single_precision_stays():
    assert (
        read_table(pd.DataFrame({"a": [1.0], "b": ["x"]}, dtype=None)).values.dtype
        == np.float64
    )
    narrow = pd.DataFrame({"a": np.zeros(3, np.float32), "b": ["x", "y", "x"]})
    assert read_table(narrow).values.dtype == np.float32


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}),
        pd.DataFrame({"when": [[1, 2]]}),
        pl.DataFrame({"when": [[1, 2]]}),
        pd.DataFrame({"when": [1j]}),
    ],
)
def test_what_is_neither_number_nor_text_is_refused_by_name(frame):
    with pytest.raises(InputError, match="'when' holds"):
        read_table(frame)


def test_texts_that_differ_in_every_row_are_refused_by_name():
    with pytest.raises(InputError, match="'name' has 30 different texts in 30 rows"):
        read_table(pd.DataFrame({"name": [f"patient {i}" for i in range(30)]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_categories_may_be_many(make):
    texts = [f"site {i}" for i in range(30)]
    kinds = (
        pd.Categorical(texts)
        if make is pd.DataFrame
        else pl.Series(texts, dtype=pl.Categorical)
    )
    assert read_table(make({"site": kinds})).levels == {0: tuple(sorted(texts))}
