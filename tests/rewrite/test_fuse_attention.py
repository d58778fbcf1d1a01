"""fuse-attention."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-attention"
INPUTS = "float[N,2,3,4] q, float[N,2,5,4] k, float[N,2,5,6] v"


def attention(
    scaled: str = "a = Mul(s, c)", *, inputs: str = INPUTS, perm: str = "[0, 1, 3, 2]", more: str = ""
) -> str:
    return f"""g ({inputs}) => (float[] y) <float c = {{0.5}}{more}> {{
      t = Transpose<perm = {perm}>(k) s = MatMul(q, t) {scaled} p = Softmax(a) y = MatMul(p, v) }}"""


def fused_attention(scale: float, *, inputs: str = INPUTS, more: str = "", mask: str = "") -> str:
    return f"g ({inputs}) => (float[] y) <float c = {{0.5}}{more}> {{ y = Attention<scale = {scale}>(q, k, v{mask}) }}"


@pytest.mark.parametrize(("scaled", "scale"), [("a = Mul(s, c)", 0.5), ("a = Div(s, c)", 2.0)])
def test_softmax_of_scaled_products_times_values_is_attention(scaled: str, scale: float) -> None:
    assert_becomes(attention(scaled), fused_attention(scale), PASS, opset=23)
    assert_unchanged(attention(scaled), PASS, opset=22)


@pytest.mark.parametrize(
    "scaled", ["a = Mul(c, s)", "b = Div(s, d) a = Mul(b, c)", "b = Mul(s, c) a = Div(b, d)"]
)
def test_the_scale_is_the_product_of_constant_factors(scaled: str) -> None:
    more = ", float d = {2}"
    scale = 0.25 if "d" in scaled else 0.5
    assert_becomes(attention(scaled, more=more), fused_attention(scale, more=more), PASS, opset=23)


def test_scores_that_are_not_scaled_by_constants_are_kept() -> None:
    assert_unchanged(attention("a = Mul(s, d)", inputs=f"{INPUTS}, float d"), PASS, opset=23)
    assert_unchanged(attention("a = Div(c, s)"), PASS, opset=23)


def test_a_constant_mask_is_fused_too() -> None:
    mask = ", float[3,5] m = {0,0,0,0,0, -9,0,0,0,0, -9,-9,0,0,0}"
    text = attention("b = Mul(s, c) a = Add(b, m)", more=mask)
    assert_becomes(text, fused_attention(0.5, more=mask, mask=", m"), PASS, opset=23)


def test_keys_with_heads_after_the_sequence_are_transposed() -> None:
    inputs = INPUTS.replace("[N,2,5,4] k", "[N,5,2,4] k")
    text = attention(inputs=inputs, perm="[0, 2, 3, 1]")
    after = f"""g ({inputs}) => (float[] y) <float c = {{0.5}}> {{
      h = Transpose<perm = [0, 2, 1, 3]>(k) y = Attention<scale = 0.5>(q, h, v) }}"""
    assert_becomes(text, after, PASS, opset=23)


def test_attention_in_float64_is_kept() -> None:
    text = attention("a = Mul(s, c)").replace("float", "double")
    assert_unchanged(text, PASS, opset=23)


def test_a_mask_that_may_hide_every_key_is_kept() -> None:
    inputs = f"{INPUTS}, float[3,5] m"
    assert_unchanged(attention("b = Mul(s, c) a = Add(b, m)", inputs=inputs), PASS, opset=23)


@pytest.mark.parametrize(
    "inputs", [INPUTS.replace("[N,2,5,4] k", "[1,2,5,4] k"), INPUTS.replace("[N,2,5,6]", "[M,2,5,6]")]
)
def test_batches_that_broadcast_or_may_differ_are_kept(inputs: str) -> None:
    assert_unchanged(attention(inputs=inputs), PASS, opset=23, proof=False)  # only some sizes fit each other


def test_weights_with_other_uses_are_kept() -> None:
    assert_unchanged(attention().replace("float[] y)", "float[] y, float[] p)"), PASS, opset=23)
