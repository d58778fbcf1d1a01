import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.math.mod import evaluate

F, I8, I64, U8 = np.float32, np.int8, np.int64, np.uint8
BF, H = ml_dtypes.bfloat16, np.float16
INF, NAN = np.inf, np.nan
A = np.array([-4, 7, 5, 4, -7, 8], I64)
B = np.array([2, -3, 8, -2, 3, 5], I64)
FLOORED = np.array([0, -2, 5, 0, 2, 3], I64)  # the sign of B
TRUNCATED = np.array([0, 1, 5, 0, -1, 3], I64)  # the sign of A
TRUNC = {"fmod": 1}

CASES = [
    Case("Mod", 28, [A, B], [FLOORED]),
    Case("Mod", 28, [A, B], [TRUNCATED], TRUNC),
    Case("Mod", 28, [np.array([-4.5, 7.5], F), np.array([2, -2], F)], [np.array([1.5, -0.5], F)], label="floats"),
    Case("Mod", 28, [np.array([-4.5, 7.5], F), np.array([2, -2], F)], [np.array([-0.5, 1.5], F)], TRUNC, "floats"),
    Case("Mod", 28, [np.array([-4.5], H), np.array([2], H)], [np.array([1.5], H)], label="float16"),
    Case("Mod", 28, [np.array([-4.5], BF), np.array([2], BF)], [np.array([1.5], BF)], label="bfloat16"),
    Case("Mod", 28, [np.array([INF, -INF, 1, NAN, 1], F), np.array([2, 2, 0, 1, NAN], F)], [np.full(5, NAN, F)]),
    Case("Mod", 28, [np.array([1, -1, 1, -1], F), np.array([INF, INF, -INF, -INF], F)],
         [np.array([1, INF, -INF, -1], F)], label="infinite divisors"),
    Case("Mod", 28, [np.array([1, -1], F), np.array([INF, INF], F)], [np.array([1, -1], F)], TRUNC),
    Case("Mod", 28, [np.array([[5], [6]], U8), np.array([4, 3], U8)], [np.array([[1, 2], [2, 0]], U8)]),
    Case("Mod", 13, [A, B], [FLOORED]),
    Case("Mod", 13, [np.array([-4.3, 5.5]), np.array([2.1, -4.5])], [np.array([-0.1, 1.0])], TRUNC),
    Case("Mod", 13, [np.array([-5], BF), np.array([3], BF)], [np.array([-2], BF)], TRUNC),
    Case("Mod", 10, [A, B], [FLOORED]),
    Case("Mod", 10, [A, B], [TRUNCATED], TRUNC),
    Case("Mod", 10, [np.array([INF, 1, 1], F), np.array([2, 0, INF], F)], [np.array([NAN, NAN, 1], F)], TRUNC),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("fmod", [0, 1])
def test_every_pair_of_int8(fmod: int) -> None:
    pairs = list(itertools.product(range(-128, 128), [n for n in range(-128, 128) if n]))
    a, b = np.array(pairs, I8).T
    left = [int(math.fmod(x, y)) if fmod else x % y for x, y in pairs]
    assert_case(Case("Mod", 28, [a, b], [np.array(left, I8)], {"fmod": fmod}))


@pytest.mark.parametrize("version", [10, 13])
def test_floats_without_fmod_are_rounded_down_as_in_28(version: int) -> None:
    assert_case(Case("Mod", version, [np.array([-4.5], F), np.array([2.0], F)], [np.array([1.5], F)]))


def test_zero_has_the_sign_of_the_divisor() -> None:
    zeros = np.array([0.0, -0.0, 0.0, -0.0])
    case = Case("Mod", 28, [zeros, np.array([3.0, 3.0, -3.0, -3.0])], [np.array([0.0, 0.0, -0.0, -0.0])])
    assert_case(case)
    result = evaluate(zeros, np.array([3.0, 3.0, -3.0, -3.0]), fmod=0)
    assert np.signbit(result).tolist() == [False, False, True, True]


def test_integers_divided_by_zero_are_refused() -> None:
    with pytest.raises(EvaluationError, match=r"an integer divisor must not be 0; got B = 0 at \[0\]"):
        assert_case(Case("Mod", 28, [np.ones(1, I64), np.zeros(1, I64)], [np.zeros(1, I64)]))
