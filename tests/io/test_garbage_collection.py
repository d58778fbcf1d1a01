"""Objects of a loaded model are promoted without a traversal, and garbage among them is collected all the same."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import sardonyx as sx
from models import parse_model

NODES = 3000
PROGRAM = """
import gc, sys
from sardonyx import load
from sardonyx._src.io import garbage_collection
from sardonyx._src.ir import Graph

def count(generation=None):
    return sum(type(item) is Graph for item in gc.get_objects(generation))

collections = gc.get_stats()[0]["collections"]
model = load(sys.argv[1])
untouched = gc.get_stats()[0]["collections"] == collections
print("promoted without a collection:", untouched, count(2) == 1, gc.isenabled())

garbage_collection.MAX_PROMOTED = 100_000
most = 0
for _ in range(20):
    model = load(sys.argv[1])
    most = max(most, count())
print("dropped models are collected:", 1 < most < 10, gc.isenabled())

del model
gc.collect()
gc.disable()
model = load(sys.argv[1])
print("a disabled collector stays so:", count(0) == 1, not gc.isenabled())
gc.enable()

gc.freeze()
frozen = gc.get_freeze_count()
other = load(sys.argv[1])
print("frozen objects stay frozen:", frozen > 10_000, gc.get_freeze_count() > frozen - 1000)
"""


def test_objects_are_promoted(tmp_path: Path) -> None:
    """In a process of its own: the suite freezes objects."""
    names = ["x", *(f"t{i}" for i in range(NODES - 1)), "y"]
    nodes = " ".join(f"{b} = Neg({a})" for a, b in pairwise(names))
    path = tmp_path / "m.onnx"
    sx.save(parse_model(f"g (float[2] x) => (float[2] y) {{ {nodes} }}"), path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert len(done.stdout.splitlines()) == 4
    assert "False" not in done.stdout, done.stdout
