"""fuse-attention."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_stays

PASS = "fuse-attention"
INPUTS = "float[N,2,3,4] q, float[N,2,5,4] k, float[N,2,5,6] v"


def attention(
    scaled: str = "a = Mul(s, c)", *, inputs: str = INPUTS, turn: str = "[0, 1, 3, 2]", more: str = ""
) -> str:
    return f"""g ({inputs}) => (float[] y) <float c = {{0.5}}{more}> {{
      t = Transpose<perm = {turn}>(k) s = MatMul(q, t) {scaled} p = Softmax(a) y = MatMul(p, v) }}"""


def fused(scale: float, *, inputs: str = INPUTS, more: str = "", mask: str = "") -> str:
    return f"g ({inputs}) => (float[] y) <float c = {{0.5}}{more}> {{ y = Attention<scale = {scale}>(q, k, v{mask}) }}"


@pytest.mark.parametrize(("scaled", "scale"), [("a = Mul(s, c)", 0.5), ("a = Div(s, c)", 2.0)])
def test_softmax_of_scaled_products_times_values_is_attention(scaled: str, scale: float) -> None:
    assert_becomes(attention(scaled), fused(scale), PASS, opset=23)
    assert_stays(attention(scaled), PASS, opset=22)


def test_a_constant_mask_goes_with_it() -> None:
    mask = ", float[3,5] m = {0,0,0,0,0, -9,0,0,0,0, -9,-9,0,0,0}"
    text = attention("b = Mul(s, c) a = Add(b, m)", more=mask)
    assert_becomes(text, fused(0.5, more=mask, mask=", m"), PASS, opset=23)


def test_keys_that_come_with_their_heads_behind_are_turned() -> None:
    inputs = INPUTS.replace("[N,2,5,4] k", "[N,5,2,4] k")
    text = attention(inputs=inputs, turn="[0, 2, 3, 1]")
    after = f"""g ({inputs}) => (float[] y) <float c = {{0.5}}> {{
      h = Transpose<perm = [0, 2, 1, 3]>(k) y = Attention<scale = 0.5>(q, h, v) }}"""
    assert_becomes(text, after, PASS, opset=23)


def test_a_mask_that_may_hide_every_key_stays() -> None:
    inputs = f"{INPUTS}, float[3,5] m"
    assert_stays(attention("b = Mul(s, c) a = Add(b, m)", inputs=inputs), PASS, opset=23)


@pytest.mark.parametrize(
    "inputs", [INPUTS.replace("[N,2,5,4] k", "[1,2,5,4] k"), INPUTS.replace("[N,2,5,6]", "[M,2,5,6]")]
)
def test_batches_that_are_stretched_or_may_differ_stay(inputs: str) -> None:
    assert_stays(attention(inputs=inputs), PASS, opset=23, proof=False)  # only some sizes fit each other


def test_weights_that_somebody_else_reads_stay() -> None:
    assert_stays(attention().replace("float[] y)", "float[] y, float[] p)"), PASS, opset=23)
