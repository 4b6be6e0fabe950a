"""Numbers as text, and sentences from templates: the same in the terminal and in reports."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .text import spreadsheet_safe

if TYPE_CHECKING:
    from jinja2 import Environment
    from pandas import DataFrame

    from sparseauc.metrics import AUCInterval
    from sparseauc.survival import ProportionalHazards

    from .evaluation.probabilities import CalibrationCheck

# What the columns of a short list are called and how they are written, wherever it is
# shown.
_HEADINGS = {
    "points": ("points up to", "d"),
    "coefficient": ("coefficient", ".4g"),
    "standardised": ("per SD", "+.3g"),
    "odds_ratio": ("odds ratio", ".3g"),
    "odds_ratio_per_sd": ("odds ratio per SD", ".3g"),
    "hazard_ratio": ("hazard ratio", ".3g"),
    "hazard_ratio_per_sd": ("hazard ratio per SD", ".3g"),
    "auc": ("alone", ".3f"),
    "cost": ("cost", "g"),
    "sign": ("sign given", ""),
    "family": ("family", ""),
    "frequency": ("selection frequency", "%"),
}


def shown_columns(given: Collection[str], measure: str) -> list[tuple[str, str, str]]:
    """Columns of a short list that are shown, of those given: key, heading and format."""
    hidden = set()
    # Points and ratios say what these do.
    if {"points", "odds_ratio", "hazard_ratio"} & {*given}:
        hidden = {"standardised"}
    if "points" in given:
        hidden |= {"coefficient", "odds_ratio", "hazard_ratio"}
    return [
        (key, f"{measure} {heading}" if key == "auc" else heading, form)
        for key, (heading, form) in _HEADINGS.items()
        if key in given and key not in hidden
    ]


def short_list_row(line: Mapping[str, Any], measure: str = "AUC") -> dict[str, str]:
    """A chosen column as a row of text, for the terminal."""
    row = {"": str(line["rank"]), "column": str(line["column"])}
    for key, heading, form in shown_columns(line, measure):
        row[heading.replace(" ", "\n")] = _cell(line, key, form)
    return row


def _cell(line: Mapping[str, Any], key: str, form: str) -> str:
    """Write an entry of a short list; of what is no line its kind in place of a coefficient."""
    value = line[key]
    if value is None:
        return ""
    if key == "coefficient" and line.get("kind", "line") != "line":
        return str(line["kind"])
    return percent(value) if form == "%" else format(value, form)


def effects_in_words(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what the columns of a short list count that have no coefficient."""
    return [
        f"{line['column']}: {line['effect']}"
        for line in lines
        if line.get("kind", "line") != "line"
        and line.get("effect")
        and "points" not in line
    ]


def point_row(point: Mapping[str, Any]) -> dict[str, Any]:
    """A threshold as a row, in the terminal and in reports: rates in per cent, with intervals."""
    return {
        "threshold": point["name"],
        **_above(point),
        "sensi-\ntivity, %": rate_text(point["sensitivity"]),
        "speci-\nficity, %": rate_text(point["specificity"]),
        "PPV, %": rate_text(point["ppv"]),
        "NPV, %": rate_text(point["npv"]),
        "flagged\nof 1000": round(point["flagged_per_1000"]),
    }


def risk_row(risk: Mapping[str, Any], events: str = "Positives") -> dict[str, Any]:
    """The risk of a range of totals as a row, of rows left out."""
    above, up_to = (
        "" if risk[edge] is None else f"{risk[edge]:g}" for edge in ("above", "up_to")
    )
    return {
        "Total above": above,
        "Up to": up_to,
        "Rows": risk["rows"],
        events: risk["positives"],
        "Risk, % (95 % CI)": f"{100 * risk['risk']:.0f} "
        f"({100 * risk['low']:.0f}–{100 * risk['high']:.0f})",
        "By the formula, %": f"{100 * risk['predicted']:.0f}",
    }


def _above(point: Mapping[str, Any]) -> dict[str, Any]:
    """The risk above which rows are positive, and the total of points; or else the score."""
    risk = point.get("risk")
    threshold = point["threshold"]
    if risk is None:
        return {"score\nabove": threshold}
    total = {"total\nabove": f"{threshold:.0f}"} if point.get("total") else {}
    return {**total, "risk\nabove": percent(risk)}


def auc_text(
    interval: AUCInterval | Mapping[str, Any] | None, *, long: bool = False
) -> str:
    """An AUC with its interval: "0.874 (0.842–0.901)", or long "0.874 (95 % CI 0.842 to 0.901)"."""
    if interval is None:
        return "–"
    one = interval if isinstance(interval, Mapping) else asdict(interval)
    low = f"{one['low']:.3f}"
    high = f"{one['high']:.3f}"
    ends = (
        f"{100 * one['confidence']:g} % CI {low} to {high}" if long else f"{low}–{high}"
    )
    return f"{one['auc']:.3f} ({ends})"


def rate_text(rate: Mapping[str, float] | None) -> str:
    """A share with its interval, in per cent: "82 (75–88)"."""
    if rate is None:
        return "–"
    return (
        f"{100 * rate['value']:.0f} ({100 * rate['low']:.0f}–{100 * rate['high']:.0f})"
    )


def percent(share: float) -> str:
    """A share in per cent, with a decimal near 0 and 100 %."""
    near_an_end = 0 < share < 0.01 or 0.99 < share < 1
    return f"{100 * share:.{1 if near_an_end else 0}f} %"


def round_ticks(low: float, high: float, about: float) -> list[float]:
    """Return round numbers within a range, about as many as asked for."""
    if high <= low:
        return [low]
    step = (high - low) / max(2.0, about)
    power = 10.0 ** math.floor(math.log10(step))
    step = next(
        times * power for times in (1, 2, 2.5, 5, 10) if times * power >= 0.999 * step
    )
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Rounded: 3 × 0.1 is 0.30000000000000004.
    digits = 12 - math.floor(math.log10(step))
    return [round(place * step, digits) + 0.0 for place in range(first, last + 1)]


def count(number: int, what: str) -> str:
    """Return "1 column", "2 columns"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def capitalised(text: str) -> str:
    """The text with a capital at its beginning, and no other change."""
    return text[:1].upper() + text[1:]


def as_sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    text = capitalised(text)
    return text if text.endswith((".", "!", "?")) else f"{text}."


# Brackets, and then the part of a sentence, that name an option of the command.
_ADVICE = (
    re.compile(r"\s*\([^()]*(?<![\w-])--?[a-z][^()]*\)"),
    re.compile(r"(^|[:;,.])[^.:;]*(?<![\w-])--[a-z][^.]*(?=\.|$)"),
)


def without_advice(text: str) -> str:
    """A sentence for readers who have no command at hand: without its options."""
    for pattern in _ADVICE:
        text = pattern.sub("", text)
    short = text.strip(" .:;,")
    return as_sentence(short) if short else ""


def calibration_text(check: CalibrationCheck) -> str:
    """Intercept and slope with their limits, and what they mean."""
    slope = (
        f"slope {check.slope:.2f} ± {1.96 * check.slope_error:.2f} (1 is ideal; below 1, "
        "probabilities are too extreme)"
        if np.isfinite(check.slope)
        else "no slope, because the score separates the classes"
    )
    return (
        f"intercept {check.intercept:+.2f} ± {1.96 * check.intercept_error:.2f} (0 is ideal; above "
        f"0, positives are more common than predicted), {slope}; observed "
        f"{100 * check.observed:.1f} %, predicted {100 * check.expected:.1f} %"
    )


def for_spreadsheets(frame: DataFrame) -> DataFrame:
    """Return a frame of whose texts and names a spreadsheet executes none."""
    return frame.map(spreadsheet_safe).rename(columns=spreadsheet_safe)


def make_environment(package: str, *, escape: bool = True) -> Environment:
    """Read the templates of a package; a name that a template lacks is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(package),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["percent"] = percent
    return made


class Words:
    """The texts of template files, called by the name of their block: the first that has it.

    Facts are filled in; lines are joined, and a blank line begins a new paragraph.
    """

    def __init__(self, *names: str, **facts: Any) -> None:
        self._templates = [_sentences().get_template(name) for name in names]
        self._facts = facts

    def __call__(self, block: str, **facts: Any) -> str:
        """Write a text with further facts."""
        template = next(one for one in self._templates if block in one.blocks)
        text = "".join(
            template.blocks[block](template.new_context({**self._facts, **facts}))
        )
        parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
        return "\n\n".join(part for part in parts if part)


def write_lines(block: str, **facts: Any) -> list[str]:
    """Write a text line by line."""
    template = _sentences().get_template("lines.j2")
    text = "".join(template.blocks[block](template.new_context(facts)))
    return [line for line in text.split("\n") if line]


@cache
def _sentences() -> Environment:
    environment = make_environment("sparseauc_app.pages", escape=False)
    environment.finalize = _on_one_line
    environment.filters |= {
        "count": count,
        "calibration": lambda check: calibration_text(check).replace("-", "−"),
        "auc": auc_text,
        "repr": repr,
        "without_advice": without_advice,
        "ratio": _hazard_ratio,
        "g": lambda number: f"{number:g}".replace("-", "−"),
        "fixed": lambda number, digits=2: f"{number:.{digits}f}".replace("-", "−"),
        "signed": lambda number, digits=3: f"{number:+.{digits}f}".replace("-", "−"),
        "names": lambda names: ", ".join(map(str, names)),
        "quoted": lambda names: ", ".join(repr(str(name)) for name in names),
    }
    return environment


def _hazard_ratio(of: ProportionalHazards) -> str:
    """The factor of the hazard for each unit of a score, with its interval."""
    reach = 1.96 * of.slope_error
    middle, low, high = np.exp([of.slope, of.slope - reach, of.slope + reach])
    return f"{middle:.3g} (95 % CI {low:.3g} to {high:.3g})"


def _on_one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value
