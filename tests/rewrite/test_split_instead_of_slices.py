"""split-instead-of-slices."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "split-instead-of-slices"
NUMBERS = "int64[1] o = {0}, int64[1] m = {3}, int64[1] e = {4}, int64[1] far = {9223372036854775807}, int64[1] a = {1}, int64[1] two = {2}"
REST = "u = Neg(p) v = Exp(q) y = Concat<axis = 1>(u, v)"


@pytest.mark.parametrize(
    "slices",
    [
        "p = Slice(x, o, m, a) q = Slice(x, m, e, a)",
        "q = Slice(x, m, far, a) p = Slice(x, o, m, a)",
        "p = Slice(x, o, m, a, a) q = Slice(x, m, far, a, a)",
    ],
)
def test_pieces_become_a_split(slices: str) -> None:
    assert_becomes(
        f"g (float[2,4] x) => (float[] y) <{NUMBERS}> {{ {slices} {REST} }}",
        f"g (float[2,4] x) => (float[] y) <int64[2] s = {{3, 1}}> {{ p, q = Split<axis = 1>(x, s) {REST} }}",
        PASS,
    )


def test_before_opset_13_sizes_are_an_attribute() -> None:
    assert_becomes(
        f"g (float[2,4] x) => (float[] y) <{NUMBERS}> {{ p = Slice(x, o, m, a) q = Slice(x, m, e, a) {REST} }}",
        f"g (float[2,4] x) => (float[] y) {{ p, q = Split<axis = 1, split = [3, 1]>(x) {REST} }}",
        PASS,
        opset=11,
    )


@pytest.mark.parametrize(
    "slices",
    [
        "p = Slice(x, o, two, a) q = Slice(x, m, e, a)",
        "p = Slice(x, o, m, a) q = Slice(x, two, e, a)",
        "p = Slice(x, o, m, a) q = Slice(x, m, e, a, two)",
        "p = Slice(x, o, m, a) k = Slice(x, o, e, o) q = Abs(k)",
    ],
)
def test_gaps_overlaps_steps_and_other_axes_are_kept(slices: str) -> None:
    assert_unchanged(f"g (float[2,4] x) => (float[] y) <{NUMBERS}> {{ {slices} {REST} }}", PASS)


def test_an_unknown_length_is_kept() -> None:
    assert_unchanged(
        f"g (float[2,N] x) => (float[] y) <{NUMBERS}> {{ p = Slice(x, o, m, a) q = Slice(x, m, far, a) {REST} }}",
        PASS,
    )


def test_pieces_that_are_outputs_keep_their_names() -> None:
    assert_becomes(
        f"g (float[2,4] x) => (float[] p, float[] q) <{NUMBERS}> {{ p = Slice(x, o, m, a) q = Slice(x, m, e, a) }}",
        "g (float[2,4] x) => (float[] p, float[] q) <int64[2] s = {3, 1}> { p, q = Split<axis = 1>(x, s) }",
        PASS,
    )
