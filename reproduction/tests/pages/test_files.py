import io
import os
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from example_report import PAPER, example_cells, example_report

from sparseauc_paper.comparison import Comparison
from sparseauc_paper.pages import (
    Figure,
    Listing,
    Note,
    Panel,
    Report,
    Section,
    Series,
    drawing,
    write_report,
)
from sparseauc_paper.pages.files import files, to_csv, to_markdown
from sparseauc_paper.pages.html import render


def one(*elements):
    return Report("Title", "Lead.", [Section("only", "Only", elements)])


def listing(**columns):
    return Listing("t", "Title", "Caption.", pd.DataFrame(columns))


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


KINDS = ("csv", "md")
EXPECTED = sorted(
    [
        *(f"tables/{n}.{k}" for n in ("table1", "audit-switches", "markers") for k in KINDS),
        *(f"figures/{n}.{k}" for n in ("figure-example", "path") for k in ("csv", "png", "svg")),
        "report.html", "report.md",
    ]
)  # fmt: skip


@pytest.mark.slow
def test_a_report_becomes_a_page_and_files_beside_it(report, tmp_path):
    written = write_report(report, tmp_path / "new" / "folder")
    assert written[0] == tmp_path / "new" / "folder" / "report.html"
    assert tree(tmp_path / "new" / "folder") == EXPECTED
    assert sorted(written) == sorted(tmp_path / "new" / "folder" / name for name in EXPECTED)
    # Every link from the page leads to a file.
    links = re.findall(r'href="((?:(?:tables|figures)/|report)[^"#]+)"', written[0].read_text())
    assert {*links, "report.html"} == set(EXPECTED)
    # Others may read what was written, as far as the user's mask lets them.
    mask = os.umask(0)
    os.umask(mask)
    assert {path.stat().st_mode & 0o777 for path in written} == {0o666 & ~mask}


def test_page_alone(report, tmp_path):
    (page,) = write_report(report, tmp_path, static=False)
    assert tree(tmp_path) == ["report.html"]
    assert "tables/" not in page.read_text()


@pytest.fixture(scope="module")
def made():
    return files(example_report())


@pytest.mark.slow
def test_same_report_same_bytes(report, made):
    assert files(report) == made


def test_csv_has_all_digits(report):
    cells = example_cells()
    table = Comparison("t", "T", "C", cells)
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(to_csv(table)), float_precision="round_trip"), cells
    )
    text = 'a "b", c\nd — π'
    assert pd.read_csv(io.StringIO(to_csv(listing(x=[text]))))["x"].tolist() == [text]


def test_comparison_in_markdown():
    cells = example_cells().query("column == 'k* = 80' and group == 'AUC'").set_index("method")
    cells.loc["SHT-AUC", ["mean", "se", "printed", "difference"]] = [0.9, 0.01, 0.95, -4.0]
    lines = to_markdown(Comparison("t", "T", "C", cells.reset_index())).splitlines()
    assert lines[:6] == ["### T", "", "C", "", "| AUC | k\\* = 80 |", "| :--- | ---: |"]
    assert lines[6] == (
        "| SHT-AUC | **★ 0.900 ± 0.010**<br>printed 0.950 (sd 0.080) ☆<br>*−4.0 SE* |"
    )
    assert re.fullmatch(
        r"\| SOLAM \| –<br>printed 0.691 \(sd [0-9.]+\)<br>25 of 25 failed \|", lines[10]
    )
    assert lines[12].endswith("<br>not printed |")
    assert lines[13].startswith("| SparseAUCClassifierCV *(not in the paper)* | 0.")
    assert lines[-1].startswith("Mean ± standard error; ★ marks the best")


def test_a_mean_over_fewer_values_is_not_called_the_best():
    cells = example_cells().query("column == 'k* = 80' and group == 'AUC'").set_index("method")
    cells.loc[["SHT-AUC", "StoIHT"], "mean"] = [0.99, 0.98]
    for n, best in ((25, "SHT-AUC"), (10, "StoIHT")):
        cells.loc["SHT-AUC", ["n", "failed"]] = [n, 0]
        text = to_markdown(Comparison("t", "T", "C", cells.reset_index()))
        (line,) = (line for line in text.splitlines() if "**★" in line)
        assert line.startswith(f"| {best} |")


def test_markdown_shows_text_as_it_is():
    text = to_markdown(listing(**{"a|b": ["<b>*x*</b>\nnext", "c_d"]}))
    assert text.splitlines()[4:] == [
        "| a\\|b |",
        "| :--- |",
        "| \\<b\\>\\*x\\*\\</b\\> next |",
        "| c\\_d |",
    ]


def test_captions_keep_their_code():
    table = Listing("t", "T", "Run `a_b` on x_y", pd.DataFrame({"a": [1]}))
    assert to_markdown(table).splitlines()[2] == "Run `a_b` on x\\_y"


def test_pictures_are_pictures(made):
    from matplotlib import pyplot as plt

    open_before = plt.get_fignums()

    picture = plt.imread(io.BytesIO(made["figures/figure-example.png"]))
    assert picture.shape[0] > 800
    assert picture[..., :3].min() < 0.3  # something is drawn
    drawing = ElementTree.fromstring(made["figures/figure-example.svg"])
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert plt.get_fignums() == open_before  # nothing of it is left to show in a window


def test_figures_as_numbers_and_the_whole_as_markdown(report, made):
    figure = next(e for s in report.sections for e in s.elements if isinstance(e, Figure))
    content = io.BytesIO(made[f"figures/{figure.name}.csv"])
    frame = pd.read_csv(content, float_precision="round_trip")
    points = [(s.label, y) for panel in figure.panels for s in panel.series for y in s.y]
    assert frame["series"].tolist() == [label for label, _ in points]
    np.testing.assert_array_equal(frame["y"], [y for _, y in points])
    text = made["report.md"].decode()
    assert text.startswith(f"# {report.title}\n")
    for section in report.sections:
        assert f"## {section.heading}\n" in text
        for element in section.elements:
            if not isinstance(element, Note):
                assert f'<a id="{element.name}"></a>' in text
    assert f"(figures/{figure.name}.svg)" in text


def test_links_to_places_on_the_page():
    table = listing(x=["[Table I](#table1)", "[a](https://b)", "[b](#c) and more"])
    text = to_markdown(table)
    assert "| [Table I](#table1) |" in text
    assert r"\[a\](https://b)" in text
    page = render(one(table))
    assert '<a href="#table1">Table I</a>' in page
    assert "[b](#c) and more" in page


def test_a_users_settings_neither_matter_nor_change(report, made):
    import matplotlib as mpl

    figure = report.sections[1].elements[-1]
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        alone = files(one(figure))
        assert {n: c for n, c in alone.items() if n != "report.md"}.items() <= made.items()
        assert mpl.rcParams["font.size"] == 20


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_figures_nobody_would_wish_for():
    nothing = Panel("", "x", "y", [])
    gaps = Panel("", "x", "y", [Series("a", [np.nan, 1], [1, np.inf], error=[1, np.nan])])
    below = Panel("", "x", "y", [Series("a", [0, -1], [0, -1])], x_log=True, y_log=True)
    bars = Panel("", "x", "y", [Series("b", [np.nan], [1], style="bars")], x_log=True)
    one_bar = Panel("", "x", "y", [Series("b", [10], [1], [2], style="bars")], x_log=True)
    odd = "$\\frac{_a 基因 <b>&"
    text = Panel(odd, odd, odd, [Series(odd, [1], [1]), Series("_hidden", [1], [1])])
    names = Panel("", "", "", [Series("c", [0, 1, 7], [1, 2, 3], style="bars")], x_names=[odd, "b"])
    panels = [nothing, gaps, below, bars, one_bar, text, names]
    made = files(one(Figure("all", odd, odd, panels), Figure("none", odd, odd, [nothing])))
    pictures = [content for name, content in made.items() if name.endswith(("png", "svg"))]
    assert len(pictures) == 4
    assert all(len(content) > 1000 for content in pictures)


def test_legend_keeps_labels_that_start_with_an_underscore():
    def picture(label):
        series = [Series(label, [1, 2], [1, 2]), Series("b", [1, 2], [2, 1])]
        return files(one(Figure("f", "T", "C", [Panel("", "x", "y", series)])))["figures/f.svg"]

    assert picture("_a") != picture("_c")


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OSError, match=r"cannot write the report to .*taken.*name another folder"):
        write_report(one(Note("x")), tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=f"{tmp_path}.*Permission denied"):
        write_report(one(Note("x")), tmp_path)


def test_the_papers_methods_are_told_from_others_in_markdown():
    text = to_markdown(Comparison("t", "T", "C", example_cells()))
    marked = set(re.findall(r"^\| (.+?)(?: \*\(not in the paper\)\*)? \|.*$", text, re.MULTILINE))
    assert set(PAPER) <= marked
    assert text.count("*(not in the paper)*") == 8


def test_a_legend_stays_within_its_picture():
    """Seven labels in six columns stand two in the first column and one in each of the others."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

    labels = [
        "printed, n = 1000: no bound", "printed, n = 10⁸", "measured, worst columns found",
        "measured, random columns", "1: Theorem 1 is silent above", "contraction of a step",
        "measured, certain",
    ]  # fmt: skip
    canvas = Canvas(figsize=(12.6, 4.0))
    legend = canvas.legend(
        [Line2D([], [])] * len(labels), labels, ncols=drawing._columns_that_fit(labels, 12.6),
        fontsize=8.5, handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip
    assert legend.get_window_extent().width <= 12.6 * canvas.dpi


@pytest.mark.parametrize(("n", "columns"), [(3, 3), (7, 7), (8, 4), (9, 5), (15, 5)])
def test_rows_of_a_legend_are_full(n, columns):
    assert drawing._columns_that_fit(["SPAM-l1"] * n, 8.4) == columns
