"""`sx.gradient`: names, kinds of values, refusals and models of older operator sets."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from grad.test_gradient_nodes import ENGINES, outputs
from sardonyx._src.runtime.session.session import Engine

TEXT = """<ir_version: 8, opset_import: ["": 11, "my": 1]>
g (float[N,3] x, int64[N] i) => (float[N,2] y, int64[N] k)
<float[3,2] w = {1, 2, 3, 4, 5, 6}>
{
  h = MatMul(x, w)
  r = Relu(h)
  y = my.Double(r)
  a = ArgMax<axis = 1, keepdims = 0>(y)
  k = Add(a, i)
}
<domain: "my", opset_import: ["": 11]>
Double (u) => (v) { v = Add(u, u) }"""
X = np.array([[1, -2, 0.5], [0.5, 1, -4]], np.float32)


def model() -> sx.Model:
    return sx.from_text(TEXT)


@pytest.mark.parametrize("engine", ENGINES)
def test_outputs_follow_those_of_the_model(engine: Engine) -> None:
    result = sx.gradient(model(), "y", ["x", "w", "h"])
    assert [v.name for v in result.graph.outputs] == ["y", "k", "x_gradient", "w_gradient", "h_gradient"]
    assert sx.check(result).ok
    out = outputs(result, engine, x=X, i=np.zeros(2, np.int64))
    w = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    slope = 2 * (X @ w > 0)
    np.testing.assert_allclose(out["h_gradient"], slope)
    np.testing.assert_allclose(out["x_gradient"], slope @ w.T)
    np.testing.assert_allclose(out["w_gradient"], X.T @ slope)


def test_the_model_is_left_unchanged() -> None:
    original = model()
    before = sx.to_text(original)
    sx.gradient(original, "y", "x")
    assert sx.to_text(original) == before


def test_a_value_without_influence_has_the_gradient_zero() -> None:
    out = outputs(sx.gradient(model(), "h", "y"), "reference", x=X, i=np.zeros(2, np.int64))
    np.testing.assert_array_equal(out["y_gradient"], np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("of", "wrt", "message"),
    [
        ("k", "x", "of must name floating-point tensors; got 'k' of type int64"),
        ("y", "i", "wrt must name floating-point tensors; got 'i' of type int64"),
        ("yy", "x", "no value 'yy'"),
        ("y", "q", "no value 'q'"),
    ],
)
def test_names_must_be_those_of_float_tensors(of: str, wrt: str, message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        sx.gradient(model(), of, wrt)


def test_an_operator_without_gradient_is_refused() -> None:
    text = (
        '<ir_version: 13, opset_import: ["": 26]> g (float[4] x) => (float[4] y) { y = BitCast<to = 1>(x) }'
    )
    with pytest.raises(
        sx.DifferentiationError, match=r"BitCast-26 cannot be differentiated: it has no gradient; choose"
    ) as info:
        sx.gradient(sx.from_text(text), "y", "x")
    assert (info.value.op_type, info.value.location) == ("BitCast", "node[0] (BitCast)")


def test_an_operator_whose_use_has_no_body_is_refused() -> None:
    text = """<ir_version: 10, opset_import: ["": 18, "ai.onnx.ml": 1]> g (float[2,3] x) => (float[2,1] y) {
      y = ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, 3.0], post_transform = "PROBIT">(x)
    }"""
    with pytest.raises(
        sx.DifferentiationError, match=r"LinearRegressor-1 cannot be differentiated: .*PROBIT"
    ):
        sx.gradient(sx.from_text(text), "y", "x")


def test_gradients_keep_their_names_beside_equal_ones() -> None:
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[2] x, bool c) => (float[2] y) {
      y = If(c) <
        then_branch = t () => (float[2] a) { x_gradient = Sin(x) a = Exp(x_gradient) },
        else_branch = f () => (float[2] b) { b = Neg(x) }
      >
    }"""
    result = sx.gradient(sx.from_text(text), "y", "x")
    out = outputs(result, "reference", x=np.zeros(2, np.float32), c=np.True_)
    np.testing.assert_allclose(list(out.values())[-1], [1, 1])


@pytest.mark.parametrize("engine", ENGINES)
def test_declared_sizes_of_the_export_are_not_relied_on(engine: Engine) -> None:
    """torch's dynamo exporter declares [N, 13, ...] for values after an LSTM, though the sequence's length is dynamic."""
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[N,L] x) => (float[N,2] y)
      <float[N,13] a, int64[1] starts = {-2}, int64[1] ends = {9223372036854775807}, int64[1] axes = {1}>
    { a = Exp(x)  y = Slice(a, starts, ends, axes) }"""
    result = sx.gradient(sx.from_text(text), "y", "x")
    out = outputs(result, engine, x=np.zeros((3, 5), np.float32))
    np.testing.assert_allclose(out["x_gradient"], [[0, 0, 0, 1, 1]] * 3)


def test_declared_sizes_that_inference_does_not_know_are_kept() -> None:
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[N,L] x, int64[2] s) => (float[N] y) <float[N,4] a>
    { a = Reshape(x, s)  y = ReduceSum<keepdims = 0, noop_with_empty_axes = 0>(a) }"""
    result = sx.gradient(sx.from_text(text), "y", "a")
    assert str(result.graph.outputs[-1].type) == "float[N,4]"
