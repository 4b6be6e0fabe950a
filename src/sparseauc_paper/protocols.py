"""How an experiment is run, as data: every slip of the published programs is a switch of its own.

``CORRECTED`` has all of them off: the methods as their papers define them, compared without a leak.
``PUBLISHED`` has them on, so that printed numbers are compared like with like. Between the two lie
the protocols with one switch turned, which tell what each slip is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

Where = Literal["synthetic", "real"]
HARD_THRESHOLDING = ("sht-auc", "sto-iht", "hsg-ht")
BLOCKWISE = ("sht-auc", "sto-iht")
SPAM = ("spam-l1", "spam-l2", "spam-l1l2")
CONVEX = (*SPAM, "fsauc", "solam")


@dataclass(frozen=True)
class Switch:
    """What is known of one way in which the published programs differ.

    Attributes
    ----------
    name : str
        Field of ``Protocol``.
    description : str
        What happens when it is on.
    discrepancies : tuple of int
        Numbers in the list of discrepancies it stands for; see ``audit.DISCREPANCIES``.
    where : tuple of {"synthetic", "real"}
        The experiments it touches.
    methods : tuple of str
        The methods it touches; none means all of them.
    after : bool
        Whether it only changes what is read off finished fits, so that no fit depends on it.
    published : bool
        Whether it is on in the published protocol; one that is not follows the paper's text where
        neither protocol does.
    """

    name: str
    description: str
    discrepancies: tuple[int, ...]
    where: tuple[Where, ...]
    methods: tuple[str, ...]
    after: bool
    published: bool

    @property
    def title(self) -> str:
        """Its name in words."""
        return self.name.replace("_", " ")

    def touches(self, where: str, method: str) -> bool:
        """Whether it can change the numbers of this method in this experiment."""
        return where in self.where and (not self.methods or method in self.methods)


def _switch(
    description: str,
    *discrepancies: int,
    where: tuple[Where, ...] = ("synthetic", "real"),
    methods: tuple[str, ...] = (),
    after: bool = False,
    published: bool = True,
) -> Any:
    return field(
        default=False,
        metadata={
            "description": description,
            "discrepancies": discrepancies,
            "where": where,
            "methods": methods,
            "after": after,
            "published": published,
        },
    )


@dataclass(frozen=True)
class Protocol:
    """One switch for each slip; all are off by default."""

    one_fewer: bool = _switch(
        "the k-th largest entry is removed too: k − 1 columns are left, none at k = 1",
        1, methods=HARD_THRESHOLDING,
    )  # fmt: skip
    ridge_while_tuning: bool = _switch(
        "while SHT-AUC is tuned, w is divided by 1.1 after every step; not so in the final fit",
        4, where=("synthetic",), methods=("sht-auc",),
    )  # fmt: skip
    keep_batch_size: bool = _switch(
        "the final fit keeps the rows of a block, not the number of blocks that was tuned",
        12, where=("synthetic",), methods=BLOCKWISE,
    )  # fmt: skip
    restart_batches: bool = _switch(
        "HSG-HT begins again with its smallest batch in every epoch",
        8, methods=("hsg-ht",),
    )  # fmt: skip
    last_iterate: bool = _switch(
        "SPAM returns its last iterate, not the mean of all of them",
        9, methods=SPAM,
    )  # fmt: skip
    fixed_order: bool = _switch(
        "rows are visited, and dealt to blocks, in the order of the table, the same in every epoch",
        10, methods=(*HARD_THRESHOLDING, *CONVEX),
    )  # fmt: skip
    independent_splits: bool = _switch(
        "the five test parts of a trial are drawn independently and without regard to class: they "
        "are no partition",
        13, where=("synthetic",),
    )  # fmt: skip
    unstratified_tuning: bool = _switch(
        "tuning folds are runs of neighbouring rows, whatever classes they hold",
        13, where=("synthetic",),
    )  # fmt: skip
    scale_with_test_rows: bool = _switch(
        "columns are z-scored over training and test rows together",
        14, where=("synthetic",),
    )  # fmt: skip
    stop_rule: bool = _switch(
        "SPAM and SOLAM end with the first epoch whose last single step moves the answer by no "
        "more than 1e-4 of its length (1e-6 on the genes)",
        25, methods=(*SPAM, "solam"),
    )  # fmt: skip
    clip_above_only: bool = _switch(
        "SOLAM's a and b are kept below R, but not above −R",
        26, methods=("solam",),
    )  # fmt: skip
    absolute_cut: bool = _switch(
        "the columns of the convex methods are those with a coefficient of 0.001 or more, however "
        "large the others are, rather than their k* largest",
        15, where=("synthetic",), methods=CONVEX, after=True,
    )  # fmt: skip
    truncate_before_auc: bool = _switch(
        "coefficients of the convex methods below 0.001 are zeroed before the test AUC is computed "
        "(not while tuning)",
        15, 24, where=("synthetic",), methods=CONVEX, after=True,
    )  # fmt: skip
    row_scaling_only: bool = _switch(
        "genes are not z-scored; rows are scaled to unit length and nothing else",
        14, where=("real",),
    )  # fmt: skip
    hold_out_fifty: bool = _switch(
        "instead of five folds, 50 rows are drawn for training and the others tested, five times "
        "the same ones, each time tuned on another 10 of the 50",
        19, where=("real",),
    )  # fmt: skip
    permute_twice: bool = _switch(
        "the split into training and test rows is permuted once more than the tuning folds, so "
        "that these overlap the test rows (with the hold-out of 50)",
        19, where=("real",),
    )  # fmt: skip
    untuned_batch_growth: bool = _switch(
        "HSG-HT's first batch is not tuned: it holds all rows",
        16, where=("real",), methods=("hsg-ht",),
    )  # fmt: skip
    best_k_on_test: bool = _switch(
        "k is the one with the best mean test AUC, for the hard-thresholding methods",
        19, where=("real",), methods=HARD_THRESHOLDING, after=True,
    )  # fmt: skip
    published_markers: bool = _switch(
        "markers are counted with the columns of the published programs",
        21, where=("real",), after=True,
    )  # fmt: skip
    automatic_step: bool = _switch(
        "SHT-AUC adapts its step to the course of F, in place of the published constant "
        "(on in neither protocol)",
        2, 3, methods=("sht-auc",), published=False,
    )  # fmt: skip
    paper_step: bool = _switch(
        "SHT-AUC's step is the paper's 1/ρ⁺, with the largest curvature of any block for ρ⁺ "
        "(on in neither protocol)",
        2, 3, methods=("sht-auc",), published=False,
    )  # fmt: skip
    paper_spam_steps: bool = _switch(
        "SPAM's step is tuned over SOLAM's grid, as the text says (on in neither protocol)",
        11, where=("synthetic",), methods=SPAM, published=False,
    )  # fmt: skip
    paper_gene_ranges: bool = _switch(
        "SPAM's L1 penalty is tuned from 1e-5 to 0.07 and FSAUC's radius from 1e-5 to 1e4, as the "
        "text says (on in neither protocol)",
        20, where=("real",), methods=("spam-l1", "spam-l1l2", "fsauc"), published=False,
    )  # fmt: skip

    def switches_of(self, where: str, method: str) -> dict[str, bool]:
        """Return the switches that the fits of a method in an experiment depend on."""
        return {
            switch.name: getattr(self, switch.name)
            for switch in SWITCHES
            if switch.touches(where, method) and not switch.after
        }


SWITCHES = tuple(Switch(name=f.name, **f.metadata) for f in fields(Protocol))

CORRECTED = Protocol()
PUBLISHED = Protocol(**{s.name: s.published for s in SWITCHES})
PROTOCOLS: Mapping[str, Protocol] = {"corrected": CORRECTED, "published": PUBLISHED}


def one_switch_on(name: str, base: Protocol = CORRECTED) -> Protocol:
    """Return ``base`` with one switch on, and those it cannot be without.

    A second permutation makes no sense without the hold-out whose folds it misses.
    """
    if name not in {switch.name for switch in SWITCHES}:
        known = ", ".join(switch.name for switch in SWITCHES)
        raise ValueError(f"no switch is named {name!r}; there are {known}")
    needed = {"permute_twice": {"hold_out_fifty": True}}.get(name, {})
    return replace(base, **{name: True}, **needed)
