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

X = f32([[3, 0, 1, 2], [2, 5, 1, 0], [0, 1, 3, 2], [0, 1, 2, 3]])
MARKS = f32([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
CUBE = f32([[[1, 2], [3, 3]], [[-1, -2], [-3, -4]]])

CASES = [
    *(Case("Hardmax", v, [X], [MARKS]) for v in (1, 11, 13)),
    Case("Hardmax", 13, [X.T], [MARKS], {"axis": 0}),
    Case("Hardmax", 13, [CUBE], [f32([[[0, 0], [1, 1]], [[1, 1], [0, 0]]])], {"axis": 1}, "one axis alone"),
    Case(
        "Hardmax", 11, [CUBE], [f32([[[0, 0], [1, 0]], [[1, 0], [0, 0]]])], {"axis": 1}, "rows from axis on"
    ),
    Case("Hardmax", 11, [CUBE], [f32([[[0, 0], [1, 0]], [[1, 0], [0, 0]]])], {"axis": -2}, "negative axis"),
    Case("Hardmax", 1, [CUBE], [f32([[[0, 0], [1, 0]], [[0, 0], [0, 0]]])], {"axis": 0}, "one row"),
    Case("Hardmax", 13, [f32([1, 3, 3])], [f32([0, 1, 0])], label="the first of equals"),
    Case("Hardmax", 13, [f32([-np.inf, -np.inf])], [f32([1, 0])], label="nothing but minus infinity"),
    Case("Hardmax", 13, [f32([1, np.nan, np.inf])], [f32([0, 1, 0])], label="nan is above all"),
    Case("Hardmax", 13, [f32([[], []])], [f32([[], []])], label="empty"),
    *(
        Case("Hardmax", 13, [X.astype(d)], [MARKS.astype(d)], label=np.dtype(d).name)
        for d in (np.float64, np.float16, ml_dtypes.bfloat16)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_axis_outside_of_the_rank_is_refused() -> None:
    assert_refused(Case("Hardmax", 13, [X], [X], {"axis": -3}), "axis -3 lies outside of rank 2")
    assert_refused(Case("Hardmax", 11, [X[0]], [X]), "axis 1 lies outside of rank 1")
    assert_case(Case("Hardmax", 1, [X[0]], [X[0] * 0 + 1], label="each element is a row"))


def test_shape_is_kept_and_the_axis_is_checked() -> None:
    assert infer_shape(make_inference("Hardmax", 13, [floats(N, M)])) == (N, M)
    assert_contradiction(make_inference("Hardmax", 13, [floats(N)], axis=1), "axis 1")
