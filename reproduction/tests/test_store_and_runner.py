import sqlite3
import subprocess
import sys
import textwrap

import pytest

from sparseauc_paper import synthetic
from sparseauc_paper.plan import Request, table_tasks
from sparseauc_paper.runner import compute, describe_failures, run_tasks
from sparseauc_paper.store import Outcome, Store, StoreError
from tiny import TINY

REQUEST = Request(TINY, "corrected", ("mean-difference", "sto-iht"), seed=0)


def tasks():
    return list(table_tasks(REQUEST, "corrected").values())


def results(store, some):
    """What was computed, but for the time it took."""
    return {
        task.key: {**outcome.result, "seconds": None}
        for task, outcome in store.get(some).items()
    }


def result(auc):
    """A result with all that one must hold."""
    return dict.fromkeys(tasks()[0].fields, 0.5) | {"auc": auc}


def test_what_is_kept_comes_back(tmp_path):
    first, second = tasks()[:2]
    with Store(tmp_path / "new" / "store.sqlite") as store:
        assert not store.has(first)
        assert store.get([first, second]) == {}
        store.add(first, Outcome(result(0.1 + 0.2) | {"chosen": {"k": 3}}, None, 1.5))
        assert store.has(first)
        assert not store.has(second)
    with Store(tmp_path / "new" / "store.sqlite") as store:
        (outcome,) = store.get([first, second]).values()
        assert outcome == Outcome(result(0.1 + 0.2) | {"chosen": {"k": 3}}, None, 1.5)


def test_a_result_is_never_replaced_and_an_error_is(tmp_path):
    first, second = tasks()[:2]
    with Store(tmp_path / "store.sqlite") as store:
        for outcome in (
            Outcome(result(1), None, 1.0),
            Outcome(result(2), None, 1.0),
            Outcome(None, "failed", 1.0),
        ):
            store.add(first, outcome)
        assert store.get([first])[first].result == result(1)
        store.add(second, Outcome(None, "failed", 1.0))
        assert not store.has(second)
        assert store.get([second])[second].error == "failed"
        store.add(second, Outcome(result(3), None, 1.0))
        assert store.get([second])[second] == Outcome(result(3), None, 1.0)


def test_a_file_that_is_no_store(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(
        "not a database, but some words that are long enough to be read as a header"
    )
    with pytest.raises(StoreError, match=r"cannot keep results in .*notes\.txt"):
        Store(path)
    with pytest.raises(StoreError, match="cannot keep results"):
        Store(tmp_path)


@pytest.mark.parametrize("text", ["{}", "not JSON", "[1]", "3", '{"auc": 1}'])
def test_a_damaged_result_is_named(tmp_path, text):
    (first, *_) = tasks()
    with Store(tmp_path / "store.sqlite") as store:
        store.add(first, Outcome(result(1), None, 1.0))
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("UPDATE tasks SET result = ?", (text,))
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(
            StoreError, match=r"store\.sqlite holds a damaged result, without '"
        ),
    ):
        store.get([first])


def test_a_table_of_another_schema(tmp_path):
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("CREATE TABLE tasks (name TEXT)")
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(StoreError, match="no such column: key"),
    ):
        store.get(tasks())


def test_damaged_pages(tmp_path):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        for task in tasks():
            store.add(task, Outcome(result(1) | {"long": "x" * 3000}, None, 1.0))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="cannot keep results"), Store(path) as store:
        store.get(tasks())


def test_runs_what_is_missing_and_nothing_twice(tmp_path):
    some = tasks()
    with Store(tmp_path / "store.sqlite") as store:
        first = run_tasks(some[:3] + some[:3], store)
        assert (first.done, first.failed, first.found) == (3, 0, 0)
        second = run_tasks(some, store)
        assert (second.done, second.found) == (len(some) - 3, 3)
        assert run_tasks(some, store).done == 0
        assert all(outcome.seconds > 0 for outcome in store.get(some).values())
        # Where and when the numbers were made; the third run made none.
        runs = store.runs()
        assert [run.tasks for run in runs] == [3, len(some) - 3]
        assert "cores" in runs[0].machine
        assert runs[0].started <= runs[0].ended


@pytest.mark.slow
def test_same_numbers_whatever_the_jobs(tmp_path):
    some = tasks()
    found = []
    for jobs in (1, 2):
        with Store(tmp_path / f"{jobs}.sqlite") as store:
            run_tasks(some, store, jobs=jobs)
            found.append(results(store, some))
    assert found[0] == found[1]
    assert len(found[0]) == len(some)


def test_a_failure_is_kept_and_tried_again(tmp_path, monkeypatch):
    some = tasks()
    whole = synthetic.compute

    def fails_on_the_first_fold(settings):
        if settings["fold"] == 0:
            raise ZeroDivisionError("no rows on fold 0")
        return whole(settings)

    monkeypatch.setattr(synthetic, "compute", fails_on_the_first_fold)
    with Store(tmp_path / "store.sqlite") as store:
        progressed = run_tasks(some, store)
        assert progressed.done == len(some)
        assert progressed.failed == len(some) // 2
        outcomes = store.get(some)
        (line,) = describe_failures(outcomes)
        assert line == f"ZeroDivisionError: no rows on fold 0 ({len(some) // 2} tasks)"
        errors = [outcome.error for outcome in outcomes.values() if outcome.error]
        assert all(
            "fails_on_the_first_fold" in error for error in errors
        )  # with its traceback
        monkeypatch.setattr(synthetic, "compute", whole)
        again = run_tasks(some, store)
        assert (again.done, again.failed) == (len(some) // 2, 0)
        assert not any(outcome.error for outcome in store.get(some).values())


@pytest.mark.slow
def test_two_runs_at_once_on_one_store(tmp_path):
    path = tmp_path / "store.sqlite"
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from test_store_and_runner import tasks
        from sparseauc_paper.runner import run_tasks
        from sparseauc_paper.store import Store
        with Store(Path(sys.argv[1])) as store:
            print(run_tasks(tasks(), store).failed)
    """)
    folder = str(__file__).rsplit("/", 1)[0]
    command = [sys.executable, "-c", script, str(path), folder]
    runs = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for run in runs:
        out, err = run.communicate(timeout=120)
        assert (run.returncode, out.strip()) == (0, "0"), err
    some = tasks()
    with Store(path) as store:
        together = results(store, some)
    assert together == {
        task.key: {**compute(task)[1].result, "seconds": None} for task in some
    }
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_no_task_is_begun_when_the_time_is_up(tmp_path):
    some = tasks()
    with Store(tmp_path / "store.sqlite") as store:
        none = run_tasks(some, store, seconds=0.0)
        assert (none.done, none.left) == (0, len(some))
        every = run_tasks(some, store, seconds=3600.0)
        assert (every.done, every.left) == (len(some), 0)
