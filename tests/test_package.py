"""The package as a whole: what it offers, and what importing it costs."""

import pytest

import sparseauc


def test_every_name_is_there():
    assert len(sparseauc.__all__) == len(set(sparseauc.__all__))
    for name in sparseauc.__all__:
        assert getattr(sparseauc, name).__name__ == name
        assert name in dir(sparseauc)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'SHTAUC'"):
        sparseauc.SHTAUC  # noqa: B018
    with pytest.raises(ImportError):
        from sparseauc import SHTAUC  # noqa: F401


def test_names_from_a_star():
    names: dict[str, object] = {}
    exec("from sparseauc import *", names)
    assert set(sparseauc.__all__) <= set(names)
