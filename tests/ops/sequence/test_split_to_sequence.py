import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import SequenceType, TensorType
from sardonyx._src.ir.dims import symbol

F = np.float32
X = np.array([[1, 2, 3], [4, 5, 6]], F)
COLUMNS = [np.array([[1], [4]], F), np.array([[2], [5]], F), np.array([[3], [6]], F)]
TWO_AND_ONE = [np.array([[1, 2], [4, 5]], F), np.array([[3], [6]], F)]
HALF = X.astype(ml_dtypes.bfloat16)

CASES = [
    Case("SplitToSequence", 11, [X], [[X[:1], X[1:]]]),
    Case("SplitToSequence", 11, [X], [COLUMNS], {"axis": 1}),
    Case("SplitToSequence", 11, [X], [COLUMNS], {"axis": -1}, "axis from the back"),
    Case("SplitToSequence", 11, [X], [[X[0], X[1]]], {"keepdims": 0}, "without the axis"),
    Case("SplitToSequence", 11, [X, np.array(2)], [TWO_AND_ONE], {"axis": 1}, "a smaller last part"),
    Case(
        "SplitToSequence", 11, [X, np.array(2)], [TWO_AND_ONE], {"axis": 1, "keepdims": 0}, "keepdims ignored"
    ),
    Case("SplitToSequence", 11, [X, np.array(3, np.int32)], [[X]], {"axis": 1}, "one whole"),
    Case("SplitToSequence", 11, [X, np.array(9)], [[X]], {"axis": 1}, "a part larger than all"),
    Case("SplitToSequence", 11, [X, np.array([2, 1])], [TWO_AND_ONE], {"axis": 1}, "sizes"),
    Case("SplitToSequence", 11, [X, np.array([0, 2])], [[X[:0], X]], label="a part of size 0"),
    Case("SplitToSequence", 11, [X[:0]], [[]], label="nothing to split"),
    Case(
        "SplitToSequence",
        11,
        [np.array(["a", "b"], object)],
        [[np.array(["a"], object), np.array(["b"], object)]],
    ),
    Case("SplitToSequence", 24, [HALF], [[HALF[:1], HALF[1:]]]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (np.array(0), "split must be positive; got 0"),
        (np.array([1, 2]), r"split must add up to 2; got \[1, 2\]"),
        (np.array([3, -1]), "split must add up to 2"),
        (np.array([[1, 1]]), "split must add up to 2"),
    ],
)
def test_bad_sizes_are_refused(split: np.ndarray, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("SplitToSequence", 11, [X, split], [...]))


def test_axes_outside_of_the_rank_are_refused() -> None:
    with pytest.raises(EvaluationError, match="axis 2 lies outside"):
        assert_case(Case("SplitToSequence", 11, [X], [...], {"axis": 2}))
    with pytest.raises(InferenceError, match="axis 2 lies outside"):
        infer_node("SplitToSequence", 11, [floats("N", 3)], {"axis": 2})


INTS = TensorType(DataType.INT64, (2,))
INT = TensorType(DataType.INT64, ())


def test_parts_have_size_1_or_no_axis() -> None:
    assert infer_node("SplitToSequence", 11, [floats("N", "M")]) == [SequenceType(floats(1, "M"))]
    assert infer_node("SplitToSequence", 11, [floats("N", "M")], {"keepdims": 0}) == [
        SequenceType(floats("M"))
    ]


def test_a_part_size_holds_where_it_divides() -> None:
    known = [None, np.array(2)]
    assert infer_node("SplitToSequence", 11, [floats(6, "M"), INT], known=known) == [
        SequenceType(floats(2, "M"))
    ]
    assert infer_node("SplitToSequence", 11, [floats(5, "M"), INT], known=known) == [
        SequenceType(floats(None, "M"))
    ]
    assert infer_node("SplitToSequence", 11, [floats("N"), INT], known=known) == [SequenceType(floats(None))]
    assert infer_node("SplitToSequence", 11, [floats("N"), INT]) == [SequenceType(floats(None))]
    twice = TensorType(DataType.FLOAT, (symbol("N") * 2,))
    assert infer_node("SplitToSequence", 11, [twice, INT], known=known) == [SequenceType(floats(2))]


@pytest.mark.parametrize(
    ("numbers", "required"), [(0, "positive"), (-1, "positive"), ([2, -1], "sizes of at least 0")]
)
def test_sizes_of_parts_are_not_negative(numbers: object, required: str) -> None:
    split = np.array(numbers)
    type_ = TensorType(DataType.INT64, split.shape)
    with pytest.raises(InferenceError, match=f"split must be {required}"):
        infer_node("SplitToSequence", 11, [floats(6), type_], known=[None, split])


def test_sizes_hold_where_all_are_the_same() -> None:
    same, other = np.array([3, 3]), np.array([2, 4])
    assert infer_node("SplitToSequence", 11, [floats(6), INTS], known=[None, same]) == [
        SequenceType(floats(3))
    ]
    assert infer_node("SplitToSequence", 11, [floats(6), INTS], known=[None, other]) == [
        SequenceType(floats(None))
    ]
