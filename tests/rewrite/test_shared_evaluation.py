"""Constant evaluation of equal nodes shares one prepared program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Array, Attribute, AttributeValue, Node, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.rewrite.support.evaluate import MAX_PROGRAMS, PROGRAMS, evaluate_node, program_key

OPSET = {"": 21}
A, B = np.array([[1, -2], [3, 4]], np.float32), np.array([[5, 6], [7, 8]], np.float32)


def node(op_type: str, arity: int, **attributes: AttributeValue) -> Node:
    kinds = {int: AttributeType.INT, tuple: AttributeType.INTS, float: AttributeType.FLOAT}
    inputs = [Value(f"x{i}") for i in range(arity)]
    return Node(
        op_type,
        inputs,
        [Value("y")],
        {n: Attribute(n, kinds[type(v)], v) for n, v in attributes.items()},
    )


def evaluate(node: Node, arrays: Sequence[Array | None]) -> Array:
    tensors = [None if array is None else Tensor.of(array) for array in arrays]
    results = evaluate_node(node, OPSET, tensors)
    assert results is not None
    (result,) = results
    assert isinstance(result, np.ndarray)
    return result


def test_nodes_with_other_shapes_and_types_share_a_program() -> None:
    PROGRAMS.clear()
    np.testing.assert_array_equal(evaluate(node("Sub", 2), [A, B]), A - B)
    np.testing.assert_array_equal(evaluate(node("Sub", 2), [B[0], A[1]]), B[0] - A[1])
    integers = np.arange(3), np.array([5])
    np.testing.assert_array_equal(evaluate(node("Sub", 2), integers), integers[0] - integers[1])
    assert len(PROGRAMS) == 1


def test_nodes_with_other_attributes_have_programs_of_their_own() -> None:
    np.testing.assert_array_equal(evaluate(node("Transpose", 1, perm=(1, 0)), [A]), A.T)
    np.testing.assert_array_equal(evaluate(node("Transpose", 1, perm=(0, 1)), [A]), A)
    np.testing.assert_array_equal(evaluate(node("Concat", 2, axis=0), [A, B]), np.concatenate([A, B]))
    np.testing.assert_array_equal(evaluate(node("Concat", 2, axis=1), [A, B]), np.concatenate([A, B], 1))


def test_a_value_that_is_read_twice() -> None:
    twice = Node("Sub", [x := Value("x"), x], [Value("y")])
    np.testing.assert_array_equal(evaluate(node("Sub", 2), [A, B]), A - B)
    np.testing.assert_array_equal(evaluate(twice, [A, A]), np.zeros_like(A))
    reads = Node("Where", [Value("c"), x, x], [Value("y")])
    np.testing.assert_array_equal(evaluate(reads, [A > 0, B, B]), B)


def test_an_input_that_is_left_out() -> None:
    upper = Node("Clip", [Value("x"), None, Value("h")], [Value("y")])
    lower = Node("Clip", [Value("x"), Value("l")], [Value("y")])
    bound = np.array(2, np.float32)
    np.testing.assert_array_equal(evaluate(upper, [A, None, bound]), np.minimum(A, 2))
    np.testing.assert_array_equal(evaluate(lower, [A, bound]), np.maximum(A, 2))


def test_an_input_of_a_wrong_type_is_not_evaluated() -> None:
    np.testing.assert_array_equal(evaluate(node("Sqrt", 1), [np.abs(A)]), np.sqrt(np.abs(A)))
    assert evaluate_node(node("Sqrt", 1), OPSET, [Tensor.of(np.arange(3))]) is None
    np.testing.assert_array_equal(evaluate(node("Sqrt", 1), [np.abs(B)]), np.sqrt(np.abs(B)))


def test_the_version_of_the_operator_set_is_part_of_the_key() -> None:
    assert program_key(node("Softmax", 1), {"": 11}) != program_key(node("Softmax", 1), {"": 13})


def test_nodes_with_floats_are_not_shared() -> None:
    scaled = node("LeakyRelu", 1, alpha=-0.0)
    assert program_key(scaled, OPSET) is None
    expected = np.where(A > 0, A, np.float32(-0.0) * A)
    np.testing.assert_array_equal(np.signbit(evaluate(scaled, [A])), np.signbit(expected))


def test_nodes_of_other_domains_are_not_shared() -> None:
    other = node("Relu", 1)
    assert program_key(other, OPSET) is not None
    other.domain = "custom"
    assert program_key(other, OPSET | {"custom": 1}) is None


def test_the_number_of_programs_is_bounded() -> None:
    for i in range(2 * MAX_PROGRAMS):
        evaluate(node("Unsqueeze", 2), [A, np.array([0])])
        evaluate(
            Node("Concat", [Value("x")] * (i + 1), [Value("y")], node("Concat", 0, axis=0).attributes),
            [A] * (i + 1),
        )
        assert len(PROGRAMS) <= MAX_PROGRAMS
