"""Ifs in branches and loops whose own branches return different shapes: what follows is compiled for either shape."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import sardonyx as sx
from compile.test_lower_control_flow import Feeds, assert_native, engine, fallback_op_types
from models import parse_model
from sardonyx._src.compile.prepare.branch_continuations import (
    MAX_CONTINUATION,
    MAX_COPIES,
    duplicate_continuations,
)
from sardonyx._src.errors import EvaluationError
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.walk import nodes

X: Array = np.arange(6, dtype=np.float32)
TRUE: Array = np.array(True)
FALSE: Array = np.array(False)


def floats(numbers: Sequence[float]) -> Array:
    return np.array(numbers, np.float32)


# The inner If returns [6] or [2,3]; the product and its sum are [3] in both cases.
RANKS = """g (float[6] x, float[3] w, bool a, bool b) => (float[3] y) {
  y = If (a) <
    then_branch = outer () => (float[3] r) {
      v = If (b) <
        then_branch = matrix () => (float[2,3] m) { dims = Constant <value = int64[2] {2, 3}> ()  m = Reshape(x, dims) },
        else_branch = vector () => (float[3] s) { i = Constant <value = int64[3] {0, 2, 4}> ()  s = Gather(x, i) }
      >
      p = Mul(v, w)
      dims3 = Constant <value = int64[2] {-1, 3}> ()
      q = Reshape(p, dims3)
      axis = Constant <value = int64[1] {0}> ()
      r = ReduceSum <keepdims = 0> (q, axis)
    },
    else_branch = other () => (float[3] o) { o = Neg(w) }
  >
}"""


def test_branches_may_return_different_ranks_in_a_branch() -> None:
    w = floats([1, 10, 100])
    feeds: list[Feeds] = [
        {"x": X, "w": w, "a": a, "b": b} for a, b in itertools.product((TRUE, FALSE), repeat=2)
    ]
    compiled = assert_native(RANKS, *feeds)
    expected = [[3, 50, 700], [0, 20, 400], [-1, -10, -100], [-1, -10, -100]]
    for feed, result in zip(feeds, expected, strict=True):
        np.testing.assert_array_equal(compiled.run(feed)["y"], floats(result))


IN_A_LOOP = """g (float[6] x, float[3] w, int64 n, int64 k) => (float[3] y) {
  zero = Constant <value = float[3] {0, 0, 0}> ()
  y = Loop <body = each (int64 i, bool on, float[3] before) => (bool goes, float[3] after) {
    goes = Identity(on)
    c = Less(i, k)
    v = If (c) <
      then_branch = matrix () => (float[2,3] m) { dims = Constant <value = int64[2] {2, 3}> ()  m = Reshape(x, dims) },
      else_branch = vector () => (float[3] s) { j = Constant <value = int64[3] {0, 2, 4}> ()  s = Gather(x, j) }
    >
    p = Mul(v, w)
    dims3 = Constant <value = int64[2] {-1, 3}> ()
    q = Reshape(p, dims3)
    axis = Constant <value = int64[1] {0}> ()
    r = ReduceSum <keepdims = 0> (q, axis)
    after = Add(before, r)
  }> (n, , zero)
}"""


def test_branches_may_return_different_ranks_in_a_loop() -> None:
    w = floats([1, 10, 100])
    sizes = [(0, 0), (3, 0), (3, 2), (3, 3)]
    feeds: list[Feeds] = [{"x": X, "w": w, "n": np.array(n), "k": np.array(k)} for n, k in sizes]
    compiled = assert_native(IN_A_LOOP, *feeds)
    matrix, vector = floats([3, 50, 700]), floats([0, 20, 400])
    for feed, (n, k) in zip(feeds, sizes, strict=True):
        np.testing.assert_array_equal(compiled.run(feed)["y"], k * matrix + (n - k) * vector)


# The inner then_branch makes [2,3] of x, which has no fourth column: whoever takes it gets an error.
INVALID = """g (float[6] x, bool a, bool b) => (float[6] y) {
  y = If (a) <
    then_branch = outer () => (float[6] r) {
      v = If (b) <
        then_branch = matrix () => (float[2,3] m) { dims = Constant <value = int64[2] {2, 3}> ()  m = Reshape(x, dims) },
        else_branch = vector () => (float[6] s) { s = Neg(x) }
      >
      four = Constant <value = int64[1] {4}> ()
      five = Constant <value = int64[1] {5}> ()
      part = Constant <value = float[1] {7}> ()
      at = Constant <value = int64[1,1] {1}> ()
      r = ScatterND(v, at, part)
    },
    else_branch = other () => (float[6] o) { o = Identity(x) }
  >
}"""


def test_a_branch_that_fails_is_left_to_the_reference_engine() -> None:
    compiled = assert_native(INVALID, *({"x": X, "a": a, "b": FALSE} for a in (TRUE, FALSE)))
    result = compiled.run({"x": X, "a": TRUE, "b": FALSE})["y"]
    np.testing.assert_array_equal(result, floats([0, 7, -2, -3, -4, -5]))
    assert not compiled.native.counters.bailouts
    with pytest.raises(EvaluationError, match="ScatterND"):
        compiled.run({"x": X, "a": TRUE, "b": TRUE})
    compiled.run({"x": X, "a": FALSE, "b": TRUE})


def test_a_session_raises_the_error_of_a_branch_that_fails() -> None:
    session = sx.Session(parse_model(INVALID, opset=25), engine="native")
    with pytest.raises(EvaluationError, match="ScatterND"):
        session.run({"x": X, "a": TRUE, "b": TRUE})


COMPRESSED = """g (float[N,3] x, bool[N] keep, bool a) => (float[3] y) {
  axis = Constant <value = int64[1] {0}> ()
  y = If (a) <
    then_branch = outer () => (float[3] r) { c = Compress <axis = 0> (x, keep)  r = ReduceSum <keepdims = 0> (c, axis) },
    else_branch = other () => (float[3] o) { o = ReduceSum <keepdims = 0> (x, axis) }
  >
}"""


def test_compress_is_native_in_a_branch() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    masks = [[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    feeds: list[Feeds] = [
        {"x": x, "keep": np.array(mask, bool), "a": a} for mask in masks for a in (TRUE, FALSE)
    ]
    compiled = assert_native(COMPRESSED, *feeds)
    np.testing.assert_array_equal(compiled.run(feeds[2])["y"], floats([6, 8, 10]))


# --- the rewriting ---------------------------------------------------------------------------


def infer(model: Model) -> None:
    IncrementalInference(model).walk()


def test_nodes_are_copied_up_to_the_last_reader_of_an_open_value() -> None:
    model = parse_model(
        RANKS.replace("r = ReduceSum", "t = ReduceSum").replace("(q, axis)", "(q, axis)  r = Neg(t)")
    )
    assert duplicate_continuations(model, infer)
    (outer,) = (node for node in model.graph.nodes if node.op_type == "If")
    branch = outer.subgraphs[0] if outer.subgraphs[0].name == "outer" else outer.subgraphs[1]
    inner = [node.op_type for node in branch.nodes]
    assert inner[-1] == "Neg", "its operand has the shape [3] in both branches"
    assert "Mul" not in inner and "ReduceSum" in [
        n.op_type for g in branch.nodes[0].subgraphs for n in g.nodes
    ]


def test_an_if_of_the_main_graph_stays() -> None:
    text = """g (float[6] x, bool b) => (float[M] y) {
      v = If (b) <
        then_branch = matrix () => (float[2,3] m) { dims = Constant <value = int64[2] {2, 3}> ()  m = Reshape(x, dims) },
        else_branch = vector () => (float[6] s) { s = Neg(x) }
      >
      y = Abs(v)
    }"""
    model = parse_model(text)
    assert not duplicate_continuations(model, infer)


def test_a_long_continuation_stays() -> None:
    chain = "".join(f" v{i + 1} = Abs(v{i})" for i in range(MAX_CONTINUATION))
    text = RANKS.replace("v = If", "v0 = If").replace(
        "p = Mul(v, w)", chain + f" p = Mul(v{MAX_CONTINUATION}, w)"
    )
    model = parse_model(text)
    before = len(list(nodes(model.graph)))
    assert not duplicate_continuations(model, infer)
    assert len(list(nodes(model.graph))) == before


def test_copies_are_bounded() -> None:
    """Each of many Ifs in a row would double the nodes after it."""
    inner = """ v{i} = If (b) <
        then_branch = matrix{i} () => (float m{i}) {{ d{i} = Constant <value = int64[2] {{1, -1}}> ()  m{i} = Reshape(u{i}, d{i}) }},
        else_branch = vector{i} () => (float s{i}) {{ e{i} = Constant <value = int64[1] {{-1}}> ()  s{i} = Reshape(u{i}, e{i}) }}
      > u{j} = Abs(v{i})"""
    chain = "u0 = Neg(x)" + "".join(inner.format(i=i, j=i + 1) for i in range(12))
    end = " f = Constant <value = int64[1] {6}> ()  r = Reshape(u12, f)"
    text = "g (float[6] x, bool a, bool b) => (float[6] y) { y = If (a) < then_branch = outer () => (float[6] r) { "
    text += chain + end + " }, else_branch = other () => (float[6] o) { o = Neg(x) } > }"
    text = text.replace("(float m", "(float[] m").replace("(float s", "(float[] s")
    model = parse_model(text)
    before = len(list(nodes(model.graph)))
    duplicate_continuations(model, infer)
    assert len(list(nodes(model.graph))) <= before + MAX_COPIES
    compiled = engine(text)
    for b in (TRUE, FALSE):
        np.testing.assert_array_equal(compiled.run({"x": X, "a": TRUE, "b": b})["y"], X)
    assert fallback_op_types(compiled.native.program) in ([], ["If"])
