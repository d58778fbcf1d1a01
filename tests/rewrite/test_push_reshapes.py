"""push-reshapes."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "push-reshapes"
SHAPES = "int64[1] s = {12}, int64[2] ones = {1, 1}, int64[2] t = {3, 4}, float half = {0.5}, float[1,1] one = {1}, float[12] c = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"


@pytest.mark.parametrize(
    ("work", "after"),
    [
        ("b = Exp(a)", "b = Exp(x)"),
        ("b = Mul(half, a)", "b = Mul(half, x)"),
        ("b = Mul(a, a)", "b = Mul(x, x)"),
        ("h = Exp(a) b = Neg(h)", "h = Exp(x) b = Neg(h)"),
        ("b = Clip(a, half)", "b = Clip(x, half)"),
        ("b = CastLike(a, c)", "b = CastLike(x, c)"),
    ],
)
def test_of_two_reshapes_around_work_one_is_left(work: str, after: str) -> None:
    assert_becomes(
        f"g (float[2,6] x) => (float[] y) <{SHAPES}> {{ a = Reshape(x, s) {work} y = Reshape(b, t) }}",
        f"g (float[2,6] x) => (float[] y) <{SHAPES}> {{ {after} y = Reshape(b, t) }}",
        PASS,
        "merge-reshapes",
    )


def test_dropped_and_restored_axes_are_removed() -> None:
    assert_becomes(
        """g (float[N,2,1,3] x) => (float[] y) <int64[1] k = {2}> {
            a = Squeeze(x, k) b = Relu(a) c = Unsqueeze(b, k) y = Neg(c)
        }""",
        "g (float[N,2,1,3] x) => (float[] y) { b = Relu(x) y = Neg(b) }",
        *(PASS, "merge-reshapes", "drop-no-ops"),
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Reshape(x, s) b = Exp(a) y = Neg(b)",
        "a = Reshape(x, s) b = Add(a, c) y = Reshape(b, t)",
        "a = Reshape(x, s) b = Exp(a) d = Reshape(b, t) z = Neg(b) e = ReduceMax<keepdims = 0>(z) y = Add(d, e)",
        "a = Reshape(x, s) b = Exp(a) d = Reshape(b, t) e = ReduceMax<keepdims = 0>(a) y = Add(d, e)",
        "a = Reshape(x, s) b = CumSum(a, i) y = Reshape(b, t)",
        "a = Transpose(x) b = Exp(a) y = Reshape(b, t)",
        "a = Reshape(x, s) b = CastLike(i, a) d = Reshape(b, ones) y = Add(x, d)",
    ],
)
def test_wide_operands_axes_and_values_read_elsewhere_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[2,6] x, int64 i) => (float[] y) <{SHAPES}> {{ {nodes} }}", PASS)


def test_a_constant_of_more_axes_than_the_source_is_kept() -> None:
    assert_unchanged(
        f"g (float[12] x) => (float[] y) <{SHAPES}> {{ a = Reshape(x, t) b = Mul(a, one) y = Reshape(b, s) }}",
        PASS,
    )
