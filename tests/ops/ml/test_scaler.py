import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array

F, ML = np.float32, "ai.onnx.ml"


def case(x: Array, y: list[object], label: object = "", **attributes: object) -> Case:
    return Case("Scaler", 1, [x], [np.array(y, F)], attributes, domain=ML, label=str(label))


X = np.array([[1, 2], [3, 4]], F)

CASES = [
    case(X, [[0, 10], [4, 30]], offset=[1.0, 1.0], scale=[2.0, 10.0]),
    case(X, [[0, 2], [4, 6]], "one for all", offset=[1.0], scale=[2.0]),
    case(X, [[2, 6], [6, 12]], "no offset", scale=[2.0, 3.0]),
    case(X, [[0, 0], [2, 2]], "no scale", offset=[1.0, 2.0]),
    case(X[0], [0, 10], "one row", offset=[1.0, 1.0], scale=[2.0, 10.0]),
    case(np.array([[3, 5]]), [[3.75, 5]], "integers", offset=[0.5, 0.0], scale=[1.5, 1.0]),
    case(np.array([[2**24 + 1.0]]), [[1]], "float64 keeps its digits", offset=[2.0**24], scale=[1.0]),
    case(X.reshape(2, 1, 2), [[[0, 20]], [[6, 40]]], "the last axis", offset=[1.0, 0.0], scale=[3.0, 10.0]),
    case(np.zeros((2, 0), F), [[], []], "no features", offset=[1.0], scale=[1.0]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"offset": [1.0], "scale": [1.0, 2.0]}, "offset and scale must be of one length; got 1 and 2"),
        (
            {"offset": [1.0, 2.0, 3.0]},
            r"offset must have one element.*; got 3",
        ),
        (
            {"scale": [1.0, 2.0, 3.0]},
            r"scale must have one element.*; got 3",
        ),
    ],
)
def test_lists_must_fit_the_features(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], **attributes))
    lists = {k: tuple(v) for k, v in attributes.items() if isinstance(v, list)}
    with pytest.raises(InferenceError, match=message):
        infer_node("Scaler", 1, [floats(2, 2)], lists, domain="ai.onnx.ml")
