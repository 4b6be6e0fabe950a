"""All columns of a table side by side."""

import numpy as np

from sparseauc.columns import Curve, Levels, Line
from sparseauc.columns.reading import ReadColumns
from sparseauc.columns.units import Units

RNG = np.random.default_rng(0)
VALUES = np.column_stack(
    [
        RNG.normal(size=40),
        RNG.gamma(1.0, size=40),
        RNG.integers(0, 3, 40),
        RNG.normal(size=40) > 0,
    ]
).astype(np.float64)
VALUES[5, 1] = np.nan
NAMES = {2: ("a", "b", "c")}
TABLE = ReadColumns(VALUES, NAMES, frozenset())
UNITS = Units.learn(TABLE, curved=np.array([False, True, True, True]))


def test_each_column_has_its_encoding():
    kinds = [type(one) for one in UNITS.encodings]
    assert kinds == [
        Line,
        Curve,
        Levels,
        Line,
    ]  # the last one has two values, and cannot bend
    assert UNITS.columns.tolist() == [0, 1, 1, 2, 2, 3]


def test_the_basis_is_that_of_the_columns_side_by_side():
    parts = [one.basis(VALUES[:, j]) for j, one in enumerate(UNITS.encodings)]
    expected = np.hstack(parts)
    np.testing.assert_array_equal(UNITS.basis(VALUES), expected)
    some = np.array([5, 2, 1])
    np.testing.assert_array_equal(UNITS.basis(VALUES, some), expected[:, some])


def test_what_other_rows_teach_has_as_many_columns():
    weight = (RNG.random(40) < 0.5).astype(float)
    other = UNITS.learn_again(VALUES, weight)
    assert np.array_equal(other.columns, UNITS.columns)
    same = UNITS.basis(VALUES) == other.basis(VALUES)
    assert same[:, ~UNITS.learned(VALUES)].all()
    assert not same[:, 1].all()


def test_chosen_columns_have_their_coefficients():
    chosen = UNITS.chosen(np.array([0.0, 0.0, 2.0, 0.0, 0.0, -1.0]))
    assert list(chosen) == [1, 3]
    assert chosen[1].coef == (0.0, 2.0)
    assert chosen[3].coef == (-1.0,)
