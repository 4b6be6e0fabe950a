"""Labels of the outcome: which class is positive, which rows count, and what a model knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparseauc.utils.text import listed
from sparseauc.utils.types import Array, Mask

from .columns import is_given, is_number, texts
from .source import DataError, Source

if TYPE_CHECKING:
    from ..scorecard import ScoreCard

Labels = npt.NDArray[np.object_]

# More labels than this are a measurement.
MOST_CLASSES = 20
# Words for the class without the event, whatever sorts last.
NEGATIVE_WORDS = {
    "0", "0.0", "-1", "-1.0", "-", "no", "n", "none", "never", "false", "f", "absent", "control",
    "controls", "ctr", "ctrl", "healthy", "well", "normal", "negative", "neg", "not detected",
    "undetected", "benign", "alive", "living", "survived", "survivor", "censored", "nonresponder",
}  # fmt: skip


@dataclass(frozen=True)
class Classes:
    """The labels of the two classes.

    ``name`` is that of the negative class: its only label, or "not a" for all labels except a.
    ``why`` says why a class was taken for the positive one; empty if it was named.
    """

    positive: str
    negatives: tuple[str, ...]
    why: str = ""

    @property
    def name(self) -> str:
        """Name of the negative class."""
        return self.negatives[0] if len(self.negatives) == 1 else f"not {self.positive}"


def label_key(label: str) -> str:
    """Return the same key for two spellings of a label: 1 and 1.0, true and True."""
    try:
        return str(int(label)) if label.strip("+-").isdigit() else f"{float(label):.17g}"
    except ValueError:
        return label.lower() if label.lower() in ("true", "false") else label


def find_classes(
    labels: Labels,
    target: str,
    positive: str | None,
    negative: str | None,
    problems: list[DataError],
) -> Classes:
    """Choose the positive and the negative class.

    Three or more classes of which none is named are added to the problems.
    """
    counts = Counter(labels.tolist())
    # Numbers in their order, text after them in its own.
    classes = sorted(
        counts, key=lambda one: (0, float(one), one) if is_number(one) else (1, 0, one)
    )
    named = _counted(counts, classes)
    if len(classes) < 2:
        raise DataError(f"{target!r} has only one class: {named or 'no labels at all'}")
    if positive is None and len(classes) > MOST_CLASSES:
        raise DataError(
            f"{target!r} has {len(classes)} different values ({named}) and looks like a "
            "measurement: the outcome must have two classes"
        )
    known_negative = None if negative is None else _same_label(negative, classes)
    if negative is not None and known_negative is None:
        raise DataError(f"--negative: {target!r} has no class {negative!r}; there are {named}")
    why = ""
    if positive is not None:
        chosen = _same_label(positive, classes)
        if chosen is None:
            raise DataError(f"--positive: {target!r} has no class {positive!r}; there are {named}")
    else:
        chosen, why = _likeliest_positive(classes, counts, known_negative)
        if len(classes) > 2:
            rest = known_negative or _likeliest_negative(classes, counts, chosen)
            problems.append(
                DataError(
                    f"{target!r} has {len(classes)} classes: {named}. --positive compares one of "
                    "them with all others; with --negative it is compared with that class alone, "
                    "and rows of other classes are left out",
                    ["--positive", chosen, *([] if negative else ["--negative", rest])],
                )
            )
    if chosen == known_negative:
        raise DataError(f"--positive and --negative are both {chosen!r}")
    negatives = [label for label in classes if label != chosen]
    if known_negative is not None:
        negatives = [known_negative]
    return Classes(chosen, tuple(negatives), why)


def find_event(
    labels: Labels,
    target: str,
    event: str | None,
    negative: str | None,
    problems: list[DataError],
) -> Classes:
    """Choose the value of rows that had the event; all others are censored, or have ``negative``.

    Three or more values of which none is named are added to the problems.
    """
    counts = Counter(labels.tolist())
    if len(counts) == 1:  # no row is censored, or all are
        (only,) = counts
        if only.lower() in NEGATIVE_WORDS or (event and _same_label(event, counts) is None):
            raise DataError(
                f"no row has the event: {target!r} is {only!r} in all rows. --event-value names "
                "the value of rows that had it"
            )
        return Classes(only, ())
    unclear: list[DataError] = []
    try:
        classes = find_classes(labels, target, event, negative, unclear)
    except DataError as error:
        raise DataError(str(error).replace("--positive", "--event-value")) from None
    if unclear:
        named = _counted(counts, sorted(counts))
        problems.append(
            DataError(
                f"{target!r} has {len(counts)} values: {named}. --event-value says which of them "
                "is the event; rows with any other value then count as censored at their time, "
                "those with a competing event too. --negative names the value of censored rows, "
                "and rows with other values are left out",
                ["--event-value", classes.positive],
            )
        )
    return classes


def _same_label(given: str, classes: Collection[str]) -> str | None:
    """The class that is meant: 1.0 may be written for 1, and true for True."""
    if given in classes:
        return given
    meant = label_key(given.strip()).lower()
    alike = [label for label in classes if label_key(label).lower() == meant]
    return alike[0] if len(alike) == 1 else None


def _likeliest_positive(
    classes: list[str], counts: Counter[str], negative: str | None
) -> tuple[str, str]:
    """The class that sorts last of those that are not words for negatives, and why.

    Of three or more numbers, which are codes, the most frequent one but for the negative.
    """
    left = [label for label in classes if label != negative]
    events = [label for label in left if label.lower() not in NEGATIVE_WORDS]
    chosen = (events or left)[-1]
    if len(classes) > 2 and all(map(is_number, classes)):
        none = negative or _likeliest_negative(classes, counts)
        chosen = max((one for one in classes[::-1] if one != none), key=counts.__getitem__)
    if negative is not None or len(classes) > 2:
        return chosen, ""
    other = next(label for label in classes if label != chosen)
    word = other.lower() in NEGATIVE_WORDS and events
    return chosen, f"{other!r} means negative" if word else "it sorts last"


def _likeliest_negative(
    classes: list[str], counts: Counter[str], positive: str | None = None
) -> str:
    """A word for negatives, else the most frequent class."""
    rest = [label for label in classes if label != positive]
    words = [label for label in rest if label.lower() in NEGATIVE_WORDS]
    return words[0] if words else max(rest, key=counts.__getitem__)


def _counted(counts: Counter[str], classes: Iterable[str]) -> str:
    return listed([f"{label!r} ({counts[label]} rows)" for label in classes], 8)


def leave_out_others(labels: Labels, classes: Classes, target: str) -> tuple[Mask, list[str]]:
    """Mask of the rows of either class, and a note on the others."""
    kept = np.isin(labels.astype(np.str_), [classes.positive, *classes.negatives])
    if kept.all():
        return kept, []
    counts = Counter(labels[~kept].tolist())
    rows = f"{int((~kept).sum())} row{'s' if (~kept).sum() > 1 else ''}"
    return kept, [f"{rows} left out in which {target!r} is {_counted(counts, sorted(counts))}"]


@dataclass(frozen=True, eq=False)
class KnownOutcome:
    """Rows with an outcome and a score, whether each of these is positive, and what to note."""

    judged: Mask
    positive: Mask
    notes: tuple[str, ...] = ()


def known_outcome(
    source: Source,
    card: ScoreCard,
    scores: Array,
    positive: str | None = None,
    negative: str | None = None,
) -> KnownOutcome | None:
    """Find the outcome of new rows; None without the column.

    Parameters
    ----------
    source, card, scores
        New rows, the model, and its scores of them.
    positive, negative : str, optional
        Labels of the two classes in these rows; by default those of the model. With ``negative``,
        rows with other labels are left out; without it they are refused.
    """
    if card.target not in source.frame.column_names:
        return None
    labels = texts(source.frame.column(card.target))
    given = is_given(labels)
    keys = np.array([label_key(one) if one is not None else "" for one in labels], object)
    wanted = label_key(card.event_value if positive is None else positive)
    negatives = _negatives_of(card) if negative is None else [negative]
    is_positive = given & (keys == wanted)
    if negatives is None:  # any other, for cards that do not say
        is_negative = given & ~is_positive
    else:
        is_negative = given & np.isin(keys.astype(np.str_), [label_key(one) for one in negatives])
    if np.any(is_positive & is_negative):
        raise DataError(f"{wanted!r} is both the positive and the negative label")
    unknown = given & ~is_positive & ~is_negative
    counts = Counter(labels[unknown].tolist())
    shown = _counted(counts, sorted(counts))
    if unknown.any() and negative is None:
        both = is_positive.any() and is_negative.any() and len(negatives or ()) == 1
        raise DataError(
            f"{source.name}: {card.target!r} is {shown}, which the model does not know: it was "
            f"fitted to {card.positive!r} and {listed([repr(one) for one in negatives or ()], 8)}. "
            "--positive and --negative name the labels of the two classes in this table, and "
            "rows with others are left out",
            ["--negative", negatives[0]] if both and negatives else [],
        )
    scored = ~np.isnan(scores)
    judged = (is_positive | is_negative) & scored
    notes = []
    if unknown.any():
        notes.append(f"rows left out in which {card.target!r} is {shown}")
    lacking = int(np.count_nonzero(~given | (~scored & ~unknown)))
    if lacking:
        notes.append(f"{lacking} rows without outcome or score were left out")
    return KnownOutcome(judged, is_positive[judged], tuple(notes))


def _negatives_of(card: ScoreCard) -> list[str] | None:
    """Labels of the negative class; None if the card does not say."""
    known: Any = card.summary.get("negative_labels")
    if isinstance(known, list) and known:
        return [str(label) for label in known]
    return None if card.negative == f"not {card.positive}" else [card.negative]
