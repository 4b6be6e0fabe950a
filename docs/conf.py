"""How the pages are built: ``make docs``, or ``sphinx-build -W docs docs/_build/html``."""

import os
import re
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.nodes import make_refnode

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from write_pages import write_pages  # noqa: E402

import sparseauc  # noqa: E402

# Before Sphinx looks which pages there are.
write_pages(HERE / "generated")

project = "sparseauc"
author = "The sparseauc developers"
version = release = sparseauc.__version__
language = "en-GB"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "generated/parts",
    "generated/reproduction/parts",
    "gallery/**.md5",
    "sg_execution_times.rst",
]
nitpicky = True
suppress_warnings = [
    # Settings with functions in them are only not cached.
    "config.cache",
]

# --------------------------------------------------------------------------------- text

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
# Options begin with two hyphens, not with a dash.
smartquotes = False

# ---------------------------------------------------------------------------- reference

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Ours are sentences ("ndarray of shape (n,)"), not names to be linked.
numpydoc_class_members_toctree = False

# ------------------------------------------------------------------------------ gallery

# Published tables are not in the repository: where they are absent, their examples are
# shown only.
PUBLISHED = Path(os.environ.get("SPARSEAUC_DATA", "")) / "published" / "README.md"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/(plot|published)_" if PUBLISHED.is_file() else r"/plot_",
    "within_subsection_order": "write_pages.GalleryOrder",
    "reference_url": {"sparseauc": None},
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("sparseauc",),
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 10**6,
    "write_computation_times": False,
    "image_srcset": ["2x"],
}

# --------------------------------------------------------------------------------- HTML

html_theme = "pydata_sphinx_theme"
html_title = "sparseauc"
html_static_path = ["_static"]
html_extra_path = ["generated/extra"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
# Pages without a list of neighbours leave more width for tables.
html_sidebars = {
    name: [] for name in ("tutorial", "faq", "benchmarks", "generated/benchmarks/*")
}
html_theme_options = {
    "logo": {"text": "sparseauc"},
    "header_links_before_dropdown": 8,
    # An icon: with its field the header has two lines on most screens.
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}
copyright = "the sparseauc developers, MIT licence"


# ------------------------------------------------------------------------------- our
# own additions


def write_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def write_block(translator, node):
    """Write a formula that stands by itself."""
    translator.body.append(
        f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>'
    )
    raise SkipNode


def skip_inherited(_app, _what, name, *_):
    """Leave out what scikit-learn adds to every estimator and explains in its own pages."""
    request = name.startswith("set_") and name.endswith("_request")
    return True if request or name in ("get_metadata_routing", "set_output") else None


def read_as_text(_app, _what, _name, _object, _options, lines):
    """Take |x| for a magnitude and ``shape (n_features_in_,)`` for words, as people do."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        # Every other piece stands between double backticks.
        pieces = line.split("``")
        pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
        names, colon, kind = "``".join(pieces).partition(" : ")
        lines[number] = names + colon + re.sub(r"(\w)_(?=[\s,)]|$)", r"\1\\_", kind)


def resolve_by_name(app, env, node, contnode):
    """Link a name of ours that is written without its module, or with another one."""
    domain = env.domains.python_domain
    target = node.get("reftarget", "")
    for ending in (target, target.rpartition(".")[2]):
        found = [
            name
            for name, entry in domain.objects.items()
            if ending and name.endswith(f".{ending}") and not entry.aliased
        ]
        if len(found) == 1:
            entry = domain.objects[found[0]]
            return make_refnode(
                app.builder,
                node["refdoc"],
                entry.docname,
                entry.node_id,
                contnode,
                found[0],
            )
    return None


def setup(app):
    """Formulas become MathML: no script from elsewhere, and screen readers read it."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.config.html_math_renderer = "mathml"
    app.connect("autodoc-skip-member", skip_inherited)
    # Before numpydoc takes the text apart.
    app.connect("autodoc-process-docstring", read_as_text, priority=100)
    app.connect("missing-reference", resolve_by_name)
