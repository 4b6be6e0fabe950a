"""The benchmarks import what there is; their figures are measured by hand."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1] / "benchmarks"
# Runs in an environment of its own, with FasterRisk.
ELSEWHERE = {"points_peer"}


@pytest.mark.slow
def test_every_benchmark_imports():
    for needed in ("torch", "dask", "threadpoolctl"):
        pytest.importorskip(needed)
    names = sorted({path.stem for path in HERE.glob("*.py")} - ELSEWHERE)
    code = (
        f"import importlib\nfor name in {names!r}:\n    importlib.import_module(name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_table_has_a_script():
    """A table whose script is gone cannot be measured again."""
    results = {path.stem for path in (HERE / "results").glob("*.md")}
    scripts = {path.stem for path in HERE.glob("*.py")}
    of_peers = {"peers_seed_7000", "peers_wide", "defaults"}
    assert results - scripts - of_peers <= {"default_fit_wide"}
