"""The whole report as a page of documentation: one Markdown file, with small pictures beside it."""

import io
import re
import shutil
from pathlib import Path

from sparseauc.utils.files import write_whole
from sparseauc.utils.optional import import_optional
from sparseauc_app.report.elements import Report
from sparseauc_app.report.files import files

# Enough for lines and bands in a dozen colours, at a third of the bytes.
_COLOURS = 96


def write_markdown_page(report: Report, path: Path) -> list[Path]:
    """Write the report for Sphinx (MyST), its figures as PNG and CSV into a folder of that name.

    Returns the files written, the page first.
    """
    made = files(report)
    folder = path.stem
    text = re.sub(r'<a id="([^"]+)"></a>', r"(\1)=", made["report.md"].decode())
    text = re.sub(
        r"(!\[.*\])\(figures/(.+)\.svg\)",
        rf"\1({folder}/\2.png)\n\n[The numbers]({folder}/\2.csv)",
        text,
    )
    beside = {
        path.parent / folder / Path(name).name: _light(content)
        if name.endswith(".png")
        else content
        for name, content in made.items()
        if name.startswith("figures/") and not name.endswith(".svg")
    }
    *others, page = write_whole({**beside, path: text.encode()})
    return [page, *others]


def write_pdf(page: Path, path: Path) -> Path:
    """Print a report's HTML page to a PDF file with Chromium, driven by playwright."""
    sync_playwright = import_optional("playwright.sync_api", "--pdf").sync_playwright
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox"],
        )
        tab = browser.new_page(color_scheme="light")
        tab.goto(page.resolve().as_uri())
        # What the pointer reads on a page would only make the file large.
        tab.evaluate("for (const part of document.querySelectorAll('.readings')) part.remove()")
        content = tab.pdf(
            format="A4", landscape=True, scale=0.7,
            margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm"),
        )  # fmt: skip
        browser.close()
    (written,) = write_whole({path: content})
    return written


def _light(picture: bytes) -> bytes:
    from PIL import Image

    made = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(_COLOURS).save(
        made, "png", optimize=True
    )
    return made.getvalue()
