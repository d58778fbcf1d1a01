import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, ML = np.float32, "ai.onnx.ml"
NAN = float("nan")


def case(x: Array, y: Array, label: object = "", **attributes: object) -> Case:
    return Case("Imputer", 1, [x], [y], attributes, domain=ML, label=str(label))


GAPS = np.array([[NAN, 1], [2, NAN]], F)

CASES = [
    case(GAPS, np.array([[9, 1], [2, 9]], F), imputed_value_floats=[9.0], replaced_value_float=NAN),
    case(
        GAPS,
        np.array([[9, 1], [2, 8]], F),
        "by feature",
        imputed_value_floats=[9.0, 8.0],
        replaced_value_float=NAN,
    ),
    case(np.array([0, -0.0, 1], F), np.array([5, 5, 1], F), "0 by default", imputed_value_floats=[5.0]),
    case(np.array([[-1, 2]]), np.array([[7, 2]]), imputed_value_int64s=[7, 8], replaced_value_int64=-1),
    case(np.array([0, 3], np.int32), np.array([7, 3], np.int32), imputed_value_int64s=[7]),
    case(
        np.array([NAN, 3]),
        np.array([0.5, 3]),
        "float64",
        imputed_value_floats=[0.5],
        replaced_value_float=NAN,
    ),
    case(
        np.zeros((1, 2, 2), F),
        np.array([[[1, 2], [1, 2]]], F),
        "the last axis",
        imputed_value_floats=[1.0, 2.0],
    ),
    case(np.array(0, F), np.array(4, F), "scalar", imputed_value_floats=[4.0]),
    case(np.zeros((0, 2), F), np.zeros((0, 2), F), "empty", imputed_value_floats=[4.0]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("x", "attributes", "message"),
    [
        (
            GAPS,
            {"imputed_value_floats": [1.0, 2.0, 3.0]},
            r"must have one element, or one for each feature of .*; got 3",
        ),
        (
            GAPS,
            {"imputed_value_int64s": [1]},
            r"must have one element, or one for each feature of .*; got 0",
        ),
        (
            np.array([1]),
            {"imputed_value_floats": [1.0]},
            r"must have one element, or one for each feature of .*; got 0",
        ),
    ],
)
def test_values_must_fit_the_features(x: Array, attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(x, x, **attributes))
    lists = {k: tuple(v) for k, v in attributes.items() if isinstance(v, list)}
    with pytest.raises(InferenceError, match=message):
        infer_node("Imputer", 1, [TensorType(DataType.of(x.dtype), x.shape)], lists, domain="ai.onnx.ml")
