"""Full disks, closed pipes, permissions, links and control characters."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import run
from sparseauc_app.cli.errors import suggest

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {"a": RNG.normal(size=N) + Y, "b\x1b[2J": RNG.normal(size=N), "y": Y}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    FRAME.to_csv(folder / "t.csv", index=False)
    result = fit(folder)
    assert result.exit_code == 0, result.output
    return folder


def fit(folder, *more, out="m.json"):
    return run("fit", folder / "t.csv", "-t", "y", "-k", 2, "--alpha", 1, "--quick", "--out",
               folder / out, *more)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_standard_output_on_a_full_disk(folder):
    command = [sys.executable, "-m", "sparseauc_app", "predict", "m.json", "t.csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1] == (
        "Error: cannot write to standard output: No space left on device"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_pipe_that_nobody_reads(folder):
    command = [sys.executable, "-m", "sparseauc_app", "predict", "m.json", "t.csv"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert done.returncode == 5
    assert (
        done.stderr.splitlines()[-1]
        == "Error: cannot write to standard output: Broken pipe"
    )
    assert "Traceback" not in done.stderr


def test_force_keeps_permissions_and_links(folder):
    model = folder / "private.json"
    model.write_bytes(b"")
    model.chmod(0o600)
    assert fit(folder, "--force", out="private.json").exit_code == 0
    assert stat.S_IMODE(model.stat().st_mode) == 0o600
    assert model.stat().st_size > 0
    link = folder / "link.json"
    link.symlink_to(model)
    result = fit(folder, "--force", out="link.json")
    assert result.exit_code == 5
    assert f"is a link: give the file it leads to, {model}" in result.stderr
    assert link.is_symlink()


def test_control_characters_are_not_printed_by_an_export(folder):
    for kind in ("sql", "r"):
        result = run("export", folder / "m.json", kind)
        assert result.exit_code == 5
        assert "\x1b" not in result.stdout
    done = run("export", folder / "m.json", "sql", "--out", folder / "m.sql")
    assert done.exit_code == 0
    assert "\x1b[2J" in (folder / "m.sql").read_text()


def test_so_many_points_are_refused(folder):
    assert fit(folder, "--points", 1_000_000, out="p.json").exit_code == 2


def test_a_suggested_command_replaces_options():
    given = ["fit", "t.csv", "--text", "drop", "--missing=refuse", "--exclude", "a"]
    options = [
        "--text",
        "auto",
        "--missing",
        "median",
        "--exclude",
        "a",
        "--exclude",
        "b",
    ]
    assert suggest(given, options) == (
        "sparseauc fit t.csv --exclude a --text auto --missing median --exclude b"
    )


def test_no_job_is_refused(folder):
    none = fit(folder, "--jobs", 0, out="j.json")
    assert none.exit_code == 2
    assert "--jobs must be a number other than 0" in none.output
