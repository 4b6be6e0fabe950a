"""The shape of the sources: what a reader meets on the way, held instead of a limit on lines.

``python tests/shape.py`` prints all measures. A limit here is lowered when a change allows it.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import shape
from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=300) > 1).astype(int)


@pytest.mark.parametrize(
    ("model", "functions", "files", "chain"),
    [(SparseAUCClassifierCV(random_state=0), 136, 21, 16), (SparseAUCClassifier(k=5), 80, 12, 13)],
    ids=["cv", "plain"],
)
def test_the_walk_of_a_fit_is_short(problem, model, functions, files, chain):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*problem)  # kernels are compiled
        visited = shape.trace(lambda: model.fit(*problem))
    assert np.all(np.array(visited) <= (functions, files, chain)), visited


def test_no_function_is_complex():
    found = {name: n for name, n in shape.complexities().items() if n > 20}
    assert not found


def test_files_can_be_maintained():
    assert not {name: index for name, index in shape.maintainability().items() if index < 20}
    assert not {name: n for name, n in shape.lengths().items() if n > 600}


def test_the_library_is_small():
    assert shape.lines("sparseauc") <= 24_162
    assert shape.lines() <= 49_925


def test_no_six_lines_of_code_stand_twice():
    assert not shape.twins()


def test_parameters_are_few():
    assert shape.parameters(SparseAUCClassifier) <= 8
    assert shape.parameters(SparseAUCClassifierCV) <= 13
    assert shape.options("fit") <= 30


def test_a_restriction_is_named_in_few_files():
    assert len(shape.files_with("max_per_family")) <= 3


def test_strata_are_known_to_few_files():
    # Not the strategy of an imputer, nor folds stratified by class.
    known = {*shape.files_with("strata"), *shape.files_with("stratum"), *shape.files_with("Strata")}
    assert len(known) <= 24


def test_documented_names_are_few():
    assert len(shape.documented_names()) <= 110


def test_imports():
    assert shape.cycles() == []
    assert len(shape.private_imports()) <= 10


HEAVY = [
    "pandas",
    "pyarrow",
    "matplotlib",
    "typer",
    "rich",
    "jinja2",
    "openpyxl",
    "skops",
    "torch",
    "dask",
]


def test_a_fit_of_arrays_needs_none_of_the_application():
    """scikit-learn loads some of these where they are installed: here nothing can."""
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import numpy as np, sparseauc
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = X[:, 0] + rng.normal(size=60) > 0
for model in (sparseauc.SparseAUCClassifier(k=2), sparseauc.SparseAUCClassifierCV(cv=3)):
    model.fit(X, y).predict(X)
print([name for name in {HEAVY!r} if name in sys.modules])
print([name for name in sys.modules if name.split(".")[0] in
       ("sparseauc_app", "sparseauc_cells")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"
