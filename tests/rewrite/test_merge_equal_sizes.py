"""merge-equal-sizes."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "merge-equal-sizes"


def test_existing_sizes_are_not_concatenated_again() -> None:
    assert_becomes(
        """g (float[M,N] x) => (int64[] y) <int64[1] i = {0}, int64[1] j = {1}> {
            s = Shape(x) m = Gather(s, i) n = Gather(s, j) t = Concat<axis = 0>(m, n) u = Neg(s) v = Neg(t) y = Add(u, v)
        }""",
        "g (float[M,N] x) => (int64[] y) { s = Shape(x) u = Neg(s) y = Add(u, u) }",
        PASS,
    )


def test_other_sizes_and_unknown_ones_are_kept() -> None:
    assert_unchanged(
        "g (float[M,N] x, float[N,M] z) => (int64[] y) { s = Shape(x) t = Shape(z) u = Neg(s) y = Add(u, t) }",
        PASS,
    )
    assert_unchanged(
        "g (float[M,?] x, float[M,?] z) => (int64[] y) { s = Shape(x) t = Shape(z) u = Neg(s) y = Add(u, t) }",
        PASS,
    )


def test_an_output_keeps_its_node() -> None:
    assert_unchanged(
        "g (float[M,N] x, float[M,N] z) => (int64[] y, int64[] u) { y = Shape(x) u = Shape(z) }", PASS
    )


def test_a_size_that_is_removed_with_its_reader_is_no_longer_there_for_others() -> None:
    assert_becomes(
        """g (float[M,N] x) => (int64[] y) <int64[1] i = {0}, int64[1] j = {1}> {
            s = Shape(x) m = Gather(s, i) n = Gather(s, j) t = Concat<axis = 0>(m, n) u = Neg(s) v = Add(t, u)
            k = Gather(s, i) l = Neg(k) y = Add(v, l)
        }""",
        """g (float[M,N] x) => (int64[] y) <int64[1] i = {0}> {
            s = Shape(x) u = Neg(s) v = Add(s, u) k = Gather(s, i) l = Neg(k) y = Add(v, l)
        }""",
        PASS,
    )
