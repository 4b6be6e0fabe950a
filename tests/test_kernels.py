"""Compiled kernels are kept in files, and no file is trusted more than it deserves."""

import importlib.util
import logging
import sys

import numba
import pytest

from sparseauc.utils import jit

TEXT = """
from sparseauc.utils.jit import inlined_kernel, kernel

STEP = 3

@inlined_kernel
def twice(x):
    return 2 * x

@kernel
def add(x, y):
    return x + y

@kernel
def climb(x):
    return add(twice(x), STEP)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for kernels, and nothing said yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(jit._NOTICE, "said_not_kept", False)
    return tmp_path / "kept" / "sparseauc"


@pytest.fixture
def climb(tmp_path, folder):
    """Call ``climb`` of a text as a new process does; also how many kernels it found in files."""

    def call(x, text=TEXT):
        path = tmp_path / "climbing.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("sparseauc_climbing", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["sparseauc_climbing"] = module
        # exec, so that no bytecode of an earlier text is taken
        exec(compile(text, path, "exec"), module.__dict__)
        return module.climb(x), sum(module.climb.stats.cache_hits.values())

    yield call
    sys.modules.pop("sparseauc_climbing", None)


def test_a_second_process_finds_the_kernels(climb, folder):
    assert climb(4) == (11, 0)
    names = sorted(path.name.partition("-")[0] for path in folder.iterdir())
    assert names == ["sparseauc_climbing.add", "sparseauc_climbing.climb"]
    assert climb(4) == (11, 1)
    assert climb(4.0) == (11.0, 0)  # another signature
    assert climb(4.0) == (11.0, 1)


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ("x + y", "x - y", 5),  # of a kernel that is called
        ("2 * x", "5 * x", 23),  # of one that is inlined
        ("STEP = 3", "STEP = 4", 12),  # of a constant that both see
    ],
)
def test_an_edit_anywhere_below_a_kernel_is_noticed(climb, before, after, answer):
    climb(4)
    assert climb(4, TEXT.replace(before, after)) == (answer, 0)
    assert climb(4) == (11, 1)


def test_lines_that_move_compile_nothing(climb):
    climb(4)
    moved = "# A comment.\n" + TEXT.replace("2 * x", "(2 * x)  # twice")
    assert climb(4, moved) == (11, 1)


def test_other_settings_of_numba_have_files_of_their_own(climb, monkeypatch):
    climb(4)
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert climb(4) == (11, 0)


@pytest.mark.parametrize("damage", [lambda old: old[:100], lambda old: b"", lambda old: old + b"1"])
def test_a_damaged_file_is_compiled_again(climb, folder, damage):
    climb(4)
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    for path, content in whole.items():
        path.write_bytes(damage(content))
    assert climb(4) == (11, 0)
    assert all(len(path.read_bytes()) > 200 for path in whole)
    assert climb(4) == (11, 1)


def test_a_file_of_something_else_is_compiled_again(climb, folder):
    climb(4)
    for path in folder.iterdir():
        jit._write(path, jit.dumps("nonsense"))
    assert climb(4) == (11, 0)
    assert climb(4) == (11, 1)


def test_a_full_disk(climb, folder, caplog):
    """A limit on the length of a file refuses what a full disk refuses, after the first bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with caplog.at_level(logging.WARNING):
            answer = climb(4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert answer == (11, 0)
    assert list(folder.iterdir()) == []
    (line,) = [text for text in caplog.messages if "kept" in text]
    assert "NUMBA_CACHE_DIR" in line
    assert climb(4) == (11, 0)
    assert climb(4) == (11, 1)


def test_a_folder_that_cannot_be_made(climb, folder, caplog):
    folder.parent.write_text("a file stands in the way")
    with caplog.at_level(logging.WARNING):
        assert climb(4) == (11, 0)
    assert len([text for text in caplog.messages if "NUMBA_CACHE_DIR" in text]) == 1
