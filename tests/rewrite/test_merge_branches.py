"""merge-branches."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "merge-branches"


def choice(then: str, other: str) -> str:
    return f"""g (bool c, float[2] x, float[2] z) => (float[] y) {{
        y = If<then_branch = t () => (float[2] a) {then}, else_branch = e () => (float[2] b) {other}>(c)
    }}"""


def test_equal_branches_become_one() -> None:
    assert_becomes(
        choice(
            "<float k = {2}> { d = Exp(x) a = Mul(d, k) }", "<float m = {2}> { f = Exp(x) b = Mul(f, m) }"
        ),
        "g (bool c, float[2] x, float[2] z) => (float[] y) <float k = {2}> { d = Exp(x) y = Mul(d, k) }",
        PASS,
    )


@pytest.mark.parametrize(
    ("then", "other"),
    [
        ("{ a = Neg(x) }", "{ b = Neg(z) }"),
        ("{ a = Neg(x) }", "{ b = Abs(x) }"),
        ("{ a = Elu<alpha = 2.0>(x) }", "{ b = Elu<alpha = 3.0>(x) }"),
        ("<float k = {2}> { a = Mul(x, k) }", "<float m = {3}> { b = Mul(x, m) }"),
        ("{ a = Sub(x, z) }", "{ b = Sub(z, x) }"),
        ("{ d = Exp(x) e = Neg(x) a = Sub(d, e) }", "{ f = Exp(x) h = Neg(x) b = Sub(h, f) }"),
    ],
)
def test_branches_that_differ_are_kept(then: str, other: str) -> None:
    assert_unchanged(choice(then, other), PASS)


def test_random_branches_are_kept() -> None:
    assert_unchanged(choice("{ a = RandomNormalLike(x) }", "{ b = RandomNormalLike(x) }"), PASS)
