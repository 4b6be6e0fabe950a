"""Self-contained HTML reports, with their tables and figures as files."""

from .elements import Code, Comparison, Figure, Listing, Note, Panel, Report, Section, Series
from .model_report import build_model_report
from .writing import write_report

__all__ = [
    "Code",
    "Comparison",
    "Figure",
    "Listing",
    "Note",
    "Panel",
    "Report",
    "Section",
    "Series",
    "build_model_report",
    "write_report",
]
