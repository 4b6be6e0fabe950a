"""Reports as self-contained HTML pages."""

from .elements import Code, Figure, Listing, Note, Panel, Report, Section, Series
from .model_report import build_model_report

__all__ = [
    "Code",
    "Figure",
    "Listing",
    "Note",
    "Panel",
    "Report",
    "Section",
    "Series",
    "build_model_report",
]
