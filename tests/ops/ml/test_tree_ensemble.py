import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, D, H, ML = np.float32, np.float64, np.float16, "ai.onnx.ml"
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = (np.array([m], np.uint8) for m in range(7))
NAN = np.nan


def stump(mode: Array = LEQ, **changed: object) -> dict[str, object]:
    """Feature 0 compared with 2: 10 for the first target if true, otherwise 20 for the second."""
    plain = {
        "nodes_featureids": [0],
        "nodes_splits": np.array([2], F),
        "nodes_modes": mode,
        "nodes_truenodeids": [0],
        "nodes_trueleafs": [1],
        "nodes_falsenodeids": [1],
        "nodes_falseleafs": [1],
        "tree_roots": [0],
        "leaf_targetids": [0, 1],
        "leaf_weights": np.array([10, 20], F),
        "n_targets": 2,
    }
    return plain | changed


def case(x: Array, y: object, label: object = "", **attributes: object) -> Case:
    return Case("TreeEnsemble", 5, [x], [np.array(y, x.dtype)], attributes, domain=ML, label=str(label))


X = np.array([[1], [2], [3], [NAN]], F)
YES, NO, TENS = [10, 0], [0, 20], np.array([10, 20], D)
# Root 1 tests feature 1 <= 5 and goes to node 0, which tests feature 0 <= 2, or to leaf 2.
DEEP = stump(
    np.array([0, 0], np.uint8),
    nodes_featureids=[0, 1],
    nodes_splits=np.array([2, 5], F),
    nodes_truenodeids=[0, 0],
    nodes_trueleafs=[1, 0],
    nodes_falsenodeids=[1, 2],
    nodes_falseleafs=[1, 1],
    tree_roots=[1],
    leaf_targetids=[0, 1, 0],
    leaf_weights=np.array([10, 20, 30], F),
)
TWO = stump(
    np.array([0, 0], np.uint8),
    nodes_featureids=[0, 0],
    nodes_splits=np.array([2, 0], F),
    nodes_truenodeids=[0, 2],
    nodes_trueleafs=[1, 1],
    nodes_falsenodeids=[1, 2],
    nodes_falseleafs=[1, 1],
    tree_roots=[0, 1],
    leaf_targetids=[0, 1, 0],
    leaf_weights=np.array([10, 20, 4], F),
)  # the second tree is a leaf that gives 4 to the first target

CASES = [
    case(X, [YES, YES, NO, NO], "LEQ", **stump(LEQ)),
    case(X, [YES, NO, NO, NO], "LT", **stump(LT)),
    case(X, [NO, YES, YES, NO], "GTE", **stump(GTE)),
    case(X, [NO, NO, YES, NO], "GT", **stump(GT)),
    case(X, [NO, YES, NO, NO], "EQ", **stump(EQ)),
    case(X, [YES, NO, YES, NO], "NEQ", **stump(NEQ)),
    case(X, [YES, NO, YES, NO], "MEMBER", **stump(MEMBER, membership_values=np.array([3, 1], F))),
    case(X, [YES, NO, YES, NO], "NaN after the set", **stump(MEMBER, membership_values=np.array([3, 1, NAN], F))),
    case(X, [YES, YES, NO, YES], "a missing value tracks true", **stump(LEQ, nodes_missing_value_tracks_true=[1])),
    case(X, [NO, YES, NO, YES], "a missing value tracks true", **stump(MEMBER, membership_values=np.array([2], F), nodes_missing_value_tracks_true=[1])),
    case(np.array([[1, 5], [3, 5], [1, 6]], F), [[10, 0], [0, 20], [30, 0]], "two levels", **DEEP),
    case(X[:3], [[14, 0], [14, 0], [4, 20]], "SUM", **TWO),
    case(X[:3], [[7, 0], [7, 0], [2, 10]], "AVERAGE", **TWO, aggregate_function=0),
    case(X[:3], [[4, 0], [4, 0], [4, 20]], "MIN", **TWO, aggregate_function=2),
    case(X[:3], [[10, 0], [10, 0], [4, 20]], "MAX", **TWO, aggregate_function=3),
    case(X[:1], [[np.exp(10) / (np.exp(10) + 1), 1 / (np.exp(10) + 1)]], "1 is SOFTMAX", **stump(), post_transform=1),
    case(X[:1], [[1 / (1 + np.exp(-10)), 0.5]], "2 is LOGISTIC", **stump(), post_transform=2),
    case(X[:1], [[1, 0]], "3 is SOFTMAX_ZERO", **stump(), post_transform=3),
    case(X[:1], [[-0.6744898, 0.6744898]], "4 is PROBIT",
         **TWO | {"leaf_targetids": [0, 0, 1], "leaf_weights": np.array([0.25, 0, 0.75], F)}, post_transform=4),
    case(X.astype(D), [YES, YES, NO, NO], "float64", **stump(nodes_splits=np.array([2], D), leaf_weights=TENS)),
    case(X.astype(H), [YES, YES, NO, NO], "float16", **stump(nodes_splits=np.array([2], H), leaf_weights=np.array([10, 20], H))),
    case(np.array([[0.1]]), [YES], "float64 is not rounded", **stump(LT, nodes_splits=np.array([F(0.1)], D), leaf_weights=TENS)),
    case(X[:0], np.zeros((0, 2)), "no rows", **stump()),
    case(X[0], [YES], "one row", **stump()),
    case(X[:1], [[10, 0]], "targets counted", **{k: v for k, v in stump().items() if k != "n_targets"}),
    case(X[:1], [YES], "popularity", **stump(nodes_hitrates=np.array([1], F))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_each_node_has_its_own_members() -> None:
    attributes = DEEP | {
        "nodes_modes": np.array([6, 6], np.uint8),
        "membership_values": np.array([1, 2, NAN, 5, 1], F),  # of node 0, then of node 1
    }
    x = np.array([[2, 5], [5, 5], [1, 1], [1, 2]], F)
    assert_case(case(x, [[10, 0], [0, 20], [10, 0], [30, 0]], **attributes))


def test_a_set_may_be_empty() -> None:
    attributes = DEEP | {
        "nodes_modes": np.array([6, 6], np.uint8),
        "membership_values": np.array([NAN, 5], F),
    }
    assert_case(case(np.array([[2, 5], [2, 6]], F), [[0, 20], [30, 0]], **attributes))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"nodes_truenodeids": [0], "nodes_trueleafs": [0]},
            "the trees must be acyclic; node 0 leads back to itself",
        ),
        ({"nodes_truenodeids": [2]}, r"nodes_truenodeids\[0\] must be in \[0, 2\); got 2"),
        (
            {"nodes_falsenodeids": [1], "nodes_falseleafs": [0]},
            r"nodes_falsenodeids\[0\] must be in \[0, 1\); got 1",
        ),
        (
            {"nodes_falseleafs": [1, 1]},
            "nodes_falsenodeids must have one id and one flag for each of 1 nodes",
        ),
        ({"tree_roots": [1]}, r"tree_roots\[0\] must be in \[0, 1\); got 1"),
        ({"tree_roots": [-1]}, r"tree_roots\[0\] must be in \[0, 1\); got -1"),
        ({"leaf_targetids": [0, 2]}, r"leaf_targetids\[1\] must be in \[0, 2\); got 2"),
        ({"leaf_targetids": [0]}, "parallel lists must be of one length"),
        ({"nodes_featureids": [1]}, r"feature ids must be in \[0, 1\), the features of a row; got 1"),
        ({"nodes_featureids": [0, 0]}, "parallel lists must be of one length"),
        ({"nodes_modes": np.array([7], np.uint8)}, r"nodes_modes\[0\] must be in \[0, 7\); got 7"),
        ({"nodes_modes": MEMBER}, "need membership_values"),
        (
            {"nodes_modes": MEMBER, "membership_values": np.array([1, NAN, 2], F)},
            "membership_values must have 1 sets, one for each node of mode BRANCH_MEMBER",
        ),
    ],
)
def test_what_is_no_forest_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], **stump(**changed)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nodes_truenodeids": (2,)}, r"nodes_truenodeids\[0\] must be in \[0, 2\); got 2"),
        ({"leaf_targetids": (0,)}, "parallel lists must be of one length"),
        ({"aggregate_function": 4}, r"aggregate_function must be in \[0, 4\); got 4"),
        ({"leaf_weights": TENS}, "leaf_weights must have the type of the input, float; got float64"),
        (
            {"nodes_splits": np.array([2], D)},
            "nodes_splits must have the type of the input, float; got float64",
        ),
    ],
)
def test_inference_refuses_what_is_no_forest(changed: dict[str, object], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_node("TreeEnsemble", 5, [floats("N", 3)], as_kernels_get_them(**changed), domain=ML)


def as_kernels_get_them(**changed: object) -> dict[str, object]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in stump(**changed).items()}  # type: ignore[arg-type]


def test_types_of_results() -> None:
    attributes = as_kernels_get_them(nodes_splits=np.array([2], D), leaf_weights=TENS)
    x = TensorType(DataType.DOUBLE, floats("N", 3).shape)
    assert infer_node("TreeEnsemble", 5, [x], attributes, domain=ML) == [
        TensorType(DataType.DOUBLE, floats("N", 2).shape)
    ]
    counted = as_kernels_get_them(n_targets=None, leaf_targetids=(0, 4))
    assert infer_node("TreeEnsemble", 5, [floats("N", 3)], counted, domain=ML) == [floats("N", 5)]
