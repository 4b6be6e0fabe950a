"""The score as a function in R, with nothing but base R."""

import math
from collections.abc import Iterable

from sparseauc.columns import Pieces

from ..scorecard import ScoreCard
from .effects import Effect, effects_of

_HELPERS = r"""
  column <- function(name) {
    if (!name %in% names(data)) stop("there is no column '", name, "'", call. = FALSE)
    x <- data[[name]]
    if (is.factor(x)) as.character(x) else x
  }
  refuse <- function(name, x, bad, wanted) {
    if (any(bad)) {
      row <- which(bad)[1]
      stop("'", name, "' must hold ", wanted, ", but is '", x[row], "' in row ", row, call. = FALSE)
    }
  }
  bare <- function(x) trimws(enc2utf8(x), whitespace = "[\\h\\v]")
  number <- function(name, decimal, thousands = "", limits = FALSE) {
    x <- column(name)
    if (!is.character(x)) return(as.numeric(x))
    x <- bare(x)
    if (limits) {
      x <- trimws(sub("^[<>\u2264\u2265~]=?", "", x))
      x[!grepl("[0-9]", x)] <- NA
    }
    x[!is.na(x) & x == ""] <- NA
    whole <- "[0-9]+"
    if (thousands != "") whole <- paste0("([1-9][0-9]{0,2}([", thousands, "][0-9]{3})+|[0-9]+)")
    plain <- paste0("^[+-]?(", whole, "([", decimal, "][0-9]*)?|[", decimal, "][0-9]+)",
                    "([eE][+-]?[0-9]+)?$")
    refuse(name, x, !is.na(x) & !grepl(plain, x), "numbers")
    if (thousands != "") x <- gsub(thousands, "", x, fixed = TRUE)
    as.numeric(sub(decimal, ".", x, fixed = TRUE))
  }
  boolean <- function(name) {
    x <- column(name)
    if (!is.character(x)) return(as.numeric(x))
    x <- bare(x)
    x[!is.na(x) & x == ""] <- NA
    yes <- x %in% c("1", "true", "TRUE", "True")
    refuse(name, x, !is.na(x) & !yes & !x %in% c("0", "false", "FALSE", "False"), "true or false")
    ifelse(is.na(x), NA, as.numeric(yes))
  }
  # What training had not counts as missing; 1 for 01, which read.csv may make of it, is refused.
  text <- function(name, levels = NULL) {
    x <- column(name)
    guessed <- !is.character(x)
    if (is.numeric(x)) {
      known <- !is.na(x)
      y <- rep(NA_character_, length(x))
      y[known] <- vapply(x[known], format, "", digits = 15, scientific = FALSE, trim = TRUE)
      x <- y
    }
    x <- bare(as.character(x))
    x[!is.na(x) & x == ""] <- NA
    new <- !is.na(x) & !is.null(levels) & !x %in% levels
    if (guessed) refuse(name, x, new, "text, as with colClasses = \"character\"")
    if (any(new)) warning("'", name, "' has '", x[new][1], "', which training had not: missing")
    x[new] <- NA
    x
  }
  # The effect of a text; others count as a missing one.
  of_text <- function(x, levels, effects, missing) {
    found <- effects[match(x, levels)]
    found[is.na(found)] <- missing
    found
  }
  # The effect of a number: polynomials, each above its start; an infinite one gives no score.
  of_number <- function(x, missing, low, high, starts, origins, coefficients) {
    beyond <- is.infinite(x)
    x[is.na(x)] <- missing
    x <- pmin(pmax(x, low), high)
    place <- findInterval(x, starts, left.open = TRUE)
    found <- rep(0, length(x))
    for (j in ncol(coefficients):1) found <- found * (x - origins[place]) + coefficients[place, j]
    found[beyond | is.na(x)] <- NA
    found
  }
"""


def to_r(card: ScoreCard, name: str = "predict_risk") -> str:
    """Export a function in R that scores the rows of a data frame.

    Parameters
    ----------
    card : ScoreCard
    name : str, default="predict_risk"
        Name of the function.

    Returns
    -------
    str
        R code that needs no package. The function takes a data frame with the chosen
        columns, in any order, among others; factors count as text. It returns a data
        frame with ``score``, ``label`` and, where the model is calibrated, ``risk``; NA
        for rows with a missing value that the model does not fill in.

    Raises
    ------
    ValueError
        If a name or a number cannot be written in R.

    Examples
    --------
    >>> from sparseauc_app.export import to_r
    >>> from sparseauc.columns import Line
    >>> from sparseauc_app.scorecard import ScoreCard, Term
    >>> terms = (Term("age", Line(missing=40.0, coef=(0.5,))),)
    >>> print(to_r(ScoreCard(terms, -1.0, "no", "yes", "ill", ("age",)))[-233:-1])
      score <- score + of_number(number("age", "."), 40.0, -Inf, Inf,
        -Inf, 0.0, matrix(c(0.0, 0.5), 1, byrow = TRUE))
      data.frame(
        score = score,
        label = ifelse(score > 0.0, "yes", "no"),
        stringsAsFactors = FALSE
      )
    }
    """
    against = f"against {card.negative}"
    if card.times is not None:
        against = f"and risk until {card.times.horizon:g} (column {card.times.time})"
    about = f"Score of {card.event} {against}, fitted by sparseauc {card.version}."
    effects = effects_of(card)
    lines = [
        f"# {_comment(about)}",
        f"# Usage: {name}(data), where data is a data frame with the columns",
        *(f"#   {_comment(one.column)}" for one in effects),
        f"{name} <- function(data) {{{_HELPERS.rstrip()}",
        f"  score <- rep({_number(card.intercept)}, nrow(data))",
    ]
    for one in effects:
        lines += _write_effect(one)
    lines += ["  data.frame(", f"    {card.score_name} = score,"]
    if card.times is None:
        lines.append(
            f"    label = ifelse(score > {_number(card.threshold)}, {_text(card.positive)}, "
            f"{_text(card.negative)}),"
        )
    if (how := card.risk_map) is not None:
        linear = f"{_number(how.slope)} * score + {_number(how.intercept)}"
        risk = f"plogis({linear})" if how.link == "logit" else f"-expm1(-exp({linear}))"
        lines.append(f"    risk = {risk},")
    lines += ["    stringsAsFactors = FALSE", "  )", "}"]
    return "\n".join(lines) + "\n"


def _write_effect(one: Effect) -> list[str]:
    read = f"{one.kind}({_text(one.column)}"
    if one.kind == "number":
        read += f", {_text(one.type.decimal or '.')}"
        read += "" if one.type.thousands is None else f", {_text(one.type.thousands)}"
        read += ", limits = TRUE" if one.type.limits else ""
    formula = one.formula
    missing = _number(formula.missing)
    if not isinstance(formula, Pieces):
        levels = _vector(map(_text, one.levels))
        effects = _vector(map(_number, one.levels.values()))
        return [
            f"  score <- score + of_text({read}, {levels}), {levels},",
            f"    {effects}, {missing})",
        ]
    starts, origins = (
        _vector(_number(getattr(piece, name)) for piece in formula.pieces)
        for name in ("start", "origin")
    )
    powers = max(len(piece.coef) for piece in formula.pieces)
    rows = [
        [*piece.coef, *(0.0,) * (powers - len(piece.coef))] for piece in formula.pieces
    ]
    coefficients = _vector(_number(coef) for row in rows for coef in row)
    ends = f"{_number(formula.low)}, {_number(formula.high)}"
    return [
        f"  score <- score + of_number({read}), {missing}, {ends},",
        f"    {starts}, {origins}, matrix({coefficients}, {len(rows)}, byrow = TRUE))",
    ]


def _vector(texts: Iterable[str]) -> str:
    """Write a vector of R; a single number needs no brackets."""
    written = [*texts]
    return written[0] if len(written) == 1 else f"c({', '.join(written)})"


def _number(number: float) -> str:
    if math.isnan(number):
        return "NA"
    if math.isinf(number):
        return "Inf" if number > 0 else "-Inf"
    text = repr(float(number))
    return f"({text})" if number < 0 else text


def _text(text: str) -> str:
    """A string of R; characters beyond ASCII are escaped, so that no locale can change them."""
    if "\0" in text:
        raise ValueError(f"{text!r} holds a zero character, which R cannot write")
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _comment(text: str) -> str:
    return " ".join(text.split())
