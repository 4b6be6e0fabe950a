"""Check the built pages: every link to a file or an anchor within them must lead somewhere.

``python docs/check_links.py docs/_build/html``
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of a tag."""
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src"):
                self.links.append(value)
            elif name == "srcset":
                self.links += [
                    part.split()[0] for part in value.split(",") if part.strip()
                ]
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)


def broken_links(folder: Path) -> list[str]:
    """Return what does not lead anywhere, as "page: link"."""
    root = folder.resolve()
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.html"))
        # The theme keeps pieces of its own there that are no pages.
        if path.relative_to(root).parts[0] != "_static"
    }
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            if target.is_dir():
                target /= "index.html"
            found = target.exists() and target.is_relative_to(root)
            anchor = unquote(parts.fragment)
            if found and anchor and target in pages:
                found = anchor in pages[target].anchors
            if not found:
                broken.append(f"{path.relative_to(root)}: {link}")
    return broken


def main() -> int:
    """Check the folder that is named on the command line."""
    folder = Path(sys.argv[1])
    if not (folder / "index.html").exists():
        print(f"{folder} has no index.html: build the pages first")
        return 2
    broken = broken_links(folder)
    for line in broken:
        print(f"broken: {line}")
    count = sum(1 for _ in folder.rglob("*.html"))
    print(f"{count} pages, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
