"""The README and the pages: their code runs and prints what they show, their commands exist."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import pkgutil
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import sparseauc
from sparseauc.datasets import make_patients
from sparseauc_app.cli import app, demo
from sparseauc_app.cli.errors import ExitCode
from sparseauc_app.cli.fit import Fitting
from sparseauc_app.evaluation import alternatives, bootstrap

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = ("_build", "generated", "gallery")
PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if page.relative_to(DOCS).parts[0] not in MADE
    ),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def name_of(page):
    return str(page.relative_to(ROOT))


def code_and_output(text):
    """Python blocks, each with the text block that follows it at once, or None."""
    blocks = list(BLOCK.finditer(text))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        follows = (
            after is not None
            and after[1] == "text"
            and not text[block.end() : after.start()].strip()
        )
        yield block[2], after[2] if follows else None


def run_blocks(page):
    """Run a page's Python blocks one after the other; what each printed, and what is shown."""
    namespace = {"__name__": "__main__"}
    for number, (code, shown) in enumerate(
        code_and_output(page.read_text(encoding="utf-8")), 1
    ):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(
                compile(code, f"{name_of(page)}, python block {number}", "exec"),
                namespace,
            )
        yield printed.getvalue(), shown


PAGES_WITH_CODE = [
    page for page in PAGES if "```python" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=name_of)
def test_code_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    for needed in ("pandas", "jinja2"):
        pytest.importorskip(needed)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    for printed, shown in run_blocks(page):
        if shown is not None:
            assert printed == shown
    pyplot.close("all")


# ----------------------------------------------------------------------------- commands


def commands(text):
    """Lines of shell blocks that call the command."""
    for language, block in BLOCK.findall(text):
        if language == "bash":
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["sparseauc"]:
                    yield words[1:]


ALL_COMMANDS = [
    pytest.param(words, id=f"{name_of(page)}: {shlex.join(words)}")
    for page in PAGES
    for words in commands(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("words", ALL_COMMANDS)
def test_commands_parse(words):
    group = typer.main.get_command(app)
    if words[0].startswith("-"):
        assert any(words[0] in one.opts for one in group.params)
        return
    command = group.commands[words[0]]
    # Parses and checks the options, and runs nothing.
    command.make_context(words[0], words[1:])


def test_a_command_that_does_not_exist_is_noticed():
    (words,) = commands("```bash\nsparseauc fit table.csv --no-such-option\n```\n")
    with pytest.raises(Exception, match="No such option"):
        test_commands_parse(words)


RUN = [page for page in PAGES if list(commands(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_shell_blocks_run_on_the_files_of_the_demo(page, tmp_path, monkeypatch):
    """One after the other, as a reader would paste them into the folder of ``sparseauc demo``."""
    monkeypatch.setattr(demo, "PATIENTS", 200)
    monkeypatch.setattr(demo, "OTHER", 120)
    monkeypatch.chdir(tmp_path)
    tables = demo.demo_tables(0)
    left_out = tables["patients.csv"].columns[18:].drop("sepsis")  # to take less time
    for name, frame in tables.items():
        frame.drop(columns=left_out, errors="ignore").to_csv(name, index=False)
    for name in ("model.json", "report.html"):
        Path(name).touch()  # which the demo writes too
    given = Fitting.settings

    def fewer(*arguments):
        """The settings of a command, with fewer refits."""
        settings = given(*arguments)
        folds, pairs = min(settings.folds, 2), min(settings.stability_pairs, 2)
        return replace(
            settings, folds=folds, stability_pairs=pairs, max_k=settings.max_k or 6
        )

    monkeypatch.setattr(Fitting, "settings", fewer)
    monkeypatch.setattr(alternatives, "_PATIENCE", 0.0)
    monkeypatch.setattr(bootstrap, "_PATIENCE", 0.0)
    monkeypatch.setattr(alternatives, "_CURVE_PATIENCE", 0.0)
    for words in commands(page.read_text(encoding="utf-8")):
        if words[0] in ("demo", "reproduce"):
            continue
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"sparseauc {shlex.join(words)}\n{result.output}"


def test_the_terminal_session_of_the_readme_is_real(tmp_path, monkeypatch):
    (session,) = [
        block
        for language, block in BLOCK.findall(
            (ROOT / "README.md").read_text(encoding="utf-8")
        )
        if language == "console"
    ]
    command, _, shown = session.replace(" \\\n", " ").partition("\n")
    monkeypatch.chdir(tmp_path)
    cohort = make_patients(demo.PATIENTS + demo.NEW, random_state=0)
    cohort[: demo.PATIENTS].to_csv("patients.csv", index=False)
    result = CliRunner().invoke(app, shlex.split(command)[2:])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(shown)


# --------------------------------------------------------------------------- pages made


@pytest.fixture(scope="module")
def write_pages():
    spec = importlib.util.spec_from_file_location(
        "write_pages", DOCS / "write_pages.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_module_is_in_the_reference_or_internal(write_pages):
    modules = {
        module.name
        for module in pkgutil.iter_modules(sparseauc.__path__, "sparseauc.")
        if not module.name.split(".")[-1].startswith("_")
    }
    assert modules - set(write_pages.MODULES) - write_pages.INTERNAL == set()


def test_every_public_name_is_in_the_reference_once(write_pages):
    names = write_pages.public_names()
    assert set(names["sparseauc"]) == set(sparseauc.__all__)
    for module, listed in names.items():
        for name in listed:
            assert getattr(sys.modules[module], name).__doc__, f"{module}.{name}"


def test_benchmark_pages_hold_the_committed_tables(write_pages):
    pages = write_pages.benchmark_pages()
    for path in (ROOT / "benchmarks" / "results").glob("*.md"):
        assert pages[f"benchmarks/{path.name}"] == path.read_text(encoding="utf-8")
        assert f"benchmarks/{path.name}" in pages["parts/benchmarks.md"]


def test_peers_are_summarised_by_data(write_pages, tmp_path):
    path = tmp_path / "peers.md"
    path.write_text(
        "| data | method | test AUC ± SE | columns (median) | x |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| colon | ours | 0.8796 ± 0.03 | 14 | |\n| colon | theirs | 0.8950 ± 0.02 | 16 | |\n"
        "| mean | ours | 0.9 | | |\n"
    )
    assert write_pages.peers_part(path).splitlines()[2:] == [
        "| colon | 0.880\u00a0(14) | 0.895\u00a0(16) |",
        "| mean | 0.900 |  |",
    ]


def test_tables_for_users_are_those_of_the_results(write_pages):
    for name in ("peers", "published_lists"):
        lines = write_pages.first_table(name).splitlines()
        committed = (ROOT / "benchmarks" / "results" / f"{name}.md").read_text(
            encoding="utf-8"
        )
        assert len(lines) > 3
        for line in (lines[0], *lines[2:]):
            assert line.replace("  ", " ") in committed.replace("  ", " ")


def test_examples_of_published_tables_show_the_results(write_pages):
    parts = write_pages.published_parts()
    committed = (ROOT / "benchmarks" / "results" / "published_lists.md").read_text(
        encoding="utf-8"
    )
    rows = [line for line in committed.splitlines() if re.search(r"\| 0\.\d+ \|", line)]
    cells = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in rows]
    lines = [line for text in parts.values() for line in text.splitlines()[3:]]
    assert list(csv.reader(map(str.strip, lines), skipinitialspace=True)) == cells != []
    examples = [path.read_text() for path in (ROOT / "examples").glob("published_*.py")]
    shown = {
        name
        for text in examples
        for name in re.findall(r"include:: /generated/(\S+)", text)
    }
    assert shown == set(parts)


def test_every_option_is_on_the_command_page(write_pages):
    text = write_pages.command_part()
    for name, command in typer.main.get_command(app).commands.items():
        section = text.partition(f"### `sparseauc {name}`")[2].partition("\n### ")[0]
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert f"`{parameter.opts[0]}`" in section, (name, parameter.name)


def test_every_exit_code_is_on_the_command_page(write_pages):
    codes = re.findall(
        r"^\| (\d+) \|", write_pages.exit_codes_part(), flags=re.MULTILINE
    )
    assert [int(code) for code in codes] == [code.value for code in ExitCode]


# -------------------------------------------------------------------------------- links


@pytest.fixture(scope="module")
def check_links():
    spec = importlib.util.spec_from_file_location(
        "check_links", DOCS / "check_links.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_broken_links_are_found(check_links, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "index.html").write_text(
        '<a href="sub/page.html#there">good</a><img src="picture.png" srcset="a.png 2x">'
        '<a href="#here" id="here">good</a><a href="https://example.org/x">elsewhere</a>'
        '<a href="sub/page.html#nowhere">bad</a><a href="missing.html">bad</a>'
        '<a href="../outside.html">bad</a>'
    )
    (tmp_path / "sub" / "page.html").write_text('<p id="there"><a href="../">home</a>')
    assert check_links.broken_links(tmp_path) == [
        "index.html: a.png",
        "index.html: sub/page.html#nowhere",
        "index.html: missing.html",
        "index.html: ../outside.html",
    ]


PAGES_OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/design.md")


@pytest.mark.parametrize("name", PAGES_OUTSIDE)
def test_links_to_files_resolve(name):
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) + re.findall(
        r'src="([^"]+)"', text
    ):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{name} links to {link}"


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "RELEASING.md",
        "docs/installation.md",
    ):
        text = (ROOT / name).read_text(encoding="utf-8")
        targets = re.findall(r"(?:^ *|`)make ([a-z-]+)", text, re.MULTILINE)
        for target in targets:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), (
                f"{name}: make {target}"
            )


# ---------------------------------------------------------------------------- the paper


def table_of_the_paper(page, section):
    """Printed AUC, and ours, of each method of the paper, from a table of the results."""
    lines = page.partition(f"({section})=")[2].partition("\n\nMean ±")[0].splitlines()
    rows = {}
    for line in lines:
        method, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if "<br>printed" in line:
            found = [
                re.search(r"([\d.]+ ± [\d.]+).*?printed ([\d.]+)", cell)
                for cell in cells
            ]
            rows[method] = [
                [entry[2] for entry in found],
                [entry[1] for entry in found],
            ]
    return rows


def test_the_readme_has_the_numbers_of_the_paper_and_ours():
    """Table I of the three methods that lead it in print; a failure shows what is to be pasted."""
    page = (ROOT / "reproduction/docs/paper_results.md").read_text(encoding="utf-8")
    published = table_of_the_paper(page, "table1-published")
    corrected = table_of_the_paper(page, "table1")
    leading = sorted(
        published, key=lambda method: -sum(map(float, published[method][0]))
    )[:3]
    lines = [
        "| | | k* = 20 | k* = 40 | k* = 60 | k* = 80 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for method in leading:
        printed, ours = published[method]
        for name, kind, numbers in (
            (f" {method}", "printed", printed),
            ("", "published protocol", ours),
            ("", "corrected protocol", corrected[method][1]),
        ):
            lines.append(f"|{name} | {kind} | {' | '.join(numbers)} |")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(lines) in readme
    beyond, numbers = map(
        int, re.search(r"(\d+) of (\d+) printed numbers differ", page).groups()
    )
    assert f"{numbers - beyond} of {numbers} printed numbers" in readme.replace(
        "\n", " "
    )
