"""fuse-slices."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-slices"
NUMBERS = "int64[1] o = {0}, int64[1] k = {1}, int64[1] e = {3}, int64[1] far = {9223372036854775807}, int64[1] m = {-1}"


def test_cuts_of_two_axes_become_one_slice() -> None:
    assert_becomes(
        f"g (float[4,N] x) => (float[] y) <{NUMBERS}> {{ a = Slice(x, m, o, m, m) y = Slice(a, k, e) }}",
        """g (float[4,N] x) => (float[] y) <int64[2] o = {-1, 1}, int64[2] e = {0, 3}, int64[2] k = {1, 0},
            int64[2] s = {-1, 1}> { y = Slice(x, o, e, k, s) }""",
        PASS,
    )


def test_version_1_has_attributes() -> None:
    assert_becomes(
        """g (float[4,4] x) => (float[] y) {
            a = Slice<starts = [1], ends = [9]>(x) y = Slice<axes = [1], starts = [-2], ends = [3]>(a)
        }""",
        "g (float[4,4] x) => (float[] y) { y = Slice<starts = [1, -2], ends = [9, 3], axes = [0, 1]>(x) }",
        PASS,
        opset=9,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Slice(x, k, e, k) y = Slice(a, o, k, m)",
        "a = Slice(x, k, e, k) b = Slice(a, o, k, o) c = ReduceMax<keepdims = 0>(a) y = Add(b, c)",
        "a = Slice(x, k, v, k) y = Slice(a, o, k, o)",
    ],
)
def test_cuts_of_one_axis_unknown_ones_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[4,4] x, int64[1] v) => (float[] y) <{NUMBERS}> {{ {nodes} }}", PASS)
