import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array

F, ML = np.float32, "ai.onnx.ml"
X = np.array([[0, 0], [1, 0], [1, 2]], F)
# 2 * similarity to (1, 0), minus the similarity to (0, 1), plus 0.5.
TWO = {"support_vectors": [1.0, 0.0, 0.0, 1.0], "coefficients": [2.0, -1.0], "n_supports": 2, "rho": [0.5]}


def case(x: Array, y: object, label: object = "", **attributes: object) -> Case:
    return Case("SVMRegressor", 1, [x], [np.array(y, F)], attributes, domain=ML, label=str(label))


CASES = [
    case(X, [[0.5], [2.5], [0.5]], **TWO),
    case(X, [[np.exp(-1) + 0.5], [2 - np.exp(-2) + 0.5], [2 * np.exp(-4) - np.exp(-2) + 0.5]], **TWO, kernel_type="RBF",
         kernel_params=[1.0, 0.0, 0.0]),
    case(X, [[1.5], [2 * 9 - 1 + 0.5], [2 * 9 - 25 + 0.5]], **TWO, kernel_type="POLY", kernel_params=[2.0, 1.0, 2.0]),
    case(X[1:2], [[2 * np.tanh(3) - np.tanh(1) + 0.5]], **TWO, kernel_type="SIGMOID", kernel_params=[2.0, 1.0, 0.0]),
    case(X, [[1], [1], [-1]], "one class", **TWO | {"coefficients": [1.0, -1.0]}, one_class=1),
    case(X, [[-1], [1], [-1]], "one class: 0 is outside", **TWO | {"rho": [0.0]}, one_class=1),
    case(X, [[1], [3], [5]], "linear", coefficients=[2.0, 1.0], rho=[1.0]),
    case(X, [[1], [3], [5]], "linear whatever the kernel", coefficients=[2.0, 1.0], rho=[1.0], kernel_type="RBF", kernel_params=[1.0, 0.0, 0.0]),
    case(X[:1], [[0.6744898]], coefficients=[2.0, 1.0], rho=[0.75], post_transform="PROBIT"),
    case(X[:1], [[0.75]], "one score is left alone", coefficients=[2.0, 1.0], rho=[0.75], post_transform="LOGISTIC"),
    case(X[1], [[2.5]], "one row", **TWO),
    case(X[:0], np.zeros((0, 1)), "no rows", **TWO),
    case(X.astype(np.float64), [[0.5], [2.5], [0.5]], "float64", **TWO),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (TWO | {"n_supports": 3}, r"support_vectors must have 3 \* 2 elements; got 4"),
        (
            TWO | {"n_supports": -1},
            "n_supports must not be negative and rho must have one element; got -1 and 1",
        ),
        (
            TWO | {"rho": [1.0, 2.0]},
            "n_supports must not be negative and rho must have one element; got 2 and 2",
        ),
        (TWO | {"coefficients": [1.0]}, r"coefficients must have 2 \* 1 elements; got 1"),
        (
            TWO | {"kernel_type": "POLY"},
            r"kernel_params must have 3 elements \(gamma, coef0, degree\); got 0",
        ),
        ({"coefficients": [1.0], "rho": [1.0]}, r"coefficients must have 1 \* 2 elements; got 1"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], **attributes))
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()}
    with pytest.raises(InferenceError):
        infer_node("SVMRegressor", 1, [floats(3, 2)], lists, domain=ML)


def test_types_of_results() -> None:
    linear = {"coefficients": (1.0, 2.0), "rho": (0.5,)}
    assert infer_node("SVMRegressor", 1, [floats("N", 2)], linear, domain=ML) == [floats("N", 1)]
    assert infer_node("SVMRegressor", 1, [floats(2)], linear, domain=ML) == [floats(1, 1)]
