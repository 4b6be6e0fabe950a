"""The terminal, JSON and the report say the same things against a result."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sparseauc.datasets import make_outbreak
from sparseauc_app import cautions as cautions_module
from sparseauc_app.cautions import near_copies, warn_of_chance
from sparseauc_app.evaluation.evaluate import evaluate
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.formatting import without_advice
from sparseauc_app.pages.model_report import build_model_report
from sparseauc_app.reading import Table


def noise(n=60, d=40):
    X, y = make_outbreak(n=n, d=d, k=3, mu=0.0, r=0.4, random_state=3)
    names = tuple(f"gene {j}" for j in range(d))
    frame = pd.DataFrame(X, columns=names)
    return Table(
        frame, names, (y > 0).astype(np.int64), "state", "well", "ill", source="t.csv"
    )


def test_noise_is_warned_of_everywhere():
    summary = fit_table(noise(), FitSettings(k=8, alpha=0.1, stability_pairs=5))
    told = summary.cautions
    assert "do not show that the list ranks better than chance" in told[0]
    assert summary.summary["warnings"] == told
    assert summary.card.summary["warnings"] == told
    (note,) = build_model_report(evaluate(summary)).sections[0].elements
    shown = [without_advice(text) for text in told]
    assert note.text.split("\n\n")[: len(shown)] == shown


def test_what_was_raised_is_among_them():
    table = dataclasses.replace(noise(), warnings=("'gene 4' looks like an id",))
    summary = fit_table(table, FitSettings(k=40, alpha=1.0, folds=0, stability_pairs=0))
    assert "'gene 4' looks like an id." in summary.cautions
    assert summary.cautions[0].startswith(
        "Nested cross-validation was skipped (`--quick`)."
    )


def test_an_auc_below_chance_ranks_the_wrong_way_round():
    found = {"auc": 0.2, "low": 0.14, "high": 0.26, "confidence": 0.95}
    (said,) = warn_of_chance(found, "model")
    assert "0.14 to 0.26, is below 0.5: the model ranks the wrong way round" in said
    (said,) = warn_of_chance({**found, "high": 0.56}, "model")
    assert "0.14 to 0.56, includes 0.5" in said
    assert not [*warn_of_chance({**found, "low": 0.51, "high": 0.56}, "model")]


def test_a_list_too_good_to_be_true_is_warned_of():
    table = noise(d=4)
    X = table.X + 2.5 * table.y[:, None] * np.array([1, 1, 1, 0])
    leaking = dataclasses.replace(table, X=X)
    summary = fit_table(leaking, FitSettings(k=3, alpha=1.0, stability_pairs=0))
    assert summary.nested.interval.auc > 0.99
    assert any("is too good for most outcomes" in told for told in summary.cautions)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_near_copies_against_all_correlations(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 9))
    X[:, 4] = -2 * X[:, 1] + 5
    X[:, 7] = X[:, 1] + 0.3 * rng.normal(size=80)
    X[:, 8] = 3.0
    found = near_copies(kind(X), [1, 8, 5])
    correlation = np.corrcoef(X[:, :8].T)
    expected = [j for j in range(8) if j != 1 and abs(correlation[1, j]) >= 0.9]
    assert sorted(j for j, _ in found[0]) == expected == [4, 7]
    assert found[0][0] == (4, pytest.approx(-1))
    assert found[0][1] == (7, pytest.approx(correlation[1, 7]))
    assert found[1:] == [[], []]


def test_near_copies_of_few_rows_where_products_are_many(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 40))
    X[:, 30] = X[:, 2]
    whole = near_copies(X, [2, 3])
    assert [[j for j, _ in one] for one in whole] == [[30], []]
    monkeypatch.setattr(cautions_module, "_MOST_PRODUCTS", 10)  # a hundred rows, then
    assert [[j for j, _ in one] for one in near_copies(X, [2, 3])] == [[30], []]
