"""From a file to a short list: reading, fitting, comparing, model files, exports and reports.

Names are imported when they are first used.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .model_files import load_model, save_model
    from .reporting import report, report_model

_MODULES = {
    "load_model": ".model_files",
    "report": ".reporting",
    "report_model": ".reporting",
    "save_model": ".model_files",
}

__all__ = ["load_model", "report", "report_model", "save_model"]


def __getattr__(name: str) -> _typing.Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _importlib.import_module(_MODULES[name], __name__)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__
