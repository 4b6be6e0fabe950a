"""The outcome of a training table: its labels, and which column it is if that is not said."""

from collections.abc import Callable
from dataclasses import replace

from sparseauc.utils.text import quoted

from .checks import EVENT_WORDS, find_times, split_words
from .columns import count_distinct, is_number, kind_of, labels_as_text, texts
from .features import Rules
from .labels import MOST_CLASSES, NEGATIVE_WORDS, Labels, label_key
from .source import DataError, Source, unknown_column_error

# Words that name outcomes.
_OUTCOME_WORDS = {
    "outcome", "class", "target", "label", "y", "diagnosis", "disease", "response", "result",
    "case", "survived", "churn", "attrition", "default", *EVENT_WORDS,
}  # fmt: skip


def read_labels(
    source: Source, rules: Rules, make: Callable[[Source, Rules], object]
) -> tuple[str, Labels]:
    """Return the name of the outcome and its labels as text, None where missing.

    ``make`` makes a table of a file; it finds out what stands in the way of one with a likely
    outcome.
    """
    option = "--target" if rules.time is None else "--event"
    if rules.target is None:
        raise _ask_for_target(source, rules, option, make)
    labels = read_column(source, rules.target, option)
    written = {label for label in labels.tolist() if label is not None}
    if len({label_key(label) for label in written}) < len(written):  # such as 1 and 1.0
        labels = labels_as_text([None if label is None else label_key(label) for label in labels])
    return rules.target, labels


def _ask_for_target(
    source: Source, rules: Rules, option: str, make: Callable[[Source, Rules], object]
) -> DataError:
    """Ask for the outcome, with the columns that may be it: by name, or of two values."""
    frame = source.frame
    counts = {name: count_distinct(frame.column(name).drop_null()) for name in frame.column_names}
    few = [name for name in counts if 2 <= counts[name] <= MOST_CLASSES]
    named = [name for name in few if _OUTCOME_WORDS & split_words(name)]
    named.sort(key=lambda name: (counts[name] > 2, len(split_words(name) - _OUTCOME_WORDS)))
    two = [name for name in few if counts[name] == 2]
    text = [name for name in few if kind_of(frame.column(name)) == "text"]
    candidates = [*dict.fromkeys(named + two)] or text
    shown = ", ".join(f"{name!r} ({counts[name]} values)" for name in candidates[:12])
    hint = f"perhaps {shown}" if candidates else f"one of {quoted(counts, 8)}"
    asked = "is the outcome" if option == "--target" else "says who had the event"
    options = _options_for(source, rules, option, named[0], make) if named else ()
    return DataError(f"{source.name}: which column {asked}? Give {option}, {hint}", options)


def _options_for(
    source: Source, rules: Rules, option: str, name: str, make: Callable[[Source, Rules], object]
) -> list[str]:
    """Options that take a column for the outcome and settle what else is in the way.

    Where the column says who had an event and the table has its time, with that. None if the name
    says little, or no option helps.
    """
    times: list[str | None] = []
    labels = {str(label).lower() for label in texts(source.frame.column(name)) if label is not None}
    if labels & NEGATIVE_WORDS or all(map(is_number, labels)):
        times += find_event_times(source, name, rules)[:1]
    if split_words(name) - _OUTCOME_WORDS and f"t{name[1:]}" not in times:
        return []
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
    numbers = [name for name in frame.column_names if kind_of(frame.column(name)) == "number"]
    complete = [name for name in numbers if frame.column(name).null_count == 0]
    return find_times(target, [name for name in complete if name not in rules.aside])


def read_column(source: Source, name: str, option: str) -> Labels:
    """A column of the file as text."""
    names = source.frame.column_names
    if name not in names:
        raise unknown_column_error(name, names, f"{source.name}, {option}")
    return texts(source.frame.column(name))
