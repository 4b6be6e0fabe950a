"""The report on a fitted table: its tables and figures in their order. It computes nothing."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

from sparseauc.columns import Levels
from sparseauc.selection.confidence import NestedScores
from sparseauc.selection.points import PointScore

from ..cautions import missing_share
from ..evaluation.alternatives import WITHIN, Alternatives, Baselines
from ..evaluation.bootstrap import ColumnEffect
from ..evaluation.evaluate import Evaluation
from ..export import to_sql
from ..fit_result import FitResult
from ..formatting import (
    capitalised,
    risk_row,
    shown_columns,
    without_advice,
    write_lines,
)
from .elements import Code, Element, Listing, Note, Report, Section
from .html import significant
from .model_figures import (
    MOST_DRAWN,
    draw_columns,
    draw_curves,
    draw_effects,
    draw_instability,
    draw_learning,
    draw_scores,
    draw_sizes,
)
from .model_words import class_names, describe_method, words_of
from .parts import (
    draw_risks,
    list_items,
    list_points,
    note_cautions,
    show_follow_up,
    show_groups,
)

_REPLACEMENTS = {
    "column": "Column",
    "replacement": "Replacement",
    "correlation": "Correlation",
    "auc": "AUC",
    "auc_change": "Change",
    "low": "95 % CI from",
    "high": "to",
    "verdict": "Verdict",
}


def show_alternatives(found: Alternatives, fit: FitResult) -> list[Element]:
    """List replacements of each column, and other lists."""
    say = words_of(fit)
    names = {**_REPLACEMENTS, "auc": fit.card.measure}
    order = fit.columns["column"].tolist()
    frame = found.replacements.sort_values(
        "column", key=lambda names: names.map(order.index), kind="stable"
    )
    replaced = Listing(
        "replacements",
        "Replacements",
        say("replacements"),
        frame[list(names)].rename(columns=names),
        formats=dict.fromkeys(("Correlation", "Change", "95 % CI from", "to"), ".3f"),
    )
    near = found.near_equal
    told = Note(say("near_equal", near=near, within=f"{100 * WITHIN:g}"), "finding")
    if len(near.lists) < 2:
        return [replaced, told]
    others = say("other_lists", more=len(near.lists) - len(found.lists))
    return [replaced, told, _list_others(found, fit.card.measure, others)]


def _list_others(found: Alternatives, measure: str, caption: str) -> Listing:
    lists = found.lists
    own = set(lists["columns"][0])
    frame = lists.assign(
        List=range(1, len(lists) + 1),
        Without=[
            "–",
            *(_join_names(own - set(names)) for names in lists["columns"][1:]),
        ],
        Instead=[
            "–",
            *(_join_names(set(names) - own) for names in lists["columns"][1:]),
        ],
        Gain=100 * lists["gain"],
        **{measure: lists["auc"]},
    )
    return Listing(
        "other-lists",
        "Other lists that are nearly as good",
        caption,
        frame[["List", "Without", "Instead", measure, "Gain"]],
        formats={"Gain": ".1f"},
    )


def _join_names(names: set[Any]) -> str:
    return ", ".join(sorted(map(str, names)))


# Groups of rows that are drawn one by one, at most.
_MOST_GROUPS = 40
# Candidates of Table 1 that are shown.
_MOST_CANDIDATES = 200


def build_model_report(
    evaluation: Evaluation, facts: Mapping[str, str] | None = None
) -> Report:
    """Build the report for readers who know the data but not the method.

    Parameters
    ----------
    evaluation : Evaluation
        From :func:`~sparseauc_app.evaluation.evaluate.evaluate`.
    facts : dict of str to str, optional
        Further facts on how it was made: the command, the file's hash.

    Returns
    -------
    Report
        For :func:`~sparseauc_app.pages.html.render`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc_app.evaluation.evaluate import evaluate
    >>> from sparseauc_app.fitting import FitSettings, fit_table
    >>> from sparseauc_app.reading import Input, Table
    >>> X, y = make_outbreak(n=300, d=20, k=2, mu=1.0, r=0.3, random_state=0)
    >>> names = tuple(Input(f"gene {j}") for j in range(20))
    >>> table = Table(X, names, (y > 0).astype(np.int64), "state", "well", "ill", source="t.csv")
    >>> evaluation = evaluate(fit_table(table, FitSettings(k=2, alpha=1.0)))
    >>> print(build_model_report(evaluation).title)
    2 columns that rank ill above well
    """
    fit = evaluation.fit
    say = words_of(fit)
    sections = [
        Section("reliance", "Cautions", [_list_cautions(evaluation)]),
        Section("columns", "The short list", _show_columns(evaluation)),
    ]
    if evaluation.alternatives is not None:
        other = show_alternatives(evaluation.alternatives, fit)
        sections.append(Section("alternatives", "Other columns, other lists", other))
    sections.append(Section("ranking", "Discrimination", _show_ranking(evaluation)))
    if size := _show_sizes(evaluation):
        sections.append(Section("size", "How many columns, how many rows", size))
    if evaluation.risks is not None:
        sections.append(
            Section(
                "probability",
                "From score to probability",
                _show_probability(evaluation),
            )
        )
    sections += [
        Section("use", "How to use it", _show_use(evaluation)),
        Section("method", "Methods", _describe_methods(evaluation)),
        Section("references", "References", [Note(say("references"))]),
        Section(
            "reporting",
            "For a publication",
            list_items(fit.card, needed=evaluation.size),
        ),
    ]
    positive = class_names(fit)[0]
    glance = write_lines("glance", fit=fit, about=fit.summary, positive=positive)
    lead = say("lead")
    compared = evaluation.baselines
    if (
        compared is not None
        and compared.l1 is not None
        and compared.l1.difference is not None
    ):
        claim = say("claim", found=compared)
        lead = f"{lead}\n\n{claim}"
    return Report(
        title=say("title"),
        lead=lead,
        sections=sections,
        facts={**_list_facts(fit), **(facts or {})},
        glance=dict(line.rsplit(" | ", 1) for line in glance),
    )


def _list_cautions(evaluation: Evaluation) -> Note:
    """Cautions of the fit, and those that only comparisons and sample sizes give."""
    fit = evaluation.fit
    say = words_of(fit)
    others = () if evaluation.baselines is None else evaluation.baselines.results[1:]
    told = []
    for one in others:
        if one.lead is not None and one.columns <= 1 and one.lead[1] <= 0:
            told.append(say("no_better", one=one))
        elif one.lead is not None and one.lead[2] < 0:
            told.append(say("worse", one=one))
    if evaluation.size is not None and evaluation.size.rows > fit.summary["rows"]:
        told.append(say("too_few", size=evaluation.size))
    return note_cautions([*fit.cautions, *told], say("no_cautions"))


def _name_of_events(fit: FitResult) -> str:
    return "Positive" if fit.table.times is None else "Events"


def _show_columns(evaluation: Evaluation) -> list[Element]:
    fit = evaluation.fit
    elements: list[Element] = [_list_columns(evaluation)]
    if fit.points is not None:
        elements += [_list_points(fit, fit.points), _list_risks(fit, fit.points)]
    elements += [
        draw_effects(fit, evaluation.effects),
        draw_columns(fit),
        _list_candidates(evaluation),
    ]
    if fit.k > 1:
        elements.append(_list_correlations(evaluation))
    return elements


def _list_points(fit: FitResult, score: PointScore) -> Listing:
    """The card: the points of the classes of each column."""
    shown = score.columns.rename(columns=str.capitalize)
    return Listing("points", "Points by hand", words_of(fit)("points"), shown)


def _list_risks(fit: FitResult, score: PointScore) -> Listing:
    """Risk by total, of rows left out."""
    events = _name_of_events(fit)
    shown = pd.DataFrame([risk_row(one, events) for one in score.as_dict()["risk"]])
    caption = words_of(fit)("risk_by_total")
    return Listing("risk-by-total", "Risk by total of points", caption, shown)


def _list_columns(evaluation: Evaluation) -> Listing:
    fit = evaluation.fit
    columns = fit.columns
    about = fit.summary
    shown = pd.DataFrame({"Column": columns["column"].astype(str)})
    if not (columns["kind"] == "line").all():
        shown["Counts as"] = _shapes(fit)
    ratio = next(
        (name for name in ("odds_ratio", "hazard_ratio") if name in columns), None
    )
    formats = {"Missing, %": ".1f", "SD": ".3g"}
    for key, heading, form in shown_columns(columns, fit.card.measure):
        name = capitalised(heading) + ", %" * (form == "%")
        shown[name] = _entries(columns, key, form)
        formats |= {name: form.lstrip("+")} if "." in form else {}
    samples = 0
    if ratio is not None and "points" not in columns:
        name = f"{capitalised(ratio.replace('_', ' '))}, 25th to 75th percentile"
        shown[name] = [_ratio_across(one) for one in evaluation.effects]
        samples = max((len(one.samples) for one in evaluation.effects), default=0)
    spread = about["distributions"]
    deviations = [spread[name].get("std", np.nan) for name in shown["Column"]]
    shown.insert(shown.columns.get_loc(f"{fit.card.measure} alone"), "SD", deviations)
    if fit.table.missing:
        shown["Missing, %"] = [
            100 * missing_share(about, name) for name in shown["Column"]
        ]
    own = columns["direction"].map({"+": 1, "-": -1, "": 0})
    stability = fit.stability if "frequency" in columns else None
    caption = words_of(fit)(
        "short_list",
        ratio=ratio,
        refits=0 if stability is None else 2 * stability.n_pairs,
        intercept=significant(float(fit.model.intercept_[0]), 4),
        against=columns["column"][own * np.sign(columns["coefficient"]) < 0].tolist(),
    )
    if ratio is not None:
        about_ratios = words_of(fit)(
            "ratios", ratio=ratio.replace("_", " "), samples=samples
        )
        caption = f"{caption}\n\n{about_ratios}"
    return Listing(
        "short-list", "Columns and coefficients", caption, shown, formats=formats
    )


def _shapes(fit: FitResult) -> list[str]:
    """What columns count as, of text with the level that others count against."""
    found = []
    for j in fit.chosen.values():
        encoding = fit.model.encodings_[j]
        shape = encoding.kind
        if isinstance(encoding, Levels) and encoding.against >= 0:
            shape += f", against {[*encoding.levels, 'missing'][encoding.against]}"
        found.append(shape)
    return found


def _entries(columns: pd.DataFrame, key: str, form: str) -> Any:
    """A column of the short list as it is shown."""
    values = columns[key].to_numpy()
    if form == "%":
        return np.round(100 * values).astype(int)
    if (
        key == "coefficient"
    ):  # of a curve its mean slope, of text a range: neither says much
        return np.where(columns["kind"] == "line", values, np.nan)
    return values


def _ratio_across(one: ColumnEffect) -> str:
    """The ratio between the quartiles, with the bootstrap's interval; nothing of text."""
    if np.isnan(one.across):
        return ""
    with np.errstate(over="ignore"):
        text = f"{np.exp(one.across):.3g}"
        if one.interval is not None:
            low, high = np.exp(one.interval)
            text += f" ({low:.3g}–{high:.3g})"
    return text


def _list_candidates(evaluation: Evaluation) -> Listing:
    fit = evaluation.fit
    positive, negative = class_names(fit)
    y = fit.table.y
    counts = {"All": y.size, positive: int(y.sum()), negative: int(y.size - y.sum())}
    heads = [f"{name} (n = {rows})" for name, rows in counts.items()]
    chosen = sum(one.chosen for one in evaluation.candidates)
    shown = evaluation.candidates[: max(_MOST_CANDIDATES, chosen)]
    frame = pd.DataFrame(
        {
            "Column": one.name,
            "On the list": "yes" if one.chosen else "",
            heads[0]: one.everyone,
            heads[1]: one.positives,
            heads[2]: one.negatives,
            "Missing": one.missing,
        }
        for one in shown
    )
    candidates = len(evaluation.fit.table.names)
    caption = words_of(fit)("table_one", shown=len(shown), candidates=candidates)
    return Listing("table-one", "Table 1: candidates by outcome", caption, frame)


def _list_correlations(evaluation: Evaluation) -> Listing:
    table = evaluation.correlations.iloc[:MOST_DRAWN, :MOST_DRAWN].copy()
    names = [f"{place}  {name}" for place, name in enumerate(table.columns, start=1)]
    table.columns = pd.Index([str(place) for place in range(1, len(table) + 1)])
    table.insert(0, "Column", names)
    return Listing(
        "correlations",
        "Correlations among the chosen columns",
        words_of(evaluation.fit)("correlations"),
        table,
        formats=dict.fromkeys(table.columns[1:], ".2f"),
        folded=True,
    )


def _show_ranking(evaluation: Evaluation) -> list[Element]:
    fit = evaluation.fit
    elements: list[Element] = [_list_aucs(fit)]
    if fit.nested is None or evaluation.risks is None:
        return elements
    over = "" if fit.table.strata is None else ", over all rows, whatever their stratum"
    if any(one.interval is not None for one in fit.strata_results):
        elements += _show_strata(fit, fit.nested)
    if evaluation.baselines is not None:
        elements.append(_list_baselines(evaluation.baselines, fit))
    if evaluation.followed is not None and evaluation.fit.card.times is not None:
        elements += show_follow_up(
            evaluation.followed, evaluation.fit.card.times.time, nested=True
        )
    elif evaluation.curves is not None:
        elements.append(draw_curves(fit, evaluation.curves, evaluation.risks, over))
    if points := fit.operating_points:
        elements.append(
            list_points(points, words_of(fit)("operating_points", over=over))
        )
    return [*elements, _list_folds(fit, fit.nested)]


def _list_aucs(fit: FitResult) -> Listing:
    nested = fit.nested
    classifier: Any = fit.model
    level = 0.95 if nested is None else nested.interval.confidence
    measure = fit.card.measure
    rows: list[dict[str, Any]] = []
    if nested is not None:
        one = nested.interval
        known = nested.fold_aucs[~np.isnan(nested.fold_aucs)]
        rows.append(
            {
                "by": "nested cross-validation",
                **asdict(one),
                "comment": "report this one",
            }
        )
        if fit.table.groups is None and fit.table.strata is None:
            plain = fit.table.outcome.interval(nested.scores)
            about = "too narrow: as if the columns had been given"
            rows.append(
                {"by": "the same, without widening", **asdict(plain), "comment": about}
            )
        if known.size:
            apart = f"mean within folds, range {known.min():.2f} to {known.max():.2f}"
            by = f"mean of its {known.size} folds"
            rows.append({"by": by, "auc": float(known.mean()), "comment": apart})
    if hasattr(classifier, "cv_results_"):
        tried = len(classifier.cv_results_["params"])
        comment = f"slightly optimistic: best of {tried} models"
        auc = float(classifier.best_score_)
        rows.append({"by": "cross-validation of k", "auc": auc, "comment": comment})
    auc = fit.training_auc.auc
    rows.append({"by": "training rows", "auc": auc, "comment": "optimistic"})
    headings = {
        "by": "Estimated by",
        "auc": measure,
        "low": f"{100 * level:g} % CI from",
        "high": "to",
        "comment": "Comment",
    }
    frame = pd.DataFrame(rows, columns=list(headings)).rename(columns=headings)
    caption = words_of(fit)("auc")
    return Listing("auc", f"{measure} and its optimism", caption, frame)


def _show_strata(fit: FitResult, nested: NestedScores) -> list[Element]:
    """AUC within each stratum, the largest ones if there are very many."""
    name = fit.table.within or "stratum"
    found = sorted(fit.strata_results, key=lambda one: -one.rows)[:_MOST_GROUPS]
    more = len(fit.strata_results) - len(found)
    caption = words_of(fit)("strata", name=name, most=_MOST_GROUPS, more=more)
    return show_groups(
        sorted(found, key=lambda one: one.name),
        nested.interval,
        f"{fit.card.measure} by {name}",
        f"all, within {name}",
        caption,
        fit.card.measure,
    )


def _list_folds(fit: FitResult, nested: NestedScores) -> Listing:
    names = [fit.table.columns[one].tolist() for one in nested.fold_columns]
    frame = pd.DataFrame(
        {
            "Fold": np.arange(len(names)) + 1,
            "Rows": np.bincount(nested.folds),
            _name_of_events(fit): np.bincount(nested.folds, fit.table.y).astype(int),
            fit.card.measure: nested.fold_aucs,
            "Columns": [len(one) for one in names],
            "On the list": [len(fit.chosen.keys() & {*one}) for one in names],
            "Columns chosen": [", ".join(one) for one in names],
        }
    )
    return Listing("folds", "The outer folds", words_of(fit)("folds"), frame)


def _list_baselines(found: Baselines, fit: FitResult) -> Listing:
    measure = fit.card.measure
    rows = []
    for one in found.results:
        row: dict[str, Any] = {
            "Method": one.method,
            measure: one.auc,
            "95 % from": one.low,
            "to": one.high,
            "Columns": one.columns,
        }
        names = ["Difference", "Difference from", "Difference to"]
        row |= dict.fromkeys(names) | {"p": one.pvalue}
        if one.difference is not None:
            row["Difference"] = round(-one.difference, 3) + 0.0
        if one.lead is not None:
            row |= {
                name: round(end, 3) + 0.0
                for name, end in zip(names, one.lead, strict=True)
            }
        rows.append(row)
    caption = words_of(fit)("baselines", left_out=found.left_out)
    frame = pd.DataFrame(rows)
    if fit.table.strata is not None:  # the paired test is of all rows
        frame = frame.drop(columns=["Difference from", "Difference to", "p"])
    return Listing(
        "baselines",
        "Compared with simple methods",
        caption,
        frame,
        formats={"p": ".2g"},
    )


def _show_sizes(evaluation: Evaluation) -> list[Element]:
    fit = evaluation.fit
    weighted = fit.table.weight is not None
    elements: list[Element] = []
    if len(fit.summary["auc_by_k"]) >= 2:
        elements.append(draw_sizes(fit))
    if evaluation.learning is not None:
        elements.append(draw_learning(fit, evaluation.learning))
    if fit.nested is not None and fit.table.follow_up is None and not weighted:
        elements += _show_sample_size(evaluation)
    return elements


def _show_sample_size(evaluation: Evaluation) -> list[Element]:
    size = evaluation.size
    of_all = evaluation.size_of_all
    say = words_of(evaluation.fit)
    text = say(
        "sample_size",
        size=size,
        of_all=of_all,
        validation=evaluation.validation,
        positives=0
        if size is None
        else int(np.ceil(size.rows * evaluation.fit.table.y.mean())),
    )
    if size is None:
        return [Note(text)]
    frame = pd.DataFrame(
        {
            "Model": name,
            "Parameters": one.parameters,
            "R² (Cox–Snell)": one.r_squared,
            "Shrinkage": one.shrinkage,
            "Optimism": one.optimism,
            "Overall risk": one.intercept,
            "Rows needed": one.rows,
            "Events per parameter": one.events_per_parameter,
        }
        for name, one in (("chosen columns", size), ("all candidates", of_all))
        if one is not None
    )
    return [
        Listing(
            "sample-size",
            "Sample size",
            f"{text}\n\n{say('size_table')}",
            frame,
            formats={"Events per parameter": ".1f"},
        )
    ]


def _show_probability(evaluation: Evaluation) -> list[Element]:
    fit = evaluation.fit
    risks = evaluation.risks
    assert risks is not None
    say = words_of(fit)
    name = class_names(fit)[0]
    elements: list[Element] = [
        Note(say("probability", rate=risks.share)),
        *([draw_scores(fit)] if fit.table.times is None else []),
        draw_risks(risks, name, say("calibration", name=name, risks=risks)),
    ]
    if evaluation.instability is not None:
        elements.append(draw_instability(fit, evaluation.instability))
    return elements


def _show_use(evaluation: Evaluation) -> list[Element]:
    card = evaluation.fit.card
    formula = "\n".join(write_lines("formula", card=card))
    elements: list[Element] = [Code("Formula", formula)]
    try:
        elements.append(Code("SQL", to_sql(card), folded=True))
    except ValueError:
        elements.append(Note("A column name cannot be written in SQL."))
    return elements


def _describe_methods(evaluation: Evaluation) -> list[Element]:
    fit = evaluation.fit
    elements: list[Element] = [Note("\n\n".join(describe_method(fit)))]
    # The paragraphs above name all columns with missing values.
    notes = [
        note for note in fit.notes if not note.startswith("missing values imputed")
    ]
    if notes:
        elements.append(
            Note("Notes on the data: " + " ".join(map(without_advice, notes)))
        )
    return [*elements, Note(words_of(fit)("limits_of_a_sum"))]


def _list_facts(fit: FitResult) -> dict[str, str]:
    from sparseauc import __version__

    seconds = max(1, round(fit.summary["seconds"]))
    return {
        "version": f"sparseauc {__version__}",
        "data": fit.table.source or "given in memory",
        "seed": str(fit.settings.get("seed", "")),
        "duration": str(timedelta(seconds=seconds)),
    }
