"""What is handed over to people without this library: page, workbook and R score as predict does.

The reference is ``score_rows``, by which the command and ``ScoreCard`` score. Browser,
R and LibreOffice are the real ones; a test skips where its program is not installed.
"""

import io
import re
import shutil
import subprocess
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pytest
from calculator import computed, read_numbers, with_node, with_office

from sparseauc.columns import Curve, Levels, Line, Steps
from sparseauc_app.column_types import ColumnType
from sparseauc_app.export import to_html, to_r, to_sql, to_xlsx
from sparseauc_app.export.effects import effects_of
from sparseauc_app.export.nomogram import make_nomogram
from sparseauc_app.export.page import _read
from sparseauc_app.reading.scoring import score_rows
from sparseauc_app.reading.source import DataError, source_of
from sparseauc_app.scorecard import RiskMap, ScoreCard, Term

AWKWARD = 'it\'s "a", <b> & \\n µ ≥ 5'
SUMMARY = {"rows": 900, "positives": 120, "source": "a.csv",
           "auc": {"auc": 0.81, "low": 0.77, "high": 0.85, "confidence": 0.95}}  # fmt: skip


WARDS = ("A", "B 'x'", AWKWARD, "a")


def make(fill):
    """A card with every kind of effect; with ``fill`` none of them needs a value."""
    encodings = {
        "urea (mmol/L)": Curve((3.0, 8.0, 21.0), 2.0, 30.0, 0.4, (0.1 + 0.2, -0.25)),
        "age [years]": Line(61.0, 18.0, 97.0, coef=(-1 / 30,)),
        "pulse": Steps((80.5, 120.0), 85.0, 40.0, 190.0, coef=(0.1, 0.8, 1.9)),
        "ward": Levels(WARDS, True, 0, (0, 1, 2, 3, 4), (0.9, -0.45, 0.2, 0.125)),
        "smoker": Line(0.22, 0.0, 1.0, "boolean", (0.31,)),
        "d-dimer": Line(512.5, 0.0, 9000.0, coef=(2e-4,)),
        "grade": Levels(("1", "2", "3"), False, 2, (0, 1, 2, 2), (-0.6, 0.3)),
        "CRP (mg/L)": Curve((5.0, 40.0, 160.0), 0.5, 250.0, 0.9, (0.004, 0.02)),
    }
    terms = tuple(Term(name, one, not fill) for name, one in encodings.items())
    types = {
        "urea (mmol/L)": ColumnType("number", low=1.5, high=44.0),
        "age [years]": ColumnType("number", low=18.0, high=97.0),
        "pulse": ColumnType("number", low=40.0, high=190.0),
        "ward": ColumnType("text", levels=WARDS),
        "smoker": ColumnType("boolean", low=0.0, high=1.0),
        "d-dimer": ColumnType("number", low=0.0, high=9000.0, limits=True),
        "grade": ColumnType("text", levels=("1", "2", "3")),
        "CRP (mg/L)": ColumnType("number", low=0.2, high=410.0),
    }
    return ScoreCard(terms, 0.75, "no", "yes", "death", tuple(t.name for t in terms), SUMMARY,
                     "0.0", types, RiskMap(1.3, -2.1, 120, 780))  # fmt: skip


@dataclass
class Drawn:
    """Rows, one value of which in eight is missing."""

    rows: list

    @classmethod
    def of(cls, n, seed, unseen=True):
        rng = np.random.default_rng(seed)
        texts = [*WARDS, *(["never seen"] if unseen else [])]
        rows = [
            {
                "urea (mmol/L)": round(float(rng.lognormal(2, 1)), 6),
                "age [years]": float(rng.integers(10, 100)),
                "pulse": float(rng.choice([80.5, 120.0, rng.normal(90, 25)])),
                "ward": str(rng.choice(texts)),
                "smoker": bool(rng.random() < 0.3),
                "d-dimer": str(rng.choice([">4000", "≤ 250", "12.5", "n/a", "731"])),
                "grade": str(rng.choice(["1", "2", "3"])),
                "CRP (mg/L)": round(float(rng.lognormal(2, 1.5)), 5),
            }
            for _ in range(n)
        ]
        for row in rows:
            for name in row:
                if rng.random() < 0.125:
                    row[name] = None
        return cls(rows)

    def frame(self):
        kinds = {"ward": object, "d-dimer": object, "grade": object, "smoker": object}
        return pd.DataFrame(self.rows).astype(kinds)

    def scores(self, card):
        return score_rows(source_of(self.frame()), card).scores


def assert_equal(found, expected):
    found = np.array(
        [np.nan if value is None else value for value in found], np.float64
    )
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    assert known.sum() > 0
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------ browser


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as play:
        try:
            started = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except api.Error:
            pytest.skip("no Chromium")
        yield started
        started.close()


@pytest.fixture
def open_page(browser, tmp_path):
    opened = []

    def go(card, **settings):
        (tmp_path / "calculator.html").write_text(to_html(card), "utf-8")
        page = browser.new_page(**settings)
        opened.append(page)
        problems = []
        page.on("console", lambda told: problems.append(told.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda asked: problems.append(asked.url)
                if not asked.url.startswith("file:") else None)  # fmt: skip
        page.goto((tmp_path / "calculator.html").as_uri())
        page.problems = problems
        return page

    yield go
    for page in opened:
        assert page.problems == []
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize("fill", [True, False])
def test_page_scores_ten_thousand_rows_as_predict_does(open_page, fill):
    card, drawn = make(fill), Drawn.of(10_000, 1)
    page = open_page(card)
    limited = [
        {**row, "smoker": None if row["smoker"] is None else int(row["smoker"])}
        for row in drawn.rows
    ]
    read = "{...row, 'd-dimer': readNumber(row['d-dimer'] ?? '', true)}"
    found = page.evaluate(f"rows => rows.map(row => scoreOf({read}))", limited)
    expected = drawn.scores(card)
    assert_equal(found, expected)
    risks = page.evaluate("scores => scores.map(riskOf)", found)
    assert_equal(risks, card.probabilities(expected))


def test_page_as_a_person_uses_it(open_page):
    card = make(True)
    page = open_page(card)
    row = dict.fromkeys((one.column for one in effects_of(card)), None)

    def expect(**given):
        score = score_rows(
            source_of(pd.DataFrame([row | given]).astype(object)), card
        ).scores
        return float(card.probabilities(score)[0])

    assert page.locator("#risk").inner_text() == "–"
    page.get_by_label("urea").fill("8,5")
    page.get_by_label("ward").select_option(AWKWARD)
    risk = expect(**{"urea (mmol/L)": 8.5, "ward": AWKWARD})
    # One decimal near 0 and 100 %.
    shown = float(page.locator("#risk").inner_text().removesuffix(" %"))
    assert shown == pytest.approx(100 * risk, abs=0.5)
    assert (
        f"about {1000 * risk:.0f} have death = yes"
        in page.locator("#meaning").inner_text()
    )
    assert "Filled in: age [years]" in page.locator("#remarks").inner_text()
    page.get_by_label("age").fill("140")
    assert "Outside the training range" in page.locator("#m1").inner_text()
    assert page.get_by_label("age").get_attribute("aria-invalid") == "true"
    page.get_by_label("age").fill("old")
    assert page.locator("#m1").inner_text().startswith("Not a number")
    assert page.locator("#risk").inner_text() == "–"
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_function(
        "document.getElementById('meaning').textContent.startsWith('Enter')"
    )


def test_page_is_used_by_keyboard_alone(open_page):
    page = open_page(make(True))
    seen = []
    for _ in range(len(effects_of(make(True))) + 1):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("document.activeElement.id || document.activeElement.tagName")
        )
    assert seen == [f"f{j}" for j in range(8)] + ["BUTTON"]
    fields = "[...document.querySelectorAll('input,select')]"
    unlabelled = f"{fields}.filter(x => !x.labels.length).length"
    assert page.evaluate(unlabelled) == 0


def test_points_add_up_to_the_risk(open_page):
    card = make(True)
    scale = make_nomogram(card)
    page = open_page(card)
    page.get_by_label("urea").fill("12")
    page.get_by_label("pulse").fill("130")
    page.get_by_label("grade").select_option("3")
    parts = [
        float(text)
        for text in page.locator("#parts tr td:last-child").all_inner_texts()
    ]
    total = float(page.locator("#total td:last-child").inner_text())
    assert total == pytest.approx(sum(parts), abs=0.5)
    score = card.intercept + sum(scale.least.values()) + total * scale.unit
    risk = float(card.probabilities(np.array([score]))[0])
    # One decimal near 0 and 100 %.
    shown = float(page.locator("#risk").inner_text().removesuffix(" %"))
    assert shown == pytest.approx(100 * risk, abs=0.5)


def test_whole_points_and_their_risks(open_page):
    terms = (
        Term("a", Steps((1.0,), 0.0, coef=(4.0, 0.0))),
        Term("b", Steps((3.0,), 0.0, coef=(0.0, 2.0))),
    )
    classes = [
        ("a", "up to 1", 4),
        ("a", "above 1", 0),
        ("b", "up to 3", 0),
        ("b", "above 3", 2),
    ]
    points = {
        "columns": [dict(zip(("column", "class", "points"), one, strict=True)) for one in classes],
        "risk": [{"above": None, "up_to": 3.0, "risk": 0.1, "low": 0.05, "high": 0.2},
                 {"above": 3.0, "up_to": None, "risk": 0.6, "low": 0.4, "high": 0.8}],
    }  # fmt: skip
    card = ScoreCard(
        terms, 0.0, "no", "yes", "ill", ("a", "b"), {"points": points}, total=True
    )
    page = open_page(card)
    page.get_by_label("a", exact=True).fill("1")
    page.locator("#f1").fill("6")
    assert page.locator("#total td:last-child").inner_text() == "6"
    assert "60 % (40 to 80 %)" in page.locator("#risks tr[aria-current]").inner_text()


@with_node
@pytest.mark.parametrize(
    ("decimal", "read"),
    [
        (None, {"250,000": None, "1,234": None, "-12,500": None, "0,125": 0.125, "1,23": 1.23,
                "1.234": 1.234, "1234,567": 1234.567, "1,234.5": None, "1,234,567": None}),
        (",", {"1,234": 1.234, "1.234": None, "250.000": None, "1.23": 1.23, "0.125": 0.125}),
    ],
)  # fmt: skip
def test_page_reads_no_number_that_has_two_meanings(decimal, read):
    card = make(True)
    types = {
        **card.types,
        "age [years]": ColumnType("number", decimal, None, (), 18.0, 97.0),
    }
    found = read_numbers(to_html(replace(card, types=types)), "age [years]", [*read])
    assert found == [*read.values()]


def test_page_is_small_and_asks_for_nothing():
    names = [
        f"a rather long name of a laboratory value, number {j} (mmol/L)"
        for j in range(20)
    ]
    terms = tuple(
        Term(name, Curve((1.0, 2.0, 4.0 + j), 0.1, 9.9, 0.123456789, (0.1 + j, 1 / 3)))
        for j, name in enumerate(names)
    )
    types = {name: ColumnType("number", low=0.0, high=12.0) for name in names}
    card = ScoreCard(terms, 0.0, "no", "yes", "ill", tuple(names), SUMMARY, "0", types,
                     RiskMap(1.0, 0.0, 9, 9))  # fmt: skip
    text = to_html(card)
    assert len(text.encode()) <= 60_000
    assert not re.search(r"https?://|src=|@import|url\(|fetch\(|XMLHttp", text)
    hostile = replace(
        card, target="</script><script>alert(1)</script>", negative="<img src=x>"
    )
    assert "<script>alert" not in to_html(hostile)
    assert "<img" not in to_html(hostile)


def test_colours_have_the_contrast_of_wcag_aa():
    def luminance(colour):
        channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in channels
        ]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    def contrast(a, b):
        light, dark = sorted([luminance(a), luminance(b)], reverse=True)
        return (light + 0.05) / (dark + 0.05)

    themes = re.findall(r":root \{([^}]*)\}", str(_read("calculator.css")))
    assert len(themes) == 2
    for theme in themes:
        found = dict(re.findall(r"--(\w+): (#\w+)", theme))
        found = {name: value if len(value) == 7 else "#" + "".join(2 * c for c in value[1:])
                 for name, value in found.items()}  # fmt: skip
        for surface in ("bg", "surface"):
            for name in ("text", "quiet", "accent", "caution"):
                assert contrast(found[name], found[surface]) >= 4.5
            assert contrast(found["rule"], found[surface]) >= 3


# ------------------------------------------------------------------------------------ R


@pytest.mark.parametrize("fill", [True, False])
def test_r_scores_as_predict_does(tmp_path, fill):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("no Rscript")
    card, drawn = make(fill), Drawn.of(2000, 2)
    (tmp_path / "score.R").write_text(to_r(card), "utf-8")
    frame = drawn.frame()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame[[*reversed(frame.columns)]].to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "run.R").write_text(
        'source("score.R", encoding = "UTF-8")\n'
        'kinds <- c(grade = "character")\n'
        'rows <- read.csv("rows.csv", check.names = FALSE, na.strings = "", encoding = "UTF-8",\n'
        "                 colClasses = kinds)\n"
        "rows$smoker <- as.logical(rows$smoker)\n"
        "rows$ward <- factor(rows$ward)\n"
        "found <- predict_risk(rows)\n"
        'write.csv(data.frame(score = sprintf("%.17g", found$score), found$label,\n'
        '                     risk = sprintf("%.17g", found$risk)), "found.csv")\n'
    )
    done = subprocess.run([rscript, "--vanilla", "run.R"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(tmp_path / "found.csv")
    expected = drawn.scores(card)
    assert_equal(found["score"], expected)
    assert_equal(found["risk"], card.probabilities(expected))
    known = ~np.isnan(expected)
    assert (
        found["found.label"][known]
        == np.where(expected[known] > card.threshold, "yes", "no")
    ).all()


def test_r_names_what_is_wrong(tmp_path):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("no Rscript")
    card = ScoreCard(
        (Term("age", Line(coef=(1.0,)), required=True),),
        0.0,
        "no",
        "yes",
        "ill",
        ("age",),
    )
    (tmp_path / "score.R").write_text(to_r(card))
    for rows, message in (
        ("data.frame(x = 1)", "there is no column 'age'"),
        (
            'data.frame(age = c("1", "old"))',
            "'age' must hold numbers, but is 'old' in row 2",
        ),
    ):
        code = f'source("score.R"); predict_risk({rows})'
        done = subprocess.run([rscript, "--vanilla", "-e", code], cwd=tmp_path, text=True,
                              capture_output=True, check=False)  # fmt: skip
        assert done.returncode != 0
        assert message in done.stderr


# ----------------------------------------------------------------------------- workbook


@with_office
@pytest.mark.parametrize("fill", [True, False])
def test_workbook_scores_as_predict_does(tmp_path, fill):
    card, drawn = make(fill), Drawn.of(300, 3, unseen=False)
    book = openpyxl.load_workbook(io.BytesIO(to_xlsx(card, rows=300)))
    sheet = book["Rows"]
    names = [cell.value for cell in sheet[1]]
    for place, row in enumerate(drawn.rows, start=2):
        for name, value in row.items():
            sheet.cell(place, names.index(name) + 1).value = value
    calculator = book["Calculator"]
    for place in range(5, 5 + len(effects_of(card))):
        label = calculator.cell(place, 1).value
        column = next(one.column for one in effects_of(card) if one.label == label)
        calculator.cell(place, 2).value = drawn.rows[0][column]
    buffer = io.BytesIO()
    book.save(buffer)
    found = computed(buffer.getvalue(), tmp_path)
    expected = drawn.scores(card)
    lines = list(found["Rows"].iter_rows(min_row=2, max_row=301, values_only=True))

    def column(name):
        return [None if line[names.index(name)] in ("", None) else line[names.index(name)]
                for line in lines]  # fmt: skip

    assert_equal(column("Score"), expected)
    assert_equal(column("Risk"), card.probabilities(expected))
    alone = {
        row[0]: row[1]
        for row in found["Calculator"].iter_rows(values_only=True)
        if row[0]
    }
    if np.isnan(expected[0]):
        assert alone["Score"] in ("", None)
    else:
        assert_equal([alone["Score"]], expected[:1])
    known = ~np.isnan(expected)
    predicted = np.where(expected[known] > card.threshold, "yes", "no")
    assert (np.array(column("Label"))[known] == predicted).all()


def test_workbook_refuses_what_it_cannot_hold():
    card = ScoreCard((), 0.0, "no", "y" * 300, "ill", ())
    with pytest.raises(ValueError, match="too long"):
        to_xlsx(card)
    card = ScoreCard((Term("a\x07", Line(coef=(1.0,))),), 0.0, "no", "yes", "ill", ())
    with pytest.raises(ValueError, match="cannot hold"):
        to_xlsx(card)


# ------------------------------------------------------------------------------ effects


def test_columns_have_units_and_ranges():
    found = {one.column: one for one in effects_of(make(True))}
    urea, age = found["urea (mmol/L)"], found["age [years]"]
    assert (urea.label, urea.unit, urea.range_text) == ("urea", "mmol/L", "1.5 to 44")
    assert (age.label, age.unit, age.fill_text) == ("age", "years", "61")
    assert found["pulse"].unit == ""
    assert all(one.required for one in effects_of(make(False)))


def test_nomogram_agrees_with_the_card():
    card = make(True)
    scale = make_nomogram(card)
    points = {name: {text: place for place, text in axis.ticks}
              for name, axis in scale.columns.items()}  # fmt: skip
    row = {"urea (mmol/L)": 20.0, "age [years]": 40.0, "pulse": 130.0, "ward": "A", "smoker": True,
           "d-dimer": "2000", "grade": "2", "CRP (mg/L)": 100.0}  # fmt: skip
    total = (points["urea (mmol/L)"]["20"] + points["age [years]"]["40"]
             + points["pulse"]["> 120"] + points["ward"]["A"] + points["smoker"]["yes"]
             + points["d-dimer"]["2000"] + points["grade"]["2"]
             + points["CRP (mg/L)"]["100"])  # fmt: skip
    score = card.intercept + sum(scale.least.values()) + scale.unit * total
    frame = pd.DataFrame([row]).astype(
        {"ward": object, "d-dimer": object, "grade": object}
    )
    assert score == pytest.approx(
        score_rows(source_of(frame), card).scores[0], rel=1e-12
    )
    at = {text: place for place, text in scale.risk.ticks}
    base = card.intercept + sum(scale.least.values())
    half = base + scale.unit * scale.largest * at["50 %"] / 100
    assert card.probabilities(np.array([half]))[0] == pytest.approx(0.5, rel=1e-9)
    assert min(place for axis in scale.columns.values() for place, _ in axis.ticks) >= 0
    unknown = Term("dose", Line(coef=(1.0,)))
    assert make_nomogram(replace(card, terms=(*card.terms, unknown))) is None


# -------------------------------------------------------------------------------- texts

PLACES = {"has_missing": True, "against": 1, "taken_as": (0, 1, 2)}
CODES = ScoreCard(
    (
        Term("code", Levels(("01", "02"), coef=(2.0, 0.5), **PLACES)),
        Term("ward", Levels(("a", "b"), coef=(1.0, 0.5), **PLACES)),
    ),
    0.0,
    "no",
    "yes",
    "ill",
    (),
)


def test_a_number_for_a_code_is_refused():
    with pytest.raises(
        DataError, match="'code' was text in training, such as '02', but is"
    ):
        score_rows(source_of(pd.DataFrame({"code": [2, 1], "ward": ["a", "b"]})), CODES)


def test_r_reads_texts_as_predict_does_or_says_that_it_cannot(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("no Rscript")
    (tmp_path / "score.R").write_text(to_r(CODES))
    rows = pd.DataFrame(
        {"code": ["01", " 02 ", "01"], "ward": ["a", "a \t", "\u00a0b"]}
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for how, told in (
        (', colClasses = "character"', ""),
        ("", "'code' must hold text, as with"),
    ):
        table = f'read.csv("rows.csv", encoding = "UTF-8"{how})'
        code = f'source("score.R"); predict_risk({table})$score'
        done = subprocess.run(["Rscript", "--vanilla", "-e", code], cwd=tmp_path, text=True,
                              capture_output=True, check=False)  # fmt: skip
        assert told in done.stderr
        assert (done.returncode == 0) == (not told)
        if not told:
            assert done.stdout.split()[1:] == ["3", "1", "2"]
            assert score_rows(source_of(rows), CODES).scores.tolist() == [3, 1, 2]
    code = 'source("score.R"); predict_risk(data.frame(code = "03", ward = "a"))$score'
    done = subprocess.run(["Rscript", "--vanilla", "-e", code], cwd=tmp_path, text=True,
                          capture_output=True, check=True)  # fmt: skip
    assert "'code' has '03', which training had not" in done.stderr
    assert done.stdout.split()[1:] == ["1.5"]


def test_sql_has_no_score_for_texts_that_training_had_not():
    with duckdb.connect() as connection:
        connection.execute("create table t (code varchar, ward varchar)")
        rows = [
            ("01", "a "),
            ("1", "a"),
            (None, "b"),
            (" ", "b"),
            ("02", "a\t"),
            ("02", "c"),
        ]
        connection.executemany("insert into t values (?, ?)", rows)
        found = connection.execute(to_sql(CODES).replace("my_table", "t")).fetchall()
    assert [row[2] for row in found] == [3.0, None, 0.5, 0.5, None, None]
    # The terminal would refuse it: nothing but what can be seen.
    assert not any(ord(one) < 32 and one != "\n" for one in to_sql(CODES))
    assert all(text.count("'") % 2 == 0 for text in to_sql(CODES).splitlines())


@with_office
def test_a_workbook_reads_texts_as_predict_does_and_scores_no_others(tmp_path):
    """Blanks around a text do not count, and those within do; nobody is warned of others."""
    levels = ("a b", "a  b", "c" * 300, "C")
    kind = Levels(levels, True, 1, (0, 1, 2, 3, 4), (1.0, 0.25, 0.75, 0.5))
    card = replace(CODES, terms=(CODES.terms[0], Term("kind", kind)))
    known = ["a b", " a b ", "\u00a0a  b\t", "\na b", "c" * 300, "C", None, " \t"]
    unknown = ["a\tb", "a   b", "ab", "c", "A b", "d", "a b a b"]
    rows = [("01", text) for text in known] + [("02", "C"), (" 01", "C")]
    frame = pd.DataFrame(rows, columns=["code", "kind"])
    expected = [*score_rows(source_of(frame), card).scores]
    rows += [("01", text) for text in unknown] + [(1, "C"), ("1", "C")]
    expected += [np.nan] * (len(rows) - len(expected))
    book = openpyxl.load_workbook(io.BytesIO(to_xlsx(card)))
    for place, row in enumerate(rows, start=2):
        for column, value in enumerate(row, start=1):
            book["Rows"].cell(place, column).value = value
    book["Calculator"]["B5"] = "01"
    book["Calculator"]["B6"] = "d"
    content = io.BytesIO()
    book.save(content)
    found = computed(content.getvalue(), tmp_path)
    scores = found["Rows"].iter_rows(
        min_row=2, max_row=1 + len(rows), min_col=3, max_col=3, values_only=True
    )
    assert_equal([None if one == "" else one for (one,) in scores], np.array(expected))
    calculator = {row[0]: row[1] for row in found["Calculator"].values if row[0]}
    assert calculator["kind"] == "not in training"
    assert calculator["Score"] in ("", None)
