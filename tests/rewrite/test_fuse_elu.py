"""fuse-elu."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-elu"
NUMBERS = "float k = {0.25}, float z = {0}, float o = {1}, float[3] v = {0.5, 0.25, 0.125}"


@pytest.mark.parametrize(
    ("nodes", "alpha"),
    [
        ("c = Greater(x, z) e = Exp(x) s = Sub(e, o) y = Where(c, x, s)", 1.0),
        ("c = Greater(x, z) e = Exp(x) s = Sub(e, o) a = Mul(k, s) y = Where(c, x, a)", 0.25),
        ("c = Less(x, z) e = Exp(x) s = Sub(e, o) y = Where(c, s, x)", 1.0),
        ("r = Relu(x) n = Min(x, z) e = Exp(n) s = Sub(e, o) y = Add(s, r)", 1.0),
        ("r = Relu(x) n = Min(z, x) e = Exp(n) s = Sub(e, o) a = Mul(s, k) y = Add(r, a)", 0.25),
    ],
)
def test_an_exponential_below_zero_is_elu(nodes: str, alpha: float) -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) <{NUMBERS}> {{ {nodes} }}",
        f"g (float[2,3] x) => (float[] y) {{ y = Elu<alpha = {alpha}>(x) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "c = Greater(x, o) e = Exp(x) s = Sub(e, o) y = Where(c, x, s)",
        "c = Greater(x, z) e = Exp(x) s = Sub(e, k) y = Where(c, x, s)",
        "c = Greater(x, z) e = Exp(w) s = Sub(e, o) y = Where(c, x, s)",
        "c = Greater(x, z) e = Exp(x) s = Sub(e, o) a = Mul(v, s) y = Where(c, x, a)",
        "c = Greater(x, z) e = Exp(x) s = Sub(e, o) y = Where(c, s, x)",
        "c = Greater(x, z) e = Exp(x) s = Sub(e, o) b = Where(c, x, s) y = Add(b, e)",
    ],
)
def test_other_numbers_sides_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[2,3] x, float[2,3] w) => (float[] y) <{NUMBERS}> {{ {nodes} }}", PASS)
