"""Libraries for C on emulated machines: their bindings, which need the standard library alone, have the bits of x86-64."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from emulators.machines import MACHINES, ROOTS, Machine
from emulators.sysroots import PYTHON

TEXTS = {
    "product": """g (float[5,70] x, float[70,9] w) => (float[5,9] y) { a = MatMul(x, w)  y = Softmax <axis = 1> (a) }""",
    "bytes": "g (uint8[7] x, uint8[7] w) => (uint8[7] y) { y = BitwiseXor(x, w) }",
    "rounding": "g (float[40] x, double[9] w) => (float[40] y, double[9] z) { y = Round(x)  z = Floor(w) }",
    "loop": """g (float[2,3] x, int64 w) => (float[2,3] y) {
        y = Loop <body = each (int64 i, bool on, float[2,3] s) => (bool goes, float[2,3] t) {
          goes = Identity(on)  a = Sub(x, s)  t = Tanh(a)
        }> (w, , x) }""",
}
PROGRAM = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
model = importlib.import_module("model")
feeds = {name: open(f"{sys.argv[1]}/{name}", "rb").read() for name in model.INPUTS}
with open(sys.argv[1] + "/results", "wb") as file:
    for result in model.Model().run(feeds).values():
        file.write(result.tobytes())
"""


def feeds_of(model: sx.Model) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    generator = np.random.default_rng(5)
    feeds = {}
    for value in model.graph.inputs:
        assert isinstance(value.type, sx.ir.TensorType) and value.type.shape is not None
        shape = tuple(dim for dim in value.type.shape if isinstance(dim, int))
        drawn = (
            generator.standard_normal(shape) * 4
            if value.type.dtype.is_float
            else generator.integers(1, 9, shape)
        )
        feeds[value.name] = np.asarray(drawn).astype(value.type.dtype.numpy)
    return feeds


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("machine", "processor"), [(m, c) for m in MACHINES for c in m.classes], ids=str)
def test_a_library_has_the_bits_of_x86(machine: Machine, processor: str, name: str, tmp_path: Path) -> None:
    model = sx.from_text(f'<ir_version: 10, opset_import: ["" : 21]> {TEXTS[name]}')
    feeds = feeds_of(model)
    sx.tools.compile_library(model, tmp_path, emit="shared", processor=processor)
    for key, value in feeds.items():
        (tmp_path / key).write_bytes(value.tobytes())
    qemu = [ROOTS / "qemu/usr/bin" / f"qemu-{machine.architecture}", "-cpu", machine.cpu]
    python = ROOTS / machine.architecture / "usr/bin" / f"python{PYTHON}"
    variables = {"PATH": os.environ["PATH"], **machine.root_variables(""), "PYTHONPATH": ""}
    words = [*map(str, qemu), str(python), "-S", "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = sx.Session(model, engine="native", threads=1).run(feeds)
    assert (tmp_path / "results").read_bytes() == b"".join(np.asarray(x).tobytes() for x in expected.values())
