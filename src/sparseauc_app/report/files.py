"""Tables as CSV and Markdown, figures as PNG and SVG: everything of a report but its page."""

import re
from textwrap import indent
from typing import Any

import pandas as pd

from sparseauc.utils.text import spreadsheet_safe

from . import drawing
from .elements import LINK, URL, Code, Comparison, Figure, Listing, Note, Panel, Report
from .palette import slots
from .tables import NOTHING, Cell, columns, grid, key

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
        if isinstance(element, Comparison | Listing):
            made[f"tables/{element.name}.csv"] = to_csv(element).encode()
            made[f"tables/{element.name}.md"] = to_markdown(element).encode()
    made["report.md"] = report_to_markdown(report).encode()
    for figure in drawn:
        made[f"figures/{figure.name}.csv"] = figure_to_csv(figure).encode()
        for kind, picture in drawing.draw(figure, looks[figure.name]).items():
            made[f"figures/{figure.name}.{kind}"] = picture
    return made


def to_csv(table: Comparison | Listing) -> str:
    """Write a table with all its digits: a line for each cell of a comparison, the frame else."""
    return _csv(table.cells if isinstance(table, Comparison) else table.frame)


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
    """Text of a frame, of which a spreadsheet computes nothing: names are the users' own."""
    safe = frame.map(spreadsheet_safe).rename(columns=spreadsheet_safe)
    text: str = safe.to_csv(index=False, lineterminator="\n")
    return text


def report_to_markdown(report: Report) -> str:
    """Write the whole report as one Markdown text; figures are pictures that stand beside it."""
    parts = [f"# {_escaped(report.title)}", *_paragraphs(report.lead)]
    for section in report.sections:
        parts += [_anchor(section.anchor), f"## {_escaped(section.heading)}"]
        for element in section.elements:
            if isinstance(element, Note):
                parts += _paragraphs(element.text)
                continue
            if isinstance(element, Code):
                parts += [f"### {_escaped(element.title)}", indent(element.text, "    ")]
                continue
            parts.append(_anchor(element.name))
            if isinstance(element, Figure):
                title = _escaped(element.title)
                parts += [f"### {title}", *_paragraphs(element.caption)]
                parts.append(f"![{title}](figures/{element.name}.svg)")
            else:
                parts.append(to_markdown(element).rstrip())
    if report.facts:
        parts += ["## How this was made"]
        parts += [f"{_escaped(name)}: {_paragraph(text)}" for name, text in report.facts.items()]
    return "\n\n".join(parts) + "\n"


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>'


def _paragraphs(text: str) -> list[str]:
    return [_paragraph(part) for part in re.split(r"\n\s*\n", text) if part.strip()]


def to_markdown(table: Comparison | Listing) -> str:
    """Write a table as the page shows it, with its title and caption."""
    head = [f"### {_escaped(table.title)}", "", _paragraph(table.caption), ""]
    body = _comparison(table) if isinstance(table, Comparison) else _listing(table)
    return "\n".join([*head, *body, ""])


def _comparison(table: Comparison) -> list[str]:
    shown = grid(table)
    lines = []
    for group, rows in shown.blocks:
        lines += [
            _line([group, *shown.columns]),
            _line([":---"] + ["---:"] * len(shown.columns), raw=True),
        ]
        for row in rows:
            method = _escaped(row.method)
            if shown.beside_paper and not row.in_paper:
                method += " *(not in the paper)*"
            cells = [_cell(cell, shown.has_printed and row.in_paper) for cell in row.cells]
            lines.append(_line([method, *cells], raw=True))
        lines.append("")
    return [*lines, " ".join(key(shown, "in italics"))]


def _cell(cell: Cell | None, compared: bool) -> str:
    if cell is None:
        return NOTHING
    mean = cell.mean or NOTHING
    if cell.mean and cell.se:
        mean += f" ± {cell.se}"
    parts = [f"**★ {mean}**" if cell.best else mean]
    if compared:
        printed = f"printed {cell.printed}" if cell.printed else "not printed"
        parts.append(printed + " ☆" * cell.best_printed)
    if cell.difference:
        parts.append(f"*{cell.difference}*" if cell.far else cell.difference)
    if cell.failed:
        parts.append(cell.failed)
    return "<br>".join(parts)


def _listing(table: Listing) -> list[str]:
    shown = columns(table)
    return [
        _line([column.name for column in shown]),
        _line(["---:" if column.numeric else ":---" for column in shown], raw=True),
        *(_line(values) for values in zip(*(column.values for column in shown), strict=True)),
    ]


def _line(cells: list[str] | tuple[str, ...], *, raw: bool = False) -> str:
    return f"| {' | '.join(cells if raw else map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """Escape all but a text that is a link as a whole."""
    text = " ".join(text.split())
    return text if LINK.fullmatch(text) else _MARKDOWN.sub(r"\\\1", text)


def _paragraph(text: str) -> str:
    """Escape all but what stands between backquotes, which is code in Markdown too."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return _escaped(text)
    return "`".join(
        part if place % 2 else URL.sub(r"<\g<0>>", _MARKDOWN.sub(r"\\\1", part))
        for place, part in enumerate(parts)
    )
