"""Data movement of dequantized bytes moves the bytes, with results equal to those of moving floats."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.prepare.decompose import decompose_nodes
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.schema import newest

RNG = np.random.default_rng(4)
MOVES = {
    "Concat": "Concat <axis = 1> (d, e)",
    "DepthToSpace": "DepthToSpace <blocksize = 2> (d)",
    "Flatten": "Flatten(d)",
    "Reshape": "Reshape(d, shape)",
    "Slice": "Slice(d, start, stop)",
    "SpaceToDepth": "SpaceToDepth <blocksize = 2> (d)",
    "Squeeze": "Squeeze(d, first)",
    "Transpose": "Transpose <perm = [0, 2, 3, 1]> (d)",
    "Unsqueeze": "Unsqueeze(d, first)",
}
HEADER = """g (uint8[1,8,4,6] p, uint8[1,8,4,6] q) => (float[?] y, uint8[?] r) <
  float s = {0.5}, uint8 z = {7}, float t = {0.25}, int64[1] first = {0}, int64[2] shape = {8, 24},
  int64[4] start = {0, 2, 1, 1}, int64[4] stop = {1, 8, 3, 5}>"""


def moving(move: str, scale: str = "s") -> Model:
    text = f"""{HEADER.replace("[?]", "[]")} {{
      d = DequantizeLinear(p, s, z)  e = DequantizeLinear(q, {scale}, z)
      m = {move}  y = Neg(m)  r = QuantizeLinear(m, s, z)
    }}"""
    model = parse_model(text, opset=newest(""))
    for value in model.graph.outputs:
        value.type = TensorType(DataType.FLOAT if value.name == "y" else DataType.UINT8, None)
    return infer(model)


def types_that_are_moved(model: Model, operator: str) -> list[DataType]:
    types = [node.outputs[0].type for node in model.graph.nodes if node.op_type == operator]
    return [t.dtype for t in types if isinstance(t, TensorType)]


@pytest.mark.parametrize("operator", MOVES)
def test_bytes_are_moved_and_the_numbers_are_the_same(operator: str) -> None:
    model = moving(MOVES[operator])
    feeds = {name: RNG.integers(0, 256, (1, 8, 4, 6), np.uint8) for name in ("p", "q")}
    expected = sx.Session(model, engine="reference").run(feeds)
    actual = sx.Session(model, engine="native").run(feeds)
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value)
    assert decompose_nodes(model, set())
    assert types_that_are_moved(model, operator) == [DataType.UINT8]


def test_parts_of_different_scales_stay_floats() -> None:
    model = moving(MOVES["Concat"], scale="t")
    decompose_nodes(model, set())
    assert types_that_are_moved(model, "Concat") == [DataType.FLOAT]
