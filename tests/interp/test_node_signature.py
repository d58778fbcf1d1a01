"""Nodes that violate the signature of their operator are rejected: counts before the run, types of values in it."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_function, parse_record
from sardonyx._src.errors import EvaluationError, InvalidModel, UnsupportedOperator
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.loading.load import load
from sardonyx._src.proto import messages as m

X = np.array([1, 2], np.float32)


@pytest.mark.parametrize(
    ("nodes", "match"),
    [
        ("y = Add(x)", r"node\[0\] \(Add\): input 1 'B' is required and missing"),
        ('y = Add("", x)', "input 0 'A' is required and missing"),
        ("y = Neg(x, x)", "Neg-13 must have at most 1 inputs; got 2"),
        ("y, z = Neg(x)", "Neg-13 must have at most 1 outputs; got 2"),
        ("y = Max()", "Max-13 must have at least 1 inputs; got 0"),
    ],
)
def test_counts_are_checked_before_the_run(nodes: str, match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        sx.Session(parse_record(f"g (float[2] x) => (float[2] y) {{ {nodes} }}"))


@pytest.mark.parametrize(
    ("nodes", "match"),
    [
        ("a = Add(x, x)  y = Add(a)", r"node\[1\] \(Add\): input 1 'B' is required and missing"),
        ("a = LeakyRelu(x)  y = LeakyRelu<slope = 1.0>(a)", "has no attribute 'slope'"),
        ("a = Concat<axis = 0>(x, x)  y = Concat(a, a)", "'axis' is required and missing"),
    ],
)
def test_every_node_of_an_operator_is_checked(nodes: str, match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        Interpreter(load(parse_record(f"g (float[2] x) => (float[N] y) {{ {nodes} }}")))


def test_what_is_left_out_at_the_end_is_not_counted() -> None:
    session = sx.Session(parse_record('g (float[2] x) => (float[2] y) { y, "" = Neg(x, "") }'))
    assert np.array_equal(np.asarray(session.run({"x": X})["y"]), -X)


def test_a_sequence_instead_of_a_tensor_is_an_error() -> None:
    session = sx.Session(
        parse_record("g (float[2] x) => (float[2] y) { s = SequenceConstruct(x)  [here] y = Neg(s) }")
    )
    with pytest.raises(
        EvaluationError, match=r"node\[1\] 'here' \(Neg\): input 0 'X' must be tensor\(float.*; got seq"
    ):
        session.run({"x": X})


def test_a_tensor_instead_of_a_sequence_is_an_error() -> None:
    session = sx.Session(parse_record("g (float[2] x) => (int64 y) { y = SequenceLength(x) }"))
    with pytest.raises(
        EvaluationError, match=r"input 0 'input_sequence' must be seq\(.*; got tensor\(float\)"
    ):
        session.run({"x": X})


def test_a_required_input_that_a_call_omits_is_named() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = l.f(x) }", more='"l": 1')
    record.functions = [
        parse_function('<domain: "l", opset_import: ["": 21]> f (a, b) => (c) { c = Add(a, b) }')
    ]
    with pytest.raises(
        InvalidModel, match=r"input 1 'b' of l\.f, which l\.f\.node\[0\] \(Add\) requires, must be given"
    ):
        sx.Session(record)


def test_an_omitted_input_that_a_branch_requires_is_named_where_it_runs() -> None:
    record = parse_record("g (float[2] x, bool c) => (float[2] y) { y = l.f(x, c) }", more='"l": 1')
    record.functions = [
        parse_function("""<domain: "l", opset_import: ["": 21]> f (a, c, b) => (r) {
          r = If (c) <then_branch = t () => (p) { p = Add(a, b) }, else_branch = e () => (p) { p = Abs(a) }> }""")
    ]
    session = sx.Session(record)
    assert session.run({"x": X, "c": np.array(False)})["y"].tolist() == np.abs(X).tolist()
    with pytest.raises(EvaluationError, match=r"node\[0\] \(Add\): input 1 'B' must be .*; got nothing"):
        session.run({"x": X, "c": np.array(True)})


def test_a_call_with_too_many_outputs_is_rejected() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y, z = l.f(x) }", more='"l": 1')
    record.functions = [parse_function('<domain: "l", opset_import: ["": 21]> f (a) => (c) { c = Neg(a) }')]
    with pytest.raises(InvalidModel, match="function 'f' must be called with at most 1 outputs; got 2"):
        sx.Session(record)


def test_a_branch_with_fewer_outputs_than_its_node_is_refused() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
      y, z = If (c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = e () => (p) { p = Abs(x) }>
    }"""
    with pytest.raises(EvaluationError, match=r"node\[0\] \(If\)"):
        sx.Session(parse_record(text)).run({"c": True, "x": X})


def test_an_input_of_a_subgraph_that_its_operator_does_not_give_is_named() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t (float[2] a) => (p) { p = Neg(a) }, else_branch = e () => (p) { p = Abs(x) }>
    }"""
    with pytest.raises(EvaluationError, match=r"node\[0\] \(If\)"):
        sx.Session(parse_record(text)).run({"c": True, "x": X})


def test_a_function_that_lacks_a_kernel_is_refused_before_anything_runs() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = l.f(x) }", more='"l": 1')
    record.functions = [
        parse_function('<domain: "l", opset_import: ["l": 1]> f (a) => (b) { b = l.g(a) }'),
        parse_function('<domain: "l", opset_import: ["com.x": 1]> g (a) => (b) { b = com.x.Nonesuch(a) }'),
    ]
    with pytest.raises(UnsupportedOperator, match=r"l\.g\.node\[0\] \(Nonesuch\): com\.x\.Nonesuch-1 has no"):
        sx.Session(record)


def test_an_unused_function_is_not_checked() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Neg(x) }", more='"l": 1')
    record.functions = [
        parse_function('<domain: "l", opset_import: ["com.x": 1]> f (a) => (b) { b = com.x.Nonesuch(a) }')
    ]
    assert sx.Session(record).run({"x": X})["y"] is not None


def test_an_error_inside_a_function_names_the_function() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = l.f(x) }", more='"l": 1')
    body = parse_function(
        '<domain: "l", overload: "o", opset_import: ["": 21]> f (a) => (b) { b = Neg <axis = 1> (a) }'
    )
    record.functions = [body]
    assert record.graph is not None
    record.graph.node[0].overload = "o"
    with pytest.raises(InvalidModel, match=r"l\.f:o\.node\[0\] \(Neg\): Neg-13 has no attribute 'axis'"):
        sx.Session(record).run({"x": X})


# --- graphs that functions are handed --------------------------------------------------------

REPEAT = '<domain: "l", opset_import: ["": 21]> repeat <body> (n, c, v) => (w) { w = Loop <body: graph = @body> (n, c, v) }'
FORWARD = '<domain: "l", opset_import: ["l": 1]> forward <body> (n, c, v) => (w) { w = l.repeat <body: graph = @body> (n, c, v) }'
BODY = "b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k)  w = Add(v, x) }"


@pytest.mark.parametrize("name", ["repeat", "forward"])
def test_a_graph_given_to_a_function_sees_what_is_around_the_call(name: str) -> None:
    record = parse_record(
        f"g (int64 n, bool c, float[2] x) => (float[2] y) {{ z = Neg(x)  y = l.{name} <body = {BODY}> (n, c, z) }}",
        more='"l": 1',
    )
    record.functions = [parse_function(REPEAT), parse_function(FORWARD)]
    out = sx.Session(record).run({"n": 3, "c": True, "x": X})["y"]
    assert np.asarray(out).tolist() == [2, 4]


def test_a_graph_passed_to_a_function_uses_the_imports_of_the_caller() -> None:
    # Opset 11: Softmax scales everything from axis 1 on; the function imports opset 21, which scales one axis.
    body = "b (int64 i, bool k, float[1,2,2] v) => (bool k2, float[1,2,2] w) { k2 = Identity(k)  w = Softmax <axis = 1> (v) }"
    record = parse_record(
        f"g (int64 n, bool c, float[1,2,2] x) => (float[1,2,2] y) {{ y = l.repeat <body = {body}> (n, c, x) }}",
        opset=11,
        more='"l": 1',
    )
    record.functions = [parse_function(REPEAT)]
    out = sx.Session(record).run({"n": 1, "c": True, "x": np.zeros((1, 2, 2), np.float32)})["y"]
    assert np.asarray(out).tolist() == [[[0.25, 0.25], [0.25, 0.25]]]


def test_a_reference_to_a_graph_keeps_its_type() -> None:
    assert parse_function(REPEAT).node[0].attribute[0].type == m.AttributeProtoAttributeType.GRAPH
