import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import SequenceType, TensorType
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.api import RunLimits, RuntimeValue

F = np.float32
A, B, C = np.array([[1, 2]], F), np.array([[3, 4]], F), np.array([[5, 6], [7, 8]], F)

CASES = [
    Case("ConcatFromSequence", 11, [[A, C]], [np.array([[1, 2], [5, 6], [7, 8]], F)], {"axis": 0}),
    Case("ConcatFromSequence", 11, [[A, B]], [np.array([[1, 2, 3, 4]], F)], {"axis": -1}),
    Case("ConcatFromSequence", 11, [[A, B]], [np.array([[[1, 2]], [[3, 4]]], F)], {"axis": 0, "new_axis": 1}),
    Case("ConcatFromSequence", 11, [[A, B]], [np.array([[[1, 3], [2, 4]]], F)], {"axis": -1, "new_axis": 1}),
    Case("ConcatFromSequence", 11, [[A, B]], [np.array([[[1, 3], [2, 4]]], F)], {"axis": 2, "new_axis": 1}),
    Case("ConcatFromSequence", 11, [[A, A[:0]]], [A], {"axis": 0}, "an empty tensor"),
    Case(
        "ConcatFromSequence",
        11,
        [[np.array(1, F), np.array(2, F)]],
        [np.array([1, 2], F)],
        {"axis": 0, "new_axis": 1},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("sequence", "attributes", "message"),
    [
        ([A, B], {"axis": 2}, "axis 2 lies outside of rank 2"),
        ([A, B], {"axis": 3, "new_axis": 1}, "axis 3 lies outside of rank 3"),
        ([A, C], {"axis": 0, "new_axis": 1}, "same shape"),
        ([A, C], {"axis": 1}, "match exactly"),
        (
            [A, np.array([[1]])],
            {"axis": 0},
            "the tensors of a sequence must have one element type; got float, int64",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_refused(
    sequence: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("ConcatFromSequence", 11, [sequence], [...], attributes))


def test_an_empty_sequence_is_refused() -> None:
    types = {0: SequenceType(TensorType(DataType.FLOAT))}
    with pytest.raises(EvaluationError, match="the sequence must have at least one tensor; got an empty one"):
        assert_case(Case("ConcatFromSequence", 11, [[]], [...], {"axis": 0}, types=types))


def test_large_results_pass_the_limit() -> None:
    b = GraphBuilder(11)
    a = b.constant("a", A)
    b.output(b.ConcatFromSequence(b.SequenceConstruct(a, a), axis=0), "y")
    with pytest.raises(LimitError, match="would take 16 bytes"):
        Interpreter(b.model(), limits=RunLimits(bytes=15)).run({})


def test_the_size_along_the_axis_is_new() -> None:
    sequence = SequenceType(floats("N", 3))
    assert infer_node("ConcatFromSequence", 11, [sequence], {"axis": 0}) == [floats("new0", 3)]
    assert infer_node("ConcatFromSequence", 11, [sequence], {"axis": -1, "new_axis": 1}) == [
        floats("N", 3, "new0")
    ]
    unknown = TensorType(DataType.FLOAT)
    assert infer_node("ConcatFromSequence", 11, [SequenceType(unknown)], {"axis": 0}) == [unknown]
    with pytest.raises(InferenceError, match="axis 2 lies outside"):
        infer_node("ConcatFromSequence", 11, [sequence], {"axis": 2})
