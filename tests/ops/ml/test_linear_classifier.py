import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, ML = np.float32, "ai.onnx.ml"
X = np.array([[1, 2], [-3, 1], [0, 0]], F)
TWO = {"coefficients": [1.0, 1.0, -1.0, -1.0], "intercepts": [0.25, 0.5], "classlabels_ints": [5, 6]}
ONE = {"coefficients": [0.25, 0.0], "intercepts": [0.0], "classlabels_ints": [5, 6]}


def case(x: Array, y: list[int] | list[str], z: object, label: object = "", **attributes: object) -> Case:
    labels = np.array(y, object if y and isinstance(y[0], str) else np.int64)
    return Case("LinearClassifier", 1, [x], [labels, np.array(z, F)], attributes, domain=ML, label=str(label))


def sigma(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


CASES = [
    case(X, [5, 6, 6], [[3.25, -2.5], [-1.75, 2.5], [0.25, 0.5]], **TWO),
    case(X, ["a", "b", "b"], [[3.25, -2.5], [-1.75, 2.5], [0.25, 0.5]],
         coefficients=[1.0, 1.0, -1.0, -1.0], intercepts=[0.25, 0.5], classlabels_strings=["a", "b"]),
    case(X[2:], [6], [[sigma(0.25), sigma(0.5)]], **TWO, post_transform="LOGISTIC"),
    case(X[2:], [6], [[sigma(-0.25), sigma(0.25)]], **TWO, post_transform="SOFTMAX"),
    case(X[2:], [6], [[sigma(-0.25), sigma(0.25)]], "softmax of both", **TWO, post_transform="SOFTMAX_ZERO"),
    case(X[2:], [6], [[-0.6744898, 0]], **TWO, post_transform="PROBIT"),
    case(X, [6, 5, 5], [[0.75, 0.25], [1.75, -0.75], [1, 0]], "one score", **ONE),
    case(X, [6, 5, 5], [[sigma(-0.25), sigma(0.25)], [sigma(0.75), sigma(-0.75)], [0.5, 0.5]], "one score", **ONE, post_transform="LOGISTIC"),
    case(X[:1], [5], [[3, 3]], "the first of equals", coefficients=[1.0, 1.0, 1.0, 1.0], classlabels_ints=[5, 6]),
    case(X[0], [5], [[3.25, -2.5]], "one row", **TWO),
    case(X[:0], [], np.zeros((0, 2)), "no rows", **TWO),
    case(X.astype(np.int32), [5, 6, 6], [[3.25, -2.5], [-1.75, 2.5], [0.25, 0.5]], "integers", **TWO),
    case(X.astype(np.float64), [5, 6, 6], [[3.25, -2.5], [-1.75, 2.5], [0.25, 0.5]], "multinomial", **TWO, multi_class=1),
    case(X[:1], [6], [[1, 5, 2]], "three", coefficients=[1.0, 0.0, 1.0, 2.0, 0.0, 1.0], classlabels_ints=[5, 6, 7]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            {"coefficients": [1.0, 2.0]},
            "there must be one list of class labels, integers or strings; got both or none",
        ),
        (
            TWO | {"coefficients": [1.0, 2.0, 3.0]},
            "there must be 1 coefficients for each of 2 features; got 3 in all",
        ),
        (TWO | {"intercepts": [1.0]}, "there must be 2 intercepts, one for each score; got 1"),
        (TWO | {"classlabels_ints": [5]}, "there must be 2 class labels, one for each score; got 1"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], [], **attributes))


def test_types_of_results() -> None:
    four = {"coefficients": (1.0,) * 4, "classlabels_strings": ("a", "b")}
    y, z = infer_node("LinearClassifier", 1, [floats("N", 2)], four, outputs=2, domain=ML)
    assert (y, z) == (TensorType(DataType.STRING, floats("N").shape), floats("N", 2))
    attributes = {"coefficients": (1.0, 2.0), "classlabels_ints": (1, 2)}
    y, z = infer_node("LinearClassifier", 1, [floats(2)], attributes, outputs=2, domain=ML)
    assert (y, z) == (TensorType(DataType.INT64, (1,)), floats(1, 2))
    _, z = infer_node("LinearClassifier", 1, [floats("N", "C")], attributes, outputs=2, domain=ML)
    assert z == floats("N", None)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            {"coefficients": (1.0,) * 5, "classlabels_ints": (1, 2)},
            "there must be 2 coefficients for each of 2 classes; got 5 in all",
        ),
        (
            {"coefficients": (1.0,) * 6, "classlabels_ints": (1, 2)},
            "there must be 2 coefficients for each of 2 classes; got 6 in all",
        ),
        (
            {"coefficients": (1.0,) * 4},
            "there must be one list of class labels, integers or strings; got both or none",
        ),
        (
            {"coefficients": (1.0,) * 4, "classlabels_ints": (1, 2), "intercepts": (1.0,)},
            "there must be 2 intercepts, one for each score; got 1",
        ),
    ],
)
def test_inference_refuses_lists_that_do_not_fit(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_node("LinearClassifier", 1, [floats("N", 2)], attributes, outputs=2, domain=ML)
