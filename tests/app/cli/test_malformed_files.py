"""Files that were damaged, cut short or never a table: a sentence and a code, or a sound result."""

import io
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sparseauc_app.cli import app
from sparseauc_app.model_files import load_model

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
N = 24
Y = np.tile([0, 1, 0], N // 3)
X = RNG.normal(size=(N, 4)) + 1.5 * Y[:, None]
FRAME = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": Y})


def text(delimiter, encoding, decimal="."):
    lines = [delimiter.join(["x0", "naïve", "x2", "y"])]
    for row, label in zip(X, Y, strict=True):
        lines.append(
            delimiter.join(
                [f"{v:.3f}".replace(".", decimal) for v in row[:3]] + [f"{label}"]
            )
        )
    return "\n".join(lines).encode(encoding)


def written(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def arrow(buffer):
    with pa.ipc.new_stream(buffer, FRAME.schema) as stream:
        stream.write_table(FRAME)


SOUND = {
    "comma.csv": text(",", "utf-8"),
    "german.csv": text(";", "latin-1", ","),
    "wide.tsv": text("\t", "utf-16"),
    "marked.csv": text("|", "utf-8-sig"),
    "table.parquet": written(lambda b: pq.write_table(FRAME, b)),
    "table.feather": written(lambda b: pyarrow.feather.write_feather(FRAME, b)),
    "plain.feather": written(
        lambda b: pyarrow.feather.write_feather(FRAME, b, compression="uncompressed")
    ),
    "stream.arrow": written(arrow),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("malformed")


def fit(folder, name, content):
    """Run the command on a file in a clean folder; return the result and what it left there."""
    table, out = folder / name, folder / "model.json"
    table.write_bytes(content)
    arguments = [
        "fit",
        str(table),
        "--target",
        "y",
        "-k",
        "2",
        "--alpha",
        "1",
        "--quick",
    ]
    arguments += ["--missing", "median", "--text", "drop", "--out", str(out)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parsers, about what they do not like
        result = CliRunner().invoke(app, arguments)
    table.unlink()
    return result, [*folder.iterdir()]


def check(result, left, folder):
    if result.exit_code == 0:
        assert [path.name for path in left] == ["model.json"]
        assert load_model(left[0]).terms is not None
        left[0].unlink()
        return
    # Typer ends in SystemExit; any other exception would have been a traceback.
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.output
    assert left == []


@pytest.mark.parametrize("name", SOUND)
def test_sound_files_fit(name, folder):
    result, left = fit(folder, name, SOUND[name])
    assert result.exit_code == 0, result.output
    check(result, left, folder)


NAMES = st.sampled_from([*SOUND])
POSITIONS = st.floats(0, 1, exclude_max=True)
CHANGE = st.tuples(POSITIONS, st.binary(min_size=1, max_size=3))
DAMAGES = st.one_of(
    st.tuples(st.just("change"), st.lists(CHANGE, min_size=1, max_size=6)),
    st.tuples(st.just("cut"), POSITIONS),
    st.tuples(
        st.just("insert"), st.tuples(POSITIONS, st.binary(min_size=1, max_size=20))
    ),
    st.tuples(st.just("replace"), st.binary(max_size=200)),
    st.tuples(
        st.just("swap"),
        st.sampled_from([b",", b";", b"\n", b".", b"0", b"1", b" ", b'"']),
    ),
)


def damaged(content, damage):
    kind, how = damage
    if kind == "cut":
        return content[: int(how * len(content))]
    if kind == "replace":
        return how
    if kind == "insert":
        place = int(how[0] * len(content))
        return content[:place] + how[1] + content[place:]
    if kind == "swap":
        return content.replace(how, b"\t" if how != b" " else b'"')
    changed = bytearray(content)
    for place, new in how:
        start = int(place * len(content))
        changed[start : start + len(new)] = new
    return bytes(changed)


@given(name=NAMES, damage=DAMAGES)
@settings(max_examples=200)
def test_damaged_files_end_in_a_sentence(name, damage, folder):
    result, left = fit(folder, name, damaged(SOUND[name], damage))
    check(result, left, folder)


@given(name=NAMES, other=NAMES)
@settings(max_examples=40)
def test_files_under_another_name(name, other, folder):
    result, left = fit(folder, name, SOUND[other])
    check(result, left, folder)
