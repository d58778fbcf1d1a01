"""What inference does with nodes that cannot be right, and with models that are deep or large."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import function, model, only, record
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir.graph import Model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode


def faults(found: Model) -> list[str]:
    errors: list[InferenceError] = []
    infer(found, errors=errors)
    return [str(error) for error in errors]


# --- faults ----------------------------------------------------------------------------------


def test_faults_of_attributes_and_imports_are_listed_like_others() -> None:
    found = model(
        """g (float[2] x, float[3] z) => (float[] a, float[] b, float[] c, float[2] d) {
          a = Neg<axis = 1>(x)
          b = com.x.Foo(x)
          c = Add(x, z)
          d = Neg(x)
        }"""
    )
    first, second, third = faults(found)
    assert first.startswith("node[0] (Neg): Neg-13 has no attribute 'axis'")
    assert second.startswith("node[1] (Foo): domain 'com.x' is not imported")
    assert third.startswith("node[2] (Add): ")


def test_a_fault_of_an_attribute_is_an_error_of_inference() -> None:
    with pytest.raises(InferenceError, match="Neg-13 has no attribute 'axis'"):
        sx.infer(model("g (float[2] x) => (float[] y) { y = Neg<axis = 1>(x) }"))


def test_a_fault_in_a_loop_is_listed_once() -> None:
    found = model(
        """g (int64 n, bool go, float[N] x, float[2] p, float[3] q) => (float[] y) {
          y = Loop(n, go, x) <body = b (int64 i, bool c, float[] s) => (bool d, float[] t) {
            d = Identity(c)  r = Add(p, q)  t = Concat<axis = 0>(s, s)
          }>
        }"""
    )
    (fault,) = faults(found)
    assert fault.startswith("node[0] (Loop).body.node[1] (Add): ")


def test_a_model_with_a_fault_is_left_as_it_was() -> None:
    found = model("g (float[2] x, float[3] z) => (float[K] y) { a = Neg(x)  b = Add(x, z)  y = Neg(a) }")
    with pytest.raises(InferenceError):
        sx.infer(found)
    assert [str(node.outputs[0].type) for node in found.graph.nodes] == ["None", "None", "float[K]"]


def test_no_size_is_negative() -> None:
    (fault,) = faults(model("g (float[3] x) => (float[] y) <int64[1] r = {-1}> { y = Tile(x, r) }"))
    assert fault == "node[0] (Tile): Tile would make float[-3]; no size is negative, nor of 64 bits"


def test_faults_of_many_nodes_name_their_places() -> None:
    b = sx.Builder(opset=21)
    x, z = (b.input(name, sx.DataType.FLOAT, [size]) for name, size in (("x", 2), ("z", 3)))
    for _ in range(2000):
        b.Add(x, z)
    found = faults(b.model(y=x))
    assert [fault.partition(" ")[0] for fault in found] == [f"node[{i}]" for i in range(2000)]


def test_data_that_are_none_of_their_type_are_a_fault() -> None:
    """A chain that is long enough for its elements to be worked out on the way."""
    chain = "  ".join(f"v{i + 1} = Add(v{i}, v0)" for i in range(20))
    one = record(f"g (int8[1] x) => (int8[1] y) <int8[1] v0 = {{1}}> {{ {chain}  y = Add(v20, x) }}")
    assert one.graph is not None
    one.graph.initializer[0].int32_data = [1000]
    (fault,) = faults(sx.load(one))
    assert fault.startswith("tensor 'v0': ")


# --- depth -----------------------------------------------------------------------------------


def nested(depth: int) -> m.ModelProto:
    """Branches in branches; the innermost one negates x."""
    one = record("g (bool c, float[3] x) => (float[] y) { y = Neg(x) }")
    assert one.graph is not None
    inner = one.graph.node
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
    one.graph.node = inner
    return one


def test_graphs_are_nested_as_deep_as_a_file_may_nest_them() -> None:
    found = sx.load(encode(nested(127)))
    sx.infer(found)
    assert str(found.graph.outputs[0].type) == "float[3]"


def test_elements_come_through_branches_in_branches() -> None:
    one = nested(100)
    assert one.graph is not None
    target = record(
        "g (float[3] x) => (float[] y) <int64[1] two = {2}, bool c = {1}> { s = Shape(x)  y = Neg(x) }"
    ).graph
    assert target is not None
    innermost = one.graph.node[0]
    while innermost.op_type == "If":
        innermost = innermost.attribute[0].g.node[0]  # type: ignore[union-attr]
    innermost.op_type, innermost.input = "Mul", ["s", "two"]
    one.graph.node[0].output = ["t"]
    one.graph.input = [value for value in one.graph.input if value.name == "x"]
    one.graph.initializer = target.initializer
    one.graph.node = [
        target.node[0],
        *one.graph.node,
        m.NodeProto(op_type="ConstantOfShape", input=["t"], output=["y"]),
    ]
    found = sx.infer(sx.load(one))
    assert str(found.graph.outputs[0].type) == "float[6]"


def test_functions_may_call_functions_a_thousand_deep() -> None:
    one = record("g (float[N] x) => (float[] y) { y = l.f0(x) }", more='"l": 1')
    calls = (
        f'<domain: "l", opset_import: ["l": 1]> f{i} (a) => (b) {{ b = l.f{i + 1}(a) }}' for i in range(1000)
    )
    last = '<domain: "l", opset_import: ["": 21]> f1000 (a) => (b) { b = Concat<axis = 0>(a, a) }'
    one.functions = [function(text) for text in (*calls, last)]
    found = sx.infer(sx.load(one))
    assert str(found.graph.outputs[0].type) == "float[2*N]"


# --- graphs that functions are handed --------------------------------------------------------


def test_a_graph_given_to_a_function_goes_by_the_imports_of_the_caller() -> None:
    # Up to opset 12 Squeeze has an attribute axes, which the opset of the function does not know.
    one = record(
        """g (bool c, float[1,N] x) => (float[] y) {
          y = l.forward <then = t () => (float[] p) { p = Squeeze <axes = [0]> (x) },
                         other = e () => (float[] q) { q = Squeeze <axes = [0]> (x) }> (c)
        }""",
        opset=11,
        more='"l": 1',
    )
    one.functions = [
        function(
            '<domain: "l", opset_import: ["": 21]> choose <then, other> (c) => (w) '
            "{ w = If <then_branch: graph = @then, else_branch: graph = @other> (c) }"
        ),
        function(
            '<domain: "l", opset_import: ["l": 1]> forward <then, other> (c) => (w) '
            "{ w = l.choose <then: graph = @then, other: graph = @other> (c) }"
        ),
    ]
    found = sx.infer(sx.load(one))
    assert str(only(found.graph, "forward").outputs[0].type) == "float[N]"
