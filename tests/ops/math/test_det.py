import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)
from sardonyx._src.ir import TensorType

X = f32([[1, 2], [3, 4]])
STACK = np.stack([X, X[::-1], 2 * X, np.zeros((2, 2), np.float32)])

CASES = [
    *(Case("Det", v, [X], [f32(-2)]) for v in (11, 22)),
    *(Case("Det", v, [STACK], [f32([-2, 2, -8, 0])], label="batch") for v in (11, 22)),
    Case("Det", 22, [STACK.reshape(2, 2, 2, 2)], [f32([[-2, 2], [-8, 0]])], label="batch of batches"),
    Case("Det", 22, [f32([[7]])], [f32(7)], label="one element"),
    Case("Det", 22, [np.zeros((3, 0, 0), np.float32)], [f32([1, 1, 1])], label="no rows"),
    Case("Det", 22, [np.zeros((0, 2, 2), np.float32)], [f32([])], label="no matrices"),
    Case("Det", 22, [f32([[2, 0, 1], [1, 3, 2], [1, 1, 4]])], [f32(18)], label="three rows"),
    Case("Det", 22, [f32([[np.nan, 1], [1, 1]])], [f32(np.nan)], label="nan"),
    Case("Det", 11, [X.astype(np.float64)], [np.array(-2.0)], label="double"),
    Case("Det", 11, [X.astype(np.float16)], [np.array(-2, np.float16)], label="float16"),
    Case("Det", 22, [X.astype(ml_dtypes.bfloat16)], [np.array(-2, ml_dtypes.bfloat16)], label="bfloat16"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_what_is_no_square_matrix_is_refused() -> None:
    assert_refused(
        Case("Det", 22, [X[:1]], [X]),
        r"the input must hold square matrices \[\.\.\., n, n\]; got shape \[1, 2\]",
    )
    assert_refused(Case("Det", 11, [X[0]], [X]), r"shape \[2\]")


def test_the_batch_stays() -> None:
    assert infer_shape(make_inference("Det", 22, [floats(N, 3, M, M)])) == (N, 3)
    assert infer_shape(make_inference("Det", 22, [floats(N, M)])) == ()
    assert infer_shape(make_inference("Det", 11, [TensorType(FLOAT)])) is None
    assert_contradiction(
        make_inference("Det", 11, [floats(N, 2, 3)]), "rows and columns contradict each other: sizes 2 and 3"
    )
    assert_contradiction(make_inference("Det", 11, [floats(N)]), "rank 1")
