"""merge-concats."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "merge-concats"


def test_inner_pieces_keep_their_places() -> None:
    assert_becomes(
        "g (float[2,2] x, float[2,N] z) => (float[] y) { a = Concat<axis = -1>(z, x) y = Concat<axis = 1>(x, a, z) }",
        "g (float[2,2] x, float[2,N] z) => (float[] y) { y = Concat<axis = 1>(x, z, x, z) }",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Concat<axis = 0>(x, x) y = Concat<axis = 1>(a, a)",
        "a = Concat<axis = 1>(x, x) y = Concat<axis = 1>(a, a)",
        "a = Concat<axis = 1>(x, x) b = Concat<axis = 1>(a, x) c = ReduceMax<keepdims = 0>(a) y = Add(b, c)",
    ],
)
def test_other_axes_and_values_read_twice_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[2,2] x) => (float[] y) {{ {nodes} }}", PASS)
