"""fuse-softsign."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-softsign"


def test_a_quotient_by_the_magnitude_and_1_is_softsign() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) <float o = {1}> { a = Abs(x) s = Add(o, a) y = Div(x, s) }",
        "g (float[2] x) => (float[] y) { y = Softsign(x) }",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Abs(x) s = Add(a, t) y = Div(x, s)",
        "a = Abs(x) s = Add(a, o) y = Div(s, x)",
        "a = Abs(x) s = Add(a, o) b = Div(x, s) y = Add(a, b)",
    ],
)
def test_other_numbers_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[2] x) => (float[] y) <float o = {{1}}, float t = {{2}}> {{ {nodes} }}", PASS)


def test_integers_are_kept() -> None:
    assert_unchanged(
        "g (int32[2] x) => (int32[] y) <int32 o = {1}> { a = Abs(x) s = Add(a, o) y = Div(x, s) }", PASS
    )
