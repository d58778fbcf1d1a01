"""fold-shapes and resolve-reshapes."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged


def test_a_known_size_is_a_constant() -> None:
    assert_becomes(
        "g (float[N,3] x) => (int64[] y) <int64[1] i = {1}> { s = Shape(x) a = Gather(s, i) y = Neg(a) }",
        "g (float[N,3] x) => (int64[] y) { y = Constant<value = int64[1] {-3}>() }",
        "fold-shapes",
    )


def test_an_unknown_size_is_kept() -> None:
    assert_unchanged(
        "g (float[N,3] x) => (int64[] y) <int64[1] i = {0}> { s = Shape(x) a = Gather(s, i) y = Neg(a) }",
        "fold-shapes",
    )


def test_what_a_file_declares_for_an_inner_value_is_not_believed() -> None:
    assert_unchanged(
        "g (float[N,3] x) => (int64[] y) <float[1,3] a> { a = Neg(x) y = Shape(a) }", "fold-shapes"
    )


def test_a_copied_size_and_a_number_make_a_constant_shape() -> None:
    assert_becomes(
        """g (float[N,6] x) => (float[] y) <int64[2] k = {3, 2}, int64[1] o = {0}> {
            s = Shape(x) n = Gather(s, o) t = Concat<axis = 0>(n, k) y = Reshape(x, t)
        }""",
        "g (float[N,6] x) => (float[] y) <int64[3] t = {0, 3, 2}> { y = Reshape(x, t) }",
        "resolve-reshapes",
    )


def test_one_other_size_is_what_the_rest_leaves() -> None:
    assert_becomes(
        """g (float[2,N] x) => (float[] y) <int64[1] k = {2}, int64[1] o = {1}> {
            s = Shape(x) n = Gather(s, o) t = Concat<axis = 0>(n, k) y = Reshape(x, t)
        }""",
        "g (float[2,N] x) => (float[] y) <int64[2] t = {-1, 2}> { y = Reshape(x, t) }",
        "resolve-reshapes",
    )


def test_two_other_sizes_are_kept() -> None:
    assert_unchanged(
        """g (float[M,N] x) => (float[] y) <int64[1] i = {0}, int64[1] j = {1}> {
            s = Shape(x) m = Gather(s, i) n = Gather(s, j) t = Concat<axis = 0>(n, m) y = Reshape(x, t)
        }""",
        "resolve-reshapes",
    )


def test_a_size_that_is_there_already_needs_no_expanding() -> None:
    assert_becomes(
        """g (float[N,1] x) => (float[] y) <int64[1] k = {4}, int64[1] o = {0}> {
            s = Shape(x) n = Gather(s, o) t = Concat<axis = 0>(n, k) y = Expand(x, t)
        }""",
        "g (float[N,1] x) => (float[] y) <int64[2] t = {1, 4}> { y = Expand(x, t) }",
        "resolve-reshapes",
    )


@pytest.mark.parametrize("size", ["n = Identity(k)", "s = Shape(z) n = Gather(s, o)"])
def test_a_size_that_may_not_be_what_the_rest_leaves_is_kept(size: str) -> None:
    assert_unchanged(
        f"""g (float[N,6] x, int64[1] k, float[M] z) => (float[] y) <int64[1] six = {{6}}, int64[1] o = {{0}}> {{
            {size} t = Concat<axis = 0>(n, six) y = Reshape(x, t)
        }}""",
        "resolve-reshapes",
        proof=False,
    )
