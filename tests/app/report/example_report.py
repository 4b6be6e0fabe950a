"""A report with every element in it, for tests and to look at. All numbers are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparseauc_app.pages.elements import (
    Figure,
    Listing,
    Note,
    Panel,
    Report,
    Section,
    Series,
)

METHODS = (
    "SHT-AUC", "FSAUC", "SOLAM", "SparseAUCClassifierCV", "Top-k mean difference",
    "Nearest centroid", "L1 logistic",
)  # fmt: skip


def example_figure() -> Figure:
    """Four panels: bands, whiskers, bars, steps, gaps."""
    rng = np.random.default_rng(1)
    ratios = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    against_ratio = []
    for place, method in enumerate(METHODS):
        y = 0.6 + 0.3 * (1 - np.exp(-5 * np.array(ratios))) - 0.012 * place
        reach = 0.006 + 0.004 * rng.random(y.size)
        against_ratio.append(Series(method, ratios, y, y - reach, y + reach))
    epochs = np.arange(1, 201)
    convergence = [
        Series("SHT-AUC", epochs, 3 * epochs**-0.9, 2 * epochs**-0.9, 4 * epochs**-0.9),
        Series("FSAUC", epochs, 2 * epochs**-0.35, style="dashed"),
        Series("SOLAM", [0, 1, 10, 100], [1, np.nan, 0.3, 0.1], style="points"),
    ]
    bars = [
        Series(
            "SHT-AUC",
            [0, 1, 2],
            [0.8, 0.7, 0.6],
            [0.7, 0.6, 0.5],
            [0.9, 0.8, 0.7],
            style="bars",
        ),
        Series("L1 logistic", [0, 1, 2], [0.77, 0.78, 0.71], style="bars"),
    ]
    steps = [
        Series("SHT-AUC", [0, 0.3, 1], [0, 0.9, 1], [0, 0.85, 1], [0, 0.95, 1], style="steps"),
        Series("chance", [0, 1], [0, 1], style="dashed"),
    ]  # fmt: skip
    return Figure(
        "figure-example",
        "Four ways to look at seven methods",
        "Mean over 25 trials; bands are one standard error to either side. Numbers are invented.",
        [
            Panel("AUC against r", "share of positives r", "AUC", against_ratio),
            Panel("Convergence", "epoch", "F(w) − F(w*)", convergence),
            Panel(
                "Three data sets", "data set", "AUC", bars,
                y_range=(0, 1), x_names=("colon", "leukaemia", "outbreak"),
            ),
            Panel(
                "ROC", "false positive rate", "true positive rate", steps,
                x_range=(0, 1), y_range=(0, 1),
            ),
        ],
    )  # fmt: skip


def example_report() -> Report:
    """A page with every element in it. All numbers are invented."""
    areas = np.linspace(0.6, 0.8, len(METHODS))
    audit = pd.DataFrame(
        {
            "slip": [
                "One non-zero fewer",
                "Ridge while tuning only",
                "Permutation applied twice",
            ],
            "what the programs do": [
                "The threshold removes the k-th largest entry too, so that k − 1 columns survive; "
                "for k = 1 nothing is left.",
                "A ridge of 0.1 is added while the parameters are chosen and left out of the last "
                "fit, which therefore solves another problem than the one that was tuned.",
                "Rows of the test set come back into the folds on which k is chosen.",
            ],
            "effect on AUC": [-0.0042, 0.0121, 0.0310],
            "standard error": [0.0021, 0.0044, 0.0000072],
            "runs": [25.0, 25.0, np.nan],
            "has a switch": [True, True, False],
        }
    )
    markers = pd.DataFrame(
        {
            "column": [f"gene {place:02d}" for place in range(30)],
            "coefficient": np.linspace(1.2, -0.9, 30),
            "AUC alone": np.linspace(0.91, 0.55, 30),
            "stability": np.linspace(1, 0.4, 30),
        }
    )
    return Report(
        title="Sparse AUC maximisation, an example",
        lead="SHT-AUC leads the paper's methods in three settings; exchanges lead it in all. "
        "Every number on this page is invented: it shows what a report looks like.",
        sections=[
            Section(
                "synthetic",
                "Synthetic data",
                [
                    Note(
                        "Rows are drawn as in section 8: n = 1000, d = 1000 columns, of which k* "
                        "are shifted in the positives. Each method is tuned by `5-fold` "
                        "cross-validation on training rows alone.\n\nTest rows are never seen "
                        "while anything is chosen."
                    ),
                    Note(
                        "The order of the seven methods agrees with the paper's (Spearman 0.86).",
                        "finding",
                    ),
                    Listing(
                        "table1",
                        "Table I. AUC at r = 0.05",
                        "Area under the ROC curve on 5000 test rows.",
                        pd.DataFrame({"method": METHODS, **{f"AUC of setting {k}": areas + 0.05 * k
                                                            for k in range(12)}}),
                    ),
                    example_figure(),
                ],
            ),
            Section(
                "audit",
                "Where paper and programs disagree",
                [
                    Note(
                        "With 22 positives, differences below 0.05 are within what another split "
                        "would give.",
                        "caution",
                    ),
                    Listing(
                        "audit-switches", "Switches and what each is worth",
                        "Effect of each slip alone on the mean AUC of SHT-AUC.", audit,
                    ),
                    Listing("markers", "Markers", "Columns chosen, by coefficient.", markers),
                    Figure(
                        "path", "AUC against k", "One panel, one series.",
                        [Panel("", "columns k", "AUC", [Series("SHT-AUC", [1, 2, 5, 10, 20],
                               [0.7, 0.78, 0.84, 0.86, 0.85],
                               [0.68, 0.76, 0.82, 0.84, 0.83], [0.72, 0.8, 0.86, 0.88, 0.87])])],
                    ),
                ],
            ),
        ],
        facts={
            "Command": "`sparseauc reproduce all --preset quick --seed 0 --out results/`",
            "Seed": "0",
            "Versions": "sparseauc 0.1.0, numpy 2.2.1, scikit-learn 1.7.0, Python 3.12.4",
            "Machine": "2 cores, 8 GB",
            "Duration": "8 minutes 12 seconds",
        },
    )  # fmt: skip
