"""Export models: a page to fill in, a workbook, R and SQL.

Every target computes what :meth:`ScoreCard.scores` does, from the chosen columns alone.
What each adds to the score is described once, in ``effects.py``.
"""

from .page import to_html
from .r_function import to_r
from .sql import to_sql
from .workbook import to_xlsx

__all__ = ["to_html", "to_r", "to_sql", "to_xlsx"]
