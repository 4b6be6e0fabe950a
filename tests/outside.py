"""Where tests find what is not in the repository: real data and reference weights."""

import os
from pathlib import Path

import numpy as np
import pytest


def _folder(variable: str, what: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set: it names the folder with {what}")
    return Path(folder)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the real data sets."""
    return _folder("SPARSEAUC_DATA", "the real data sets")


@pytest.fixture(scope="session")
def golden() -> dict[str, np.ndarray]:
    """Weights computed by the published programs, keyed ``method|parameter=value|…``."""
    path = (
        _folder("SPARSEAUC_GOLDEN", "the published programs' weights")
        / "published_methods.npz"
    )
    with np.load(path) as file:
        return {key: file[key] for key in file.files}
