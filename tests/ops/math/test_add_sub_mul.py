import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

F, I8, U8, I64, U32 = np.float32, np.int8, np.uint8, np.int64, np.uint32
BF = ml_dtypes.bfloat16
A = np.array([[1, 2, 3], [4, 5, 6]], F)
ROW = np.array([10, 20, 30], F)
COLUMN = np.array([10, 20], F)
ONE = np.array([[2]], F)
GREATEST = np.iinfo(I64).max
SMALLEST = np.iinfo(I64).min
BROADCAST = {"broadcast": 1}

CASES = [
    Case("Add", 14, [A, ROW], [np.array([[11, 22, 33], [14, 25, 36]], F)], label="row"),
    Case("Add", 14, [COLUMN.reshape(2, 1), ROW], [np.array([[20, 30, 40], [30, 40, 50]], F)], label="both"),
    Case("Add", 14, [np.array([200, 255], U8), np.array([100, 1], U8)], [np.array([44, 0], U8)], label="wraps"),
    Case("Add", 14, [np.array(1.5, F), np.array(2, F)], [np.array(3.5, F)], label="scalars"),
    Case("Add", 14, [np.zeros((2, 0), F), np.ones(1, F)], [np.zeros((2, 0), F)], label="empty"),
    Case("Add", 14, [np.array([np.inf, np.nan], F), np.array([-np.inf, 1], F)], [np.full(2, np.nan, F)]),
    Case("Add", 13, [np.ones(2, BF), np.array([1 / 256, 3 / 256], BF)], [np.array([1, 1.015625], BF)], label="halves"),
    Case("Add", 7, [np.array([GREATEST]), np.array([1])], [np.array([SMALLEST])], label="wraps"),
    Case("Add", 7, [np.array([2048, 60000], np.float16), np.array([1, 60000], np.float16)],
         [np.array([2048, np.inf], np.float16)], label="float16 rounds once"),
    Case("Add", 6, [A, COLUMN], [np.array([[11, 12, 13], [24, 25, 26]], F)], {"axis": 0, **BROADCAST}, "axis"),
    Case("Add", 6, [A, ROW], [np.array([[11, 22, 33], [14, 25, 36]], F)], BROADCAST, "last dims"),
    Case("Add", 6, [np.array([[1, 2]], U32), np.array(3, U32)], [np.array([[4, 5]], U32)], BROADCAST, "scalar"),
    Case("Add", 6, [A, A], [2 * A], label="same shape"),
    Case("Add", 1, [A, ONE], [A + np.ones((2, 3), F) * 2], BROADCAST, "one element"),
    Case("Add", 1, [A, A], [2 * A], {"consumed_inputs": [0, 0]}, "consumed inputs"),
    Case("Sub", 14, [np.array([-128, 5], I8), np.array([1, 7], I8)], [np.array([127, -2], I8)], label="wraps"),
    Case("Sub", 13, [np.array([3, 1], BF), np.array([0.5, 3], BF)], [np.array([2.5, -2], BF)]),
    Case("Sub", 7, [A, ROW], [np.array([[-9, -18, -27], [-6, -15, -24]], F)]),
    Case("Sub", 6, [np.array([5, 0], U32), np.array([7, 1], U32)], [np.array([2**32 - 2, 2**32 - 1], U32)]),
    Case("Sub", 6, [A, COLUMN.reshape(2, 1)], [np.array([[-9, -8, -7], [-16, -15, -14]], F)], BROADCAST, "size of 1"),
    Case("Sub", 1, [A, COLUMN], [np.array([[-9, -8, -7], [-16, -15, -14]], F)], {"axis": 0, **BROADCAST}),
    Case("Mul", 14, [np.array([16, -3], I8), np.array([16, 5], I8)], [np.array([0, -15], I8)], label="wraps"),
    Case("Mul", 13, [np.array([1.0078125], BF), np.array([1.0078125], BF)], [np.array([1.015625], BF)]),
    Case("Mul", 7, [A, np.array([[2], [3]], F)], [np.array([[2, 4, 6], [12, 15, 18]], F)]),
    Case("Mul", 7, [np.array([np.inf, 3.0]), np.array([0.0, -0.0])], [np.array([np.nan, -0.0])]),
    Case("Mul", 6, [A, COLUMN], [np.array([[10, 20, 30], [80, 100, 120]], F)], {"axis": -2, **BROADCAST}),
    Case("Mul", 1, [A, ONE], [np.array([[2, 4, 6], [8, 10, 12]], F)], BROADCAST),
]  # fmt: skip

REFUSED = [
    Case("Add", 6, [A, ROW], [A], label="broadcast is off by default"),
    Case("Sub", 6, [np.ones((2, 1), F), A], [A], BROADCAST, "A is not broadcast"),
    Case("Mul", 1, [A, COLUMN], [A], BROADCAST, "not the last dims"),
    Case("Add", 6, [A, ROW], [A], {"axis": 0, **BROADCAST}, "not the dims from axis on"),
    Case("Add", 6, [A, ROW], [A], {"axis": 2, **BROADCAST}, "beyond the rank"),
    Case("Add", 6, [ROW, np.ones((1, 1), F)], [A], BROADCAST, "higher rank"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_limited_broadcast_refuses(case: Case) -> None:
    with pytest.raises(EvaluationError, match="B must have one element or a contiguous run of A's dims"):
        assert_case(case)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(EvaluationError, match="broadcast"):
        assert_case(Case("Add", 14, [A, COLUMN], [A]))
