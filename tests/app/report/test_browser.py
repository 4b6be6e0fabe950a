"""Pages in a real browser: Debian's chromium, driven by Playwright."""

import struct
from xml.etree import ElementTree

import pandas as pd
import pytest
from browser import DESK, PHONE, Visit, check_page

from sparseauc_app.pages import drawing
from sparseauc_app.pages.elements import (
    Code,
    Figure,
    Listing,
    Note,
    Panel,
    Report,
    Section,
    Series,
)
from sparseauc_app.pages.html import render

NASTY = "</script><img src=x onerror=alert(1)> & \"quotes\" 'too' <!-- {{ 7*7 }} $x_1$ %{x} 基因 π"


def write(report, folder):
    path = folder / "report.html"
    path.write_text(render(report), "utf-8")
    return path


@pytest.fixture
def page_path(report, tmp_path):
    return write(report, tmp_path)


def test_all_that_a_page_must_do(open_page, page_path, tmp_path):
    check_page(open_page, page_path, tmp_path)


def test_page_without_figures_or_facts(open_page, tmp_path):
    table = Listing("empty", "Nothing", "No rows.", pd.DataFrame({"a": [], "b": []}))
    page = Report("Short", "", [Section("one", "One", [Note("A word."), table])])
    path = write(page, tmp_path)
    assert path.stat().st_size < 60_000
    check_page(open_page, path, tmp_path)


def test_choice_of_colours_is_remembered(open_page, page_path):
    visit = open_page(page_path)
    assert (
        visit.page.locator("#page-theme").get_attribute("aria-label")
        == "Switch to dark colours"
    )
    visit.toggle()
    chosen = visit.background(), visit.ink()
    visit.page.reload()
    assert (visit.background(), visit.ink()) == chosen


def test_without_local_storage_the_page_still_works(chromium, page_path):
    context = chromium.new_context(viewport={"width": DESK, "height": 900})
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied'); }})"
    )
    visit = Visit.to(context.new_page(), page_path)
    before = visit.background()
    visit.toggle()
    assert visit.background() != before
    visit.check_visible()
    visit.check_quiet()
    context.close()


def test_page_follows_the_system_while_it_is_open(open_page, page_path):
    visit = open_page(page_path, scheme="light")
    before = visit.background(), visit.ink()
    visit.page.emulate_media(color_scheme="dark")
    assert visit.background() != before[0]
    assert visit.ink() != before[1]


def test_keyboard_reaches_the_report_first(open_page, page_path):
    visit = open_page(page_path)
    visit.page.keyboard.press("Tab")
    skip = visit.page.locator(".skip")
    assert skip.evaluate("link => link === document.activeElement")
    assert skip.bounding_box()["y"] >= 0
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "page-main"


def test_legend_hides_a_series_in_all_panels(open_page, page_path, report):
    visit = open_page(page_path)
    figure = visit.page.locator("#figure-example")
    entry = figure.locator(".legend button").first
    own = figure.locator(f".plot g[data-series='{entry.get_attribute('data-series')}']")
    assert own.count() == len(report.sections[0].elements[3].panels)
    assert own.locator("visible=true").count() == own.count()
    entry.focus()
    visit.page.keyboard.press("Enter")
    assert entry.get_attribute("aria-pressed") == "false"
    assert own.locator("visible=true").count() == 0
    assert figure.locator(".plot g[data-series]").locator("visible=true").count() > 0
    entry.click()
    assert entry.get_attribute("aria-pressed") == "true"
    assert own.locator("visible=true").count() == own.count()


def test_a_figure_is_saved_as_it_is_shown(open_page, page_path, tmp_path):
    visit = open_page(page_path, scheme="dark")
    figure = visit.page.locator("#figure-example")
    entries = figure.locator(".legend button")
    entries.first.click()  # which hides a series
    before = visit.background(), visit.ink()
    saved = {}
    for kind in ("svg", "png"):
        with visit.page.expect_download() as download:
            figure.locator(f"button.save[data-kind={kind}]").click()
        assert download.value.suggested_filename == f"figure-example.{kind}"
        saved[kind] = tmp_path / f"saved.{kind}"
        download.value.save_as(saved[kind])
    assert (visit.background(), visit.ink()) == before  # dark as it was
    visit.check_quiet()

    text = saved["svg"].read_text()
    root = ElementTree.fromstring(text)
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    words = ["".join(one.itertext()).strip() for one in texts]
    shown = [
        figure.locator("h3").inner_text(),
        *figure.locator(".panel-title").all_inner_texts(),
    ]
    shown += [
        one.strip() for one in figure.locator(".plot svg text").all_text_contents()
    ]
    assert set(filter(None, shown)) <= set(words)
    assert {one.partition("\n")[0] for one in entries.all_inner_texts()} <= set(words)
    assert "var(" not in text
    assert drawing.LIGHT["text"] in text
    assert drawing.DARK["text"] not in text
    slot = entries.first.get_attribute("data-series")
    hidden = [g for g in root.iter() if g.get("data-series") == slot]
    assert hidden
    assert all("hidden" in g.get("class", "") for g in hidden)
    header = saved["png"].read_bytes()[:24]
    assert header.startswith(b"\x89PNG")
    size = struct.unpack(">II", header[16:24])
    assert size == (3 * int(root.get("width")), 3 * int(root.get("height")))


def test_a_table_is_sorted_by_the_numbers_behind_it(open_page, tmp_path):
    frame = pd.DataFrame({"name": ["b", "a", "c"], "value": [-2.0, 1e-7, 30.0]})
    page = Report("T", "", [Section("s", "S", [Listing("t", "T", "C", frame)])])
    visit = open_page(write(page, tmp_path))
    heads = visit.page.locator("#t thead th")

    def names():
        return visit.page.locator("#t tbody th").all_text_contents()

    heads.nth(1).get_by_role("button").click()
    assert (names(), heads.nth(1).get_attribute("aria-sort")) == (
        ["c", "a", "b"],
        "descending",
    )
    heads.nth(1).get_by_role("button").click()
    assert (names(), heads.nth(1).get_attribute("aria-sort")) == (
        ["b", "a", "c"],
        "ascending",
    )
    heads.nth(0).get_by_role("button").click()
    assert names() == ["c", "b", "a"]
    assert heads.nth(1).get_attribute("aria-sort") is None


def test_code_is_copied(open_page, tmp_path):
    page = Report("T", "", [Section("s", "S", [Code("SQL", "SELECT 1\n  AS <one>")])])
    visit = open_page(write(page, tmp_path))
    visit.page.get_by_role("button", name="Copy").click()
    assert visit.page.evaluate("String(getSelection())") == "SELECT 1\n  AS <one>"
    visit.check_quiet()


def test_without_scripts_everything_is_there(chromium, page_path):
    context = chromium.new_context(
        viewport={"width": DESK, "height": 900}, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(page_path.as_uri())
    assert page.locator(".plot svg").count() == 5
    assert page.locator("table").count() == 3
    assert page.locator(".plot svg").first.is_visible()
    assert "SHT-AUC" in page.locator(".readings title").first.text_content()
    context.close()


def test_wide_tables_scroll_inside_their_box(open_page, page_path):
    visit = open_page(page_path, width=PHONE)
    box = visit.page.locator("#table1 .scroll")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert box.get_attribute("tabindex") == "0"  # so that the arrow keys scroll it
    box.evaluate("box => { box.scrollLeft = 200; }")
    # The method stays in sight.
    name = visit.page.locator("#table1 tbody th[scope=row]").first
    assert abs(name.bounding_box()["x"] - box.bounding_box()["x"]) < 2


def test_any_text_is_only_text(open_page, tmp_path):
    panel = Panel(
        NASTY,
        NASTY,
        NASTY,
        [Series(NASTY, [0, 1], [1, 2]), Series("b", [0, 1], [2, 1])],
    )
    frame = pd.DataFrame({NASTY: [NASTY]})
    page = Report(
        NASTY,
        NASTY,
        [
            Section(
                "one",
                NASTY,
                [
                    Note(NASTY, "caution"),
                    Listing("table", NASTY, NASTY, frame),
                    Figure("plot", NASTY, NASTY, [panel]),
                ],
            )
        ],
        {NASTY: NASTY},
    )
    path = write(page, tmp_path)
    visit = open_page(path)
    visit.check_quiet()
    visit.check_visible()
    assert visit.page.title() == NASTY
    for place in (
        "h1",
        "h2",
        ".caution p + p",
        "#table td, #table tbody th",
        "dt",
        "dd",
    ):
        assert visit.page.locator(place).first.text_content() == NASTY, place
    for place in (".legend button span", ".panel-title"):
        assert visit.page.locator(place).first.text_content().strip() == NASTY, place
    assert NASTY in visit.page.locator(".plot svg text").all_text_contents()
    assert visit.page.locator("img").count() == 0
    visit.page.locator(".plot svg").hover()
    visit.check_quiet()


def test_hovering_a_point_names_its_series(open_page, page_path):
    visit = open_page(page_path)
    plot = visit.page.locator("#path .plot")
    plot.scroll_into_view_if_needed()
    label = visit.page.locator(".reading")
    assert not label.is_visible()
    point = plot.locator(".readings circle").nth(2).bounding_box()
    visit.page.mouse.move(
        point["x"] + point["width"] / 2 + 3, point["y"] + point["height"] / 2
    )
    assert label.is_visible()
    assert label.text_content() == "SHT-AUC\ncolumns k: 5\nAUC: 0.84 (0.82 to 0.86)"
    assert plot.locator(".readings .here").count() == 1
    visit.page.mouse.move(5, 5)
    assert not label.is_visible()
    visit.check_quiet()
