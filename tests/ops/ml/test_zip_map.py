import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, MapType, SequenceType, TensorType

F, ML = np.float32, "ai.onnx.ml"


def case(x: Array, y: list[object], label: object = "", **attributes: object) -> Case:
    return Case("ZipMap", 1, [x], [y], attributes, domain=ML, label=str(label))


def f(value: float) -> np.float32:
    return F(value)


CASES = [
    case(np.array([[0.25, 0.75], [1, 0]], F), [{"a": f(0.25), "b": f(0.75)}, {"a": f(1), "b": f(0)}], classlabels_strings=["a", "b"]),
    case(np.array([0.25, 0.75], F), [{7: f(0.25), 5: f(0.75)}], "one row", classlabels_int64s=[7, 5]),
    case(np.zeros((0, 1), F), [], "no rows", classlabels_int64s=[7]),
    case(np.array([[1, 2]], F), [{7: f(2)}], "one label twice", classlabels_int64s=[7, 7]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            {"classlabels_int64s": [1, 2]},
            "there must be 3 class labels, one for each element of a row; got 2",
        ),
        ({}, "one of classlabels_int64s and classlabels_strings must be set"),
        (
            {"classlabels_int64s": [1, 2, 3], "classlabels_strings": ["a", "b", "c"]},
            "one of classlabels_int64s and classlabels_strings must be set",
        ),
    ],
)
def test_labels_must_fit_the_columns(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(np.zeros((1, 3), F), [], **attributes))


def test_types_of_results() -> None:
    attributes = {"classlabels_strings": ("a", "b")}
    assert infer_node("ZipMap", 1, [floats("N", 2)], attributes, domain=ML) == [
        SequenceType(MapType(DataType.STRING, TensorType(DataType.FLOAT)))
    ]
    with pytest.raises(
        InferenceError, match="there must be 3 class labels, one for each element of a row; got 2"
    ):
        infer_node("ZipMap", 1, [floats("N", 3)], attributes, domain=ML)
