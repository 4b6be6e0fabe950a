import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from example_report import example_report
from hypothesis import given
from hypothesis import strategies as st

from sparseauc_app.formatting import round_ticks
from sparseauc_app.pages import drawing
from sparseauc_app.pages.elements import (
    Figure,
    Listing,
    Note,
    Panel,
    Report,
    Section,
    Series,
)
from sparseauc_app.pages.html import columns, number, render, to_csv

VOID = {"meta", "br", "wbr", "link", "img", "input", "hr"}


class Outline(HTMLParser):
    """All elements of a page, with their attributes and the text inside them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        element = {
            "tag": tag,
            "text": "",
            "attrs": dict(attrs),
            "inside": list(self.open),
        }
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop()["tag"] == tag

    def handle_startendtag(self, tag, attrs):
        self.elements.append(
            {"tag": tag, "text": "", "attrs": dict(attrs), "inside": list(self.open)}
        )

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        return [
            element
            for element in self.elements
            if element["tag"] == tag and attributes.items() <= element["attrs"].items()
        ]


@pytest.fixture(scope="module")
def page():
    return render(example_report())


@pytest.fixture(scope="module")
def outline(page):
    return Outline(page)


def one(*elements, **facts):
    return Report("Title", "Lead.", [Section("only", "Only", elements)], facts)


def test_every_element_is_closed_and_every_anchor_unique(outline):
    assert outline.open == []
    anchors = [e["attrs"]["id"] for e in outline.elements if "id" in e["attrs"]]
    assert len(anchors) == len(set(anchors))
    for element in outline.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert element["attrs"].get(name, anchors[0]) in anchors
    targets = [link["attrs"]["href"] for link in outline.all("a")]
    inside = [target for target in targets if not target.startswith("data:text/csv")]
    assert all(target.startswith("#") for target in inside)
    assert {target[1:] for target in inside} <= set(anchors)
    # What a picture refers to is in the page too.
    used = [
        e["attrs"]["clip-path"][5:-1]
        for e in outline.all("g")
        if "clip-path" in e["attrs"]
    ]
    assert used
    assert set(used) <= set(anchors)


def test_contents_name_all_sections_tables_and_figures_in_order(outline, report):
    (nav,) = outline.all("nav")
    links = [link["text"] for link in outline.all("a") if nav in link["inside"]]
    expected = []
    for section in report.sections:
        expected.append(section.heading)
        expected += [e.title for e in section.elements if not isinstance(e, Note)]
    assert links == [*expected, "How this was made"]


def test_landmarks_and_headings(outline):
    assert [len(outline.all(tag)) for tag in ("header", "nav", "main", "h1")] == [
        1,
        1,
        1,
        1,
    ]
    levels = [
        int(e["tag"][1]) for e in outline.elements if re.fullmatch("h[1-6]", e["tag"])
    ]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert outline.all("html")[0]["attrs"]["lang"] == "en"


def test_tables_have_captions_and_scopes(outline):
    for table in outline.all("table"):
        inside = [element for element in outline.elements if table in element["inside"]]
        assert [element["tag"] for element in inside].count("caption") == 1
        for element in inside:
            if element["tag"] == "th":
                assert element["attrs"]["scope"] in {"col", "row", "rowgroup"}


def test_plots_say_what_they_show(outline):
    labels = [
        element["attrs"]["aria-label"]
        for element in outline.all("div", role="img")
        if element["attrs"]["class"] == "plot"
    ]
    assert len(labels) == 5
    assert labels[1] == "Convergence: F(w) − F(w*) against epoch; SHT-AUC, FSAUC, SOLAM"


def test_nothing_comes_from_elsewhere_or_goes_there(page, outline):
    assert len(page) < 1_500_000
    assert not re.findall(r"(?:https?:)?//[a-z]+\.[a-z]+", page, re.IGNORECASE)
    for element in outline.elements:
        assert "src" not in element["attrs"]
        assert element["tag"] not in {
            "link",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
        }
    style = "".join(element["text"] for element in outline.all("style"))
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = outline.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["attrs"]["content"].startswith("default-src 'none';")


def test_pictures_take_their_colours_from_the_page(outline):
    shapes = [
        e for e in outline.elements if any(one["tag"] == "svg" for one in e["inside"])
    ]
    styles = " ".join(e["attrs"].get("style", "") for e in shapes)
    assert "var(--series-0)" in styles
    assert not re.findall("#[0-9a-fA-F]{3,6}", styles)
    assert "font-family" not in styles


def test_csv_in_the_page_is_the_table(report, outline):
    links = {e["attrs"].get("download"): e["attrs"]["href"] for e in outline.all("a")}
    for element in report.sections[1].elements:
        if isinstance(element, Listing):
            head, _, body = links[f"{element.name}.csv"].partition(",")
            assert head == "data:text/csv;charset=utf-8"
            assert unquote(body) == to_csv(element)


def test_listing_sets_numbers_text_and_gaps():
    frame = pd.DataFrame(
        {
            "name": ["a", None],
            "auc": [0.87654, np.nan],
            "tiny": [-3.21e-5, 0.0],
            "count": [3.0, np.nan],
            "whole": [12, -4],
            "known": [True, False],
            "mixed": [np.int64(3), "x"],
            "large": [12345678.9, np.inf],
        }
    )
    shown = {column.name: column for column in columns(Listing("l", "L", "C", frame))}
    assert {name: column.values for name, column in shown.items()} == {
        "name": ["a", "–"],
        "auc": ["0.877", "–"],
        "tiny": ["−3.2×10⁻⁵", "0.000"],
        "count": ["3", "–"],
        "whole": ["12", "−4"],
        "known": ["yes", "no"],
        "mixed": ["3", "x"],
        "large": ["1.2×10⁷", "∞"],
    }
    numeric = {name for name, column in shown.items() if column.numeric}
    assert numeric == {"auc", "tiny", "count", "whole", "large"}


def test_listing_with_a_column_twice():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert [c.values for c in columns(Listing("l", "L", "C", frame))] == [["1"], ["2"]]


# Above 1.7e308 what is shown, rounded to two digits, is more than a float can be read
# back to.
@given(st.floats(-1.7e308, 1.7e308), st.integers(0, 6))
def test_a_shown_number_is_near_the_number(value, digits):
    text = number(value, digits).replace("−", "-")
    plain = text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")).replace(
        "×10", "e"
    )
    shown = float(plain)
    assert abs(shown - value) <= max(
        0.5 * 10.0**-digits * (abs(value) < 1e6), 0.051 * abs(value)
    )
    assert (shown == 0) == (value == 0)


@given(st.text())
def test_any_text_comes_out_as_it_went_in(text):
    # Every kind of place where text can stand; the parser undoes what the escaping did.
    safe = text.replace("`", "").replace("\r", "").replace("\0", "")
    element = Listing("t", safe, "C", pd.DataFrame({safe: [safe]}))
    outline = Outline(render(Report(safe, "", [Section("s", safe, [element])])))
    for tag in ("title", "h1", "h2", "h3", "caption"):
        assert outline.all(tag)[0]["text"] == safe
    cells = [e for e in outline.elements if e["tag"] == "th"]
    assert [cell["text"] for cell in cells] == [safe, safe or ""]


def test_code_and_paragraphs_in_notes():
    main = render(one(Note("Run `a < b`.\n\nThen *stop*.")))
    assert "<p>Run <code>a &lt; b</code>.</p>\n<p>Then *stop*.</p>" in main
    assert "<p>One ` alone</p>" in render(one(Note("One ` alone")))


def test_pictures_cannot_be_left():
    label = "</svg></script><!--\u2028 & 'x'"
    figure = Figure(
        "f", "T", "C", [Panel("", label, "y", [Series(label, [1, 2], [3, np.nan])])]
    )
    outline = Outline(render(one(figure)))
    assert outline.open == []
    (point,) = outline.all("circle", r="7")
    titles = [e["text"] for e in outline.all("title") if e["inside"][-1:] == [point]]
    assert titles == [f"{label}\n{label}: 1\ny: 3"]


def test_control_characters_do_not_break_a_picture():
    odd = "a\x00\x1b[2Jb"
    panel = Panel(odd, odd, odd, [Series(odd, [0, 1], [3, 4])], x_names=[odd, "b"])
    outline = Outline(render(one(Figure("f", "T", "C", [panel]))))
    texts = [e["text"] for e in outline.all("text")]
    assert r"a\x00\x1b[2Jb" in texts


@pytest.mark.slow
def test_same_report_same_page(report, page, tmp_path):
    assert render(report) == page
    # Another process hashes strings in another order.
    code = (
        "from example_report import example_report as r; "
        "from sparseauc_app.pages.html import render; "
    )
    code += "import sys; sys.stdout.buffer.write(render(r()).encode())"
    outcome = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    assert outcome.stdout == page.encode()


@pytest.mark.slow
def test_importing_reports_imports_no_libraries_for_them():
    code = "import sys, sparseauc_app.pages; "
    code += "print([n for n in ('jinja2', 'matplotlib') if n in sys.modules])"
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert outcome.stdout == "[]\n"


def readings(page):
    outline = Outline(page)
    points = outline.all("circle", r="7")
    return [e["text"] for e in outline.all("title") if e["inside"][-1] in points]


def test_readings_are_rounded_and_end_where_the_interval_does():
    panel = Panel(
        "", "x", "y",
        [
            Series("a", [0.123456789], [2 / 3]),
            Series("b", [1], [0.5], [0.4], [0.75], style="points"),
            Series("c", [1], [1], text=["as told"]),
            Series("d", [0, 1], [1, 2], style="bars"),
        ],
        x_names=["first", "second"],
    )  # fmt: skip
    assert readings(render(one(Figure("f", "T", "C", [panel])))) == [
        "a\nx: 0.1235\ny: 0.6667",
        "b\nsecond\ny: 0.5 (0.4 to 0.75)",
        "as told",
        "d\nfirst\ny: 1",
        "d\nsecond\ny: 2",
    ]


def test_long_series_keep_a_few_hundred_readings():
    series = Series("a", range(5000), np.sin(np.arange(5000)))
    assert (
        len(readings(render(one(Figure("f", "T", "C", [Panel("", "", "", [series])])))))
        == 200
    )


def test_a_label_has_the_same_colour_in_all_panels():
    panels = [
        Panel("", "", "", [Series(x, [0, 1], [0, 1]) for x in labels])
        for labels in ("ab", "bc")
    ]
    drawn = Outline(render(one(Figure("f", "T", "C", panels))))
    strokes = {}
    for group in drawn.all("g"):
        if "data-series" in group["attrs"]:
            found = strokes.setdefault(group["attrs"]["data-series"], set())
            found.add(group["attrs"]["style"])
    assert strokes == {str(j): {f"color: var(--series-{j})"} for j in range(3)}


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(3, 9))
def test_ticks_are_round_and_within_the_axis(low, width, about):
    high = low + width
    ticks = np.array(round_ticks(low, high, about))
    slack = 1e-6 * max(abs(low), abs(high), width)
    assert 1 <= ticks.size <= about + 1
    assert low - slack <= ticks[0]
    assert ticks[-1] <= high + slack
    if ticks.size > 1:
        step = np.diff(ticks).mean()
        assert np.diff(ticks) == pytest.approx(step, rel=1e-6, abs=slack)
        digits = step / 10.0 ** np.floor(np.log10(step) + 1e-9)
        assert (
            min(abs(digits - one) for one in (1, 2, 2.5, 5, 10)) < 1e-3 + slack / step
        )


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [drawing.LIGHT, drawing.DARK])
def test_text_stands_out_from_what_is_behind_it(theme):
    behind = {
        "background": ["text", "quiet", "link", "accent", "caution"],
        "surface": ["text", "quiet", "accent", "caution"],
        "caution-surface": ["text", "caution"],
        "finding-surface": ["text", "finding"],
    }
    for surface, inks in behind.items():
        for ink in inks:
            dark, light = sorted(luminance(theme[name]) for name in (surface, ink))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (surface, ink)
