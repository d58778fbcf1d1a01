"""Gradients of models that carry sequences: loops, maps, and elements that several readers share."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from grad.test_gradient_nodes import outputs

HEADER = '<ir_version: 10, opset_import: ["": 18]>'
X = np.array([0.5, -1.0, 2.0])


def run(text: str, *wrt: str, **feeds: object) -> dict[str, np.ndarray]:
    return outputs(sx.gradient(sx.from_text(f"{HEADER} {text}"), "y", list(wrt)), "reference", **feeds)


def test_a_loop_that_grows_a_sequence() -> None:
    """The sequence is x, x w, x w^2, x w^3; y is the sum of all of its elements."""
    text = """g (double[3] x, double w) => (double y) {
      first = SequenceConstruct(x)
      n = Constant<value = int64 {3}>() yes = Constant<value = bool {1}>() last = Constant<value = int64 {-1}>()
      all = Loop(n, yes, first) <body = b (int64 i, bool c, seq(double[3]) s) => (bool d, seq(double[3]) t) {
        d = Identity(c) u = SequenceAt(s, last) v = Mul(u, w) t = SequenceInsert(s, v)
      }>
      rows = ConcatFromSequence<axis = 0, new_axis = 1>(all) y = ReduceSum<keepdims = 0>(rows)
    }"""
    out = run(text, "x", "w", x=X, w=np.float64(1.5))
    np.testing.assert_allclose(out["x_gradient"], np.full(3, 1 + 1.5 + 1.5**2 + 1.5**3))
    np.testing.assert_allclose(out["w_gradient"], X.sum() * (1 + 2 * 1.5 + 3 * 1.5**2))


def test_a_loop_with_a_sequence_and_scan_outputs() -> None:
    """Each iteration removes an element and returns it, times what the iterations before have summed."""
    text = """g (double[3] x) => (double y) {
      parts = SplitToSequence<axis = 0, keepdims = 0>(x)
      n = Constant<value = int64 {3}>() yes = Constant<value = bool {1}>() front = Constant<value = int64 {0}>()
      one = Constant<value = double {1}>()
      rest, total, rows = Loop(n, yes, parts, one) <body = b (int64 i, bool c, seq(double) s, double a) => (bool d, seq(double) t, double e, double r) {
        d = Identity(c) u = SequenceAt(s, front) t = SequenceErase(s, front) e = Add(a, u) r = Mul(a, u)
      }>
      y = ReduceSum<keepdims = 0>(rows)
    }"""
    a, b, c = X  # y = a + (1 + a) b + (1 + a + b) c
    np.testing.assert_allclose(run(text, "x", x=X)["x_gradient"], [1 + b + c, 1 + a + c, 1 + a + b])


def test_a_map_sums_the_gradients_of_what_its_elements_share() -> None:
    text = """g (double[3] x, double w, double v) => (double y) {
      parts = SplitToSequence<axis = 0, keepdims = 0>(x)
      mapped = SequenceMap(parts, w) <body = b (double e, double f) => (double g) { p = Mul(e, f) g = Mul(p, v) }>
      rows = ConcatFromSequence<axis = 0, new_axis = 1>(mapped) y = ReduceSum<keepdims = 0>(rows)
    }"""
    out = run(text, "x", "w", "v", x=X, w=np.float64(2), v=np.float64(5))
    np.testing.assert_allclose(out["x_gradient"], np.full(3, 10))
    np.testing.assert_allclose([out["w_gradient"], out["v_gradient"]], [5 * X.sum(), 2 * X.sum()])


def test_an_optional_passes_its_gradient_on() -> None:
    text = """g (double[3] x) => (double y) {
      o = Optional(x) e = OptionalGetElement(o) s = Mul(e, x) y = ReduceSum<keepdims = 0>(s)
    }"""
    np.testing.assert_allclose(run(text, "x", x=X)["x_gradient"], 2 * X)


def test_a_branch_that_returns_a_sequence() -> None:
    text = """g (double[3] x, bool c) => (double y) {
      s = If(c) <
        then_branch = t () => (seq(double[3]) a) { p = Exp(x) a = SequenceConstruct(p, x) },
        else_branch = f () => (seq(double[3]) b) { b = SequenceConstruct(x) }
      >
      z = ConcatFromSequence<axis = 0>(s) y = ReduceSum<keepdims = 0>(z)
    }"""
    np.testing.assert_allclose(run(text, "x", x=X, c=True)["x_gradient"], np.exp(X) + 1)
    np.testing.assert_allclose(run(text, "x", x=X, c=False)["x_gradient"], np.ones(3))
