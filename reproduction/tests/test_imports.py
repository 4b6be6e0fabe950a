"""The reproduction uses the library as its users do: by names that the reference documents."""

import ast
import sys
from pathlib import Path

import pytest

import sparseauc_paper

ROOT = Path(__file__).parents[2]
SOURCES = Path(sparseauc_paper.__file__).parent


@pytest.fixture(scope="module")
def documented():
    """Public names by module, as the reference lists them."""
    sys.path.insert(0, str(ROOT / "docs"))
    write_pages = pytest.importorskip(
        "write_pages", reason="the library's docs/ is not there"
    )
    sys.path.pop(0)
    return write_pages.public_names()


def imported_names(tree):
    """Module and name of everything that is imported from the library or its application."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            if (node.module or "").split(".")[0] in ("sparseauc", "sparseauc_app"):
                yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in ("sparseauc", "sparseauc_app"):
                    yield alias.name, None


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: path.stem
)
def test_documented_names_alone_are_imported(path, documented):
    for module, name in imported_names(ast.parse(path.read_text(encoding="utf-8"))):
        assert name in documented.get(module, ()), (
            f"{module}.{name} is not in the reference"
        )


def test_names_are_found():
    source = (
        "import sparseauc.rows\nfrom sparseauc.metrics import auc\nfrom .a import b"
    )
    found = list(imported_names(ast.parse(source)))
    assert found == [("sparseauc.rows", None), ("sparseauc.metrics", "auc")]
