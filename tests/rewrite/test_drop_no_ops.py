"""drop-no-ops."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "drop-no-ops"
NOTHING = "g (float[2,3] x) => (float[] y) { y = Neg(x) }"


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        ("a = Dropout(x)", 21),
        ("a = Dropout<is_test = 1>(x)", 6),
        ("a = Cast<to = 1>(x)", 21),
        ("a = CastLike(x, x)", 21),
        ("s = Constant<value_ints = [2, 3]>() a = Reshape(x, s)", 21),
        ("s = Constant<value_ints = [-1, 3]>() a = Reshape(x, s)", 21),
        ("a = Flatten<axis = 1>(x)", 21),
        ("s = Constant<value_ints = [1, 3]>() a = Expand(x, s)", 21),
        ("s = Constant<value_ints = [1, 1]>() a = Tile(x, s)", 21),
        ("a = Transpose<perm = [0, 1]>(x)", 21),
        ("s = Constant<value_ints = [0, 0, 0, 0]>() a = Pad(x, s)", 21),
        ("s = Constant<value_ints = [0]>() e = Constant<value_ints = [9]>() a = Slice(x, s, e)", 21),
        ("a = Concat<axis = 1>(x)", 21),
        ("a = Split<axis = 1, num_outputs = 1>(x)", 18),
        ("a = Max(x)", 21),
    ],
)
def test_a_node_that_changes_nothing_is_removed(node: str, opset: int) -> None:
    text = f"g (float[2,3] x) => (float[] y) {{ {node} y = Neg(a) }}"
    assert_becomes(text, NOTHING, PASS, opset=opset, proof=opset > 10)


@pytest.mark.parametrize(
    "node",
    [
        "t = Constant<value = bool {1}>() r = Constant<value_float = 0.5>() a = Dropout(x, r, t)",
        "h = Cast<to = 10>(x) a = Cast<to = 1>(h)",
        "s = Constant<value_ints = [3, 2]>() b = Reshape(x, s) a = Transpose(b)",
        "a = Transpose(x)",
        "s = Constant<value_ints = [-1, 0, 1, 0]>() a = Pad(x, s)",
        """s = Constant<value_ints = [-1]>() e = Constant<value_ints = [-9]>() k = Constant<value_ints = [0]>()
           d = Constant<value_ints = [-1]>() a = Slice(x, s, e, k, d)""",
        "a = Concat<axis = 0>(x, x)",
    ],
)
def test_a_node_that_changes_something_is_kept(node: str) -> None:
    assert_unchanged(f"g (float[2,3] x) => (float[] y) {{ {node} y = Neg(a) }}", PASS)


def test_sizes_that_may_differ_keep_a_reshape() -> None:
    assert_unchanged(
        "g (float[N,M] x, int64[2] s) => (float[] y) { a = Reshape(x, s) y = Neg(a) }", PASS, proof=False
    )  # made-up shapes fit nothing


def test_equal_expressions_are_equal_sizes() -> None:
    assert_becomes(
        "g (float[N,M] x) => (float[] y) { s = Shape(x) a = Reshape(x, s) y = Neg(a) }",
        "g (float[N,M] x) => (float[] y) { y = Neg(x) }",
        PASS,
    )


def test_a_dropout_whose_mask_is_read_is_kept() -> None:
    assert_unchanged("g (float[2] x) => (float[] y, bool[] m) { y, m = Dropout(x) }", PASS)


def test_a_mask_without_uses_keeps_nothing() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) { a, m = Dropout(x) y = Neg(a) }",
        "g (float[2] x) => (float[] y) { y = Neg(x) }",
        PASS,
    )


def test_a_shape_that_a_run_states_may_be_invalid() -> None:
    assert_unchanged("g (float[1] x, int64[1] s) => (float[] y) { a = Reshape(x, s) y = Neg(a) }", PASS)


def test_a_size_that_only_a_run_tells_may_be_none() -> None:
    """Beside a size of 0, -1 is ambiguous: the Reshape refuses what the NonZero before it does not find."""
    assert_unchanged(
        """g (float[N] x) => (int64[] y) <int64[2] s = {-1, 0}> { a = NonZero(x) b = Reshape(a, s) y = Neg(b) }""",
        PASS,
        proof=False,
    )


def test_a_node_that_a_run_may_not_execute_is_kept() -> None:
    assert_unchanged(
        """g (bool c, float[N,1] x) => (float[] y) <int64[2] s = {0, -1}> {
            y = If<then_branch = t () => (p) { a = Reshape(x, s) p = Neg(a) }, else_branch = e () => (q) { q = Abs(x) }>(c)
        }""",
        PASS,
    )
