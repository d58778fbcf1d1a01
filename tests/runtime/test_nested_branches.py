"""If nested a hundred deep, and functions that call each other two thousand deep, through every tool and engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.session.session import ENGINES, Engine

DEPTH = 100
CALLS = 2000
X = np.array([-1, 2], np.float32)


def nested_branches() -> sx.Model:
    """Relu(x) where c holds, below DEPTH If nodes; -x otherwise."""
    body = f"v{DEPTH} = Relu(x)"
    for i in reversed(range(DEPTH)):
        then = f"t{i} () => (float[2] v{i + 1}) {{ {body} }}"
        body = f"v{i} = If(c) <then_branch = {then}, else_branch = e{i} () => (float[2] w{i}) {{ w{i} = Neg(x) }}>"
    return parse_model(f"g (bool c, float[2] x) => (float[2] v0) {{ {body} }}")


def chained_functions() -> sx.Model:
    """Relu(x) in the last of CALLS functions, each of which calls the next."""
    callee = [f"com.example.F{i + 1}" for i in range(CALLS - 1)] + ["Relu"]
    imports = '["": 21, "com.example": 1]'
    functions = "\n".join(
        f'<domain: "com.example", opset_import: {imports}> F{i} (x) => (y) {{ y = {callee[i]}(x) }}'
        for i in range(CALLS)
    )
    graph = "g (float[2] x) => (float[2] y) { y = com.example.F0(x) }"
    return parse_model(f"{graph}\n{functions}", more='"com.example": 1')


@pytest.mark.parametrize("engine", ENGINES)
def test_nested_branches_run(engine: Engine) -> None:
    session = sx.Session(nested_branches(), engine=engine)
    for condition, expected in ((True, [0, 2]), (False, [1, -2])):
        result = session.run({"c": np.bool_(condition), "x": X})["v0"]
        np.testing.assert_array_equal(result, expected)


def test_nested_branches_pass_through_every_tool(tmp_path: Path) -> None:
    model = nested_branches()
    sx.save(model, tmp_path / "m.onnx")
    loaded = sx.load(tmp_path / "m.onnx")
    sx.save(loaded, tmp_path / "again.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()
    assert sx.check(tmp_path / "m.onnx").ok
    sx.infer(loaded)
    for copy in (sx.convert(model, 22), sx.optimize(model), sx.from_json(sx.to_json(model))):
        assert copy.graph.outputs[0].name == "v0"
    assert sx.to_text(sx.from_text(sx.to_text(model))) == sx.to_text(model)


@pytest.mark.parametrize("engine", ENGINES)
def test_chained_functions_run(engine: Engine) -> None:
    session = sx.Session(chained_functions(), engine=engine)
    for _ in range(2):
        np.testing.assert_array_equal(session.run({"x": X})["y"], [0, 2])


def test_chained_functions_are_typed_and_checked() -> None:
    model = chained_functions()
    assert sx.check(model).ok
    assert str(sx.infer(model).graph.outputs[0].type) == "float[2]"
    assert sx.convert(model, 22).opset_imports[""] == 22
