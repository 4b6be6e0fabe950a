"""A report as files: Markdown, tables as CSV, figures as PNG and CSV, and one HTML page.

Everything is written as Markdown once. The HTML page is that text with its pictures
inside, so that it opens from disk; the page for Sphinx differs in the form of anchors
and in where pictures lie.
"""

import base64
import io
import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np
import pandas as pd

from .files import write_files

NOTHING = "–"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# A link to a place on the same page, as Markdown writes it.
_LINK = re.compile(r"\[([^\]]+)\]\(#([\w-]+)\)")
# An address in a text, without the full stop or comma that follows it.
_URL = re.compile(r"https://[\w./-]*[\w/]")
# All that Markdown would not show as it is.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|~$])")

# ------------------------------------------------------------------------ what a report
# is made of


@dataclass(frozen=True)
class Table:
    """A table: its numbers with all their digits, and its lines in Markdown."""

    name: str  # its anchor, and the stem of its file
    title: str
    caption: str
    frame: pd.DataFrame
    lines: Sequence[str]
    aside: bool = False  # of a page for Sphinx it is a file beside it


def listing(
    name: str,
    title: str,
    caption: str,
    lines: Iterable[Mapping[str, Any]],
    form: str = ".3f",
    *,
    aside: bool = False,
) -> Table:
    """Make a table of lines shown as they are, numbers in one format, whole ones without a point.

    A text may be a link such as ``[Table I](#table1)``.
    """
    frame = pd.DataFrame(lines)
    columns = {str(label): list(frame[label]) for label in frame.columns}
    numeric = [
        all(isinstance(v, int | float) for v in values) for values in columns.values()
    ]
    cells = [[_text(value, form) for value in values] for values in columns.values()]
    return Table(
        name,
        title,
        caption,
        frame,
        [
            markdown_line(list(columns)),
            markdown_line(["---:" if right else ":---" for right in numeric], raw=True),
            *map(markdown_line, zip(*cells, strict=True)),
        ],
        aside,
    )


@dataclass(frozen=True)
class Series:
    """A line of a panel, dashed if it is not the paper's; points where both axes are shares."""

    label: str
    slot: int  # its place in the palette
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None  # half the height of its band or whiskers
    in_paper: bool = True
    text: Sequence[str] | None = None  # what each point stands for


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    shares: bool = False  # points between axes from 0 to 1, with their diagonal


@dataclass(frozen=True)
class Figure:
    """Panels side by side; a series of the same label has the same colour in all of them."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]

    @property
    def frame(self) -> pd.DataFrame:
        """Its numbers, a line for each point."""
        parts = [
            pd.DataFrame(
                {
                    "panel": panel.title,
                    "series": one.label,
                    "x": list(one.x),
                    "y": list(one.y),
                    "error": one.error,
                    "text": one.text,
                }
            )
            for panel in self.panels
            for one in panel.series
        ]
        whole = pd.concat(parts) if parts else pd.DataFrame()
        return whole.dropna(axis="columns", how="all")


@dataclass(frozen=True)
class Note:
    """Paragraphs with blank lines between; all but "plain" ones stand out."""

    text: str
    kind: Literal["plain", "caution", "finding"] = "plain"


Element = Table | Figure | Note


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    name: str
    heading: str
    elements: Sequence[Element]

    @property
    def anchor(self) -> str:
        """Its place on the page; a table in it may well have the same name."""
        return f"section-{self.name}"


@dataclass(frozen=True)
class Report:
    """A whole page, wide where it has wide tables; ``facts`` say how it was made."""

    title: str
    lead: str
    sections: Sequence[Section]
    facts: Mapping[str, str] = field(default_factory=dict)
    is_wide: bool = True

    def elements(self) -> Iterator[Element]:
        """Go through all elements in their order."""
        for section in self.sections:
            yield from section.elements


# ----------------------------------------------------------------------------- numbers
# and Markdown


def _text(value: Any, form: str) -> str:
    """Return the text of a cell; a number that its format does not show has a power of ten."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else _signed(f"{value}").replace("inf", "∞")
    if value == int(value) and abs(value) < 1e6:
        return _signed(f"{int(value)}")
    text = f"{value:{form}}"
    unseen = float(text) == 0.0 or abs(value) >= 1e6
    mantissa, _, exponent = (f"{value:.1e}" if unseen else text).partition("e")
    power = f"×10{str(int(exponent)).translate(_SUPERSCRIPTS)}" if exponent else ""
    return _signed(mantissa.removesuffix(".")) + power


def fixed(value: float, digits: int, *, sign: bool = False) -> str:
    """Return a number with ``digits`` digits after the point; nothing where there is none."""
    if not math.isfinite(value):
        return ""
    # Rounded first: −0.04 to one digit is 0.0, not −0.0.
    rounded = round(float(value), digits) + 0.0
    return _signed(f"{rounded:{'+' if sign and rounded else ''}.{digits}f}")


def _signed(text: str) -> str:
    return text.replace("-", "−")


def markdown_line(cells: Iterable[str], *, raw: bool = False) -> str:
    """Return a row of a table; ``raw`` cells are Markdown already."""
    return f"| {' | '.join(cells if raw else map(escaped, cells))} |"


def escaped(text: str) -> str:
    """Escape all but a text that is a link as a whole."""
    text = " ".join(text.split())
    return text if _LINK.fullmatch(text) else _MARKDOWN.sub(r"\\\1", text)


def _paragraphs(text: str) -> list[str]:
    return [_paragraph(part) for part in re.split(r"\n\s*\n", text) if part.strip()]


def _paragraph(text: str) -> str:
    """Escape all but what stands between backquotes, which is code in Markdown too."""
    parts = " ".join(text.split()).split("`")
    return "`".join(
        part if place % 2 else _URL.sub(r"<\g<0>>", _MARKDOWN.sub(r"\\\1", part))
        for place, part in enumerate(parts)
    )


def to_markdown(report: Report, pictures: str, *, sphinx: bool = False) -> str:
    """Return the whole report as one text; its pictures lie in a folder of this name."""

    def anchor(name: str) -> str:
        return f"({name})=" if sphinx else f'<a id="{name}"></a>'

    parts = [f"# {escaped(report.title)}", *_paragraphs(report.lead)]
    for section in report.sections:
        parts += [anchor(section.anchor), f"## {escaped(section.heading)}"]
        for element in section.elements:
            if isinstance(element, Note):
                mark = "" if element.kind == "plain" else "> "
                parts += [mark + paragraph for paragraph in _paragraphs(element.text)]
                continue
            title = escaped(element.title)
            parts += [
                anchor(element.name),
                f"### {title}",
                *_paragraphs(element.caption),
            ]
            if isinstance(element, Figure):
                place = f"{pictures}/{element.name}"
                parts += [f"![{title}]({place}.png)", f"[The numbers]({place}.csv)"]
            elif sphinx and element.aside:
                parts.append(f"[The table]({pictures}/{element.name}.csv)")
            else:
                parts.append("\n".join(element.lines))
    if report.facts:
        parts.append("## How this was made")
        parts += [
            f"{escaped(name)}: {_paragraph(text)}"
            for name, text in report.facts.items()
        ]
    return "\n\n".join(parts) + "\n"


# ---------------------------------------------------------------------------- the files


def write_report(report: Report, folder: Path, name: str = "report") -> Path:
    """Write a report and, beside it, its tables and figures; return the page."""
    text = to_markdown(report, "figures")
    pictures = _pictures(report)
    contents = {
        folder / "figures" / file: content for file, content in pictures.items()
    }
    for element in report.elements():
        if isinstance(element, Table):
            contents[folder / "tables" / f"{element.name}.csv"] = _csv(element.frame)
    page = folder / f"{name}.html"
    html = _html(report, text, pictures)
    write_files({**contents, folder / f"{name}.md": text.encode(), page: html})
    return page


def write_markdown_page(report: Report, path: Path) -> Path:
    """Write the report for Sphinx (MyST); pictures and long tables into a folder beside it."""
    beside = _pictures(report)
    for element in report.elements():
        if isinstance(element, Table) and element.aside:
            beside[f"{element.name}.csv"] = _csv(element.frame)
    contents = {path.parent / path.stem / name: data for name, data in beside.items()}
    text = to_markdown(report, path.stem, sphinx=True)
    write_files({**contents, path: text.encode()})
    return path


def _csv(frame: pd.DataFrame) -> bytes:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text.encode()


def _html(report: Report, text: str, pictures: Mapping[str, bytes]) -> bytes:
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    for name, content in pictures.items():
        if name.endswith(".png"):
            data = base64.b64encode(content).decode()
            body = body.replace(
                f'src="figures/{name}"', f'src="data:image/png;base64,{data}"'
            )
    contents = [
        f"- [{escaped(part.heading)}](#{part.anchor})"
        for part in report.sections
        if report.is_wide
    ]
    navigation = MarkdownIt("commonmark").render("\n".join(contents))
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    paper = "A4 landscape" if report.is_wide else "A4"
    page = Template(template).substitute(
        title=report.title, contents=navigation, body=body, paper=paper
    )
    return page.encode()


def write_pdf(page: Path, path: Path) -> Path:
    """Print an HTML page to a PDF file with Chromium."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise FileNotFoundError("--pdf needs chromium or google-chrome on the path")
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "report.pdf"
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-pdf-header-footer",
            "--disable-pdf-tagging",  # a third of the bytes
        ]
        places = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}"]
        subprocess.run(
            [program, *options, *places, page.absolute().as_uri()],
            check=True,
            capture_output=True,
        )
        (written,) = write_files({path: printed.read_bytes()})
    return written


# -------------------------------------------------------------------------- the figures

# Okabe and Ito's colours, told apart with any kind of colour vision, and more for many
# methods.
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
    "#1f2328",
    "#7b3fa0",
    "#8f6a1a",
    "#b0182b",
    "#6a8f1f",
    "#8a8d91",
    "#0b4f55",
    "#2f8f95",
    "#7cc4c0",
)
SCALE = (12, 13, 14)  # slots from dark to light
_MARKERS = "osD^vPX*ph<>"
_MOST_MARKERS = 30  # of a line; more would run into each other
_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e9e7e1",
    "legend.frameon": False,
}


def _pictures(report: Report) -> dict[str, bytes]:
    """Return the files of all figures by name; the same report gives the same bytes."""
    made = {}
    for figure in report.elements():
        if isinstance(figure, Figure):
            made[f"{figure.name}.csv"] = _csv(figure.frame)
            made[f"{figure.name}.png"] = _draw(figure)
    return made


def _draw(figure: Figure) -> bytes:
    # Only a report needs matplotlib.
    import matplotlib
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas
    from PIL import Image

    with style.context("default"), matplotlib.rc_context(_SETTINGS):
        count = len(figure.panels)
        columns = 2 if count == 4 else min(count, 3)
        rows = math.ceil(count / columns)
        width = 6.4 if columns == 1 else 4.2 * columns
        canvas = Canvas(figsize=(width, 3.1 * rows + 0.9), layout="constrained")
        canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        legend: dict[str, Any] = {}
        for panel, ax in zip(figure.panels, axes, strict=False):
            legend |= _draw_panel(ax, panel)
        for ax in axes[count:]:
            ax.set_axis_off()
        if len(legend) > 1:
            canvas.legend(
                legend.values(),
                legend.keys(),
                loc="outside lower left",
                ncols=max(1, int(width / 2.8)),
                fontsize=8.5,
                handlelength=2.6,
            )
        drawn = io.BytesIO()
        canvas.savefig(drawn, format="png", dpi=200, metadata={"Software": None})
    # Enough colours for lines and bands, at a third of the bytes.
    light = io.BytesIO()
    Image.open(drawn).convert("RGB").quantize(96).save(light, "png", optimize=True)
    return light.getvalue()


def _draw_panel(ax: Any, panel: Panel) -> dict[str, Any]:
    """Draw the series of a panel; return the handles of its legend by label."""
    ax.set(
        title=panel.title,
        xlabel=panel.x_label,
        ylabel=panel.y_label,
        xscale=panel.x_scale,
        yscale=panel.y_scale,
    )
    legend = {}
    if panel.shares:
        ax.set(xlim=(0, 1), ylim=(0, 1))
        (legend["equal"],) = ax.plot([0, 1], [0, 1], color="#8a8d91", linestyle=":")
    for series in panel.series:
        colour = _COLOURS[series.slot % len(_COLOURS)]
        marker = _MARKERS[series.slot % len(_MARKERS)]
        label = series.label
        line: Any = "none" if panel.shares else "-"
        if not series.in_paper:
            label += " (not in the paper)"
            line = (0, (1.5, 1.5))
        marked = series.in_paper and len(series.x) <= _MOST_MARKERS
        (legend[label],) = ax.plot(
            series.x,
            series.y,
            color=colour,
            markersize=5,
            markeredgewidth=0,
            marker=marker if marked else None,
            linestyle=line,
        )
        if series.error is not None and panel.shares:
            ax.errorbar(
                series.x,
                series.y,
                series.error,
                fmt="none",
                ecolor=colour,
                elinewidth=0.9,
                capsize=2,
            )
        elif series.error is not None:
            y, error = np.array(series.y), np.array(series.error)
            ax.fill_between(
                series.x, y - error, y + error, color=colour, alpha=0.15, linewidth=0
            )
    return legend
