import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

F, H, I64, U8 = np.float32, np.float16, np.int64, np.uint8
BF = ml_dtypes.bfloat16
NAN = np.nan
A = np.array([3, 2, 1], F)
B = np.array([1, 4, 4], F)
C = np.array([2, 5, 3], F)
GREATEST = np.array([3, 5, 4], F)
MINIMUM = np.array([1, 2, 1], F)
COLUMN = np.array([[2], [3]], F)
U64 = [np.array([2**63 + 1], np.uint64), np.array([2**63], np.uint64)]

CASES = [
    *(Case("Max", v, [A, B, C], [GREATEST]) for v in (1, 6, 8, 12, 13)),
    *(Case("Min", v, [A, B, C], [MINIMUM]) for v in (1, 6, 8, 12, 13)),
    *(Case(op, v, [A], [A], label="one input") for op in ("Max", "Min") for v in (1, 6, 8, 12, 13)),
    *(Case(op, 1, [A, A], [A], {"consumed_inputs": [0, 0]}, "consumed") for op in ("Max", "Min")),
    *(Case(op, 13, [np.array([NAN, 1, NAN], F), np.array([1, NAN, NAN], F)], [np.full(3, NAN, F)], label="NaN")
      for op in ("Max", "Min")),
    Case("Max", 8, [COLUMN, A], [np.array([[3, 2, 2], [3, 3, 3]], F)], label="broadcast"),
    Case("Min", 8, [COLUMN, A], [np.array([[2, 2, 1], [3, 2, 1]], F)], label="broadcast"),
    Case("Max", 12, U64, [U64[0]], label="uint64"),
    Case("Min", 12, U64, [U64[1]], label="uint64"),
    Case("Max", 12, [np.array([-5, 3], I64), np.array([-7, 4], I64)], [np.array([-5, 4], I64)], label="int64"),
    Case("Min", 12, [np.array([5, 3], U8), np.array(4, U8)], [np.array([4, 3], U8)], label="uint8"),
    Case("Max", 13, [np.array([1.5, -2], BF), np.array([1, -3], BF)], [np.array([1.5, -2], BF)], label="bfloat16"),
    Case("Min", 13, [np.array([1.5, -2], H), np.array([1, -3], H)], [np.array([1, -3], H)], label="float16"),
    Case("Min", 13, [np.zeros((0, 2), F), np.zeros(1, F)], [np.zeros((0, 2), F)], label="empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("version", [1, 6])
def test_the_first_versions_want_one_shape(op: str, version: int) -> None:
    with pytest.raises(EvaluationError, match=r"all inputs must have the same shape; got \[2, 1\] and \[3\]"):
        assert_case(Case(op, version, [COLUMN, A], [A]))
