"""Models with training information, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TRAINING = "ai.onnx.preview.training"


def training_text(graph: str, steps: Sequence[str]) -> str:
    """A model of a graph and its training steps."""
    return f"""<ir_version: 10, opset_import: ["": 18, "{TRAINING}": 1], training_info: [{", ".join(steps)}]>
{graph}"""


# y = x w + b, and gradient descent on loss = mean((y - t)^2).
REGRESSION = "regression (float[N,3] x) => (float[N,1] y) <float[3,1] w = {0, 0, 0}, float[1] b = {0}> { p = MatMul(x, w) y = Add(p, b) }"
DESCENT = f"""{{
  initialization: start () => (float[3,1] w0, float[1] b0) {{
    w0 = RandomNormal<shape = [3, 1], seed = 7.0>()
    b0 = Constant<value = float[1] {{0.5}}>()
  }},
  initialization_binding: ["w": "w0", "b": "b0"],
  algorithm: descent (float[N,1] t) => (float loss, float[3,1] new_w, float[1] new_b, int64 new_count)
    <float rate = {{0.1}}, int64 count = {{0}}, int64 unit = {{1}}> {{
    d = Sub(y, t)
    s = Mul(d, d)
    loss = ReduceMean<keepdims = 0>(s)
    dw, db = {TRAINING}.Gradient<xs = ["w", "b"], zs = ["x", "t"], y = "loss">(w, b, x, t)
    rw = Mul(rate, dw)
    rb = Mul(rate, db)
    new_w = Sub(w, rw)
    new_b = Sub(b, rb)
    new_count = Add(count, unit)
  }},
  update_binding: ["w": "new_w", "b": "new_b", "count": "new_count"]
}}"""
MOMENTUM = f"""{{
  algorithm: momentum (float[N,1] t) => (float m_loss, float[3,1] next_w, float[3,1] next_v)
    <float[3,1] v = {{0, 0, 0}}, float m_rate = {{0.05}}, int64 m_count = {{0}}, int64 m_unit = {{1}}> {{
    e = Sub(y, t)
    q = Mul(e, e)
    m_loss = ReduceMean<keepdims = 0>(q)
    g = {TRAINING}.Gradient<xs = ["w"], zs = ["x", "t", "b"], y = "m_loss">(w, x, t, b)
    next_w, next_v = {TRAINING}.Momentum<alpha = 0.9, beta = 1.0, mode = "standard", norm_coefficient = 0.0>(m_rate, m_count, w, g, v)
    next_count = Add(m_count, m_unit)
  }},
  update_binding: ["w": "next_w", "v": "next_v"]
}}"""
# Both states move at once: a takes the old value of b, and b that of a.
SWAP = """{
  algorithm: swap () => (float[2] from_a, float[2] from_b) { from_a = Identity(a) from_b = Identity(b) },
  update_binding: ["a": "from_b", "b": "from_a"]
}"""
PAIR = "pair () => (float[2] sum) <float[2] a = {1, 2}, float[2] b = {3, 4}> { sum = Add(a, b) }"


def start_text(assignments: Mapping[str, Sequence[int]]) -> str:
    """A training step without an algorithm, whose initialization graph assigns pairs of numbers to states."""
    outputs = ", ".join(f"float[2] first_{name}" for name in assignments)
    nodes = " ".join(
        f"first_{name} = Constant<value = float[2] {{{numbers[0]}, {numbers[1]}}}>()"
        for name, numbers in assignments.items()
    )
    bindings = ", ".join(f'"{name}": "first_{name}"' for name in assignments)
    return (
        f"{{ initialization: start () => ({outputs}) {{ {nodes} }}, initialization_binding: [{bindings}] }}"
    )
