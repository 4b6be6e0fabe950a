"""What all tests share."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings

pytest_plugins = ["outside"]

# Kernels compile inside the first example: no deadline, and slow first draws are no
# failure.
settings.register_profile(
    "sparseauc",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("sparseauc")

# A shell starts background jobs with interrupts ignored, and the commands tested would
# inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# A browser, a cluster, and the whole demo.
SLOW_FIXTURES = {"chromium", "cluster", "shown"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what uses a slow fixture; other tests are marked where they stand."""
    for item in items:
        if not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def load_csr(data_folder):
    """Load a sparse data set by name as (CSR, y)."""

    def load(name):
        path = data_folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path.name} is not in SPARSEAUC_DATA")
        with np.load(path) as file:
            return sp.csr_array(
                (file["data"], file["indices"], file["indptr"]), file["shape"]
            ), file["y"]

    return load


@pytest.fixture(params=["one reading", "several readings"])
def readings(request, monkeypatch):
    """With few columns one reading gives all moments; pretend that they are many."""
    if request.param == "several readings":
        monkeypatch.setattr("sparseauc.moments.chunked._ALL_BYTES", 0)
    return request.param
