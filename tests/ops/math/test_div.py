import itertools

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

F, I8, I32, I64, U8 = np.float32, np.int8, np.int32, np.int64, np.uint8
BF = ml_dtypes.bfloat16
SIGNS = [np.array([7, -7, 7, -7, 6, -6]), np.array([2, 2, -2, -2, 3, 3])]
TOWARD_ZERO = np.array([3, -3, -3, 3, 2, -2])

CASES = [
    Case("Div", 14, [np.array([7, -7], I8), np.array([2, 2], I8)], [np.array([3, -3], I8)], label="toward zero"),
    Case("Div", 14, [np.array([-128], I8), np.array([-1], I8)], [np.array([-128], I8)], label="wraps"),
    Case("Div", 14, [np.array([255, 200], U8), np.array([2, 201], U8)], [np.array([127, 0], U8)], label="unsigned"),
    Case("Div", 14, [np.array([1, 0, -1, 1], F), np.array([0, 0, 0, -0.0], F)],
         [np.array([np.inf, np.nan, -np.inf, -np.inf], F)], label="zeros"),
    Case("Div", 13, [np.array([1], BF), np.array([3], BF)], [np.array([0.333984375], BF)], label="rounded once"),
    Case("Div", 13, SIGNS, [TOWARD_ZERO]),
    Case("Div", 7, SIGNS, [TOWARD_ZERO]),
    Case("Div", 7, [np.array([[1], [2]], F), np.array([4, 8], F)], [np.array([[0.25, 0.125], [0.5, 0.25]], F)]),
    Case("Div", 6, SIGNS, [TOWARD_ZERO]),
    Case("Div", 6, [np.array([[8, 9], [10, 11]], I32), np.array([2, 5], I32)],
         [np.array([[4, 4], [2, 2]], I32)], {"broadcast": 1, "axis": 0}, "axis"),
    Case("Div", 1, [np.array([[3, 5]], F), np.array(2, F)], [np.array([[1.5, 2.5]], F)], {"broadcast": 1}),
    Case("Div", 1, [np.array([3.0]), np.array([4.0])], [np.array([0.75])], {"consumed_inputs": [0, 0]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_pair_of_int8_is_rounded_toward_zero() -> None:
    pairs = list(itertools.product(range(-128, 128), [n for n in range(-128, 128) if n]))
    a, b = np.array(pairs, I8).T
    quotients = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    assert_case(Case("Div", 14, [a, b], [np.array(quotients, I64).astype(I8)]))


@pytest.mark.parametrize("dtype", [I32, U8])
def test_integers_divided_by_zero_are_refused(dtype: type[np.generic]) -> None:
    with pytest.raises(EvaluationError, match=r"an integer divisor must not be 0; got B = 0 at \[1\]"):
        assert_case(Case("Div", 14, [np.array([1, 2], dtype), np.array([1, 0], dtype)], [np.zeros(2, dtype)]))
