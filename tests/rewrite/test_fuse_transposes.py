"""fuse-transposes."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged


def test_two_in_a_row_become_one() -> None:
    assert_becomes(
        "g (float[2,3,4] x) => (float[] y) { a = Transpose<perm = [1, 0, 2]>(x) y = Transpose<perm = [0, 2, 1]>(a) }",
        "g (float[2,3,4] x) => (float[] y) { y = Transpose<perm = [1, 2, 0]>(x) }",
        "fuse-transposes",
    )


def test_a_missing_perm_reverses_the_axes() -> None:
    assert_becomes(
        "g (float[2,3,4] x) => (float[] y) { a = Transpose(x) y = Transpose<perm = [0, 2, 1]>(a) }",
        "g (float[2,3,4] x) => (float[] y) { y = Transpose<perm = [2, 0, 1]>(x) }",
        "fuse-transposes",
    )


def test_a_value_read_elsewhere_keeps_its_node() -> None:
    assert_unchanged(
        """g (float[2,3] x) => (float[] y, float[] z) {
            a = Transpose<perm = [1, 0]>(x) y = Transpose<perm = [1, 0]>(a) z = Neg(a)
        }""",
        "fuse-transposes",
    )
