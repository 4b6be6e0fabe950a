"""Limits: what they refuse, read from files, carry through models, and say of themselves."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from sparseauc import Limits, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc_app import load_model, save_model


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"signs": {"a": 2}}, "signs: column 'a' has 2; a sign is 1 or"),
        ({"signs": {"a": "up"}}, "signs: column 'a' has 'up'; a sign is 1 or"),
        ({"signs": [0, np.nan]}, "signs: column 1 has nan"),
        ({"signs": "+"}, r"signs must be a dict or a list, got '\+'"),
        ({"signs": 1}, "signs must be a dict or a list, got 1"),
        ({"costs": {"a": -1}}, "cost of column 'a' is -1; a cost is a finite number"),
        ({"costs": [1, np.nan]}, "cost of column 1 is nan"),
        ({"costs": [1, None]}, "cost of column 1 is None"),
        ({"budget": -1}, "budget is -1: a budget is a finite number of 0 or more"),
        ({"budget": np.nan}, "budget is nan"),
        ({"budget": np.inf}, "budget is inf"),
        ({"budget": "much"}, "budget is 'much'"),
        ({"budget": []}, "budget is empty"),
        ({"families": [["a"], ["b"]]}, r"got shape \(2, 1\)"),
        (
            {"families": list("ab"), "max_per_family": 0},
            "max_per_family must be a whole number",
        ),
        ({"families": list("ab"), "max_per_family": True}, "max_per_family must be"),
        ({"max_per_family": 2}, "max_per_family=2 has no effect without families"),
        (
            {"always_include": "age"},
            "always_include must be a list of columns, got 'age'",
        ),
        ({"always_include": ["x"], "exclude": ["x", "y"]}, "column 'x' is in both"),
    ],
)
def test_what_cannot_hold_is_refused_at_once(given, message):
    with pytest.raises(ValueError, match=message):
        Limits(**given)


def test_values_are_plain_and_comparable():
    frozen = Limits(signs=np.array([1, 0, -1]), always_include=np.array(["a", "b"]))
    assert frozen == Limits(signs=[1, 0, -1], always_include=["a", "b"])
    assert frozen == pickle.loads(pickle.dumps(frozen))
    assert frozen == Limits(signs=["+", 0, "-"], always_include=("a", "b"))
    assert Limits(signs=pd.Series({"a": 1})) == Limits(signs={"a": "+"})
    assert Limits(signs={}) == Limits() == Limits(always_include=[])
    assert repr(frozen) == "Limits(signs=(1, 0, -1), always_include=('a', 'b'))"
    with pytest.raises(AttributeError, match="cannot assign"):
        frozen.signs = None


TOML = """
budget = 14
max_per_family = 2
always_include = ["age"]

[signs]
crp = "+"
age = -1

[costs]
age = 0
crp = 5.5

[families]
crp = "blood"
"""


def test_files(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(TOML)
    expected = Limits(
        budget=14, max_per_family=2, always_include=["age"], signs={"crp": 1, "age": -1},
        costs={"age": 0, "crp": 5.5}, families={"crp": "blood"},
    )  # fmt: skip
    assert Limits.read([path]) == expected
    table = tmp_path / "limits.csv"
    table.write_text(
        "name,cost,sign,family,include,remark\nage,0,-,,always,x\ncrp,5.5,+,blood,,y\n"
    )
    rest = tmp_path / "rest.toml"
    rest.write_text("max_per_family = 2")
    assert Limits.read([table, rest], budget=14) == expected
    assert Limits.read([table, "max_per_family=2", "budget=14"]) == expected
    with pytest.raises(ValueError, match="budget=much: 'much' is not a number"):
        Limits.read(["budget=much"])
    table.write_text("name,cost,include\na,2,never\nb,2,\n")
    assert Limits.read([table]) == Limits(costs={"a": 2.0, "b": 2.0}, exclude=["a"])
    with pytest.raises(ValueError, match="costs of 'a' is given twice"):
        Limits.read([table], costs={"a": 1})
    with pytest.raises(ValueError, match="budget is given twice"):
        Limits.read([path], budget=3)
    with pytest.raises(
        ValueError, match=r"neither a \.toml nor a \.csv file, nor budget=X"
    ):
        Limits.read([tmp_path / "limits.txt"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "budgets = 3", "'budgets' is not a limit; did you mean 'budget'"),
        ("a.toml", "budget = ", "is not a TOML file"),
        ("a.toml", "budget = -3", "a.toml: budget is -3"),
        (
            "a.csv",
            "name,price\nage,3\n",
            "needs a column name and one or more of column_group",
        ),
        ("a.csv", "", "needs a column name"),
        ("a.csv", "name,cost\nage,dear\n", "the cost of 'age' is 'dear', not a number"),
        ("a.csv", "name,cost\nage,1\nage,2\n", "'age' occurs 2 times"),
        (
            "a.csv",
            "name,include\nage,yes\n",
            "include of 'age' is 'yes', not always or never",
        ),
        ("a.csv", "name,sign\nage,up\n", "a.csv: signs: column 'age' has 'up'"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        Limits.read([tmp_path / name])


@pytest.fixture(scope="module")
def rows():
    X, y = make_outbreak(n=200, d=6, k=3, mu=1.0, r=0.3, random_state=0)
    return pd.DataFrame(X, columns=list("abcdef")), y


def test_groups_of_columns(rows):
    X, y = rows
    alone = SparseAUCClassifier(3).fit(X, y)
    every = SparseAUCClassifier(3, limits=Limits(column_groups=[None] * 6)).fit(X, y)
    np.testing.assert_allclose(every.coef_, alone.coef_, rtol=1e-9)
    some = SparseAUCClassifier(3, limits=Limits(column_groups={"a": 1, "f": 1})).fit(
        X, y
    )
    chosen = set(some.get_feature_names_out())
    assert len(chosen & {"a", "f"}) != 1


def test_a_list_shorter_than_k_says_why(rows):
    X, y = rows
    model = SparseAUCClassifier(5, limits=Limits(families=list("aaabbb")))
    with pytest.warns(
        UserWarning, match="k=5 is greater than the 2 that the limits allow"
    ):
        model.fit(X, y)
    with pytest.warns(UserWarning, match="k=7 is greater than n_features=6"):
        SparseAUCClassifier(7).fit(X, y)


def test_limits_go_into_the_model_file(rows, tmp_path):
    X, y = rows
    limits = Limits(
        signs={"a": "-"}, costs=[1, 2, 3, 1, 2, 3], budget=9, families={0: "p", "b": "p"},
        always_include=["a"], exclude=[4],
    )  # fmt: skip
    model = SparseAUCClassifier(3, limits=limits).fit(X, y)
    card = save_model(tmp_path / "m.json", model)
    expected = {
        "signs": {"a": -1}, "costs": dict(zip("abcdef", [1, 2, 3, 1, 2, 3], strict=True)),
        "budget": 9.0, "families": {"a": "p", "b": "p"},
        "always_include": ["a"], "exclude": ["e"],
    }  # fmt: skip
    assert card.summary["limits"] == expected
    assert json.loads(json.dumps(card.summary["limits"])) == expected
    assert load_model(tmp_path / "m.json").summary["limits"] == expected
