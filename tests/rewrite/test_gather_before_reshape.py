"""gather-before-reshape."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "gather-before-reshape"
SHAPES = (
    "int64[3] s = {2, 1, 6}, int64[2] t = {4, 3}, int64[1] k = {1}, int64[2] u = {2, 1}, int64[1] four = {4}"
)


def test_of_two_reshapes_around_a_gather_one_is_left() -> None:
    assert_becomes(
        f"g (float[2,6] x, int64[2] i) => (float[] y) <{SHAPES}> {{ a = Reshape(x, s) b = Gather<axis = -1>(a, i) y = Reshape(b, four) }}",
        f"g (float[2,6] x, int64[2] i) => (float[] y) <{SHAPES}> {{ b = Gather<axis = 1>(x, i) y = Reshape(b, four) }}",
        PASS,
        "merge-reshapes",
    )


def test_an_inserted_and_removed_axis_is_dropped() -> None:
    assert_becomes(
        f"g (float[2,6] x, int64 i) => (float[] y) <{SHAPES}> {{ a = Unsqueeze(x, k) b = Gather<axis = 2>(a, i) c = Squeeze(b, k) y = Neg(c) }}",
        "g (float[2,6] x, int64 i) => (float[] y) { b = Gather<axis = 1>(x, i) y = Neg(b) }",
        *(PASS, "merge-reshapes", "drop-no-ops"),
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Reshape(x, t) b = Gather<axis = 1>(a, i) c = Reshape(b, four) y = Neg(c)",
        "a = Reshape(x, s) b = Gather<axis = 2>(a, i) y = Neg(b)",
        "a = Reshape(x, s) b = Gather<axis = 2>(a, i) c = Reshape(b, u) d = ReduceMax<keepdims = 0>(a) y = Add(c, d)",
        "a = Reshape(x, s) b = Gather<axis = 2>(a, i) c = Reshape(b, u) d = ReduceMax<keepdims = 0>(b) y = Add(c, d)",
    ],
)
def test_axes_taken_apart_and_values_read_elsewhere_are_kept(nodes: str) -> None:
    x = "2,6" if "s)" in nodes else "3,4"
    assert_unchanged(f"g (float[{x}] x, int64[1] i) => (float[] y) <{SHAPES}> {{ {nodes} }}", PASS)
