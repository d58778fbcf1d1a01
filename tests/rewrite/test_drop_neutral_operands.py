"""drop-neutral-operands."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "drop-neutral-operands"


@pytest.mark.parametrize("node", ["Mul(x, c)", "Mul(c, x)", "Div(x, c)", "Pow(x, c)"])
def test_one_is_neutral(node: str) -> None:
    assert_becomes(
        f"g (float[2] x) => (float[] y) <float[1] c = {{1}}> {{ a = {node} y = Neg(a) }}",
        "g (float[2] x) => (float[] y) { y = Neg(x) }",
        PASS,
    )


def test_integers_lose_a_zero_that_is_added() -> None:
    assert_becomes(
        "g (int64[2] x) => (int64[] y) <int64 c = {0}> { a = Add(c, x) b = Sub(a, c) y = Neg(b) }",
        "g (int64[2] x) => (int64[] y) { y = Neg(x) }",
        PASS,
    )


def test_a_float_zero_distinguishes_signs_of_zero() -> None:
    assert_unchanged("g (float[2] x) => (float[] y) <float c = {0}> { a = Add(x, c) y = Neg(a) }", PASS)
    assert_becomes(
        "g (float[2] x) => (float[] y) <float c = {0}, float d = {-0.0}> { a = Sub(x, c) b = Add(a, d) y = Neg(b) }",
        "g (float[2] x) => (float[] y) { y = Neg(x) }",
        PASS,
    )


@pytest.mark.parametrize(
    ("x", "c", "node"),
    [
        ("float[2]", "float[1,1] c = {1}", "Mul(x, c)"),
        ("float[1]", "float[2] c = {1, 1}", "Mul(x, c)"),
        ("float[2]", "float c = {1}", "Div(c, x)"),
        ("float[2]", "float c = {1}", "Sub(c, x)"),
        ("float[2]", "float[2] c = {1, 2}", "Mul(x, c)"),
    ],
)
def test_what_widens_or_is_not_neutral_is_kept(x: str, c: str, node: str) -> None:
    assert_unchanged(f"g ({x} x) => (float[] y) <{c}> {{ a = {node} y = Neg(a) }}", PASS)


def test_a_default_that_a_caller_can_replace_is_kept() -> None:
    assert_unchanged("g (float[2] x, float c = {1}) => (float[] y) { a = Mul(x, c) y = Neg(a) }", PASS)
