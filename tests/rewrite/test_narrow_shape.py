"""narrow-shape."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "narrow-shape"
NUMBERS = """int64[1] k = {1}, int64[2] last = {-2, -1}, int64[2] other = {0, 2}, int64[1] o = {0}, int64[1] e = {2},
    int64[1] far = {9223372036854775807}, int64[1] m = {-1}, int64 i = {1}, int64[1] two = {2}"""
HEAD = f"g (float[N,M,2] x) => (int64[] y) <{NUMBERS}>"


@pytest.mark.parametrize(
    ("picked", "start", "end"),
    [
        ("Gather(s, k)", 1, 2),
        ("Gather(s, last)", 1, 3),
        ("Slice(s, o, e)", 0, 2),
        ("Slice(s, k, far, o)", 1, 3),
        ("Slice(s, m, far)", 2, 3),
    ],
)
def test_sizes_in_a_row_are_all_that_shape_gives(picked: str, start: int, end: int) -> None:
    assert_becomes(
        f"{HEAD} {{ s = Shape(x) y = {picked} }}",
        f"{HEAD} {{ y = Shape<start = {start}, end = {end}>(x) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "s = Shape(x) y = Gather(s, i)",
        "s = Shape(x) y = Gather(s, other)",
        "s = Shape(x) y = Slice(s, o, far, o, two)",
        "s = Shape<start = 1>(x) y = Gather(s, k)",
        "s = Shape(x) a = Gather(s, k) y = Mul(s, a)",
    ],
)
def test_single_scattered_and_shared_sizes_are_kept(nodes: str) -> None:
    assert_unchanged(f"{HEAD} {{ {nodes} }}", PASS)


def test_before_15_shape_gives_all_sizes() -> None:
    assert_unchanged(f"{HEAD} {{ s = Shape(x) y = Gather(s, k) }}", PASS, opset=13)
