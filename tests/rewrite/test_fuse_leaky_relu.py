"""fuse-leaky-relu."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-leaky-relu"
NUMBERS = (
    "float k = {0.25}, float two = {2}, float z = {0}, float n = {-0.25}, float[3] v = {0.5, 0.25, 0.125}"
)


@pytest.mark.parametrize(
    ("nodes", "alpha"),
    [
        ("a = Mul(k, x) y = Max(a, x)", 0.25),
        ("c = Greater(x, z) a = Mul(x, two) y = Where(c, x, a)", 2.0),
        ("c = Less(x, z) a = Mul(x, n) y = Where(c, a, x)", -0.25),
        ("r = Relu(x) m = Neg(x) q = Relu(m) a = Mul(q, k) y = Sub(r, a)", 0.25),
        ("r = Relu(x) m = Neg(x) q = Relu(m) a = Mul(q, n) y = Add(a, r)", 0.25),
    ],
)
def test_what_is_a_multiple_below_zero_is_leaky_relu(nodes: str, alpha: float) -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) <{NUMBERS}> {{ {nodes} }}",
        f"g (float[2,3] x) => (float[] y) {{ y = LeakyRelu<alpha = {alpha}>(x) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Mul(x, two) y = Max(x, a)",
        "a = Mul(x, n) y = Max(x, a)",
        "a = Mul(x, v) y = Max(x, a)",
        "a = Mul(w, k) y = Max(x, a)",
        "c = Greater(x, k) a = Mul(x, k) y = Where(c, x, a)",
        "c = Less(x, z) a = Mul(x, k) y = Where(c, x, a)",
        "a = Mul(x, k) b = Max(x, a) y = Add(a, b)",
    ],
)
def test_other_slopes_bounds_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[2,3] x, float[2,3] w) => (float[] y) <{NUMBERS}> {{ {nodes} }}", PASS)


def test_a_double_that_no_attribute_holds_is_kept() -> None:
    assert_unchanged(
        "g (double[2] x) => (double[] y) <double k = {0.1}> { a = Mul(x, k) y = Max(x, a) }", PASS
    )
