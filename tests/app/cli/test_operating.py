"""From the thresholds of ``fit`` to the predictions and probabilities of ``predict``."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from commands import run
from sparseauc.operating_points import judge_threshold
from sparseauc.selection.confidence import variance_inflation
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.model_files import load_model
from sparseauc_app.reading import Rules, read_source, training_table
from sparseauc_app.scorecard import RiskMap

RNG = np.random.default_rng(0)
N = 400
Y = np.arange(N) % 10 == 0
X = RNG.normal(size=(N, 6)) + np.outer(Y, [1.5, 1.0, 0, 0, 0, 0])
FRAME = pd.DataFrame(X, columns=list("abcdef")).assign(y=np.where(Y, "ill", "well"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("points")
    FRAME.to_csv(folder / "t.csv", index=False)
    for name, more in (("m.json", ()), ("quick.json", ("--quick",))):
        result = run(
            "fit", folder / "t.csv", "-t", "y", "--positive", "ill", "-k", 2, "--alpha", 1,
            "--out", folder / name, *more,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def summary(folder):
    table = training_table(
        read_source(folder / "t.csv"), Rules(target="y", positive="ill")
    )
    return fit_table(table, FitSettings(k=2, alpha=1.0, stability_pairs=0))


def test_out_of_fold_scores_are_on_the_scale_of_the_model(summary):
    scores = summary.out_of_fold_scores
    # The models of the folds are nearly that of all rows: so are the scores of a row.
    slope, intercept = np.polyfit(scores, summary.training_scores, 1)
    assert slope == pytest.approx(1, abs=0.1)
    assert intercept == pytest.approx(0, abs=0.1 * scores.std())


def test_points_are_those_of_out_of_fold_scores_and_on_the_card(folder, summary):
    kept = load_model(folder / "m.json").summary["operating_points"]
    assert [point["name"] for point in kept] == [
        "default", "Youden", "sensitivity 90 %", "sensitivity 95 %", "specificity 90 %",
        "specificity 95 %",
    ]  # fmt: skip
    for point in kept:
        expected = judge_threshold(
            Y, summary.out_of_fold_scores, point["threshold"], point["name"],
            inflation=variance_inflation(summary.nested.agreement),
        ).as_dict()  # fmt: skip
        risk = {"risk": pytest.approx(expit(point["threshold"]))}
        assert point == expected | risk


def test_the_terminal_shows_them_within_80_characters(folder):
    shown = run("show", folder / "m.json").stdout.splitlines()
    lines = [
        line
        for line in shown
        if line.startswith((" default", " Youden", " sens", " spec"))
    ]
    assert len(lines) == 6
    assert all(len(line) <= 80 and "…" not in line for line in lines)
    assert not any(
        "Youden" in line for line in run("show", folder / "quick.json").stdout
    )


def predicted(folder, *more):
    return pd.read_csv(
        io.StringIO(run("predict", folder / "m.json", folder / "t.csv", *more).stdout)
    )


def test_labels_at_any_operating_point(folder):
    default = predicted(folder)
    assert list(default.columns) == ["row", "score", "risk", "label"]
    np.testing.assert_allclose(default["risk"], expit(default["score"]))
    assert ((default["risk"] > 0.1) == (default["label"] == "ill")).all()
    found = predicted(folder, "--risk", 0.3)
    np.testing.assert_array_equal(default["score"], found["score"])
    np.testing.assert_array_equal(found["label"] == "ill", default["risk"] > 0.3)


def test_risks_are_those_of_log_odds(folder, summary):
    found = predicted(folder)
    risk_map = load_model(folder / "m.json").risk_map
    assert risk_map == RiskMap(1.0, 0.0, Y.sum(), (~Y).sum())
    np.testing.assert_allclose(
        found["risk"], summary.model.predict_proba(X)[:, 1], rtol=1e-6
    )


def test_points_are_totals_everywhere(folder):
    model = folder / "points.json"
    result = run(
        "fit", folder / "t.csv", "-t", "y", "--positive", "ill", "-k", 2, "--points", 3,
        "--out", model,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    card = load_model(model)
    assert card.total
    found = pd.read_csv(io.StringIO(run("predict", model, folder / "t.csv").stdout))
    assert list(found.columns) == ["row", "total", "risk", "label"]
    assert set(found["total"] % 1) == {0.0}
    assert card.threshold % 1 == 0
    assert ((found["total"] > card.threshold) == (found["label"] == "ill")).all()
    assert ((found["risk"] > 0.1) == (found["label"] == "ill")).all()
    assert all(
        point["threshold"] % 1 == 0 for point in card.summary["operating_points"]
    )
    loaded = load_model(model)
    np.testing.assert_allclose(
        loaded.predict_proba(FRAME)[:, 1], found["risk"], rtol=1e-9
    )
    np.testing.assert_allclose(
        expit(loaded.decision_function(FRAME)), found["risk"], rtol=1e-9
    )


def test_an_impossible_risk_is_refused(folder):
    result = run("predict", folder / "m.json", folder / "t.csv", "--risk", 10)
    assert result.exit_code == 2
    assert "--risk must be between 0 and 1, got 10" in " ".join(result.output.split())
