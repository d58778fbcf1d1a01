import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

ML = "ai.onnx.ml"
PAIRS = {"cats_strings": ["a", "b"], "cats_int64s": [5, 6]}


def text(*values: str) -> Array:
    return np.array(values, object)


CASES = [
    Case("CategoryMapper", 1, [text("b", "a", "z")], [np.array([6, 5, -1])], PAIRS, domain=ML),
    Case("CategoryMapper", 1, [text("z")], [np.array([9])], {**PAIRS, "default_int64": 9}, domain=ML),
    Case("CategoryMapper", 1, [np.array([[6, 7]])], [np.array([["b", "_Unused"]], object)], PAIRS, domain=ML),
    Case("CategoryMapper", 1, [np.array([7])], [text("none")], {**PAIRS, "default_string": "none"}, domain=ML),
    Case("CategoryMapper", 1, [np.array([5])], [text("b")], {"cats_strings": ["a", "b"], "cats_int64s": [5, 5]}, domain=ML, label="twice"),
    Case("CategoryMapper", 1, [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), object)], PAIRS, domain=ML, label="empty"),
    Case("CategoryMapper", 1, [np.array([1])], [text("_Unused")], domain=ML, label="no pairs"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(
        EvaluationError, match="cats_strings and cats_int64s must be of one length; got 1 and 2"
    ):
        assert_case(
            Case(
                "CategoryMapper",
                1,
                [text("a")],
                [...],
                {"cats_strings": ["a"], "cats_int64s": [5, 6]},
                domain=ML,
            )
        )


def test_inference_refuses_lists_of_different_length() -> None:
    numbers = TensorType(DataType.INT64, (2,))
    with pytest.raises(
        InferenceError, match="cats_strings and cats_int64s must be of one length; got 0 and 2"
    ):
        infer_node("CategoryMapper", 1, [numbers], {"cats_int64s": (5, 6)}, domain=ML)


def test_the_input_determines_the_direction() -> None:
    strings, numbers = TensorType(DataType.STRING, (2,)), TensorType(DataType.INT64, (2,))
    assert infer_node("CategoryMapper", 1, [strings], domain=ML) == [numbers]
    assert infer_node("CategoryMapper", 1, [numbers], domain=ML) == [strings]
    assert infer_node("CategoryMapper", 1, [None], domain=ML) == [None]
