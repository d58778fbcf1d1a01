"""fuse-matmul-add."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-matmul-add"


@pytest.mark.parametrize("add", ["Add(a, b)", "Add(b, a)"])
@pytest.mark.parametrize("bias", ["4", "1,4", "N,4", "1"])
def test_a_product_of_matrices_takes_what_is_added(add: str, bias: str) -> None:
    assert_becomes(
        f"g (float[N,3] x, float[3,4] w, float[{bias}] b) => (float[] y) {{ a = MatMul(x, w) y = {add} }}",
        f"g (float[N,3] x, float[3,4] w, float[{bias}] b) => (float[] y) {{ y = Gemm(x, w, b) }}",
        PASS,
    )


@pytest.mark.parametrize(
    ("x", "w", "b"),
    [
        ("2,N,3", "3,4", "4"),
        ("3", "3,4", "4"),
        ("N,3", "3", "1"),
        ("N,3", "3,4", "2,1,4"),
        ("1,3", "3,4", "2,4"),
    ],
)
def test_other_ranks_and_what_widens_are_kept(x: str, w: str, b: str) -> None:
    assert_unchanged(
        f"g (float[{x}] x, float[{w}] w, float[{b}] b) => (float[] y) {{ a = MatMul(x, w) y = Add(a, b) }}",
        PASS,
    )


def test_a_product_that_is_read_elsewhere_is_kept() -> None:
    assert_unchanged(
        "g (float[2,3] x, float[3,4] w, float[4] b) => (float[] y, float[] a) { a = MatMul(x, w) y = Add(a, b) }",
        PASS,
    )


def test_integers_are_multiplied_by_gemm_from_version_9_on() -> None:
    assert_becomes(
        "g (int32[2,3] x, int32[3,4] w, int32[4] b) => (int32[] y) { a = MatMul(x, w) y = Add(a, b) }",
        "g (int32[2,3] x, int32[3,4] w, int32[4] b) => (int32[] y) { y = Gemm(x, w, b) }",
        PASS,
    )
