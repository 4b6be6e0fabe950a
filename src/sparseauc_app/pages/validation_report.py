"""The validation report: a model on new rows, with a reporting checklist."""

from collections.abc import Mapping

import pandas as pd

from ..formatting import Words, auc_text
from ..validation import Validation
from .elements import Code, Element, Figure, Listing, Report, Section
from .parts import (
    draw_risks,
    draw_roc,
    list_items,
    list_points,
    note_cautions,
    show_follow_up,
    show_groups,
)


def build_validation_report(
    found: Validation, facts: Mapping[str, str] | None = None
) -> Report:
    """Build the report on a model's performance on new rows; facts say how it was made."""
    say = _words_of(found)
    sections = [
        Section(
            "reliance", "Cautions", [note_cautions(found.warnings, say("no_cautions"))]
        ),
        Section("ranking", "Discrimination", _show_ranking(found)),
    ]
    if found.risks is not None:
        figure = draw_risks(found.risks, found.card.event, say("calibration"))
        sections.append(Section("probability", "Probabilities", [figure]))
    sections += [
        Section("columns", "Columns, compared with training", [_list_columns(found)]),
        Section("reporting", "For a publication", _show_reporting(found)),
    ]
    within = "" if found.within is None else f" within {found.within}"
    glance = {f"{found.card.measure}{within} (95 % CI)": auc_text(found.interval)}
    if found.promised is not None:
        glance["Expected"] = auc_text(found.promised)
    events = "Positive" if found.card.times is None else "Events"
    glance |= {
        "Rows": str(found.rows),
        f"{events} ({found.card.event})": str(found.positives),
    }
    return Report(
        title=f"Validation of the score for {found.card.event} on {found.source}",
        lead=say("lead"),
        sections=sections,
        facts=dict(facts or {}),
        glance=glance,
    )


def _words_of(found: Validation) -> Words:
    return Words("validation_words.j2", found=found, card=found.card)


def _show_ranking(found: Validation) -> list[Element]:
    say = _words_of(found)
    elements: list[Element] = []
    if found.followed is not None and found.card.times is not None:
        elements += show_follow_up(found.followed, found.card.times.time, nested=False)
    elif found.curves is not None:
        panel = draw_roc(found.curves, found.interval)
        elements.append(Figure("roc", "ROC curve", say("roc"), [panel]))
    if found.points:
        elements.append(list_points(found.points, say("thresholds")))
    if found.others:
        elements.append(_list_others(found))
    if found.groups:
        name = "all rows" if found.within is None else f"all, within {found.within}"
        measure = found.card.measure
        elements += show_groups(
            found.groups, found.interval, f"{measure} by group", name, measure=measure
        )
    return elements


def _list_others(found: Validation) -> Listing:
    measure = found.card.measure
    frame = pd.DataFrame(
        {
            "Score": one.name,
            "Rows": one.rows,
            measure: auc_text(one.interval),
            f"{measure} of the model": auc_text(one.own),
            "Difference": one.difference,
            "95 % from": one.ends[0],
            "to": one.ends[1],
            "p": one.pvalue,
            **(
                {"AUC at the horizon": auc_text(one.at_horizon)}
                if one.at_horizon
                else {}
            ),
            "Slope": None if one.risks is None else one.risks.check.slope,
            "Brier score": None if one.risks is None else one.risks.brier,
        }
        for one in found.others
    )
    formats = {"p": ".2g", "Slope": ".2f"}
    return Listing(
        "others",
        "Compared with other scores",
        _words_of(found)("others"),
        frame,
        formats=formats,
    )


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
        _words_of(found)("shift"),
        frame,
        formats={
            "Shift of the mean (SD)": ".2f",
            "Missing, %": ".1f",
            "Missing in training, %": ".1f",
        },
    )


def _show_reporting(found: Validation) -> list[Element]:
    return [
        Code("Methods paragraph", methods_paragraph(found)),
        *list_items(found.card, new=found),
    ]


def methods_paragraph(found: Validation) -> str:
    """A paragraph for the Methods section, with what is known filled in."""
    return _words_of(found)("methods")
