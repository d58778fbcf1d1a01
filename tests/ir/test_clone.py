"""Cloning of models, and inlining of calls."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.devices import NodeDeviceConfiguration
from sardonyx._src.ir.inline import inline
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.verify import verify

BODY = (
    '<opset_import: ["": 21], domain: "my"> f <alpha: float = 3.0> (p, q) => (r, p, r) {{ {} r = Mul(p, c) }}'
)
CALL = "g (float[N] x) => (float[N] y, float[N] z, float[N] w) {{ a = Abs(x) y, z, w = my.f{}(a, x) }}\n"
SCALED = BODY.format("c = Constant<value_float: float = @alpha>()")


def calling(attributes: str, body: str = SCALED) -> Model:
    return parse_model(CALL.format(attributes) + body, more='"my": 1')


def test_a_copy_says_the_same_and_shares_no_edge() -> None:
    original = calling("")
    text = sx.to_text(original)
    copy = clone(original)
    verify(copy)
    assert sx.to_text(copy) == text
    for node in copy.graph.nodes:
        node.set_inputs([None] * len(node.inputs))
    assert sx.to_text(original) == text


LINKS = ("graph", "producer", "_uses", "_next", "_previous", "_inputs", "_outputs", "attributes")


@pytest.mark.parametrize("body", ["y = Elu<alpha = 2.0>(x)", "y, z = Split<axis = 0, num_outputs = 2>(x)"])
def test_a_copy_has_all_fields_of_a_node_and_of_its_outputs(body: str) -> None:
    original = parse_model(f"g (float[2] x) => (float[] y) {{ {body} }}")
    (node,) = original.graph.nodes
    node.name, node.doc, node.overload = "n", "about n", "o"
    node.metadata["a"] = "b"
    node.device_configurations = [NodeDeviceConfiguration("d")]
    for value in node.outputs:
        value.doc, value.type = "about it", TensorType(sx.DataType.FLOAT, (2,))
        value.metadata["c"] = value.name
    graph = Copier().graph(original.graph)
    (copy,) = graph.nodes
    assert copy.inputs == tuple(graph.inputs) and copy.graph is graph
    assert {name: a.value for name, a in copy.attributes.items()} == {
        name: a.value for name, a in node.attributes.items()
    }
    for old, new in zip((node, *node.outputs), (copy, *copy.outputs), strict=True):
        slots = {slot for cls in type(old).__mro__ for slot in getattr(cls, "__slots__", ())}
        for slot in slots.difference(LINKS):
            assert getattr(new, slot) == getattr(old, slot), slot
        assert new.metadata is not old.metadata
    assert all(value.producer is copy for value in copy.outputs)


@pytest.mark.parametrize(("attributes", "factor"), [("<alpha = 2.0>", 2), ("", 3)])
def test_a_call_becomes_the_body_with_its_attributes(attributes: str, factor: int) -> None:
    model = calling(attributes)
    *_, call = model.graph.nodes
    inline(call, model.functions["my", "f", ""], FreshNames.of_graphs([model.graph]))
    verify(model)
    assert [n.op_type for n in model.graph.nodes] == ["Abs", "Constant", "Mul", "Identity", "Identity"]
    assert [v.name for v in model.graph.outputs] == ["y", "z", "w"]
    results = Interpreter(model).run({"x": np.array([-1, 2], np.float32)})
    assert [np.asarray(r).tolist() for r in results.values()] == [
        [factor, 2 * factor],
        [1, 2],
        [factor, 2 * factor],
    ]


def test_names_of_a_body_are_renamed_where_the_caller_uses_them() -> None:
    model = calling("", BODY.format("a = Constant<value_float = 1.0>() c = Neg(a)"))
    *_, call = model.graph.nodes
    inline(call, model.functions["my", "f", ""], FreshNames.of_graphs([model.graph]))
    verify(model)
    assert [n.outputs[0].name for n in model.graph.nodes][:3] == ["a", "a_1", "c"]


def test_values_of_a_subgraph_in_a_body_are_renamed_with_it() -> None:
    body = BODY.format(
        "k = ReduceSum<keepdims = 0>(p) t = Cast<to = 9>(k) "
        "c = If(t)<then_branch = t () => (u) { u = Neg(k) }, else_branch = e () => (u) { u = Abs(k) }>"
    )
    model = parse_model(CALL.format("").replace("a = Abs(x)", "a = Abs(x) u = Neg(x)") + body, more='"my": 1')
    *_, call = model.graph.nodes
    inline(call, model.functions["my", "f", ""], FreshNames.of_graphs([model.graph]))
    verify(model)
    results = Interpreter(model).run({"x": np.array([1, 2], np.float32)})
    assert np.asarray(results["y"]).tolist() == [-3, -6]
