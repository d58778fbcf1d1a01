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

X = f32([[3, -4], [0, 0], [6, 8]])
ROWS1 = f32([[3 / 7, -4 / 7], [0, 0], [6 / 14, 8 / 14]])
ROWS2 = f32([[0.6, -0.8], [0, 0], [0.6, 0.8]])
COLUMNS1 = f32([[3 / 9, -4 / 12], [0, 0], [6 / 9, 8 / 12]])

CASES = [
    *(Case("LpNormalization", v, [X], [ROWS2]) for v in (1, 22)),
    *(Case("LpNormalization", v, [X], [ROWS1], {"p": 1}) for v in (1, 22)),
    *(Case("LpNormalization", v, [X], [COLUMNS1], {"p": 1, "axis": 0}) for v in (1, 22)),
    Case("LpNormalization", 22, [X[:, None]], [ROWS2[:, None]], {"axis": -1}, "three axes"),
    Case("LpNormalization", 22, [f32([[], []])], [f32([[], []])], label="empty"),
    Case("LpNormalization", 22, [f32([3e38, -4e38 / 2])], [f32([0.8320503, -0.5547002])], label="squares beyond float32"),
    Case("LpNormalization", 22, [f32([3e38, 3e38])], [f32([0.5, 0.5])], {"p": 1}, "sum beyond float32"),
    Case("LpNormalization", 22, [f32([3e-30, 4e-30])], [f32([0.6, 0.8])], label="squares below float32"),
    Case("LpNormalization", 22, [f32([1, np.inf])], [f32([0, np.nan])], label="infinity"),
    Case("LpNormalization", 22, [f32([1, np.nan])], [f32([np.nan, np.nan])], label="nan"),
    *(Case("LpNormalization", 22, [X.astype(d)], [ROWS2.astype(d)], label=np.dtype(d).name) for d in (np.float16, ml_dtypes.bfloat16)),
    Case("LpNormalization", 1, [X.astype(np.float64)], [np.array([[0.6, -0.8], [0, 0], [0.6, 0.8]])], label="double"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_other_norms_and_axes_are_refused() -> None:
    assert_refused(Case("LpNormalization", 22, [X], [X], {"axis": 2}), "axis 2 lies outside")


def test_shape_is_kept_and_attributes_are_checked() -> None:
    assert infer_shape(make_inference("LpNormalization", 22, [floats(N, M)])) == (N, M)
    assert_contradiction(make_inference("LpNormalization", 22, [floats(N, M)], axis=-3), "axis -3")
    assert_contradiction(
        make_inference("LpNormalization", 22, [floats(N, M)], p=0), "p must be 1 or 2; got 0"
    )
