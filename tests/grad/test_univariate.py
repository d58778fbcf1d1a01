"""Elementwise functions of one tensor that are several nodes: one multiplication by the gradient of their result."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from grad.differences import assert_gradients, weighted_loss
from sardonyx._src.ops.api import RuntimeValue

HEADER = '<ir_version: 10, opset_import: ["": 25]>'
GELU = """root = Constant<value = double {1.4142135623730951}>() half = Constant<value = double {0.5}>()
  one = Constant<value = double {1.0}>() d = Div(x, root) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)"""
TANH_GELU = """c = Constant<value = double {0.044715}>() s = Constant<value = double {0.7978845608028654}>()
  half = Constant<value = double {0.5}>() one = Constant<value = double {1.0}>() three = Constant<value = double {3.0}>()
  cube = Pow(x, three) small = Mul(cube, c) sum = Add(x, small) inner = Mul(s, sum) t = Tanh(inner) a = Add(one, t)
  m = Mul(x, a) y = Mul(m, half)"""
SILU = "e = Sigmoid(x) y = Mul(x, e)"
MISH = "p = Softplus(x) e = Tanh(p) y = Mul(x, e)"
SHIFTED = (
    "one = Constant<value = double {1.0}>() e = Exp(x) d = Add(one, e) q = Div(x, d) n = Neg(q) y = Mul(n, e)"
)
FUNCTIONS = {"gelu": GELU, "tanh_gelu": TANH_GELU, "silu": SILU, "mish": MISH, "shifted": SHIFTED}


def model_of(body: str, inputs: str = "double[3,4] x", outputs: str = "double[3,4] y") -> sx.Model:
    return sx.from_text(f"{HEADER} g ({inputs}) => ({outputs}) {{ {body} }}")


def feeds(*names: str) -> dict[str, RuntimeValue]:
    draw = np.random.default_rng(7)
    return {name: np.asarray(draw.normal(size=(3, 4))) for name in names or ("x",)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_central_differences(name: str) -> None:
    assert_gradients(weighted_loss(model_of(FUNCTIONS[name])), feeds(), ["x"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_gradients_are_central_differences(name: str) -> None:
    first = sx.gradient(model_of(FUNCTIONS[name]), "y", "x")
    first.graph.outputs = first.graph.outputs[1:]
    first.graph.outputs[0].name = "slopes"
    assert_gradients(weighted_loss(first), feeds(), ["x"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_multiplied_once(name: str) -> None:
    """With loss = sum(y * dy), the gradient of y is dy times the gradient of the loss."""
    text = f"{FUNCTIONS[name]} product = Mul(y, dy) loss = ReduceSum<keepdims = 0>(product)"
    model = sx.gradient(model_of(text, "double[3,4] x, double[3,4] dy", "double loss"), "loss", "x")
    dy = next(value for value in model.graph.inputs if value.name == "dy")
    gradients = [node.outputs[0] for node, _ in dy.uses if node.outputs[0].name != "product"]
    assert [len(gradient.uses) for gradient in gradients] == [1]
    (reader, _), *_ = gradients[0].uses
    assert reader.op_type == "Mul"
    assert [node.op_type for node, _ in reader.outputs[0].uses] == ["Identity"], "it is the gradient of x"


def test_a_tensor_inside_that_another_node_reads_is_no_part_of_it() -> None:
    model = model_of("e = Sigmoid(x) y = Mul(x, e) z = Sin(e)", outputs="double[3,4] y, double[3,4] z")
    assert_gradients(weighted_loss(model), feeds(), ["x"])


def test_a_tensor_inside_may_be_a_source() -> None:
    model = model_of("e = Sigmoid(x) y = Mul(x, e)", outputs="double[3,4] y, double[3,4] e")
    assert_gradients(weighted_loss(model), feeds(), ["x"])
    gradients = sx.Session(sx.gradient(model, "y", ["x", "e"]), engine="reference").run(feeds())
    np.testing.assert_allclose(np.asarray(gradients["e_gradient"]), np.asarray(feeds()["x"]))


def test_a_function_of_two_tensors_is_differentiated_node_by_node() -> None:
    model = model_of("s = Add(x, z) e = Sigmoid(s) y = Mul(x, e)", "double[3,4] x, double[3,4] z")
    assert_gradients(weighted_loss(model), feeds("x", "z"), ["x", "z"])


def test_constants_of_the_function_may_be_sources() -> None:
    model = model_of("m = Mul(x, c) e = Sigmoid(m) y = Mul(x, e)", "double[3,4] x, double[1] c")
    values = feeds() | {"c": np.asarray([0.7])}
    assert_gradients(weighted_loss(model), values, ["x", "c"])


def test_a_broadcast_argument_is_summed() -> None:
    model = model_of("e = Sigmoid(x) m = Mul(x, e) y = Mul(m, z)", "double[1,4] x, double[3,4] z")
    values = feeds("x", "z") | {"x": np.asarray(feeds()["x"])[:1]}
    assert_gradients(weighted_loss(model), values, ["x", "z"])


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize(("dtype", "numpy"), [("float16", "f2"), ("float", "f4"), ("double", "f8")])
@pytest.mark.parametrize("axes", ["", "a = Constant<value_ints = [1]>()"])
def test_a_norm_has_the_subgradient_0_at_rows_of_zeros(
    axes: str, dtype: str, numpy: str, keepdims: int
) -> None:
    operands = "x, a" if axes else "x"
    body = f"{axes} n = ReduceL2<keepdims = {keepdims}>({operands}) y = ReduceSum<keepdims = 0>(n)"
    model = sx.gradient(model_of(body, f"{dtype}[2,3] x", f"{dtype} y"), of="y", wrt="x")
    rows = np.array([[0, 0, 0], [3, 0, 4]], numpy)
    for engine in ("reference", "native"):
        outputs = sx.Session(model, engine=engine).run({"x": rows})
        (slope,) = (value for name, value in outputs.items() if name != "y")
        np.testing.assert_allclose(slope, np.array([[0, 0, 0], [0.6, 0, 0.8]]), rtol=1e-3)
        zeros = sx.Session(model, engine=engine).run({"x": np.zeros_like(rows)})
        (slope,) = (value for name, value in zeros.items() if name != "y")
        assert slope.tolist() == [[0] * 3] * 2
