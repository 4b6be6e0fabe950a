"""The score as a workbook: cells to fill in, and formulas.

Excel keeps 15 digits of a number in a formula but all of a number in a cell, so that
coefficients stand in cells of their own, on the sheet "Model", and formulas refer to
them.
"""

import io
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np

from sparseauc.columns import Pieces

from ..column_types import ColumnType
from ..formatting import capitalised
from ..scorecard import ScoreCard
from .effects import Effect, effects_of

# A column has a row for each piece of its effect, a polynomial of the number less the
# origin, or for each text; what holds for the whole column is in its first row.
_MODEL = (
    "Column", "If missing", "Low", "High", "Above", "Origin", "Effect", "Slope", "Square", "Cube",
    "Text",
)  # fmt: skip
# What risks are a function of.
_LINEAR = {"logit": "log odds", "cloglog": "log cumulative hazard"}
_ROWS = 200
# Characters of a text in a formula.
_LONGEST = 255
# What stands for the effect of a text that training had not: the row has no score.
_UNKNOWN = '"not in training"'


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
        A workbook of three sheets: "Calculator" for one case, "Rows" for many, one in
        each row, and "Model" with the numbers of the model; of points one more,
        "Points", with their card. An empty cell is a missing value, and a row with a
        text that training had not has no score.

    Raises
    ------
    ValueError
        If a text is too long for a formula, or has a character that a workbook cannot
        hold.
    """
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook()
    effects = effects_of(card)
    for label in (card.positive, card.negative):
        if len(label) > _LONGEST:
            raise ValueError(f"{label[:40]!r}… is too long for a formula of a workbook")
    try:
        sheets = [book.active, *(book.create_sheet(name) for name in ("Rows", "Model"))]
        sheets[0].title = "Calculator"
        _write_model(sheets[2], card, effects)
        _write_calculator(sheets[0], card, effects)
        _write_rows(sheets[1], card, effects, rows)
        if points := card.summary.get("points"):
            _write_points(book.create_sheet("Points"), points)
        buffer = io.BytesIO()
        book.save(buffer)
    except IllegalCharacterError as error:
        raise ValueError(
            f"a workbook cannot hold {str(error).split(' cannot')[0]!r}"
        ) from None
    return buffer.getvalue()


def _write_model(sheet: Any, card: ScoreCard, effects: list[Effect]) -> None:
    """Write the numbers of the model."""
    sheet.append(_MODEL)
    for one in effects:
        formula = one.formula
        whole = [one.column, None if one.required else formula.missing, None, None]
        rows: list[list[Any]] = [[None] * 6 + [of, *[None] * 3, text]
                                 for text, of in one.levels.items()]  # fmt: skip
        if isinstance(formula, Pieces):
            whole[2:] = [_known(formula.low), _known(formula.high)]
            rows = [[None] * 4 + [_known(piece.start), piece.origin, *piece.coef]
                    for piece in formula.pieces]  # fmt: skip
        for place, row in enumerate(rows):
            _append_texts(sheet, [*whole, *row[4:]] if place == 0 else row)
    how = card.risk_map
    after = [("Intercept", card.intercept)]
    if how is not None:
        after += [
            (f"Slope of the {_LINEAR[how.link]}", how.slope),
            (f"Intercept of the {_LINEAR[how.link]}", how.intercept),
        ]
    for name, number in after:
        sheet.append([name, number])
    _widen(sheet, [40, *([16] * 9), 24])
    _embolden(sheet, 1)


def _known(number: float) -> float | None:
    return number if np.isfinite(number) else None


def _first_rows(effects: list[Effect]) -> list[int]:
    """Return the row of the model at which each column begins, and last that of the intercept."""
    pieces = [one.formula.pieces if isinstance(one.formula, Pieces) else one.levels
              for one in effects]  # fmt: skip
    return [*accumulate(map(len, pieces), initial=2)]


def _append_texts(sheet: Any, row: list[Any]) -> None:
    """Append a row in which a text that begins with = stays a text."""
    sheet.append([None] * len(row) if not any(row) else row)
    for cell in sheet[sheet.max_row]:
        if isinstance(cell.value, str):
            cell.data_type = "s"


def _at(name: str, row: int) -> str:
    """Reference to a number of the model."""
    return f"Model!${'ABCDEFGHIJK'[_MODEL.index(name)]}${row}"


def _range(name: str, first: int, last: int) -> str:
    """Reference to numbers or texts of the model below each other."""
    return f"{_at(name, first)}:{_at(name, last).removeprefix('Model!')}"


def _value_taken(one: Effect, row: int, cell: str) -> str:
    """What the cell of a column counts as: a number, or a text without blanks around."""
    formula = one.formula
    text = _without_blanks(cell)
    if not isinstance(formula, Pieces):
        return f"={text}"
    blank = f'{text}=""'
    if one.type.limits:
        blank = _has_no_digit(cell)
    found = _number_of(one.type, cell, text)
    if one.kind == "boolean":
        upper = f"UPPER({text})"
        found = f'IF({upper}="TRUE",1,IF({upper}="FALSE",0,{found}))'
    if np.isfinite(formula.low):
        found = f"MAX({found},{_at('Low', row)})"
    if np.isfinite(formula.high):
        found = f"MIN({found},{_at('High', row)})"
    missing = '""' if one.required else _at("If missing", row)
    return f"=IF({blank},{missing},{found})"


def _effect_of(one: Effect, row: int, cell: str, taken: str) -> str:
    """What a column adds to the score, from its cell and that of what it counts as."""
    formula = one.formula
    if not isinstance(formula, Pieces):
        missing = '""' if one.required else _at("If missing", row)
        last = row + len(one.levels) - 1
        levels = _range("Text", row, last)
        is_level = f'ISNUMBER(FIND({levels},{cell}&""))'
        rest = _without_blanks(f'SUBSTITUTE({cell}&"",{levels},"",1)')
        known = f'{is_level}*({rest}="")'
        effect = f"SUMPRODUCT({known}*{_range('Effect', row, last)})"
        return (
            f'=IF({taken}="",{missing},IF(SUMPRODUCT({known})=1,{effect},{_UNKNOWN}))'
        )
    last = row + len(formula.pieces) - 1
    if last > row and all(len(piece.coef) == 1 for piece in formula.pieces):
        above = _range("Above", row + 1, last)
        effect = _range("Effect", row + 1, last)
        before = _range("Effect", row, last - 1)
        found = (
            f"{_at('Effect', row)}+SUMPRODUCT(({taken}>{above})*({effect}-{before}))"
        )
    else:
        found = _polynomial(len(formula.pieces[0].coef), row, taken)
        for j, piece in enumerate(formula.pieces[1:], start=row + 1):
            then = _polynomial(len(piece.coef), j, taken)
            found = f"IF({taken}>{_at('Above', j)},{then},{found})"
    return f'=IF({taken}="","",{found})'


def _polynomial(length: int, row: int, taken: str) -> str:
    """A polynomial of a row of the model, by Horner's scheme."""
    names = ("Effect", "Slope", "Square", "Cube")[:length]
    found = _at(names[-1], row)
    for name in names[-2::-1]:
        found = f"({found}*({taken}-{_at('Origin', row)})+{_at(name, row)})"
    return found


def _without_blanks(text: str) -> str:
    """A text without blanks around it, of the kinds that are met in cells."""
    text = f'{text}&""'
    for blank in ("CHAR(9)", "CHAR(10)", "CHAR(13)", "_xlfn.UNICHAR(160)"):
        text = f'SUBSTITUTE({text},{blank}," ")'
    return f"TRIM(CLEAN({text}))"  # and what else cannot be seen


def _text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _number_of(of: ColumnType, cell: str, text: str) -> str:
    """The number of a cell, or of its text: in any locale, without a sign of a limit."""
    if of.limits:
        for sign in "<>≤≥~=":
            text = f'SUBSTITUTE({text},"{sign}","")'
    # Blanks within a number would be skipped.
    text = f'SUBSTITUTE(TRIM({text})," ","?")'
    marks = f'"{of.decimal or "."}","{of.thousands or " "}"'
    return f"IF(ISNUMBER({cell}),{cell},_xlfn.NUMBERVALUE({text},{marks}))"


def _has_no_digit(cell: str) -> str:
    found = ",".join(f'ISNUMBER(FIND("{digit}",{cell}&""))' for digit in range(10))
    return f"NOT(OR({found}))"


def _results(card: ScoreCard, effects: list[Effect], parts: str) -> dict[str, str]:
    """Formulas of the score and what follows from it, given the range of the contributions."""
    row = _first_rows(effects)[-1]
    score = f'=IF(COUNT({parts})<{len(effects)},"",Model!$B${row}+SUM({parts}))'
    found = {"Score": score}
    if card.times is None:
        found["Label"] = (
            f'=IF({{score}}="","",IF({{score}}>{card.threshold!r},{_text(card.positive)},'
            f"{_text(card.negative)}))"
        )
    if card.risk_map is not None:
        linear = f"Model!$B${row + 1}*{{score}}+Model!$B${row + 2}"
        risk = f"1/(1+EXP(-({linear})))"
        if card.risk_map.link == "cloglog":
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
    for place, text in enumerate(
        ["Contribution of each column to the score", "", "Counts as"], 1
    ):
        sheet.cell(first, place).value = text
    _embolden(sheet, first)
    for place, (one, start) in enumerate(
        zip(effects, _first_rows(effects), strict=False)
    ):
        row = first + 1 + place
        name = sheet.cell(row, 1)
        name.value = one.column
        name.data_type = "s"
        cell = cells[one.column]
        sheet.cell(row, 2).value = _effect_of(one, start, cell, f"$C${row}")
        sheet.cell(row, 3).value = _value_taken(one, start, cell)
    parts = f"$B${first + 1}:$B${first + len(effects)}"
    row = first + len(effects) + 2
    score = f"$B${row}"
    for name, formula in _results(card, effects, parts).items():
        sheet.cell(row, 1).value = name
        sheet.cell(row, 2).value = formula.replace("{score}", score)
        sheet.cell(row, 2).number_format = (
            "0.0%" if name.startswith("Risk") else "General"
        )
        _embolden(sheet, row)
        row += 1
    _widen(sheet, [42, 18, 14, 22, 18, 28])
    _embolden(sheet, 4)


def _write_rows(sheet: Any, card: ScoreCard, effects: list[Effect], rows: int) -> None:
    from openpyxl.utils import get_column_letter as letter

    results = _results(card, effects, "")
    names = [one.column for one in effects]
    taken = [f"{name}, counts as" for name in names]
    _append_texts(
        sheet, [*names, *results, *(f"{name}, effect" for name in names), *taken]
    )
    start = len(effects) + len(results) + 1
    end = start + len(effects)
    model = _first_rows(effects)
    for row in range(2, rows + 2):
        for j, one in enumerate(effects):
            cell = f"${letter(j + 1)}{row}"
            _style_input(sheet, cell.removeprefix("$"), one)
            value = f"${letter(end + j)}{row}"
            sheet.cell(row, start + j).value = _effect_of(one, model[j], cell, value)
            sheet.cell(row, end + j).value = _value_taken(one, model[j], cell)
        parts = f"${letter(start)}{row}:${letter(end - 1)}{row}"
        score = f"${letter(len(effects) + 1)}{row}"
        blank = f"COUNTA($A{row}:${letter(len(effects))}{row})=0"
        for place, formula in enumerate(
            _results(card, effects, parts).values(), len(effects) + 1
        ):
            text = formula.replace("{score}", score).removeprefix("=")
            sheet.cell(row, place).value = f'=IF({blank},"",{text})'
    _widen(sheet, [16] * (end + len(effects)))
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
    choices = ",".join(one.levels)
    if (
        choices
        and len(choices) < 250
        and not any(set(',"') & set(x) for x in one.levels)
    ):
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
