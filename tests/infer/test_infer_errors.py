"""Inference of invalid nodes, and of deep or large models."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import only, parse_function, parse_model, parse_record
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Model
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode


def inference_errors(model: Model) -> list[str]:
    return [str(error) for error in infer_partially(model).errors]


# --- errors ----------------------------------------------------------------------------------


def test_errors_of_attributes_and_imports_are_listed_like_others() -> None:
    model = parse_model(
        """g (float[2] x, float[3] z) => (float[] a, float[] b, float[] c, float[2] d) {
          a = Neg<axis = 1>(x)
          b = com.x.Foo(x)
          c = Add(x, z)
          d = Neg(x)
        }"""
    )
    first, second, third = inference_errors(model)
    assert first.startswith("node[0] (Neg): Neg-13 has no attribute 'axis'")
    assert second.startswith("node[1] (Foo): domain 'com.x' is not imported")
    assert third.startswith("node[2] (Add): ")


def test_an_invalid_attribute_is_an_inference_error() -> None:
    with pytest.raises(InferenceError, match="Neg-13 has no attribute 'axis'"):
        sx.infer(parse_model("g (float[2] x) => (float[] y) { y = Neg<axis = 1>(x) }"))


def test_an_error_in_a_loop_is_listed_once() -> None:
    model = parse_model(
        """g (int64 n, bool go, float[N] x, float[2] p, float[3] q) => (float[] y) {
          y = Loop(n, go, x) <body = b (int64 i, bool c, float[] s) => (bool d, float[] t) {
            d = Identity(c)  r = Add(p, q)  t = Concat<axis = 0>(s, s)
          }>
        }"""
    )
    (fault,) = inference_errors(model)
    assert fault.startswith("node[0] (Loop).body.node[1] (Add): ")


def test_a_model_with_an_error_is_unchanged() -> None:
    model = parse_model(
        "g (float[2] x, float[3] z) => (float[K] y) { a = Neg(x)  b = Add(x, z)  y = Neg(a) }"
    )
    with pytest.raises(InferenceError):
        sx.infer(model)
    assert [str(node.outputs[0].type) for node in model.graph.nodes] == ["None", "None", "float[K]"]


def test_no_size_is_negative() -> None:
    (fault,) = inference_errors(
        parse_model("g (float[3] x) => (float[] y) <int64[1] r = {-1}> { y = Tile(x, r) }")
    )
    assert fault == "node[0] (Tile): Tile output sizes must be in the range from 0 to 2^63 - 1; got float[-3]"


def test_errors_of_many_nodes_name_their_locations() -> None:
    b = GraphBuilder(opset=21)
    x, z = (b.input(name, sx.DataType.FLOAT, [size]) for name, size in (("x", 2), ("z", 3)))
    for _ in range(2000):
        b.Add(x, z)
    errors = inference_errors(b.model(y=x))
    assert [fault.partition(" ")[0] for fault in errors] == [f"node[{i}]" for i in range(2000)]


def test_data_out_of_range_of_their_type_are_an_error() -> None:
    """A chain that is long enough for its elements to be evaluated before the last node."""
    chain = "  ".join(f"v{i + 1} = Add(v{i}, v0)" for i in range(20))
    record = parse_record(f"g (int8[1] x) => (int8[1] y) <int8[1] v0 = {{1}}> {{ {chain}  y = Add(v20, x) }}")
    assert record.graph is not None
    record.graph.initializer[0].int32_data = [1000]
    (fault,) = inference_errors(sx.load(record))
    assert fault.startswith("tensor 'v0': ")


# --- depth -----------------------------------------------------------------------------------


def nested_branches(depth: int) -> m.ModelProto:
    """Nested branches; the innermost one negates x."""
    record = parse_record("g (bool c, float[3] x) => (float[] y) { y = Neg(x) }")
    assert record.graph is not None
    inner = record.graph.node
    for level in range(depth):
        inner[0].output = [f"t{level}"]
        branches = [
            m.AttributeProto(
                name=name,
                type=m.AttributeProtoAttributeType.GRAPH,
                g=m.GraphProto(name=name, node=nodes, output=[m.ValueInfoProto(name=nodes[0].output[0])]),
            )
            for name, nodes in (
                ("then_branch", inner),
                ("else_branch", [m.NodeProto(op_type="Abs", input=["x"], output=[f"e{level}"])]),
            )
        ]
        inner = [m.NodeProto(op_type="If", input=["c"], output=["y"], attribute=branches)]
    record.graph.node = inner
    return record


def test_graphs_are_nested_as_deep_as_a_file_may_nest_them() -> None:
    model = sx.load(encode(nested_branches(127)))
    sx.infer(model)
    assert str(model.graph.outputs[0].type) == "float[3]"


def test_elements_come_through_branches_in_branches() -> None:
    record = nested_branches(100)
    assert record.graph is not None
    target = parse_record(
        "g (float[3] x) => (float[] y) <int64[1] two = {2}, bool c = {1}> { s = Shape(x)  y = Neg(x) }"
    ).graph
    assert target is not None
    innermost = record.graph.node[0]
    while innermost.op_type == "If":
        innermost = innermost.attribute[0].g.node[0]  # type: ignore[union-attr]
    innermost.op_type, innermost.input = "Mul", ["s", "two"]
    record.graph.node[0].output = ["t"]
    record.graph.input = [value for value in record.graph.input if value.name == "x"]
    record.graph.initializer = target.initializer
    record.graph.node = [
        target.node[0],
        *record.graph.node,
        m.NodeProto(op_type="ConstantOfShape", input=["t"], output=["y"]),
    ]
    model = sx.infer(sx.load(record))
    assert str(model.graph.outputs[0].type) == "float[6]"


def test_functions_may_call_functions_a_thousand_deep() -> None:
    record = parse_record("g (float[N] x) => (float[] y) { y = l.f0(x) }", more='"l": 1')
    calls = (
        f'<domain: "l", opset_import: ["l": 1]> f{i} (a) => (b) {{ b = l.f{i + 1}(a) }}' for i in range(1000)
    )
    last = '<domain: "l", opset_import: ["": 21]> f1000 (a) => (b) { b = Concat<axis = 0>(a, a) }'
    record.functions = [parse_function(text) for text in (*calls, last)]
    model = sx.infer(sx.load(record))
    assert str(model.graph.outputs[0].type) == "float[2*N]"


# --- graphs that functions are handed --------------------------------------------------------


def test_a_graph_passed_to_a_function_uses_the_imports_of_the_caller() -> None:
    # Up to opset 12 Squeeze has an attribute axes, which the opset of the function does not know.
    record = parse_record(
        """g (bool c, float[1,N] x) => (float[] y) {
          y = l.forward <then = t () => (float[] p) { p = Squeeze <axes = [0]> (x) },
                         other = e () => (float[] q) { q = Squeeze <axes = [0]> (x) }> (c)
        }""",
        opset=11,
        more='"l": 1',
    )
    record.functions = [
        parse_function(
            '<domain: "l", opset_import: ["": 21]> choose <then, other> (c) => (w) '
            "{ w = If <then_branch: graph = @then, else_branch: graph = @other> (c) }"
        ),
        parse_function(
            '<domain: "l", opset_import: ["l": 1]> forward <then, other> (c) => (w) '
            "{ w = l.choose <then: graph = @then, other: graph = @other> (c) }"
        ),
    ]
    model = sx.infer(sx.load(record))
    assert str(only(model.graph, "forward").outputs[0].type) == "float[N]"
