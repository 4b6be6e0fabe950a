import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparseauc.columns.reading import ReadColumns
from sparseauc_app.reading import DataError, Rules, Source, training_table
from sparseauc_app.reading.checks import leaking_columns

RNG = np.random.default_rng(0)
N = 40
Y = np.arange(N) % 4 == 0
BASE = {"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": np.where(Y, "yes", "no")}


def table(columns=None, rules=None, drop=(), **extra):
    content = {
        k: v for k, v in {**BASE, **(columns or {}), **extra}.items() if k not in drop
    }
    source = Source("t.csv", pa.table(content))
    return training_table(source, rules or Rules(target="y"))


def with_gaps(values, *rows):
    return [None if i in rows else v for i, v in enumerate(values)]


# -------------------------------------------------------------------------- the outcome


def test_two_classes():
    ready = table()
    assert (ready.positive, ready.negative, ready.target) == ("yes", "no", "y")
    assert ready.y.tolist() == Y.astype(int).tolist()
    assert ready.columns.tolist() == ["a", "b"]
    np.testing.assert_array_equal(ready.X, np.column_stack([BASE["a"], BASE["b"]]))
    turned = table(rules=Rules(target="y", positive="no"))
    assert (turned.positive, turned.y.tolist()) == ("no", (1 - ready.y).tolist())


@pytest.mark.parametrize(
    ("labels", "negative", "positive"),
    [
        (Y, "False", "True"),
        (Y.astype(float), "0", "1"),
        (np.where(Y, 10, 9), "9", "10"),  # in the order of numbers, not of their digits
        (np.where(Y, 1, -1), "-1", "1"),
        (np.where(Y, 0.5, 0.25), "0.25", "0.5"),
        (pa.array(np.where(Y, "x", "a").tolist()).dictionary_encode(), "a", "x"),
    ],
)
def test_labels_of_many_types(labels, negative, positive):
    ready = table(y=labels)
    assert (ready.negative, ready.positive) == (negative, positive)
    assert ready.y.tolist() == Y.astype(int).tolist()


@pytest.mark.parametrize("given", ["TRUE", "true", "True"])
def test_positive_in_another_spelling(given):
    assert table(y=Y, rules=Rules(target="y", positive=given)).positive == "True"
    assert (
        table(y=Y.astype(int), rules=Rules(target="y", positive="1.0")).positive == "1"
    )


def test_three_classes():
    labels = np.array(["a", "b", "c", "a"] * 10)
    with pytest.raises(DataError, match=r"3 classes: 'a' \(20 rows\).*--positive"):
        table(y=labels)
    ready = table(y=labels, rules=Rules(target="y", positive="b"))
    assert (ready.positive, ready.negative) == ("b", "not b")
    assert ready.y.tolist() == (labels == "b").astype(int).tolist()
    with pytest.raises(DataError, match="no class 'd'; there are 'a'"):
        table(y=labels, rules=Rules(target="y", positive="d"))


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (["yes"] * N, "only one class: 'yes'"),
        (RNG.normal(size=N), "looks like a measurement"),
        ([None] * N, "only one class: no labels at all"),
        (["yes"] + ["no"] * (N - 1), "1 rows of 'y' are 'yes'"),
    ],
)
def test_outcomes_that_will_not_do(labels, says):
    with pytest.raises(DataError, match=says):
        table(y=labels)


def test_target_named_wrong():
    with pytest.raises(DataError, match=r"no column 'Y'; did you mean 'y'\?"):
        table(rules=Rules(target="Y"))
    with pytest.raises(
        DataError, match=r"which column is the outcome.*perhaps 'y' \(2 values\)"
    ):
        table(rules=Rules())


def test_rows_without_outcome_are_left_out_and_said():
    labels = with_gaps(BASE["y"].tolist(), 1, 2)
    ready = table(y=labels)
    assert ready.y.size == ready.X.shape[0] == N - 2
    assert "2 rows have no 'y'" in ready.warnings[0]


# ------------------------------------------------------------------------- text columns


def test_text_with_few_levels_is_chosen_whole_by_default():
    kinds = np.array(["x", "y", "z", "x"] * 10)
    words = np.where(np.arange(N) % 2, "red", "blue")
    ready = table(colour=words, kind=kinds, name=[f"p{i}" for i in range(N)], only=["w"] * N,
                  day=pa.array(np.arange(N) // 2, pa.int32()).cast(pa.date32()),
                  word=[f"w{i // 2 + 10}" for i in range(N - 4)] + ["w10"] * 4,
                  rules=Rules(target="y", max_levels=12))  # fmt: skip
    assert ready.columns.tolist() == ["a", "b", "colour", "kind"]
    assert ready.left_out == {
        "name": "differs in every row",
        "only": "only 'w'",
        "day": "a date",
        "word": "text with 18 levels",
    }
    note = ready.notes[-1]
    assert note == (
        "text columns are chosen with all their levels or not at all: 'colour', 'kind'; text and "
        "dates left out: 'name' (differs in every row), 'only' (only 'w'), 'day' (a date), 'word' "
        "(text with 18 levels). --text auto:N uses text of up to N levels"
    )


def test_numbers_with_exceptions_are_asked_about():
    entries = [str(i / 7) for i in range(N)]
    entries[5] = "abc"
    with pytest.raises(
        DataError, match=r"'m': 39 of 40 values are numbers, 1 are like"
    ) as caught:
        table(m=entries)
    assert caught.value.options == ("--numeric", "m")
    few = [*map(str, np.arange(N - 1) % 4), "4+"]
    ready = table(m=few)  # which may be codes
    assert ready.types["m"].levels == ("0", "1", "2", "3", "4+")
    assert (
        "'m': 39 of 40 values are numbers, 1 are like '4+'; --numeric 'm'"
        in ready.notes[-1]
    )


def test_text_is_read_by_its_levels():
    two = np.where(np.arange(N) % 2, "red", "blue").tolist()
    three = np.array(["x", "y", "z", "x"] * 10).tolist()
    ready = table(
        colour=with_gaps(two, 3), kind=three, rules=Rules(target="y", missing="median")
    )
    assert ready.columns.tolist() == ["a", "b", "colour", "kind"]
    assert ready.X["colour"].isna().tolist() == [i == 3 for i in range(N)]
    assert ready.X["kind"].tolist() == three
    assert ready.numbers.levels == {2: ("blue", "red"), 3: ("x", "y", "z")}
    expected = np.array([float(word == "red") for word in two])
    expected[3] = np.nan
    np.testing.assert_array_equal(ready.numbers.values[:, 2], expected)
    np.testing.assert_array_equal(ready.numbers.values[:, 0], ready.X["a"])
    assert ready.missing == {"colour": 1}
    assert "missing text is a level of its own: 'colour' (1)" in ready.notes
    assert not any("by the median" in note for note in ready.notes)


def test_text_dropped_or_excluded():
    words = ["w"] * N
    dropped = table(word=words, rules=Rules(target="y", text="drop"))
    assert dropped.columns.tolist() == ["a", "b"]
    assert any("'word'" in note for note in dropped.notes)
    assert table(
        word=words, rules=Rules(target="y", exclude=["word"])
    ).columns.tolist() == [
        "a",
        "b",
    ]
    with pytest.raises(
        DataError, match="--exclude: there is no column 'wurd'; did you mean 'word'"
    ):
        table(word=words, rules=Rules(target="y", exclude=["wurd"]))


def test_text_of_many_levels_is_left_out():
    ready = table(name=[f"p{i % 30}" for i in range(N)])
    assert ready.left_out == {"name": "text with 30 levels"}
    assert ready.notes[-1].endswith("--text auto:N uses text of up to N levels")


def test_types_that_are_numbers():
    ready = table(
        flag=Y,
        whole=pa.array(np.arange(N)[::-1], pa.int8()),
        money=pa.array([None] * N, pa.decimal128(5, 2)).fill_null(0),
        rules=Rules(target="y"),
    )
    np.testing.assert_array_equal(ready.X["flag"], Y.astype(float))
    assert ready.columns.tolist() == ["a", "b", "flag", "whole", "money"]


def test_dates_and_lists_are_not_numbers():
    dates = pa.array(np.arange(N), pa.int32()).cast(pa.date32())
    lists = pa.array([[1, 2]] * N)
    for column in (dates, lists):
        assert table(c=column).columns.tolist() == ["a", "b"]


def test_float32_stays():
    ready = table(a=BASE["a"].astype(np.float32), b=BASE["b"].astype(np.float32))
    assert ready.numbers.values.dtype == np.float32
    assert table(a=BASE["a"].astype(np.float32)).numbers.values.dtype == np.float64


def test_no_columns_left():
    source = Source("t.csv", pa.table({"a b y": ["1 2 0", "3 4 1"] * 5}))
    with pytest.raises(
        DataError, match=r"only one column, 'a b y'.*--format delimiter"
    ):
        training_table(source, Rules(target="a b y"))


# ----------------------------------------------------------------------- missing values


def test_missing_values_are_refused_naming_the_worst():
    with pytest.raises(DataError) as caught:
        table(a=with_gaps(BASE["a"], 1), b=with_gaps(BASE["b"], 3, 4, 5))
    assert "missing values in 'b' (3), 'a' (1)" in str(caught.value)
    assert "--missing median" in str(caught.value)


def test_rows_with_missing_values_dropped():
    gaps = {"a": with_gaps(BASE["a"], 1, 7)}
    rows = table(gaps, rules=Rules(target="y", missing="drop-rows"))
    keep = [i for i in range(N) if i not in (1, 7)]
    np.testing.assert_array_equal(rows.X["b"], BASE["b"][keep])
    assert rows.y.tolist() == Y[keep].astype(int).tolist()
    assert rows.missing == {"a": 2}
    assert rows.imputation is None


def test_values_to_impute_stay_missing_until_the_fit():
    ready = table(a=with_gaps(BASE["a"], 1), rules=Rules(target="y", missing="median"))
    assert np.argwhere(ready.X.isna()).tolist() == [[1, 0]]
    assert ready.imputation == "median"


def test_empty_columns_are_left_out():
    assert table(nothing=pa.nulls(N)).columns.tolist() == ["a", "b"]
    assert table(nothing=pa.array([None] * N, pa.float64())).columns.tolist() == [
        "a",
        "b",
    ]


def test_infinite_values_are_refused():
    with pytest.raises(DataError, match="infinite values in 'a'"):
        table(a=np.where(np.arange(N) == 3, np.inf, BASE["a"]))


def test_every_row_missing():
    gaps = {
        "a": with_gaps(BASE["a"], *range(0, N, 2)),
        "b": with_gaps(BASE["b"], *range(1, N, 2)),
    }
    with pytest.raises(DataError, match="every row has a missing value"):
        table(gaps, rules=Rules(target="y", missing="drop-rows"))


# ------------------------------------------------------------------------------ groups,
# ids, leaks


def test_groups_and_ids_are_no_columns():
    ready = table(
        patient=["p", "q"] * (N // 2), who=np.arange(N) + 100,
        rules=Rules(target="y", groups="patient", ids="who"),
    )  # fmt: skip
    assert ready.columns.tolist() == ["a", "b"]
    assert ready.groups.tolist() == [0, 1] * (N // 2)
    with pytest.raises(
        DataError, match="--ids: there is no column 'whom'; did you mean 'who'"
    ):
        table(who=np.arange(N), rules=Rules(target="y", ids="whom"))
    with pytest.raises(DataError, match="'patient' is missing in row 4"):
        table(
            patient=with_gaps(["p"] * N, 3), rules=Rules(target="y", groups="patient")
        )


def warned(**columns):
    return " ".join(table(**columns).warnings)


def test_ids_are_left_out_with_a_note():
    shuffled = RNG.permutation(N) + 1000

    def left_out(**columns):
        found = table(a=RNG.normal(size=N), **columns)
        assert {*found.left_out} == {*columns} - {*found.columns.tolist()}
        assert any("identifiers left out" in note for note in found.notes) == bool(
            found.left_out
        )
        return [*found.left_out]

    assert left_out(patient_id=shuffled) == ["patient_id"]
    assert left_out(**{"Unnamed: 0": shuffled, "PatientID": shuffled[::-1]}) == [
        "Unnamed: 0",
        "PatientID",
    ]
    assert left_out(n=np.arange(N) + 5) == ["n"]  # counts the rows
    assert left_out(n=np.cumsum(RNG.integers(1, 9, N))) == ["n"]  # rises
    assert left_out(cells=shuffled) == []  # distinct numbers, but no id by name
    assert left_out(cell_number=shuffled, idle=shuffled[::-1]) == []
    assert left_out(width_id=shuffled + 0.5) == []
    assert left_out(site_id=np.arange(N) % 5) == []
    kept = table(
        a=RNG.normal(size=N), id=shuffled, rules=Rules(target="y", keep=["id"])
    )
    assert kept.columns.tolist() == ["a", "b", "id"]
    # A table of nothing else keeps them.
    assert table(id=shuffled, drop=["a", "b"]).columns.tolist() == ["id"]


def test_of_exact_copies_one_is_a_candidate():
    a, b = RNG.normal(size=(2, N))
    found = table(a=a, b=b, c=a, d=with_gaps(b.tolist(), 3), e=with_gaps(b.tolist(), 3),
                  rules=Rules(target="y", missing="median"))  # fmt: skip
    assert found.columns.tolist() == ["a", "b", "d"]
    assert found.left_out == {"c": "a copy of a", "e": "a copy of d"}
    assert (
        "exact copies of other columns left out: 'c' (of 'a'), 'e' (of 'd')"
        in found.notes[-1]
    )
    kept = table(a=a, b=b, c=a, rules=Rules(target="y", keep=["c"]))
    assert kept.columns.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("target", "name", "told"),
    [("status", "time", True), ("fstat", "lenfol", True), ("e.tdm", "t.tdm", True),
     ("death", "follow_up_days", True), ("sepsis", "time", True), ("status", "age", False),
     ("arrest", "week", True), ("rinfct", "time_in_days", True), ("arrest", "weekday", False),
     ("status", "timer", False), ("event", "GA.at.outcome", True)],
)  # fmt: skip
def test_follow_up_times_are_warned_of_by_name(target, name, told):
    frame = pa.table({target: Y, name: RNG.normal(size=N), "a": RNG.normal(size=N)})
    found = training_table(Source("t", frame), Rules(target=target))
    assert (
        any(
            "follow-up" in one and f"--exclude {name!r}" in one
            for one in found.warnings
        )
        is told
    )


def test_codes_for_missing_values_are_warned_of():
    x = RNG.normal(10, 2, N).round(1)
    code = np.where(np.arange(N) % 5 == 0, -999.0, x)
    assert "'x' is -999 in" in warned(x=code)
    assert "-999" not in warned(x=np.where(np.arange(N) == 0, -999.0, x))  # once
    assert "'n'" not in warned(n=RNG.integers(-9, 9, N))
    assert "'n'" not in warned(n=np.where(np.arange(N) % 5 == 0, 99, 59 + np.arange(N)))
    assert "'n'" not in warned(n=np.where(np.arange(N) == 0, -9, np.arange(N)))  # once


@pytest.mark.parametrize("codes", [(-9,), (99,), (-9, -99), (-9, 999), (-1,)])
def test_codes_near_other_values_are_warned_of(codes):
    """Body mass indices of 18 to 57, and answers of 1 to 5."""
    place = np.arange(N) % 4
    for values in (18 + np.arange(N), 1.0 + np.arange(N) % 5):
        if codes == (-1,) and values[0] == 1.0:  # -1 may be an answer
            continue
        for j, code in enumerate(codes):
            values = np.where(place == j, code, values)
        said = warned(x=values)
        assert all(f"'x' is {code} in 10 rows" in said for code in codes)
        assert f"--missing-codes {','.join(map(str, sorted(codes)))}" in said
    assert "'n'" not in warned(
        n=np.where(np.arange(N) % 5 == 0, -1, RNG.integers(0, 5, N))
    )


def test_repeated_rows_are_warned_of():
    a, b = RNG.normal(size=(2, N // 2))
    half = Y[: N // 2]
    frame = pa.table({"a": np.tile(a, 2), "b": with_gaps(np.tile(b, 2).tolist(), 1, 1 + N // 2),
                      "y": np.tile(half, 2)})  # fmt: skip
    rules = Rules(target="y", missing="median")
    said = " ".join(training_table(Source("t", frame), rules).warnings)
    assert f"{N // 2} of {N} rows repeat another" in said
    assert f"first row {N // 2 + 1}, which repeats row 1" in said
    assert "repeat" not in warned(a=RNG.normal(size=N), b=RNG.normal(size=N))
    assert "repeat" not in warned(a=RNG.integers(0, 2, N), b=RNG.integers(0, 3, N))
    texts = np.array(list("abc"))[RNG.integers(0, 3, (4, N))]
    few = dict(zip("abcd", texts, strict=True))
    for text in ("one-hot", "auto"):
        told = table(**few, rules=Rules(target="y", text=text)).warnings
        assert "repeat" not in " ".join(told)


def test_rows_without_any_value_are_named():
    a, b = (with_gaps(RNG.normal(size=N).tolist(), 3, 7, 8) for _ in "ab")
    frame = pa.table({"a": a, "b": b, "y": Y})
    (said,) = training_table(
        Source("t", frame), Rules(target="y", missing="median")
    ).warnings[-1:]
    assert (
        said == f"3 of {N} rows have no value in any column, first row 4: remove them"
    )


@pytest.mark.parametrize(
    ("target", "name", "told"),
    [
        ("status", "futime", True),
        ("status", "months_since_last_inquiry", False),
        ("Recurrence", "TimeToRecurrence", True),
        ("Recurrence", "T.Stage", False),
        ("cmv", "time.to.cmv", True),
        ("cmv", "time.to.transplant", False),
        ("e.tdm", "t.tdm", True),
    ],
)
def test_names_of_follow_up_times(target, name, told):
    found = training_table(
        Source("t", pa.table({**BASE, name: RNG.random(N), target: Y})),
        Rules(target=target),
    )
    assert (
        any(f"{name!r} looks like the time to" in one for one in found.warnings) == told
    )


def test_repeated_identifiers_are_left_out():
    ids = np.arange(N) // 1.5 // 1
    ready = table({"patient_id": RNG.permutation(ids), "mitotic index": ids})
    assert ready.left_out == {"patient_id": "an identifier"}
    assert any("--groups 'patient_id'" in one for one in ready.warnings)
    assert "longestNoSmoke" not in warned(longestNoSmoke=ids)


def test_leaks_are_warned_of():
    assert "'code' (AUC 1.000) nearly separates" in warned(code=np.where(Y, 7.0, 3.0))
    assert "'late' (AUC" in warned(late=-np.where(Y, 9.0, 0.0) + RNG.normal(size=N))
    assert "separate" not in warned(good=np.where(Y, 0.5, 0.0) + RNG.normal(size=N))


def test_a_whole_text_column_may_leak():
    stages = np.array(["a", "b", "c", "d"])[2 * Y + RNG.integers(2, size=N)]
    assert "'stage' (AUC 1.000) nearly separates" in warned(stage=stages)
    assert "separate" not in warned(
        stage=np.array(["a", "b", "c", "d"])[RNG.integers(4, size=N)]
    )


@given(st.integers(0, 2**32 - 1))
def test_leaks_as_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    n, d = 60, 8
    positive = rng.random(n) < rng.uniform(0.1, 0.9)
    positive[:2] = [True, False]
    strength = rng.choice([0.0, 1.0, 8.0], d)
    X = strength * positive[:, None] + rng.normal(size=(n, d)) * rng.choice(
        [0.0, 1.0], d
    )
    X *= rng.random((n, d)) < rng.choice([0.5, 0.97, 1.0], d)
    found = leaking_columns(ReadColumns(X), positive, [f"x{j}" for j in range(d)])
    expected = []
    for j in range(d):
        pairs = [
            (a > b) + 0.5 * (a == b) for a in X[positive, j] for b in X[~positive, j]
        ]
        area = max(np.mean(pairs), 1 - np.mean(pairs))
        spread = X[:, j].std() > 0
        if area >= 0.95 or (
            spread and abs(np.corrcoef(X[:, j], positive)[0, 1]) >= 0.95
        ):
            expected.append(f"'x{j}' (AUC {area:.3f})")
    assert found == expected
