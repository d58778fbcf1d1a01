import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, ML = np.float32, "ai.onnx.ml"
EIGHT = {"cats_int64s": list(range(8))}


def case(x: Array, y: list[object], label: object = "", **attributes: object) -> Case:
    return Case("OneHotEncoder", 1, [x], [np.array(y, F)], attributes, domain=ML, label=str(label))


CASES = [
    case(np.array([4]), [[0, 0, 0, 0, 1, 0, 0, 0]], "the text's own example", **EIGHT),
    case(np.array([[1, 9], [3, 2]]), [[[1, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 1, 0]]], cats_int64s=[1, 2, 3]),
    case(
        np.array([1.9, -1.9, np.nan], F),
        [[1, 0], [0, 1], [0, 0]],
        "fractions are cut off",
        cats_int64s=[1, -1],
    ),
    case(np.array([2], np.int32), [[0, 1]], cats_int64s=[1, 2]),
    case(np.array(["b", "z"], object), [[0, 1], [0, 0]], cats_strings=["a", "b"]),
    case(np.array(["a"], object), [[0, 1]], "twice", cats_strings=["a", "a"]),
    case(np.array(2), [0, 1], "scalar", cats_int64s=[1, 2]),
    case(np.array([1, 2]), [[1, 0], [0, 1]], "every element known", cats_int64s=[1, 2], zeros=0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_unknown_elements_are_refused_without_zeros() -> None:
    with pytest.raises(EvaluationError, match="every element must be a category when zeros=0; got 9"):
        assert_case(case(np.array([1, 9]), [0], cats_int64s=[1], zeros=0))


def test_the_categories_become_an_axis() -> None:
    numbers, texts = floats("N", 2), TensorType(DataType.STRING, floats("N").shape)
    assert infer_node("OneHotEncoder", 1, [numbers], {"cats_int64s": (1, 2, 3)}, domain=ML) == [
        floats("N", 2, 3)
    ]
    assert infer_node("OneHotEncoder", 1, [texts], {"cats_strings": ("a",)}, domain=ML) == [floats("N", 1)]
    assert infer_node("OneHotEncoder", 1, [None], {"cats_strings": ("a",)}, domain=ML) == [
        TensorType(DataType.FLOAT)
    ]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, r"one cats_\* attribute must be set; got none"),
        (
            {"cats_int64s": (1,), "cats_strings": ("a",)},
            r"one cats_\* attribute must be set; got cats_int64s and cats_strings",
        ),
        (
            {"cats_strings": ("a",)},
            "cats_int64s must be set for elements of float; got cats_strings",
        ),
    ],
)
def test_one_list_of_categories_is_required(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_node("OneHotEncoder", 1, [floats(2)], attributes, domain=ML)
