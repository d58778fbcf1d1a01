"""Inference that goes on while a model is edited."""

from __future__ import annotations

from models import model
from sardonyx._src.infer.ongoing import Ongoing
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.graph import Node, Value


def test_a_new_node_is_typed_by_its_operator() -> None:
    one = model("g (float[N,2] x) => (float[] y) { a = Neg(x) y = Abs(a) }")
    ongoing = Ongoing(one)
    ongoing.walk()
    node = one.graph.append(Node("Shape", [one.graph.inputs[0]], [Value("s")]))
    ongoing.node(node, one.opset_imports)
    assert str(node.outputs[0].type) == "int64[2]"
    found = ongoing.elements(node.outputs[0])
    assert found is not None and found.tolist() == [symbol("N"), 2]


def test_a_declared_size_that_operators_contradict_raises_nothing() -> None:
    one = model("g (float[2] x) => (float[3] y) { y = Neg(x) }")
    ongoing = Ongoing(one)
    ongoing.walk()
    assert len(ongoing.errors) == 1


def test_what_is_forgotten_can_be_found_again() -> None:
    one = model("g (float[2] x) => (float[] y) { s = Shape(x) y = Reshape(x, s) }")
    ongoing = Ongoing(one)
    ongoing.walk()
    (shape,) = (n for n in one.graph.nodes if n.op_type == "Shape")
    ongoing.forget(shape.outputs[0])
    assert shape.outputs[0].type is None and ongoing.elements(shape.outputs[0]) is None
    ongoing.node(shape, one.opset_imports)
    assert str(shape.outputs[0].type) == "int64[1]"


def test_a_node_that_cannot_run_is_known() -> None:
    one = model("g (float[2] x) => (float[] y) { a = Neg(x) y = Transpose<perm = [1, 0]>(a) }")
    ongoing = Ongoing(one)
    ongoing.walk()
    assert [ongoing.refuses(node) for node in one.graph.nodes] == [False, True]
