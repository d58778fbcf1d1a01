"""reshape-before-split."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "reshape-before-split"


def test_pieces_of_rows_become_heads() -> None:
    assert_becomes(
        """g (float[1,N,24] x) => (float[] y, float[] z) <int64[2] n = {16, 8}, int64[3] s = {-1, 4, 4}, int64[3] t = {-1, 2, 4}> {
            a, b = Split<axis = 2>(x, n) y = Reshape(a, s) z = Reshape(b, t)
        }""",
        """g (float[1,N,24] x) => (float[] y, float[] z) <int64[2] n = {4, 2}, int64[3] s = {-1, 6, 4}> {
            a = Reshape(x, s) y, z = Split<axis = 1>(a, n)
        }""",
        PASS,
    )


def test_pieces_keep_what_lies_in_front_of_them() -> None:
    assert_becomes(
        """g (float[2,3,6,2] x) => (float[] y, float[] z) <int64[2] s = {6, 6}> {
            a, b = Split<axis = -2, split = [3, 3]>(x) y = Reshape(a, s) z = Reshape(b, s)
        }""",
        """g (float[2,3,6,2] x) => (float[] y, float[] z) <int64[2] s = {6, 12}> {
            a = Reshape(x, s) y, z = Split<axis = 1, split = [6, 6]>(a)
        }""",
        PASS,
        opset=11,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Reshape(a, rows) z = Reshape(b, square)",
        "y = Reshape(a, square) z = Reshape(b, square)",
        "y = Reshape(a, rows) z = Neg(b)",
        "y = Reshape(a, rows) u = Reshape(b, rows) v = Neg(b) w = ReduceMax<keepdims = 0>(v) z = Add(u, w)",
    ],
)
def test_other_shapes_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(
        f"""g (float[2,12] x) => (float[] y, float[] z) <int64[2] n = {{6, 6}}, int64[3] rows = {{2, 2, 3}}, int64[2] square = {{3, 4}}> {{
            a, b = Split<axis = 1>(x, n) {nodes}
        }}""",
        PASS,
    )


def test_an_open_length_is_kept() -> None:
    assert_unchanged(
        """g (float[2,N] x) => (float[] y, float[] z) <int64[2] s = {2, -1}> {
            a, b = Split<axis = 1, num_outputs = 2>(x) y = Reshape(a, s) z = Reshape(b, s)
        }""",
        PASS,
    )
