"""fuse-hard-sigmoid, fuse-hard-swish, fuse-swish."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

SIGMOID, HARD, SWISH = "fuse-hard-sigmoid", "fuse-hard-swish", "fuse-swish"
NUMBERS = "float t = {3}, float o = {0}, float s = {6}, float i = {0.16666667}"
DONE = "h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, h)"


@pytest.mark.parametrize(
    "tail",
    [
        "m = Mul(x, b) y = Div(m, s)",
        "m = Mul(b, x) y = Mul(m, i)",
        "m = Div(b, s) y = Mul(x, m)",
        "m = Mul(b, i) y = Mul(m, x)",
    ],
)
@pytest.mark.parametrize(("clip", "opset"), [("Clip<min = 0.0, max = 6.0>(a)", 10), ("Clip(a, o, s)", 13)])
def test_a_clipped_sum_is_a_hard_sigmoid(tail: str, clip: str, opset: int) -> None:
    assert_becomes(
        f"g (float[N] x) => (float[] y) <{NUMBERS}> {{ a = Add(x, t) b = {clip} {tail} }}",
        f"g (float[N] x) => (float[] y) {{ {DONE} }}",
        SIGMOID,
        opset=opset,
    )


def test_other_bounds_are_kept() -> None:
    assert_unchanged(
        f"g (float[N] x) => (float[] y) <{NUMBERS}> {{ a = Add(x, t) b = Clip(a, o, t) m = Mul(x, b) y = Div(m, s) }}",
        SIGMOID,
    )
    assert_unchanged(
        f"g (float[N] x) => (float[] y) <{NUMBERS}> {{ a = Add(x, s) b = Clip(a, o, s) m = Mul(x, b) y = Div(m, s) }}",
        SIGMOID,
    )


def test_times_itself_it_is_hard_swish_where_there_is_one() -> None:
    text = f"g (float[N] x) => (float[] y) {{ {DONE} }}"
    assert_becomes(text, "g (float[N] x) => (float[] y) { y = HardSwish(x) }", HARD, opset=14)
    assert_unchanged(text, HARD, opset=13)
    assert_unchanged(text.replace("0.5", "0.4"), HARD)
    assert_unchanged(
        f"g (float[N] x, float[N] z) => (float[] y) {{ {DONE.replace('Mul(x', 'Mul(z')} }}", HARD
    )


def test_times_its_sigmoid_it_is_swish_where_there_is_one() -> None:
    text = "g (float[N] x) => (float[] y) { s = Sigmoid(x) y = Mul(s, x) }"
    assert_becomes(text, "g (float[N] x) => (float[] y) { y = Swish<alpha = 1.0>(x) }", SWISH, opset=24)
    assert_unchanged(text, SWISH, opset=23)
    assert_becomes(
        "g (float[N] x) => (float[] y) <float c = {1.5}> { a = Mul(x, c) s = Sigmoid(a) y = Mul(x, s) }",
        "g (float[N] x) => (float[] y) { y = Swish<alpha = 1.5>(x) }",
        SWISH,
        opset=24,
    )


def test_a_sigmoid_of_something_else_is_kept() -> None:
    assert_unchanged(
        "g (float[N] x, float[N] z) => (float[] y) { s = Sigmoid(z) y = Mul(s, x) }", SWISH, opset=24
    )
    assert_unchanged(
        "g (float[N] x) => (float[] y, float[] s) { s = Sigmoid(x) y = Mul(s, x) }", SWISH, opset=24
    )
    assert_unchanged(
        "g (float[N] x) => (float[] y) <float[1,1] c = {1.5}> { a = Mul(x, c) s = Sigmoid(a) y = Mul(x, s) }",
        SWISH,
        opset=24,
    )
