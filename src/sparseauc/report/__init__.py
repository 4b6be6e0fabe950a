"""Self-contained HTML reports, with their tables and figures as files."""

from __future__ import annotations

from .elements import Comparison, Figure, Listing, Note, Panel, Report, Section, Series
from .writing import write_page, write_report

__all__ = [
    "Comparison",
    "Figure",
    "Listing",
    "Note",
    "Panel",
    "Report",
    "Section",
    "Series",
    "write_page",
    "write_report",
]
