"""Tables as CSV and Markdown, figures as PNG and SVG: everything of a report but its page."""

import re
from textwrap import indent
from typing import Any

import pandas as pd

from . import drawing
from .elements import LINK, URL, Code, Figure, Listing, Note, Panel, Report, Table
from .palette import slots
from .tables import columns

_POINT = ["panel", "series", "x", "y", "error", "error below", "error above", "text"]
# Of what can stand inside a cell, all that Markdown would not show as it is.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|~$])")


def files(report: Report) -> dict[str, bytes]:
    """Make the files that stand beside a page, by their path from it, such as "tables/a.csv".

    The same report gives the same bytes.
    """
    made: dict[str, bytes] = {}
    drawn = [element for element in report.elements() if isinstance(element, Figure)]
    looks = slots(drawn)
    for element in report.elements():
        if isinstance(element, Table | Listing):
            made[f"tables/{element.name}.csv"] = to_csv(element).encode()
            made[f"tables/{element.name}.md"] = to_markdown(element).encode()
    made["report.md"] = report_to_markdown(report).encode()
    for figure in drawn:
        made[f"figures/{figure.name}.csv"] = figure_to_csv(figure).encode()
        for kind, picture in drawing.draw(figure, looks[figure.name]).items():
            made[f"figures/{figure.name}.{kind}"] = picture
    return made


def to_csv(table: Table | Listing) -> str:
    """Write a table with all its digits."""
    return _csv(table.frame)


def figure_to_csv(figure: Figure) -> str:
    """Write the numbers of a figure: a line for each point, with all its digits."""
    lines: list[dict[str, Any]] = []
    for panel in figure.panels:
        if not isinstance(panel, Panel):
            lines += [{"x": x, "y": y, "text": text} for x, y, text in drawing.readings(panel)]
            continue
        for series in panel.series:
            known: dict[str, Any] = {
                "panel": panel.title, "series": series.label, "x": series.x, "y": series.y,
                "text": series.text,
            }  # fmt: skip
            if isinstance(series.error, tuple):
                known |= {"error below": series.error[0], "error above": series.error[1]}
            elif series.error is not None:
                known["error"] = series.error
            lines += pd.DataFrame(known, index=range(len(series.x))).to_dict("records")
    return _csv(pd.DataFrame(lines, columns=_POINT).dropna(axis="columns", how="all"))


def _csv(frame: pd.DataFrame) -> str:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text


def report_to_markdown(report: Report) -> str:
    """Write the whole report as one Markdown text; figures are pictures that stand beside it."""
    parts = [f"# {escaped(report.title)}", *_paragraphs(report.lead)]
    for section in report.sections:
        parts += [_anchor(section.anchor), f"## {escaped(section.heading)}"]
        for element in section.elements:
            if isinstance(element, Note):
                parts += _paragraphs(element.text)
                continue
            if isinstance(element, Code):
                parts += [f"### {escaped(element.title)}", indent(element.text, "    ")]
                continue
            parts.append(_anchor(element.name))
            if isinstance(element, Figure):
                title = escaped(element.title)
                parts += [f"### {title}", *_paragraphs(element.caption)]
                parts.append(f"![{title}](figures/{element.name}.svg)")
            else:
                parts.append(to_markdown(element).rstrip())
    if report.facts:
        parts += ["## How this was made"]
        parts += [f"{escaped(name)}: {_paragraph(text)}" for name, text in report.facts.items()]
    return "\n\n".join(parts) + "\n"


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>'


def _paragraphs(text: str) -> list[str]:
    return [_paragraph(part) for part in re.split(r"\n\s*\n", text) if part.strip()]


def to_markdown(table: Table | Listing) -> str:
    """Write a table as the page shows it, with its title and caption."""
    head = [f"### {escaped(table.title)}", "", _paragraph(table.caption), ""]
    body = table.to_markdown() if isinstance(table, Table) else _listing(table)
    return "\n".join([*head, *body, ""])


def _listing(table: Listing) -> list[str]:
    shown = columns(table)
    return [
        markdown_line([column.name for column in shown]),
        markdown_line(["---:" if column.numeric else ":---" for column in shown], raw=True),
        *(
            markdown_line(values)
            for values in zip(*(column.values for column in shown), strict=True)
        ),
    ]


def markdown_line(cells: list[str] | tuple[str, ...], *, raw: bool = False) -> str:
    """Write a row of a table; ``raw`` cells are Markdown already."""
    return f"| {' | '.join(cells if raw else map(escaped, cells))} |"


def escaped(text: str) -> str:
    """Escape all but a text that is a link as a whole."""
    text = " ".join(text.split())
    return text if LINK.fullmatch(text) else _MARKDOWN.sub(r"\\\1", text)


def _paragraph(text: str) -> str:
    """Escape all but what stands between backquotes, which is code in Markdown too."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "`".join(
        part if place % 2 else URL.sub(r"<\g<0>>", _MARKDOWN.sub(r"\\\1", part))
        for place, part in enumerate(parts)
    )
