"""Compiled kernels are kept in files, and no file is trusted more than it deserves."""

import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.registry import cpu_target

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
    monkeypatch.setattr(jit.NOTICE, "said_not_kept", False)
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


@pytest.mark.parametrize(
    "damage", [lambda old: old[:100], lambda old: b"", lambda old: old + b"1"]
)
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


@pytest.fixture
def shipped(tmp_path, folder, climb, monkeypatch):
    """A folder with the kernels of ``climb(4)``, as a wheel carries them, and none elsewhere."""
    climb(4)
    shipped = folder.rename(tmp_path / "shipped")
    here = jit.Target.of(cpu_target.target_context.codegen())
    (shipped / jit.ABOUT).write_text(json.dumps(here._asdict()))
    monkeypatch.setattr(jit, "SHIPPED", shipped)
    monkeypatch.setitem(jit._INSTRUCTIONS, here.processor, "")
    monkeypatch.delenv("SPARSEAUC_NO_SHIPPED_KERNELS", raising=False)
    monkeypatch.setattr(jit.NOTICE, "said", False)
    jit.shipped_for.cache_clear()
    yield shipped
    jit.shipped_for.cache_clear()


def test_shipped_kernels_are_found(shipped, folder, climb, caplog):
    assert climb(4) == (11, 1)
    assert not folder.exists()
    assert caplog.messages == []


@pytest.mark.parametrize(
    "damage", [lambda old: old[:100], lambda old: b"", lambda old: old + b"1"]
)
def test_a_damaged_shipped_kernel_is_compiled_here(shipped, folder, climb, damage):
    for path in shipped.glob("*.nbc"):
        path.write_bytes(damage(path.read_bytes()))
    assert climb(4) == (11, 0)
    assert len(list(folder.iterdir())) == 2


def test_a_kernel_that_is_not_shipped(shipped, folder, climb, caplog):
    with caplog.at_level(logging.WARNING):
        assert climb(4.0) == (11.0, 0)
    (line,) = caplog.messages
    assert "that this installation lacks" in line
    assert len(list(folder.iterdir())) == 2


def edit(shipped, **changes):
    known = json.loads((shipped / jit.ABOUT).read_text())
    (shipped / jit.ABOUT).write_text(json.dumps(known | changes))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda shipped, _: edit(shipped, numba="0.1"),
            f"numba 0.1, not {numba.__version__}",
        ),
        (
            lambda shipped, _: edit(shipped, python="cpython-22"),
            "python cpython-22, not",
        ),
        (lambda shipped, _: edit(shipped, system="vax"), "system vax, not"),
        (lambda shipped, _: edit(shipped, processor="x99"), "for x99 processors"),
        (lambda shipped, _: (shipped / jit.ABOUT).write_text("[1,"), "none came"),
        (lambda shipped, _: edit(shipped, unknown=1), "none came"),
        (lambda _, patch: patch.setenv("SPARSEAUC_NO_SHIPPED_KERNELS", "1"), "is set"),
        (lambda _, patch: patch.setattr(numba.config, "CPU_NAME", "generic"), "is set"),
    ],
)
def test_why_shipped_kernels_do_not_serve(
    shipped, climb, caplog, monkeypatch, change, said
):
    change(shipped, monkeypatch)
    with caplog.at_level(logging.WARNING):
        assert climb(4) == (11, 0)
    (line,) = caplog.messages
    assert said in line
    assert "once" in line


def test_a_processor_needs_the_instructions_of_the_common_one(monkeypatch):
    assert jit.can_stand_in("generic")
    known = dict.fromkeys(jit._INSTRUCTIONS["x86-64-v3"].split(), True)
    monkeypatch.setattr(jit.llvmlite.binding, "get_host_cpu_features", lambda: known)
    assert jit.can_stand_in("x86-64-v3")
    known["avx2"] = False
    assert not jit.can_stand_in("x86-64-v3")


def test_lines_while_kernels_are_compiled(climb, monkeypatch):
    monkeypatch.setattr(jit.NOTICE, "compiled", 0)
    lines = []
    with jit.compilation_shown_by(lines.append):
        climb(4)
        climb(4)
    total = jit.KERNELS_OF_A_FIT
    assert [line.partition(",")[0] for line in lines] == [
        f"compiling kernel 1 of {total}",
        f"compiling kernel 2 of {total}",
        "",
    ]


ROOT = Path(__file__).parents[1]


def test_pages_tell_one_time():
    for page in ("README.md", "docs/installation.md", "docs/faq.md"):
        assert (
            f"about {jit.SECONDS_OF_A_FIT} seconds, once" in (ROOT / page).read_text()
        ), page


FITS = """
import numpy as np
from sparseauc import SHTAUCClassifier, SparseAUCClassifier
random = np.random.default_rng(1)
X = random.normal(size=(200, 30))
y = X[:, 0] - X[:, 1] > random.normal(size=200)
for model in (SHTAUCClassifier(k=3, random_state=0), SparseAUCClassifier(k=3)):
    print(model.fit(X, y).coef_.tobytes().hex())
"""


def run(*command, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.mark.slow
def test_kernels_of_a_wheel(tmp_path):
    """What fits and the demo need is there, and gives the bits of what is compiled here."""
    for name in ("sparseauc", "sparseauc_app"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / name, tmp_path / "wheel" / name, ignore=without)
    run(str(ROOT / "compile_kernels.py"), str(tmp_path / "built"))
    kernels = (tmp_path / "built" / "sparseauc").rename(
        tmp_path / "wheel" / "sparseauc" / "kernels"
    )
    wheel = {
        "PYTHONPATH": str(tmp_path / "wheel"), "NUMBA_CACHE_DIR": str(tmp_path / "none"),
        "SPARSEAUC_NO_SHIPPED_KERNELS": "",
    }  # fmt: skip
    bits, said = run("-c", FITS, **wheel)
    assert said == ""
    demo = "demo", str(tmp_path / "demo")
    _, said = run("-m", "sparseauc_app", *demo, **wheel)
    assert "compiling" not in said
    assert not (tmp_path / "none").exists()

    target = json.loads((kernels / jit.ABOUT).read_text())
    here, said = run(
        "-c", FITS,
        NUMBA_CPU_NAME=target["processor"], NUMBA_CPU_FEATURES=target["features"],
        NUMBA_CACHE_DIR=str(tmp_path / "here"), PYTHONPATH=str(tmp_path / "wheel"),
    )  # fmt: skip
    assert "compiling" in said
    assert bits == here
