"""fuse-clip."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-clip"
NUMBERS = """float o = {0}, float six = {6}, float one = {1}, float m = {-1}, float[1] wide = {6}, float[2] two = {1, 2},
    float low = {-inf}, float high = {inf}, float least = {-3.4028234663852886e38}"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = Relu(x) y = Min(a, six)", "y = Clip(x, o, six)"),
        ("a = Relu(x) y = Min(six, a)", "y = Clip(x, o, six)"),
        ("a = Relu(x) y = Min(a, wide)", "y = Clip(x, o, six)"),
        ("a = Relu(x) y = Relu(a)", "y = Relu(x)"),
        ("a = Clip(x, m, six) y = Relu(a)", "y = Clip(x, o, six)"),
        ("a = Clip(x, m, six) y = Clip(a, o, one)", "y = Clip(x, o, one)"),
        ("a = Clip(x, o, one) y = Clip(a, six, six)", "y = Clip(x, six, six)"),
        ("a = Clip(x, six, m) y = Max(a, o)", "y = Clip(x, o, o)"),
        ("a = Max(x, m) y = Max(a, one)", "y = Clip(x, one, high)"),
        ("a = Clip(x, , six) y = Min(a, one)", "y = Clip(x, least, one)"),
        ("a = Max(x, low) y = Neg(a)", "y = Neg(x)"),
        ("a = Min(high, x) y = Neg(a)", "y = Neg(x)"),
    ],
)
def test_bounds_in_a_row_become_one(before: str, after: str) -> None:
    assert_becomes(
        f"g (float[2] x) => (float[] y) <{NUMBERS}> {{ {before} }}",
        f"g (float[2] x) => (float[] y) <{NUMBERS}> {{ {after} }}",
        PASS,
    )


def test_bounds_are_attributes_before_11() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) { a = Relu(x) y = Clip<min = -1.0, max = 6.0>(a) }",
        "g (float[2] x) => (float[] y) { y = Clip<min = 0.0, max = 6.0>(x) }",
        PASS,
        opset=10,
    )


def test_a_double_that_no_attribute_holds_is_kept() -> None:
    assert_unchanged(
        "g (double[2] x) => (double[] y) <double t = {0.1}> { a = Max(x, t) y = Clip<min = -1.0, max = 6.0>(a) }",
        PASS,
        opset=10,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Clip(x, , six)",
        "a = Relu(x) y = Min(a, two)",
        "a = Relu(x) y = Min(a, z)",
        "a = Relu(x) b = Min(a, six) y = Sub(b, a)",
        "a = Relu(x) y = Min(a, six, z)",
        "a = Neg(x) y = Min(a, six)",
    ],
)
def test_tensors_and_values_read_elsewhere_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[2] x, float[2] z) => (float[] y) <{NUMBERS}> {{ {nodes} }}", PASS)


def test_a_number_that_widens_is_kept() -> None:
    assert_unchanged("g (float x) => (float[] y) <float[1] w = {6}> { a = Relu(x) y = Min(a, w) }", PASS)
