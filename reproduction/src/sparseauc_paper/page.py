"""The whole report as a page of documentation: one Markdown file, with small pictures beside it."""

import io
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .files import write_files
from .pages.elements import Report
from .pages.files import files

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
    *others, page = write_files({**beside, path: text.encode()})
    return [page, *others]


# Paper of another shape, and what the pointer reads left out, which would make the file large.
_ON_PAPER = """<style>
@page { size: A4 landscape; margin: 12mm }
@media print { html { zoom: 0.7 } .readings { display: none } }
</style></head>"""


def write_pdf(page: Path, path: Path) -> Path:
    """Print a report's HTML page to a PDF file with Chromium."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise FileNotFoundError("--pdf needs chromium or google-chrome on the path")
    with tempfile.TemporaryDirectory() as folder:
        copy, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        text = page.read_text(encoding="utf-8")
        copy.write_text(text.replace("</head>", _ON_PAPER, 1), encoding="utf-8")
        subprocess.run(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", copy.as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
        (written,) = write_files({path: printed.read_bytes()})
    return written


def _light(picture: bytes) -> bytes:
    from PIL import Image

    made = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(_COLOURS).save(
        made, "png", optimize=True
    )
    return made.getvalue()
