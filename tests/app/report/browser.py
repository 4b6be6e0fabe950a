"""What every page must do in a real browser; for all tests that make one.

The fixture ``open_page`` of this folder's ``conftest.py`` opens a page; ``check_page``
does it all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PHONE, DESK = 390, 1280


@dataclass
class Visit:
    """A page that was opened from disk, and what it complained of or asked for since."""

    page: Any
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def to(cls, page: Any, path: Path) -> Visit:
        visit = cls(page, Path(path).resolve().as_uri())
        page.on("console", lambda message: visit.complaints.append(message.text))
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on(
            "dialog",
            lambda dialog: (visit.complaints.append("dialog"), dialog.dismiss()),
        )
        page.on("request", lambda request: visit.requests.append(request.url))
        page.goto(visit.address)
        return visit

    def check_quiet(self) -> None:
        """Assert that nothing went wrong and nothing but the page itself was asked for."""
        assert self.complaints == []
        assert self.requests == [self.address]

    def check_visible(self) -> None:
        """Assert that every table and plot is there, and that each plot has drawn its axes."""
        self.page.evaluate(
            "document.querySelectorAll('details').forEach(one => one.open = true)"
        )
        for table in self.page.locator("table").all():
            assert table.is_visible()
            assert min(size(table)) > 20
        plots = self.page.locator(".plot").all()
        for plot in plots:
            assert plot.is_visible()
            assert min(size(plot)) > 100
            assert size(plot.locator("svg").first) == size(plot)
            assert plot.locator("svg path").count() > 2
            assert plot.locator("svg text").count() > 4

    def check_fits(self) -> None:
        """Assert that the page does not scroll sideways."""
        wide, room = self.page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room

    def background(self) -> str:
        return self.page.evaluate("getComputedStyle(document.body).backgroundColor")

    def ink(self) -> str:
        """Colour of the text in the plots, as the browser shows it; empty without plots."""
        return self.page.evaluate(
            "(text => text ? getComputedStyle(text).fill : '')"
            "(document.querySelector('.plot svg text[style*=\"--text\"]'))"
        )

    def check_private(self) -> None:
        """Assert that no button or address leads anywhere but into the page."""
        known = {"theme", "entry", "copy", "save", ""}
        assert {
            b.get_attribute("class") or "" for b in self.page.locator("button").all()
        } <= known
        for name in ("href", "src", "action", "xlink:href"):
            for one in self.page.locator(f"[{name.replace(':', chr(92) + ':')}]").all():
                address = one.get_attribute(name)
                assert address.startswith(("#", "data:text/csv")), address

    def toggle(self) -> None:
        self.page.locator("#page-theme").click()

    def print(self) -> bytes:
        return self.page.pdf(format="A4")


def size(locator: Any) -> tuple[int, int]:
    box = locator.bounding_box()
    return round(box["width"]), round(box["height"])


def check_page(open_page: Any, path: Path, folder: Path) -> None:
    """Assert all that a page must do; screenshots and the print stay in ``folder`` to be seen."""
    shots = {}
    for width in (PHONE, DESK):
        for scheme in ("light", "dark"):
            visit = open_page(path, width=width, scheme=scheme)
            visit.check_visible()
            visit.check_fits()
            assert (visit.ink() == "rgb(31, 35, 40)") == (
                scheme == "light"
            ) or not visit.ink()
            target = folder / f"{width}-{scheme}.png"
            shots[width, scheme] = visit.page.screenshot(path=target, full_page=True)
            visit.check_quiet()
        visit.check_private()
        assert shots[width, "light"] != shots[width, "dark"]

    # The last one is dark: light on demand, dark again after printing, which is always
    # light.
    dark, ink = visit.background(), visit.ink()
    visit.toggle()
    assert visit.background() != dark
    assert visit.ink() != ink or not ink
    visit.toggle()
    assert (visit.background(), visit.ink()) == (dark, ink)
    document = visit.print()
    (folder / "print.pdf").write_bytes(document)
    assert document.startswith(b"%PDF")
    assert len(document) > 10_000
    visit.check_visible()
    visit.check_fits()
    assert (visit.background(), visit.ink()) == (dark, ink)
    visit.check_quiet()
