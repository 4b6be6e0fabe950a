"""A report as Markdown, HTML, CSV and pictures."""

import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sparseauc_paper.estimates import Mean
from sparseauc_paper.page import (
    Figure,
    Note,
    Panel,
    Report,
    Section,
    Series,
    _draw_panel,
    listing,
    to_markdown,
    write_markdown_page,
    write_report,
)
from sparseauc_paper.tables import Cell, comparison

PAPER = ["SHT-AUC", "FSAUC", "SOLAM"]


def example_cells():
    """Means of four methods, one of which is not the paper's, in two columns."""
    return [
        Cell(
            method,
            method in PAPER,
            "AUC",
            column,
            Mean(0.7 + 0.01 * place, 0.012, 24, 25, 0.08),
            Mean(0.7, 0.016, 4, 25, 0.08) if method in PAPER else None,
        )
        for column in ("k* = 20", "k* = 80")
        for place, method in enumerate([*PAPER, "L1 logistic"])
    ]


def one(*elements):
    return Report("Title", "Lead.", [Section("only", "Only", elements)])


def example_figure(name="courses"):
    x = [0.05, 0.1, 0.5]
    many = [
        Series("SHT-AUC", 0, x, [0.1, 0.2, 0.3], error=[0.1, 0.3, 0.1]),
        Series("L1 logistic", 1, x, [0.3, np.nan, 0.1], in_paper=False),
        Series("steps", 2, x, [0.1, 0.1, 0.2], [0.1] * 3, text=["a", "b", "c"]),
    ]
    panels = [
        Panel("Plain", "r", "AUC", many, shares=True),
        Panel("Logarithmic", "r", "AUC", many[:1], "log", "log"),
        Panel("Empty", "r", "AUC", []),
    ]
    return Figure(name, "Courses", "Invented.", panels)


REPORT = Report(
    "Title",
    "Lead.\n\nSee https://example.org/a.",
    [
        Section("first", "First", [Note("plain"), Note("An `a_b` of x_y", "finding")]),
        Section(
            "second",
            "Second",
            [comparison("table1", "Table I", "C", example_cells()), example_figure()],
        ),
    ],
    {"command": "sparseauc reproduce"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    assert write_report(REPORT, folder) == folder / "report.html"
    return folder


def test_the_files_of_a_report(folder):
    found = {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }
    figure = {f"figures/courses.{kind}" for kind in ("csv", "png")}
    assert found == {"report.html", "report.md", "tables/table1.csv", *figure}


def test_same_report_same_bytes(folder, tmp_path):
    write_report(REPORT, tmp_path)
    for path in folder.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes()


def test_csv_has_all_digits(folder):
    table = pd.read_csv(folder / "tables" / "table1.csv")
    pd.testing.assert_frame_equal(table, comparison("", "", "", example_cells()).frame)
    points = pd.read_csv(folder / "figures" / "courses.csv")
    expected = [
        (s.label, y)
        for panel in example_figure().panels
        for s in panel.series
        for y in s.y
    ]
    assert points["series"].tolist() == [label for label, _ in expected]
    np.testing.assert_array_equal(points["y"], [y for _, y in expected])


def test_pictures_are_pictures(folder):
    from matplotlib import pyplot as plt

    picture = plt.imread(folder / "figures" / "courses.png")
    assert picture.shape[0] > 500
    assert picture[..., :3].min() < 0.3  # something is drawn


def test_axes_hold_all_points_and_all_shares():
    from matplotlib.figure import Figure as Canvas

    x = [1.0, 30.0, 500.0]
    for panel in (
        Panel("", "k", "AUC", [Series("a", 0, x, [0.02, 0.5, 4.0])], "log"),
        Panel("", "k", "AUC", [Series("a", 0, x, [0.5, 0.6, 0.55])], y_scale="log"),
    ):
        ax = Canvas().subplots()
        _draw_panel(ax, panel)
        for limits, values in ((ax.get_xlim(), x), (ax.get_ylim(), panel.series[0].y)):
            assert limits[0] <= min(values)
            assert limits[1] >= max(values)
    assert ax.get_ylim()[0] > 0.3, "no more than that"
    ax = Canvas().subplots()
    _draw_panel(ax, Panel("", "", "", [Series("a", 0, x, x)], shares=True))
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


def test_the_whole_as_markdown(folder):
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# Title\n\nLead.\n\nSee <https://example.org/a>.\n")
    assert "\n\nplain\n\n> An `a_b` of x\\_y\n\n" in text
    for place in ("section-first", "section-second", "table1", "courses"):
        assert f'<a id="{place}"></a>' in text
    assert "![Courses](figures/courses.png)" in text
    assert text.endswith("## How this was made\n\ncommand: sparseauc reproduce\n")


def test_the_page_opens_from_disk(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '<a href="#section-second">Second</a>' in page
    assert 'src="data:image/png;base64,' in page
    assert "<table>" in page
    assert set(re.findall(r'(?:src|href)="(?!data:|#)([^"]+)"', page)) == {
        "https://example.org/a",
        "figures/courses.csv",
    }


def test_the_page_for_sphinx(tmp_path):
    long = listing("long", "Long", "C", [{"a": 1.25, "b": "x_y"}], aside=True)
    report = replace(
        REPORT, sections=[*REPORT.sections, Section("third", "Third", [long])]
    )
    page = write_markdown_page(report, tmp_path / "results.md")
    assert page == tmp_path / "results.md"
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "courses.csv",
        "courses.png",
        "long.csv",
    }
    assert (tmp_path / "results" / "long.csv").read_text(
        encoding="utf-8"
    ) == "a,b\n1.25,x_y\n"
    text = page.read_text(encoding="utf-8")
    assert "### Long\n\nC\n\n[The table](results/long.csv)" in text
    assert "x\\_y |" in to_markdown(report, "figures")
    assert "(courses)=\n\n### Courses" in text
    assert (
        "![Courses](results/courses.png)\n\n[The numbers](results/courses.csv)" in text
    )


def altered(**means):
    """The second column of the example, with other means."""
    return [
        cell._replace(mine=replace(cell.mine, **means.get(cell.method, {})))
        for cell in example_cells()
        if cell.column == "k* = 80"
    ]


def test_comparison_in_markdown():
    failed = {"mean": np.nan, "se": np.nan, "n": 0, "failed": 25}
    best = {"mean": 0.6, "se": 0.01}
    cells = altered(**{"SHT-AUC": best, "SOLAM": failed, "L1 logistic": {"mean": 0.5}})
    lines = comparison("t", "T", "C", cells).lines
    assert lines[:2] == ["| AUC | k\\* = 80 |", "| :--- | ---: |"]
    assert lines[2] == (
        "| SHT-AUC | 0.600 ± 0.010<br>printed 0.700 (sd 0.080) ☆<br>*−3.4 SE* |"
    )
    assert (
        lines[3]
        == "| FSAUC | **★ 0.710 ± 0.012**<br>printed 0.700 (sd 0.080) ☆<br>+0.4 SE |"
    )
    assert lines[4] == "| SOLAM | –<br>printed 0.700 (sd 0.080) ☆<br>25 of 25 failed |"
    assert lines[5] == "| L1 logistic *(not in the paper)* | 0.500 ± 0.012 |"
    assert lines[-1].startswith("Mean ± standard error; ★ marks the best")


def test_a_mean_over_fewer_values_is_not_called_the_best():
    for n, best in ((25, "SHT-AUC"), (10, "FSAUC")):
        cells = altered(**{"SHT-AUC": {"mean": 0.99, "n": n}, "FSAUC": {"mean": 0.98}})
        lines = comparison("t", "T", "C", cells).lines
        (line,) = (line for line in lines if "**★" in line)
        assert line.startswith(f"| {best} |")


def test_numbers_and_texts_of_a_listing():
    texts = ["<b>*x*</b>\nnext", "[Table I](#table1)", "[a](https://b)"]
    numbers = [-0.25, 0.00001, 2.5e7]
    wholes = [1.0, np.nan, 3.0]
    lines = [
        {"text": text, "whole": whole, "number": number}
        for text, whole, number in zip(texts, wholes, numbers, strict=True)
    ]
    shown = listing("t", "T", "C", lines).lines
    assert shown[1] == "| :--- | ---: | ---: |"
    assert shown[2] == r"| \<b\>\*x\*\</b\> next | 1 | −0.250 |"
    assert shown[3] == "| [Table I](#table1) | – | 1.0×10⁻⁵ |"
    assert shown[4] == r"| \[a\](https://b) | 3 | 2.5×10⁷ |"
    rounded = listing("t", "T", "C", [{"x": 0.012}, {"x": 12.4}], "#.2g").lines
    assert rounded[2:] == ["| 0.012 |", "| 12 |"]


def test_a_users_settings_neither_matter_nor_change(folder, tmp_path):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        write_report(one(example_figure()), tmp_path)
        assert mpl.rcParams["font.size"] == 20
    name = "figures/courses.png"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.filterwarnings("error")
def test_figures_nobody_would_wish_for(tmp_path):
    gaps = Panel(
        "", "x", "y", [Series("a", 0, [np.nan, 1], [1, np.inf], error=[1, np.nan])]
    )
    below = Panel("", "x", "y", [Series("a", 0, [0, 1], [-1, 2])], "log", "log")
    figure = Figure("all", "T", "C", [gaps, below])
    write_report(one(figure), tmp_path)
    assert len((tmp_path / "figures" / "all.png").read_bytes()) > 1000


def test_no_figures_at_all():
    assert Figure("none", "T", "C", [Panel("", "x", "y", [])]).frame.empty
    assert to_markdown(one(Note("x")), "figures").endswith("## Only\n\nx\n")
    assert io.StringIO(to_markdown(one(), "figures")).readline() == "# Title\n"
