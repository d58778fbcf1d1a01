"""drop-identity."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "drop-identity"


def test_its_readers_read_what_it_read() -> None:
    assert_becomes(
        "g (float[2] x) => (float[2] y) { a = Identity(x) y = Add(a, a) }",
        "g (float[2] x) => (float[2] y) { y = Add(x, x) }",
        PASS,
    )


def test_an_output_keeps_its_name() -> None:
    assert_becomes(
        "g (float[2] x) => (float[2] y) { a = Neg(x) y = Identity(a) }",
        "g (float[2] x) => (float[2] y) { y = Neg(x) }",
        PASS,
    )


def test_one_between_an_input_and_an_output_is_kept() -> None:
    assert_unchanged("g (float[2] x) => (float[2] y) { y = Identity(x) }", PASS)


def test_one_between_two_outputs_is_kept() -> None:
    assert_unchanged("g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Identity(y) }", PASS)


def test_a_branch_still_returns_a_value_of_its_own() -> None:
    assert_unchanged(
        """g (bool c, float[2] x) => (float[2] y) {
            y = If<then_branch = t () => (float[2] a) { a = Identity(x) },
                   else_branch = e () => (float[2] b) { b = Neg(x) }>(c)
        }""",
        PASS,
    )


def test_a_function_keeps_its_outputs() -> None:
    assert_becomes(
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21]> f (a) => (b) { c = Identity(a) d = Neg(c) b = Identity(d) }""",
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }""",
        PASS,
        more='"my": 1',
    )
