"""Take the README's picture of a report: ``python docs/take_screenshot.py``.

Needs playwright and a ``chromium`` on the path, as the tests do.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from write_pages import sample_report

TARGET = Path(__file__).parent / "_static" / "report.png"


def main() -> None:
    """Write the sample report and photograph its beginning."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        page.write_text(sample_report(), encoding="utf-8")
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(
            viewport={"width": 1280, "height": 1560},
            device_scale_factor=0.75,
            color_scheme="light",
        )
        tab.goto(page.as_uri())
        tab.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
