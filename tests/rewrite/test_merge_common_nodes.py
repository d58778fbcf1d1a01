"""merge-common-nodes and merge-initializers."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged
from sardonyx._src.ir import Attribute
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.rewrite.support.equivalence import attribute_key

NODES = "merge-common-nodes"
WEIGHTS = "merge-initializers"


def test_equal_nodes_become_one() -> None:
    assert_becomes(
        "g (float[2] x, float[2] z) => (float[] y) { a = Add(x, z) b = Add(z, x) y = Mul(a, b) }",
        "g (float[2] x, float[2] z) => (float[] y) { a = Add(x, z) y = Mul(a, a) }",
        NODES,
    )


def test_an_operator_that_does_not_commute_distinguishes_operands() -> None:
    assert_unchanged(
        "g (float[2] x, float[2] z) => (float[] y) { a = Sub(x, z) b = Sub(z, x) y = Mul(a, b) }", NODES
    )


def test_attributes_distinguish_nodes() -> None:
    assert_unchanged(
        "g (float[2] x) => (float[] y) { a = Elu<alpha = 1.0>(x) b = Elu<alpha = 2.0>(x) y = Mul(a, b) }",
        NODES,
    )


def test_signs_of_zeros_in_lists_distinguish_nodes() -> None:
    plus, minus, same = (
        attribute_key(Attribute("offset", AttributeType.FLOATS, values))
        for values in ((0.0, 1.0), (-0.0, 1.0), (0.0, 1.0))
    )
    assert plus == same != minus


def test_draws_are_never_one() -> None:
    assert_unchanged(
        "g (float[2] x) => (float[] y) { a = Bernoulli(x) b = Bernoulli(x) y = Mul(a, b) }",
        NODES,
        proof=False,
    )


def test_outputs_keep_their_names() -> None:
    assert_unchanged("g (float[2] x) => (float[] y, float[] z) { y = Neg(x) z = Neg(x) }", NODES)
    assert_becomes(
        "g (float[2] x) => (float[] y, float[] z) { a = Neg(x) y = Neg(x) z = Abs(a) }",
        "g (float[2] x) => (float[] y, float[] z) { y = Neg(x) z = Abs(y) }",
        NODES,
    )


def test_a_branch_reads_what_the_graph_around_it_has() -> None:
    assert_becomes(
        """g (bool c, float[2] x) => (float[2] y) {
            n = Neg(x) p = Exp(n)
            z = If<then_branch = t () => (float[2] a) { m = Neg(x) a = Exp(m) },
                   else_branch = e () => (float[2] b) { k = Neg(x) b = Abs(k) }>(c)
            y = Add(p, z)
        }""",
        """g (bool c, float[2] x) => (float[2] y) {
            n = Neg(x) p = Exp(n)
            z = If<then_branch = t () => (float[2] a) { a = Exp(n) },
                   else_branch = e () => (float[2] b) { b = Abs(n) }>(c)
            y = Add(p, z)
        }""",
        NODES,
    )


def test_equal_weights_become_one() -> None:
    assert_becomes(
        """g (float[2] x) => (float[] y) <float[2] v = {1, 2}, float[2] w = {1, 2}, int32[2] i = {1, 2}> {
            a = Add(x, v) b = Mul(a, w) c = Cast<to = 1>(i) y = Add(b, c)
        }""",
        """g (float[2] x) => (float[] y) <float[2] v = {1, 2}, int32[2] i = {1, 2}> {
            a = Add(x, v) b = Mul(a, v) c = Cast<to = 1>(i) y = Add(b, c)
        }""",
        WEIGHTS,
    )


def test_a_default_that_a_caller_can_replace_is_not_merged() -> None:
    assert_unchanged(
        "g (float[2] x, float[2] v = {1, 2}) => (float[] y) <float[2] w = {1, 2}> { a = Add(x, v) y = Mul(a, w) }",
        WEIGHTS,
    )
