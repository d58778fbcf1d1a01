"""widen-matmul."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "widen-matmul"
SHAPES = "int64[2] s = {-1, 3}, int64[3] t = {-1, 2, 4}, int64[2] u = {-1, 6}, int64[3] v = {2, -1, 4}"
WIDE = f"g (float[N,2,3] x, float[3,4] w, float[4] c) => (float[] y) <{SHAPES}>"


@pytest.mark.parametrize("product", ["MatMul(a, w)", "Gemm(a, w)"])
def test_a_product_between_reshapes_reads_all_axes(product: str) -> None:
    assert_becomes(
        f"{WIDE} {{ a = Reshape(x, s) b = {product} y = Reshape(b, t) }}",
        f"{WIDE} {{ y = MatMul(x, w) }}",
        PASS,
    )


def test_a_bias_is_added_after_it() -> None:
    assert_becomes(
        f"{WIDE} {{ a = Reshape(x, s) b = Gemm(a, w, c) y = Reshape(b, t) }}",
        f"{WIDE} {{ b = MatMul(x, w) y = Add(b, c) }}",
        PASS,
    )


def test_a_constant_that_is_read_transposed_is_transposed() -> None:
    assert_becomes(
        f"g (float[N,2,3] x) => (float[] y) <float[4,3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, {SHAPES}> "
        "{ a = Reshape(x, s) b = Gemm<transB = 1>(a, w) y = Reshape(b, t) }",
        "g (float[N,2,3] x) => (float[] y) <float[3,4] w = {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}> "
        "{ y = MatMul(x, w) }",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Reshape(x, s) b = MatMul(a, w) y = Reshape(b, v)",
        "a = Reshape(x, s) b = Gemm<alpha = 2.0>(a, w) y = Reshape(b, t)",
        "a = Reshape(x, s) b = Gemm<beta = 2.0>(a, w, c) y = Reshape(b, t)",
        "a = Reshape(x, s) b = MatMul(a, w) k = Exp(b) j = ReduceMax<keepdims = 0>(k) d = Reshape(b, t) y = Add(d, j)",
        "a = Reshape(x, s) k = ReduceMax<keepdims = 0>(a) b = MatMul(a, w) d = Reshape(b, t) y = Add(d, k)",
    ],
)
def test_other_shapes_factors_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"{WIDE} {{ {nodes} }}", PASS)


def test_a_reshape_that_makes_other_rows_is_kept() -> None:
    assert_unchanged(
        f"g (float[4,3] x, float[6,4] w) => (float[] y) <{SHAPES}, int64[3] z = {{2, 1, 4}}> "
        "{ a = Reshape(x, u) b = MatMul(a, w) y = Reshape(b, z) }",
        PASS,
    )


def test_a_bias_for_each_row_is_kept() -> None:
    assert_unchanged(
        "g (float[2,2,3] x, float[3,4] w, float[4,1] c) => (float[] y) <int64[2] s = {4, 3}, int64[3] t = {2, 2, 4}> "
        "{ a = Reshape(x, s) b = Gemm(a, w, c) y = Reshape(b, t) }",
        PASS,
    )
