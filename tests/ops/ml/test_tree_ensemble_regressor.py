import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from ops.ml.trees import Node, Vote, nodes, stump, votes
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.ir import Array

F, ML = np.float32, "ai.onnx.ml"
X = np.array([[-1], [1]], F)
TWO = votes("target", Vote(0, 1, 0, 1), Vote(0, 2, 0, 3))  # 1 where x <= 0, else 3
PAIR = nodes(stump(), [Node()]) | votes("target", Vote(0, 1, 0, 1), Vote(0, 2, 0, 3), Vote(1, 0, 0, 10))
TARGETS = nodes(stump(), [Node()]) | votes("target", Vote(0, 1, 0, 1), Vote(0, 2, 1, 3), Vote(1, 0, 1, 10))


def case(x: Array, y: object, label: object = "", version: object = 1, **attributes: object) -> Case:
    assert isinstance(version, int)
    expected = [np.array(y, F)]
    return Case("TreeEnsembleRegressor", version, [x], expected, attributes, domain=ML, label=str(label))


def single_split(mode: str, value: float, missing_true: int = 0) -> dict[str, object]:
    return {**nodes(stump(mode, value, missing_true)), **TWO, "n_targets": 1}


LINE = np.array([[1], [2], [3], [np.nan]], F)
DEEP = [
    Node(0, 0, "BRANCH_LEQ", 1, 2),
    Node(1, 5, "BRANCH_LT", 3, 4),
    Node(),
    Node(),
    Node(1, 7, "BRANCH_GT", 5, 6),
    Node(),
    Node(),
]
DEEP_VOTES = votes("target", Vote(0, 2, 0, 2), Vote(0, 3, 0, 3), Vote(0, 5, 0, 5), Vote(0, 6, 0, 6))
DOUBLES = {
    name: value for name, value in nodes(stump()).items() if name not in ("nodes_values", "nodes_hitrates")
}

CASES = [
    case(X, [[1], [3]], **single_split("BRANCH_LEQ", 0)),
    case(LINE, [[1], [1], [3], [3]], "LEQ", **single_split("BRANCH_LEQ", 2)),
    case(LINE, [[1], [3], [3], [3]], "LT", **single_split("BRANCH_LT", 2)),
    case(LINE, [[3], [1], [1], [3]], "GTE", **single_split("BRANCH_GTE", 2)),
    case(LINE, [[3], [3], [1], [3]], "GT", **single_split("BRANCH_GT", 2)),
    case(LINE, [[3], [1], [3], [3]], "EQ", **single_split("BRANCH_EQ", 2)),
    case(LINE, [[1], [3], [1], [3]], "NEQ: a missing value is not compared", **single_split("BRANCH_NEQ", 2)),
    case(LINE, [[1], [1], [3], [1]], "a missing value tracks true", **single_split("BRANCH_LEQ", 2, 1)),
    case(LINE, [[3], [1], [3], [1]], "a missing value tracks true", **single_split("BRANCH_EQ", 2, 1)),
    case(np.array([[1, 0], [-1, 4], [-1, 5], [-1, 8]], F), [[2], [3], [6], [5]], "modes differ", **nodes(DEEP), **DEEP_VOTES, n_targets=1),
    case(X, [[11], [13]], "SUM", **PAIR, n_targets=1),
    case(X, [[5.5], [6.5]], "AVERAGE", **PAIR, n_targets=1, aggregate_function="AVERAGE"),
    case(X, [[1], [3]], "MIN", **PAIR, n_targets=1, aggregate_function="MIN"),
    case(X, [[10], [10]], "MAX", **PAIR, n_targets=1, aggregate_function="MAX"),
    case(X, [[1, 10], [0, 13]], "targets", **TARGETS, n_targets=2),
    case(X, [[0.5, 5], [0, 6.5]], "of all trees", **TARGETS, n_targets=2, aggregate_function="AVERAGE"),
    case(X, [[1, 10], [0, 3]], "no vote is 0", **TARGETS, n_targets=2, aggregate_function="MIN"),
    case(X, [[101, 210], [100, 213]], "base values", **TARGETS, n_targets=2, base_values=[100.0, 200.0]),
    case(X, [[105.5], [106.5]], "after the average", **PAIR, n_targets=1, aggregate_function="AVERAGE", base_values=[100.0]),
    case(X, [[1, 10], [0, 13]], "targets counted", **TARGETS),
    case(X, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-10))], [0.5, 1 / (1 + np.exp(-13))]], **TARGETS, post_transform="LOGISTIC"),
    case(X, [[3], [3]], "several votes of a leaf", **nodes([Node()]), **votes("target", Vote(0, 0, 0, 1), Vote(0, 0, 0, 2)), n_targets=1),
    case(X, [[1], [1]], "votes of inner nodes", **nodes(stump()), **votes("target", Vote(0, 0, 0, 9), Vote(0, 1, 0, 1), Vote(0, 2, 0, 1)), n_targets=1),
    case(X[0], [[1]], "one row", **single_split("BRANCH_LEQ", 0)),
    case(X[:0], np.zeros((0, 1)), "no rows", **single_split("BRANCH_LEQ", 0)),
    case(np.array([[2**53]]), [[1]], "integers", **single_split("BRANCH_GT", 3)),
    case(np.array([[0.1]]), [[3]], "float64 is not rounded to the threshold's float32", 3, **single_split("BRANCH_GTE", float(np.float32(0.1)))),
    case(np.array([[0.1]]), [[0.25]], "numbers as tensors", 3, **DOUBLES, nodes_values_as_tensor=np.array([0.1, 0, 0]), n_targets=1,
         **{k: v for k, v in TWO.items() if k != "target_weights"}, target_weights_as_tensor=np.array([0.125, 1]), base_values_as_tensor=np.array([0.125])),
    case(X, [[1], [3]], "deprecated", 5, **single_split("BRANCH_LEQ", 0)),
    case(X, [[1], [3]], "popularity", **single_split("BRANCH_LEQ", 0), nodes_hitrates=[1.0, 2.0, 3.0]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_the_root_is_no_child() -> None:
    leaves_first = {
        "nodes_treeids": [7, 7, 7],
        "nodes_nodeids": [30, 10, 20],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_modes": ["LEAF", "BRANCH_LEQ", "LEAF"],
        "nodes_truenodeids": [0, 20, 0],
        "nodes_falsenodeids": [0, 30, 0],
    } | votes("target", Vote(7, 20, 0, 1), Vote(7, 30, 0, 3))
    assert_case(case(X, [[1], [3]], **leaves_first, n_targets=1))


def test_many_rows_and_trees_go_in_chunks() -> None:
    rows = np.arange(-3000, 3000, dtype=F).reshape(-1, 1)
    trees = [stump("BRANCH_LEQ", value) for value in range(-200, 200)]
    leaf_votes = [Vote(t, 2, 0, 1) for t in range(len(trees))]
    counts = np.clip(rows + 200, 0, 400)  # the trees whose threshold lies below x
    assert_case(case(rows, counts, **nodes(*trees), **votes("target", *leaf_votes), n_targets=1))


CIRCLE = [
    Node(0, 0, "BRANCH_LEQ", 1, 3),
    Node(0, 0, "BRANCH_LEQ", 2, 3),
    Node(0, 0, "BRANCH_LEQ", 1, 3),
    Node(),
]
BELOW = [
    Node(0, 0, "BRANCH_LEQ", 2, 0),
    Node(0, 0, "BRANCH_LEQ", 1, 0),
]  # a circle with a leaf of a lower number below
GOOD = nodes(stump()) | TWO


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (nodes(CIRCLE) | votes("target", Vote(0, 3, 0, 1)), "leads back to itself"),
        (nodes(CIRCLE[3:] + BELOW) | votes("target", Vote(0, 0, 0, 1)), "node 1 leads back to itself"),
        (nodes([Node(0, 0, "BRANCH_LEQ", 0, 0)]) | votes("target"), "leads back to itself"),
        (GOOD | {"nodes_truenodeids": [9, 0, 0]}, "there is no node 9 in tree 0"),
        (GOOD | {"nodes_featureids": [1, 0, 0]}, r"feature ids must be in \[0, 1\), the features of a row; got 1"),
        (GOOD | {"nodes_featureids": [-1, 0, 0]}, r"feature ids must be in \[0, 1\), the features of a row; got -1"),
        (GOOD | {"nodes_nodeids": [0, 1, 1]}, "node ids of a tree must be distinct; got node 1 of tree 0 twice"),
        (GOOD | {"nodes_values": [0.0]}, "parallel lists must be of one length"),
        (GOOD | {"target_ids": [0, 5]}, r"the ids of the votes\[1\] must be in \[0, 1\); got 5"),
        (GOOD | {"target_nodeids": [1, 8]}, "there is no node 8 in tree 0"),
        (GOOD | {"target_treeids": [0, 3]}, "there is no node 2 in tree 3"),
        (GOOD | {"target_weights": [1.0]}, "parallel lists must be of one length"),
        (GOOD | {"base_values": [1.0, 2.0]}, "base_values must have 1 elements or none; got 2"),
        (GOOD | {"nodes_values_as_tensor": np.zeros(3)}, "numbers must be set as a list or as a tensor; got both"),
    ],
)  # fmt: skip
def test_what_is_no_forest_is_refused(attributes: dict[str, object], message: str) -> None:
    given = {k: v for k, v in attributes.items() if not isinstance(v, list) or v}
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(X, [], version=3, **{"n_targets": 1, **given}))


def test_a_result_that_is_too_large_is_refused() -> None:
    with pytest.raises(LimitError, match="TreeEnsembleRegressor result"):
        assert_case(case(X, [], **GOOD, n_targets=2**40))


def test_a_long_chain_is_no_circle() -> None:
    size = 3000
    chain = [Node(0, i, "BRANCH_LEQ", size, i + 1) for i in range(size - 1)]
    tree = [*chain, Node(), Node()]
    leaf_votes = votes("target", Vote(0, size - 1, 0, 1), Vote(0, size, 0, 2))
    assert_case(case(np.array([[size], [5]], F), [[1], [2]], **nodes(tree), **leaf_votes, n_targets=1))


def test_types_of_results() -> None:
    assert infer_node("TreeEnsembleRegressor", 1, [floats("N", 3)], {"n_targets": 2}, domain=ML) == [
        floats("N", 2)
    ]
    counted = votes("target", Vote(0, 1, 0, 1.0), Vote(0, 2, 4, 2.0)) | nodes(stump())
    lists = {name: tuple(v) for name, v in counted.items() if isinstance(v, list)}
    assert infer_node("TreeEnsembleRegressor", 3, [floats(3)], lists, domain=ML) == [floats(1, 5)]
    broken = lists | {"nodes_truenodeids": (9, 0, 0)}
    with pytest.raises(InferenceError, match="there is no node 9 in tree 0"):
        infer_node("TreeEnsembleRegressor", 3, [floats(3)], broken, domain=ML)
    assert infer_node("TreeEnsembleRegressor", 5, [None], {"n_targets": 2}, domain=ML) == [floats(None, 2)]
