"""push-transposes."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_stays

PASS = ("push-transposes", "fuse-transposes", "drop-no-ops")


def test_two_operands_are_turned_once_afterwards() -> None:
    assert_becomes(
        "g (float[2,3] x, float[2,3] z) => (float[] y) { a = Transpose(x) b = Transpose<perm = [1, 0]>(z) y = Add(a, b) }",
        "g (float[2,3] x, float[2,3] z) => (float[] y) { a = Add(x, z) y = Transpose<perm = [1, 0]>(a) }",
        *PASS,
    )


def test_work_between_two_transposes_that_undo_each_other_loses_both() -> None:
    assert_becomes(
        """g (float[1,2,3] x) => (float[] y) <float[3] c = {1, 2, 3}> {
            a = Transpose<perm = [0, 2, 1]>(x) t = Transpose<perm = [0, 2, 1]>(a)
            u = Transpose<perm = [1, 2, 0]>(t) b = Exp(u) d = Elu<alpha = 2.0>(b) y = Transpose<perm = [2, 0, 1]>(d)
        }""",
        "g (float[1,2,3] x) => (float[] y) { b = Exp(x) y = Elu<alpha = 2.0>(b) }",
        *PASS,
    )


def test_constants_are_turned_with_the_rest() -> None:
    assert_becomes(
        """g (float[1,2,3] x) => (float[] y) <float[2] c = {1, 2}, float[3,1] d = {3, 4, 5}, float e = {6}> {
            a = Transpose<perm = [0, 2, 1]>(x) b = Add(a, c) f = Mul(b, d) h = Sub(e, f) y = Transpose<perm = [0, 2, 1]>(h)
        }""",
        """g (float[1,2,3] x) => (float[] y) <float[1,2,1] c = {1, 2}, float[1,1,3] d = {3, 4, 5}, float e = {6}> {
            b = Add(x, c) f = Mul(b, d) y = Sub(e, f)
        }""",
        *PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Transpose(x) y = Exp(a)",
        "a = Transpose(x) b = Exp(a) c = Transpose(b) n = Neg(a) y = Add(c, n)",
        "a = Transpose(x) b = Softmax<axis = 0>(a) y = Transpose(b)",
        "a = Transpose<perm = [1, 0]>(x) b = Add(a, z) y = Transpose(b)",
    ],
)
def test_what_would_not_get_fewer_or_knows_of_axes_stays(nodes: str) -> None:
    assert_stays(f"g (float[3,3] x, float[3,3] z) => (float[] y) {{ {nodes} }}", "push-transposes")


def test_operands_that_are_turned_in_other_ways_stay() -> None:
    assert_stays(
        """g (float[2,2,2] x, float[2,2,2] z) => (float[] y) {
            a = Transpose<perm = [1, 0, 2]>(x) b = Transpose<perm = [0, 2, 1]>(z) y = Add(a, b)
        }""",
        *PASS,
    )
