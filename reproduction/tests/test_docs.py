"""The reproduction's pages: what they list exists, and the audit has every switch."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sparseauc_paper.audit import DISCREPANCIES
from sparseauc_paper.command import reproduce_command
from sparseauc_paper.protocols import SWITCHES

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    runpy.run_path(str(DOCS / "pages.py"))["write_pages"](folder)
    return folder


def test_every_page_is_listed_and_there(written):
    contents = re.search(
        r"```{toctree}\n.*?\n\n(.*?)```", (written / "index.md").read_text(), re.S
    )
    listed = set(contents[1].split())
    assert listed == {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert not list(written.glob("*.py"))


def test_links_and_included_parts_are_there(written):
    for page in written.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)#\s]+)", text) + re.findall(
            r"```{include} (\S+)", text
        )
        for target in targets:
            assert "://" in target or (written / target).exists(), (
                f"{page.name}: {target}"
            )


def test_the_audit_lists_every_discrepancy_and_switch(written):
    text = (written / "parts" / "audit.md").read_text(encoding="utf-8")
    assert all(f"| {one.number} | " in text for one in DISCREPANCIES)
    assert all(f"| `{one.name}` | " in text for one in SWITCHES)


def test_shell_blocks_run(tmp_path, monkeypatch):
    """Up to the list of their tasks."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(reproduce_command)
    blocks = "".join(
        block
        for page in DOCS.glob("*.md")
        for block in re.findall(
            r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.S
        )
    )
    commands = re.findall(r"^sparseauc reproduce(.*)$", blocks, re.M)
    assert len(commands) > 5
    for arguments in commands:
        # Few machines have a GPU.
        words = shlex.split(arguments.replace("--device cuda", ""))
        result = CliRunner().invoke(app, [*words, "--dry-run"])
        assert result.exit_code == 0, f"{arguments}\n{result.output}"
        assert "core-hours" in result.output
