"""What loops collect for their gradients: every iteration is computed once, and the gradients of matrices are products after it."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from grad.differences import assert_gradients, weighted_loss
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.api import RuntimeValue

HEADER = '<ir_version: 10, opset_import: ["": 25]>'
CELL = """g (double[2,3] h, double[3,3] w, double[T,2,3] x) => (double[2,3] last, double[T,2,3] all) {
  last, all = Scan<num_scan_inputs = 1%s, body = b (double[2,3] state, double[2,3] part) => (double[2,3] next, double[2,3] copy) {
    product = MatMul(state, w) sum = Add(product, part) next = Tanh(sum) copy = Identity(next)
  }> (h, x) }"""
BACKWARD = ", scan_input_directions = [1], scan_output_directions = [1]"


def cell(attributes: str = "") -> sx.Model:
    return sx.from_text(f"{HEADER} {CELL % attributes}")


def feeds(length: int = 4) -> dict[str, RuntimeValue]:
    draw = np.random.default_rng(3)
    shapes = {"h": (2, 3), "w": (3, 3), "x": (length, 2, 3)}
    return {name: np.asarray(draw.normal(size=shape)) for name, shape in shapes.items()}


@pytest.mark.parametrize("attributes", ["", BACKWARD])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_gradients_of_a_cell(attributes: str, length: int) -> None:
    assert_gradients(weighted_loss(cell(attributes)), feeds(length), ["h", "w", "x"])


def test_gradients_of_a_gradient() -> None:
    first = sx.gradient(cell(), "all", "w")
    first.graph.outputs = first.graph.outputs[2:]
    first.graph.outputs[0].name = "slopes"
    assert_gradients(weighted_loss(first), feeds(), ["h", "w", "x"])


def test_the_state_is_multiplied_once_in_each_direction() -> None:
    model = sx.gradient(weighted_loss(cell()), "loss", ["h", "w", "x"])
    scans = [node for node in model.graph.nodes if node.op_type == "Scan"]
    products = [
        [node for node in scan.subgraphs[0].nodes if node.op_type in ("MatMul", "Gemm")] for scan in scans
    ]
    assert [len(inner) for inner in products] == [1, 1]
    assert [node.op_type for node in model.graph.nodes if node.op_type in ("MatMul", "Gemm")] == ["Gemm"]


def test_loops_that_multiply_by_a_transposed_matrix_and_by_gemm() -> None:
    text = f"""{HEADER} g (double[2,3] h, double[3,3] w, double[3,3] v, double[3] b) => (double[2,3] y) {{
      m = Constant<value_int = 3>() c = Constant<value = bool {{1}}>()
      y = Loop(m, c, h) <body = b (int64 i, bool ci, double[2,3] s) => (bool co, double[2,3] n) {{
        co = Identity(ci) t = Transpose<perm = [1, 0]>(w) p = MatMul(s, t) q = Sin(p) n = Gemm<transB = 1>(q, v, b)
      }}> }}"""
    inputs = {**feeds(), "v": np.eye(3) * 0.5, "b": np.arange(3) / 4}
    del inputs["x"]
    assert_gradients(weighted_loss(sx.from_text(text)), inputs, ["h", "w", "v", "b"])


def test_sizes_that_change_are_computed_anew() -> None:
    text = f"""{HEADER} g (double[4] x, double[4] w) => (double[4] y) {{
      m = Constant<value_int = 3>() c = Constant<value = bool {{1}}>()
      y = Loop(m, c, x) <body = b (int64 i, bool ci, double[4] s) => (bool co, double[4] n) {{
        co = Identity(ci) zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>()
        end = Add(i, one) part = Slice(w, zero, end) square = Mul(part, part) total = ReduceSum<keepdims = 0>(square) n = Mul(s, total)
      }}> }}"""
    inputs: dict[str, RuntimeValue] = {"x": np.arange(4) + 1.0, "w": np.arange(4) / 4 - 1}
    assert_gradients(weighted_loss(sx.from_text(text)), inputs, ["x", "w"])


RANDOM = """g (float[5] x) => (float[5] y) {
  m = Constant<value_int = 2>() c = Constant<value = bool {1}>()
  y = Loop(m, c, x) <body = b (int64 i, bool ci, float[5] s) => (bool co, float[5] n) {
    co = Identity(ci) r = RandomUniformLike(s) n = Mul(s, r)
  }> }"""


def test_random_numbers_of_the_body_are_drawn_once() -> None:
    model = sx.gradient(sx.from_text(f"{HEADER} {RANDOM}"), "y", "x")
    results = Interpreter(model, seed=4).run({"x": np.ones(5, np.float32)})
    np.testing.assert_allclose(results["x_gradient"], results["y"], 1e-6)  # type: ignore[arg-type]


def test_random_numbers_of_changing_sizes_are_refused() -> None:
    text = """g (float[5] x) => (float y) {
      m = Constant<value_int = 2>() c = Constant<value = bool {1}>() z = Constant<value_float = 1.0>()
      y = Loop(m, c, z) <body = b (int64 i, bool ci, float s) => (bool co, float n) {
        co = Identity(ci) zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>() end = Add(i, one)
        part = Slice(x, zero, end) r = RandomUniformLike(part) p = Mul(part, r) t = ReduceSum<keepdims = 0>(p) n = Mul(s, t)
      }> }"""
    with pytest.raises(sx.errors.DifferentiationError, match="draws random numbers of sizes"):
        sx.gradient(sx.from_text(f"{HEADER} {text}"), "y", "x")


@pytest.mark.parametrize(
    "text",
    [
        "y = Slice(x, s, e, a)",
        "i = Constant<value_int = 1>() y = Gather<axis = 1>(x, i)",
        "i = Constant<value_ints = [-1]>() y = Gather(x, i)",
    ],
)
def test_gradients_of_known_slices_are_padded(text: str) -> None:
    ranges = (
        "s = Constant<value_ints = [1]>() e = Constant<value_ints = [-1]>() a = Constant<value_ints = [1]>()"
    )
    model = sx.from_text(f"{HEADER} g (double[2,5] x) => (double y) {{ {ranges} {text} }}")
    model.graph.outputs[0].type = None
    loss = weighted_loss(model)
    assert_gradients(loss, {"x": np.arange(10.0).reshape(2, 5)}, ["x"])
    used = {node.op_type for node in nodes(sx.gradient(loss, "loss", "x").graph)}
    assert "Pad" in used and "ScatterElements" not in used
