import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from sardonyx._src.ops.math.error_function import erf

F, D, H, I64, U8 = np.float32, np.float64, np.float16, np.int64, np.uint8
BF = ml_dtypes.bfloat16
X = [0, 0.5, 1, 2, -1, np.inf, -np.inf, np.nan]
Y = [
    0,
    0.520499877813046538,
    0.842700792949714869,
    0.995322265018952734,
    -0.842700792949714869,
    1,
    -1,
    np.nan,
]

CASES = [
    *(Case("Erf", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for v in (9, 13) for t in (F, D, H)),
    Case("Erf", 13, [np.array(X[:7], BF)], [np.array(Y[:7], BF)], label="bfloat16"),
    Case("Erf", 13, [np.array(0.5, F)], [np.array(Y[1], F)], label="scalar"),
    Case("Erf", 13, [np.zeros((0, 2), F)], [np.zeros((0, 2), F)], label="empty"),
    Case("Erf", 9, [np.array([0, 1, 5, 6, -5, -6], I64)], [np.array([0, 0, 0, 1, 0, -1], I64)], label="integers"),
    Case("Erf", 9, [np.array([0, 5, 200], U8)], [np.array([0, 0, 1], U8)], label="unsigned"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def assert_near(x: list[float]) -> None:
    """Asserts the error bound of the module, plus one unit in the last place for the rounding of math.erf."""
    expected = np.array([math.erf(value) for value in x])
    error = np.abs(erf(np.array(x)) - expected)
    unit = np.spacing(np.abs(expected))
    assert np.all(error <= 2e-16 + unit)
    assert np.all(error <= 3e-16 * np.abs(expected) + unit)


def test_every_part_of_the_line_agrees_with_the_c_library() -> None:
    assert_near(np.linspace(-7, 7, 20_001).tolist())


@given(st.floats(-40, 40, allow_nan=False))
def test_any_number_agrees_with_the_c_library(x: float) -> None:
    assert_near([x])


def test_zeros_keep_their_sign() -> None:
    assert np.signbit(erf(np.array([0.0, -0.0]))).tolist() == [False, True]
