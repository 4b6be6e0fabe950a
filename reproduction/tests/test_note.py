"""The note to the authors: complete, short, and true to the results."""

import re
import shutil

import numpy as np
import pytest

from sparseauc_paper import plan
from sparseauc_paper.claims import judge_claims
from sparseauc_paper.note import about_signs, make_note
from sparseauc_paper.page import to_markdown, write_pdf, write_report
from sparseauc_paper.plan import Request
from sparseauc_paper.results import Results
from test_summaries import REQUEST, invented, synthetic
from tiny import TINY


@pytest.mark.usefixtures("data_folder")
def test_the_note_has_all_parts_and_every_verdict_against():
    results = Results(REQUEST, invented(REQUEST))
    note = make_note(results, {"commit": "commit abc1234"})
    assert [section.heading for section in note.sections] == [
        "Scope",
        "Claims",
        "Method",
        "Results",
        "What was easy",
        "What was difficult",
        "Two questions",
    ]
    text = to_markdown(note, "note")
    assert "commit abc1234" in text
    assert "2f338cd" in text
    assert "Which seed" in text
    assert "Jaccard" in text
    failed = [
        verdict
        for _, verdicts in judge_claims(results)
        for verdict in verdicts.values()
        if verdict.kind in ("fails", "smaller")
    ]
    for verdict in failed:
        assert verdict.numbers.split(" ± ")[0].replace("|", r"\|") in text.replace(
            "\\", ""
        )


def test_signs_are_told_by_both_arms():
    request = Request(TINY, "corrected", ("sht-auc", "solam"), seed=0, datasets=())
    rng = np.random.default_rng(0)
    outcomes = {}
    for (method, *_), task in plan.table_tasks(request, "corrected").items():
        outcomes[task] = synthetic(
            0.6, (0.4 if method == "sht-auc" else 0.3) + rng.normal(0, 0.01)
        )
    for task in plan.one_sided_tasks(request).values():
        outcomes[task] = synthetic(0.6, 0.5 + rng.normal(0, 0.01))
    (text,) = about_signs(Results(request, outcomes))
    gaps = re.search(r"from (−0\.\d+) ± .* to (\+0\.\d+) ±", text).groups()
    assert [float(gap.replace("−", "-")) for gap in gaps] == pytest.approx(
        [-0.1, 0.1], abs=0.02
    )
    assert about_signs(Results(request, {})) == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
@pytest.mark.usefixtures("data_folder")
def test_the_note_is_printed_upright(tmp_path):
    note = make_note(Results(REQUEST, invented(REQUEST)), {})
    page = write_report(note, tmp_path, "note")
    assert "size: A4;" in page.read_text(encoding="utf-8")
    assert write_pdf(page, tmp_path / "note.pdf").read_bytes().startswith(b"%PDF")
