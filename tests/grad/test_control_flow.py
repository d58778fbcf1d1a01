"""Gradients of If, Loop and Scan: captured values, states, scan inputs and outputs, directions, nesting."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from grad.differences import assert_gradients, weighted_loss
from sardonyx._src.ops.api import RuntimeValue

DRAW = np.random.default_rng(11)
HEADER = '<ir_version: 10, opset_import: ["": 25]>'
COUNTS = "m = Constant<value_int = %d>() c = Constant<value = bool {1}>()"


def values(*shape: int) -> RuntimeValue:
    return np.asarray(DRAW.standard_normal(shape))


def assert_differentiable(text: str, feeds: dict[str, RuntimeValue], wrt: list[str]) -> None:
    model = sx.from_text(f"{HEADER} {text}")
    for output in model.graph.outputs:
        output.type = None
    assert_gradients(weighted_loss(model), feeds, wrt)


@pytest.mark.parametrize("condition", [True, False])
def test_branches_that_capture_different_values(condition: bool) -> None:
    text = """g (double[3] x, double[3] z, bool c) => (double[3] y) {
      y = If(c) <
        then_branch = t () => (double[3] a) { b = Mul(x, z) a = Exp(b) },
        else_branch = e () => (double[3] d) { d = Identity(x) }
      >
    }"""
    assert_differentiable(text, {"x": values(3), "z": values(3), "c": np.asarray(condition)}, ["x", "z"])


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_loop_with_state_capture_and_scan_output(count: int) -> None:
    text = f"""g (double[3] x, double[3] w) => (double[3] y, double[N,3] s) {{
      {COUNTS % count}
      y, s = Loop(m, c, x) <
        body = b (int64 i, bool ci, double[3] h) => (bool co, double[3] n, double[3] o) {{
          co = Identity(ci)
          p = Mul(h, w)
          n = Sin(p)
          o = Mul(n, p)
        }}
      >
    }}"""
    assert_differentiable(text, {"x": values(3), "w": values(3)}, ["x", "w"])


def test_a_loop_that_ends_by_its_condition() -> None:
    text = f"""g (double x) => (double y) {{
      {COUNTS % 100}
      y = Loop(m, c, x) <
        body = b (int64 i, bool ci, double h) => (bool co, double n) {{
          factor = Constant<value = double {{1.5}}>()
          bound = Constant<value = double {{20}}>()
          n = Mul(h, factor)
          co = Less(n, bound)
        }}
      >
    }}"""
    assert_differentiable(text, {"x": np.asarray(1.3)}, ["x"])


def test_a_loop_within_a_loop() -> None:
    text = f"""g (double[2] x, double[2] w) => (double[2] y) {{
      {COUNTS % 2}
      y = Loop(m, c, x) <
        body = b (int64 i, bool ci, double[2] h) => (bool co, double[2] n) {{
          co = Identity(ci)
          n = Loop(m, ci, h) <
            body = inner (int64 j, bool cj, double[2] k) => (bool cp, double[2] l) {{
              cp = Identity(cj)
              p = Mul(k, w)
              l = Sin(p)
            }}
          >
        }}
      >
    }}"""
    assert_differentiable(text, {"x": values(2), "w": values(2)}, ["x", "w"])


@pytest.mark.parametrize("attributes", ["", "scan_input_directions = [1],", "scan_output_directions = [1],"])
def test_a_scan_in_both_directions(attributes: str) -> None:
    text = f"""g (double[2] first, double[3,4] x, double[4,2] w, double[2,2] u) => (double[2] y, double[3,2] s) {{
      y, s = Scan(first, x) <
        num_scan_inputs = 1, {attributes}
        body = b (double[2] h, double[4] e) => (double[2] n, double[2] o) {{
          a = MatMul(e, w)
          r = MatMul(h, u)
          t = Add(a, r)
          n = Tanh(t)
          o = Mul(n, a)
        }}
      >
    }}"""
    feeds = {"first": values(2), "x": values(3, 4), "w": values(4, 2), "u": values(2, 2)}
    assert_differentiable(text, feeds, [*feeds])


def test_a_scan_along_other_axes() -> None:
    text = """g (double[2] first, double[4,3] x, double[2,2] u) => (double[2] y, double[2,3] s) {
      y, s = Scan(first, x) <
        num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
        body = b (double[2] h, double[4] e) => (double[2] n, double[2] o) {
          q = ReduceSum<keepdims = 0>(e)
          r = MatMul(h, u)
          t = Add(q, r)
          n = Tanh(t)
          o = Mul(n, q)
        }
      >
    }"""
    feeds = {"first": values(2), "x": values(4, 3), "u": values(2, 2)}
    assert_differentiable(text, feeds, [*feeds])


def test_a_state_that_is_also_a_scan_output() -> None:
    text = f"""g (double[2] x) => (double[2] y, double[N,2] s) {{
      {COUNTS % 3}
      y, s = Loop(m, c, x) <
        body = b (int64 i, bool ci, double[2] h) => (bool co, double[2] n, double[2] n) {{
          co = Identity(ci)
          n = Sin(h)
        }}
      >
    }}"""
    assert_differentiable(text, {"x": values(2)}, ["x"])


def test_second_order_through_a_loop() -> None:
    """y = x^(2^2); its second derivative is 12 x^2."""
    text = f"""{HEADER} g (double x) => (double y) {{
      {COUNTS % 2}
      y = Loop(m, c, x) <
        body = b (int64 i, bool ci, double h) => (bool co, double n) {{ co = Identity(ci) n = Mul(h, h) }}
      >
    }}"""
    first = sx.gradient(sx.from_text(text), "y", "x")
    second = sx.gradient(first, "x_gradient", "x")
    results = sx.Session(second, engine="reference").run({"x": 1.5})
    assert results["x_gradient"] == pytest.approx(4 * 1.5**3)
    assert results["x_gradient_1"] == pytest.approx(12 * 1.5**2)
