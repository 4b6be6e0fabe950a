"""The outcome of a table: its column, labels and classes, times to event, and weights of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparseauc.errors import InputError
from sparseauc.utils.text import listed, quoted
from sparseauc.utils.types import Array, Mask

from ..column_types import ColumnType, FollowUp, Labels, Rows
from .checks import EVENT_WORDS, find_plain_times, find_times, split_words
from .columns import count_distinct, is_given, is_number, kind_of, labels_as_text, texts
from .features import Rules
from .scoring import read_numbers
from .source import DataError, Source

if TYPE_CHECKING:
    from sparseauc.survival import SurvivalTimes

    from ..scorecard import ScoreCard

# More labels than this are a measurement.
MOST_CLASSES = 20
# Words for the class without the event, whatever sorts last.
_NEGATIVES = (
    "0, 0.0, -1, -1.0, -, no, n, none, never, false, f, absent, control, controls, ctr, ctrl, "
    "healthy, well, normal, negative, neg, not detected, undetected, benign, alive, living, "
    "survived, survivor, censored, nonresponder"
)
NEGATIVE_WORDS = {*_NEGATIVES.split(", ")}


@dataclass(frozen=True)
class Classes:
    """The labels of the two classes.

    ``name`` is that of the negative class: its only label, or "not a" for all labels
    except a. ``why`` says why a class was taken for the positive one; empty if it was
    named.
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
        return (
            str(int(label)) if label.strip("+-").isdigit() else f"{float(label):.17g}"
        )
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
        raise DataError(
            f"--negative: {target!r} has no class {negative!r}; there are {named}"
        )
    why = ""
    if positive is not None:
        chosen = _same_label(positive, classes)
        if chosen is None:
            raise DataError(
                f"--positive: {target!r} has no class {positive!r}; there are {named}"
            )
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
        if only.lower() in NEGATIVE_WORDS or (
            event and _same_label(event, counts) is None
        ):
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

    Of three or more numbers, which are codes, the most frequent one but for the
    negative.
    """
    left = [label for label in classes if label != negative]
    events = [label for label in left if label.lower() not in NEGATIVE_WORDS]
    chosen = (events or left)[-1]
    if len(classes) > 2 and all(map(is_number, classes)):
        none = negative or _likeliest_negative(classes, counts)
        chosen = max(
            (one for one in classes[::-1] if one != none), key=counts.__getitem__
        )
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


def leave_out_others(
    labels: Labels, classes: Classes, target: str
) -> tuple[Mask, list[str]]:
    """Mask of the rows of either class, and a note on the others."""
    kept = np.isin(labels.astype(np.str_), [classes.positive, *classes.negatives])
    if kept.all():
        return kept, []
    counts = Counter(labels[~kept].tolist())
    rows = f"{int((~kept).sum())} row{'s' if (~kept).sum() > 1 else ''}"
    return kept, [
        f"{rows} left out in which {target!r} is {_counted(counts, sorted(counts))}"
    ]


def find_new_classes(
    source: Source,
    card: ScoreCard,
    scores: Array,
    positive: str | None,
    negative: str | None,
) -> tuple[Mask, Mask, tuple[str, ...]]:
    """Find the rows with an outcome and a score, whether each is positive, and what to note.

    The labels of the two classes are by default those of the model. With ``negative``,
    rows with other labels are left out; without it they are refused.
    """
    labels = texts(source.column(card.target))
    given = is_given(labels)
    keys = np.array(
        [label_key(one) if one is not None else "" for one in labels], object
    )
    wanted = label_key(card.event_value if positive is None else positive)
    negatives = _negatives_of(card) if negative is None else [negative]
    is_positive = given & (keys == wanted)
    if negatives is None:  # any other, for cards that do not say
        is_negative = given & ~is_positive
    else:
        is_negative = given & np.isin(
            keys.astype(np.str_), [label_key(one) for one in negatives]
        )
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
    return judged, is_positive[judged], tuple(notes)


def _negatives_of(card: ScoreCard) -> list[str] | None:
    """Labels of the negative class; None if the card does not say."""
    known: Any = card.summary.get("negative_labels")
    if isinstance(known, list) and known:
        return [str(label) for label in known]
    return None if card.negative == f"not {card.positive}" else [card.negative]


# Words that name outcomes.
_OUTCOME_WORDS = EVENT_WORDS | split_words(
    "outcome class target label y diagnosis disease response result case survived churn attrition "
    "default"
)


def read_labels(
    source: Source, rules: Rules, make: Callable[[Source, Rules], object]
) -> tuple[str, Labels]:
    """Return the name of the outcome and its labels as text, None where missing.

    ``make`` makes a table of a file; it finds out what stands in the way of one with a
    likely outcome.
    """
    option = "--target" if rules.time is None else "--event"
    if rules.target is None:
        raise _ask_for_target(source, rules, option, make)
    labels = texts(source.column(rules.target, option))
    written = {label for label in labels.tolist() if label is not None}
    if len({label_key(label) for label in written}) < len(written):  # such as 1 and 1.0
        labels = labels_as_text(
            [None if label is None else label_key(label) for label in labels]
        )
    return rules.target, labels


def _ask_for_target(
    source: Source, rules: Rules, option: str, make: Callable[[Source, Rules], object]
) -> DataError:
    """Ask for the outcome, with the columns that may be it: by name, or of two values."""
    frame = source.frame
    counts = {
        name: count_distinct(frame.column(name).drop_null())
        for name in frame.column_names
    }
    candidates = _rank_outcomes(source, counts)
    shown = [f"{name!r} ({counts[name]} values)" for name in candidates]
    hint = f"perhaps {listed(shown, 12)}" if shown else f"one of {quoted(counts, 8)}"
    asked = "is the outcome" if option == "--target" else "says who had the event"
    times = find_plain_times(counts) if option == "--target" else []
    if times and candidates:
        hint += (
            f". If it is an event, and {times[0]!r} its time, give --time and --event"
        )
    options = (
        _options_for(source, rules, option, candidates[0], make) if candidates else ()
    )
    return DataError(
        f"{source.name}: which column {asked}? Give {option}, {hint}", options
    )


def _rank_outcomes(source: Source, counts: Mapping[str, int]) -> list[str]:
    """Columns that may be the outcome, by their numbers of values: by name, or where they stand."""
    few = [name for name, count in counts.items() if 2 <= count <= MOST_CLASSES]
    named = [name for name in few if _OUTCOME_WORDS & split_words(name)]
    named.sort(
        key=lambda name: (counts[name] > 2, len(split_words(name) - _OUTCOME_WORDS))
    )
    # The outcome stands last or first, as a rule.
    from_end = {name: place for place, name in enumerate([*counts][::-1])}
    ends = [name for name in few[::-1] if from_end[name] in (0, len(counts) - 1)]
    two = [name for name in few if counts[name] == 2]
    two.sort(key=lambda name: min(from_end[name], len(counts) - 0.5 - from_end[name]))
    text = [name for name in few if kind_of(source.column(name)) == "text"]
    return [*dict.fromkeys(named + ends + two)] or text


def _options_for(
    source: Source,
    rules: Rules,
    option: str,
    name: str,
    make: Callable[[Source, Rules], object],
) -> list[str]:
    """Options that take a column for the outcome and settle what else is in the way.

    Where the column says who had an event and the table has its time, with that. None
    if no option helps.
    """
    times: list[str | None] = []
    labels = {
        str(label).lower() for label in texts(source.column(name)) if label is not None
    }
    if labels & NEGATIVE_WORDS or all(map(is_number, labels)):
        times += find_event_times(source, name, rules)[:1]
    for time in (*times, None):
        options = [option, name] if time is None else ["--time", time, "--event", name]
        try:
            make(source, replace(rules, target=name, time=time or rules.time))
        except DataError as error:
            if not error.options:
                continue
            options += error.options
        return options
    return []


def find_event_times(source: Source, target: str, rules: Rules) -> list[str]:
    """Complete columns of numbers that may be the time to the outcome, if none is given."""
    if rules.time is not None:
        return []
    frame = source.frame
    numbers = [
        name for name in frame.column_names if kind_of(frame.column(name)) == "number"
    ]
    complete = [name for name in numbers if frame.column(name).null_count == 0]
    return find_times(target, [name for name in complete if name not in rules.aside])


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Rows with their times and weights.

    Attributes
    ----------
    rows : ndarray
        Those kept: not the ones of weight 0, and of a binary question not those that
        are censored before the horizon.
    y : ndarray
        1 where a row has the event, of a binary question until the horizon.
    times : SurvivalTimes, optional
        None without times, and for a binary question.
    weight : ndarray, optional
    follow_up : FollowUp, optional
    notes : tuple of str
    """

    rows: Rows
    y: npt.NDArray[np.int64]
    times: SurvivalTimes | None
    weight: Array | None
    follow_up: FollowUp | None
    notes: tuple[str, ...] = ()


def follow_rows(
    source: Source, rules: Rules, rows: Rows, event: Mask, label: str
) -> FollowedRows:
    """Read times and weights of some rows of a file, of which some had an event.

    Parameters
    ----------
    source, rules
    rows : ndarray
        Places of the rows in the file.
    event : ndarray of bool
        Whether each of these rows had the event.
    label : str
        Its value in the column of the outcome.
    """
    weight = None
    notes: tuple[str, ...] = ()
    if rules.weights is not None:
        weight = _read_complete(source, rules.weights, "--weights", rows)
        if not weight.any():
            raise DataError(f"--weights: {rules.weights!r} is 0 in all rows")
        counted = weight > 0
        left_out = counted.size - np.count_nonzero(counted)
        if left_out:
            notes = (
                f"{left_out} row{'' if left_out == 1 else 's'} of weight 0 left out",
            )
        rows = rows[counted]
        event = event[counted]
        weight = weight[counted]
    y = event.astype(np.int64)
    if rules.time is None:
        if rules.horizon is not None:
            raise DataError("--horizon is about times: give their column with --time")
        return FollowedRows(rows, y, None, weight, None, notes)
    from sparseauc.survival import SurvivalTimes

    times = SurvivalTimes(_read_complete(source, rules.time, "--time", rows), event)
    if not event.any():
        raise DataError(
            f"no row has the event: {rules.target!r} is never {label!r}. --event-value names the "
            "value of rows that had it"
        )
    try:
        times.check_pairs(weight)
        horizon = times.check_horizon(rules.horizon, weight)
    except InputError as error:
        option = (
            "--horizon"
            if str(error).startswith(("horizon", "no event comes"))
            else "--time"
        )
        raise DataError(
            f"{option} {rules.time!r}: {error}".replace(" y holds", "")
        ) from None
    found = FollowUp(rules.time, label, horizon, rules.within)
    if not rules.within:
        return FollowedRows(rows, y, times, weight, found, notes)
    known = _ask_at_horizon(rows, times, weight, found)
    return replace(known, notes=notes + known.notes)


def _ask_at_horizon(
    rows: Rows, times: SurvivalTimes, weight: Array | None, found: FollowUp
) -> FollowedRows:
    """Rows whose state at the horizon is known, with weights that stand for the others."""
    from sparseauc.survival import horizon_weights

    try:
        weights = horizon_weights(times, found.horizon, weight)
    except InputError as error:
        raise DataError(f"--horizon: {error}") from None
    known = np.flatnonzero(weights > 0)
    y = (times.event & (times.time <= found.horizon)).astype(np.int64)[known]
    left_out = rows.size - known.size
    notes = (
        (
            f"{left_out} rows are censored before {found.horizon:g} and left out; the others stand "
            "for them by inverse censoring weights",
        )
        if left_out
        else ()
    )
    return FollowedRows(rows[known], y, None, weights[known], found, notes)


def _read_complete(source: Source, name: str, option: str, rows: Rows) -> Array:
    """Numbers of 0 or more in some rows of a column."""
    values = read_numbers(source, name, ColumnType("number"), option)[rows]
    for bad, what, do in (
        (np.isnan(values), "missing", "fill it in, or take these rows out of the file"),
        (~np.isfinite(values), "infinite", "give a number"),
        (
            values < 0,
            "negative",
            "give a number of 0 or more, or take these rows out of the file",
        ),
    ):
        if bad.any():
            first = rows[np.flatnonzero(bad)[0]] + 1
            count = int(bad.sum())
            raise DataError(
                f"{option}: {name!r} is {what} in {count} row{'' if count == 1 else 's'}, first "
                f"in row {first}: {do}"
            )
    return values
