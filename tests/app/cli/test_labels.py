"""Labels: unknown ones are refused by name, and blank ones are missing."""

import json

import numpy as np
import pytest

from commands import run_to_end as run


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a table with labels of one's own, and a model of labels 0 and 1."""
    folder = tmp_path_factory.mktemp("labels")
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    rows = np.column_stack([rng.normal(size=120) + 1.2 * y, rng.normal(size=120)])

    def write(name, label):
        lines = [
            f"{a:.4f},{b:.4f},{label(int(y[i]), i)}" for i, (a, b) in enumerate(rows)
        ]
        (folder / name).write_text("\n".join(["a,b,y", *lines]) + "\n")
        return folder / name

    train = write("train.csv", lambda label, _: label)
    model = folder / "model.json"
    run("fit", train, "-t", "y", "-k", 2, "--alpha", 1, "--quick", "--out", model)
    return write, train, model


def area(*arguments):
    return json.loads(run(*arguments, "--json").stdout)["auc"]["auc"]


def test_unknown_labels_are_refused_by_name(written):
    write, train, model = written
    expected = area("validate", model, train)
    coded = write("coded12.csv", lambda label, _: label + 1)
    said = run("validate", model, coded, code=3).stderr
    assert "'y' is '2' (60 rows), which the model does not know" in said
    assert "fitted to '1' and '0'" in said
    assert area("validate", model, coded, "--positive", 2, "--negative", 1) == expected

    ninths = write("with9.csv", lambda label, i: 9 if i < 40 else label)
    said = run("validate", model, ninths, code=3).stderr
    assert "'9' (40 rows)" in said
    result = json.loads(
        run("validate", model, ninths, "--negative", 0, "--json").stdout
    )
    assert any("'9' (40 rows)" in note for note in result["notes"])
    assert result["rows"] == 80
    # 1.0 is 1, and blanks are missing.
    spelled = write("spelled.csv", lambda label, i: "   " if i < 20 else f" {label}.0 ")
    result = json.loads(run("validate", model, spelled, "--json").stdout)
    assert any("20 rows without outcome" in note for note in result["notes"])


def test_labels_of_a_model_of_several_negative_labels(written):
    write, _, _ = written
    three = write(
        "three.csv", lambda label, i: "ill" if label else ("well" if i % 4 else "so-so")
    )
    model = three.parent / "three.json"
    run(
        "fit",
        three,
        "-t",
        "y",
        "--positive",
        "ill",
        "-k",
        1,
        "--alpha",
        1,
        "--quick",
        "--out",
        model,
    )
    assert area("validate", model, three) > 0.6
    other = write(
        "other.csv", lambda label, i: "ill" if label else ("well" if i % 4 else "dead")
    )
    assert (
        "'dead' (30 rows), which the model does not know"
        in run("validate", model, other, code=3).stderr
    )


def test_rows_of_other_classes_are_left_out_of_a_fit(written):
    write, *_ = written
    table = write(
        "invalid.csv", lambda label, i: "invalid" if i < 10 else ("no", "yes")[label]
    )
    said = run("fit", table, "-t", "y", "--quick", code=3).stderr
    assert "--positive yes --negative no" in said
    options = ["-k", 1, "--alpha", 1, "--quick", "--json"]
    classes = ["--positive", "yes", "--negative", "no"]
    found = json.loads(run("fit", table, "-t", "y", *classes, *options).stdout)
    assert (found["rows"], found["negative_labels"]) == (110, ["no"])
    assert any(
        "10 rows left out in which 'y' is 'invalid'" in note
        for note in found["warnings"]
    )
    alone = json.loads(
        run("fit", table, "-t", "y", "--positive", "yes", *options).stdout
    )
    assert (alone["rows"], alone["negative_labels"]) == (120, ["invalid", "no"])
    blank = write(
        "blank.csv", lambda label, i: "   " if i < 9 else ("No", "Yes")[label]
    )
    found = json.loads(run("fit", blank, "-t", "y", *options).stdout)
    assert (found["rows"], found["positive"]) == (111, "Yes")
    assert any("9 rows have no 'y'" in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    ("labels", "positive"),
    [(("PD", "control"), "PD"), (("benign", "M"), "M"), (("dead", "survived"), "dead"),
     (("0", "1"), "1"), (("no", "none"), "none"), (("a", "b"), "b")],
)  # fmt: skip
def test_words_for_negatives_are_the_negative_class(written, labels, positive):
    write, *_ = written
    table = write("words.csv", lambda label, _: labels[label])
    found = json.loads(
        run("fit", table, "-t", "y", "-k", 1, "--alpha", 1, "--quick", "--json").stdout
    )
    assert found["positive"] == positive
    assert any(
        f"the positive class is {positive!r}, because" in note
        for note in found["notes"]
    )
