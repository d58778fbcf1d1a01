"""SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength."""

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, InvalidModel
from sardonyx._src.ir import SequenceType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue

F = np.float32
A, B, C = np.array([1], F), np.array([[2, 3]], F), np.array(4, F)
ABC: list[RuntimeValue] = [A, B, C]
TEXT = np.array(["a", ""], object)
EMPTY: dict[int, Type] = {0: SequenceType(TensorType(DataType.FLOAT))}


def position(i: int, dtype: type[np.generic] = np.int64) -> np.ndarray:
    return np.array(i, dtype)


CASES = [
    Case("SequenceConstruct", 11, [A, B, C], [ABC]),
    Case("SequenceConstruct", 11, [TEXT], [[TEXT]], label="strings"),
    Case("SequenceEmpty", 11, [], [[]]),
    Case("SequenceEmpty", 11, [], [[]], {"dtype": int(DataType.STRING)}, "of strings"),
    Case("SequenceAt", 11, [ABC, position(0)], [A]),
    Case("SequenceAt", 11, [ABC, position(-1, np.int32)], [C], label="the last"),
    Case("SequenceAt", 11, [ABC, position(-3)], [A], label="the first from the back"),
    Case("SequenceInsert", 11, [ABC, A], [[A, B, C, A]], label="at the end"),
    Case("SequenceInsert", 11, [ABC, A, position(3)], [[A, B, C, A]], label="after the last"),
    Case("SequenceInsert", 11, [ABC, C, position(0)], [[C, A, B, C]], label="in front"),
    Case("SequenceInsert", 11, [ABC, A, position(-1, np.int32)], [[A, B, A, C]], label="before the last"),
    Case(
        "SequenceInsert", 11, [ABC, C, position(-3)], [[C, A, B, C]], label="before the first from the back"
    ),
    Case("SequenceInsert", 11, [[], A], [[A]], label="into nothing", types=EMPTY),
    Case("SequenceErase", 11, [ABC], [[A, B]], label="the last"),
    Case("SequenceErase", 11, [ABC, position(0)], [[B, C]]),
    Case("SequenceErase", 11, [ABC, position(-2, np.int32)], [[A, C]], label="from the back"),
    Case("SequenceErase", 11, [[A]], [[]], label="the only one"),
    Case("SequenceLength", 11, [ABC], [np.array(3)]),
    Case("SequenceLength", 11, [[]], [np.array(0)], types=EMPTY, label="of nothing"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        ("SequenceAt", [ABC, position(3)], "position 3 lies outside of -3 to 2"),
        ("SequenceAt", [ABC, position(-4)], "position -4 lies outside"),
        ("SequenceAt", [ABC, np.array([0, 1])], r"position must have one element; got shape \[2\]"),
        ("SequenceInsert", [ABC, A, position(4)], "position 4 lies outside"),
        ("SequenceInsert", [ABC, A, position(-4)], "position -4 lies outside"),
        (
            "SequenceInsert",
            [ABC, np.array([1])],
            "the tensors of a sequence must have one element type; got float, int64",
        ),
        ("SequenceErase", [ABC, position(3)], "position 3 lies outside"),
        (
            "SequenceConstruct",
            [A, np.array([1])],
            r"must be tensor\(float\), as input 0; got tensor\(int64\)",
        ),
    ],
)
def test_bad_values_are_refused(op: str, inputs: list[RuntimeValue], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case(op, 11, inputs, [...]))


def test_nothing_is_erased_from_nothing() -> None:
    with pytest.raises(EvaluationError, match="position -1 lies outside"):
        assert_case(Case("SequenceErase", 11, [[]], [...], types=EMPTY))


def test_an_unknown_element_type_is_refused() -> None:
    with pytest.raises(InvalidModel, match="dtype must be in 1 to 28; got 99"):
        assert_case(Case("SequenceEmpty", 11, [], [...], {"dtype": 99}))
    with pytest.raises(InferenceError, match="dtype must be the number of an element type; got 99"):
        infer_node("SequenceEmpty", 11, [], {"dtype": 99})


def test_a_sequence_is_not_changed_in_place() -> None:
    values: list[RuntimeValue] = list(ABC)
    assert_case(Case("SequenceErase", 11, [values], [[A, B]]))
    assert_case(Case("SequenceInsert", 11, [values, A], [[A, B, C, A]]))
    assert len(values) == 3


def test_elements_keep_the_sizes_in_which_they_agree() -> None:
    assert infer_node("SequenceConstruct", 11, [floats("N", 2), floats("N", 3)]) == [
        SequenceType(floats("N", None))
    ]
    types = infer_node("SequenceInsert", 11, [SequenceType(floats("N", 2)), floats("M", 2)])
    assert types == [SequenceType(floats(None, 2))]


def test_an_element_has_sizes_of_its_own() -> None:
    at_0 = TensorType(DataType.INT64, ())
    assert infer_node("SequenceAt", 11, [SequenceType(floats(None, 2)), at_0]) == [floats("new0", 2)]


def test_only_sequences_are_taken() -> None:
    with pytest.raises(InferenceError, match=r"input 0 must be a sequence; got float\[2\]"):
        infer_node("SequenceLength", 11, [floats(2)])


def test_a_sequence_has_one_element_type() -> None:
    with pytest.raises(
        InferenceError, match=r"the inputs' type must be of one type; got float\[1\] and int64\[1\]"
    ):
        infer_node("SequenceConstruct", 11, [floats(1), TensorType(DataType.INT64, (1,))])
