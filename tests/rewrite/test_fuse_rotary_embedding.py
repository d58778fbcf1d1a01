"""fuse-rotary-embedding."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-rotary-embedding"
HEAD = "g (float[1,2,3,4] x, int64[1,3] p, int64[1,3] q, int32[1,3] r) => (float[] y)"
CACHES = "float[4,2] c = {1, 2, 3, 4, 5, 6, 7, 8}, float[4,2] s = {2, 3, 4, 5, 6, 7, 8, 9}, float[2,4] t = {2, 3, 4, 5, 6, 7, 8, 9}"


def test_every_reader_of_the_angles_picks_them() -> None:
    assert_becomes(
        f"""{HEAD} <{CACHES}> {{
            a = Gather(c, p) b = Gather(s, p) u = RotaryEmbedding(x, a, b) y = RotaryEmbedding<interleaved = 1>(u, a, b)
        }}""",
        f"""{HEAD} <{CACHES}> {{
            u = RotaryEmbedding(x, c, s, p) y = RotaryEmbedding<interleaved = 1>(u, c, s, p)
        }}""",
        PASS,
        opset=23,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Gather(c, p) b = Gather(s, q) y = RotaryEmbedding(x, a, b)",
        "a = Gather(c, p) b = Gather(s, p) u = RotaryEmbedding(x, a, b) v = ReduceMax<keepdims = 0>(a) y = Add(u, v)",
        "a = Gather(c, r) b = Gather(s, r) y = RotaryEmbedding(x, a, b)",
        "a = Gather<axis = 1>(t, p) f = Transpose<perm = [1, 2, 0]>(a) y = RotaryEmbedding(x, f, f)",
    ],
)
def test_other_positions_types_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"{HEAD} <{CACHES}> {{ {nodes} }}", PASS, opset=23)
