"""Damage tables and model files at random, for as long as one likes: ``make fuzz``.

Not a test: it is given seconds, not examples. Every file must be read or refused by one
of our own errors; anything else is printed with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparseauc
from sparseauc_app import load_model, save_model
from sparseauc_app.export import to_sql
from sparseauc_app.model_files import ModelFileError
from sparseauc_app.reading import DataError, Rules, read_source, training_table

ODD = [
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"\n",
    b",",
    b";",
    b"\t",
    b"1e999",
    b"NaN",
    b"=1",
    b"\xc3",
    b"-",
]
VALUES = [None, -1, 1e308, "", "a\ud800", [], {}, True, "number", [None], float("nan")]


def samples(folder):
    """A sound file of each kind, by suffix."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)).round(3), np.arange(30) % 2
    columns = {"a": X[:, 0], "b": X[:, 1], "kind": np.where(y, "x", "z"), "y": y}
    text = "\n".join(
        [
            ",".join(columns),
            *(",".join(map(str, r)) for r in zip(*columns.values(), strict=False)),
        ]
    )
    (folder / "s.csv").write_text(text)
    (folder / "s.tsv").write_text(text.replace(",", "\t").replace(".", ","))
    pq.write_table(pa.table(columns), folder / "s.parquet")
    with pa.ipc.new_file(folder / "s.arrow", pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns))
    model = sparseauc.SparseAUCClassifier(k=2).fit(X, y)
    save_model(folder / "s.json", model, summary={"rows": 30, "auc": {"auc": 0.5}})
    return {path.suffix: path.read_bytes() for path in sorted(folder.iterdir())}


def damaged(content, rng):
    """The bytes with a few of them changed, put in, or cut off."""
    new = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(0, len(new) + 1))
        kind = rng.integers(4)
        if kind == 0:
            new[place:place] = ODD[rng.integers(len(ODD))]
        elif kind == 1:
            new[place : place + 1] = bytes([rng.integers(256)])
        elif kind == 2:
            del new[place : place + int(rng.integers(1, 20))]
        elif rng.random() < 0.1:
            del new[place:]
    return bytes(new)


def crafted(content, rng):
    """The model file with something else in its card."""
    node = head = json.loads(content)
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[rng.integers(len(keys))]
        if (
            not isinstance(node[key], dict | list)
            or not node[key]
            or rng.random() < 0.3
        ):
            break
        node = node[key]
    node[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(head).encode("utf-8", "surrogatepass")


def use(path):
    """Do with a file what the command would."""
    if path.suffix == ".json":
        to_sql(load_model(path))
    else:
        training_table(
            read_source(path), Rules(target="y", text="auto", missing="median")
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    end, seed, failures = time.monotonic() + chosen.seconds, chosen.seed, 0
    with tempfile.TemporaryDirectory() as name:
        sound = samples(Path(name))
        while time.monotonic() < end:
            rng = np.random.default_rng(seed)
            suffix = list(sound)[rng.integers(len(sound))]
            make = crafted if suffix == ".json" and rng.random() < 0.7 else damaged
            path = Path(name) / f"s{suffix}"
            path.write_bytes(make(sound[suffix], rng))
            try:
                use(path)
            except (DataError, ModelFileError):
                pass
            except Exception:
                failures += 1
                print(f"seed {seed}, {suffix}, {make.__name__}:")
                traceback.print_exc(limit=-3)
            seed += 1
    print(f"{seed - chosen.seed} files, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    raise SystemExit(main())
