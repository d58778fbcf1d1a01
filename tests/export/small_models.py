"""Small models of different kinds, with feeds."""

from __future__ import annotations

import numpy as np

from models import parse_model
from sardonyx._src.ir import Array, Model

TEXTS = {
    "product": """g (float[5,3] x) => (float[5,4] y) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
        { a = MatMul(x, w)  y = Softmax <axis = 1> (a) }""",
    "bytes": "g (uint8[7] a, uint8[7] b) => (uint8[7] s, bool[7] less) { s = BitwiseXor(a, b)  less = Less(a, b) }",
    "doubles": """g (double[2,130] x) => (double[2] y) <int64[1] axes = {1}>
        { y = ReduceLogSumExp <keepdims = 0> (x, axes) }""",
    "loop": """g (float[2,3] x, int64 m) => (float[2,3] y) {
        y = Loop <body = each (int64 i, bool on, float[2,3] s) => (bool goes, float[2,3] t) {
          goes = Identity(on)  a = Sub(x, s)  t = Tanh(a)
        }> (m, , x) }""",
    "branch": """g (float[4] x, bool b) => (float[4] y) {
        y = If (b) <then_branch = p () => (float[4] u) { u = Exp(x) }, else_branch = q () => (float[4] v) { v = Neg(x) }> }""",
    "scan": """g (float[3] s, float[6,3] x) => (float[3] last, float[6,3] all) {
        last, all = Scan <num_scan_inputs = 1, body = each (float[3] a, float[3] b) => (float[3] c, float[3] d) {
          c = Add(a, b)  d = Mul(c, b)
        }> (s, x) }""",
    "gather": "g (float[4,2] x, int64[3] i) => (float[3,2] y) { y = Gather(x, i) }",
    "empty": "g (float[0,3] x, float[2,3] z) => (float[2,3] y) { y = Concat <axis = 0> (x, z) }",
    "copy": "g (float[2,2] x) => (float[2,2] y, float[2,2] z) { y = Identity(x)  z = Neg(x) }",
}


def small_model(name: str) -> Model:
    return parse_model(TEXTS[name])


def feeds_of(name: str) -> dict[str, Array]:
    """Feeds of a small model, drawn with a seed."""
    generator = np.random.default_rng(7)
    normal = generator.standard_normal
    return {
        "product": lambda: {"x": normal((5, 3)).astype(np.float32)},
        "bytes": lambda: {n: generator.integers(0, 256, 7).astype(np.uint8) for n in "ab"},
        "doubles": lambda: {"x": normal((2, 130))},
        "loop": lambda: {"x": normal((2, 3)).astype(np.float32), "m": np.array(5)},
        "branch": lambda: {"x": normal(4).astype(np.float32), "b": np.array(True)},
        "scan": lambda: {"s": normal(3).astype(np.float32), "x": normal((6, 3)).astype(np.float32)},
        "gather": lambda: {"x": normal((4, 2)).astype(np.float32), "i": np.array([0, -1, 2])},
        "empty": lambda: {"x": np.empty((0, 3), np.float32), "z": normal((2, 3)).astype(np.float32)},
        "copy": lambda: {"x": normal((2, 2)).astype(np.float32)},
    }[name]()
