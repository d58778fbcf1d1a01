import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, ML = np.float32, "ai.onnx.ml"
X = np.array([[0, 1, 2], [3, 4, 5]], F)


def case(x: Array, y: Array, expected: Array, label: str = "") -> Case:
    return Case("ArrayFeatureExtractor", 1, [x, y], [expected], domain=ML, label=label)


CASES = [
    case(X, np.array([2, 0, 2]), np.array([[2, 0, 2], [5, 3, 5]], F)),
    case(X[0], np.array([2]), np.array([[2]], F), "a vector is one row"),
    case(X, np.array(1), np.array([[1], [4]], F), "a scalar index"),
    case(X, np.array([[0, 1]]), np.array([[0, 1], [3, 4]], F), "indices in any shape"),
    case(X.reshape(1, 2, 3), np.array([1]), np.array([[[1], [4]]], F), "three axes"),
    case(X, np.array([], np.int64), np.zeros((2, 0), F), "no index"),
    case(np.array([["a", "b"]], object), np.array([1]), np.array([["b"]], object)),
    case(X.astype(np.int32), np.array([0]), np.array([[0], [3]], np.int32)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("index", [-1, 3])
def test_indices_outside_are_refused(index: int) -> None:
    with pytest.raises(EvaluationError, match=f"index {index} lies outside of an axis of size 3"):
        assert_case(case(X, np.array([0, index]), X))


def test_scalars_are_refused() -> None:
    with pytest.raises(EvaluationError, match="X must have rank >= 1; got a scalar"):
        assert_case(case(np.array(1, F), np.array([0]), X))
    with pytest.raises(InferenceError, match="scalar"):
        infer_node("ArrayFeatureExtractor", 1, [floats(), None], domain=ML)


def test_types_of_results() -> None:
    indices = TensorType(DataType.INT64, (2,))
    assert infer_node("ArrayFeatureExtractor", 1, [floats("N", 5), indices], domain=ML) == [floats("N", 2)]
    assert infer_node("ArrayFeatureExtractor", 1, [floats("N"), indices], domain=ML) == [floats(1, 2)]
    assert infer_node("ArrayFeatureExtractor", 1, [floats("N", 5), None], domain=ML) == [floats("N", None)]
    assert infer_node("ArrayFeatureExtractor", 1, [None, indices], domain=ML) == [None]
