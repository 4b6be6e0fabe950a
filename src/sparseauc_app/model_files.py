"""Model files: written by skops, never by pickle, and safe to load from untrusted sources.

A model file is a zip archive. ``schema.json`` and the arrays beside it are the estimator, as skops
writes it; any program with skops and this library can load it. ``sparseauc.json`` is the score
card: columns, coefficients, classes, training summary, library version, and a digest of all these.
Scoring, showing and exporting read the card only and construct no object.
"""

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sparseauc.utils.files import write_atomically
from sparseauc.utils.text import listed

from .scorecard import ColumnType, Input, ScoreCard

# 1: version 0.1. 2: cards say how columns were written, classes have names that do not move.
# 3: terms of numbers that were cut. 4: terms of numbers that are clipped. 5: terms of logarithms,
# labels at another score than 0, and totals of points. 6: times to event. Others are still written
# as 2.
FORMAT = 6
CARD, SCHEMA = "sparseauc.json", "schema.json"
# A thousand times a large model: a larger file is an attack on memory.
_LARGEST = 1 << 28

# Everything that a model may be made of besides classes of this library, by the names skops gives
# types.
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
            "impute._base.SimpleImputer", "pipeline.Pipeline", "preprocessing._data.StandardScaler",
            "model_selection._split.KFold", "model_selection._split.RepeatedStratifiedKFold",
            "model_selection._split.StratifiedGroupKFold", "model_selection._split.StratifiedKFold",
        )),
    }
)  # fmt: skip


# Classes that a model may be made of, and the modules they are in today. Files of every version are
# read by the names of classes, wherever these were when a file was written. Packages add theirs by
# the entry point ``sparseauc.classes``.
CLASSES = {
    **dict.fromkeys(
        (
            "Limits", "MeanDifferenceClassifier", "SHTAUCClassifier",
            "SparseAUCClassifier", "SparseAUCClassifierCV", "SparseAUCPath", "SparseConcordance",
            "SparseConcordanceCV",
        ),
        "sparseauc",
    ),
    "Solution": "sparseauc.solvers.exchange",
    **dict.fromkeys(("ProportionalHazards", "StepFunction"), "sparseauc.survival"),
    "Imputer": "sparseauc_app.imputing",
    **{
        name: module
        for point in entry_points(group="sparseauc.classes")
        for name, module in point.load().items()
    },
}  # fmt: skip
_PACKAGES = {"sparseauc", *(module.split(".")[0] for module in CLASSES.values())}


class ModelFileError(ValueError):
    """A file that is not a model of this library, is damaged, or holds an unknown type."""


class ModelVersionWarning(UserWarning):
    """A model file was written by another version of the library."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model from a file, which scores tables as ``sparseauc predict`` does.

    Columns are found by name, in any order. Text becomes indicators, and missing values are filled
    in, as when the model was fitted; a row that lacks a value which is not filled in has no score.

    Attributes
    ----------
    estimator : SparseLinearClassifier, or Pipeline that ends with one
        For a matrix of the columns that it was fitted to, in their order.
    card : ScoreCard
        Column names, classes, training summary and version.
    """

    estimator: Any
    card: ScoreCard

    def __repr__(self) -> str:
        card, auc = self.card, self.card.summary.get("auc")
        names = listed([repr(term.name) for term in card.terms], 6)
        tested = "" if not isinstance(auc, dict) else f", {card.measure} {auc['auc']:.3f}"
        return (
            f"SavedModel for {card.event}: {len(card.terms)} columns ({names}){tested}, "
            f"sparseauc {card.version}. predict finds columns by name"
        )

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The negative and the positive label."""
        names = [self.card.negative, self.card.positive]
        labels: npt.NDArray[Any] = self.estimator.classes_
        # Those fitted by the command of version 0.1 call them 0 and 1.
        return labels if [str(label) for label in labels.tolist()] == names else np.array(names)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Score rows, in log odds if the model has probabilities; above 0 is predicted positive.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or pyarrow.Table
            With the chosen columns, in any order, among others. Or an array or sparse matrix of all
            columns that the model was fitted to, in their order.

        Returns
        -------
        scores : ndarray of shape (n,)
            NaN where a value is missing and the model does not fill it in.

        Warns
        -----
        UserWarning
            If a column is wholly missing, has texts that training had not, or lies far outside the
            range of training.
        """
        scores = self._score(X)
        in_log_odds = self.card.total and self.card.times is None
        return self.card.log_odds(scores) if in_log_odds else scores

    def _score(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores as the card gives them."""
        from .reading.scoring import score_rows
        from .reading.source import source_of

        found = score_rows(source_of(X, self.card), self.card)
        for warning in found.warnings:
            warnings.warn(warning, stacklevel=3)
        return found.scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row, None where it has no score; of times to event, score."""
        scores = self.decision_function(X)
        if self.card.times is not None:
            return scores
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        if np.isnan(scores).any():
            labels = labels.astype(object)
            labels[np.isnan(scores)] = None
        return labels

    def predict_risk(self, X: Any) -> npt.NDArray[np.float64]:
        """Estimate the risk of each row, of times to event until the horizon of the card.

        NaN for rows without a score. Needs a calibrated model.
        """
        if self.card.calibration is None:
            raise AttributeError(
                "this model has no probabilities: use decision_function, or fit "
                "SparseAUCClassifierCV, which gives them"
            )
        return self.card.probabilities(self._score(X))

    @property
    def predict_proba(self) -> Callable[[Any], npt.NDArray[np.float64]]:
        """Return class probabilities, NaN for rows without a score. Needs a calibrated model."""
        if self.card.calibration is None or self.card.times is not None:
            raise AttributeError(
                "this model has no class probabilities: use decision_function, predict_risk of "
                "times to event, or fit SparseAUCClassifierCV, which gives them"
            )

        def probabilities(X: Any) -> npt.NDArray[np.float64]:
            positive = self.predict_risk(X)
            return np.column_stack([1.0 - positive, positive])

        return probabilities


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
    """Write a fitted model to a file that is safe to load.

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
    >>> from sparseauc import SparseAUCClassifier, load_model, save_model
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=200, d=10, k=3, mu=1.0, r=0.2, random_state=0)
    >>> model = SparseAUCClassifier(k=3).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_model(Path(folder) / "model.skops", model)
    ...     loaded = load_model(Path(folder) / "model.skops")
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    from .card_making import make_card

    card = make_card(
        model, inputs=inputs, types=types, classes=classes, target=target, summary=summary
    )
    write_atomically(path, model_bytes(model, card))
    return card


def model_bytes(model: Any, card: ScoreCard) -> bytes:
    """Return the contents of a model file."""
    oldest = 2
    if any(term.above is not None for term in card.terms):
        oldest = 3
    if any(term.clips for term in card.terms):
        oldest = 4
    if any(term.log is not None for term in card.terms) or card.threshold != 0 or card.total:
        oldest = 5
    if card.follow_up is not None:
        oldest = 6
    head = {"format": oldest, "sha256": card.digest(), "card": card.as_dict()}
    text = json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1)
    import skops.io

    return _update_names(io.BytesIO(skops.io.dumps(model)), {CARD: text})


def _update_names(file: Any, more: Mapping[str, str] | None = None) -> bytes:
    """Return an archive of skops with classes of this library by today's names, and more files."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(file) as archive,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        schema = json.loads(archive.read(SCHEMA))
        for name in _find_foreign_types(schema)[:1]:
            raise TypeError(f"the model holds a {name}, which cannot be loaded again")
        contents: dict[str, Any] = {name: archive.read(name) for name in archive.namelist()}
        for name, content in {**contents, SCHEMA: json.dumps(schema), **(more or {})}.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def load_model(path: Path | str) -> SavedModel:
    """Load a model file. Whatever this library would not have written is refused.

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
    from .card_making import make_card, steps_of

    path = Path(path)
    card = read_card(path)
    import skops.io

    try:
        own = [f"{module}.{name}" for name, module in CLASSES.items()]
        estimator = skops.io.loads(_update_names(path), trusted=[*TRUSTED_TYPES, *own])
        # As the card names them; only those chosen are known by level.
        inputs = [Input(name) for name in card.columns]
        chosen = np.flatnonzero(steps_of(estimator)[1].coef_[0]).tolist()
        for j, term in zip(chosen, card.terms, strict=True):
            inputs[j] = Input(term.column, term.level, term.above)
        again = make_card(
            estimator,
            inputs=inputs,
            classes=(card.negative, card.positive),
            target=card.target,
            summary=card.summary,
            follow_up=card.follow_up,
        )
    except Exception as error:
        # skops fails in many ways on damaged files.
        raise ModelFileError(f"{path.name} is damaged: its estimator cannot be read") from error
    if any(
        getattr(again, name) != getattr(card, name)
        for name in ("terms", "intercept", "calibration", "threshold", "total")
    ):
        raise ModelFileError(f"{path.name} was changed: its estimator and its card disagree")
    return SavedModel(estimator, card)


def read_card(path: Path | str) -> ScoreCard:
    """Read the score card of a model file, after checking the whole file.

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
                raise ModelFileError(f"{path.name} is an archive, but not a sparseauc model")
            if sum(member.file_size for member in archive.infolist()) > _LARGEST:
                raise ModelFileError(f"{path.name} would take more than {_LARGEST} bytes unpacked")
            broken = archive.testzip()
            if broken is not None:
                raise ModelFileError(f"{path.name} is damaged, in {broken}")
            head = json.loads(archive.read(CARD))
            schema = json.loads(archive.read(SCHEMA))
        if not isinstance(head["format"], int) or head["format"] > FORMAT:
            raise ModelFileError(
                f"{path.name} was written by sparseauc {head['card']['version']} in a later "
                "format: upgrade sparseauc to read it"
            )
        foreign = _find_foreign_types(schema)
        card = ScoreCard.from_dict(head["card"])
        sound = head["sha256"] == card.digest()
        json.dumps(head["card"], ensure_ascii=False, allow_nan=False).encode()
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except zipfile.BadZipFile:
        raise ModelFileError(
            f"{path.name} is not a model file, or is truncated: it is not a zip archive. Pickles "
            "are never loaded"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        # Damaged archives and JSON of the wrong shape fail in many ways.
        raise ModelFileError(f"{path.name} is damaged: its score card cannot be read") from error
    if foreign:
        raise ModelFileError(
            f"{path.name} is not loaded: it holds an object of type {foreign[0]}, which no "
            "sparseauc model contains"
        )
    if not sound:
        raise ModelFileError(
            f"{path.name} was changed after it was written: its contents do not match its digest"
        )
    from sparseauc import __version__

    if card.version != __version__:
        warnings.warn(
            f"{path.name} was written by sparseauc {card.version}; this is {__version__}",
            ModelVersionWarning,
            stacklevel=2,
        )
    return card


def _find_foreign_types(schema: Any) -> list[str]:
    """Types in a skops schema that no model has; those of this library get today's names."""
    foreign, stack = set(), [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack += node
        elif isinstance(node, dict):
            stack += node.values()
            if "__class__" in node or "__module__" in node:
                module, name = str(node.get("__module__")), str(node.get("__class__"))
                if module.split(".")[0] in _PACKAGES and name in CLASSES:
                    node["__module__"] = CLASSES[name]
                elif f"{module}.{name}" not in TRUSTED_TYPES:
                    foreign.add(f"{module}.{name}")
    return sorted(foreign)
