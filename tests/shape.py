"""Measures of the shape of the sources: ``python tests/shape.py`` prints them."""

import ast
import functools
import inspect
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
LIBRARY = SRC / "sparseauc"
PACKAGES = ("sparseauc", "sparseauc_app", "sparseauc_cells")


def files(*packages: str) -> list[Path]:
    return sorted(path for name in packages or PACKAGES for path in (SRC / name).rglob("*.py"))


def lines(*packages: str) -> int:
    return sum(len(path.read_text().splitlines()) for path in files(*packages))


def trace(call: Callable[[], object]) -> tuple[int, int, int]:
    """Own functions and files that a call visits, and its deepest chain of own calls."""
    seen, deepest, depth = set(), 0, 0

    # Comprehensions and lambdas are parts of the functions around them.
    def own(code):
        return code.co_filename.startswith(str(LIBRARY)) and not code.co_name.startswith("<")

    def profile(frame, event, arg):
        nonlocal depth, deepest
        if event in ("call", "return") and own(frame.f_code):
            if event == "call":
                seen.add(frame.f_code)
            depth += 1 if event == "call" else -1
            deepest = max(deepest, depth)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen), len({code.co_filename for code in seen}), deepest


def complexities() -> dict[str, int]:
    """Cyclomatic complexity of every function, by radon."""
    from radon.complexity import cc_visit

    return {
        f"{path.relative_to(SRC)}:{block.lineno} {block.name}": block.complexity
        for path in files()
        for block in cc_visit(path.read_text())
        if block.letter in "FM"
    }


def maintainability() -> dict[str, float]:
    """Maintainability index of every file, by radon."""
    from radon.metrics import mi_visit

    return {str(path.relative_to(SRC)): mi_visit(path.read_text(), True) for path in files()}


def lengths() -> dict[str, int]:
    return {str(path.relative_to(SRC)): len(path.read_text().splitlines()) for path in files()}


def twins(size: int = 6) -> dict[tuple[str, ...], list[str]]:
    """Runs of lines of code that stand in several places; docstrings and imports are no code."""
    places: dict[tuple[str, ...], list[str]] = {}
    for path in files():
        text = path.read_text()
        apart = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]
        skipped = {n for node in apart for n in range(node.lineno, node.end_lineno + 1)}
        code = [
            (number, " ".join(line.split()))
            for number, line in enumerate(text.splitlines(), start=1)
            if number not in skipped and re.search(r"\w", line.partition("#")[0])
        ]
        for first in range(len(code) - size + 1):
            run = tuple(line for _, line in code[first : first + size])
            places.setdefault(run, []).append(f"{path.relative_to(SRC)}:{code[first][0]}")
    return {run: where for run, where in places.items() if len(where) > 1}


def files_with(word: str, *packages: str) -> list[str]:
    """Files whose code, docstrings and comments left out, has a name that contains ``word``."""
    return [
        str(path.relative_to(SRC))
        for path in files(*packages)
        if any(word in name for name in names_in(path))
    ]


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """Names in the code of a file."""
    with path.open("rb") as stream:
        tokens = tokenize.tokenize(stream.readline)
        return frozenset(one.string for one in tokens if one.type == tokenize.NAME)


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything but what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _statements(child)


@functools.cache
def imports() -> list[tuple[str, str]]:
    """Pairs of modules, the first of which imports the second anywhere."""
    return list(_find_imports())


def _find_imports() -> Iterator[tuple[str, str]]:
    known = {module_name(path) for path in files()}
    for path in files():
        here = module_name(path)
        package = here if path.name == "__init__.py" else here.rpartition(".")[0]
        for node in _statements(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                targets = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = package.split(".")
                base = base[: len(base) - node.level + 1] if node.level else []
                origin = ".".join([*base, *([node.module] if node.module else [])])
                targets = [
                    f"{origin}.{name.name}" if f"{origin}.{name.name}" in known else origin
                    for name in node.names
                ]
            else:
                continue
            for target in targets:
                if target in known and target != here:
                    yield here, target


def room(module: str) -> str:
    """Folder that a module is in; a module of the top level is a room by itself."""
    return ".".join(module.split(".")[:2])


def private_imports() -> set[tuple[str, str]]:
    """Imports of a private module from another room."""
    return {
        (here, target)
        for here, target in imports()
        if any(part.startswith("_") for part in target.split(".")[1:])
        and room(here) != room(target)
        # Private modules of the top level belong to their whole package.
        and not (target.count(".") == 1 and here.split(".")[0] == target.split(".")[0])
    }


def cycles() -> list[set[str]]:
    """Groups of modules that import each other, directly or not."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = [module_name(path) for path in files()]
    number = {name: i for i, name in enumerate(names)}
    ends = np.array([(number[here], number[target]) for here, target in imports()])
    graph = coo_array((np.ones(len(ends)), ends.T), shape=(len(names),) * 2)
    count, group = connected_components(graph, connection="strong")
    groups = [
        {name for name, one in zip(names, group, strict=True) if one == g} for g in range(count)
    ]
    return [members for members in groups if len(members) > 1]


def parameters(estimator: type) -> int:
    return len(inspect.signature(estimator).parameters)


def options(command: str) -> int:
    """Options of a command, ``--help`` left out."""
    import typer
    from typer.core import TyperOption

    from sparseauc_app.cli import app

    group = typer.main.get_command(app)
    found = group.commands[command].params
    return sum(isinstance(one, TyperOption) for one in found)


def documented_names() -> set[str]:
    """Names that the reference lists, those of the paper's package left out."""
    sys.path.insert(0, str(SRC.parent / "docs"))
    from write_pages import public_names

    return {
        f"{module}.{name}"
        for module, names in public_names().items()
        if not module.startswith("sparseauc_paper")
        for name in names
    }


def main() -> None:
    print("lines: library", lines("sparseauc"), "all", lines())
    print("complexity > 20:", {name: n for name, n in complexities().items() if n > 20})
    print("lowest index:", min((index, name) for name, index in maintainability().items()))
    print("longest file:", max((n, name) for name, n in lengths().items()))
    print("options of fit:", options("fit"))
    print("max_per_family:", files_with("max_per_family"))
    print("strata:", len({*files_with("strata"), *files_with("stratum"), *files_with("Strata")}))
    print("documented names:", len(documented_names()))
    print("cycles:", cycles())
    print("private imports:", len(private_imports()))


if __name__ == "__main__":
    main()
