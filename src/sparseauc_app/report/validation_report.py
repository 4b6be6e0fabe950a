"""The validation report: a model on new rows, with a reporting checklist."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sparseauc.plotting import ROCBandDisplay

from ..cautions import as_sentence
from ..formatting import auc_text, calibration_text
from ..validation import Validation
from .elements import Code, Element, Figure, Listing, Report, Section
from .parts import draw_calibration, list_points, note_cautions, show_groups

_BY_AUTHORS = "to be stated by the authors"


def build_validation_report(found: Validation, facts: Mapping[str, str] | None = None) -> Report:
    """Build the report on a model's performance on new rows; facts say how it was made."""
    sections = [
        Section(
            "reliance",
            "Cautions",
            [
                note_cautions(
                    found.warnings,
                    "the AUC against chance and against that of training, shifted means, missing "
                    "values, and values outside the training range.",
                )
            ],
        ),
        Section("ranking", "Discrimination", _show_ranking(found)),
    ]
    if found.calibration is not None:
        sections.append(Section("probability", "Probabilities", _show_probabilities(found)))
    sections += [
        Section("columns", "Columns, compared with training", [_list_columns(found)]),
        Section("reporting", "For a publication", _show_reporting(found)),
    ]
    within = "" if found.within is None else f" within {found.within}"
    glance = {f"AUC{within} (95 % interval)": auc_text(found.interval)}
    if found.promised is not None:
        glance["Expected"] = auc_text(found.promised)
    glance |= {"Rows": str(found.rows), f"Events ({found.card.event})": str(found.events)}
    return Report(
        title=f"Validation of the score for {found.card.event} on {found.source}",
        lead=_write_lead(found),
        sections=sections,
        facts=dict(facts or {}),
        glance=glance,
    )


def _write_lead(found: Validation) -> str:
    if found.promised is None:
        return "The model file has no AUC to compare with."
    if found.pvalue is None or found.pvalue >= 0.05:
        return (
            "The AUC on these rows does not differ significantly from that of nested "
            "cross-validation in training."
        )
    worse = "lower" if found.interval.auc < found.promised.auc else "higher"
    return f"The AUC on these rows is {worse} than that of nested cross-validation in training."


def _show_ranking(found: Validation) -> list[Element]:
    over_all = "" if found.within is None else f", over all rows, whatever their {found.within}"
    elements: list[Element] = [
        Figure(
            "roc",
            "ROC curve",
            f"With its pointwise 95 % band of exact binomial (Clopper–Pearson) limits{over_all}.",
            [
                lambda ax: ROCBandDisplay.from_predictions(
                    found.positive.astype(np.int64), found.scores, ax=ax
                )
            ],
        ),
        list_points(
            found.points,
            "Thresholds of the model on these rows, with exact 95 % confidence intervals. PPV and "
            "NPV hold at the prevalence of this table.",
        ),
    ]
    if found.groups:
        name = "all rows" if found.within is None else f"all, within {found.within}"
        elements += show_groups(found.groups, found.interval, "AUC by group", name)
    return elements


def _show_probabilities(found: Validation) -> list[Element]:
    assert found.calibration is not None
    return [
        Figure(
            "calibration",
            "Calibration",
            "Predicted probability against the observed share, in bins. "
            + as_sentence(calibration_text(found.calibration)),
            [
                draw_calibration(
                    found.card.probabilities(found.scores), found.positive, found.card.event
                )
            ],
        )
    ]


def _list_columns(found: Validation) -> Listing:
    frame = pd.DataFrame(
        {
            "Column": one.name,
            "Shift of the mean (SD)": one.mean_shift,
            "Outside the training range": one.outside,
            "Missing, %": 100 * one.missing,
            "Missing in training, %": (
                None if one.missing_before is None else 100 * one.missing_before
            ),
        }
        for one in found.columns
    )
    return Listing(
        "shift",
        "Shift of the columns since training",
        "Difference of the means in training standard deviations, and number of values outside the "
        "training range.",
        frame,
        formats={
            "Shift of the mean (SD)": ".2f", "Missing, %": ".1f", "Missing in training, %": ".1f",
        },
    )  # fmt: skip


def _show_reporting(found: Validation) -> list[Element]:
    items = checklist(found)
    frame = pd.DataFrame(items, columns=["Topic", "What is known"])
    return [
        Code("Methods paragraph", methods_paragraph(found)),
        Listing(
            "checklist",
            "Checklist",
            "Topics of the reporting guidelines TRIPOD+AI (prediction models) and REMARK (tumour "
            "markers), filled in from the model file and this table. See the guidelines for the "
            "full wording.",
            frame,
        ),
    ]


def checklist(found: Validation) -> list[tuple[str, str]]:
    """Topics of TRIPOD+AI and REMARK, filled in from the card and the new rows."""
    card, about = found.card, found.card.summary
    known = about.get("auc") is not None
    rows = about.get("rows")
    gaps = about.get("imputation")
    settings: Mapping[str, Any] = about.get("settings") or {}
    shown = ", ".join(term.name for term in card.terms)
    return [
        ("Title and purpose", _BY_AUTHORS),
        ("Source of data, development", f"{about.get('source') or _BY_AUTHORS}"),
        ("Source of data, validation", found.source),
        ("Participants, setting, dates, eligibility", _BY_AUTHORS),
        (
            "Outcome",
            f"{card.event} against {card.negative}; how it was assessed: {_BY_AUTHORS}",
        ),
        ("Candidate predictors", f"{about.get('columns_tried') or len(card.columns)} columns"),
        ("Measurement and blinding of predictors", _BY_AUTHORS),
        (
            "Sample size, development",
            _BY_AUTHORS if rows is None else f"{rows} rows, {about.get('positives')} events",
        ),
        ("Sample size, validation", f"{found.rows} rows, {found.events} events"),
        (
            "Missing data",
            "rows with missing values are not scored"
            if gaps is None
            else f"imputed by the {gaps} of the training rows",
        ),
        (
            "Type of model and model building",
            "linear score of a limited number of columns, chosen jointly to maximise a quadratic "
            "surrogate of the AUC"
            + (f"; ridge {about['alpha']:g}" if "alpha" in about else "")
            + (f"; rule {settings['rule']}" if "rule" in settings else ""),
        ),
        (
            "Internal validation",
            "nested cross-validation, the whole procedure repeated in every fold"
            if known
            else "none in the model file",
        ),
        ("The full model", f"{shown}; intercept {card.intercept:.4g}"),
        (
            "Discrimination",
            f"AUC {auc_text(found.interval)}",
        ),
        (
            "Calibration",
            "no probabilities"
            if found.calibration is None
            else f"intercept {found.calibration.intercept:+.2f}, "
            f"slope {found.calibration.slope:.2f}",
        ),
        ("Thresholds and their consequences", f"{len(found.points)} operating points above"),
        (
            "Heterogeneity between groups",
            f"{len(found.groups)} groups" if found.groups else "not examined (`--by`)",
        ),
        ("Updating of the model", "none: coefficients and thresholds unchanged"),
        ("Fairness, ethics, funding, registration", _BY_AUTHORS),
        ("Limitations and interpretation", _BY_AUTHORS),
        ("Availability", f"model file, sparseauc {card.version}, sha256 {card.digest()[:16]}…"),
    ]


def methods_paragraph(found: Validation) -> str:
    """A paragraph for the Methods section, with what is known filled in."""
    card, about = found.card, found.card.summary
    text = (
        f"We evaluated a linear score of {len(card.terms)} columns "
        f"({', '.join(term.name for term in card.terms)}), developed with sparseauc {card.version}"
    )
    if about.get("rows") is not None:
        text += f" on {about['rows']} rows with {about['positives']} events"
    text += (
        f", on {found.rows} rows of {found.source} with {found.events} events ({card.event}). "
        "Coefficients and thresholds were not changed. Discrimination was measured by the area "
        "under the ROC curve with DeLong's 95 % interval"
    )
    if found.promised is not None:
        text += " and compared with that of nested cross-validation in development"
    if found.calibration is not None:
        text += (
            "; calibration by the calibration intercept (slope fixed at one) and the slope of a "
            "logistic regression on the predicted log odds"
        )
    text += (
        ". Sensitivity, specificity and predictive values have exact (Clopper–Pearson) 95 % "
        "intervals."
    )
    if about.get("imputation") is not None:
        text += f" Missing values were imputed by the {about['imputation']} of the training rows."
    return text
