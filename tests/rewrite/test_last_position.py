"""Outputs at the last position alone equal the last rows of all, and only nodes that keep rows apart are cut."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array
from sardonyx._src.rewrite.last_position import keep_last_position

LAYERS = """
g (float[batch,length,4] x, float[batch,length,4] r) => (float[batch,length,3] y, float[batch,length,4] z)
  <float[4,4] w = {1,2,0,-1, 0,1,1,0, 2,-1,0,1, 1,0,0,1}, float[4,3] v = {1,0,2, -1,1,0, 0,1,1, 2,0,-1},
   float[4] s = {1,2,3,4}, float[4] b = {1,0,-1,2}, float c = {0.5}> {
  z = Mul(x, x)
  m = MatMul(z, w)
  sum = Add(m, r)
  n = LayerNormalization(sum, s, b)
  t = Tanh(n)
  g1 = Mul(n, t)
  h = Mul(g1, c)
  y = MatMul(h, v)
}
"""
# What lets no row go before it: a sum over rows, a product with rows, a reshape, a shape, a second output.
MIXING = {
    "cumulative": "k = CumSum(x, one)",
    "transposed": "k = Transpose<perm = [1, 0, 2]>(x)",
    "softmax": "k = Softmax<axis = 1>(x)",
    "norm": "k = LayerNormalization<axis = 1>(x, one)",
}


def last_rows(session: sx.Session, feeds: dict[str, Array], name: str) -> Array:
    result = session.run(feeds)[name]
    return result[:, -1:]


def drawn(*names: str) -> dict[str, Array]:
    draw = np.random.default_rng(3)
    return {name: draw.integers(-3, 4, (2, 5, 4)).astype(np.float32) for name in names}


def test_a_layer_is_computed_for_the_last_row() -> None:
    model, feeds = parse_model(LAYERS), drawn("x", "r")
    edited = keep_last_position(model, "y")
    assert [node.op_type for node in edited.graph.nodes].count("Slice") == 2
    sliced = {
        node.inputs[0].name for node in edited.graph.nodes if node.op_type == "Slice" and node.inputs[0]
    }
    assert sliced == {"z", "r"}  # z is an output, of which all rows are needed
    for engine in ("reference", "native"):
        whole, last = (sx.Session(m, engine=engine, threads=1) for m in (model, edited))
        results = last.run(feeds)
        assert results["y"].shape == (2, 1, 3)
        np.testing.assert_allclose(results["y"], last_rows(whole, feeds, "y"), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(results["z"], feeds["x"] ** 2)
    assert str(edited.graph.outputs[0].type) != str(model.graph.outputs[0].type)


@pytest.mark.parametrize("kind", MIXING)
def test_nodes_that_mix_rows_are_computed_for_all(kind: str) -> None:
    text = f"""
    g (float[batch,length,4] x) => (float[a,c,4] y) <int64 one = {{1}}> {{ {MIXING[kind]} y = Exp(k) }}
    """
    if kind == "norm":
        text = text.replace("int64 one = {1}", "float one = {1}")
    model = parse_model(text)
    edited = keep_last_position(model, "y")
    (cut,) = (node for node in edited.graph.nodes if node.op_type == "Slice")
    assert cut.inputs[0] is not None and cut.inputs[0].name == "k"
    feeds = {"x": drawn("x")["x"]}
    for engine in ("reference", "native"):
        whole, last = (sx.Session(m, engine=engine, threads=1) for m in (model, edited))
        np.testing.assert_allclose(last.run(feeds)["y"], last_rows(whole, feeds, "y"), rtol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[b,1,4] x) => (float[b,1,4] y) { y = Exp(x) }",
        "g (float[b,4] x) => (float[b,4] y) { y = Exp(x) }",
        "g (float[b,l,4] x) => (float[b,l,4] y, float[b,l,4] z) { y = Exp(x) z = Exp(y) }",
        "g (float[b,l,4] x) => (float[b,l,4] y) <int64 one = {1}> { y = CumSum(x, one) }",
        "g (float[b,l,4] x) => (float[b,l,4] other) { other = Exp(x) }",
    ],
    ids=["one row", "no rows", "read again", "mixed", "another output"],
)
def test_models_of_which_nothing_can_be_left_out(text: str) -> None:
    model = parse_model(text)
    assert keep_last_position(model, "y") is model


def test_operands_that_are_broadcast_along_the_rows_stay() -> None:
    text = """
    g (float[batch,length,4] x, float[batch,1,4] once, float[length,4] each) => (float[batch,length,4] y) {
      a = Add(x, once)  b = Mul(a, each)  y = Neg(b)
    }
    """
    model = parse_model(text)
    edited = keep_last_position(model, "y")
    draw = np.random.default_rng(4)
    feeds = {
        "x": draw.standard_normal((2, 5, 4)).astype(np.float32),
        "once": draw.standard_normal((2, 1, 4)).astype(np.float32),
        "each": draw.standard_normal((5, 4)).astype(np.float32),
    }
    expected = -(feeds["x"] + feeds["once"]) * feeds["each"]
    for engine in ("reference", "native"):
        session = sx.Session(edited, engine=engine, threads=1)
        np.testing.assert_array_equal(session.run(feeds)["y"], expected[:, -1:])
