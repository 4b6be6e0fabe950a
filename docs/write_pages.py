"""Pages and parts of pages that are made of something else, so that they cannot go stale.

The benchmarks' tables, the options of the command and the list of public names are
written below ``docs/generated`` each time the pages are built. The pages of the
reproduction are copied there.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

# Public modules in the order of the reference. Names are those of ``__all__``, or else
# functions and classes that the module defines; a name that an earlier module has is
# not listed again.
SECTIONS = {
    "Everyday use": {
        "sparseauc": "Classifiers",
        "sparseauc.selection": "Validation, stability and alternatives of a list",
        "sparseauc.metrics": "Metrics",
        "sparseauc.plotting": "Displays",
        "sparseauc.datasets": "Datasets",
    },
    "Thresholds, times and rules": {
        "sparseauc.operating_points": "Thresholds",
        "sparseauc.survival": "Times to event",
        "sparseauc.rules": "Rules of cross-validation",
    },
    "Tables, files and reports": {
        "sparseauc.chunks": "Tables larger than memory",
        "sparseauc_app.reading": "Errors of tables",
        "sparseauc_app.methods": "Methods that a package adds",
        "sparseauc_app": "Reports and model files",
        "sparseauc_app.scorecard": "Score cards",
        "sparseauc_app.export": "Export",
        "sparseauc_app.reporting": "Pages of reports",
    },
    "Building blocks": {
        "sparseauc.columns": "What columns count as",
        "sparseauc.estimators": "Warnings of the estimators",
    },
}
MODULES = {
    name: title for section in SECTIONS.values() for name, title in section.items()
}
# Of modules that also serve others of this package, the names that users need.
FOR_USERS = {
    "sparseauc.metrics": (
        "AUCInterval",
        "DeLongTest",
        "auc",
        "auc_confidence_interval",
        "delong_test",
        "stratified_auc",
    ),
    "sparseauc.operating_points": ("OperatingPoint", "operating_points"),
    "sparseauc.survival": ("harrell_concordance", "uno_concordance"),
    "sparseauc.rules": ("best", "one_standard_error"),
    "sparseauc.chunks": ("open_table",),
    "sparseauc_app.reading": ("DataError",),
    "sparseauc.columns": ("Curve", "Levels", "Line"),
    "sparseauc_app.methods": ("Method",),
    "sparseauc_app.scorecard": ("ScoreCard",),
}
# What users need first, on the first page of the reference; other names follow by
# alphabet.
FIRST = (
    "SparseAUCClassifierCV", "SparseAUCClassifier", "SparseConcordanceCV", "SparseConcordance",
    "report", "save_model", "load_model",
    "Limits", "sparse_auc_path", "SparseAUCPath",
    "MeanDifferenceClassifier", "SHTAUCClassifier",
)  # fmt: skip
# Modules that serve others of this package; their names may change without notice.
INTERNAL = {
    "sparseauc.cross_validation",
    "sparseauc.defaults",
    "sparseauc_app.cli",
    "sparseauc.errors",
    "sparseauc.limits",
    "sparseauc.limits_files",
    "sparseauc.moments",
    "sparseauc.outcome",
    "sparseauc.path",
    "sparseauc.performance",
    "sparseauc.folds",
    "sparseauc.held_out",
    "sparseauc_app.card_making",
    "sparseauc_app.comparison",
    "sparseauc_app.fit_result",
    "sparseauc_app.fitting",
    "sparseauc_app.model_files",
    "sparseauc_app.pages",
    "sparseauc.solvers",
    "sparseauc.strata",
    "sparseauc.utils",
}


def write_pages(folder: Path) -> None:
    """Write everything; files that would not change are left alone, and so need no rebuild."""
    for name, text in {
        **benchmark_pages(),
        "parts/peers.md": peers_part(),
        "parts/peers_ordinary.md": first_table("peers"),
        "parts/published_lists.md": first_table("published_lists"),
        "parts/survival.md": first_table("survival"),
        "parts/curves.md": first_table("curves"),
        **published_parts(),
        "parts/command.md": command_part(),
        "parts/exit_codes.md": exit_codes_part(),
        **reference_pages(),
        "extra/sample_report.html": sample_report(),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    reproduction = runpy.run_path(str(ROOT / "reproduction" / "docs" / "pages.py"))
    reproduction["write_pages"](folder / "reproduction")


class GalleryOrder:
    """Order of the gallery, as the class that sphinx-gallery asks for: real tables first."""

    _FIRST = (
        "published_heart_failure", "published_meningitis", "published_infarct",
        "published_stool_species", "plot_breast_cancer", "plot_wine", "plot_digits",
        "plot_diabetes", "plot_survival",
    )  # fmt: skip

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Key to sort a file by."""
        stem = name.removesuffix(".py")
        return (
            self._FIRST.index(stem) if stem in self._FIRST else len(self._FIRST)
        ), name


def table(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown."""
    lines = [list(headings), ["---"] * len(list(headings)), *rows]
    return "".join(
        "| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines
    )


def _cell(value: Any) -> str:
    return str(value).replace("|", r"\|").replace("\n", " ")


# --------------------------------------------------------------------------- benchmarks


def benchmark_pages(results: Path = ROOT / "benchmarks" / "results") -> dict[str, str]:
    """Return each table as a page of its own, and the list of them."""
    pages = {}
    lines = []
    # What most people come for first.
    paths = sorted(
        results.glob("*.md"), key=lambda path: (path.stem != "peers", path.stem)
    )
    for path in paths:
        text = path.read_text(encoding="utf-8")
        pages[f"benchmarks/{path.name}"] = text
        title = text.partition("\n")[0].lstrip("# ")
        kept, missed = (
            len(re.findall(r"\bkept\b", text)),
            len(re.findall(r"\bMISSED\b", text)),
        )
        lines.append(
            (f"[{title}](generated/benchmarks/{path.name})", kept or "", missed or "")
        )
    names = "\n".join(f"generated/benchmarks/{path.stem}" for path in paths)
    pages["parts/benchmarks.md"] = (
        table(("what is measured", "limits kept", "limits missed"), lines)
        + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )
    return pages


def first_table(name: str, columns: int | None = None) -> str:
    """Return the first table of a file of results, or its first columns."""
    text = (ROOT / "benchmarks" / "results" / f"{name}.md").read_text(encoding="utf-8")
    lines = text[text.index("\n| ") + 1 :].partition("\n\n")[0].splitlines()
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines
    ]
    head, _, *body = (row[:columns] for row in rows)
    return table(head, body)


def published_parts() -> dict[str, str]:
    """Return the rows of each table with a published list, for the gallery, which is in RST."""
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in first_table("published_lists").splitlines()
    )
    start = f".. csv-table:: Difference: {head[4]}, ± standard error\n"
    start += "   :header: method, columns, AUC, difference, folds with the published list\n\n"
    parts: dict[str, str] = {}
    for name, *cells in rows:
        part = f"parts/published_{re.sub(r'[^a-z]+', '_', name.lower())}.rst"
        line = ", ".join(f'"{cell}"' for cell in cells)
        parts[part] = parts.get(part, start) + f"   {line}\n"
    return parts


def peers_part(path: Path = ROOT / "benchmarks" / "results" / "peers_wide.md") -> str:
    """Return the comparison with peers on genes and simulations, a line for each."""
    methods: dict[str, None] = {}
    found: dict[str, dict[str, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 4 or not re.match(r"[01]\.\d", cells[2]):
            continue
        data, method, auc, columns = cells[:4]
        methods[method] = None
        short = f"{float(auc.partition('±')[0]):.3f}"
        found.setdefault(data, {})[method] = short + (
            f"\N{NO-BREAK SPACE}({columns})" if columns else ""
        )
    return table(
        ("data", *methods),
        (
            (data, *(values.get(method, "") for method in methods))
            for data, values in found.items()
        ),
    )


# ------------------------------------------------------------------------ sample report


def sample_report() -> str:
    """Return the report on the demo's cohort, a page of HTML."""
    from sparseauc.datasets import make_patients
    from sparseauc_app import report
    from sparseauc_app.cli.demo import NEW, PATIENTS

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "patients.csv"
        make_patients(PATIENTS + NEW, random_state=0)[:PATIENTS].to_csv(
            table, index=False
        )
        return report(
            table, "sepsis", positive="yes", exclude=["patient"], missing="median", rule="1se"
        ).html  # fmt: skip


# ------------------------------------------------------------------------------ command


def command_part() -> str:
    """Return every command with its arguments and options."""
    import typer

    from sparseauc_app.cli import app

    group: Any = typer.main.get_command(app)
    parts = []
    for name, command in group.commands.items():
        rows = []
        for parameter in command.params:
            if parameter.name == "help":
                continue
            if parameter.param_type_name == "argument":
                label = f"`{(parameter.metavar or parameter.name or '').strip('{}').upper()}`"
            else:
                label = ", ".join(f"`{option}`" for option in parameter.opts)
            rows.append((label, parameter.help or "", _default(parameter)))
        about = inspect.cleandoc(command.help or "").replace("\n\n", "\n\n")
        parts.append(
            f"### `sparseauc {name}`\n\n{about}\n\n"
            + (table(("option", "meaning", "default"), rows) if rows else "")
        )
    return "\n".join(parts)


def exit_codes_part() -> str:
    """Return the exit codes, from the sentence that ``--help`` ends with."""
    from sparseauc_app.cli.errors import EXIT_CODES

    return table(("code", "meaning"), re.findall(r"(\d+) ([^;.]+)[;.]", EXIT_CODES))


def _default(parameter: Any) -> str:
    """Return the default as one types it; nothing for flags and what must or need not be given."""
    value = parameter.default
    if (
        value is None
        or isinstance(value, bool)
        or callable(value)
        or parameter.required
    ):
        return ""
    value = getattr(value, "value", value)
    return f"`{value}`" if isinstance(value, str | int | float | Path) else ""


# ---------------------------------------------------------------------------- reference


def public_names() -> dict[str, list[str]]:
    """Functions and classes of each public module, each listed once; no module without any."""
    seen: set[int] = set()
    names: dict[str, list[str]] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        listed = FOR_USERS.get(module_name, getattr(module, "__all__", None))
        own = []
        for name in sorted(listed if listed is not None else vars(module), key=_by_use):
            thing = getattr(module, name)
            if name.startswith("_") or id(thing) in seen:
                continue
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            if listed is None and thing.__module__ != module_name:
                continue
            seen.add(id(thing))
            own.append(name)
        if own:
            names[module_name] = own
    return names


def _by_use(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST)), name.lower()


def reference_pages() -> dict[str, str]:
    """Return the reference, and a page for each public module with a table of its names."""
    pages = {}
    modules = public_names()
    for module_name, names in modules.items():
        title = MODULES[module_name]
        # Bars are magnitudes here, not substitutions.
        about = (inspect.getdoc(importlib.import_module(module_name)) or "").replace(
            "|", r"\|"
        )
        entries = "\n".join(f"   {name}" for name in names)
        pages[f"api/{module_name}.rst"] = (
            f"{title}\n{'=' * len(title)}\n\n``{module_name}``: {about}\n\n"
            f".. currentmodule:: {module_name}\n\n"
            f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{entries}\n"
        )
    parts = [
        "# Reference\n\nAll public classes and functions, those for everyday use first. Names that "
        "are not listed here may change without notice.\n"
    ]
    for section, members in SECTIONS.items():
        shown = [name for name in members if name in modules]
        listing = "\n".join(f"api/{name}" for name in shown)
        parts.append(f"## {section}\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n")
        for name in shown:
            rows = (
                (f"{{py:obj}}`~{name}.{one}`", _first_line(name, one))
                for one in modules[name]
            )
            title = f"[{MODULES[name]}](api/{name}.rst)"
            parts.append(f"### {title}\n\n" + table((f"`{name}`", ""), rows))
    pages["api.md"] = "\n".join(parts)
    return pages


def _first_line(module: str, name: str) -> str:
    """First sentence of a docstring, as Markdown."""
    text = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text.partition("\n\n")[0]).replace(
        "``", "`"
    )
