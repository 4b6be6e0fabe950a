"""Self-contained HTML reports on many methods, with their tables and figures as files."""

from .elements import Code, Figure, Listing, Note, Panel, Report, Section, Series, Table
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
    "write_report",
]
