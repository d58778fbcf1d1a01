"""transpose-before-split."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "transpose-before-split"


def test_split_outputs_transposed_alike_are_transposed_once() -> None:
    assert_becomes(
        """g (float[2,6,4] x) => (float[] y, float[] z) <int64[2] n = {2, 4}> {
            a, b = Split<axis = -2>(x, n) y = Transpose<perm = [1, 2, 0]>(a) z = Transpose<perm = [1, 2, 0]>(b)
        }""",
        """g (float[2,6,4] x) => (float[] y, float[] z) <int64[2] n = {2, 4}> {
            a = Transpose<perm = [1, 2, 0]>(x) y, z = Split<axis = 0>(a, n)
        }""",
        PASS,
    )


def test_a_split_output_transposed_differently_is_transposed_again() -> None:
    assert_becomes(
        """g (float[2,3,4] x) => (float[] y, float[] z, float[] u) {
            a, b, c = Split<axis = 1, split = [1, 1, 1]>(x)
            y = Transpose<perm = [1, 2, 0]>(a) z = Transpose(b) u = Transpose<perm = [1, 2, 0]>(c)
        }""",
        """g (float[2,3,4] x) => (float[] y, float[] z, float[] u) {
            d = Transpose<perm = [1, 2, 0]>(x) y, b, u = Split<axis = 0, split = [1, 1, 1]>(d)
            z = Transpose<perm = [1, 0, 2]>(b)
        }""",
        PASS,
        opset=11,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Transpose<perm = [1, 2, 0]>(a) z = Transpose(b)",
        "y = Transpose(a) z = Neg(b)",
        "y = Transpose(a) u = Transpose(b) v = ReduceMax<keepdims = 0>(b) z = Add(u, v)",
    ],
)
def test_other_orders_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(
        f"g (float[2,6,4] x) => (float[] y, float[] z) {{ a, b = Split<num_outputs = 2>(x) {nodes} }}", PASS
    )
