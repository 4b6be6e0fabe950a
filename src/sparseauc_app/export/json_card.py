"""The score card as JSON."""

import json
from dataclasses import asdict

from ..scorecard import ScoreCard
from .terms import term_values

_HOW = (
    "score = intercept + sum over terms of coefficient * value. A term with a level has value 1 if "
    "the column equals that level and 0 if it equals another level. A term with above has value 1 "
    "if the number in the column is larger than that, and 0 if it is not. Any other term has the "
    "number in the column, but low if it is smaller than low and high if it is larger than high, "
    "where these are not null, and then, if log is not null, the natural logarithm of that number "
    "plus log; true is 1 and false is 0. NULL, NaN and unknown levels are missing "
    "(if levels is null, no level is unknown). If limits is true, >5 counts as 5, and text without "
    "a digit is missing. Numbers written as text have the marks decimal and thousands. Blanks "
    "around a text do not count, and blank text is missing. A missing value is replaced by fill; "
    "if fill is null, the row has no score. A row with an infinite number has no score. Rows with "
    "a score above threshold are labelled positive, others negative. If calibration is not null, "
    "the risk of the positive class is 1 / (1 + exp(-(slope * score + intercept))), with its slope "
    "and intercept: 1 and 0 if the score is in log odds; n_positive and n_negative out-of-fold "
    "scores were used to fit it. If total is true, the score is the total of points * value / "
    "unit. If follow_up is not null, the model was fitted to times to event: the target column is "
    "its event in rows that had the event at their time, and others are censored. Unless "
    "follow_up is binary, there are no labels, and the risk until its horizon is "
    "1 - exp(-exp(slope * score + intercept)), that is 1 - baseline ^ exp(slope * score), where "
    "baseline is the probability of score 0 to be free of the event then."
)


def to_json(card: ScoreCard) -> str:
    """Export a score card as JSON.

    Parameters
    ----------
    card : ScoreCard
        From ``sparseauc_app.model_files.read_card`` or
        ``sparseauc_app.card_making.make_card``.

    Returns
    -------
    str
    """
    term_values(card)  # which refuses what the text below does not explain
    content = {
        "target": card.target,
        "positive": card.positive,
        "negative": card.negative,
        "intercept": card.intercept,
        "terms": [asdict(term) for term in card.terms],
        "columns": {
            term.column: {
                "kind": of.kind,
                "levels": list(of.levels) or None,
                "limits": of.limits,
                "decimal": of.decimal,
                "thousands": of.thousands,
            }
            for term in card.terms
            for of in [card.type_of(term)]
        },
        "calibration": None if card.calibration is None else asdict(card.calibration),
        "follow_up": None if card.follow_up is None else asdict(card.follow_up),
        "baseline": None
        if card.times is None or card.calibration is None
        else card.calibration.baseline,
        "threshold": card.threshold,
        "total": card.total,
        "points": card.summary.get("points"),
        "how": _HOW,
        "measure": card.measure,
        "auc": card.summary.get("auc"),
        "version": card.version,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
