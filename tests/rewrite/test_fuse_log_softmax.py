"""fuse-log-softmax."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged


def test_the_logarithm_of_softmax_is_one_operator() -> None:
    assert_becomes(
        "g (float[2,3] x) => (float[] y) { s = Softmax<axis = 0>(x) y = Log(s) }",
        "g (float[2,3] x) => (float[] y) { y = LogSoftmax<axis = 0>(x) }",
        "fuse-log-softmax",
    )


def test_both_flatten_to_rows_before_13() -> None:
    assert_becomes(
        "g (float[2,3,4] x) => (float[] y) { s = Softmax<axis = 1>(x) y = Log(s) }",
        "g (float[2,3,4] x) => (float[] y) { y = LogSoftmax<axis = 1>(x) }",
        "fuse-log-softmax",
        opset=11,
    )


def test_a_softmax_read_elsewhere_is_kept() -> None:
    assert_unchanged(
        "g (float[2,3] x) => (float[] y, float[] z) { s = Softmax(x) y = Log(s) z = Neg(s) }",
        "fuse-log-softmax",
    )
