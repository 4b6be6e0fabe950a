"""Reports from Python: on a data frame, or on a fitted model."""

import os
import time
from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sparseauc.columns.reading import is_frame
from sparseauc.selection.confidence import fit_rows
from sparseauc.selection.table import column_table
from sparseauc.utils.files import write_whole

from .evaluation.evaluate import evaluate
from .fit_result import FitResult, describe_fit
from .fitting import FitSettings, fit_table, validate_fit
from .folds import outer_splits
from .formatting import auc_text
from .models import check_model
from .pages.html import render
from .pages.model_report import build_model_report
from .reading import Rules, Table, read_source, training_table
from .reading.columns import labels_as_text
from .reading.source import source_of

__all__ = ["ReportPage", "report", "report_model"]


@dataclass(frozen=True, eq=False)
class ReportPage:
    """A report as one self-contained HTML page, shown inline in notebooks.

    Attributes
    ----------
    html : str
    fit : FitResult
        The numbers behind it.
    """

    html: str = field(repr=False)
    fit: FitResult = field(repr=False)

    def __repr__(self) -> str:
        fit = self.fit
        nested = self.fit.nested
        by = "nested cross-validation" if nested else "training rows, optimistic"
        auc = auc_text(nested.interval if nested else fit.training_auc)
        return (
            f"ReportPage: {fit.k} of {len(fit.table.names)} columns for {fit.card.event}, "
            f"{fit.card.measure} {auc} ({by}). page.save(path) writes it; page.fit has the numbers."
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        return write_whole({Path(path): self.html.encode()})[0]

    def _repr_html_(self) -> str:
        # In a frame of its own, so that neither style sheet reaches the other.
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="report" '
            'style="width:100%;height:80vh;min-height:30em;border:1px solid #8888"></iframe>'
        )


def report(
    data: Any,
    target: str,
    *,
    path: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> ReportPage:
    """Find the short list of a table and report on it, like ``sparseauc fit --report``.

    Parameters
    ----------
    data : DataFrame of pandas or polars, pyarrow.Table, or path
        A path names a file that ``sparseauc fit`` can read.
    target : str
        Outcome column.
    path : path, optional
        File to write; none by default.
    **settings
        Fields of ``Rules`` for reading, such as ``positive``, ``missing``, ``groups``,
        ``strata``, ``exclude`` and ``time``, and of ``FitSettings`` for fitting, such
        as ``k``, ``rule``, ``folds`` and ``seed``.

    Returns
    -------
    ReportPage

    Examples
    --------
    >>> import pandas as pd
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc_app import report
    >>> X, y = make_outbreak(n=200, d=10, k=2, mu=1.0, r=0.4, random_state=0)
    >>> table = pd.DataFrame(X, columns=[f"gene {j}" for j in range(10)])
    >>> table["state"] = ["ill" if label > 0 else "well" for label in y]
    >>> page = report(table, "state", positive="ill", k=2, alpha=1.0, stability_pairs=5)
    >>> page.fit.k
    2
    """
    read = {
        name: settings.pop(name)
        for name in {*settings} & {one.name for one in fields(Rules)}
    }
    how = FitSettings(**settings)
    if read.get("positive") is not None:
        read["positive"] = str(read["positive"])
    rules = Rules(target=target, **read)
    source = (
        read_source(Path(data), as_text=rules.written, ids=rules.ids)
        if isinstance(data, str | os.PathLike)
        else source_of(data)
    )
    return _make_page(fit_table(training_table(source, rules), how), path)


def report_model(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    path: str | os.PathLike[str] | None = None,
    *,
    target: str = "y",
    folds: int = 5,
    stability_pairs: int = 50,
    seed: int = 0,
    strata: npt.ArrayLike | None = None,
) -> ReportPage:
    """Report on a fitted classifier and its training rows.

    Parameters
    ----------
    model : SparseLinearClassifier, or Pipeline or search such as GridSearchCV that ends with one
        Fitted; any classifier of this package. Of a pipeline the report shows the
        columns that the classifier gets, and a caution says that outer folds keep what
        its steps learned.
    X : array-like, sparse matrix or frame of shape (n, d)
        The training rows. Every outer fold refits a clone of the model without some of
        them.
    y : array-like of shape (n,)
    path : path, optional
        File to write; none by default.
    target : str, default="y"
        Name of the outcome.
    folds : int, default=5
        Outer folds of nested cross-validation; 0 skips it.
    stability_pairs : int, default=50
        Pairs of halves for selection frequencies; 0 skips them.
    seed : int, default=0
    strata : array-like of shape (n,), optional
        Those that the model was fitted with.

    Returns
    -------
    ReportPage
    """
    started = time.perf_counter()
    labels = np.asarray(y)
    of_row = None if strata is None else np.asarray(strata)
    search = model
    model = getattr(search, "best_estimator_", search)
    told = []
    names = None
    if isinstance(model, Pipeline):
        before = model[:-1]
        X = before.transform(X)
        names = before.get_feature_names_out()
        search = model[-1]
        model = getattr(search, "best_estimator_", search)
        told.append(
            "Outer folds refit the classifier alone, not the steps before it and no search over "
            "its settings: the AUC is optimistic if those used the outcome"
        )
    check_model(model)
    column_table(model, X, labels, strata=of_row)  # which checks both
    positive = labels == model.classes_[1]
    if names is None:
        names = getattr(
            model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)]
        )
    table = Table(
        X=X if is_frame(X) or hasattr(X, "tocsr") else np.asarray(X),
        names=tuple(map(str, names)),
        y=positive.astype(np.int64),
        target=target,
        negative=str(model.classes_[0]),
        positive=str(model.classes_[1]),
        strata=None if of_row is None else labels_as_text(of_row.tolist()),
        within=None if of_row is None else "strata",
        imputation="median" if model.encodings_ and not hasattr(X, "tocsr") else None,
    )

    def fit(rows: Any, _: Any) -> Any:
        fitted = fit_rows(clone(search), table.X, labels, rows, strata=of_row)
        return getattr(fitted, "best_estimator_", fitted)

    few = min(folds, int(min(positive.sum(), (~positive).sum())))
    settings = FitSettings(
        folds=few,
        stability_pairs=stability_pairs,
        seed=seed,
        rule=getattr(model, "rule", "best"),
    )
    splits = outer_splits(table, few, seed) if few > 1 else []
    validated = validate_fit(table, model, fit, settings, splits)
    seconds = time.perf_counter() - started
    return _make_page(describe_fit(validated, told, seconds), path)


def _make_page(fit: FitResult, path: str | os.PathLike[str] | None) -> ReportPage:
    page = ReportPage(render(build_model_report(evaluate(fit))), fit)
    if path is not None:
        page.save(path)
    return page
