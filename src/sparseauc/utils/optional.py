"""Packages that only some jobs need: imported when one is asked for, or named."""

from importlib import import_module
from typing import Any

REQUIREMENTS = {
    "distributed": "distributed>=2024.5",
    "matplotlib": "matplotlib>=3.8",
    "sksurv": "scikit-survival>=0.24",
    "torch": "torch>=2.2",
    "triton": "triton>=3.0",
}


def import_optional(module: str, purpose: str) -> Any:
    """Import a module of an optional package, or say how to install it.

    Parameters
    ----------
    module : str
        Such as ``"torch"``.
    purpose : str
        What needs it, to begin the sentence with.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}: pip install '{REQUIREMENTS[package]}'"
        ) from error
