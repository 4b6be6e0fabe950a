"""Self-contained HTML reports, with their tables and figures as files."""

from .elements import Code, Figure, Listing, Note, Panel, Report, Section, Series, Table
from .model_report import build_model_report
from .writing import write_report

__all__ = [
    "Code",
    "Figure",
    "Listing",
    "Note",
    "Panel",
    "Report",
    "Section",
    "Series",
    "Table",
    "build_model_report",
    "write_report",
]
