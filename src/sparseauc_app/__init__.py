"""From a file to a short list: reading, fitting, comparing, model files, exports and reports.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model_files import load_model, save_model
    from .reporting import report, report_model

_MODULES = {
    "load_model": ".model_files",
    "report": ".reporting",
    "report_model": ".reporting",
    "save_model": ".model_files",
}

__all__ = ["load_model", "report", "report_model", "save_model"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name], __name__), name)
    return value
