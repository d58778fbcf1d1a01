"""fuse-bias-before-reshape."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-bias-before-reshape"
SHAPES = "<int64[3] s = {1, -1, 4}, int64[3] t = {-1, 4, 1}>"


@pytest.mark.parametrize("bias", ["4", "1", ""])
def test_the_bias_is_folded_into_the_product(bias: str) -> None:
    kind = f"float[{bias}]" if bias else "float"
    assert_becomes(
        f"g (float[N,3] x, float[3,4] w, {kind} b) => (float[] y) {SHAPES} {{ p = MatMul(x, w) r = Reshape(p, s) y = Add(b, r) }}",
        f"g (float[N,3] x, float[3,4] w, {kind} b) => (float[] y) {SHAPES} {{ q = Gemm(x, w, b) y = Reshape(q, s) }}",
        PASS,
    )


@pytest.mark.parametrize(
    ("x", "b", "nodes"),
    [
        ("N,3", "1", "p = MatMul(x, w) r = Reshape(p, t) y = Add(r, b)"),
        ("N,3", "1,4", "p = MatMul(x, w) r = Reshape(p, s) y = Add(r, b)"),
        ("1,2,3", "4", "p = MatMul(x, w) r = Reshape(p, s) y = Add(r, b)"),
        ("1,3", "4", "p = MatMul(x, w) r = Reshape(p, s) a = Add(r, b) y = Add(a, p)"),
    ],
)
def test_other_axes_and_readers_are_kept(x: str, b: str, nodes: str) -> None:
    assert_unchanged(
        f"g (float[{x}] x, float[3,4] w, float[{b}] b) => (float[] y) {SHAPES} {{ {nodes} }}", PASS
    )


def test_a_bias_that_widens_is_kept() -> None:
    assert_unchanged(
        """g (float[2,3] x, float[3,1] w, float[4] b) => (float[] y) <int64[3] s = {1, 2, 1}> {
            p = MatMul(x, w) r = Reshape(p, s) y = Add(r, b)
        }""",
        PASS,
    )
