"""Export models: a page to fill in, a workbook, R and SQL.

Every target computes what :meth:`ScoreCard.scores` does, from the chosen columns alone. How a term
is computed is described once, in ``terms.py``; a target that cannot write a step refuses it.
"""

from .page import to_html
from .r_function import to_r
from .sql import to_sql
from .workbook import to_xlsx

__all__ = ["to_html", "to_r", "to_sql", "to_xlsx"]
