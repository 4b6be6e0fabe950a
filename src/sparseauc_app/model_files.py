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

# Of the file, not of the library: raised when readers of today would score rows otherwise.
FORMAT = 1
# A thousand times a large model: a larger file is an attack on memory.
_LARGEST = 1 << 28
_HOW = (
    "score = intercept + sum over terms of coefficient * value. A term with a level has value 1 if "
    "the column equals that level and 0 if it equals another level. A term with above has value 1 "
    "if the number in the column is larger than that, and 0 if it is not. Any other term has the "
    "number in the column, but low if it is smaller than low and high if it is larger than high, "
    "where these are not null, and then, if log is not null, the natural logarithm of that number "
    "plus log; true is 1 and false is 0. NULL, NaN and unknown levels are missing: levels of a "
    "column are in types, and if there are none, no level is unknown. If limits is true there, >5 "
    "counts as 5, and text without a digit is missing. Numbers written as text have the marks "
    "decimal and thousands. Blanks around a text do not count, and blank text is missing. A "
    "missing value is replaced by fill; if fill is null, the row has no score. A row with an "
    "infinite number has no score. Rows with a score above threshold are labelled positive, others "
    "negative. If calibration is not null, the risk of the positive class is "
    "1 / (1 + exp(-(slope * score + intercept))), with its slope and intercept: 1 and 0 if the "
    "score is in log odds; n_positive and n_negative out-of-fold scores were used to fit it. If "
    "total is true, the score is the total of points. If follow_up is not null, the "
    "model was fitted to times to event: the target column is its event in rows that had the event "
    "at their time, and others are censored. Unless follow_up is binary, there are no labels, and "
    "the risk until its horizon is 1 - exp(-exp(slope * score + intercept)). columns are all "
    "columns to choose from; summary tells of the fit."
)


class ModelFileError(ValueError):
    """A file that is not a model of this library, or is damaged."""


def save_model(
    path: Path | str,
    model: Any,
    *,
    summary: Mapping[str, Any] | None = None,
    inputs: Sequence[tuple[Any, ...]] | None = None,
    types: Mapping[str, ColumnType] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
) -> ScoreCard:
    """Write a fitted model to a file of JSON.

    Parameters
    ----------
    path : path or str
        Replaced if it exists, and never half-written.
    model : SparseLinearClassifier, or Pipeline that ends with one
        A fitted classifier, alone or after ``SimpleImputer`` and ``StandardScaler``.
    summary, inputs, types, classes, target
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
        model, inputs=inputs, types=types, classes=classes, target=target, summary=summary
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
