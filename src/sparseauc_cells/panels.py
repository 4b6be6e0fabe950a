"""Marker panels: the few genes that identify cell types, for each type or one for all.

Rankings of single genes, as by Wilcoxon's test, list many redundant genes; a panel is chosen
jointly, so that each gene adds to the others. Results are stored like scanpy's rankings, and
scanpy's plots draw them.

anndata is needed only here: ``pip install anndata``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import mannwhitneyu

from sparseauc.estimators import SharedListClassifier
from sparseauc.labels import Labels
from sparseauc.limits import Limits
from sparseauc.metrics import fast_auc
from sparseauc.moments import class_moments
from sparseauc.moments.chunked import GatheredMoments, Partition
from sparseauc.path.path import SparseAUCPath, path_of_moments
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.utils.text import quoted
from sparseauc.utils.types import Array, Indices

from .reading import (
    CellReader,
    GeneColumns,
    check_number,
    find_targets,
    folds_of,
    folds_to_judge,
    genes_to_keep,
    labelled_table,
)

if TYPE_CHECKING:
    import pandas as pd


# Genes whose AUC is computed for a type, those whose means differ most beside their deviations; and
# those of the highest AUC, from which its panel is chosen, or twice as many as the panel has.
_PROPOSED, _CANDIDATES = 40, 10
# Ridges that are tried.
_RIDGES = (1.0, 10.0)
# All folds take part: none is left out.
_NO_FOLD = -1
# Added to both sides of a fold change, as scanpy does, so that zeros can be compared.
_LITTLE = 1e-9


def marker_panel(
    adata: Any,
    groupby: str,
    k: int = 5,
    *,
    groups: Literal["all"] | Iterable[str] = "all",
    layer: str | None = None,
    use_raw: bool | None = None,
    direction: Literal["up", "any"] = "up",
    alpha: float | Literal["cv"] = "cv",
    cv: int | str | None = 5,
    min_cells: int = 3,
    key_added: str = "marker_panel",
    random_state: int = 0,
) -> pd.DataFrame:
    """Find the k genes that together best rank the cells of a type above all others.

    Every type is compared with all other cells, however rare it is. A panel begins with the gene of
    the highest AUC. The others are chosen jointly among the ten genes of the highest AUC (twice as
    many as the panel has, if that is more), as by :class:`SparseAUCClassifier` with weights that
    make both sides count the same. The AUC of the panels is cross-validated.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, genes in columns, usually normalised and logarithmised. Sparse tables stay
        sparse; a table in a file (``backed="r"``) is read in chunks.
    groupby : str
        Column of ``adata.obs`` with the cell types. Cells without a type are left out.
    k : int, default=5
        Genes per type.
    groups : "all" or iterable of str, default="all"
        Types to find panels for. The rest is always all other cells.
    layer : str, optional
        Take this layer instead of ``adata.X``.
    use_raw : bool, optional
        Take ``adata.raw``. By default if there is one and no ``layer`` is named, as scanpy does.
    direction : {"up", "any"}, default="up"
        "up": only genes with a higher mean in the type than in the rest. "any": also genes that the
        type lacks.
    alpha : float or "cv", default="cv"
        Ridge on the standardised scale: the larger, the less it counts that genes are correlated.
        "cv" takes 1 or 10, whichever has the higher AUC on cells left out, for each type; 1 without
        ``cv``.
    cv : int, str or None, default=5
        For the AUC of the panels: the number of stratified folds; or a column of ``adata.obs``,
        such as the donor, each value of which is left out in turn; or None for no such AUC.
    min_cells : int, default=3
        Types with fewer cells get no panel, with a warning. They stay in the rest.
    key_added : str, default="marker_panel"
        Where in ``adata.uns`` to store the result.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    pandas.DataFrame
        One row for each gene of each panel, in the order of ``rank``:

        - ``group``: the cell type;
        - ``rank``: 1 for the gene with the largest contribution;
        - ``gene``;
        - ``coefficient``: in the score Σ coefficient · expression, higher in cells of the type;
        - ``standardised``: per standard deviation of the gene over all cells;
        - ``contribution``: increase of the pairwise squared loss (1 without genes) when the gene is
          left out and the others are refitted;
        - ``auc``: of the gene alone, in its better direction, so at least 0.5;
        - ``direction``: "+" if cells of the type have larger values, "-" if smaller, "" if neither;
        - ``log_fold_change``: base 2, of the mean expressions; see Notes;
        - ``panel_auc``: of the whole panel, on cells left out; NaN if it cannot be computed;
        - ``n_cells``: cells of the type.

    See Also
    --------
    SparseAUCClassifier : One such panel for any table with two classes.

    Notes
    -----
    ``adata.uns[key_added]`` holds what ``scanpy.tl.rank_genes_groups`` stores, so that
    ``scanpy.pl.rank_genes_groups_dotplot(adata, key="marker_panel")`` and its siblings work (not
    their ``values_to_plot``, for which scanpy wants the values of all genes):

    - ``names``: the genes of each type by rank. Where fewer than k genes add anything, the list is
      filled up with others, those of the highest AUC first, of coefficient and score 0;
    - ``scores``: their ``contribution``;
    - ``logfoldchanges``: log₂ (e^mean − 1) of the type less that of the rest, as scanpy computes
      it from logarithmised values; NaN where a mean is negative, as of scaled values;
    - ``pvals``: of the gene *alone*, by Wilcoxon's rank-sum test with correction for ties, as
      scanpy computes it with ``tie_correct=True``. They say nothing about the panel;
    - ``pvals_adj``: ``pvals`` times the number of all genes, at most 1 (Bonferroni), which also
      allows for the selection of genes. If types are clusters of the same table, these p-values are
      too small, as for any method;
    - ``params``: the parameters.

    It also holds ``coefficients``, ``standardised`` and ``aucs`` (of the gene alone) in the same
    layout, and ``panel_auc``: for each type (row) the cross-validated AUC of the best panels of
    1 … k genes (columns), over pairs of cells within a fold. The ridge of a panel that is judged on
    a fold is the choice of the other folds. ``alphas`` are the ridges of the types.

    A coefficient may be negative in "up" panels too: such a gene is higher in the type, and higher
    still in some other types.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from sparseauc_cells import marker_panel
    >>> rng = np.random.default_rng(0)
    >>> kind = pd.Categorical(np.repeat(["B", "T"], 50))
    >>> X = rng.poisson(1.0, (100, 20)).astype(np.float32)
    >>> X[:50, 3] += 4
    >>> adata = anndata.AnnData(np.log1p(X), obs=pd.DataFrame({"kind": kind}, map(str, range(100))))
    >>> panels = marker_panel(adata, "kind", k=2, groups=["B"])
    >>> panels["gene"][0]
    '3'
    """
    check_number("k", k, Integral, 1)
    if alpha != "cv":
        check_number("alpha", alpha, Real, 0)
    check_number("min_cells", min_cells, Integral, 1)
    if direction not in ("up", "any"):
        raise ValueError(f'direction must be "up" or "any", got {direction!r}')
    table, genes, use_raw, label, types = labelled_table(
        adata, "marker_panel", groupby, layer, use_raw
    )
    k = genes_to_keep(k, genes)
    counts = np.bincount(label[label >= 0], minlength=len(types))
    targets = find_targets(types, counts, groups, min_cells, groupby)
    fold, n_folds = folds_of(adata, label, cv, random_state)

    reader = CellReader(table, genes, np.asarray(adata.obs_names))
    judged = folds_to_judge(label, fold, targets, len(types), n_folds)
    models = [(target, _NO_FOLD) for target in targets] + judged
    upward = direction == "up"
    proposed = _propose(reader, label, fold, len(types), n_folds, models, k, upward)
    values = GeneColumns(reader, proposed.values())
    ridges = np.array(_RIDGES if alpha == "cv" else [alpha], np.float64)
    chosen = np.zeros(len(targets), np.int64)
    panel_auc = np.full((len(targets), k), np.nan)
    # The base of the logarithm, as scanpy.pp.log1p notes it.
    base = (adata.uns.get("log1p") or {}).get("base") or np.e
    everyone = np.flatnonzero(label >= 0)
    panels = []
    for number, target in enumerate(targets):
        positive, in_fold = label[everyone] == target, fold[everyone]
        folds = [
            (in_fold == left_out, proposed[target, left_out])
            for one, left_out in judged
            if one == target
        ]
        if folds:
            chosen[number], panel_auc[number] = _cross_validate(
                values, everyone, positive, folds, ridges, k, upward
            )
        some = proposed[target, _NO_FOLD]
        search = _Search(values.of(everyone, some), positive, k, upward)
        ranked, told = search.panel(float(ridges[chosen[number]]), float(base), genes.size)
        panels.append({"names": genes[some[ranked]], **told})
    names = [types[target] for target in targets]
    _warn_of_short_panels(names, panels, k, upward)
    if cv is not None:
        _warn_of_unjudged(names, panel_auc)
    adata.uns[key_added] = {
        "params": {
            "groupby": groupby,
            "reference": "rest",
            "method": "sparseauc",
            "use_raw": use_raw,
            "layer": layer,
            "corr_method": "bonferroni",
            "k": int(k),
            "alpha": alpha if alpha == "cv" else float(alpha),
            "direction": direction,
            "cv": cv,
        },
        **_records(names, panels),
        "alphas": ridges[chosen],
        "panel_auc": _frame_of_aucs(names, panel_auc),
    }
    return _tidy(names, panels, panel_auc[:, -1], counts[targets])


def shared_panel(
    adata: Any,
    groupby: str,
    k: int = 20,
    *,
    limits: Limits | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    alpha: float = 5.0,
    min_cells: int = 3,
    key_added: str = "shared_panel",
) -> pd.DataFrame:
    """Find one panel of k genes for all cell types, or extend one that there is.

    Parameters
    ----------
    adata, groupby, layer, use_raw
        As of :func:`marker_panel`.
    k : int, default=20
        Genes of the panel, those always included among them.
    limits : Limits, optional
        With ``always_include``, a panel that is to be extended, and ``exclude``.
    alpha : float, default=5.0
        As of :class:`sparseauc.SharedListClassifier`, which finds the panel.
    min_cells : int, default=3
        Cells of types with fewer are left out, with a warning.
    key_added : str, default="shared_panel"
        ``adata.var`` gets a column of this name, true for the genes of the panel, and ``adata.uns``
        the parameters.

    Returns
    -------
    pandas.DataFrame
        One row for each gene: those always included first; each next one adds most to those
        before it.

        - ``gene``;
        - ``group``: the type that the gene alone tells best from the rest;
        - ``auc``: how well, in its better direction;
        - ``direction``: "+" if cells of this type have larger values, "-" if smaller;
        - ``given``: whether it was always included.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from sparseauc_cells import shared_panel
    >>> rng = np.random.default_rng(0)
    >>> kind = pd.Categorical(np.repeat(["B", "NK", "T"], 50))
    >>> X = rng.poisson(1.0, (150, 20)).astype(np.float32)
    >>> X[:50, 3] += 4
    >>> X[50:100, 7] += 4
    >>> adata = anndata.AnnData(np.log1p(X), obs=pd.DataFrame({"kind": kind}, map(str, range(150))))
    >>> shared_panel(adata, "kind", k=2)["gene"].tolist()
    ['7', '3']
    """
    check_number("k", k, Integral, 1)
    check_number("min_cells", min_cells, Integral, 1)
    table, genes, use_raw, label, types = labelled_table(
        adata, "shared_panel", groupby, layer, use_raw
    )
    k = genes_to_keep(k, genes)
    counts = np.bincount(label[label >= 0], minlength=len(types))
    kept = find_targets(types, counts, "all", min_cells, groupby)
    label = np.where(np.isin(label, kept), label, -1)
    reader = CellReader(table, genes, np.asarray(adata.obs_names))
    model = SharedListClassifier(k=int(k), alpha=alpha, limits=limits)
    # Cells without a type weigh nothing.
    model.fit(reader, np.maximum(label, kept[0]), sample_weight=(label >= 0).astype(np.float64))
    cells = np.flatnonzero(label >= 0)
    values = reader.take(cells, model.order_)
    aucs = np.array(
        [[fast_auc(column, label[cells] == number) for number in kept] for column in values.T]
    )
    best = np.argmax(np.abs(aucs - 0.5), axis=1)
    auc = aucs[np.arange(best.size), best]
    names = genes[model.order_]
    adata.var[key_added] = adata.var_names.isin(names)
    adata.uns[key_added] = {
        "params": {
            "groupby": groupby, "use_raw": use_raw, "layer": layer, "k": int(k),
            "limits": {} if limits is None else limits.as_dict(genes), "alpha": float(alpha),
        },
    }  # fmt: skip
    import pandas as pd

    return pd.DataFrame(
        {
            "gene": names,
            "group": pd.Categorical([types[kept[b]] for b in best], [types[t] for t in kept]),
            "auc": np.maximum(auc, 1.0 - auc),
            "direction": np.where(auc >= 0.5, "+", "-"),
            "given": np.isin(names, () if limits is None else limits.always_include),
        }
    )


def _propose(
    reader: CellReader, label: Indices, fold: Indices, n_types: int, n_folds: int,
    models: list[tuple[int, int]], k: int, upward: bool,
) -> dict[tuple[int, int], Indices]:  # fmt: skip
    """Genes whose means differ most beside their deviations, of each type without each fold."""
    part = np.where(label >= 0, label * n_folds + fold, -1)
    everyone = Labels(np.ones(label.size, np.bool_))
    parts = GatheredMoments(
        reader, everyone, [Partition(part, n_types * n_folds)], products=False
    ).parts
    weights = np.array([positive.weight for positive, _ in parts])
    # About the mean of one part, so that a gene of one value has no differences.
    means = np.array([positive.mean for positive, _ in parts])
    means -= means[np.argmax(weights)]
    squares = np.array([positive.scatter for positive, _ in parts])
    squares = squares / np.maximum(weights, 1.0)[:, None] + means**2
    number, of_fold = np.divmod(np.arange(n_types * n_folds), n_folds)
    targets, left_out = np.array(models).T[:, :, None]
    sides = []
    for inside in (number == targets, number != targets):
        share = np.where(inside & (of_fold != left_out), weights, 0.0)
        share /= share.sum(axis=1, keepdims=True)
        mean = share @ means
        sides.append((mean, share @ squares - mean**2))
    difference = sides[0][0] - sides[1][0]
    spread = difference**2 + np.maximum(sides[0][1] + sides[1][1], 0.0)
    worth = np.zeros_like(spread)
    np.divide(difference * np.abs(difference), spread, out=worth, where=difference != 0)
    order = np.argsort(-worth if upward else -np.abs(worth), axis=1, kind="stable")
    return dict(zip(models, order[:, : max(_PROPOSED, 4 * k)], strict=True))


class _Search:
    """Panels of a type: first the gene of the highest AUC, then those that add to it.

    ``expression`` are the values of the genes proposed; if ``upward``, genes must be higher in the
    type.
    """

    def __init__(
        self, expression: Array, positive: npt.NDArray[np.bool_], k: int, upward: bool
    ) -> None:
        self._expression, self._positive, self._k = expression, positive, k
        weight = np.where(positive, 1.0 / positive.sum(), 1.0 / (~positive).sum())
        self._moments = class_moments(expression, positive, weight)
        mean, rest = self._moments.means
        self._aucs = np.array([fast_auc(column, positive) for column in expression.T])
        alone = np.where(mean > rest, self._aucs, -1.0) if upward else np.abs(self._aucs - 0.5)
        self._by_auc = np.argsort(-alone, kind="stable")
        size = min(max(_CANDIDATES, 2 * k), np.count_nonzero(alone >= 0))
        first, others = self._by_auc[: min(1, size)], self._by_auc[size:]
        self._restrictions = Restrictions(first, np.sort(others))

    def path(self, ridges: Array) -> SparseAUCPath:
        """Panels of 1 … k genes for several ridges."""
        return path_of_moments(self._moments, np.arange(1, self._k + 1), ridges, self._restrictions)

    def panel(self, alpha: float, base: float, n_genes: int) -> tuple[Indices, dict[str, Array]]:
        """The genes of the panel of k by rank, and what is told of them.

        Where fewer add anything, others of coefficient 0 follow.
        """
        path = self.path(np.array([alpha]))
        panel, standardised, _ = path.solutions[0][-1]
        block = self._moments.block(panel, panel) / np.outer(path.scale[panel], path.scale[panel])
        block += alpha * np.eye(panel.size)
        contribution = standardised**2 / np.linalg.inv(block).diagonal()
        order = np.argsort(-contribution, kind="stable")
        spare = self._by_auc[~np.isin(self._by_auc, panel)][: self._k - panel.size]
        ranked = np.concatenate([panel[order], spare])
        standardised, contribution = (
            np.append(values[order], np.zeros(spare.size))
            for values in (standardised, contribution)
        )
        # The exact distribution is out of reach where a type of few cells meets very many.
        values, positive = self._expression[:, ranked], self._positive
        sides = values[positive], values[~positive]
        pvals = mannwhitneyu(*sides, use_continuity=False, method="asymptotic").pvalue
        means = np.array(self._moments.means)[:, ranked]
        with np.errstate(invalid="ignore", divide="ignore"):
            of_type, of_rest = np.expm1(means * np.log(base)) + _LITTLE
            log_fold_change = np.where((means < 0).any(axis=0), np.nan, np.log2(of_type / of_rest))
        return ranked, {
            "scores": contribution,
            "logfoldchanges": log_fold_change,
            "pvals": pvals,
            "pvals_adj": np.minimum(pvals * n_genes, 1.0),
            "coefficients": standardised / path.scale[ranked],
            "standardised": standardised,
            "aucs": self._aucs[ranked],
        }


def _cross_validate(
    values: GeneColumns,
    cells: Indices,
    positive: npt.NDArray[np.bool_],
    folds: list[tuple[npt.NDArray[np.bool_], Indices]],
    ridges: Array,
    k: int,
    upward: bool,
) -> tuple[int, Array]:
    """Choose the ridge of a type's panel on cells left out; see ``_choose_ridge``.

    Each fold is given by which cells are left out, and the genes proposed without them.
    """
    aucs, pairs = [], []
    for left_out, some in folds:
        search = _Search(values.of(cells[~left_out], some), positive[~left_out], k, upward)
        used, weights = search.path(ridges).matrix()
        scores = values.of(cells[left_out], some[used]) @ weights
        inside = positive[left_out]
        aucs.append([fast_auc(score, inside) for score in scores.T])
        pairs.append(float(np.count_nonzero(inside) * np.count_nonzero(~inside)))
    return _choose_ridge(np.reshape(aucs, (len(pairs), ridges.size, k)), np.array(pairs))


def _warn_of_short_panels(
    names: list[str], panels: list[dict[str, Any]], k: int, upward: bool
) -> None:
    sizes = [np.count_nonzero(panel["coefficients"]) for panel in panels]
    if short := [f"{n} ({size})" for n, size in zip(names, sizes, strict=True) if size < k]:
        which = "higher in the type " if upward else ""
        warnings.warn(
            f"panels of fewer than {k} genes for {quoted(short)}: no other gene {which}adds to "
            "them",
            stacklevel=3,
        )


def _warn_of_unjudged(names: list[str], panel_auc: Array) -> None:
    if np.isnan(panel_auc).any():
        unjudged = [n for n, row in zip(names, panel_auc, strict=True) if np.isnan(row[0])]
        warnings.warn(
            f"no AUC on cells left out for {quoted(unjudged)}: their cells are all in one fold",
            stacklevel=3,
        )


def _choose_ridge(aucs: Array, pairs: Array) -> tuple[int, Array]:
    """The ridge of the highest AUC of k genes, and the AUCs of 1 … k genes on cells left out.

    ``aucs`` are by fold, ridge and number of genes; folds count by their pairs of cells. Every fold
    is judged with the ridge that the others choose.
    """
    totals = np.tensordot(pairs, aucs, 1)
    judged = [auc[np.argmax((totals - n * auc)[:, -1])] for n, auc in zip(pairs, aucs, strict=True)]
    return int(np.argmax(totals[:, -1])), pairs @ np.array(judged) / pairs.sum()


def _records(
    names: list[str], panels: list[dict[str, npt.NDArray[Any]]]
) -> dict[str, npt.NDArray[Any]]:
    """Arrays with a field for each type and a row for each rank, as scanpy stores them."""
    kinds = {"names": "O", "scores": "f4", "logfoldchanges": "f4"}
    records: dict[str, npt.NDArray[Any]] = {}
    for field, values in panels[0].items():
        kind = kinds.get(field, "f8")
        table = np.rec.array(np.empty(values.size, dtype=[(name, kind) for name in names]))
        for name, panel in zip(names, panels, strict=True):
            table[name] = panel[field]
        records[field] = table
    return records


def _tidy(
    names: list[str],
    panels: list[dict[str, npt.NDArray[Any]]],
    panel_auc: Array,
    n_cells: Indices,
) -> pd.DataFrame:
    """Tabulate all panels, a row for each gene."""
    import pandas as pd

    frames = []
    for name, panel, auc, cells in zip(names, panels, panel_auc, n_cells.tolist(), strict=True):
        aucs = panel["aucs"]
        in_panel = panel["coefficients"] != 0
        frames.append(
            pd.DataFrame(
                {
                    "group": pd.Categorical([name] * aucs.size, categories=names),
                    "rank": np.arange(1, aucs.size + 1),
                    "gene": panel["names"],
                    "coefficient": panel["coefficients"],
                    "standardised": panel["standardised"],
                    "contribution": panel["scores"],
                    "auc": np.maximum(aucs, 1.0 - aucs),
                    "direction": np.select([aucs > 0.5, aucs < 0.5], ["+", "-"], ""),
                    "log_fold_change": panel["logfoldchanges"],
                    "panel_auc": auc,
                    "n_cells": cells,
                }
            )[in_panel]
        )
    table: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return table


def _frame_of_aucs(names: list[str], panel_auc: Array) -> pd.DataFrame:
    import pandas as pd

    sizes = [str(size) for size in range(1, panel_auc.shape[1] + 1)]
    return pd.DataFrame(panel_auc, index=names, columns=sizes)
