import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array

F, ML = np.float32, "ai.onnx.ml"
X = np.array([[1, 2], [-3, 1]], F)
TWO = {"coefficients": [1.0, 1.0, 0.0, 0.5], "targets": 2}


def case(x: Array, y: object, label: object = "", **attributes: object) -> Case:
    return Case("LinearRegressor", 1, [x], [np.array(y, F)], attributes, domain=ML, label=str(label))


CASES = [
    case(X, [[3], [-2]], coefficients=[1.0, 1.0]),
    case(X, [[3.25], [-1.75]], coefficients=[1.0, 1.0], intercepts=[0.25]),
    case(X, [[3, 1], [-2, 0.5]], **TWO),
    case(X, [[4, 3], [-1, 2.5]], **TWO, intercepts=[1.0, 2.0]),
    case(X[0], [[3, 1]], "one row", **TWO),
    case(X[:0], np.zeros((0, 2)), "no rows", **TWO),
    case(X.astype(np.int64), [[3, 1], [-2, 0.5]], "integers", **TWO),
    case(X, [[1 / (1 + np.exp(-3)), 1 / (1 + np.exp(-1))], [1 / (1 + np.exp(2)), 1 / (1 + np.exp(-0.5))]], **TWO, post_transform="LOGISTIC"),
    case(X[:1], [[3]], "one target is not softmaxed", coefficients=[1.0, 1.0], post_transform="SOFTMAX"),
    case(X[:1], [[0.6744898]], coefficients=[0.25, 0.25], post_transform="PROBIT"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            {"coefficients": [1.0, 2.0, 3.0]},
            "there must be 1 coefficients for each of 2 features; got 3 in all",
        ),
        (TWO | {"intercepts": [1.0]}, "there must be 2 intercepts, one for each score; got 1"),
        ({"targets": 0}, "targets must be positive; got 0"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], **attributes))


def test_types_of_results() -> None:
    assert infer_node("LinearRegressor", 1, [floats("N", 2)], {"targets": 3}, domain=ML) == [floats("N", 3)]
    assert infer_node("LinearRegressor", 1, [None], domain=ML) == [floats(None, 1)]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"targets": 0}, "targets must be positive; got 0"),
        ({"targets": 2, "intercepts": (1.0,)}, "there must be 2 intercepts, one for each target; got 1"),
    ],
)
def test_inference_refuses_lists_that_do_not_fit(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_node("LinearRegressor", 1, [floats("N", 2)], attributes, domain=ML)
