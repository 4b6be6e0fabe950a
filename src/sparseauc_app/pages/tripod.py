"""The checklist of TRIPOD+AI: 27 items with 52 parts, answered from what is known of a model."""

from typing import Any

import pandas as pd

from ..scorecard import ScoreCard
from .elements import Listing
from .words import Words

_AUTHORS = "for you to write"
# Number, section and topic of each part, in our own words (Collins et al. 2024).
ITEMS = (
    ("1", "Title", "Kind of study, target population and outcome"),
    ("2", "Abstract", "Structured abstract"),
    ("3a", "Introduction", "Context, rationale and existing models"),
    ("3b", "Introduction", "Target population, purpose and users of the model"),
    ("3c", "Introduction", "Known health inequalities between groups"),
    ("4", "Introduction", "Objectives: development, validation or both"),
    ("5a", "Methods", "Sources of data and how representative they are"),
    ("5b", "Methods", "Dates of the data"),
    ("6a", "Methods", "Setting, number and place of centres"),
    ("6b", "Methods", "Eligibility of participants"),
    ("6c", "Methods", "Treatments received"),
    ("7", "Methods", "Preparation and quality checks of the data"),
    ("8a", "Methods", "Definition, horizon and assessment of the outcome"),
    ("8b", "Methods", "Assessors of a subjective outcome"),
    ("8c", "Methods", "Blinding of the assessment of the outcome"),
    ("9a", "Methods", "Candidate predictors and any selection before modelling"),
    ("9b", "Methods", "Definition and measurement of the predictors"),
    ("9c", "Methods", "Assessors of subjective predictors"),
    ("10", "Methods", "Sample size and its justification"),
    ("11", "Methods", "Missing data"),
    ("12a", "Methods", "How the data were used: development, evaluation, partition"),
    ("12b", "Methods", "How predictors were handled in the analysis"),
    ("12c", "Methods", "Type of model, building, tuning, internal validation"),
    ("12d", "Methods", "Heterogeneity between clusters"),
    ("12e", "Methods", "Measures and plots of performance"),
    ("12f", "Methods", "Updating of the model"),
    ("12g", "Methods", "How predictions were computed"),
    ("13", "Methods", "Class imbalance"),
    ("14", "Methods", "Fairness"),
    ("15", "Methods", "Output of the model and thresholds"),
    ("16", "Methods", "Differences between development and evaluation data"),
    ("17", "Methods", "Ethical approval and consent"),
    ("18a", "Open science", "Funding"),
    ("18b", "Open science", "Conflicts of interest"),
    ("18c", "Open science", "Protocol"),
    ("18d", "Open science", "Registration"),
    ("18e", "Open science", "Availability of data"),
    ("18f", "Open science", "Availability of code and model"),
    ("19", "Patient involvement", "Patient and public involvement"),
    ("20a", "Results", "Flow of participants"),
    ("20b", "Results", "Characteristics of the participants"),
    ("20c", "Results", "Comparison with the development data"),
    ("21", "Results", "Participants and events in each analysis"),
    ("22", "Results", "The full model"),
    ("23a", "Results", "Performance with intervals"),
    ("23b", "Results", "Heterogeneity of performance between clusters"),
    ("24", "Results", "Results of updating"),
    ("25", "Discussion", "Interpretation, including fairness"),
    ("26", "Discussion", "Limitations"),
    ("27a", "Discussion", "Input data of poor quality or missing, in use"),
    ("27b", "Discussion", "What users must do and know"),
    ("27c", "Discussion", "Next steps and generalisability"),
)
_WORDS = Words("tripod_words.j2")


def checklist(card: ScoreCard, new: Any = None, needed: Any = None) -> pd.DataFrame:
    """Answer the items from a card and, if it was validated, from the validation ``new``.

    ``needed`` is the sample size that development needs, if known.
    """
    about = card.summary
    formula = f"{card.intercept:.4g} " + " ".join(
        f"{'−' if term.coefficient < 0 else '+'} {abs(term.coefficient):.4g} × {term.name}"
        for term in card.terms
    )
    facts = {
        "card": card,
        "about": about,
        "settings": about.get("settings") or {},
        "new": new,
        "needed": needed,
        "formula": formula,
        "updates": [one["text"] for one in about.get("updates") or ()],
        "clipped": [term.name for term in card.terms if term.high is not None],
        "logged": [term.name for term in card.terms if term.log is not None],
        "cut": sorted({term.column for term in card.terms if term.above is not None}),
    }
    rows = [
        {
            "Item": number,
            "Section": section,
            "Topic": topic,
            "What is known": _WORDS(f"item_{number}", **facts) or _AUTHORS,
        }
        for number, section, topic in ITEMS
    ]
    return pd.DataFrame(rows)


def list_items(card: ScoreCard, new: Any = None, needed: Any = None) -> Listing:
    """The checklist as a table of a report."""
    return Listing(
        "checklist",
        "TRIPOD+AI checklist",
        "The items of the reporting guideline TRIPOD+AI (Collins et al. 2024), in our own words, "
        "filled in from the model and these rows where they know. See the guideline for the full "
        "wording.",
        checklist(card, new, needed),
    )
