import numpy as np
import pytest

from cases import Case, check
from ops.control.asking import ask, floats
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType

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
    check(case)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"coefficients": [1.0, 2.0]}, "exactly one list of class labels"),
        (TWO | {"coefficients": [1.0, 2.0, 3.0]}, "3 coefficients are given"),
        (TWO | {"intercepts": [1.0]}, "1 intercepts are given for 2 scores"),
        (TWO | {"classlabels_ints": [5]}, "1 class labels are given for 2 scores"),
        (TWO | {"post_transform": "TANH"}, "post_transform is 'TANH'"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, object], says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        check(case(X, [], [], **attributes))


def test_types_of_results() -> None:
    four = {"coefficients": (1.0,) * 4, "classlabels_strings": ("a", "b")}
    y, z = ask("LinearClassifier", 1, [floats("N", 2)], four, outputs=2, domain=ML)
    assert (y, z) == (TensorType(DataType.STRING, floats("N").shape), floats("N", 2))
    one = {"coefficients": (1.0, 2.0), "classlabels_ints": (1, 2)}
    y, z = ask("LinearClassifier", 1, [floats(2)], one, outputs=2, domain=ML)
    assert (y, z) == (TensorType(DataType.INT64, (1,)), floats(1, 2))
    _, z = ask("LinearClassifier", 1, [floats("N", "C")], one, outputs=2, domain=ML)
    assert z == floats("N", None)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        (
            {"coefficients": (1.0,) * 5, "classlabels_ints": (1, 2)},
            "5 coefficients are given for 2 classes of 2",
        ),
        (
            {"coefficients": (1.0,) * 6, "classlabels_ints": (1, 2)},
            "6 coefficients are given for 2 classes of 2",
        ),
        ({"coefficients": (1.0,) * 4}, "exactly one list of class labels"),
        ({"coefficients": (1.0,) * 4, "classlabels_ints": (1, 2), "intercepts": (1.0,)}, "1 intercepts"),
    ],
)
def test_inference_refuses_lists_that_do_not_fit(attributes: dict[str, object], says: str) -> None:
    with pytest.raises(InferenceError, match=says):
        ask("LinearClassifier", 1, [floats("N", 2)], attributes, outputs=2, domain=ML)
