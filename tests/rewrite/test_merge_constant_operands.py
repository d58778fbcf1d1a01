"""merge-constant-operands and fuse-gemm-add."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "merge-constant-operands"
GEMM = "fuse-gemm-add"


@pytest.mark.parametrize(("op", "result"), [("Add", "{4, 5}"), ("Mul", "{3, 6}")])
def test_two_constants_become_one(op: str, result: str) -> None:
    assert_becomes(
        f"g (float[2] x) => (float[] y) <float c = {{3}}, float[2] d = {{1, 2}}> {{ a = {op}(c, x) y = {op}(a, d) }}",
        f"g (float[2] x) => (float[] y) <float[2] e = {result}> {{ y = {op}(x, e) }}",
        PASS,
    )


def test_what_would_be_larger_than_both_is_not_merged() -> None:
    assert_unchanged(
        "g (float[2,2] x) => (float[] y) <float[2] c = {3, 4}, float[2,1] d = {1, 2}> { a = Add(x, c) y = Add(a, d) }",
        PASS,
    )


def test_what_would_be_infinite_is_not_merged() -> None:
    assert_unchanged(
        "g (float[2] x) => (float[] y) <float c = {3e38}, float d = {3e38}> { a = Add(x, c) y = Add(a, d) }",
        PASS,
    )


def test_other_operators_and_values_that_others_read_are_kept() -> None:
    constants = "<float c = {3}, float d = {2}>"
    assert_unchanged(f"g (float[2] x) => (float[] y) {constants} {{ a = Add(x, c) y = Mul(a, d) }}", PASS)
    assert_unchanged(
        f"g (float[2] x) => (float[] y, float[] a) {constants} {{ a = Add(x, c) y = Add(a, d) }}", PASS
    )


def test_a_product_takes_what_is_added() -> None:
    assert_becomes(
        "g (float[2,3] x, float[4,3] w, float[4] b) => (float[] y) { a = Gemm<transB = 1, alpha = 2.0>(x, w) y = Add(b, a) }",
        "g (float[2,3] x, float[4,3] w, float[4] b) => (float[] y) { y = Gemm<transA = 0, transB = 1, alpha = 2.0>(x, w, b) }",
        GEMM,
    )


def test_an_operand_that_counts_for_nothing_is_replaced() -> None:
    assert_becomes(
        "g (float[2,3] x, float[3,4] w, float[4] c, float[4] b) => (float[] y) { a = Gemm<beta = 0.0>(x, w, c) y = Add(a, b) }",
        "g (float[2,3] x, float[3,4] w, float[4] c, float[4] b) => (float[] y) { y = Gemm<alpha = 1.0, transA = 0, transB = 0>(x, w, b) }",
        GEMM,
    )


def test_a_third_operand_that_is_there_and_what_widens_are_kept() -> None:
    assert_unchanged(
        "g (float[2,3] x, float[3,4] w, float[4] b) => (float[] y) { a = Gemm(x, w, b) y = Add(a, b) }", GEMM
    )
    assert_unchanged(
        "g (float[1,3] x, float[3,4] w, float[2,4] b) => (float[] y) { a = Gemm(x, w) y = Add(a, b) }", GEMM
    )
