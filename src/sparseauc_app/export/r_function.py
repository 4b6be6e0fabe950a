"""The score as a function in R, with nothing but base R."""

import math

from ..scorecard import ScoreCard, Term
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
  is_level <- function(x, level) as.numeric(x == level)
  is_above <- function(x, cut) as.numeric(x > cut)
  clip <- function(x, low, high) pmin(pmax(x, low), high)
  # A missing value is replaced by the fill; an infinite number gives no score.
  fill <- function(x, value, by) {
    value[is.na(x)] <- by
    if (is.numeric(x)) value[is.infinite(x)] <- NA
    value
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
        R code that needs no package. The function takes a data frame with the chosen columns, in
        any order, among others; factors count as text. It returns a data frame with ``score``,
        ``label`` and, where the model is calibrated, ``risk``; NA for rows with a
        missing value that the model does not fill in.

    Raises
    ------
    ValueError
        If a name or a number cannot be written in R.

    Examples
    --------
    >>> from sparseauc_app.export import to_r
    >>> from sparseauc_app.scorecard import ScoreCard, Term
    >>> terms = (Term("age", None, 0.5, fill=40.0, low=18.0, high=90.0),)
    >>> print(to_r(ScoreCard(terms, -1.0, "no", "yes", "ill", ("age",)))[-200:-1])
      x <- number("age", ".")
      score <- score + 0.5 * fill(x, clip(x, 18.0, 90.0), 40.0)
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
        for term in one.terms:
            lines += _write_term(one, term)
    lines += ["  data.frame(", f"    {card.score_name} = score,"]
    if card.times is None:
        lines.append(
            f"    label = ifelse(score > {_number(card.threshold)}, {_text(card.positive)}, "
            f"{_text(card.negative)}),"
        )
    if (how := card.calibration) is not None:
        linear = f"{_number(how.slope)} * score + {_number(how.intercept)}"
        risk = f"plogis({linear})" if how.link == "logit" else f"-expm1(-exp({linear}))"
        lines.append(f"    risk = {risk},")
    lines += ["    stringsAsFactors = FALSE", "  )", "}"]
    return "\n".join(lines) + "\n"


def _write_term(one: Effect, term: Term) -> list[str]:
    read = f"{one.kind}({_text(one.column)}"
    if one.kind == "number":
        read += f", {_text(one.type.decimal or '.')}"
        read += "" if one.type.thousands is None else f", {_text(one.type.thousands)}"
        read += ", limits = TRUE" if one.type.limits else ""
    if one.levels:
        read += f", c({', '.join(map(_text, one.levels))})"
    by = "NA" if term.fill is None else _number(term.fill)
    return [
        f"  x <- {read})",
        f"  score <- score + {_number(term.coefficient)} * fill(x, {_r_value(term)}, {by})",
    ]


def _r_value(term: Term) -> str:
    if term.level is not None:
        return f"is_level(x, {_text(term.level)})"
    if term.above is not None:
        return f"is_above(x, {_number(term.above)})"
    value = "x"
    if term.clips:
        low = "-Inf" if term.low is None else _number(term.low)
        high = "Inf" if term.high is None else _number(term.high)
        value = f"clip(x, {low}, {high})"
    return value if term.log is None else f"log({value} + {_number(term.log)})"


def _number(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError(f"{number} cannot be written in R")
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
