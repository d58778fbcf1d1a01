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

    def floats(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    every: dict[str, dict[str, Array]] = {
        "product": {"x": floats(5, 3)},
        "bytes": {side: generator.integers(0, 256, 7).astype(np.uint8) for side in "ab"},
        "doubles": {"x": generator.standard_normal((2, 130))},
        "loop": {"x": floats(2, 3), "m": np.array(5)},
        "branch": {"x": floats(4), "b": np.array(True)},
        "scan": {"s": floats(3), "x": floats(6, 3)},
        "gather": {"x": floats(4, 2), "i": np.array([0, -1, 2])},
        "empty": {"x": floats(0, 3), "z": floats(2, 3)},
        "copy": {"x": floats(2, 2)},
    }
    return every[name]
