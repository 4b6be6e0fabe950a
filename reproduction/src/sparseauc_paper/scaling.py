"""How scaling of the columns and the start of the intercept decide which columns are found."""

import pandas as pd

from . import plan
from .estimates import Mean, Sample, difference_of, draws_of, mean_of, shown
from .methods import METHODS
from .page import Listing
from .plan import SCALINGS, STARTS, WITH_INTERCEPT, Request
from .protocols import CORRECTED
from .summaries import Outcomes, synthetic_measure, synthetic_values

OURS, RIVAL = "sht-auc", "sto-iht"
_PROGRAMS, _NONE, _TRAINING = "scale_with_test_rows", "no_scaling", ""
_AT_LOG_ODDS = "log_odds_intercept"

# By scaling, start of the intercept and method: values by draw and part.
Found = dict[tuple[str, str, str], Sample]


def scaling_values(request: Request, outcomes: Outcomes, measure: str) -> Found:
    """Numbers of every method for every scaling and start of the intercept."""
    found: Found = {}
    for (scaling, start), tasks in plan.scaling_tasks(request).items():
        values = synthetic_values(
            tasks, outcomes, lambda result: synthetic_measure(CORRECTED, measure, result)
        )
        for method in dict.fromkeys(method for method, _ in values):
            part = {place: sample for place, sample in values.items() if place[0] == method}
            found[scaling, start, method] = draws_of(part)
    return found


def scaling_listing(request: Request, outcomes: Outcomes) -> Listing | None:
    """F1 and AUC of every method, a column for each scaling."""
    f1s, aucs = (scaling_values(request, outcomes, measure) for measure in ("f1", "auc"))
    if not f1s:
        return None
    lines = []
    for method in dict.fromkeys(method for *_, method in f1s):
        for start, words in STARTS.items():
            if start and method not in WITH_INTERCEPT:
                continue
            line = {
                "method": METHODS[method].name,
                "intercept starts at": words if method in WITH_INTERCEPT else "none",
            }
            for scaling, by in SCALINGS.items():
                at = scaling, start, method
                known = [mean_of(found[at]) for found in (f1s, aucs) if at in found]
                line[f"z-scored by: {by}"] = (
                    f"F1 {known[0].mean:.3f} ± {known[0].half_width():.3f}, AUC "
                    f"{known[1].mean:.3f} ± {known[1].half_width():.3f}"
                    if len(known) == 2 and known[0].n
                    else "–"
                )
            lines.append(line)
    preset = request.preset
    return Listing(
        "scaling",
        "Scaling of the columns and start of the intercept",
        "F1 of the columns (k tuned) and test AUC over the corrected protocol, with the simulated "
        "columns not z-scored (all that the text describes), z-scored by all rows with the test "
        "rows (the programs), or by the training rows (the corrected protocol); rows have unit "
        f"length in all. ± is half of a 95 % interval; k* = "
        f"{', '.join(map(str, preset.audit_sparsities))}, {preset.audit_trials} draws of each, "
        f"{preset.audit_folds} test parts.",
        pd.DataFrame(lines),
        digits=0,
    )


def _gap(found: Found, scaling: str, start: str) -> Mean:
    """How much better SHT-AUC finds the columns than StoIHT, on the same draws."""
    ours, theirs = found.get((scaling, "", OURS), {}), found.get((scaling, start, RIVAL), {})
    return mean_of(difference_of(ours, theirs))


def about_scaling(request: Request, outcomes: Outcomes) -> list[str]:
    """Say what the gap between SHT-AUC and StoIHT is made of; nothing without results."""
    found = scaling_values(request, outcomes, "f1")
    gaps = {
        (scaling, start): _gap(found, scaling, start) for scaling in SCALINGS for start in STARTS
    }
    if not all(gap.n for gap in gaps.values()):
        return []

    def numbers(method: str, start: str) -> str:
        means = [mean_of(found[scaling, start, method]).mean for scaling in SCALINGS]
        return ", ".join(f"{mean:.3f}" for mean in means)

    plain, draws = gaps[_NONE, ""], gaps[_NONE, ""].draws
    text = (
        "F1 with columns not z-scored, z-scored by all rows (the programs), and by training rows: "
        f"SHT-AUC {numbers(OURS, '')}; StoIHT with an intercept that starts at 0 "
        f"{numbers(RIVAL, '')}; StoIHT with one that starts at the log odds of the classes "
        f"{numbers(RIVAL, _AT_LOG_ODDS)} ({draws} draws). "
    )
    moved = mean_of(difference_of(found[_PROGRAMS, "", RIVAL], found[_NONE, "", RIVAL]))
    if abs(moved.mean) > moved.half_width():
        text += (
            f"The programs' scaling {'raises' if moved.mean > 0 else 'lowers'} StoIHT against none "
            f"({shown(moved)}). "
        )
    closed = mean_of(difference_of(found[_NONE, _AT_LOG_ODDS, RIVAL], found[_NONE, "", RIVAL]))
    left = gaps[_NONE, _AT_LOG_ODDS]
    text += (
        f"Without z-scoring SHT-AUC is {shown(plain)} ahead; the start of the intercept changes "
        f"StoIHT by {shown(closed)}, and {shown(left)} is left. "
    )
    if closed.mean > closed.half_width() and left.mean < plain.mean / 2:
        text += (
            "So most of the gap is that of an intercept that starts at 0 on columns that are not "
            "centred. The squared pairwise loss has no intercept and needs none, which is a merit "
            "of the paper's method."
        )
    else:
        text += "So the start of the intercept does not explain the gap."
    return [text]
