"""The chosen columns as a little HTML table, for notebooks; needs nothing that is not always there.

Styles stand in the elements, for a notebook that is not trusted drops style sheets, and
colours are the reader's own, light or dark.
"""

from html import escape
from typing import Any

import numpy as np

# A notebook is no place for longer lists; the model has them all.
MOST_ROWS = 50
_CELL = "padding:0.15em 0.8em;text-align:{}"


def short_list_html(model: Any) -> str:
    """Return the chosen columns of a fitted classifier as HTML, largest weights first.

    Columns are ordered by coefficient times standard deviation if the model has a
    ``scale_``, and by coefficient otherwise.
    """
    coef = np.asarray(model.coef_[0], np.float64)
    chosen = np.flatnonzero(coef)
    scale = getattr(model, "scale_", None)
    weights = coef if scale is None else coef * np.asarray(scale, np.float64)
    ordered = chosen[np.argsort(-np.abs(weights[chosen]), kind="stable")]
    names = getattr(model, "feature_names_in_", np.arange(coef.size))
    headings = [
        "column",
        "coefficient",
        *(() if scale is None else ("per standard deviation",)),
    ]
    lines = [
        [
            str(names[j]),
            f"{coef[j]:.4g}",
            *(() if scale is None else (f"{weights[j]:.3g}",)),
        ]
        for j in ordered[:MOST_ROWS].tolist()
    ]
    encodings = model.encodings_
    if any(one.kind != "line" for one in encodings.values()):
        headings.append("effect")
        for line, j in zip(lines, ordered.tolist(), strict=False):
            line.append(encodings[j].words())
    more = ordered.size - len(lines)
    cost = f" for {model.cost_:g}" if hasattr(model, "cost_") else ""
    caption = f"{chosen.size} of {coef.size} columns{cost}" + _about(model)
    if more:
        caption += f"; {more} more are not shown"
    return (
        '<table class="sparseauc-columns" style="border-collapse:collapse;margin:0.6em 0">'
        '<caption style="text-align:left;padding:0.3em 0.8em">'
        f"{escape(caption)}</caption><thead><tr>{_cells('th', headings)}</tr></thead><tbody>"
        + "".join(f"<tr>{_cells('td', line)}</tr>" for line in lines)
        + "</tbody></table>"
    )


def _about(model: Any) -> str:
    """Describe what rows are ranked by, and the validation score where one is known."""
    text = " that rank rows by the time to their event"
    measure = "concordance"
    if hasattr(model, "classes_"):
        measure = "AUC"
        negative, positive = model.classes_.tolist()
        text = f" that rank {positive!r} above {negative!r}"
    if hasattr(model, "best_score_"):
        text += (
            f"; ridge {model.alpha_:g}; {measure} {model.best_score_:.3f} in "
            "cross-validation, chosen among many and so a little too good"
        )
    return text


def _cells(tag: str, texts: list[str]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return "".join(
        f'<{tag}{scope} style="{_CELL.format("right" if place else "left")}">{escape(text)}</{tag}>'
        for place, text in enumerate(texts)
    )
