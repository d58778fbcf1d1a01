"""Incremental inference of a model that is being edited."""

from __future__ import annotations

from models import parse_model
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import symbol


def test_a_new_node_is_typed_by_its_operator() -> None:
    tested = parse_model("g (float[N,2] x) => (float[] y) { a = Neg(x) y = Abs(a) }")
    inference = IncrementalInference(tested)
    inference.walk()
    node = tested.graph.append(Node("Shape", [tested.graph.inputs[0]], [Value("s")]))
    inference.infer_node(node, tested.opset_imports)
    assert str(node.outputs[0].type) == "int64[2]"
    elements = inference.elements(node.outputs[0])
    assert elements is not None and elements.tolist() == [symbol("N"), 2]


def test_a_contradicted_declaration_is_no_exception() -> None:
    tested = parse_model("g (float[2] x) => (float[3] y) { y = Neg(x) }")
    inference = IncrementalInference(tested)
    inference.walk()
    assert len(inference.errors) == 1


def test_forgotten_types_can_be_inferred_again() -> None:
    tested = parse_model("g (float[2] x) => (float[] y) { s = Shape(x) y = Reshape(x, s) }")
    inference = IncrementalInference(tested)
    inference.walk()
    (shape,) = (n for n in tested.graph.nodes if n.op_type == "Shape")
    inference.forget(shape.outputs[0])
    assert shape.outputs[0].type is None and inference.elements(shape.outputs[0]) is None
    inference.infer_node(shape, tested.opset_imports)
    assert str(shape.outputs[0].type) == "int64[1]"


def test_a_rejected_node_is_reported() -> None:
    tested = parse_model("g (float[2] x) => (float[] y) { a = Neg(x) y = Transpose<perm = [1, 0]>(a) }")
    inference = IncrementalInference(tested)
    inference.walk()
    assert [inference.is_rejected(node) for node in tested.graph.nodes] == [False, True]
