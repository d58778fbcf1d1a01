import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.ir import Array

F, I32, I64, U64 = np.float32, np.int32, np.int64, np.uint64
BF = ml_dtypes.bfloat16
OPERATORS = {"Equal": (1, 7, 11, 13, 19), "Greater": (1, 7, 9, 13), "Less": (1, 7, 9, 13),
             "GreaterOrEqual": (12, 16), "LessOrEqual": (12, 16)}  # fmt: skip
LOW_SAME_HIGH = {
    "Equal": [False, True, False],
    "Greater": [False, False, True],
    "Less": [True, False, False],
    "GreaterOrEqual": [False, True, True],
    "LessOrEqual": [True, True, False],
}
GRID = np.array([[1, 2], [3, 2]])
AGAINST_ROWS = {  # GRID with 2 for the first row and 3 for the second
    "Equal": np.array([[False, True], [True, False]]),
    "Greater": np.array([[False, False], [False, False]]),
    "Less": np.array([[True, False], [False, True]]),
}


def kinds(op: str, version: int) -> list[type[np.generic]]:
    """Element types that are new in a version, or the oldest ones."""
    if op == "Equal" and version < 11:
        return [I32, I64]
    return (
        [F] if version == 7 or version == 1 else [F, np.int8, U64, *([BF] if version in (13, 16, 19) else [])]
    )


def pair(dtype: type[np.generic]) -> list[Array]:
    return [np.array([1, 2, 3]).astype(dtype), np.array(2).astype(dtype)]


CASES = [
    *(Case(op, version, pair(dtype), [np.array(LOW_SAME_HIGH[op])], {"broadcast": 1} if version == 1 else {},
           np.dtype(dtype).name)
      for op, versions in OPERATORS.items() for version in versions for dtype in kinds(op, version)),
    *(Case(op, 1, [GRID.astype(I32 if op == "Equal" else F), np.array([2, 3], I32 if op == "Equal" else F)],
           [expected], {"broadcast": 1, "axis": 0}, "axis") for op, expected in AGAINST_ROWS.items()),
    *(Case(op, versions[-1], [np.array([np.nan, 1], F), np.array([np.nan, np.nan], F)],
           [np.array([False, False])], label="NaN") for op, versions in OPERATORS.items()),
    *(Case(op, versions[-1], [np.zeros((2, 0), F), np.ones(1, F)], [np.zeros((2, 0), np.bool_)], label="empty")
      for op, versions in OPERATORS.items()),
    Case("Equal", 1, [np.array([True, False]), np.array([True, True])], [np.array([True, False])], label="bool"),
    Case("Equal", 7, [np.array([[1], [2]]), np.array([1, 2])], [np.array([[True, False], [False, True]])]),
    Case("Equal", 19, [np.array(["a", "", "é"], object), np.array(["a", "b", "é"], object)],
         [np.array([True, False, True])], label="strings"),
    Case("Equal", 19, [np.array("a", object), np.array(["a", "A"], object)], [np.array([True, False])]),
    Case("Equal", 13, [np.array([0.0, np.inf]), np.array([-0.0, np.inf])], [np.array([True, True])], label="zeros"),
    Case("Greater", 9, [np.array([2**63 + 1], U64), np.array([2**63], U64)], [np.array([True])], label="uint64"),
    Case("Less", 9, [np.array([2**53], I64), np.array([2**53 + 1], I64)], [np.array([True])], label="int64"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
