"""The report on a table of one's own: which columns were chosen, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_curve

from ..._text import listed
from ...curves import calibration_bins, roc_band, score_bins
from ..cautions import as_sentence
from .elements import Element, Figure, Listing, Note, Panel, Report, Section, Series
from .geometry import MOST_MARKERS
from .tables import _SUPERSCRIPTS

if TYPE_CHECKING:
    import pandas as pd

    from ..reading import Table
    from ..summary import FitSummary

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def build_model_report(summary: FitSummary, facts: Mapping[str, str] | None = None) -> Report:
    """Tell someone who knows the data, and not the method, what was found and how far to trust it.

    Parameters
    ----------
    summary : FitSummary
        From :func:`~sparseauc.tabular.fitting.fit_table`.
    facts : dict of str to str, optional
        How it was made, as far as the summary does not know it: the command, the file's hash.

    Returns
    -------
    Report
        For :func:`~sparseauc.tabular.report.write_page` and
        :func:`~sparseauc.tabular.report.write_report`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.tabular.fitting import FitSettings, fit_table
    >>> from sparseauc.tabular.reading import Input, Table
    >>> X, y = make_outbreak(n=300, d=20, k=2, mu=1.0, r=0.3, random_state=0)
    >>> names = tuple(Input(f"gene {j}") for j in range(20))
    >>> table = Table(X, names, (y > 0).astype(np.int64), "state", "well", "ill", source="t.csv")
    >>> report = build_model_report(fit_table(table, FitSettings(k=2, alpha=1.0)))
    >>> print(report.title)
    state: which columns rank ill above well
    """
    sections = [
        Section("reliance", "Before you rely on it", [_reliance(summary)]),
        Section("columns", "The chosen columns", [_columns(summary)]),
        Section("ranking", "How well they rank", _ranking(summary)),
    ]
    if by_k := _by_k(summary):
        sections.append(Section("size", "How many columns", by_k))
    if summary.nested is not None:
        sections.append(Section("probability", "From score to probability", _calibration(summary)))
    sections.append(Section("method", "What was done", _method(summary)))
    table = summary.table
    return Report(
        title=f"{table.target}: which columns rank {table.positive} above {table.negative}",
        lead=_lead(summary),
        sections=sections,
        facts={**_facts(summary), **(facts or {})},
    )


def _lead(summary: FitSummary) -> str:
    table = summary.table
    what = (
        f"{summary.k} of {len(table.inputs)} columns {'ranks' if summary.k == 1 else 'rank'} a row "
        f"whose {table.target} is {table.positive} above one whose {table.target} is "
        f"{table.negative}"
    )
    if summary.nested is None:
        return (
            f"In {_percent(summary.training_auc.auc)} of pairs {what}. But these are the very rows "
            "that the columns were chosen by, which flatters; how well they rank other rows was "
            "not estimated."
        )
    interval = summary.nested.interval
    text = (
        f"In {_percent(interval.auc)} of pairs ({100 * interval.confidence:g} % interval "
        f"{_percent(interval.low)} to {_percent(interval.high)}) {what}, estimated on rows the "
        "model had not seen."
    )
    if interval.low <= 0.5:
        text += " Guessing, which is right in half of them, is not ruled out."
    return text


def _reliance(summary: FitSummary) -> Note:
    if summary.cautions:
        return Note("\n\n".join(summary.cautions), "caution")
    return Note(
        "Nothing stood out. Looked at: the number of rows of each class, the interval of the AUC, "
        "its fall from training rows to others, columns that give the outcome away or look like "
        "ids, columns that are the same, how often each chosen column is chosen again, and whether "
        "more columns should have been tried. What no check can see is whether these rows are "
        "like those that the list is meant for.",
        "finding",
    )


# -------------------------------------------------------------------------------------- the columns


def _columns(summary: FitSummary) -> Listing:
    import pandas as pd

    columns, table = summary.columns, summary.table
    positive, negative = _classes(table)
    shown = pd.DataFrame({"Column": columns["column"].astype(str), "Rank": columns["rank"]})
    shown[f"In {positive}"] = columns["direction"].map({"+": "higher", "-": "lower", "": "same"})
    shown["Weight per SD"] = [_significant(value, 3) for value in columns["standardised"]]
    shown["AUC alone"] = columns["auc"]
    caption = [
        f"The weightiest first. In {positive}: whether values are higher or lower there than in "
        f"{negative}. Weight per SD: change of the score when the column rises by one standard "
        "deviation, which compares columns of different units. AUC alone: how well the column "
        "ranks by itself; it was picked by these very rows, so this flatters."
    ]
    if "frequency" in columns:
        shown["In halves, %"] = np.round(100 * columns["frequency"].to_numpy()).astype(int)
        assert summary.stability is not None
        caption[0] += (
            f" In halves: share of {2 * summary.stability.n_pairs} fits to half of the rows that "
            "chose it again; the higher, the less it owes its place to a few rows."
        )
    if any(summary.near_copies):
        shown["Near copies"] = [
            listed([f"{name} ({_signed(f'{r:.2f}')})" for name, r in others], 3)
            for others in summary.near_copies
        ]
        caption[0] += (
            " Near copies: columns that could stand in for it, with their correlation (beyond "
            "±0.9)."
        )
    if table.missing and table.imputation is not None:
        sources = {one.name: one.column for one in table.inputs}
        shown["Missing"] = [table.missing.get(sources[name], 0) for name in shown["Column"]]
    shown["Coefficient"] = [_significant(value, 4) for value in columns["coefficient"]]
    intercept = _significant(float(summary.classifier.intercept_[0]), 4)
    caption.append(
        f"The score of a row is {intercept} plus the sum of coefficient × value over these "
        f"columns. The higher, the more like {positive}; 0 is midway between the classes."
    )
    if against := _against(columns):
        caption.append(
            f"Weighted against their own direction: {listed(against)}. That is no mistake: such a "
            "column tells little by itself and serves to cancel noise that it shares with others. "
            "Do not read its sign as its relation to the outcome."
        )
    return Listing("short-list", f"{len(shown)} columns", "\n\n".join(caption), shown)


def _against(columns: pd.DataFrame) -> list[str]:
    """Columns whose coefficient has another sign than their direction."""
    sign = np.sign(columns["coefficient"])
    own = columns["direction"].map({"+": 1, "-": -1, "": 0})
    return [repr(name) for name in columns["column"][sign * own < 0]]


# -------------------------------------------------------------------------------------- the ranking


def _ranking(summary: FitSummary) -> list[Element]:
    elements: list[Element] = [_aucs(summary)]
    if summary.permutation is not None:
        elements.append(_shuffles(summary))
    if summary.nested is not None:
        elements += [_roc(summary), _distributions(summary)]
    return elements


def _aucs(summary: FitSummary) -> Listing:
    import pandas as pd

    nested = summary.nested
    classifier: Any = summary.classifier
    level = 0.95 if nested is None else nested.interval.confidence
    rows: list[tuple[str, float, float, float, str]] = []
    if nested is not None:
        one, known = nested.interval, nested.fold_aucs[~np.isnan(nested.fold_aucs)]
        rows.append(("rows the model had not seen", one.auc, one.low, one.high, "the one to quote"))
        if known.size:
            apart = f"compares rows of a fold only; from {known.min():.2f} to {known.max():.2f}"
            rows.append(
                (
                    f"the same, mean of {known.size} folds",
                    float(known.mean()),
                    np.nan,
                    np.nan,
                    apart,
                )
            )
    if summary.cv_results is not None:
        tried = len(summary.cv_results["params"])
        score = float(classifier.best_score_)
        rows.append(
            ("validation rows of the search", score, np.nan, np.nan,
             f"chosen among {tried} models by this number: slightly too good")
        )  # fmt: skip
    rows.append(
        ("rows the model was fitted to", summary.training_auc.auc, np.nan, np.nan,
         "it has seen their outcome: too good")
    )  # fmt: skip
    frame = pd.DataFrame(
        rows, columns=["Judged on", "AUC", f"{100 * level:g} % from", "to", "What it is worth"]
    )
    positive, negative = _classes(summary.table)
    caption = (
        f"AUC: of all pairs of a {positive} row and a {negative} row, the share in which the "
        f"{positive} row scores higher. 0.5 is guessing, 1 is perfect. It does not "
        "depend on how rare either class is."
    )
    if nested is not None:
        caption += (
            " The interval is DeLong's. It is for the rows, not for the choice of columns, so "
            "where other rows would have led to other columns it is somewhat too narrow."
        )
    return Listing("auc", "Honest and flattering AUCs", caption, frame)


def _shuffles(summary: FitSummary) -> Note:
    assert summary.permutation is not None
    result = summary.permutation
    reached = int(np.count_nonzero(result.null >= result.auc))
    found = result.pvalue <= 0.05
    return Note(
        f"Could it be chance? The outcome was shuffled {result.null.size} times and everything was "
        f"done again. The AUC of the true outcome, {result.auc:.3f} as the mean of folds, was "
        f"reached by {reached} of the shuffled ones, whose mean was {result.null.mean():.3f}: "
        f"p = {result.pvalue:.2g}.",
        "finding" if found else "caution",
    )


def _roc(summary: FitSummary) -> Figure:
    nested, table = summary.nested, summary.table
    assert nested is not None
    positive, negative = _classes(table)
    level = nested.interval.confidence
    false, true, _ = roc_curve(table.y == 1, nested.scores)
    at, *edges = roc_band(nested.scores, table.y == 1, level)
    series = [
        Series("rows not seen", false.tolist(), true.tolist()),
        *(
            Series(f"{100 * level:g} % limits", at.tolist(), edge.tolist(), style="dashed")
            for edge in edges
        ),
        Series("guessing", *_straight(0, 1, 0, 1), style="dashed"),
    ]
    panel = Panel(
        "",
        f"share of {negative} rows above the threshold",
        f"share of {positive} rows above it",
        series,
        x_range=(0, 1),
        y_range=(0, 1.01),
    )
    return Figure(
        "roc",
        "ROC: what each threshold catches, and what it costs",
        f"Each point is a threshold on the score of rows that the model had not seen: how many "
        f"{positive} rows it catches (upwards) at the cost of how many {negative} rows (to the "
        f"right). At any one share of {negative} rows the limits hold the true share of "
        f"{positive} rows with {100 * level:g} % confidence.",
        [panel],
    )


def _straight(x0: float, x1: float, y0: float, y1: float) -> tuple[list[float], list[float]]:
    """A line of so many points that none of them is marked."""
    x, y = np.linspace((x0, y0), (x1, y1), MOST_MARKERS + 1).T
    return x.tolist(), y.tolist()


def _distributions(summary: FitSummary) -> Figure:
    nested, table = summary.nested, summary.table
    assert nested is not None
    positive = table.y == 1
    names = _classes(table)
    edges = score_bins(nested.scores, positive)
    inside = np.clip(nested.scores, edges[0], edges[-1])
    centres = ((edges[:-1] + edges[1:]) / 2).tolist()
    shares = [np.histogram(inside[of], edges)[0] / of.sum() for of in (positive, ~positive)]
    series = [
        Series(f"{label} ({count} rows)", centres, (100 * share).tolist(), style="bars")
        for label, count, share in (
            (names[0], int(positive.sum()), shares[0]),
            (names[1], int((~positive).sum()), shares[1]),
        )
    ]
    caption = (
        "Scores of rows by models that had not seen them. 0 is midway between the means of the two "
        "classes in training and 1 is their distance, so that the models of different folds can "
        "be compared. Each class adds up to 100 %, however rare it is."
    )
    if np.any(inside != nested.scores):
        caption += " Rows beyond the ends are counted in the outermost bars."
    return Figure(
        "scores",
        "Scores of the two classes",
        caption,
        [Panel("", "score", "rows of the class, %", series)],
    )


# --------------------------------------------------------------------------------- how many columns


def _by_k(summary: FitSummary) -> list[Element]:
    rows = summary.auc_by_k()
    if len(rows) < 2:
        return []
    classifier: Any = summary.classifier
    curve = Series(
        "validation AUC ± one standard error",
        [row["k"] for row in rows],
        [row["auc"] for row in rows],
        error=[row["standard_error"] for row in rows],
    )
    chosen = Series(
        f"chosen: {_columns_in_words(classifier.k_)}",
        [classifier.k_], [classifier.best_score_], style="points",
    )  # fmt: skip
    caption = (
        "Mean AUC on validation rows for every number of columns, at the best ridge for that "
        "number. The band is one standard error over folds up and down: numbers whose AUCs lie in "
        "one another's band can hardly be told apart. "
        f"{_rule_in_words(summary)}"
    )
    panel = Panel("", "number of columns, k", "AUC on validation rows", [curve, chosen])
    return [Figure("auc-by-k", "AUC against the number of columns", caption, [panel])]


def _rule_in_words(summary: FitSummary) -> str:
    if summary.settings["rule"] == "1se":
        return "Chosen was the smallest number within one standard error of the best."
    return "Chosen was the middle one of the models that cannot be told from the best."


# -------------------------------------------------------------------------------------- calibration


def _calibration(summary: FitSummary) -> list[Element]:
    nested, table = summary.nested, summary.table
    assert nested is not None
    positive = table.y == 1
    bins = calibration_bins(nested.scores, positive)
    name = _classes(table)[0]
    rate = float(positive.mean())
    x: list[float] = []
    y: list[float] = []
    for score, low, high in zip(bins.predicted, bins.low, bins.high, strict=True):
        along, up = _straight(score, score, 100 * low, 100 * high)
        x, y = [*x, *along, float("nan")], [*y, *up, float("nan")]
    ends = float(nested.scores.min()), float(nested.scores.max())
    series = [
        Series("95 % interval", x, y),
        Series(f"{name} among rows of similar score", bins.predicted.tolist(),
               (100 * bins.share).tolist(), style="points"),
        Series(f"all rows: {_percent(rate)}", *_straight(*ends, 100 * rate, 100 * rate),
               style="dashed"),
    ]  # fmt: skip
    top = 100 * max(rate, float(bins.high.max()))
    most, fewest = int(bins.rows.max()), int(bins.rows.min())
    size = f"{most} rows" if most == fewest else f"{fewest} to {most} rows"
    figure = Figure(
        "calibration",
        f"How often rows of a score are {name}",
        f"Rows that the model had not seen, in order of their score, in "
        f"{_number(bins.rows.size)} bins of {size}: the share of {name} in each, with "
        "its exact binomial interval. The share should rise from left to right.",
        [Panel("", "score", f"{name}, %", series, y_range=(-0.02 * top, 1.02 * top))],
    )
    maker = "SparseAUCClassifierCV()"
    if summary.cv_results is None:
        maker = f"SparseAUCClassifier(k={summary.k}, alpha={summary.alpha:g})"
    note = Note(
        "A score is not a probability: it says which of two rows is more likely "
        f"{name}, not how likely either is. Where a probability is needed, calibrate: "
        f'`CalibratedClassifierCV({maker}, method="sigmoid", cv=5)` of scikit-learn learns it from '
        "rows that the model was not fitted to. It will hold where the share of "
        f"{name} is as here, {_percent(rate)}; if rows were picked by their outcome, as "
        "cases and controls are, it is not that of the population."
    )
    return [figure, note]


# ------------------------------------------------------------------------------------ what was done


def _method(summary: FitSummary) -> list[Element]:
    told = [_told_data(summary), _told_score(summary), _told_size(summary), _told_honest(summary)]
    if summary.stability is not None:
        told.append(
            f"How firmly a column belongs to the list was found by splitting the rows into halves "
            f"{summary.stability.n_pairs} times, and choosing {_columns_in_words(summary.k)} by "
            "each half alone."
        )
    elements: list[Element] = [Note("\n\n".join(told))]
    if summary.notes:
        elements.append(
            Note("Noted on the way: " + " ".join(as_sentence(note) for note in summary.notes))
        )
    elements.append(
        Note(
            "What a weighted sum cannot see: columns that matter only in combination with others, "
            "or in the middle of their range. A column on the list need not cause the outcome, and "
            "one that is not on it need not be unrelated: what tells the same as a chosen column "
            "is not needed beside it."
        )
    )
    return elements


def _told_data(summary: FitSummary) -> str:
    table = summary.table
    n, positives = table.y.size, int(table.y.sum())
    text = (
        f"The table {table.source or 'given'} has {n} rows: {positives} with {table.target} "
        f"{table.positive}, called positive, and {n - positives} with {table.negative}. There were "
        f"{_columns_in_words(len(table.inputs))} to choose from."
    )
    if not table.missing:
        return f"{text} No value was missing."
    gaps = [f"{name} ({count})" for name, count in table.missing.items()]
    text += (
        f" {sum(table.missing.values())} values were missing, in "
        f"{_columns_in_words(len(gaps))}: {listed(gaps)}."
    )
    if table.imputation is not None:
        text += (
            f" Each was filled in by the {table.imputation} of its column over the rows used for "
            "fitting, anew in each fold, so that no row is judged with the help of its own value."
        )
    return text


def _told_score(summary: FitSummary) -> str:
    text = (
        "The score is a weighted sum of a few columns. Columns and weights were chosen together: "
        "of all lists of that length the one was sought whose score puts positive rows above "
        "negative ones most clearly, so columns are on it for what they add to each other. A ridge "
        f"(here {summary.alpha:g}; columns count in standard deviations) keeps weights from "
        "following noise."
    )
    if included := summary.settings.get("always_include"):
        text += f" Included by request: {listed(list(map(str, included)))}."
    return text


def _told_size(summary: FitSummary) -> str:
    settings, results = summary.settings, summary.cv_results
    classifier: Any = summary.classifier
    if results is None:
        return f"The number of columns, {summary.k}, and the ridge were given."
    repeats = classifier.n_repeats_
    folds = round(classifier.n_splits_ / repeats)
    tried = sorted(set(np.asarray(results["param_k"]).tolist()))
    ridges = len(set(np.asarray(results["param_alpha"]).tolist()))
    sizes = f"{tried[0]} to {tried[-1]} columns" if len(tried) > 1 else ""
    strengths = f"{_number(ridges)} ridges" if ridges > 1 else ""
    given = ""
    if settings.get("k") is not None:
        given = f" The number of columns, {settings['k']}, was given."
    elif settings.get("alpha") is not None:
        given = " The ridge was given."
    often = f", {_number(round(repeats))} times over with other folds," if repeats >= 1.5 else ""
    return (
        f"Tried were {' and '.join(filter(None, [sizes, strengths]))}, each by "
        f"{_number(folds)}-fold cross-validation{often} and judged by the AUC on the rows left out."
        f" {_rule_in_words(summary) if len(tried) > 1 else ''}{given}"
    )


def _told_honest(summary: FitSummary) -> str:
    nested, table = summary.nested, summary.table
    if nested is None:
        return "How well the list ranks rows that it was not chosen by was not estimated."
    folds = nested.fold_aucs.size
    everything = (
        "the choice of columns, of their number and of the ridge included"
        if summary.cv_results is not None
        else "the choice of columns included"
    )
    text = (
        f"To judge it honestly the rows were dealt into {_number(folds)} parts with the same share "
        f"of positives. {_number(folds).capitalize()} times everything was done again without one "
        f"part, {everything}, and that part was then scored. So each row has a score by a model "
        "that knew nothing of it; the honest AUC, the ROC curve and the scores shown are of these. "
        "The list itself comes from all rows."
    )
    if table.groups is not None:
        text += (
            f" Rows of the same group, of which there are {np.unique(table.groups).size}, were "
            "always in the same part."
        )
    return text


def _facts(summary: FitSummary) -> dict[str, str]:
    from ... import __version__

    seconds = max(1, round(summary.seconds))
    return {
        "version": f"sparseauc {__version__}",
        "data": summary.table.source or "given in memory",
        "seed": str(summary.settings.get("seed", "")),
        "duration": str(timedelta(seconds=seconds)),
    }


# -------------------------------------------------------------------------------------------- words


def _classes(table: Table) -> tuple[str, str]:
    """What rows of the two classes are called: "ill", but "state=1" rather than "1"."""

    def called(label: str) -> str:
        bare = label.lower() in ("yes", "no", "true", "false", "y", "n")
        try:
            float(label)
        except ValueError:
            return f"{table.target}={label}" if bare else label
        return f"{table.target}={label}"

    positive = called(table.positive)
    rest = table.negative == f"not {table.positive}"
    return positive, f"not {positive}" if rest else called(table.negative)


def _percent(share: float) -> str:
    near_an_end = 0 < share < 0.01 or 0.99 < share < 1
    return f"{100 * share:.{1 if near_an_end else 0}f} %"


def _number(count: int) -> str:
    """A small number as a word."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def _columns_in_words(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _significant(value: float, digits: int) -> str:
    """Show a number to some significant digits, by a power of ten where it is far from one.

    Examples
    --------
    >>> _significant(0.012345, 3), _significant(-1.5e-7, 3), _significant(123456.0, 4)
    ('0.0123', '−1.50×10⁻⁷', '1.235×10⁵')
    """
    mantissa, _, exponent = f"{value:#.{digits}g}".removesuffix(".").partition("e")
    power = f"×10{str(int(exponent)).translate(_SUPERSCRIPTS)}" if exponent else ""
    return _signed(mantissa) + power
