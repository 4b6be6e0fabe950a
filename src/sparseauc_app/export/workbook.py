"""The score as a workbook: cells to fill in, and formulas.

Excel keeps 15 digits of a number in a formula but all of a number in a cell, so that coefficients
stand in cells of their own, on the sheet "Model", and formulas refer to them.
"""

import io
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..column_types import ColumnType
from ..formatting import capitalised
from ..scorecard import ScoreCard, Term
from .effects import Effect, effects_of

_MODEL = ("Term", "Coefficient", "If missing", "Low", "High", "Above", "Level", "Add before LN")
# What risks are a function of.
_LINEAR = {"logit": "log odds", "cloglog": "log cumulative hazard"}
_ROWS = 200
# Characters of a text in a formula.
_LONGEST = 255


def to_xlsx(card: ScoreCard, rows: int = _ROWS) -> bytes:
    """Export a workbook that scores the values typed into it.

    Parameters
    ----------
    card : ScoreCard
    rows : int, default=200
        Rows of the sheet "Rows" that have formulas.

    Returns
    -------
    bytes
        A workbook of three sheets: "Calculator" for one case, "Rows" for many, one in each row,
        and "Model" with the numbers of the model; of points one more, "Points", with their card. An
        empty cell is a missing value.

    Raises
    ------
    ValueError
        If a text is too long for a formula, or has a character that a workbook cannot hold.
    """
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook()
    effects = effects_of(card)
    _check_lengths(card, effects)
    try:
        sheets = [book.active, *(book.create_sheet(name) for name in ("Rows", "Model"))]
        sheets[0].title = "Calculator"
        _write_model(sheets[2], card)
        _write_calculator(sheets[0], card, effects)
        _write_rows(sheets[1], card, effects, rows)
        if points := card.summary.get("points"):
            _write_points(book.create_sheet("Points"), points)
        buffer = io.BytesIO()
        book.save(buffer)
    except IllegalCharacterError as error:
        raise ValueError(f"a workbook cannot hold {str(error).split(' cannot')[0]!r}") from None
    return buffer.getvalue()


def _check_lengths(card: ScoreCard, effects: list[Effect]) -> None:
    """Refuse texts that are longer than a formula's may be."""
    texts = [text for one in effects for text in (*one.levels, *one.choices)]
    for text in (card.positive, card.negative, *texts):
        if len(text) > _LONGEST:
            raise ValueError(f"{text[:40]!r}… is too long for a formula of a workbook")


def _write_model(sheet: Any, card: ScoreCard) -> None:
    """Write the numbers of the model; row i + 2 has term i."""
    sheet.append(_MODEL)
    for term in card.terms:
        numbers = [term.coefficient, term.fill, term.low, term.high, term.above]
        _append_texts(sheet, [term.name, *numbers, term.level, term.log])
    how = card.calibration
    after = [("Intercept", card.intercept)]
    if how is not None:
        after += [
            (f"Slope of the {_LINEAR[how.link]}", how.slope),
            (f"Intercept of the {_LINEAR[how.link]}", how.intercept),
        ]
    for name, number in after:
        sheet.append([name, number])
    _widen(sheet, [40, *([24] * 7)])
    _embolden(sheet, 1)


def _append_texts(sheet: Any, row: list[Any]) -> None:
    """Append a row in which a text that begins with = stays a text."""
    sheet.append([None] * len(row) if not any(row) else row)
    for cell in sheet[sheet.max_row]:
        if isinstance(cell.value, str):
            cell.data_type = "s"


def _parameter(name: str, place: int) -> str:
    """Reference to a number of the model."""
    return f"Model!${'ABCDEFGH'[_MODEL.index(name)]}${place + 2}"


def _formula_of(one: Effect, term: Term, place: int, cell: str) -> str:
    """The contribution of a term to the score, from the cell of its column."""
    at = partial(_parameter, place=place)
    fill = '""' if term.fill is None else at("If missing")
    if one.kind == "text":
        value = _formula_of_level(str(term.level), one.levels, cell, fill)
    else:
        number = cell
        blank = f'{cell}=""'
        if one.kind == "boolean":
            number = f"IF({_is_text(cell, 'TRUE')},1,IF({_is_text(cell, 'FALSE')},0,{cell}))"
        if one.type.limits:
            number = _number_of_text(one.type, cell)
            blank = _has_no_digit(cell)
        # Adding 0 makes an error of text that is no number; MAX would ignore it.
        found = f"({number}+0)"
        if term.above is not None:
            found = f"IF({found}>{at('Above')},1,0)"
        if term.low is not None:
            found = f"MAX({found},{at('Low')})"
        if term.high is not None:
            found = f"MIN({found},{at('High')})"
        if term.log is not None:
            found = f"LN({found}+{at('Add before LN')})"
        value = f"IF({blank},{fill},{found})"
    if term.fill is not None:
        return f"={at('Coefficient')}*{value}"
    return f'=IF({value}="","",{at("Coefficient")}*{value})'


def _is_text(cell: str, text: str) -> str:
    return f'EXACT(UPPER(TRIM({cell}&"")),"{text}")'


def _formula_of_level(own: str, levels: Sequence[str], cell: str, fill: str) -> str:
    # What training had not would be filled in without a word, 1 for 01 too.
    unknown = f'IF(TRIM({cell}&"")="",{fill},{"NA()" if levels else 0})'
    others = [_is_level(level, cell) for level in levels if level != own]
    if others:
        unknown = f"IF(OR({','.join(others)}),0,{unknown})"
    return f"IF({_is_level(own, cell)},1,{unknown})"


def _is_level(level: str, cell: str) -> str:
    """Whether a text is a level. TRIM joins blanks inside, so that these must be there as well."""
    # By EXACT, since = does not tell upper from lower case.
    same = f'EXACT(TRIM({cell}&""),{_text(re.sub(" +", " ", level))})'
    return f"AND({same},ISNUMBER(FIND({_text(level)},{cell})))" if " " in level else same


def _text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _number_of_text(of: ColumnType, cell: str) -> str:
    """The number of a cell, or of its text without a sign such as > before it, in any locale."""
    text = f'{cell}&""'
    for sign in "<>≤≥~=":
        text = f'SUBSTITUTE({text},"{sign}","")'
    marks = f'"{of.decimal or "."}","{of.thousands or " "}"'
    return f"IF(ISNUMBER({cell}),{cell},_xlfn.NUMBERVALUE({text},{marks}))"


def _has_no_digit(cell: str) -> str:
    found = ",".join(f'ISNUMBER(FIND("{digit}",{cell}&""))' for digit in range(10))
    return f"NOT(OR({found}))"


def _results(card: ScoreCard, n_terms: int, parts: str) -> dict[str, str]:
    """Formulas of the score and what follows from it, given the range of the contributions."""
    intercept = f"Model!$B${n_terms + 2}"
    score = f'=IF(COUNT({parts})<{n_terms},"",{intercept}+SUM({parts}))'
    found = {"Score": score}
    if card.times is None:
        found["Label"] = (
            f'=IF({{score}}="","",IF({{score}}>{card.threshold!r},{_text(card.positive)},'
            f"{_text(card.negative)}))"
        )
    if card.calibration is not None:
        linear = f"Model!$B${n_terms + 3}*{{score}}+Model!$B${n_terms + 4}"
        risk = f"1/(1+EXP(-({linear})))"
        if card.calibration.link == "cloglog":
            risk = f"1-EXP(-EXP({linear}))"
        found[capitalised(card.risk_text)] = f'=IF({{score}}="","",{risk})'
    return found


def _write_calculator(sheet: Any, card: ScoreCard, effects: list[Effect]) -> None:
    from openpyxl.styles import Font

    sheet.append([f"Calculator for {card.event}"])
    sheet["A1"].font = Font(bold=True, size=14)
    sheet.append(["Fill in the yellow cells. An empty cell is a missing value."])
    sheet.append([])
    sheet.append(["Column", "Value", "Unit", "Training range", "If empty", "Check"])
    cells = {}
    for row, one in enumerate(effects, start=5):
        _append_texts(sheet, [one.label, None, one.unit, one.range_text, one.fill_text])
        cells[one.column] = f"$B${row}"
        _style_input(sheet, f"B{row}", one)
        if (low := one.type.low) is not None:
            sheet.cell(row, 6).value = (
                f'=IF(B{row}="","",IF(NOT(ISNUMBER(B{row})),"",IF(OR(B{row}<{low!r},'
                f'B{row}>{one.type.high!r}),"outside the training range","")))'
            )
    first = sheet.max_row + 2
    sheet.cell(first, 1).value = "Contribution of each term to the score"
    _embolden(sheet, first)
    terms = [(one, term) for one in effects for term in one.terms]
    for place, (one, term) in enumerate(terms):
        row = first + 1 + place
        name = sheet.cell(row, 1)
        name.value = term.name
        name.data_type = "s"
        sheet.cell(row, 2).value = _formula_of(one, term, place, cells[one.column])
    parts = f"$B${first + 1}:$B${first + len(card.terms)}"
    row = first + len(card.terms) + 2
    score = f"$B${row}"
    for name, formula in _results(card, len(card.terms), parts).items():
        sheet.cell(row, 1).value = name
        sheet.cell(row, 2).value = formula.replace("{score}", score)
        sheet.cell(row, 2).number_format = "0.0%" if name.startswith("Risk") else "General"
        _embolden(sheet, row)
        row += 1
    _widen(sheet, [42, 18, 14, 22, 18, 28])
    _embolden(sheet, 4)


def _write_rows(sheet: Any, card: ScoreCard, effects: list[Effect], rows: int) -> None:
    from openpyxl.utils import get_column_letter as letter

    results = _results(card, len(card.terms), "")
    _append_texts(
        sheet, [*(one.column for one in effects), *results, *(t.name for t in card.terms)]
    )
    places = {one.column: j for j, one in enumerate(effects, start=1)}
    start = len(effects) + len(results) + 1
    terms = [(one, term) for one in effects for term in one.terms]
    for row in range(2, rows + 2):
        for one in effects:
            _style_input(sheet, f"{letter(places[one.column])}{row}", one)
        for place, (one, term) in enumerate(terms):
            cell = f"${letter(places[one.column])}{row}"
            sheet.cell(row, start + place).value = _formula_of(one, term, place, cell)
        parts = f"${letter(start)}{row}:${letter(start + len(card.terms) - 1)}{row}"
        score = f"${letter(len(effects) + 1)}{row}"
        blank = f"COUNTA($A{row}:${letter(len(effects))}{row})=0"
        for place, formula in enumerate(
            _results(card, len(card.terms), parts).values(), len(effects) + 1
        ):
            text = formula.replace("{score}", score).removeprefix("=")
            sheet.cell(row, place).value = f'=IF({blank},"",{text})'
    _widen(sheet, [16] * (start + len(card.terms)))
    _embolden(sheet, 1)
    sheet.freeze_panes = "A2"


def _write_points(sheet: Any, points: Mapping[str, Any]) -> None:
    """Write the points of each class, and the risk by total."""
    sheet.append(["Column", "Class", "Points"])
    for one in points["columns"]:
        _append_texts(sheet, [one["column"], one["class"], one["points"]])
    _embolden(sheet, 1)
    sheet.append([])
    names = ("above", "up_to", "risk", "low", "high")
    sheet.append(["Total above", "Up to", "Risk", "95 % CI from", "to"])
    _embolden(sheet, sheet.max_row)
    for one in points["risk"]:
        sheet.append([one[name] for name in names])
    _widen(sheet, [42, 24, 14, 14, 14])


def _style_input(sheet: Any, place: str, one: Effect) -> None:
    from openpyxl.styles import PatternFill
    from openpyxl.worksheet.datavalidation import DataValidation

    sheet[place].fill = PatternFill("solid", fgColor="FFF6D6")
    choices = ",".join(one.choices)
    if choices and len(choices) < 250 and not any(set(',"') & set(x) for x in one.choices):
        known = [
            check
            for check in sheet.data_validations.dataValidation
            if check.formula1 == f'"{choices}"'
        ]
        check = known[0] if known else DataValidation("list", formula1=f'"{choices}"')
        if not known:
            sheet.add_data_validation(check)
        check.add(place)
    if one.kind == "text":
        sheet[place].number_format = "@"


def _widen(sheet: Any, widths: list[int]) -> None:
    from openpyxl.utils import get_column_letter as letter

    for j, width in enumerate(widths, start=1):
        sheet.column_dimensions[letter(j)].width = width


def _embolden(sheet: Any, row: int) -> None:
    from openpyxl.styles import Font

    for cell in sheet[row]:
        if cell.value is not None:
            cell.font = Font(bold=True)
