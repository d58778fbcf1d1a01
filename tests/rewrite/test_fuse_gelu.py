"""fuse-gelu, fuse-mish."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

NUMBERS = "float r = {1.4142135}, float i = {0.70710677}, float o = {1}, float h = {0.5}"
TANH = "float n = {3}, float k = {0.044715}, float c = {0.7978846}, float o = {1}, float h = {0.5}"


def gelu(nodes: str, numbers: str = NUMBERS) -> str:
    return f"g (float[N] x) => (float[] y) <{numbers}> {{ {nodes} }}"


@pytest.mark.parametrize("scaled", ["d = Div(x, r)", "d = Mul(i, x)"])
@pytest.mark.parametrize(
    "tail", ["m = Mul(x, a) y = Mul(h, m)", "m = Mul(x, h) y = Mul(m, a)", "m = Mul(a, h) y = Mul(m, x)"]
)
def test_half_of_one_plus_erf_times_x_is_gelu(scaled: str, tail: str) -> None:
    text = gelu(f"{scaled} e = Erf(d) a = Add(o, e) {tail}")
    assert_becomes(text, gelu('y = Gelu<approximate = "none">(x)'), "fuse-gelu")
    assert_unchanged(text, "fuse-gelu", opset=19)


@pytest.mark.parametrize(
    "tail", ["m = Mul(x, a) y = Mul(h, m)", "m = Mul(x, h) y = Mul(m, a)", "m = Mul(a, h) y = Mul(m, x)"]
)
def test_the_tanh_that_approximates_erf_is_approximate_gelu(tail: str) -> None:
    text = gelu(
        f"p = Pow(x, n) q = Mul(k, p) s = Add(x, q) u = Mul(s, c) t = Tanh(u) a = Add(t, o) {tail}", TANH
    )
    assert_becomes(text, gelu('y = Gelu<approximate = "tanh">(x)', TANH), "fuse-gelu")


def test_other_numbers_and_values_read_elsewhere_are_kept() -> None:
    tail = "e = Erf(d) a = Add(o, e) m = Mul(x, a) y = Mul(h, m)"
    assert_unchanged(gelu(f"d = Div(x, i) {tail}"), "fuse-gelu")
    text = gelu(f"d = Div(x, r) {tail}")
    assert_unchanged(text.replace("float[] y)", "float[] y, float[] e)"), "fuse-gelu")


def test_x_times_the_tanh_of_softplus_is_mish() -> None:
    text = "g (float[N] x) => (float[] y) { s = Softplus(x) t = Tanh(s) y = Mul(t, x) }"
    assert_becomes(text, "g (float[N] x) => (float[] y) { y = Mish(x) }", "fuse-mish")
    assert_unchanged(text, "fuse-mish", opset=17)
