"""fuse-group-norm."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-group-norm"
NUMBERS = """int64[3] s = {0, 2, -1}, int64[3] four = {0, 4, -1}, int64[4] t = {-1, 4, 3, 2}, int64[4] o = {-1, 4, 2, 3},
    float[2] ones = {1, 1}, float[2] zeros = {0, 0}, float[2] other = {1, 2}, float[4,1,1] w = {1, 2, 3, 4},
    float[1,4,1,1] b = {5, 6, 7, 8}, float[2] cols = {1, 2}"""
HEAD = f"g (float[N,4,3,2] x, float[4,1,1] c) => (float[] y) <{NUMBERS}>"
WHOLE = """r = Reshape(x, s) i = InstanceNormalization<epsilon = 0.25>(r, ones, zeros) u = Reshape(i, t)
    a = Mul(u, w) y = Add(a, b)"""


def test_groups_of_channels_are_group_normalization() -> None:
    assert_becomes(
        f"{HEAD} {{ {WHOLE} }}",
        """g (float[N,4,3,2] x, float[4,1,1] c) => (float[] y) <float[4] w = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}> {
            y = GroupNormalization<epsilon = 0.25, num_groups = 2>(x, w, b)
        }""",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        WHOLE.replace("(r, ones", "(r, other"),
        WHOLE.replace("zeros)", "other)"),
        WHOLE.replace("Mul(u, w)", "Mul(u, cols)"),
        WHOLE.replace("Mul(u, w)", "Mul(u, c)"),
        WHOLE.replace("y = Add(a, b)", "d = Add(a, b) y = Add(d, u)"),
    ],
)
def test_other_scales_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"{HEAD} {{ {nodes} }}", PASS)


def test_another_shape_after_it_is_kept() -> None:
    assert_unchanged(
        f"{HEAD} {{ {WHOLE.replace('Reshape(i, t)', 'Reshape(i, o)')} }}",
        PASS,
    )


def test_before_21_a_scale_belongs_to_a_group() -> None:
    assert_unchanged(f"{HEAD} {{ {WHOLE} }}", PASS, opset=20)
