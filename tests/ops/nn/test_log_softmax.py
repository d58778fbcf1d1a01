import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)

ROW = f32([[1, 2, 3]])
PART = f32([[-2.4076060, -1.4076060, -0.4076060]])  # k - 3 - log(1 + 1/e + 1/e^2)
CUBE = np.zeros((2, 2, 2), np.float32)
LOG2, LOG4 = np.log(np.float32(2)), np.log(np.float32(4))

CASES = [
    *(Case("LogSoftmax", v, [ROW], [PART]) for v in (1, 11, 13)),
    Case("LogSoftmax", 13, [ROW.T], [PART.T], {"axis": 0}),
    Case("LogSoftmax", 13, [CUBE], [CUBE - LOG2], {"axis": 1}, "one axis alone"),
    Case("LogSoftmax", 13, [f32([1000, 1000, 0])], [f32([-LOG2, -LOG2, -1000 - LOG2])], label="no overflow"),
    Case("LogSoftmax", 13, [f32([0, -np.inf])], [f32([0, -np.inf])], label="infinitely unlikely"),
    Case("LogSoftmax", 13, [f32([0, np.nan])], [f32([np.nan, np.nan])], label="nan"),
    Case("LogSoftmax", 13, [f32([[], []])], [f32([[], []])], label="empty"),
    Case("LogSoftmax", 13, [np.zeros(4)], [np.full(4, -1.3862943611198906)], label="double"),
    Case("LogSoftmax", 13, [np.zeros(2, np.float16)], [np.full(2, -LOG2, np.float16)], label="float16"),
    Case("LogSoftmax", 13, [np.zeros(2, ml_dtypes.bfloat16)], [np.full(2, -LOG2, ml_dtypes.bfloat16)], label="bfloat16"),
    Case("LogSoftmax", 11, [CUBE], [CUBE - LOG4], {"axis": 1}, "rows from axis on"),
    Case("LogSoftmax", 11, [CUBE], [CUBE - LOG4], {"axis": -2}, "negative axis"),
    Case("LogSoftmax", 1, [CUBE], [CUBE - LOG4], label="axis 1 by default"),
    Case("LogSoftmax", 1, [CUBE[0, 0]], [f32([0, 0])], label="each element is a row after the last axis"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_axis_outside_of_the_rank_is_refused() -> None:
    assert_refused(Case("LogSoftmax", 13, [ROW], [PART], {"axis": 2}), "axis 2 lies outside of rank 2")
    assert_refused(Case("LogSoftmax", 13, [f32(1)], [f32(0)]), "outside of rank 0")
    assert_refused(Case("LogSoftmax", 11, [ROW[0]], [PART]), "axis 1 lies outside of rank 1")
    assert_refused(Case("LogSoftmax", 1, [ROW], [PART], {"axis": 3}), r"axis must be in \[-2, 2\]; got 3")


def test_shape_is_kept_and_the_axis_is_checked() -> None:
    assert infer_shape(make_inference("LogSoftmax", 13, [floats(N, M)])) == (N, M)
    assert_contradiction(make_inference("LogSoftmax", 13, [floats(N)], axis=1), "axis 1")
    assert_contradiction(make_inference("LogSoftmax", 11, [floats(N)]), "axis 1")
    assert infer_shape(make_inference("LogSoftmax", 1, [floats(N)])) == (N,)
