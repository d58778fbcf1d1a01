"""fuse-layer-norm, fuse-rms-norm."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

LAYER, RMS = "fuse-layer-norm", "fuse-rms-norm"
HEAD = "g (float[N,3,4] x, float[4] scale, float[4] bias) => (float[] y) <float k = {2}, float epsilon = {1e-5}, int64[1] axes = {-1}>"
POW, MUL = "p = Pow(d, k)", "p = Mul(d, d)"


def layer(square: str = POW, *, axes: str = "", last: str = ", axes", head: str = HEAD) -> str:
    return f"""{head} {{ m = ReduceMean{axes}(x{last}) d = Sub(x, m) {square} v = ReduceMean{axes}(p{last})
      e = Add(v, epsilon) s = Sqrt(e) n = Div(d, s) a = Mul(n, scale) y = Add(a, bias) }}"""


@pytest.mark.parametrize("square", [POW, MUL])
def test_a_scaled_and_shifted_deviation_is_layer_normalization(square: str) -> None:
    after = HEAD + "{ y = LayerNormalization<axis = 2, epsilon = 1e-5>(x, scale, bias) }"
    assert_becomes(layer(square), after, LAYER)
    assert_becomes(layer(square, axes="<axes = [-1]>", last=""), after, LAYER, opset=17)
    assert_unchanged(layer(square, axes="<axes = [-1]>", last=""), LAYER, opset=16)


@pytest.mark.parametrize("square", [POW, MUL])
def test_the_division_of_a_layer_norm_is_not_taken_for_a_norm_of_its_own(square: str) -> None:
    assert_unchanged(layer(square), RMS)


def test_axes_that_are_not_the_last_ones_are_kept() -> None:
    assert_unchanged(layer(head=HEAD.replace("{-1}", "{1}")), LAYER)


def test_a_scale_of_more_axes_or_unknown_size_is_kept() -> None:
    assert_unchanged(layer(head=HEAD.replace("float[4] scale", "float[3,4] scale")), LAYER)
    assert_unchanged(layer(head=HEAD.replace("float[4] bias", "float[M] bias")), LAYER)


def test_double_stays_as_layer_normalization_computes_in_float() -> None:
    assert_unchanged(layer(head=HEAD.replace("float", "double")), LAYER)


@pytest.mark.parametrize(
    "tail", ["n = Div(x, s) y = Mul(scale, n)", "r = Reciprocal(s) n = Mul(x, r) y = Mul(n, scale)"]
)
@pytest.mark.parametrize("square", ["p = Pow(x, k)", "p = Mul(x, x)"])
def test_what_is_divided_by_its_root_mean_square_is_rms_normalization(square: str, tail: str) -> None:
    text = f"{HEAD} {{ {square} v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) {tail} }}"
    assert_becomes(text, HEAD + "{ y = RMSNormalization<axis = 2, epsilon = 1e-5>(x, scale) }", RMS, opset=23)
    assert_unchanged(text, RMS, opset=22)
    assert_unchanged(text.replace("float[4] scale", "float[3,1] scale"), RMS, opset=23)
