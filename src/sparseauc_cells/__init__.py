"""Marker panels: the few genes that identify cell types, for each type or one for all.

anndata is needed only here: ``pip install "sparseauc[cells]"``.
"""

from .panels import marker_panel, shared_panel

__all__ = ["marker_panel", "shared_panel"]
