"""Products of scales are computed before the kernels whose results they scale, and nothing else changes its place."""

from __future__ import annotations

import numpy as np

from compile.native_agreement import assert_engines_agree
from compile.test_lower_integer_products import kernels
from models import parse_model
from sardonyx._src.compile.prepare.execution_order import execution_order
from sardonyx._src.ir import TensorType, Value

LAYER = """g (float[M,9] x) => (float[M,5] y) {
    q, s, z = DynamicQuantizeLinear(x)  p = MatMulInteger(q, w, z)  f = Cast <to = 1> (p)
    t = Mul(s, ws)  m = Mul(f, t)  y = Add(m, bias) }"""


def layer(scale: str) -> str:
    """A dynamically quantized layer, as exporters write it."""
    weights = ", ".join(str(i % 200 - 100) for i in range(45))
    constants = f"<int8[9,5] w = {{{weights}}}, {scale}, float[5] bias = {{1, 2, 3, 4, 5}}>"
    return LAYER.replace("y) {", f"y) {constants} {{", 1)


def order_of(text: str) -> list[str]:
    """The first output of each node in the order of execution; shapes are those declared in the text."""
    graph = parse_model(text).graph

    def shape(value: Value) -> tuple[int, ...] | None:
        known = value.type.shape if isinstance(value.type, TensorType) else None
        return None if known is None else tuple(known)  # type: ignore[arg-type]

    order = execution_order(graph, shape)
    assert list(order.values()) == list(range(len(order))) and order.keys() == set(graph.nodes)
    return [node.outputs[0].name for node in order]


def test_layers_apply_their_scales() -> None:
    """The product of the scales, one or one for each column, is written after the integers."""
    draw = np.random.default_rng(3)
    feeds = [{"x": draw.normal(size=(m, 9)).astype(np.float32)} for m in (3, 1, 20)]
    for scale in ("float ws = {0.01}", "float[5] ws = {0.01, 0.02, 0.03, 0.04, 0.05}"):
        assert kernels(layer(scale))[-2:] == ["elementwise", "matmul_bytes_False_False"]
        assert_engines_agree(layer(scale), *feeds)


def test_a_product_of_scales_follows_its_factors() -> None:
    text = """g (float a, float[3] b, float[3,3] x) => (y, z)
        <float c, float[3] d, float[3] e, float[3,3] m, float f, float h, float y, float[3,3] z> {
        m = MatMul(x, x)  c = Exp(a)  z = Mul(m, m)  h = Mul(a, a)  d = Mul(c, b)  e = Mul(d, d)  f = ReduceSum(e)
        y = Mul(f, c) }"""
    assert order_of(text) == ["h", "m", "c", "d", "e", "z", "f", "y"]


def test_vectors_of_open_length_stay() -> None:
    text = "g (float[N] a, float[3,3] x) => (m, y) <float[3,3] m, float[N] y> { m = MatMul(x, x)  y = Mul(a, a) }"
    assert order_of(text) == ["m", "y"]
