"""The package as a whole: what it offers, and what importing it costs."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import sparseauc
import sparseauc_app
from sparseauc import solvers
from sparseauc.utils.optional import REQUIREMENTS, import_optional


def test_every_name_is_there():
    assert len(sparseauc.__all__) == len(set(sparseauc.__all__))
    for name in sparseauc.__all__:
        assert getattr(sparseauc, name).__name__ == name
        assert name in dir(sparseauc)


@pytest.mark.parametrize("package", [sparseauc, sparseauc_app])
def test_packages_have_no_names_but_their_own(package):
    modules = {
        name for name in vars(package) if isinstance(getattr(package, name), ModuleType)
    }
    public = {name for name in vars(package) if not name.startswith("_")}
    assert public - modules <= set(package.__all__)
    assert set(dir(package)) - {"__version__"} == set(package.__all__)


def test_solvers_are_there():
    for name in solvers.__all__:
        assert getattr(solvers, name).__name__ == name


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'SHTAUC'"):
        sparseauc.SHTAUC  # noqa: B018
    with pytest.raises(ImportError):
        from sparseauc import SHTAUC  # noqa: F401


def test_names_from_a_star():
    names: dict[str, object] = {}
    exec("from sparseauc import *", names)
    assert set(sparseauc.__all__) <= set(names)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["fit", "--help"], ["compare", "-h"], ["-V"]],
)
def test_help_and_version_import_no_scientific_library(arguments):
    code = (
        "import sys\n"
        "from sparseauc_app.__main__ import main\n"
        f"sys.argv = ['sparseauc', *{arguments!r}]\n"
        "try:\n    main()\n"
        "finally:\n"
        "    heavy = ('numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'pyarrow', 'matplotlib')\n"
        "    print([name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert done.stdout


def test_version():
    for arguments in (
        ["-m", "sparseauc_app", "--version"],
        ["-m", "sparseauc_app", "-V"],
    ):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"{sparseauc.__version__}\n"


def test_the_version_is_that_of_the_changelog_and_of_the_citation():
    root, version = Path(__file__).parents[1], sparseauc.__version__
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = next(line for line in changes.splitlines() if line.startswith("## ["))
    name, date = newest.removeprefix("## ").split(" - ")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert name == f"[{version}]"
    assert f"version: {version}" in citation
    assert f"date-released: {date}" in citation


def test_help_shows_flags_without_a_type():
    command = [sys.executable, "-m", "sparseauc_app", "fit", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "bool" not in text
    assert "--columns" in text
    assert "--json" in text


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to send")
@pytest.mark.parametrize("wait", [0.0, 0.1, 0.4, 0.8])
def test_an_interrupt_while_libraries_are_imported_leaves_no_traceback(tmp_path, wait):
    table = tmp_path / "t.csv"
    table.write_text("y,x\n" + "".join(f"{i % 2},{i % 7}\n" for i in range(200)))
    program = (
        "import sys\n"
        "from sparseauc_app.__main__ import main\n"
        "class Starts:\n"  # a finder: the first import of the command says that it starts
        "    def find_spec(self, *args):\n"
        "        sys.meta_path.remove(self)\n"
        "        print('starts', flush=True)\n"
        f"sys.argv = ['sparseauc', 'fit', {str(table)!r}, '-t', 'y']\n"
        "sys.meta_path.insert(0, Starts())\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "starts\n"
        time.sleep(wait)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=120)
    assert said in (
        "Error: interrupted, nothing was written\n",
        "",
    )  # Typer's own is silent
    assert run.returncode == 130


@pytest.mark.slow
def test_a_fit_where_no_file_can_be_written():
    """Kernels compile in memory, and a line says what to do about it."""
    code = (
        "import numpy as np\n"
        "from sparseauc import SparseAUCClassifier\n"
        "X = np.random.default_rng(0).normal(size=(40, 5))\n"
        "y = X[:, 2] > 0\n"
        "print(SparseAUCClassifier(k=1).fit(X, y).get_support().nonzero()[0])\n"
    )
    nowhere = os.environ | {"NUMBA_CACHE_DIR": "/dev/null/kernels"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=nowhere, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[2]\n"
    compiling, not_kept = done.stderr.splitlines()
    assert "compiling kernels" in compiling
    assert "NUMBA_CACHE_DIR" in not_kept


def test_optional_packages_are_asked_for_as_the_extras_ask():
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]
    names = ("gpu", "dask", "cox", "plot")
    asked = {one.partition(";")[0] for extra in names for one in extras[extra]}
    assert set(REQUIREMENTS.values()) <= asked


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksurv", None)
    with pytest.raises(
        ImportError, match=r"^l1-cox needs sksurv: pip install 'scikit-surv"
    ):
        import_optional("sksurv", "l1-cox")
