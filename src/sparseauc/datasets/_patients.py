"""A simulated cohort of patients with names, units, missing values and text."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from ..utils.files import read_lines
from ..utils.types import Array

if TYPE_CHECKING:
    import pandas as pd

_CAUSES = ("inflammation", "perfusion", "kidneys", "liver", "frailty")


class _Lab(NamedTuple):
    """A measurement: its centre and spread, what drives it, and how often it is not taken.

    Loads are on the scale of standard deviations; a skewed measurement is the
    exponential of a normal one, with the centre as median and the spread on the
    logarithmic scale.
    """

    name: str
    centre: float
    spread: float
    drives: dict[str, float]
    missing: float
    skewed: bool
    digits: int

    @classmethod
    def from_line(cls, name: str, *numbers: str) -> Self:
        centre, spread, *loads, missing, skewed, digits = map(float, numbers)
        drives = dict(zip(_CAUSES, loads, strict=True))
        return cls(name, centre, spread, drives, missing, bool(skewed), int(digits))


_LABS = tuple(
    _Lab.from_line(*line) for line in read_lines(__package__, "measurements.csv")
)
# What sepsis follows from, by standard deviation.
_RISK = {
    "lactate (mmol/L)": 1.1,
    "procalcitonin (ug/L)": 1.1,
    "platelets (10^9/L)": -0.9,
    "creatinine (umol/L)": 0.8,
    "systolic pressure (mmHg)": -0.8,
    "age (years)": 0.7,
}
_UNITS = ("emergency department", "general ward", "transfer", "elective surgery")


def make_patients(n: int = 1000, *, random_state: Any = None) -> "pd.DataFrame":
    """Simulate patients with a suspected infection, some of whom develop sepsis.

    Five hidden causes (inflammation, poor perfusion, failing kidneys, failing liver,
    frailty) drive 43 measurements with names and units, many of them skewed,
    correlated, or missing for some patients. Sepsis depends on six of them (lactate,
    procalcitonin, platelets, creatinine, systolic pressure, age) and on the unit, and
    affects about one patient in six. There are also a patient number and two text
    columns.

    Parameters
    ----------
    n : int, default=1000
        Number of patients.
    random_state : int, RandomState or None

    Returns
    -------
    DataFrame of shape (n, 47)
        ``patient``, ``sex``, ``unit``, the measurements, and ``sepsis``: "yes" or "no".

    Examples
    --------
    >>> from sparseauc.datasets import make_patients
    >>> patients = make_patients(random_state=0)
    >>> patients.shape, sorted(set(patients["sepsis"]))
    ((1000, 47), ['no', 'yes'])
    """
    import pandas as pd

    rng = check_random_state(random_state)
    causes = dict(zip(_CAUSES, rng.normal(size=(len(_CAUSES), n)), strict=True))
    unit = rng.choice(len(_UNITS), size=n, p=[0.5, 0.3, 0.08, 0.12])
    scores = {lab.name: _standard(lab, causes, rng) for lab in _LABS}
    risk = sum(weight * scores[name] for name, weight in _RISK.items())
    risk = risk + np.array([0.0, 0.0, 1.0, -1.0])[unit]
    sepsis = rng.random(n) < 1 / (1 + np.exp(3.0 - risk))
    values = {}
    for lab in _LABS:
        values[lab.name] = _printed(lab, scores[lab.name])
        values[lab.name][rng.random(n) < lab.missing] = np.nan
    return pd.DataFrame(
        {
            "patient": [f"P{number:05d}" for number in rng.permutation(n) + 10_000],
            "sex": np.where(rng.random(n) < 0.46, "female", "male"),
            "unit": np.array(_UNITS)[unit],
            **values,
            "sepsis": np.where(sepsis, "yes", "no"),
        }
    )


def _standard(lab: _Lab, causes: dict[str, Array], rng: np.random.RandomState) -> Array:
    """Standardised values: what the causes drive, and the rest by itself."""
    own = np.sqrt(1 - sum(load**2 for load in lab.drives.values()))
    driven = sum(load * causes[name] for name, load in lab.drives.items())
    values: Array = driven + own * rng.normal(size=next(iter(causes.values())).size)
    return values


def _printed(lab: _Lab, z: Array) -> Array:
    """Values as a laboratory prints them; those beyond any person's are drawn in."""
    z = np.clip(z, -2.7, 2.7)
    value = (
        lab.centre * np.exp(lab.spread * z)
        if lab.skewed
        else lab.centre + lab.spread * z
    )
    return np.asarray(np.round(value, lab.digits), np.float64)
