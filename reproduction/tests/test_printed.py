import json
import os
from pathlib import Path

import pytest

from sparseauc_paper import printed
from sparseauc_paper.audit import impossible_jaccards
from sparseauc_paper.methods import METHODS, PAPER_METHODS

TABLES = {
    "table1_auc": printed.AUC,
    "table2_f1": printed.F1,
    "table2_jaccard": printed.JACCARD,
    "table3_real_auc": printed.GENE_AUC,
}


def test_all_entries_are_there():
    for table in TABLES.values():
        assert tuple(table) == PAPER_METHODS
        for row in table.values():
            assert all(
                0 < entry.mean < 1 and 0 < entry.std < 0.25 for entry in row.values()
            )
    entry = printed.GENE_AUC["sht-auc"]["colon"]
    assert (entry.mean, entry.std) == (0.8777, 0.1114)


def test_against_the_file_of_printed_numbers():
    folder = os.environ.get("SPARSEAUC_PAPER")
    if not folder:
        pytest.skip("SPARSEAUC_PAPER is not set: it names the folder with tables.json")
    tables = json.loads((Path(folder) / "tables.json").read_text())
    for name, table in TABLES.items():
        expected = {
            method: {column: (e["mean"], e["std"]) for column, e in row.items()}
            for method, row in tables[name]["cells"].items()
        }
        ours = {
            METHODS[key].name: {column: (e.mean, e.std) for column, e in row.items()}
            for key, row in table.items()
        }
        assert ours == expected, name


def test_eleven_jaccard_indices_are_impossible():
    found = {(method, column) for method, column, *_ in impossible_jaccards()}
    assert found == {
        ("sht-auc", "40"),
        ("spam-l1", "20"),
        ("spam-l1", "40"),
        ("spam-l1", "60"),
        ("spam-l2", "20"),
        ("spam-l2", "40"),
        ("spam-l2", "60"),
        ("spam-l2", "80"),
        ("fsauc", "20"),
        ("sto-iht", "60"),
        ("hsg-ht", "60"),
    }


def test_the_papers_method_has_the_best_printed_mean():
    means = {
        method: sum(entry.mean for entry in row.values()) / 4
        for method, row in printed.AUC.items()
    }
    assert max(means, key=means.get) == "sht-auc"
    assert means["sht-auc"] == pytest.approx((0.551 + 0.675 + 0.766 + 0.820) / 4)
