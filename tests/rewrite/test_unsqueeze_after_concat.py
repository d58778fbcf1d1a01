"""unsqueeze-after-concat."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "unsqueeze-after-concat"
AXES = "int64[1] o = {0}, int64[1] k = {1}, int64[1] e = {2}, int64[3] r = {2, 1, 3}"


@pytest.mark.parametrize(
    ("first", "axis", "shape"),
    [("Unsqueeze(x, o)", 0, "2, 2, 3"), ("Unsqueeze(x, k)", 1, "2, 2, 3"), ("Reshape(x, r)", 1, "2, 2, 3")],
)
def test_what_is_stacked_is_joined_first(first: str, axis: int, shape: str) -> None:
    second = f"Unsqueeze(z, {'ok'[axis]})"
    assert_becomes(
        f"""g (float[2,3] x, float[2,3] z) => (float[] y) <{AXES}> {{
            a = {first} b = {second} y = Concat<axis = {axis - 3}>(a, b)
        }}""",
        f"""g (float[2,3] x, float[2,3] z) => (float[] y) <int64[3] s = {{{shape}}}> {{
            c = Concat<axis = {axis}>(x, z) y = Reshape(c, s)
        }}""",
        PASS,
    )


def test_one_size_may_be_open() -> None:
    assert_becomes(
        f"""g (float[2,N] x, float[2,N] z) => (float[] y) <{AXES}> {{
            a = Unsqueeze(x, k) b = Unsqueeze(z, k) y = Concat<axis = 1>(a, b)
        }}""",
        """g (float[2,N] x, float[2,N] z) => (float[] y) <int64[3] s = {2, 2, -1}> {
            c = Concat<axis = 1>(x, z) y = Reshape(c, s)
        }""",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Unsqueeze(x, e) b = Unsqueeze(z, e) y = Concat<axis = 2>(a, b)",
        "a = Unsqueeze(x, o) b = Unsqueeze(z, o) y = Concat<axis = 1>(a, b)",
        "a = Unsqueeze(x, o) c = Exp(a) y = Concat<axis = 0>(a, c)",
        "a = Unsqueeze(x, o) y = Concat<axis = 0>(a, w)",
        "a = Unsqueeze(x, o) b = Unsqueeze(z, o) c = Concat<axis = 0>(a, b) y = Add(b, c)",
    ],
)
def test_new_last_axes_other_axes_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(
        f"g (float[2,3] x, float[2,3] z, float[1,2,3] w) => (float[] y) <{AXES}> {{ {nodes} }}", PASS
    )


def test_pieces_of_sizes_that_may_differ_are_kept() -> None:
    assert_unchanged(
        f"""g (float[M,3] x, float[N,3] z) => (float[] y) <{AXES}> {{
            a = Unsqueeze(x, o) b = Unsqueeze(z, o) y = Concat<axis = 0>(a, b)
        }}""",
        PASS,
    )


def test_two_open_sizes_are_kept() -> None:
    assert_unchanged(
        f"""g (float[M,N] x, float[M,N] z) => (float[] y) <{AXES}> {{
            a = Unsqueeze(x, k) b = Unsqueeze(z, k) y = Concat<axis = 1>(a, b)
        }}""",
        PASS,
    )
