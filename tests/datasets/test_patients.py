import numpy as np
import pandas as pd
import pytest

from sparseauc import SparseAUCClassifier
from sparseauc.datasets import make_patients
from sparseauc.datasets._patients import _LABS, _RISK


def test_same_seed_same_patients():
    pd.testing.assert_frame_equal(
        make_patients(50, random_state=3), make_patients(50, random_state=3)
    )
    other = make_patients(50, random_state=4)
    assert not make_patients(50, random_state=3).equals(other)


def test_a_table_as_a_hospital_has_it():
    patients = make_patients(2000, random_state=0)
    assert patients["patient"].is_unique
    assert 0.1 < (patients["sepsis"] == "yes").mean() < 0.25
    assert set(patients["sex"]) == {"female", "male"}
    numbers = patients.select_dtypes("number")
    assert numbers.shape[1] == len(_LABS) == 43
    for lab in _LABS:
        values = numbers[lab.name]
        assert values.isna().mean() == pytest.approx(lab.missing, abs=0.05)
        assert values.median() == pytest.approx(lab.centre, rel=0.1, abs=0.2)
        np.testing.assert_array_equal(values, values.round(lab.digits))
    assert (numbers.drop(columns="base excess (mmol/L)").min() > 0).all()
    assert (numbers.filter(like="(%)").max() <= 100).all()


def test_causes_make_measurements_correlated():
    correlation = make_patients(2000, random_state=0).corr(numeric_only=True)
    assert correlation.loc["creatinine (umol/L)", "urea (mmol/L)"] > 0.4
    assert correlation.loc["systolic pressure (mmHg)", "lactate (mmol/L)"] < -0.3


def test_what_sepsis_follows_from_can_be_found():
    patients = make_patients(4000, random_state=1)
    X = patients.select_dtypes("number")
    model = SparseAUCClassifier(k=len(_RISK)).fit(
        X.fillna(X.median()), patients["sepsis"]
    )
    found = dict(
        zip(model.get_feature_names_out(), model.coef_[model.coef_ != 0], strict=True)
    )
    assert set(found) == set(_RISK)
    assert all(
        np.sign(found[name]) == np.sign(weight) for name, weight in _RISK.items()
    )
