"""Every example in a docstring of the package runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import sparseauc_paper

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(
        sparseauc_paper.__path__, prefix="sparseauc_paper."
    )
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sparseauc"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0
