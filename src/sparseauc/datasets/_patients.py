"""A simulated cohort of patients with names, units, missing values and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]

_CAUSES = ("inflammation", "perfusion", "kidneys", "liver", "frailty")


class _Lab(NamedTuple):
    """A measurement: its centre and spread, what drives it, and how often it is not taken."""

    name: str
    centre: float
    spread: float
    drives: dict[str, float]
    missing: float = 0.0
    skewed: bool = False
    digits: int = 1


# Loads are on the scale of standard deviations; a skewed measurement is the exponential of a normal
# one, with the centre as median and the spread on the logarithmic scale.
_LABS = (
    _Lab("age (years)", 62, 13, {"frailty": 0.6}, digits=0),
    _Lab("body mass index (kg/m2)", 26, 4.5, {"frailty": -0.2}, 0.06),
    _Lab("temperature (C)", 38.1, 0.8, {"inflammation": 0.4}),
    _Lab("heart rate (/min)", 94, 17, {"inflammation": 0.4, "perfusion": 0.4}, digits=0),
    _Lab("respiratory rate (/min)", 20, 5, {"perfusion": 0.5, "inflammation": 0.3}, 0.03, digits=0),
    _Lab("systolic pressure (mmHg)", 128, 20, {"perfusion": -0.7}, digits=0),
    _Lab("diastolic pressure (mmHg)", 74, 12, {"perfusion": -0.6}, digits=0),
    _Lab("oxygen saturation (%)", 95, 1.8, {"perfusion": -0.4}, 0.02, digits=0),
    _Lab("lactate (mmol/L)", 1.6, 0.4, {"perfusion": 0.75}, 0.06, skewed=True),
    _Lab("pH", 7.39, 0.05, {"perfusion": -0.5, "kidneys": -0.3}, 0.12, digits=2),
    _Lab("bicarbonate (mmol/L)", 23.5, 3, {"perfusion": -0.5, "kidneys": -0.4}, 0.12),
    _Lab("base excess (mmol/L)", -1, 3, {"perfusion": -0.6, "kidneys": -0.4}, 0.12),
    _Lab("C-reactive protein (mg/L)", 90, 0.5, {"inflammation": 0.7}, skewed=True, digits=0),
    _Lab("procalcitonin (ug/L)", 0.6, 0.5, {"inflammation": 0.75}, 0.1, skewed=True, digits=2),
    _Lab("interleukin 6 (ng/L)", 60, 0.5, {"inflammation": 0.7}, 0.3, skewed=True, digits=0),
    _Lab("leukocytes (10^9/L)", 12, 4, {"inflammation": 0.5}),
    _Lab("neutrophils (%)", 79, 7, {"inflammation": 0.55}, 0.05, digits=0),
    _Lab("lymphocytes (10^9/L)", 1.2, 0.4, {"inflammation": -0.45}, 0.05, skewed=True, digits=2),
    _Lab("monocytes (10^9/L)", 0.7, 0.3, {"inflammation": 0.2}, 0.05, skewed=True, digits=2),
    _Lab("platelets (10^9/L)", 225, 75, {"liver": -0.4, "inflammation": -0.2}, digits=0),
    _Lab("haemoglobin (g/L)", 124, 18, {"frailty": -0.4}, digits=0),
    _Lab("creatinine (umol/L)", 95, 0.4, {"kidneys": 0.85}, skewed=True, digits=0),
    _Lab("urea (mmol/L)", 7.5, 0.45, {"kidneys": 0.75, "frailty": 0.2}, skewed=True),
    _Lab("potassium (mmol/L)", 4.2, 0.5, {"kidneys": 0.4}),
    _Lab("sodium (mmol/L)", 137, 4, {"frailty": -0.2}, digits=0),
    _Lab("chloride (mmol/L)", 102, 4, {"kidneys": 0.2}, digits=0),
    _Lab("phosphate (mmol/L)", 1.1, 0.3, {"kidneys": 0.5}, 0.15, skewed=True, digits=2),
    _Lab("calcium (mmol/L)", 2.2, 0.13, {"frailty": -0.2}, 0.1, digits=2),
    _Lab("magnesium (mmol/L)", 0.82, 0.1, {"kidneys": 0.2}, 0.25, digits=2),
    _Lab("glucose (mmol/L)", 7.2, 0.3, {"perfusion": 0.25}, skewed=True),
    _Lab("bilirubin (umol/L)", 13, 0.5, {"liver": 0.75}, 0.04, skewed=True, digits=0),
    _Lab("ALT (U/L)", 28, 0.5, {"liver": 0.7}, 0.04, skewed=True, digits=0),
    _Lab("AST (U/L)", 32, 0.5, {"liver": 0.7, "perfusion": 0.2}, 0.04, skewed=True, digits=0),
    _Lab("alkaline phosphatase (U/L)", 85, 0.4, {"liver": 0.5}, 0.06, skewed=True, digits=0),
    _Lab("gamma-GT (U/L)", 40, 0.5, {"liver": 0.6}, 0.06, skewed=True, digits=0),
    _Lab("albumin (g/L)", 34, 5, {"frailty": -0.5, "inflammation": -0.4}, 0.08, digits=0),
    _Lab("INR", 1.15, 0.16, {"liver": 0.5}, 0.03, skewed=True, digits=2),
    _Lab("fibrinogen (g/L)", 4.8, 1.3, {"inflammation": 0.5}, 0.2),
    _Lab("D-dimer (mg/L)", 1.2, 0.5, {"inflammation": 0.3, "frailty": 0.3}, 0.3, True, 2),
    _Lab("LDH (U/L)", 240, 0.35, {"liver": 0.3, "perfusion": 0.3}, 0.06, skewed=True, digits=0),
    _Lab("ferritin (ug/L)", 350, 0.5, {"inflammation": 0.4, "liver": 0.3}, 0.35, True, 0),
    _Lab("troponin (ng/L)", 14, 0.5, {"perfusion": 0.4, "frailty": 0.3}, 0.2, True, 0),
    _Lab("NT-proBNP (ng/L)", 600, 0.5, {"frailty": 0.5, "perfusion": 0.3}, 0.3, True, 0),
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


def make_patients(n: int = 1000, *, random_state: Any = None) -> pd.DataFrame:
    """Simulate patients with a suspected infection, some of whom develop sepsis.

    Five hidden causes (inflammation, poor perfusion, failing kidneys, failing liver, frailty) drive
    43 measurements with names and units, many of them skewed, correlated, or missing for some
    patients. Sepsis depends on six of them (lactate, procalcitonin, platelets, creatinine, systolic
    pressure, age) and on the unit, and affects about one patient in six. There are also a patient
    number and two text columns.

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
    value = lab.centre * np.exp(lab.spread * z) if lab.skewed else lab.centre + lab.spread * z
    return np.asarray(np.round(value, lab.digits), np.float64)
