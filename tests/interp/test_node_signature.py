"""Nodes that do not fit their operator's signature are refused: by their counts before anything runs, by values after."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import function, record
from sardonyx._src.errors import EvaluationError, InvalidModel, UnsupportedOperator
from sardonyx._src.proto import messages as m

X = np.array([1, 2], np.float32)


@pytest.mark.parametrize(
    ("nodes", "match"),
    [
        ("y = Add(x)", r"node\[0\] \(Add\): input 1 'B' is required and missing"),
        ('y = Add("", x)', "input 0 'A' is required and missing"),
        ("y = Neg(x, x)", "Neg-13 takes at most 1 inputs, 2 are given"),
        ("y, z = Neg(x)", "Neg-13 has at most 1 outputs, 2 are asked for"),
        ("y = Max()", "Max-13 takes at least 1 inputs, 0 are given"),
    ],
)
def test_counts_are_held_before_anything_runs(nodes: str, match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        sx.Session(record(f"g (float[2] x) => (float[2] y) {{ {nodes} }}"))


def test_what_is_left_out_at_the_end_is_not_counted() -> None:
    found = sx.Session(record('g (float[2] x) => (float[2] y) { y, "" = Neg(x, "") }'))
    assert np.array_equal(np.asarray(found.run({"x": X})["y"]), -X)


def test_a_sequence_where_a_tensor_is_wanted_is_named() -> None:
    found = sx.Session(
        record("g (float[2] x) => (float[2] y) { s = SequenceConstruct(x)  [here] y = Neg(s) }")
    )
    with pytest.raises(
        EvaluationError, match=r"node\[1\] 'here' \(Neg\): input 0 'X' is seq, where tensor\(float"
    ):
        found.run({"x": X})


def test_a_tensor_where_a_sequence_is_wanted_is_named() -> None:
    found = sx.Session(record("g (float[2] x) => (int64 y) { y = SequenceLength(x) }"))
    with pytest.raises(EvaluationError, match=r"input 0 'input_sequence' is tensor\(float\), where seq\("):
        found.run({"x": X})


def test_an_input_that_a_call_leaves_out_where_the_body_needs_it_is_named() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = l.f(x) }", more='"l": 1')
    one.functions = [function('<domain: "l", opset_import: ["": 21]> f (a, b) => (c) { c = Add(a, b) }')]
    with pytest.raises(EvaluationError, match=r"l\.f\.node\[0\] \(Add\): input 1 'B' is absent"):
        sx.Session(one).run({"x": X})


def test_a_call_that_asks_for_more_outputs_than_there_are_is_refused() -> None:
    one = record("g (float[2] x) => (float[2] y) { y, z = l.f(x) }", more='"l": 1')
    one.functions = [function('<domain: "l", opset_import: ["": 21]> f (a) => (c) { c = Neg(a) }')]
    with pytest.raises(InvalidModel, match="function 'f' has 1 outputs, 2 are given"):
        sx.Session(one)


def test_a_branch_with_fewer_outputs_than_its_node_is_refused() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
      y, z = If (c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = e () => (p) { p = Abs(x) }>
    }"""
    with pytest.raises(EvaluationError, match=r"node\[0\] \(If\)"):
        sx.Session(record(text)).run({"c": True, "x": X})


def test_an_input_of_a_subgraph_that_its_operator_does_not_give_is_named() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t (float[2] a) => (p) { p = Neg(a) }, else_branch = e () => (p) { p = Abs(x) }>
    }"""
    with pytest.raises(EvaluationError, match=r"node\[0\] \(If\)"):
        sx.Session(record(text)).run({"c": True, "x": X})


def test_a_function_that_lacks_a_kernel_is_refused_before_anything_runs() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = l.f(x) }", more='"l": 1')
    one.functions = [
        function('<domain: "l", opset_import: ["l": 1]> f (a) => (b) { b = l.g(a) }'),
        function('<domain: "l", opset_import: ["com.x": 1]> g (a) => (b) { b = com.x.Nonesuch(a) }'),
    ]
    with pytest.raises(UnsupportedOperator, match=r"l\.g\.node\[0\] \(Nonesuch\): com\.x\.Nonesuch-1 has no"):
        sx.Session(one)


def test_a_function_that_nobody_calls_may_hold_anything() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = Neg(x) }", more='"l": 1')
    one.functions = [
        function('<domain: "l", opset_import: ["com.x": 1]> f (a) => (b) { b = com.x.Nonesuch(a) }')
    ]
    assert sx.Session(one).run({"x": X})["y"] is not None


def test_a_fault_inside_of_a_function_names_the_function() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = l.f(x) }", more='"l": 1')
    body = function(
        '<domain: "l", overload: "o", opset_import: ["": 21]> f (a) => (b) { b = Neg <axis = 1> (a) }'
    )
    one.functions = [body]
    assert one.graph is not None
    one.graph.node[0].overload = "o"
    with pytest.raises(InvalidModel, match=r"l\.f:o\.node\[0\] \(Neg\): Neg-13 has no attribute 'axis'"):
        sx.Session(one).run({"x": X})


# --- graphs that functions are handed --------------------------------------------------------

REPEAT = '<domain: "l", opset_import: ["": 21]> repeat <body> (n, c, v) => (w) { w = Loop <body: graph = @body> (n, c, v) }'
FORWARD = '<domain: "l", opset_import: ["l": 1]> forward <body> (n, c, v) => (w) { w = l.repeat <body: graph = @body> (n, c, v) }'
BODY = "b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k)  w = Add(v, x) }"


@pytest.mark.parametrize("name", ["repeat", "forward"])
def test_a_graph_given_to_a_function_sees_what_is_around_the_call(name: str) -> None:
    one = record(
        f"g (int64 n, bool c, float[2] x) => (float[2] y) {{ z = Neg(x)  y = l.{name} <body = {BODY}> (n, c, z) }}",
        more='"l": 1',
    )
    one.functions = [function(REPEAT), function(FORWARD)]
    out = sx.Session(one).run({"n": 3, "c": True, "x": X})["y"]
    assert np.asarray(out).tolist() == [2, 4]


def test_a_graph_given_to_a_function_goes_by_the_imports_of_the_caller() -> None:
    # Opset 11: Softmax scales everything from axis 1 on; the function imports opset 21, which scales one axis.
    body = "b (int64 i, bool k, float[1,2,2] v) => (bool k2, float[1,2,2] w) { k2 = Identity(k)  w = Softmax <axis = 1> (v) }"
    one = record(
        f"g (int64 n, bool c, float[1,2,2] x) => (float[1,2,2] y) {{ y = l.repeat <body = {body}> (n, c, x) }}",
        opset=11,
        more='"l": 1',
    )
    one.functions = [function(REPEAT)]
    out = sx.Session(one).run({"n": 1, "c": True, "x": np.zeros((1, 2, 2), np.float32)})["y"]
    assert np.asarray(out).tolist() == [[[0.25, 0.25], [0.25, 0.25]]]


def test_a_reference_to_a_graph_keeps_its_type() -> None:
    assert function(REPEAT).node[0].attribute[0].type == m.AttributeProtoAttributeType.GRAPH
