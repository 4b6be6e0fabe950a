"""What a report is made of: tables, figures and words, before anybody decides how they look.

Experiments and fitted models build these; ``html.py`` turns them into a page, ``files.py`` into
CSV, Markdown, PNG and SVG; ``drawing.py`` draws the figures of both. Nothing here imports a
plotting or templating library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import pandas as pd

# A link to a place on the same page, as Markdown writes it.
LINK = re.compile(r"\[([^\]]+)\]\(#([\w-]+)\)")


@dataclass(frozen=True)
class Comparison:
    """Measured means beside printed ones: a row for each method, a column for each setting.

    Attributes
    ----------
    name : str
        Stem of its files and anchor of its place on the page, such as "table1".
    title, caption : str
        The caption says in plain words what was measured and how to read it.
    cells : DataFrame
        One line for each cell: ``method`` (str), ``in_paper`` (bool), ``group`` (str: "AUC", "F1",
        …; tables with several groups show one block for each), ``column`` (str), ``mean``, ``se``
        (standard error of the mean), ``std``, ``n`` (values behind it), ``failed`` (values that
        ended in an error), ``printed``, ``printed_std`` (NaN where nothing was printed),
        ``difference`` (mean − printed, in standard errors of the difference). Methods, groups and
        columns appear in the order of their first line.
    higher_is_better : bool
    digits : int
        Digits after the point of means and standard errors.
    """

    name: str
    title: str
    caption: str
    cells: pd.DataFrame
    higher_is_better: bool = True
    digits: int = 3


@dataclass(frozen=True)
class Listing:
    """A table shown as it is, such as the markers or the audit.

    Columns of dtype str may hold short plain text, or a link to a place on the page such as
    ``[Table I](#table1)``; numbers are shown to ``digits`` digits after the point, unless
    ``formats`` has another format for their column: ``.2f`` or, for significant digits, ``.4g``.
    The index is not shown: make it a column where it says something.
    """

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    digits: int = 3
    formats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """A line of a panel.

    Attributes
    ----------
    error : sequence of float, or pair of them, optional
        Half the height of its band or whiskers; or how far they reach down, and up.
    style : {"line", "dashed", "points", "steps", "bars"}
    text : sequence of str, optional
        What a page shows under the pointer at each point; label and numbers by default.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | tuple[Sequence[float], Sequence[float]] | None = None
    in_paper: bool = True
    style: Literal["line", "dashed", "points", "steps", "bars"] = "line"
    text: Sequence[str] | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    x_log, y_log : bool
        Points at zero or below are left out of a logarithmic axis.
    x_range, y_range : (float, float), optional
        Ends of the axes where they are known beforehand, such as (0, 1).
    x_names : sequence of str
        What stands below x = 0, 1, 2, … where these are not numbers but things.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_names: Sequence[str] = ()


class Display(Protocol):
    """What was drawn, and what to read at its points: any display of :mod:`sparseauc.plotting`."""

    readings_: list[tuple[float, float, str]]


@dataclass(frozen=True)
class Figure:
    """Panels side by side; a series of the same label has the same colour in all of them.

    A panel is described by its series, or is a function that draws a display on the axes given.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Panel | Callable[[Any], Display]]


@dataclass(frozen=True)
class Note:
    """A paragraph; "caution" and "finding" stand out.

    Words between backquotes are set as code; a blank line starts a new paragraph. So it is in
    leads, captions and facts.
    """

    text: str
    kind: Literal["plain", "caution", "finding"] = "plain"


@dataclass(frozen=True)
class Code:
    """Text to be copied as it is: a formula, a query, a command."""

    title: str
    text: str


Element = Comparison | Listing | Figure | Note | Code


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    name: str
    heading: str
    elements: Sequence[Element]


@dataclass(frozen=True)
class Report:
    """A whole page.

    Attributes
    ----------
    title, lead : str
        The lead says in a sentence or two what was found.
    sections : sequence of Section
    facts : dict of str to str
        How it was made: versions, machine, seed, duration, the command that makes it again.
    glance : dict of str to str
        The key numbers at the head of the page.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)
    glance: dict[str, str] = field(default_factory=dict)
