"""The report on a fitted table."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit
from sklearn.metrics import average_precision_score, brier_score_loss, precision_recall_curve

from sparseauc._types import Array
from sparseauc.curves import cross_fitted_probabilities, net_benefit, score_bins
from sparseauc.plotting import AUCPathDisplay, ROCBandDisplay, ScoreDistributionDisplay
from sparseauc.selection.confidence import NestedScores, PermutationResult

from ..cautions import as_sentence, missing_share
from ..export import to_sql
from ..formatting import HEADINGS, auc_text, calibration_text, capitalised, count, percent
from ..reading.columns import dense_column
from ..summary import FitSummary
from ..validation import check_calibration
from .alternatives import show_alternatives
from .baselines import judge_baselines
from .elements import Code, Element, Figure, Listing, Note, Panel, Report, Section, Series
from .model_words import class_names, describe_method, of_the_same
from .parts import draw_calibration, list_points, note_cautions, show_groups
from .tables import significant

# Longer lists would fill pages: only the columns with the largest weights are drawn.
_MOST_DRAWN = 12
# Groups of rows that are drawn one by one, at most.
_MOST_GROUPS = 40
# A column with at most this many values is drawn as bars.
_FEW_VALUES = 6


_CHECKED = (
    "number of events, confidence interval of the AUC, optimism, columns that leak the outcome or "
    "look like identifiers, duplicate columns, selection frequencies, missing values, and the "
    "largest k tried. No check can tell whether these rows represent the population that the list "
    "is for."
)


def build_model_report(summary: FitSummary, facts: Mapping[str, str] | None = None) -> Report:
    """Build the report for readers who know the data but not the method.

    Parameters
    ----------
    summary : FitSummary
        From :func:`~sparseauc_app.fitting.fit_table`.
    facts : dict of str to str, optional
        Further facts on how it was made: the command, the file's hash.

    Returns
    -------
    Report
        For :func:`~sparseauc_app.report.write_report`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc_app.fitting import FitSettings, fit_table
    >>> from sparseauc_app.reading import Input, Table
    >>> X, y = make_outbreak(n=300, d=20, k=2, mu=1.0, r=0.3, random_state=0)
    >>> names = tuple(Input(f"gene {j}") for j in range(20))
    >>> table = Table(X, names, (y > 0).astype(np.int64), "state", "well", "ill", source="t.csv")
    >>> report = build_model_report(fit_table(table, FitSettings(k=2, alpha=1.0)))
    >>> print(report.title)
    2 columns that rank ill above well
    """
    sections = [
        Section("reliance", "Cautions", [note_cautions(summary.cautions, _CHECKED)]),
        Section("columns", "The short list", _show_columns(summary)),
        Section("ranking", "Discrimination", _show_ranking(summary)),
    ]
    if summary.alternatives is not None:
        other = show_alternatives(summary.alternatives, summary.columns["column"].tolist())
        sections.insert(2, Section("alternatives", "Other columns, other lists", other))
    if size := _show_sizes(summary):
        sections.append(Section("size", "How many columns", size))
    if summary.nested is not None:
        sections.append(
            Section(
                "probability",
                "From score to probability",
                _show_probability(summary, summary.nested),
            )
        )
    sections += [
        Section("use", "How to use it", _show_use(summary)),
        Section("method", "Methods", _describe_methods(summary)),
    ]
    positive, negative = class_names(summary.table)
    return Report(
        title=f"{count(summary.k, 'column')} that rank {positive} above {negative}",
        lead=_write_lead(summary),
        sections=sections,
        facts={**_list_facts(summary), **(facts or {})},
        glance=_summarise(summary),
    )


def _summarise(summary: FitSummary) -> dict[str, str]:
    table, nested = summary.table, summary.nested
    classifier: Any = summary.classifier
    events, rows = int(table.y.sum()), table.y.size
    auc = {"AUC on training rows (optimistic)": f"{summary.training_auc.auc:.3f}"}
    if nested is not None:
        one = nested.interval
        within = "" if table.strata is None else " within strata"
        auc = {f"AUC{within} ({100 * one.confidence:g} % interval)": auc_text(one)}
    return {
        **auc,
        "Rows": str(rows),
        f"Events ({class_names(table)[0]})": f"{events} ({percent(events / rows)})",
        "Columns": f"{summary.k} of {len(table.inputs)}",
        **({"Cost": f"{classifier.cost_:g}"} if hasattr(classifier, "cost_") else {}),
    }


def _write_lead(summary: FitSummary) -> str:
    positive, negative = class_names(summary.table)
    if summary.nested is None:
        return "The AUC above is that of the training rows, and optimistic."
    one = summary.nested.interval
    text = (
        f"In nested cross-validation, {positive} rows score above {negative} rows in "
        f"{100 * one.auc:.1f} % of pairs{of_the_same(summary.table)} "
        f"({100 * one.confidence:g} % interval "
        f"{100 * one.low:.1f} % to {100 * one.high:.1f} %)."
    )
    return text + (" Chance, which is 50 %, is not ruled out." if one.low <= 0.5 else "")


def _show_columns(summary: FitSummary) -> list[Element]:
    elements: list[Element] = [_list_columns(summary)]
    if summary.points is not None:
        elements.append(Code("Points, to be added up by hand", str(summary.points)))
    elements.append(_draw_columns(summary))
    if summary.k > 1:
        elements.append(_list_correlations(summary))
    return elements


def _list_columns(summary: FitSummary) -> Listing:
    columns, table = summary.columns, summary.table
    positive, negative = class_names(table)
    shown = pd.DataFrame({"Column": columns["column"].astype(str)})
    formats = {"Missing, %": ".1f"}
    for key, (heading, form) in HEADINGS.items():
        # Points and units say what the coefficient does.
        if key not in columns or (key == "coefficient" and "points" in columns):
            continue
        name, values = capitalised(heading), columns[key].to_numpy()
        if form == "%":
            name, values = f"{name}, %", np.round(100 * values).astype(int)
        elif "." in form:
            formats[name] = form.lstrip("+")
        shown[name] = values
    direction = columns["direction"].map({"+": "higher", "-": "lower", "": "same"})
    shown.insert(shown.columns.get_loc("Per SD") + 1, f"In {positive}", direction)
    caption = [
        f"Largest weights first. Per SD: coefficient per standard deviation, comparable between "
        f"units. In {positive}: whether values are higher or lower than in {negative}. AUC alone: "
        "AUC of the single column on the training rows (optimistic)."
    ]
    if "frequency" in columns:
        assert summary.stability is not None
        caption[0] += (
            f" Selection frequency: share of {2 * summary.stability.n_pairs} refits on half of the "
            "rows that chose the column."
        )
    if table.missing:
        about = summary.to_dict()
        shown["Missing, %"] = [100 * missing_share(about, name) for name in shown["Column"]]
    intercept = significant(float(summary.classifier.intercept_[0]), 4)
    what = "points × value / unit" if "points" in columns else "coefficient × value"
    if summary.clip_limits:
        what += ", extreme values clipped as under “How to use it”"
    caption.append(
        f"Score = {intercept} + the sum of {what}. Rows with a score above 0 are "
        f"predicted {positive}."
    )
    own = columns["direction"].map({"+": 1, "-": -1, "": 0})
    against = columns["column"][own * np.sign(columns["coefficient"]) < 0]
    if against.size:
        caption.append(
            f"The coefficient has the opposite sign of the single-column association for "
            f"{', '.join(map(repr, against))}. This is not an error: such a column cancels noise "
            "that it shares with others. Do not read its sign as its association with the outcome."
        )
    return Listing(
        "short-list", "Columns and coefficients", "\n\n".join(caption), shown, formats=formats
    )


def _read_values(summary: FitSummary, most: int) -> dict[str, Array]:
    """Values of the chosen columns, largest weights first, NaN where missing."""
    names = summary.table.columns.tolist()
    return {
        name: dense_column(summary.table.X, names.index(name))
        for name in summary.columns["column"][:most]
    }


def _draw_columns(summary: FitSummary) -> Figure:
    positive = summary.table.y == 1
    labels = class_names(summary.table)[::-1]
    panels = []
    for name, values in _read_values(summary, _MOST_DRAWN).items():
        known = np.isfinite(values)
        panels.append(_draw_column(name, values[known], positive[known], labels))
    more = summary.k - len(panels)
    caption = "Distribution of each chosen column within each class."
    if not all(panel.x_names for panel in panels):
        caption += " The outermost bins include more extreme values."
    if more > 0:
        caption += f" The {_MOST_DRAWN} columns with the largest weights are shown."
    return Figure("by-class", "Each column by class", caption, panels)


def _draw_column(name: str, values: Array, positive: Any, labels: tuple[str, str]) -> Panel:
    distinct = np.unique(values)
    few = distinct.size <= _FEW_VALUES
    if few or min(positive.sum(), (~positive).sum()) == 0:
        edges = np.arange(distinct.size + 1) - 0.5
        values = np.searchsorted(distinct, values).astype(np.float64)
    else:
        edges = score_bins(values, positive)
        values = np.clip(values, edges[0], edges[-1])
    series = []
    for label, mask in zip(labels, (~positive, positive), strict=True):
        shares = 100 * np.histogram(values[mask], edges)[0] / max(1, mask.sum())
        if few:
            series.append(Series(label, range(distinct.size), shares.tolist(), style="bars"))
            continue
        text = [
            f"{label}\n{name}: {a:.4g} to {b:.4g}\n{share:.3g} % of the class" if share else ""
            for a, b, share in zip(edges[:-1], edges[1:], shares, strict=True)
        ]
        # A step reaches to the next edge; the last one returns to zero. Its band is the area below.
        x, y = edges.tolist(), [*shares.tolist(), 0.0]
        error = (y, [0.0] * len(y))
        series.append(Series(label, x, y, error, style="steps", text=[*text, ""]))
    ticks = [f"{value:g}" for value in distinct] if few else []
    return Panel(name, "value", "rows of the class, %", series, x_names=ticks)


def _list_correlations(summary: FitSummary) -> Listing:
    frame = pd.DataFrame(_read_values(summary, _MOST_DRAWN))
    table = frame.corr()
    table.columns = pd.Index([str(place) for place in range(1, len(table) + 1)])
    names = [f"{place}  {name}" for place, name in enumerate(frame.columns, start=1)]
    table.insert(0, "Column", names)
    return Listing(
        "correlations",
        "Correlations among the chosen columns",
        "Pearson correlations of complete pairs. Highly correlated columns share information; "
        "interpret their weights together.",
        table,
        formats=dict.fromkeys(table.columns[1:], ".2f"),
    )


def _show_ranking(summary: FitSummary) -> list[Element]:
    elements: list[Element] = [_list_aucs(summary)]
    if summary.permutation is not None:
        elements.append(_note_permutations(summary, summary.permutation))
    if summary.nested is None:
        return elements
    over = "" if summary.table.strata is None else ", over all rows, whatever their stratum"
    if any(one.interval is not None for one in summary.strata_results):
        elements += _show_strata(summary, summary.nested)
    elements += [
        _draw_curves(summary, summary.nested, over),
        list_points(
            summary.operating_points,
            f"Performance of each threshold on the scores of nested cross-validation{over}, with "
            "exact 95 % confidence intervals. PPV and NPV hold at the prevalence of this table. "
            "`sparseauc predict --threshold` takes any threshold.",
        ),
        _list_folds(summary, summary.nested),
    ]
    baselines = judge_baselines(summary)
    return elements if baselines is None else [*elements, baselines]


def _list_aucs(summary: FitSummary) -> Listing:
    nested = summary.nested
    classifier: Any = summary.classifier
    level = 0.95 if nested is None else nested.interval.confidence
    rows: list[dict[str, Any]] = []
    if nested is not None:
        one, known = nested.interval, nested.fold_aucs[~np.isnan(nested.fold_aucs)]
        rows.append({"by": "nested cross-validation", **asdict(one), "comment": "report this one"})
        if known.size:
            apart = f"mean within folds, range {known.min():.2f} to {known.max():.2f}"
            by = f"mean of its {known.size} folds"
            rows.append({"by": by, "auc": float(known.mean()), "comment": apart})
    if summary.cv_results is not None:
        tried = len(summary.cv_results["params"])
        worth = f"slightly optimistic: best of {tried} models"
        auc = float(classifier.best_score_)
        rows.append({"by": "cross-validation of k", "auc": auc, "comment": worth})
    auc = summary.training_auc.auc
    rows.append({"by": "training rows", "auc": auc, "comment": "optimistic"})
    headings = {
        "by": "Estimated by", "auc": "AUC", "low": f"{100 * level:g} % CI from", "high": "to",
        "comment": "Comment",
    }  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(headings)).rename(columns=headings)
    positive, negative = class_names(summary.table)
    caption = (
        f"AUC: the share of all pairs of a {positive} and a {negative} row"
        f"{of_the_same(summary.table)} in which the {positive} "
        "row scores higher. 0.5 is chance, 1 is perfect. It does not depend on the prevalence."
    )
    if nested is not None:
        caption += (
            " The confidence interval is DeLong's. It ignores the uncertainty of the choice of "
            "columns and is somewhat too narrow when that choice is unstable."
        )
    return Listing("auc", "AUC and its optimism", caption, frame)


def _show_strata(summary: FitSummary, nested: NestedScores) -> list[Element]:
    """AUC within each stratum, the largest ones if there are very many."""
    name = summary.table.strata_column or "stratum"
    found = sorted(summary.strata_results, key=lambda one: -one.rows)[:_MOST_GROUPS]
    more = len(summary.strata_results) - len(found)
    caption = (
        f"Scores of nested cross-validation; only rows of the same {name}, and fold, are compared."
    )
    caption += f" The {_MOST_GROUPS} largest are shown, {more} are not." if more else ""
    return show_groups(
        sorted(found, key=lambda one: one.name), nested.interval, f"AUC by {name}",
        f"all, within {name}", caption,
    )  # fmt: skip


def _note_permutations(summary: FitSummary, result: PermutationResult) -> Note:
    reached = int(np.count_nonzero(result.null >= result.auc))
    what = "mean of folds"
    if summary.cv_results is not None:
        what = "cross-validation of the search, where shuffled outcomes choose as freely"
    return Note(
        f"Permutation test: p = {result.pvalue:.2g}. The outcome was permuted {result.null.size} "
        f"times and everything refitted. {reached} permutations reached the observed AUC "
        f"({result.auc:.3f}, {what}); their mean AUC was {result.null.mean():.3f}.",
        "finding" if result.pvalue <= 0.05 else "caution",
    )


def _draw_curves(summary: FitSummary, nested: NestedScores, over: str) -> Figure:
    table = summary.table
    positive, level = table.y == 1, nested.interval.confidence
    scores = np.asarray(summary.out_of_fold_scores, np.float64)
    precision, recall, thresholds = precision_recall_curve(positive, scores)
    average, rate = average_precision_score(positive, scores), float(positive.mean())
    shown = np.unique(np.linspace(0, thresholds.size - 1, 400).astype(np.intp))
    text = [
        f"threshold {t:.3g}: sensitivity {r:.2f}, PPV {p:.2f}"
        for t, r, p in zip(thresholds[shown], recall[shown], precision[shown], strict=True)
    ]
    panel = Panel(
        "", "sensitivity (recall)", "positive predictive value (precision)",
        [
            Series(
                f"average precision {average:.2f}", recall[shown].tolist(),
                precision[shown].tolist(), style="steps", text=text,
            ),
            Series(f"share of events {rate:.2f}", [0, 1], [rate, rate], style="dashed"),
        ],
        x_range=(-0.01, 1.01), y_range=(0, 1.02),
    )  # fmt: skip
    return Figure(
        "roc",
        "ROC and precision–recall",
        f"Each point is a threshold on the scores of nested cross-validation{over}. Left: ROC "
        f"curve with its pointwise {100 * level:g} % band of exact binomial (Clopper–Pearson) "
        "limits. Right: precision–recall curve; precision is lower where events are rarer.",
        [
            lambda ax: ROCBandDisplay.from_predictions(table.y, scores, confidence=level, ax=ax),
            panel,
        ],
    )


def _list_folds(summary: FitSummary, nested: NestedScores) -> Listing:
    chosen = set(map(str, summary.columns["column"]))
    names = [summary.table.columns[one].tolist() for one in nested.fold_columns]
    frame = pd.DataFrame(
        {
            "Fold": np.arange(len(names)) + 1,
            "Rows": np.bincount(nested.folds),
            "Events": np.bincount(nested.folds, summary.table.y).astype(int),
            "AUC": nested.fold_aucs,
            "k": [len(one) for one in names],
            "On the list": [len(chosen.intersection(one)) for one in names],
            "Columns chosen": [", ".join(one) for one in names],
        }
    )
    return Listing(
        "folds",
        "The outer folds",
        "Every fold repeats the whole procedure without its rows. k: number of columns chosen; On "
        "the list: how many of them are on the final list. If the lists differ much between folds, "
        "another sample would lead to another list.",
        frame,
    )


def _show_sizes(summary: FitSummary) -> list[Element]:
    if len(summary.auc_by_k()) < 2:
        return []
    by_budget = "budget" in summary.auc_by_k()[0]
    point, least = ("budget", "cheapest") if by_budget else ("k", "shortest")
    rule = {
        "1se": f"The list chosen is the {least} within one standard error of the best.",
        "best": f"The list chosen is the {least} whose AUC is within 0.002 of the best.",
    }.get(str(summary.settings.get("rule")), "")
    return [
        Figure(
            "auc-by-k",
            "AUC against the budget" if by_budget else "AUC against the number of columns",
            f"Mean AUC of the validation folds at each {point}, with the best ridge for that "
            f"{point}. The band is ± one standard error. {rule}",
            [lambda ax: AUCPathDisplay.from_estimator(summary.classifier, ax=ax)],
        )
    ]


def _show_probability(summary: FitSummary, nested: NestedScores) -> list[Element]:
    table = summary.table
    positive = table.y == 1
    names = class_names(table)
    rate = float(positive.mean())
    scores = Figure(
        "scores",
        "Scores of the two classes",
        "Scores of nested cross-validation, rescaled to the final model. Each class sums to 1. The "
        "outermost bins include more extreme scores.",
        [
            lambda ax: ScoreDistributionDisplay(
                scores=np.asarray(summary.out_of_fold_scores),
                positive=positive,
                threshold=0.0,
                labels=names[::-1],
            ).plot(ax=ax)
        ],
    )
    p = cross_fitted_probabilities(nested.scores, positive, nested.folds)
    # A probability is rounded to 1 where a value is extreme.
    log_odds = logit(np.clip(p, 1e-15, 1 - 1e-15))
    calibration = calibration_text(check_calibration(log_odds, positive))
    brier = brier_score_loss(positive, p)
    curves = Figure(
        "calibration",
        "Calibration and decision curve",
        f"Left: predicted probability against the observed share of {names[0]}, in bins, with "
        f"exact binomial intervals. Calibration: {calibration}. Brier score {brier:.3f}. Right: "
        "net benefit of acting on rows above a probability threshold, compared with acting on all "
        "or none. At the threshold that fits your costs, the highest line is the best policy.",
        [draw_calibration(p, positive, names[0]), _draw_decision_curve(p, positive)],
    )
    return [
        Note(
            "Scores become probabilities by Platt scaling: a logistic regression on the scores of "
            f"the other outer folds. They hold at the prevalence of this table ({percent(rate)}); "
            "in a case–control study that is not the prevalence of the population."
        ),
        scores,
        curves,
    ]


def _draw_decision_curve(p: Array, positive: Any) -> Panel:
    t = np.linspace(0.01, 0.99, 99)
    rate = float(positive.mean())
    model, everyone = net_benefit(p, positive, t), net_benefit(np.ones_like(p), positive, t)
    series = [
        Series(
            label, (100 * t).tolist(), y.tolist(), style="line" if y is model else "dashed",
            text=[
                f"{label}: net benefit {v:.3f} at {100 * at:.0f} %"
                for at, v in zip(t, y, strict=True)
            ],
        )
        for label, y in (
            ("by the model", model),
            ("act on all", everyone),
            ("act on none", np.zeros_like(t)),
        )
    ]  # fmt: skip
    top = max(rate, float(model.max()))
    ends = (-0.15 * top, 1.1 * top)
    return Panel("", "threshold, %", "net benefit", series, x_range=(0, 100), y_range=ends)


def _show_use(summary: FitSummary) -> list[Element]:
    card = summary.card()
    formula = f"score = {card.intercept:.6g}".replace("= -", "= −")
    for term in card.terms:
        sign = "−" if term.coefficient < 0 else "+"
        name = term.column if term.level is None else f"[{term.column} is {term.level}]"
        name = name if term.above is None else f"[{term.name}]"
        if term.clips:
            name = f"[{name} clipped to {term.low:.6g} … {term.high:.6g}]"
        filled = "" if term.fill is None else f" ({term.fill:.4g} if missing)"
        formula += f"\n  {sign} {abs(term.coefficient):.6g} × {name}{filled}"
    elements: list[Element] = [Code("Formula", formula)]
    try:
        elements.append(Code("SQL", f"SELECT\n{to_sql(card)} AS score\nFROM my_table"))
    except ValueError:
        elements.append(Note("A column name cannot be written in SQL."))
    elements += [
        Code("Command", "sparseauc predict model.skops new_rows.csv --out scores.csv"),
        Code(
            "Python",
            "from sparseauc import load_model\n\n"
            'model = load_model("model.skops")\n'
            "scores = model.decision_function(new_rows)  # a DataFrame; columns by name",
        ),
        Note(
            "The model file is written by `sparseauc fit --out model.skops` or, in Python, by "
            "`sparseauc.save_model`."
        ),
    ]
    return elements


def _describe_methods(summary: FitSummary) -> list[Element]:
    elements: list[Element] = [Note("\n\n".join(describe_method(summary)))]
    # The paragraphs above name all columns with missing values.
    notes = [note for note in summary.notes if not note.startswith("missing values imputed")]
    if notes:
        elements.append(Note("Notes on the data: " + " ".join(as_sentence(note) for note in notes)))
    elements.append(
        Note(
            "Limits of a weighted sum: it misses interactions and non-monotone effects. A column "
            "on the list need not cause the outcome. A column not on the list may still be "
            "associated with it: a chosen column may carry the same information."
        )
    )
    return elements


def _list_facts(summary: FitSummary) -> dict[str, str]:
    from sparseauc import __version__

    seconds = max(1, round(summary.seconds))
    return {
        "version": f"sparseauc {__version__}",
        "data": summary.table.source or "given in memory",
        "seed": str(summary.settings.get("seed", "")),
        "duration": str(timedelta(seconds=seconds)),
    }
