import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, H, I8, I64, U8 = np.float32, np.float16, np.int8, np.int64, np.uint8
BF = ml_dtypes.bfloat16
X = np.array([-1.5, 0, 2, -np.inf, np.nan], F)
SIZES = np.array([1.5, 0, 2, np.inf, np.nan], F)
OPPOSITES = np.array([1.5, 0, -2, np.inf, np.nan], F)

CASES = [
    *(Case("Abs", v, [X], [SIZES]) for v in (1, 6, 13)),
    *(Case("Neg", v, [X], [OPPOSITES]) for v in (1, 6, 13)),
    Case("Abs", 1, [X], [SIZES], {"consumed_inputs": [1]}, "consumed"),
    Case("Neg", 1, [X], [OPPOSITES], {"consumed_inputs": [1]}, "consumed"),
    Case("Abs", 6, [np.array([-128, -3, 3], I8)], [np.array([-128, 3, 3], I8)], label="least wraps"),
    Case("Abs", 6, [np.array([200], U8)], [np.array([200], U8)], label="unsigned"),
    Case("Neg", 6, [np.array([-128, -3, 3], I8)], [np.array([-128, 3, -3], I8)], label="least wraps"),
    Case("Abs", 13, [np.array([-1.5, 2], BF)], [np.array([1.5, 2], BF)], label="bfloat16"),
    Case("Neg", 13, [np.array([-1.5, 2], BF)], [np.array([1.5, -2], BF)], label="bfloat16"),
    Case("Abs", 13, [np.array(-3, I64)], [np.array(3, I64)], label="scalar"),
    Case("Sign", 9, [X], [np.array([-1, 0, 1, -1, np.nan], F)]),
    Case("Sign", 9, [np.array([-128, 0, 5], I8)], [np.array([-1, 0, 1], I8)]),
    Case("Sign", 9, [np.array([0, 255], U8)], [np.array([0, 1], U8)], label="unsigned"),
    Case("Sign", 13, [np.array([-0.5, 0, 3], BF)], [np.array([-1, 0, 1], BF)]),
    Case("Sign", 13, [np.array([-0.5, 0, 3], H)], [np.array([-1, 0, 1], H)], label="float16"),
    Case("Sign", 13, [np.zeros((0, 3), F)], [np.zeros((0, 3), F)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
