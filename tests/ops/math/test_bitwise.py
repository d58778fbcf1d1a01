import numpy as np
import pytest

from cases import Case, assert_case

I8, U8, I64 = np.int8, np.uint8, np.int64
A = np.array([0b1100, 0b1010], U8)
B = np.array([0b1010, 0b0110], U8)

CASES = [
    Case("BitwiseAnd", 18, [A, B], [np.array([0b1000, 0b0010], U8)]),
    Case("BitwiseOr", 18, [A, B], [np.array([0b1110, 0b1110], U8)]),
    Case("BitwiseXor", 18, [A, B], [np.array([0b0110, 0b1100], U8)]),
    Case("BitwiseAnd", 18, [np.array([-1, -2], I64), np.array(5)], [np.array([5, 4], I64)], label="signed"),
    Case("BitwiseOr", 18, [np.array([[1], [2]], I8), np.array([-8], I8)], [np.array([[-7], [-6]], I8)]),
    Case("BitwiseXor", 18, [np.array([-1], I8), np.array([[1], [-1]], I8)], [np.array([[-2], [0]], I8)]),
    Case("BitwiseNot", 18, [np.array([0, 5, -1], I8)], [np.array([-1, -6, 0], I8)]),
    Case("BitwiseNot", 18, [np.array([0, 5, 255], U8)], [np.array([255, 250, 0], U8)], label="unsigned"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
