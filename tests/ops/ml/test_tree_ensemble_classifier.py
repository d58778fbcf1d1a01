import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from ops.ml.trees import Node, Vote, nodes, stump, votes
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import TensorType

F, ML = np.float32, "ai.onnx.ml"
X = np.array([[-1], [1]], F)
FIVE, SEVEN = {"classlabels_int64s": [5, 6]}, {"classlabels_int64s": [5, 6, 7]}
STUMP = nodes(stump())
HIGH = 1 / (1 + np.exp(-0.75))  # the logistic function of 0.75; that of -0.75 is 1 - HIGH
LOW = 1 / (1 + np.exp(-0.25))


def case(
    labels: list[int] | list[str],
    scores: object,
    label: object = "",
    x: object = X,
    version: object = 1,
    **attributes: object,
) -> Case:
    assert isinstance(x, np.ndarray) and isinstance(version, int)
    chosen = np.array(labels, object if labels and isinstance(labels[0], str) else np.int64)
    return Case(
        "TreeEnsembleClassifier",
        version,
        [x],
        [chosen, np.array(scores, F)],
        attributes,
        domain=ML,
        label=str(label),
    )


def stump_with_votes(first: dict[int, float], second: dict[int, float]) -> dict[str, object]:
    """A stump whose leaves have these votes, as class -> weight."""
    leaf_votes = [Vote(0, 1, c, w) for c, w in first.items()] + [Vote(0, 2, c, w) for c, w in second.items()]
    return {**STUMP, **votes("class", *leaf_votes)}


POSITIVE = {**stump_with_votes({0: 0.25}, {0: 0.75}), **FIVE}
MIXED = {**stump_with_votes({0: -0.25}, {0: 0.75}), **FIVE}
ALL = stump_with_votes({0: 0.5, 1: 0.25, 2: 1}, {0: 2})

CASES = [
    case([7, 5], [[0.5, 0.25, 1], [2, 0, 0]], "the highest score", **ALL, **SEVEN),
    case(["c", "a"], [[0.5, 0.25, 1], [2, 0, 0]], **ALL, classlabels_strings=["a", "b", "c"]),
    case([5, 5], [[1.5, 1, -1], [3, 0.75, -2]], "base values", **ALL, **SEVEN, base_values=[1.0, 0.75, -2.0]),
    case([5, 7], [[0.5, 0.5, 0], [0, 0, 1]], "the first of equals", **stump_with_votes({1: 0.5, 0: 0.5}, {2: 1}), **SEVEN),
    case([5, 6], [[-1, 0, 0], [0, -1, -2]], "only classes with a vote", **stump_with_votes({0: -1}, {1: -1, 2: -2}), **SEVEN),
    case([6, 5], [[0.25, 0.75], [0.75, 0.25]], "two classes, both voted for", **stump_with_votes({0: 0.25, 1: 0.75}, {0: 0.75, 1: 0.25}), **FIVE),
    case([5, 6], [[0.75, 0.25], [0.25, 0.75]], "one of two", **POSITIVE),
    case([5, 6], [[0.25, -0.25], [-0.75, 0.75]], "one of two, with signs", **MIXED),
    case([5, 6], [[1 - LOW, LOW], [1 - HIGH, HIGH]], **POSITIVE, post_transform="LOGISTIC"),
    case([5, 6], [[LOW, 1 - LOW], [1 - HIGH, HIGH]], **MIXED, post_transform="LOGISTIC"),
    case([5, 6], [[0.75, 0.25], [0.25, 0.75]], "softmax leaves them", **POSITIVE, post_transform="SOFTMAX"),
    case([6, 6], [[0.25, 0.75], [-0.25, 1.25]], "its base value", **POSITIVE, base_values=[0.5]),
    case([6, 6], [[-0.25, 0.25], [-1.25, 1.25]], "its base value", **MIXED, base_values=[0.5]),
    case([5, 6], [[0, 0.25], [0, 0.75]], "the second of two", **stump_with_votes({1: 0.25}, {1: 0.75}), **FIVE),
    case([5, 6], [[0, -0.25], [0, 0.75]], "the second of two, with signs", **stump_with_votes({1: -0.25}, {1: 0.75}), **FIVE),
    case([6, 6], [[0.25, 1], [0.75, 1]], "two base values", **POSITIVE, base_values=[0.0, 1.0]),
    case([5, 6], [[LOW, 1 - LOW], [1 - HIGH, HIGH]], "both, as CatBoost writes them", **stump_with_votes({0: 0.25, 1: -0.25}, {0: -0.75, 1: 0.75}), **FIVE,
         post_transform="LOGISTIC"),
    case([5, 5], [[0.25], [0.75]], "one class", **stump_with_votes({0: 0.25}, {0: 0.75}), classlabels_int64s=[5]),
    case([5], [[0.75, 0.25]], "one row", X[0], **POSITIVE),
    case([], np.zeros((0, 2)), "no rows", X[:0], **POSITIVE),
    case([5, 6], [[0.75, 0.25], [0.25, 0.75]], "float64", X.astype(np.float64), 3, **POSITIVE),
    case([5, 6], [[0.75, 0.25], [0.25, 0.75]], "integers", X.astype(np.int64), 3, **POSITIVE),
    case([5, 6], [[0.75, 0.25], [0.25, 0.75]], "deprecated", X, 5, **POSITIVE),
    case([7, 5], [[np.exp(0.5) / (np.exp(0.5) + np.exp(0.25) + np.e), np.exp(0.25) / (np.exp(0.5) + np.exp(0.25) + np.e),
                   np.e / (np.exp(0.5) + np.exp(0.25) + np.e)], [np.exp(2) / (np.exp(2) + 2), 1 / (np.exp(2) + 2), 1 / (np.exp(2) + 2)]],
         **ALL, **SEVEN, post_transform="SOFTMAX"),
    case([5, 6], [[0.75, 0.25], [0.25, 0.75]], "numbers as tensors", X, 3, **{k: v for k, v in POSITIVE.items() if k not in ("class_weights", "nodes_values")},
         class_weights_as_tensor=np.array([0.125, 0.625]), nodes_values_as_tensor=np.zeros(3), base_values_as_tensor=np.array([0.125])),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (ALL, "there must be one list of class labels, integers or strings; got both or none"),
        (
            {**ALL, **SEVEN, "classlabels_strings": ["a"]},
            "there must be one list of class labels, integers or strings; got both or none",
        ),
        ({**ALL, **FIVE}, "the ids of the votes"),
        ({**ALL, **SEVEN, "base_values": [1.0]}, "base_values must have 3 elements or none; got 1"),
        ({**nodes([Node(0, 0, "BRANCH_LEQ", 0, 0)]), **FIVE}, "leads back to itself"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case([], [], **attributes))


def test_types_of_results() -> None:
    strings = {"classlabels_strings": ("a", "b", "c")}
    y, z = infer_node("TreeEnsembleClassifier", 1, [floats("N", 3)], strings, outputs=2, domain=ML)
    assert y == TensorType(DataType.STRING, floats("N").shape)
    assert z == floats("N", 3)
    y, z = infer_node(
        "TreeEnsembleClassifier", 3, [floats(3)], {"classlabels_int64s": (1, 2)}, outputs=2, domain=ML
    )
    assert (y, z) == (TensorType(DataType.INT64, (1,)), floats(1, 2))
