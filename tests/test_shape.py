"""The shape of the sources: what protects a reader. ``make shape`` prints figures."""

import subprocess
import sys

import shape


def test_no_function_is_complex():
    found = {name: n for name, n in shape.complexities().items() if n > 20}
    assert not found


def test_imports_have_no_cycles():
    assert shape.cycles() == []


def test_few_modules_import_private_ones_of_another_room():
    assert len(shape.private_imports()) <= 10


HEAVY = [
    "pandas",
    "pyarrow",
    "matplotlib",
    "typer",
    "rich",
    "jinja2",
    "openpyxl",
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
       ("sparseauc_app", "sparseauc_paper")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n[]\n"
