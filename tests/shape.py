"""Measures of the shape of the sources: ``make shape`` prints them.

Tokens are those of code, without comments, docstrings and blank lines, so that packing
lines gains nothing.
"""

import ast
import contextlib
import functools
import inspect
import io
import re
import sys
import tempfile
import tokenize
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGES = ("sparseauc", "sparseauc_app")
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def files() -> list[Path]:
    return sorted(path for name in PACKAGES for path in (SRC / name).rglob("*.py"))


def tokens_and_lines(folder: Path) -> tuple[int, int]:
    """Count the tokens of code and the lines of a folder."""
    tokens = 0
    lines = 0
    for path in folder.rglob("*.py"):
        text = path.read_text()
        lines += text.count("\n")
        docstrings = _docstring_lines(ast.parse(text))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_docstring = (
                token.type == tokenize.STRING and token.start[0] in docstrings
            )
            if token.type not in NOT_CODE and not is_docstring:
                tokens += 1
    return tokens, lines


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    with_docstring = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, with_docstring) and ast.get_docstring(node) is not None:
            text = node.body[0]
            found.update(range(text.lineno, text.end_lineno + 1))
    return found


def trace(call: Callable[[], object]) -> tuple[int, int]:
    """Count the functions and files of ours that a call visits."""
    seen = set()

    # Comprehensions and lambdas are parts of the functions around them.
    def profile(frame, event, arg):
        code = frame.f_code
        own = code.co_filename.startswith(str(SRC)) and not code.co_name.startswith("<")
        if event == "call" and own:
            seen.add(code)

    sys.setprofile(profile)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call()
    finally:
        sys.setprofile(None)
    return len(seen), len({code.co_filename for code in seen})


def complexities() -> dict[str, int]:
    """Cyclomatic complexity of every function, by radon."""
    from radon.complexity import cc_visit

    return {
        f"{path.relative_to(SRC)}:{block.lineno} {block.name}": block.complexity
        for path in files()
        for block in cc_visit(path.read_text())
        if block.letter in "FM"
    }


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything but what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if not (
            isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        ):
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
                    f"{origin}.{name.name}"
                    if f"{origin}.{name.name}" in known
                    else origin
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
        {name for name, one in zip(names, group, strict=True) if one == g}
        for g in range(count)
    ]
    return [members for members in groups if len(members) > 1]


def options() -> dict[str, int]:
    """Count the options of every command of ours, ``--help`` left out."""
    import typer
    from typer.core import TyperOption

    from sparseauc_app.cli import app

    group = typer.main.get_command(app)
    return {
        name: sum(isinstance(one, TyperOption) for one in command.params)
        for name, command in group.commands.items()
        if name != "reproduce"
    }


def documented_names() -> int:
    """Count the names that the reference lists."""
    sys.path.insert(0, str(ROOT / "docs"))
    from write_pages import public_names

    return sum(len(names) for names in public_names().values())


def words() -> tuple[int, int]:
    """Count the pages of documentation and their words."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    return len(pages), sum(len(page.read_text().split()) for page in pages)


def walks() -> dict[str, tuple[int, int]]:
    """Count the functions and files that a few calls visit, with kernels compiled."""
    import numpy as np

    from sparseauc import SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV
    from sparseauc_app.cli import app

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 1).astype(int)

    found = {}
    for model in (
        SparseAUCClassifierCV(),
        SparseAUCClassifier(k=5),
        SHTAUCClassifier(k=5),
    ):
        model.fit(X, y)
        name = f"{type(model).__name__}.fit"
        found[name] = trace(lambda model=model: model.fit(X, y))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        header = ",".join([*(f"x{j}" for j in range(20)), "outcome"])
        np.savetxt(
            table, np.column_stack([X, y]), "%.4f", ",", header=header, comments=""
        )
        arguments = ["fit", str(table), "--target", "outcome", "--force"]
        report = ["--report", str(Path(folder) / "report.html")]
        for name, more in (("sparseauc fit", []), ("sparseauc fit --report", report)):
            found[name] = trace(
                lambda more=more: app([*arguments, *more], standalone_mode=False)
            )
    return found


def main() -> None:
    from sparseauc import SparseAUCClassifierCV

    warnings.simplefilter("ignore")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folders = [SRC / name for name in PACKAGES]
    folders += [ROOT / "reproduction" / "src"]
    for folder in folders:
        tokens, lines = tokens_and_lines(folder)
        print(
            f"{folder.relative_to(ROOT)}: {tokens} tokens, {tokens / max(lines, 1):.1f} a line"
        )
    skips = sum(len(re.findall("# fmt: skip", path.read_text())) for path in files())
    print("# fmt: skip:", skips)
    bases = [
        one
        for one in inspect.getmro(SparseAUCClassifierCV)
        if "sparseauc" in one.__module__
    ]
    print("bases of ours under SparseAUCClassifierCV:", len(bases) - 1)
    print("its method resolution order:", len(inspect.getmro(SparseAUCClassifierCV)))
    for name, (functions, visited) in walks().items():
        print(f"{name}: {functions} functions in {visited} files")
    print("documented names:", documented_names())
    print("options:", sum(options().values()), options())
    print("hard dependencies:", len(project["dependencies"]))
    tests = [*(ROOT / "tests").rglob("*.py")]
    print("lines of tests:", sum(path.read_text().count("\n") for path in tests))
    print("pages, words:", *words())
    print(
        "most complex function:", max((n, name) for name, n in complexities().items())
    )


if __name__ == "__main__":
    main()
