"""The example report, and a browser to look at pages with."""

from __future__ import annotations

import shutil

import pytest
from browser import Visit
from example_report import example_report

from sparseauc_app.pages.elements import Report


@pytest.fixture
def report() -> Report:
    return example_report()


@pytest.fixture(scope="module")
def chromium():
    """Debian's browser. Not kept over the session: while it runs no test may start a loop."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("there is no chromium on the path")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=executable, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open a page from disk: ``open_page(path, width=1280, scheme="light")``, a ``Visit``."""
    contexts = []

    def opened(path, *, width=1280, height=900, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        return Visit.to(context.new_page(), path)

    yield opened
    for context in contexts:
        context.close()
