"""Every example in a docstring of the package runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import sparseauc

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(sparseauc.__path__, prefix="sparseauc.")
    if not module.name.endswith("__main__")
)


def load(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sparseauc"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = load(name)
    if name.endswith("plotting"):
        pytest.importorskip("matplotlib").use("Agg")
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0


def test_examples_are_found():
    # A walk that finds nothing would pass in silence.
    found = [
        test.name
        for name in MODULES
        for test in doctest.DocTestFinder().find(load(name))
        if test.examples
    ]
    for owner in ("SHTAUCClassifier", "make_outbreak", "AUCPathDisplay"):
        assert any(test.endswith(owner) for test in found), owner
