"""What a report is made of: tables, figures and words, before anybody decides how they look.

``html.py`` turns them into a page, ``drawing.py`` draws the figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from sparseauc.utils.types import Floats

Numbers = Sequence[float] | Floats
Style = Literal["line", "dashed", "points", "ring", "steps", "bars", "band"]


@dataclass(frozen=True)
class Listing:
    """A table of text and numbers.

    Columns of dtype str hold short plain text; numbers are shown to three digits after
    the point, unless ``formats`` has another format for their column: ``.2f`` or, for
    significant digits, ``.4g``. The index is not shown: make it a column where it says
    something.

    Attributes
    ----------
    name : str
        Anchor of its place on the page and stem of its downloads, such as "folds".
    title, caption : str
        The caption says in plain words what was measured and how to read it.
    folded : bool
        Whether readers open it themselves.
    """

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    formats: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False


@dataclass(frozen=True)
class Series:
    """A line of a panel.

    Attributes
    ----------
    low, high : array-like, optional
        Ends of its band or whiskers.
    style : {"line", "dashed", "points", "ring", "steps", "bars", "band"}
        A step holds until the next x; of a band, only the area between its ends is
        drawn.
    text : sequence of str, optional
        What a page shows under the pointer at each point; label and numbers by default.
    colour : int, optional
        Place in the palette, by default one of its own.
    """

    label: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    style: Style = "line"
    text: Sequence[str] | None = None
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    x_range, y_range : (float, float), optional
        Ends of the axes where they are known beforehand, such as (0, 1).
    x_names : sequence of str
        What stands below x = 0, 1, 2, … where these are not numbers but things.
    square : bool
        Whether the axes are as wide as they are high.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_names: Sequence[str] = ()
    square: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side; a series of the same label has the same colour in all of them."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Note:
    """A paragraph; all but "plain" ones stand out, "fine" as "No cautions".

    Words between backquotes are set as code; a blank line starts a new paragraph. So it
    is in leads, captions and facts.
    """

    text: str
    kind: Literal["plain", "caution", "finding", "fine"] = "plain"


@dataclass(frozen=True)
class Code:
    """Text to be copied as it is: a formula, a query, a command."""

    title: str
    text: str
    folded: bool = False


Element = Listing | Figure | Note | Code


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
        How it was made: versions, machine, seed, duration, the command that makes it
        again.
    glance : dict of str to str
        The key numbers at the head of the page.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)
    glance: dict[str, str] = field(default_factory=dict)
