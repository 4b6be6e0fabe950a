"""What is said of a claim: that it holds, that it does not, or that it cannot be told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal, NamedTuple

from . import printed
from .estimates import FEWEST, Mean, Sample, Values, difference_of, draws_of, mean_of, shown
from .methods import METHODS

Kind = Literal["holds", "fails", "open", "missing"]
WORDS: Mapping[Kind, str] = {
    "holds": "✔ holds",
    "fails": "✘ does not hold",
    "open": "? cannot be told",
    "missing": "– not run",
}


class Verdict(NamedTuple):
    """What became of a claim, and the numbers behind it."""

    kind: Kind
    numbers: str = ""

    def __str__(self) -> str:
        """Mark, words and numbers."""
        return f"{WORDS[self.kind]}: {self.numbers}" if self.numbers else WORDS[self.kind]


MISSING = Verdict("missing")


@dataclass(frozen=True)
class Ruler:
    """How differences are summarised and shown."""

    summarise: Callable[[Sample], Mean]
    show: Callable[[Sample], str]


def _over_draws(sample: Sample) -> str:
    known = mean_of(sample)
    return f"{shown(known)}, {known.draws} draws"


DRAWS = Ruler(mean_of, _over_draws)


def known(change: Mean) -> bool:
    """Whether a mean rests on enough values to be judged."""
    return change.n >= FEWEST and not isnan(change.half_width())


def judge_better(change: Mean, n_tests: int = 1, margin: float | None = None) -> Kind:
    """Judge that a difference is positive.

    It holds where the 95 % interval is above 0. It fails where the interval is below 0, or does
    not reach the printed ``margin``; these ends are widened for ``n_tests`` (Bonferroni), as one of
    many rivals may look better by chance, whereas all of them must be beaten.
    """
    if not known(change):
        return "open"
    if change.bounds()[0] > 0:
        return "holds"
    high = change.bounds(0.05 / n_tests)[1]
    return "fails" if high < max(0.0, margin or 0.0) else "open"


def judge_equal(change: Mean, within: float, n_tests: int = 1) -> Kind:
    """Judge that a difference is no larger than ``within`` in either direction."""
    if not known(change):
        return "open"
    low, high = change.bounds()
    if -within < low and high < within:
        return "holds"
    low, high = change.bounds(0.05 / n_tests)
    return "fails" if low > within or high < -within else "open"


def judge_more(change: Mean, than: float, n_tests: int = 1) -> Kind:
    """Judge that a difference is larger than ``than``."""
    if not known(change):
        return "open"
    if change.bounds()[0] > than:
        return "holds"
    return "fails" if change.bounds(0.05 / n_tests)[1] < than else "open"


def together(kinds: Sequence[Kind], *, complete: bool = True) -> Kind:
    """Kind of a claim that all of these must bear out; it never holds where some are missing."""
    if not kinds:
        return "missing"
    if "fails" in kinds:
        return "fails"
    return "holds" if complete and all(kind == "holds" for kind in kinds) else "open"


Judge = Callable[[Mean, int, float | None], Kind]


def compare(
    values: Values,
    better: Sequence[str],
    worse: Sequence[str],
    judge: Judge = judge_better,
    *,
    columns: Sequence[str] | None = None,
    table: printed.Table | None = None,
    ruler: Ruler = DRAWS,
) -> Verdict:
    """Judge every method of one list against every one of another.

    Shown is the pair that decides: the one that fails clearest, or the nearest. A method without
    results is named, and then the claim cannot hold.
    """
    samples = {m: of_method(values, m, columns) for m in {*better, *worse}}
    missing = [METHODS[m].name for m in dict.fromkeys([*better, *worse]) if not samples[m]]
    pairs = [
        (a, b, sample)
        for a in better
        for b in worse
        if a != b and mean_of(sample := difference_of(samples[a], samples[b])).n
    ]
    if not pairs:
        return MISSING
    judged = []
    for a, b, sample in pairs:
        margin = printed_margin(table, a, b, columns)
        judged.append(
            Pair(judge(ruler.summarise(sample), len(pairs), margin), a, b, sample, margin)
        )
    kind = together([pair.kind for pair in judged], complete=not missing)
    deciding = [pair for pair in judged if pair.kind == kind] or judged
    nearest = min(deciding, key=lambda pair: ruler.summarise(pair.sample).mean)
    text = nearest.show(ruler)
    if len(judged) > 1:
        held, failed = (sum(pair.kind == k for pair in judged) for k in ("holds", "fails"))
        text += f"; {held} of {len(judged)} pairs hold"
        text += f", {failed} {'does' if failed == 1 else 'do'} not" if failed else ""
    if missing:
        text += f"; without {', '.join(missing)}"
    return Verdict(kind, text)


class Pair(NamedTuple):
    """Two methods, what became of the claim between them, and the numbers behind it."""

    kind: Kind
    a: str
    b: str
    sample: Sample
    margin: float | None  # as printed

    def show(self, ruler: Ruler) -> str:
        """Name both methods, their difference, and the printed one."""
        text = f"{METHODS[self.a].name} − {METHODS[self.b].name} {ruler.show(self.sample)}"
        if self.margin is None:
            return text
        return text + f" (printed {self.margin:+.3f})".replace("-", "−")


def of_method(values: Values, method: str, columns: Sequence[str] | None = None) -> Sample:
    """Values of a method over some columns, by draw."""
    return draws_of(
        {
            (key, column): sample
            for (key, column), sample in values.items()
            if key == method and (columns is None or column in columns)
        }
    )


def printed_margin(
    table: printed.Table | None, a: str, b: str, columns: Sequence[str] | None
) -> float | None:
    """Mean of what one method is printed to be ahead of another; None where nothing is printed."""
    if table is None or a not in table or b not in table:
        return None
    used = [column for column in table[a] if columns is None or column in columns]
    return sum(table[a][c].mean - table[b][c].mean for c in used) / len(used) if used else None
