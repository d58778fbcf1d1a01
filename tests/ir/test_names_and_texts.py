"""Look-up of nodes and values by name, copies, and the texts of models, graphs, nodes and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model

TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}, float m = {2}> { [first] a = Add(x, w)  [last] y = Clip(a, , m) }"


def test_nodes_and_values_by_name() -> None:
    graph = parse_model(TEXT).graph
    assert graph.nodes["last"] is graph.nodes[1]
    assert graph.value("a") is graph.nodes["first"].outputs[0]
    assert graph.value("x") is graph.inputs[0] and graph.value("w") is graph.initializers["w"]
    with pytest.raises(KeyError, match="no node 'lost'; did you mean 'last'"):
        graph.nodes["lost"]
    with pytest.raises(sx.InputError, match="no value 'b'"):
        graph.value("b")


def test_a_copy_shares_tensors_only() -> None:
    model = parse_model(TEXT)
    copy = model.copy()
    copy.graph.nodes["first"].name = "other"
    assert model.graph.nodes["first"] is not None
    assert copy.graph.initializers["w"].initializer is model.graph.initializers["w"].initializer


def test_texts_are_worth_reading() -> None:
    model = parse_model(TEXT)
    assert repr(model.graph) == "Graph('g', 2 nodes, x: float[N,2] -> y: float[N,2])"
    assert repr(model) == "Model('g', 2 nodes, x: float[N,2] -> y: float[N,2], ai.onnx 21, IR version 10)"
    assert [repr(node) for node in model.graph.nodes] == [
        "Node('first', a = Add(x, w))",
        "Node('last', y = Clip(a, _, m))",
    ]
    assert repr(model.graph.nodes) == "<2 nodes>"
    session = sx.Session(model, engine="reference")
    assert repr(session.inputs) == "(x: float[N,2],)"
    assert repr(session) == "<Session: x: float[N,2] -> y: float[N,2], engine reference>"


def test_texts_are_small_and_escaped() -> None:
    model = parse_model(TEXT)
    model.graph.inputs[0].name = "\x1b[31m" + "x" * 500
    for i in range(50):
        model.graph.add_input(sx.ir.Value(f"i{i}"))
    model.graph.nodes[0].set_inputs(model.graph.inputs)
    for text in (repr(model), repr(model.graph), repr(model.graph.nodes[0])):
        assert "\x1b" not in text and len(text) < 800
    assert "i0: ?, i1: ?, 48 more -> " in repr(model)


@pytest.mark.parametrize("kind", ["path", "bytes", "model"])
def test_functions_take_paths_bytes_and_models(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    sx.save(parse_model(TEXT), path)
    sources: dict[str, Path | bytes | sx.Model] = {
        "path": path,
        "bytes": path.read_bytes(),
        "model": sx.load(path),
    }
    source = sources[kind]
    assert str(sx.infer(source).graph.outputs[0].type) == "float[N,2]"
    assert sx.convert(source, 22).opset_imports == {"": 22}
    assert len(sx.optimize(source).graph.nodes) == 2
    assert sx.to_text(source).startswith("<ir_version: 10")
    assert sx.to_json(source).startswith("{")
    assert [v.name for v in sx.gradient(source, "y", "x").graph.outputs] == ["y", "x_gradient"]
    sx.save(source, tmp_path / "copy.onnx")
    assert len(sx.load(tmp_path / "copy.onnx").graph.nodes) == 2
    assert sx.check(source if kind != "model" else path).ok
