"""How an experiment is run, as data: every slip of the published programs is a switch of its own.

``CORRECTED`` has all of them off: the methods as their papers define them, compared
without a leak. ``PUBLISHED`` has them on, so that printed numbers are compared like
with like. Between the two lie the protocols with one switch turned, which tell what
each slip is worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from .files import read_settings

Where = Literal["synthetic", "real"]
HARD_THRESHOLDING = ("sht-auc", "sto-iht", "hsg-ht")
SPAM = ("spam-l1", "spam-l2", "spam-l1l2")
# Switches that follow the text where the programs do not.
TEXT_SWITCHES = ("paper_step", "paper_spam_steps", "paper_gene_ranges", "no_scaling")


@dataclass(frozen=True)
class Switch:
    """What is known of one way in which the published programs differ, by ``switches.toml``.

    One that is not ``published`` follows the paper's text, or a third way, where
    neither protocol does.
    """

    name: str  # field of ``Protocol``
    description: str  # what happens when it is on
    discrepancies: tuple[int, ...]  # those of ``audit.DISCREPANCIES`` it stands for
    where: tuple[Where, ...]  # the experiments it touches
    methods: tuple[str, ...] = ()  # the methods it touches; none means all of them
    after: bool = False  # whether it only changes what is read off finished fits
    published: bool = False  # whether it is on in the published protocol

    @property
    def title(self) -> str:
        """Its name in words."""
        return self.name.replace("_", " ")

    @property
    def whose(self) -> str:
        """Whose way it follows: the programs', the text's, or neither."""
        if self.published:
            return "the programs'"
        return "the text's" if self.name in TEXT_SWITCHES else "a third"

    def touches(self, where: str, method: str) -> bool:
        """Whether it can change the numbers of this method in this experiment."""
        return where in self.where and (not self.methods or method in self.methods)


@dataclass(frozen=True)
class Protocol:
    """One field for each switch, by its name; all are off by default."""

    one_fewer: bool = False
    ridge_while_tuning: bool = False
    keep_batch_size: bool = False
    restart_batches: bool = False
    last_iterate: bool = False
    fixed_order: bool = False
    independent_splits: bool = False
    unstratified_tuning: bool = False
    scale_with_test_rows: bool = False
    stop_rule: bool = False
    clip_above_only: bool = False
    absolute_cut: bool = False
    truncate_before_auc: bool = False
    row_scaling_only: bool = False
    hold_out_fifty: bool = False
    permute_twice: bool = False
    untuned_batch_growth: bool = False
    best_k_on_test: bool = False
    published_markers: bool = False
    automatic_step: bool = False
    paper_step: bool = False
    paper_spam_steps: bool = False
    paper_gene_ranges: bool = False
    no_scaling: bool = False
    log_odds_intercept: bool = False
    one_sided_shifts: bool = False

    def switches_of(self, where: str, method: str) -> dict[str, bool]:
        """Return the switches that the fits of a method in an experiment depend on."""
        return {
            switch.name: getattr(self, switch.name)
            for switch in SWITCHES
            if switch.touches(where, method) and not switch.after
        }


SWITCHES = tuple(
    Switch(name, **about) for name, about in read_settings("switches.toml").items()
)

CORRECTED = Protocol()
PUBLISHED = Protocol(**{s.name: s.published for s in SWITCHES})
PROTOCOLS: Mapping[str, Protocol] = {"corrected": CORRECTED, "published": PUBLISHED}


def one_switch_on(name: str, base: Protocol = CORRECTED) -> Protocol:
    """Return ``base`` with one switch on, and those it cannot be without."""
    # A second permutation makes no sense without the hold-out whose folds it misses.
    needed = {"permute_twice": {"hold_out_fifty": True}}.get(name, {})
    return replace(base, **{name: True}, **needed)
