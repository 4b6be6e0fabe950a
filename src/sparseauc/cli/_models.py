"""Reading model files for commands: warnings become notes."""

from __future__ import annotations

import warnings
from pathlib import Path

from ..tabular.model_files import read_card
from ..tabular.scorecard import ScoreCard


def card_of(path: Path, notes: list[str]) -> ScoreCard:
    """Read a model file's card; a file of another version is noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        card = read_card(path)
    notes += [str(one.message) for one in caught]
    return card
