"""cancel-quantization, drop-relu-before-quantization, fuse-dequantize."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

CANCEL, RELU, FUSE = "cancel-quantization", "drop-relu-before-quantization", "fuse-dequantize"


def pair(numbers: str, inner: str, outer: str) -> str:
    return f"""g (uint8[N] x) => (uint8[] y) <{numbers}> {{
        a = DequantizeLinear(x{inner}) b = QuantizeLinear(a{outer}) y = Identity(b)
    }}"""


def test_a_pair_of_the_same_numbers_is_removed() -> None:
    assert_becomes(
        pair("float s = {0.3}, float t = {0.3}, uint8 z = {7}", ", s, z", ", t, z"),
        "g (uint8[N] x) => (uint8[] y) { y = Identity(x) }",
        CANCEL,
    )


@pytest.mark.parametrize(
    ("numbers", "inner", "outer"),
    [
        ("float s = {0.3}, float t = {0.4}, uint8 z = {7}", ", s, z", ", t, z"),
        ("float s = {0.3}, uint8 z = {7}, uint8 v = {8}", ", s, z", ", s, v"),
        ("float s = {1e-40}, uint8 z = {7}", ", s, z", ", s, z"),
    ],
)
def test_a_pair_of_other_numbers_is_kept(numbers: str, inner: str, outer: str) -> None:
    assert_unchanged(pair(numbers, inner, outer), CANCEL)


def relu(numbers: str, kind: str = "uint8", zero: str = ", z") -> str:
    return f"g (float[N] x) => ({kind}[] y) <{numbers}> {{ a = Relu(x) y = QuantizeLinear(a, s{zero}) }}"


@pytest.mark.parametrize(
    ("numbers", "kind", "zero"),
    [
        ("float s = {0.5}, uint8 z = {0}", "uint8", ", z"),
        ("float s = {0.5}, int8 z = {-128}", "int8", ", z"),
        ("float s = {0.5}", "uint8", ""),
    ],
)
def test_what_is_cut_off_needs_no_relu(numbers: str, kind: str, zero: str) -> None:
    assert_becomes(
        relu(numbers, kind, zero),
        f"g (float[N] x) => ({kind}[] y) <{numbers}> {{ y = QuantizeLinear(x, s{zero}) }}",
        RELU,
    )


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ("float s = {0.5}, uint8 z = {3}", "uint8"),
        ("float s = {0.5}, int8 z = {0}", "int8"),
        ("float s = {-0.5}, uint8 z = {0}", "uint8"),
    ],
)
def test_a_zero_above_the_lowest_number_keeps_it(numbers: str, kind: str) -> None:
    assert_unchanged(relu(numbers, kind), RELU)


@pytest.mark.parametrize(("shape", "axis"), [("float[3]", "<axis = 1>"), ("float", "")])
def test_integers_made_floats_and_scaled_are_dequantized(shape: str, axis: str) -> None:
    assert_becomes(
        f"g (int32[N,3] x, {shape} s) => (float[] y) {{ c = Cast<to = 1>(x) y = Mul(c, s) }}",
        f"g (int32[N,3] x, {shape} s) => (float[] y) {{ y = DequantizeLinear{axis}(x, s) }}",
        FUSE,
    )


@pytest.mark.parametrize(
    ("kind", "shape", "opset"),
    [("int32", "[N,3]", 21), ("int64", "[3]", 21), ("int32", "[1]", 21), ("int32", "[3]", 12)],
)
def test_other_scales_types_and_versions_are_kept(kind: str, shape: str, opset: int) -> None:
    assert_unchanged(
        f"g ({kind}[N,3] x, float{shape} s) => (float[] y) {{ c = Cast<to = 1>(x) y = Mul(c, s) }}",
        FUSE,
        opset=opset,
    )
