"""fuse-transpose-into-gemm."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-transpose-into-gemm"


@pytest.mark.parametrize("perm", ["", "<perm = [1, 0]>"])
@pytest.mark.parametrize(
    ("x", "w", "before", "after"),
    [
        ("2,3", "3,4", "transA = 0, transB = 0", "transA = 1, transB = 1"),
        ("3,2", "3,4", "transA = 1", "transA = 1, transB = 0"),
        ("2,3", "4,3", "transB = 1", "transA = 0, transB = 1"),
        ("3,2", "4,3", "transA = 1, transB = 1", "transA = 0, transB = 0"),
    ],
)
def test_the_transpose_of_a_product_exchanges_its_operands(
    perm: str, x: str, w: str, before: str, after: str
) -> None:
    assert_becomes(
        f"g (float[{x}] x, float[{w}] w) => (float[] y) {{ a = Gemm<alpha = 0.5, {before}>(x, w) y = Transpose{perm}(a) }}",
        f"g (float[{x}] x, float[{w}] w) => (float[] y) {{ y = Gemm<alpha = 0.5, {after}>(w, x) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "body",
    [
        "a = Gemm(x, w, c) y = Transpose(a)",
        "a = Gemm(x, w) b = Transpose(a) d = Neg(a) y = Gemm(b, d)",
        "a = Gemm(x, w) y = Transpose<perm = [0, 1]>(a)",
        "a = Gemm(x, k) y = Transpose(a)",
    ],
)
def test_other_uses_summands_and_constants_are_kept(body: str) -> None:
    inputs = "float[3,3] x, float[3,3] w, float[3] c"
    constant = "float[3,3] k = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
    assert_unchanged(f"g ({inputs}) => (float[] y) <{constant}> {{ {body} }}", PASS)
