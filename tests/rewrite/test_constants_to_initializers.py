"""constants-to-initializers."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "constants-to-initializers"


def test_a_constant_becomes_a_weight() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) { c = Constant<value_floats = [1.0, 2.0]>() y = Add(x, c) }",
        "g (float[2] x) => (float[] y) <float[2] c = {1, 2}> { y = Add(x, c) }",
        PASS,
    )


def test_one_of_a_branch_moves_to_the_enclosing_graph() -> None:
    assert_becomes(
        """g (bool c, float[2] x) => (float[2] y) {
            y = If<then_branch = t () => (float[2] a) { k = Constant<value_float = 1.0>() a = Add(x, k) },
                   else_branch = e () => (float[2] b) { k = Constant<value_float = 2.0>() b = Add(x, k) }>(c)
        }""",
        """g (bool c, float[2] x) => (float[2] y) <float k = {1}, float l = {2}> {
            y = If<then_branch = t () => (float[2] a) { a = Add(x, k) },
                   else_branch = e () => (float[2] b) { b = Add(x, l) }>(c)
        }""",
        PASS,
    )


def test_outputs_and_functions_keep_theirs() -> None:
    assert_unchanged("g () => (float y) { y = Constant<value_float = 1.0>() }", PASS)
    assert_unchanged(
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21]> f (a) => (b) { c = Constant<value_float = 2.0>() b = Add(a, c) }""",
        PASS,
        more='"my": 1',
    )
