"""choose-branch."""

from __future__ import annotations

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "choose-branch"
BRANCHES = "then_branch = t () => (float[2] a) { n = Exp(x) a = Neg(n) }, else_branch = e () => (float[2] b) { b = Abs(x) }"


def test_a_known_condition_leaves_one_branch() -> None:
    assert_becomes(
        f"g (float[2] x) => (float[] y) <bool c = {{1}}> {{ z = If<{BRANCHES}>(c) y = Sqrt(z) }}",
        "g (float[2] x) => (float[] y) { n = Exp(x) z = Neg(n) y = Sqrt(z) }",
        PASS,
    )
    assert_becomes(
        f"g (float[2] x) => (float[] y) <bool c = {{0}}> {{ y = If<{BRANCHES}>(c) }}",
        "g (float[2] x) => (float[] y) { y = Abs(x) }",
        PASS,
    )


def test_a_condition_that_sizes_decide_is_known() -> None:
    assert_becomes(
        f"""g (float[2] x) => (float[] y) <int64[1] k = {{2}}> {{
            s = Shape(x) c = Equal(s, k) y = If<{BRANCHES}>(c)
        }}""",
        "g (float[2] x) => (float[] y) { n = Exp(x) y = Neg(n) }",
        PASS,
    )


def test_an_unknown_condition_keeps_both() -> None:
    assert_unchanged(f"g (bool c, float[2] x) => (float[] y) {{ y = If<{BRANCHES}>(c) }}", PASS)


def test_names_of_the_branch_make_room() -> None:
    assert_becomes(
        f"g (float[2] x) => (float[] y) <bool c = {{1}}> {{ z = If<{BRANCHES}>(c) v = If<{BRANCHES}>(c) y = Add(z, v) }}",
        "g (float[2] x) => (float[] y) { n = Exp(x) z = Neg(n) m = Exp(x) v = Neg(m) y = Add(z, v) }",
        PASS,
    )


def test_a_branch_that_returns_an_outer_value_needs_an_identity() -> None:
    assert_becomes(
        """g (float[2] x) => (float[] y) <bool c = {1}> {
            y = If<then_branch = t () => (float[2] a) { a = Identity(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }>(c)
        }""",
        "g (float[2] x) => (float[] y) { y = Identity(x) }",
        PASS,
    )
