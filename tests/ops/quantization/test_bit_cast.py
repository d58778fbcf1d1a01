import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F = np.float32


def case(x: Array, y: Array, label: str = "") -> Case:
    return Case("BitCast", 26, [x], [y], {"to": int(DataType.of(y.dtype))}, label)


CASES = [
    case(np.array([[1, -2]], F), np.array([[0x3F800000, -0x40000000]], np.int32)),
    case(np.array(-1, np.int64), np.array(2**64 - 1, np.uint64), "scalar"),
    case(np.array([-1, 7], ml_dtypes.int4), np.array([15, 7], ml_dtypes.uint4)),
    case(np.array([15, 7], ml_dtypes.uint4), np.array([-1, 7], ml_dtypes.int4)),
    case(np.array([-2, 1], ml_dtypes.int2), np.array([2, 1], ml_dtypes.uint2)),
    case(np.array([0x3F80], np.uint16), np.array([1], ml_dtypes.bfloat16)),
    case(np.array([True, False]), np.array([1, 0], np.uint8)),
    case(np.array([1, 0, 255], np.uint8), np.array([True, False, True]), "other bytes are true"),
    case(np.array([1 + 2j], np.complex64), np.array([0x40000000_3F800000], np.uint64), "real part first"),
    case(np.array([0x40000000_3F800000], np.uint64), np.array([1 + 2j], np.complex64)),
    case(np.array([[1, 2], [3, 4]], F).T, np.array([[1, 2], [3, 4]], F).T.copy().view(np.int32), "strided"),
    case(np.zeros((0, 2), F), np.zeros((0, 2), np.int32), "empty"),
    case(np.array([1], F), np.array([1], F), "same type"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=4))
def test_there_and_back_changes_no_bit(bits: list[int]) -> None:
    x = np.array(bits, np.uint32)
    assert_case(case(x, x.view(F)))
    assert_case(case(x.view(F), x))


@pytest.mark.parametrize("to", [7, 8])
def test_other_widths_are_refused(to: int) -> None:
    with pytest.raises(EvaluationError):
        assert_case(Case("BitCast", 26, [np.zeros(2, F)], [...], {"to": to}))
    with pytest.raises(InferenceError):
        infer_node("BitCast", 26, [floats(2)], {"to": to})


def test_the_message_names_both_widths() -> None:
    with pytest.raises(
        EvaluationError, match="the target of FLOAT must have 32 bits; got INT64, which has 64"
    ):
        assert_case(Case("BitCast", 26, [np.zeros(2, F)], [...], {"to": 7}))


def test_types_of_results() -> None:
    assert infer_node("BitCast", 26, [floats("N", 2)], {"to": 6}) == [
        TensorType(DataType.INT32, floats("N", 2).shape)
    ]
