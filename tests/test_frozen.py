"""Answers that no refactoring may change: ``tests/frozen/cases.py`` says how they were computed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "frozen"))

from cases import ANSWERS, CASES

FROZEN = json.loads(ANSWERS.read_text())


def test_every_case_has_an_answer():
    assert list(FROZEN) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_the_frozen_one(name):
    found = CASES[name]()
    expected = FROZEN[name]
    assert set(found) == set(expected)
    for key in ("columns", "points"):
        assert found.get(key) == expected.get(key), key
    for key in set(expected) - {"columns", "points"}:
        np.testing.assert_allclose(
            found[key], expected[key], rtol=1e-8, atol=1e-10, err_msg=key
        )
