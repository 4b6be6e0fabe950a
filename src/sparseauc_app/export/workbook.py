"""The score as a workbook: cells to fill in, and formulas.

Excel keeps 15 digits of a number in a formula but all of a number in a cell, so that coefficients
stand in cells of their own, on the sheet "Model", and formulas refer to them.
"""

import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..formatting import capitalised
from ..scorecard import ScoreCard
from .fields import Field, fields_of
from .terms import Clip, IsAbove, IsLevel, Log, TermValue, term_values, write_steps

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
        and "Model" with the numbers of the model. An empty cell is a missing value.

    Raises
    ------
    ValueError
        If a text is too long for a formula, or has a character that a workbook cannot hold.
    """
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook()
    values = term_values(card)
    asked = fields_of(card)
    _check_lengths(card, values)
    try:
        sheets = [book.active, *(book.create_sheet(name) for name in ("Rows", "Model"))]
        sheets[0].title = "Calculator"
        _write_model(sheets[2], card, values)
        _write_calculator(sheets[0], card, values, asked)
        _write_rows(sheets[1], card, values, asked, rows)
        buffer = io.BytesIO()
        book.save(buffer)
    except IllegalCharacterError as error:
        raise ValueError(f"a workbook cannot hold {str(error).split(' cannot')[0]!r}") from None
    return buffer.getvalue()


def _check_lengths(card: ScoreCard, values: list[TermValue]) -> None:
    """Refuse texts that are longer than a formula's may be."""
    steps = [step for term in values for step in term.steps if isinstance(step, IsLevel)]
    texts = [text for step in steps for text in (step.level, *step.levels)]
    for text in (card.positive, card.negative, *texts):
        if len(text) > _LONGEST:
            raise ValueError(f"{text[:40]!r}… is too long for a formula of a workbook")


def _write_model(sheet: Any, card: ScoreCard, values: list[TermValue]) -> None:
    """Write the numbers of the model; row i + 2 has term i."""
    sheet.append(_MODEL)
    for term in values:
        clip = next((step for step in term.steps if isinstance(step, Clip)), Clip(None, None))
        cut = next((step.cut for step in term.steps if isinstance(step, IsAbove)), None)
        level = next((step.level for step in term.steps if isinstance(step, IsLevel)), None)
        log = next((step.offset for step in term.steps if isinstance(step, Log)), None)
        row = [term.coefficient, term.fill, clip.low, clip.high, cut]
        _append_texts(sheet, [term.name, *row, level, log])
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


def _formula_of(term: TermValue, place: int, cell: str) -> str:
    """The contribution of a term to the score, from the cell of its column."""
    at = partial(_parameter, place=place)
    fill = '""' if term.fill is None else at("If missing")
    if term.kind == "text":
        value = write_steps(term, cell, {IsLevel: partial(_formula_of_level, fill=fill)}, "XLSX")
    else:
        number = cell
        blank = f'{cell}=""'
        if term.kind == "boolean":
            number = f"IF({_is_text(cell, 'TRUE')},1,IF({_is_text(cell, 'FALSE')},0,{cell}))"
        if term.limits:
            number = _number_of_text(term, cell)
            blank = _has_no_digit(cell)
        writers: dict[type, Callable[[Any, str], str]] = {
            IsAbove: lambda _, x: f"IF({x}>{at('Above')},1,0)",
            Clip: lambda step, x: _formula_of_clip(step, x, at),
            Log: lambda _, x: f"LN({x}+{at('Add before LN')})",
        }
        found = write_steps(term, f"({number}+0)", writers, "XLSX")
        # Adding 0 makes an error of text that is no number; MAX would ignore it.
        value = f"IF({blank},{fill},{found})"
    if term.fill is not None:
        return f"={at('Coefficient')}*{value}"
    return f'=IF({value}="","",{at("Coefficient")}*{value})'


def _is_text(cell: str, text: str) -> str:
    return f'EXACT(UPPER(TRIM({cell}&"")),"{text}")'


def _formula_of_clip(step: Clip, number: str, at: Callable[[str], str]) -> str:
    if step.low is not None:
        number = f"MAX({number},{at('Low')})"
    return number if step.high is None else f"MIN({number},{at('High')})"


def _formula_of_level(step: IsLevel, cell: str, fill: str) -> str:
    # What training had not would be filled in without a word, 1 for 01 too.
    unknown = f'IF(TRIM({cell}&"")="",{fill},{"NA()" if step.levels else 0})'
    others = [_is_level(level, cell) for level in step.levels if level != step.level]
    if others:
        unknown = f"IF(OR({','.join(others)}),0,{unknown})"
    return f"IF({_is_level(step.level, cell)},1,{unknown})"


def _is_level(level: str, cell: str) -> str:
    """Whether a text is a level. TRIM joins blanks inside, so that these must be there as well."""
    # By EXACT, since = does not tell upper from lower case.
    same = f'EXACT(TRIM({cell}&""),{_text(re.sub(" +", " ", level))})'
    return f"AND({same},ISNUMBER(FIND({_text(level)},{cell})))" if " " in level else same


def _text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _number_of_text(term: TermValue, cell: str) -> str:
    """The number of a cell, or of its text without a sign such as > before it, in any locale."""
    text = f'{cell}&""'
    for sign in "<>≤≥~=":
        text = f'SUBSTITUTE({text},"{sign}","")'
    marks = f'"{term.decimal or "."}","{term.thousands or " "}"'
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


def _write_calculator(
    sheet: Any, card: ScoreCard, values: list[TermValue], asked: list[Field]
) -> None:
    from openpyxl.styles import Font

    sheet.append([f"Calculator for {card.event}"])
    sheet["A1"].font = Font(bold=True, size=14)
    sheet.append(["Fill in the yellow cells. An empty cell is a missing value."])
    sheet.append([])
    sheet.append(["Column", "Value", "Unit", "Training range", "If empty", "Check"])
    cells = {}
    for row, one in enumerate(asked, start=5):
        _append_texts(sheet, [one.label, None, one.unit, one.range_text, one.fill_text])
        cells[one.column] = f"$B${row}"
        _style_input(sheet, f"B{row}", one)
        if one.low is not None:
            sheet.cell(row, 6).value = (
                f'=IF(B{row}="","",IF(NOT(ISNUMBER(B{row})),"",IF(OR(B{row}<{one.low!r},'
                f'B{row}>{one.high!r}),"outside the training range","")))'
            )
    first = sheet.max_row + 2
    sheet.cell(first, 1).value = "Contribution of each term to the score"
    _embolden(sheet, first)
    for place, term in enumerate(values):
        row = first + 1 + place
        name = sheet.cell(row, 1)
        name.value = term.name
        name.data_type = "s"
        sheet.cell(row, 2).value = _formula_of(term, place, cells[term.column])
    parts = f"$B${first + 1}:$B${first + len(values)}"
    row = first + len(values) + 2
    score = f"$B${row}"
    for name, formula in _results(card, len(values), parts).items():
        sheet.cell(row, 1).value = name
        sheet.cell(row, 2).value = formula.replace("{score}", score)
        sheet.cell(row, 2).number_format = "0.0%" if name.startswith("Risk") else "General"
        _embolden(sheet, row)
        row += 1
    _widen(sheet, [42, 18, 14, 22, 18, 28])
    _embolden(sheet, 4)


def _write_rows(
    sheet: Any, card: ScoreCard, values: list[TermValue], asked: list[Field], rows: int
) -> None:
    from openpyxl.utils import get_column_letter as letter

    results = _results(card, len(values), "")
    _append_texts(sheet, [*(one.column for one in asked), *results, *(t.name for t in values)])
    places = {one.column: j for j, one in enumerate(asked, start=1)}
    start = len(asked) + len(results) + 1
    for row in range(2, rows + 2):
        for one in asked:
            _style_input(sheet, f"{letter(places[one.column])}{row}", one)
        for place, term in enumerate(values):
            cell = f"${letter(places[term.column])}{row}"
            sheet.cell(row, start + place).value = _formula_of(term, place, cell)
        parts = f"${letter(start)}{row}:${letter(start + len(values) - 1)}{row}"
        score = f"${letter(len(asked) + 1)}{row}"
        blank = f"COUNTA($A{row}:${letter(len(asked))}{row})=0"
        for place, formula in enumerate(
            _results(card, len(values), parts).values(), len(asked) + 1
        ):
            text = formula.replace("{score}", score).removeprefix("=")
            sheet.cell(row, place).value = f'=IF({blank},"",{text})'
    _widen(sheet, [16] * (start + len(values)))
    _embolden(sheet, 1)
    sheet.freeze_panes = "A2"


def _style_input(sheet: Any, place: str, one: Field) -> None:
    from openpyxl.styles import PatternFill
    from openpyxl.worksheet.datavalidation import DataValidation

    sheet[place].fill = PatternFill("solid", fgColor="FFF6D6")
    choices = ",".join(one.levels)
    if one.levels and len(choices) < 250 and not any(set(',"') & set(x) for x in one.levels):
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
