"""SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength."""

import numpy as np
import pytest

from cases import Case, check
from ops.control.asking import ask, floats
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir.types import SequenceType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue

F = np.float32
A, B, C = np.array([1], F), np.array([[2, 3]], F), np.array(4, F)
ABC: list[RuntimeValue] = [A, B, C]
TEXT = np.array(["a", ""], object)
EMPTY: dict[int, Type] = {0: SequenceType(TensorType(DataType.FLOAT))}


def at(i: int, dtype: type[np.generic] = np.int64) -> np.ndarray:
    return np.array(i, dtype)


CASES = [
    Case("SequenceConstruct", 11, [A, B, C], [ABC]),
    Case("SequenceConstruct", 11, [TEXT], [[TEXT]], label="strings"),
    Case("SequenceEmpty", 11, [], [[]]),
    Case("SequenceEmpty", 11, [], [[]], {"dtype": int(DataType.STRING)}, "of strings"),
    Case("SequenceAt", 11, [ABC, at(0)], [A]),
    Case("SequenceAt", 11, [ABC, at(-1, np.int32)], [C], label="the last"),
    Case("SequenceAt", 11, [ABC, at(-3)], [A], label="the first from the back"),
    Case("SequenceInsert", 11, [ABC, A], [[A, B, C, A]], label="at the end"),
    Case("SequenceInsert", 11, [ABC, A, at(3)], [[A, B, C, A]], label="behind the last"),
    Case("SequenceInsert", 11, [ABC, C, at(0)], [[C, A, B, C]], label="in front"),
    Case("SequenceInsert", 11, [ABC, A, at(-1, np.int32)], [[A, B, A, C]], label="before the last"),
    Case("SequenceInsert", 11, [ABC, C, at(-3)], [[C, A, B, C]], label="before the first from the back"),
    Case("SequenceInsert", 11, [[], A], [[A]], label="into nothing", types=EMPTY),
    Case("SequenceErase", 11, [ABC], [[A, B]], label="the last"),
    Case("SequenceErase", 11, [ABC, at(0)], [[B, C]]),
    Case("SequenceErase", 11, [ABC, at(-2, np.int32)], [[A, C]], label="from the back"),
    Case("SequenceErase", 11, [[A]], [[]], label="the only one"),
    Case("SequenceLength", 11, [ABC], [np.array(3)]),
    Case("SequenceLength", 11, [[]], [np.array(0)], types=EMPTY, label="of nothing"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("op", "inputs", "says"),
    [
        ("SequenceAt", [ABC, at(3)], "position 3 lies outside of -3 to 2"),
        ("SequenceAt", [ABC, at(-4)], "position -4 lies outside"),
        ("SequenceAt", [ABC, np.array([0, 1])], "one element is wanted"),
        ("SequenceInsert", [ABC, A, at(4)], "position 4 lies outside"),
        ("SequenceInsert", [ABC, A, at(-4)], "position -4 lies outside"),
        ("SequenceInsert", [ABC, np.array([1])], "element types float, int64"),
        ("SequenceErase", [ABC, at(3)], "position 3 lies outside"),
        ("SequenceConstruct", [A, np.array([1])], "element types float, int64"),
    ],
)
def test_bad_values_are_refused(op: str, inputs: list[RuntimeValue], says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        check(Case(op, 11, inputs, [...]))


def test_nothing_is_erased_from_nothing() -> None:
    with pytest.raises(EvaluationError, match="position -1 lies outside"):
        check(Case("SequenceErase", 11, [[]], [...], types=EMPTY))


def test_an_unknown_element_type_is_refused() -> None:
    with pytest.raises(EvaluationError, match="dtype 99 is not the number"):
        check(Case("SequenceEmpty", 11, [], [...], {"dtype": 99}))
    with pytest.raises(InferenceError, match="99 is not the number"):
        ask("SequenceEmpty", 11, [], {"dtype": 99})


def test_a_sequence_is_not_changed_in_place() -> None:
    values: list[RuntimeValue] = list(ABC)
    check(Case("SequenceErase", 11, [values], [[A, B]]))
    check(Case("SequenceInsert", 11, [values, A], [[A, B, C, A]]))
    assert len(values) == 3


def test_elements_keep_the_sizes_in_which_they_agree() -> None:
    assert ask("SequenceConstruct", 11, [floats("N", 2), floats("N", 3)]) == [SequenceType(floats("N", None))]
    found = ask("SequenceInsert", 11, [SequenceType(floats("N", 2)), floats("M", 2)])
    assert found == [SequenceType(floats(None, 2))]


def test_an_element_has_sizes_of_its_own() -> None:
    at_0 = TensorType(DataType.INT64, ())
    assert ask("SequenceAt", 11, [SequenceType(floats(None, 2)), at_0]) == [floats("new0", 2)]


def test_only_sequences_are_taken() -> None:
    with pytest.raises(InferenceError, match="input 0 is float"):
        ask("SequenceLength", 11, [floats(2)])


def test_a_sequence_has_one_element_type() -> None:
    with pytest.raises(InferenceError, match="one type is wanted"):
        ask("SequenceConstruct", 11, [floats(1), TensorType(DataType.INT64, (1,))])
