import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol

F, ML = np.float32, "ai.onnx.ml"


def case(xs: list[Array], y: list[object], label: object = "", **attributes: object) -> Case:
    return Case("FeatureVectorizer", 1, xs, [np.array(y, F)], attributes, domain=ML, label=str(label))


A, B = np.array([[1, 2], [3, 4]], F), np.array([[5], [6]], F)

CASES = [
    case([A, B], [[1, 2, 5], [3, 4, 6]], inputdimensions=[2, 1]),
    case([A, B], [[1, 2, 5], [3, 4, 6]], "sizes of the inputs"),
    case([A, B], [[1, 5], [3, 6]], "cut", inputdimensions=[1, 1]),
    case([A, B], [[1, 2, 0, 5], [3, 4, 0, 6]], "filled up", inputdimensions=[3, 1]),
    case([A[0], B[0]], [[1, 2, 5]], "vectors are rows", inputdimensions=[2, 1]),
    case([A.astype(np.int64)], [[1, 2], [3, 4]], "integers", inputdimensions=[2]),
    case([A.reshape(2, 1, 2)], [[1, 2], [3, 4]], "more axes", inputdimensions=[2]),
    case([np.array([[1e-300, 1e300]])], [[0, np.inf]], "float64", inputdimensions=[2]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("xs", "attributes", "message"),
    [
        ([A, B], {"inputdimensions": [2]}, r"inputdimensions must have 2 sizes, none negative; got \[2\]"),
        (
            [A, B[:1]],
            {"inputdimensions": [2, 1]},
            r"the inputs must have the same number of rows; got \[2, 1\]",
        ),
        (
            [np.array(1, F)],
            {"inputdimensions": [1]},
            r"X must be rows of features \(\[N, C\] or \[C\]\); got a scalar",
        ),
    ],
)
def test_bad_inputs_are_refused(xs: list[Array], attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(xs, [], **attributes))


def test_sizes_add_up() -> None:
    n, m = symbol("N"), symbol("M")
    inputs = [floats("N", 3), floats(None, "M")]
    assert infer_node("FeatureVectorizer", 1, inputs, domain=ML) == [TensorType(floats().dtype, (n, m + 3))]
    assert infer_node("FeatureVectorizer", 1, inputs, {"inputdimensions": (3, 4)}, domain=ML) == [
        floats("N", 7)
    ]
    assert infer_node("FeatureVectorizer", 1, [floats("N"), None], domain=ML) == [floats(1, None)]
    with pytest.raises(InferenceError, match="numbers of rows"):
        infer_node("FeatureVectorizer", 1, [floats(2, 3), floats(3, 3)], domain=ML)
