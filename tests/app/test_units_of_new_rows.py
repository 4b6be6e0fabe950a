"""Columns in another unit are noticed when new rows are scored."""

import numpy as np
import pandas as pd
import pytest

from commands import run

RNG = np.random.default_rng(0)
N = 200
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {
        "creatinine": np.exp(RNG.normal(4.5 + 0.5 * Y, 0.3)).round(1),
        "age": RNG.normal(60 + 5 * Y, 8).round(),
        "y": Y,
    }
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("units")
    FRAME.to_csv(folder / "train.csv", index=False)
    fitted = run("fit", folder / "train.csv", "-t", "y", "-k", 2, "--alpha", 1, "--quick",
                 "--out", folder / "m.json")  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    return folder / "m.json"


@pytest.mark.parametrize("command", ["predict", "validate"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda frame: frame.assign(creatinine=frame.creatinine / 88.4),
            "in 200 of 200 rows",
        ),
        (lambda frame: frame.assign(age=frame.age - 40), "'age' has moved by -4"),
        (lambda frame: frame.assign(age=frame.age * 12), "in 200 of 200 rows"),
        (
            lambda frame: frame.assign(age=frame.age.where(frame.index > 0, -500)),
            "far outside",
        ),
        (lambda frame: frame, None),
    ],
)
def test_units_are_noticed(model, tmp_path, command, change, told):
    change(FRAME).to_csv(tmp_path / "new.csv", index=False)
    said = run(command, model, tmp_path / "new.csv").stderr
    assert ("Check" in said) is (told is not None)
    assert told is None or told in said


def test_a_row_alone_is_not_suspect(model, tmp_path):
    FRAME.iloc[[5]].to_csv(tmp_path / "new.csv", index=False)
    assert "Check" not in run("predict", model, tmp_path / "new.csv").stderr
    FRAME.iloc[[5]].assign(age=9).to_csv(tmp_path / "new.csv", index=False)
    assert "in 1 of 1 rows" in run("predict", model, tmp_path / "new.csv").stderr
