"""merge-reshapes."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "merge-reshapes"


@pytest.mark.parametrize(
    ("x", "nodes", "shape"),
    [
        ("2,6", "s = Constant<value_ints = [12]>() a = Reshape(x, s) t = Constant<value_ints = [3, 4]>() y = Reshape(a, t)", "3, 4"),
        ("2,6", "a = Flatten<axis = 0>(x) t = Constant<value_ints = [0]>() y = Squeeze(a, t)", "12"),
        ("N,6", "t = Constant<value_ints = [0]>() a = Unsqueeze(x, t) y = Flatten<axis = 0>(a)", "1, -1"),
        ("2,1,3", "a = Transpose<perm = [1, 0, 2]>(x) t = Constant<value_ints = [0]>() y = Squeeze(a, t)", "2, 3"),
        ("N,1,3", "t = Constant<value_ints = [1]>() a = Squeeze(x, t) u = Constant<value_ints = [2]>() y = Unsqueeze(a, u)", "0, 3, 1"),
        ("2,1,3", "i = Constant<value_ints = [0]>() a = Gather<axis = 1>(x, i) t = Constant<value_ints = [6]>() y = Reshape(a, t)", "6"),
    ],
)  # fmt: skip
def test_two_become_one_reshape(x: str, nodes: str, shape: str) -> None:
    assert_becomes(
        f"g (float[{x}] x) => (float[] y) {{ {nodes} }}",
        f"g (float[{x}] x) => (float[] y) <int64[{shape.count(',') + 1}] t = {{{shape}}}> {{ y = Reshape(x, t) }}",
        PASS,
    )


def test_a_transpose_that_moves_more_than_ones_is_kept() -> None:
    assert_unchanged(
        "g (float[2,3] x) => (float[] y) <int64[1] t = {6}> { a = Transpose(x) y = Reshape(a, t) }", PASS
    )


def test_a_gather_of_one_entry_of_several_is_kept() -> None:
    assert_unchanged(
        "g (float[2,3] x) => (float[] y) <int64[1] i = {0}, int64[1] t = {3}> { a = Gather(x, i) y = Reshape(a, t) }",
        PASS,
    )


def test_two_unknown_sizes_are_kept() -> None:
    assert_unchanged(
        """g (float[M,N,2] x, int64[3] s) => (float[] y) <int64[1] t = {0}> {
            a = Reshape(x, s) y = Unsqueeze(a, t)
        }""",
        PASS,
        proof=False,
    )  # made-up shapes fit nothing


def test_what_others_read_in_between_is_kept() -> None:
    assert_unchanged(
        """g (float[2,6] x) => (float[] y, float[] z) <int64[1] s = {12}, int64[2] t = {3, 4}> {
            a = Reshape(x, s) y = Reshape(a, t) z = Neg(a)
        }""",
        PASS,
    )


def test_readers_that_are_all_reshapes_are_all_merged() -> None:
    assert_becomes(
        """g (float[2,6] x) => (float[] y, float[] z) <int64[1] s = {12}, int64[2] t = {3, 4}, int64[2] u = {4, 3}> {
            a = Reshape(x, s) y = Reshape(a, t) z = Reshape(a, u)
        }""",
        """g (float[2,6] x) => (float[] y, float[] z) <int64[2] t = {3, 4}, int64[2] u = {4, 3}> {
            y = Reshape(x, t) z = Reshape(x, u)
        }""",
        PASS,
    )


@pytest.mark.parametrize("name", [PASS, "push-reshapes"])
def test_a_shape_that_a_run_states_may_be_invalid(name: str) -> None:
    assert_unchanged(
        """g (float[1,1] x, int64[1] t) => (float[] y) <int64[1] s = {-1}> {
            a = Reshape(x, s) b = Exp(a) y = Reshape(b, t)
        }""",
        name,
        proof=False,
    )
    assert_unchanged(
        "g (float[1,1] x, int64[1] t) => (float[] y) <int64[1] s = {-1}> { a = Reshape(x, s) y = Reshape(a, t) }",
        name,
        proof=False,
    )
