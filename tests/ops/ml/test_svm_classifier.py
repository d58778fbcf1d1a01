import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, ML = np.float32, "ai.onnx.ml"

# Two support vectors (1, 0) and (0, 1) with weights 1 and -1: the decision is x0 - x1 + rho.
PAIR = {
    "support_vectors": [1.0, 0.0, 0.0, 1.0],
    "vectors_per_class": [1, 1],
    "coefficients": [1.0, -1.0],
    "rho": [0.25],
    "classlabels_ints": [10, 20],
}
# Three classes of one support vector each: the pairs (10, 20), (10, 30), (20, 30) decide by
# k0 - k1 + 0.25, k0 + k2 / 2 - 0.5 and k1 - k2 + 0.125, if k are the similarities; LINEAR: x0, x1, -x0 - x1.
THREE = {
    "support_vectors": [1.0, 0.0, 0.0, 1.0, -1.0, -1.0],
    "vectors_per_class": [1, 1, 1],
    "coefficients": [1.0, -1.0, 0.5, 1.0, 1.0, -1.0],
    "rho": [0.25, -0.5, 0.125],
    "classlabels_ints": [10, 20, 30],
}
RBF = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 0.0]}
X = np.array([[0, 0], [1, 0], [0, 2], [-1, 1]], F)
E1, E2, E3, E4 = (float(np.exp(-n / 2)) for n in (1, 2, 3, 4))


def case(x: Array, y: list[int] | list[str], z: object, label: object = "", **attributes: object) -> Case:
    labels = np.array(y, object if y and isinstance(y[0], str) else np.int64)
    return Case("SVMClassifier", 1, [x], [labels, np.array(z, F)], attributes, domain=ML, label=str(label))


def sigma(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


CASES = [
    case(X, [10, 10, 20, 20], [[-0.25, 0.25], [-1.25, 1.25], [1.75, -1.75], [1.75, -1.75]], "a pair", **PAIR),
    case(X[:1], [10], [[sigma(-0.25), sigma(0.25)]], "a pair", **PAIR, post_transform="LOGISTIC"),
    case(X[:1], [10], [[0.75, 0.25]], "a pair", **PAIR, post_transform="SOFTMAX"),
    case(X, [10, 10, 20, 20], [[0.25, -0.5, 0.125], [1.25, 0, 1.125], [-1.75, -1.5, 4.125], [-1.75, -1.5, 1.125]], "three", **THREE),
    # Similarities to the three vectors at (0, 0): e^-1/2, e^-1/2, e^-1; at (1, 0): 1, e^-1, e^-5/2.
    case(X[:1], [10], [[0.25, E1 + E2 / 2 - 0.5, E1 - E2 + 0.125]], **THREE, **RBF),
    case(X[1:2], [10], [[-(2.5**3 - 0.5**3) - 0.25, 2.5**3 - 0.5**3 + 0.25]], **PAIR, kernel_type="POLY", kernel_params=[2.0, 0.5, 3.0]),
    case(X[1:2], [10], [[-np.tanh(2.5) + np.tanh(0.5) - 0.25, np.tanh(2.5) - np.tanh(0.5) + 0.25]], **PAIR,
         kernel_type="SIGMOID", kernel_params=[2.0, 0.5, 0.0]),
    case(X[:1], ["no"], [[-0.25, 0.25]], "strings", **{k: v for k, v in PAIR.items() if k != "classlabels_ints"}, classlabels_strings=["no", "yes"]),
    case(X[:1], [10], [np.exp([0.25, -0.5, 0.125]) / np.exp([0.25, -0.5, 0.125]).sum()], "softmax of the pairs", **THREE, post_transform="SOFTMAX"),
    # As ONNX Runtime 1.31.1 has them, which follows LIBSVM to its limits for stopping; labels are still chosen by votes.
    case(X, [10, 10, 20, 20], [[0.5620753, 0.4379247], [0.9046504, 0.0953496], [0.0229686, 0.9770315], [0.0229686, 0.9770315]],
         "probabilities of a pair", **PAIR, prob_a=[-2.0], prob_b=[0.25]),
    case(X, [10, 10, 20, 20], [[0.3787482, 0.3905656, 0.2306861], [0.5150219, 0.2272381, 0.2577402], [0.2113905, 0.6164912, 0.1721184],
         [0.2138153, 0.5976086, 0.1885761]], "probabilities of three",
         **THREE | {"coefficients": [1.0, -1.0, 0.5, 0.5, 1.0, -1.0]}, **RBF, prob_a=[-2.0, -1.0, -1.5], prob_b=[0.25, 0.0, -0.5]),
    case(X[1:], [10, 20, 20], [[1.5, 0.5], [0.5, 2.5], [-0.5, 1.5]], "linear, one rho for all", coefficients=[1.0, 0.0, 0.0, 1.0],
         rho=[0.5, 9.0], classlabels_ints=[10, 20]),
    case(X[1:2], [10], [[sigma(1.5), sigma(0.5)]], "linear", coefficients=[1.0, 0.0, 0.0, 1.0], rho=[0.5], classlabels_ints=[10, 20],
         post_transform="LOGISTIC"),
    case(X[1], [10], [[-1.25, 1.25]], "one row", **PAIR),
    case(X[:0], [], np.zeros((0, 2)), "no rows", **PAIR),
    case(X.astype(np.int64)[:1], [10], [[-0.25, 0.25]], "integers", **PAIR),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            PAIR | {"kernel_type": "RBF"},
            r"kernel_params must have 3 elements \(gamma, coef0, degree\); got 0",
        ),
        (PAIR | {"support_vectors": [1.0]}, r"support_vectors must have 2 \* 2 elements; got 1"),
        (PAIR | {"coefficients": [1.0]}, r"coefficients must have 1 \* 2 elements; got 1"),
        (PAIR | {"rho": [1.0, 2.0]}, "rho must have 1 elements, one for each pair of classes; got 2"),
        (
            PAIR | {"vectors_per_class": [1, 1, 1]},
            "vectors_per_class must have one count for each of 2 classes, at least two",
        ),
        (
            PAIR | {"vectors_per_class": [3, -1]},
            "vectors_per_class must have one count for each of 2 classes, at least two",
        ),
        (PAIR | {"prob_a": [1.0]}, r"prob_a with prob_b must have 2 \* 1 elements; got 1"),
        (
            {"coefficients": [1.0, 0.0], "classlabels_ints": [1]},
            "rho must have at least one element; got none",
        ),
        (
            {"coefficients": [1.0], "classlabels_ints": [1], "rho": [1.0]},
            r"coefficients must have 1 \* 2 elements; got 1",
        ),
        (
            {"coefficients": [1.0]},
            "there must be one list of class labels, integers or strings; got both or none",
        ),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], [], **attributes))
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()}
    with pytest.raises(InferenceError):
        infer_node("SVMClassifier", 1, [floats(4, 2)], lists, outputs=2, domain=ML)


def test_types_of_results() -> None:
    def scores(classes: int, **attributes: object) -> object:
        pairs = classes * (classes - 1) // 2
        given: dict[str, object] = {
            "vectors_per_class": (1,) * classes,
            "classlabels_ints": tuple(range(classes)),
            "support_vectors": (1.0,) * classes * 2,
            "coefficients": (1.0,) * classes * (classes - 1),
            "rho": (1.0,) * pairs,
            **attributes,
        }
        y, z = infer_node("SVMClassifier", 1, [floats("N", 2)], given, outputs=2, domain=ML)
        assert y == TensorType(DataType.INT64, floats("N").shape)
        return z

    assert scores(2) == floats("N", 2)
    assert scores(4) == floats("N", 6)
    assert scores(4, prob_a=(1.0,) * 6, prob_b=(1.0,) * 6) == floats("N", 4)
    assert scores(4, vectors_per_class=(), coefficients=(1.0,) * 8) == floats("N", 4)
