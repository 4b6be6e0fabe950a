"""Model files: the score card of a model as JSON, which says itself how rows are scored.

Nothing in a file is executed, and no object of a library is made from it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sparseauc.utils.files import write_atomically

from .column_types import ColumnType
from .scorecard import ScoreCard

# Of the file, not of the library: raised when readers of today would score rows
# otherwise.
FORMAT = 1
# A thousand times a large model: a larger file is an attack on memory.
_LARGEST = 1 << 28
_HOW = """\
score = intercept + sum over terms of the effect of their column, given by encoding. line: coef *
x of a number x; true is 1 and false is 0. curve: a * x + b * (C(x) - tilt * (x - t2)), where coef
is a and b, knots are t1, t2 and t3, and C(x) = (p(x - t1) - q * p(x - t2) + (q - 1) * p(x - t3))
/ (t3 - t1)^2 with q = (t3 - t1) / (t3 - t2) and p(z) = max(z, 0)^3; x is low if smaller than low,
and high if larger than high; if the knots are not three numbers, b counts nothing. steps: the
first number of coef for x up to the first of cuts, the second for x above it and up to the next,
and so on. levels: those but the one at the place against (from 0; -1: none) have the numbers of
coef in their order, after them missing values if has_missing is true, and that one has 0; a text
counts as the level at its place in taken_as, and a missing value as that at the last place there.
A missing number counts as missing, of a curve as t2; but if required is true, a row without the
value has no score. NULL, NaN and unknown levels are missing. If limits is true in types, >5
counts as 5, and text without a digit is missing. Numbers written as text have the marks decimal
and thousands. Blanks around a text do not count, and blank text is missing. A row with an
infinite number has no score. Rows with a score above threshold are labelled positive, others
negative. If risk_map is not null, the risk of the positive class is 1 / (1 + exp(-(slope *
score + intercept))), with its slope and intercept: 1 and 0 if the score is in log odds;
n_positive and n_negative out-of-fold scores were used to fit it. If total is true, the score is
the total of points. If follow_up is not null, the model was fitted to times to event: the target
column is its event in rows that had the event at their time, and others are censored. Unless
follow_up is binary, there are no labels, and the risk until its horizon is 1 - exp(-exp(slope *
score + intercept)). columns are all columns to choose from; summary tells of the fit.\
""".replace("\n", " ")


class ModelFileError(ValueError):
    """A file that is not a model of this library, or is damaged."""


def save_model(
    path: Path | str,
    model: Any,
    *,
    summary: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = None,
    types: Mapping[str, ColumnType] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
) -> ScoreCard:
    """Write a fitted model to a file of JSON.

    Parameters
    ----------
    path : path or str
        Replaced if it exists, and never half-written.
    model : SparseLinearClassifier, SparseConcordance or SparseConcordanceCV
        Fitted.
    summary, names, types, classes, target
        See ``sparseauc_app.card_making.make_card``.

    Returns
    -------
    ScoreCard
        The score card in the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc_app import load_model, save_model
    >>> X, y = make_outbreak(n=200, d=10, k=3, mu=1.0, r=0.2, random_state=0)
    >>> model = SparseAUCClassifier(k=3).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_model(Path(folder) / "model.json", model)
    ...     loaded = load_model(Path(folder) / "model.json")
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    from .card_making import make_card

    card = make_card(
        model, names=names, types=types, classes=classes, target=target, summary=summary
    )
    write_atomically(path, model_bytes(card))
    return card


def model_bytes(card: ScoreCard) -> bytes:
    """Return the contents of a model file."""
    content = {"sparseauc": FORMAT, "how": _HOW, **card.as_dict()}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1).encode()


def load_model(path: Path | str) -> ScoreCard:
    """Load a model file.

    Parameters
    ----------
    path : path or str

    Returns
    -------
    ScoreCard

    Raises
    ------
    ModelFileError
        If the file is none of ours, truncated or damaged, or of a later format.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST:
            raise ModelFileError(f"{path.name} is not a model file: it is too large")
        content = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror or error}") from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path.name} is not a model file, or is damaged: it is not JSON"
        ) from None
    if not isinstance(content, dict) or "sparseauc" not in content:
        raise ModelFileError(f"{path.name} is JSON, but not a sparseauc model")
    if content["sparseauc"] != FORMAT:
        raise ModelFileError(
            f"{path.name} was written by sparseauc {content.get('version')} in another format: "
            "upgrade sparseauc to read it"
        )
    try:
        card = ScoreCard.from_dict(content)
        json.dumps(content, ensure_ascii=False).encode()  # fails on half a character
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path.name} is damaged: {_reason(error)}") from error
    return card


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    return " ".join(str(error).split())[:200]
