"""Model files: written by skops, never by pickle, and read without trusting who wrote them.

A model file is a zip archive. ``schema.json`` and the arrays beside it are the estimator, as skops
writes them; any program with skops and this library can load it. ``sparseauc.json`` is the score
card: columns, coefficients, classes, training summary, library version, and a digest of all that.
Scoring, showing and exporting read the card alone, so nothing of the file is ever constructed.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .scorecard import ScoreCard, make_card, parts_of

FORMAT = 1
CARD, SCHEMA = "sparseauc.json", "schema.json"
# A thousand times a large model; what claims more was made to fill the memory.
_LARGEST = 1 << 31

# Everything that a model of this library may be made of, by the names skops gives types.
TRUSTED_TYPES = frozenset(
    {
        *(f"builtins.{name}" for name in (
            "bool", "dict", "float", "int", "list", "NoneType", "range", "str", "tuple",
        )),
        *(f"numpy.{name}" for name in (
            "bool", "bool_", "dtype", "float32", "float64", "int32", "int64", "ndarray",
            "random._generator.Generator", "random._pcg64.PCG64", "random.mtrand.RandomState",
        )),
        *(f"sklearn.{name}" for name in (
            "impute._base.SimpleImputer", "pipeline.Pipeline",
            "model_selection._split.KFold", "model_selection._split.RepeatedStratifiedKFold",
            "model_selection._split.StratifiedGroupKFold", "model_selection._split.StratifiedKFold",
        )),
        *(f"sparseauc.{name}" for name in (
            "estimators._mean_difference.MeanDifferenceClassifier",
            "estimators._online.FSAUCClassifier", "estimators._online.SOLAMClassifier",
            "estimators._online.SPAMClassifier", "estimators._opauc.OPAUCClassifier",
            "estimators._sht_auc.SHTAUCClassifier", "estimators._sparse_auc.SparseAUCClassifier",
            "estimators._sparse_auc_cv.SparseAUCClassifierCV",
            "estimators._sto_iht.HSGHTClassifier", "estimators._sto_iht.StoIHTClassifier",
            "path.path.SparseAUCPath", "solvers.exchange.Solution",
            "solvers.opauc.OPAUCState",
        )),
    }
)  # fmt: skip


class ModelFileError(ValueError):
    """A file that is no model of this library, is damaged, or holds what it must not."""


class ModelVersionWarning(UserWarning):
    """A model file was written by another version of the library."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model from a file.

    Attributes
    ----------
    estimator : SparseLinearClassifier, or Pipeline of SimpleImputer and one
    card : ScoreCard
        Column names, classes, training summary and version.
    """

    estimator: Any
    card: ScoreCard


def save_model(
    path: Path | str,
    model: Any,
    *,
    summary: Mapping[str, Any] | None = None,
    inputs: Sequence[tuple[str, str | None]] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
) -> ScoreCard:
    """Write a fitted model to a file that can be loaded without trusting it.

    Parameters
    ----------
    path : path or str
        Overwritten if it exists, and never half-written.
    model : SparseLinearClassifier, or Pipeline of SimpleImputer and one
        Fitted.
    summary, inputs, classes, target
        See :func:`~sparseauc.tabular.scorecard.make_card`.

    Returns
    -------
    ScoreCard
        What was written beside the estimator.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.tabular.model_files import load_model, save_model
    >>> X, y = make_outbreak(n=200, d=10, k=3, mu=1.0, r=0.2, random_state=0)
    >>> model = SparseAUCClassifier(k=3).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_model(Path(folder) / "model.skops", model)
    ...     loaded = load_model(Path(folder) / "model.skops")
    >>> bool((loaded.estimator.decision_function(X) == model.decision_function(X)).all())
    True
    """
    path = Path(path)
    card = make_card(model, inputs=inputs, classes=classes, target=target, summary=summary)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(model_bytes(model, card))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return card


def model_bytes(model: Any, card: ScoreCard) -> bytes:
    """Return the contents of a model file."""
    buffer = io.BytesIO(_skops().dumps(model))
    head = {"format": FORMAT, "sha256": card.digest(), "card": card.as_dict()}
    with zipfile.ZipFile(buffer, "a") as archive:
        for name in sorted(set(_types(json.loads(archive.read(SCHEMA)))) - TRUSTED_TYPES)[:1]:
            raise TypeError(f"the model holds a {name}, which would not be loaded again")
        archive.writestr(CARD, json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1))
    return buffer.getvalue()


def load_model(path: Path | str) -> SavedModel:
    """Load a model file, refusing whatever this library would not have written.

    Parameters
    ----------
    path : path or str

    Returns
    -------
    SavedModel

    Raises
    ------
    ModelFileError
        If the file is none of ours, truncated or changed, holds an object of an unknown type, or is
        of a later format.

    Warns
    -----
    ModelVersionWarning
        If another version of the library wrote it.
    """
    path = Path(path)
    card = read_card(path)
    skops = _skops()
    try:
        estimator = skops.loads(path.read_bytes(), trusted=sorted(TRUSTED_TYPES))
        again = make_card(
            estimator,
            inputs=_inputs(card, estimator),
            classes=(card.negative, card.positive),
            target=card.target,
            summary=card.summary,
        )
    except Exception as error:
        # skops meets damage in many ways; that the estimator is not sound is all there is to say.
        raise ModelFileError(f"{path.name} is damaged: its estimator is not sound") from error
    if (again.terms, again.intercept) != (card.terms, card.intercept):
        raise ModelFileError(f"{path.name} was changed: its estimator and its card disagree")
    return SavedModel(estimator, card)


def _inputs(card: ScoreCard, estimator: Any) -> list[tuple[str, str | None]]:
    """Columns of X as the card names them; only those chosen are known by level."""
    _, classifier = parts_of(estimator)
    inputs: list[tuple[str, str | None]] = [(name, None) for name in card.columns]
    chosen = np.flatnonzero(classifier.coef_[0]).tolist()
    for j, term in zip(chosen, card.terms, strict=True):
        inputs[j] = (term.column, term.level)
    return inputs


def read_card(path: Path | str) -> ScoreCard:
    """Read the score card of a model file, having looked at all that is in the file.

    Nothing is constructed; yet a file with an object of an unknown type is refused here too, as one
    that must not be passed on.

    Parameters
    ----------
    path : path or str

    Returns
    -------
    ScoreCard

    Raises
    ------
    ModelFileError
        As :func:`load_model` does.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if CARD not in archive.namelist() or SCHEMA not in archive.namelist():
                raise ModelFileError(f"{path.name} is an archive, but no model of sparseauc")
            if sum(member.file_size for member in archive.infolist()) > _LARGEST:
                raise ModelFileError(f"{path.name} would take more than {_LARGEST} bytes unpacked")
            broken = archive.testzip()
            if broken is not None:
                raise ModelFileError(f"{path.name} is damaged, in {broken}")
            head = json.loads(archive.read(CARD))
            schema = json.loads(archive.read(SCHEMA))
        _check_format(head, path.name)
        foreign = sorted(set(_types(schema)) - TRUSTED_TYPES)
        card = ScoreCard.from_dict(head["card"])
        sound = head["sha256"] == card.digest()
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file") from None
    except zipfile.BadZipFile:
        raise ModelFileError(
            f"{path.name} is no model file, or is cut short: it is not an archive. (Pickles are "
            "never loaded, whatever they are called)"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        # Damaged archives and JSON of the wrong shape fail in many ways.
        raise ModelFileError(f"{path.name} is damaged: its card is not sound") from error
    if foreign:
        raise ModelFileError(
            f"{path.name} holds an object of type {foreign[0]}, which no model of sparseauc does: "
            "it is not loaded"
        )
    if not sound:
        raise ModelFileError(
            f"{path.name} was changed after it was written: its contents do not match its digest"
        )
    _warn_of_version(card.version, path.name)
    return card


def _check_format(head: Any, name: str) -> None:
    written = head["format"]
    if not isinstance(written, int) or written > FORMAT:
        version = head["card"]["version"]
        raise ModelFileError(
            f"{name} was written by sparseauc {version} in a later format: upgrade sparseauc to "
            "read it"
        )


def _warn_of_version(version: str, name: str) -> None:
    from .. import __version__

    if version != __version__:
        warnings.warn(
            f"{name} was written by sparseauc {version}; this is {__version__}",
            ModelVersionWarning,
            stacklevel=3,
        )


def _types(node: Any) -> Iterator[str]:
    """Types named anywhere in a skops schema."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "__class__" in node or "__module__" in node:
                yield f"{node.get('__module__')}.{node.get('__class__')}"
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def _skops() -> Any:
    import skops.io

    return skops.io
