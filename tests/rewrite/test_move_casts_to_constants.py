"""move-casts-to-constants."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = ("move-casts-to-constants", "fold-constants")


def test_elements_of_a_constant_are_cast_in_advance() -> None:
    assert_becomes(
        "g (int64[2] i) => (float[] y) <int64[4] w = {4, 5, 6, 7}> { a = Gather(w, i) y = Cast<to = 1>(a) }",
        "g (int64[2] i) => (float[] y) <float[4] w = {4, 5, 6, 7}> { y = Gather(w, i) }",
        *PASS,
    )


def test_the_values_of_one_hot_vectors_are_cast_beforehand() -> None:
    assert_becomes(
        """g (int64[2] i) => (float[] y) <int64[1] d = {4}, int64[2] v = {0, 1}> {
            a = OneHot<axis = 1>(i, d, v) y = Cast<to = 1>(a)
        }""",
        "g (int64[2] i) => (float[] y) <int64[1] d = {4}, float[2] v = {0, 1}> { y = OneHot<axis = 1>(i, d, v) }",
        *PASS,
    )


def test_entries_read_elsewhere_and_data_that_are_fed_are_kept() -> None:
    assert_unchanged(
        "g (int64[2] i) => (float[] y, int64[] a) <int64[4] w = {4, 5, 6, 7}> { a = Gather(w, i) y = Cast<to = 1>(a) }",
        *PASS,
    )
    assert_unchanged(
        "g (int64[2] i, int64[4] w) => (float[] y) { a = Gather(w, i) y = Cast<to = 1>(a) }", *PASS
    )


def test_a_large_constant_does_not_grow() -> None:
    data = ", ".join("1" for _ in range(300))
    assert_unchanged(
        f"g (int64[2] i) => (float[] y) <int8[300] w = {{{data}}}> {{ a = Gather(w, i) y = Cast<to = 1>(a) }}",
        *PASS,
    )
