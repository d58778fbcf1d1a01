import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)
from sardonyx._src.ir import TensorType

X = f32([[[[1, -2], [3, 6]], [[0, 0], [-4, 0]]]])
EMPTY = np.zeros((1, 2, 0), np.float32)
BF = ml_dtypes.bfloat16

CASES = [
    *(Case("GlobalAveragePool", v, [X], [f32([[[[2]], [[-1]]]])]) for v in (1, 22)),
    *(Case("GlobalMaxPool", v, [X], [f32([[[[6]], [[0]]]])]) for v in (1, 22)),
    *(Case("GlobalLpPool", v, [X], [f32([[[[50**0.5]], [[4]]]])], label="p is 2") for v in (1, 2, 22)),
    Case("GlobalLpPool", 1, [X], [f32([[[[12]], [[4]]]])], {"p": 1.0}),
    Case("GlobalLpPool", 2, [X], [f32([[[[252 ** (1 / 3)]], [[4]]]])], {"p": 3}),
    Case(
        "GlobalAveragePool",
        22,
        [X[0]],
        [f32([[[-0.5], [4.5]], [[0], [-2]]]).reshape(2, 2, 1)],
        label="one axis",
    ),
    Case("GlobalAveragePool", 22, [X[..., None]], [f32([2, -1]).reshape(1, 2, 1, 1, 1)], label="three axes"),
    Case("GlobalMaxPool", 22, [f32([[1, 2]])], [f32([[1, 2]])], label="no axis"),
    Case("GlobalAveragePool", 22, [EMPTY], [f32([[[np.nan], [np.nan]]])], label="nothing to count"),
    Case("GlobalMaxPool", 22, [EMPTY], [f32([[[-np.inf], [-np.inf]]])], label="nothing to choose from"),
    Case("GlobalLpPool", 22, [EMPTY], [f32([[[0], [0]]])], label="nothing to add"),
    Case("GlobalMaxPool", 22, [f32([[[1, np.nan]]])], [f32([[[np.nan]]])], label="NaN"),
    Case(
        "GlobalAveragePool", 1, [np.full((1, 1, 8), 60000, np.float16)], [np.array([[[60000]]], np.float16)]
    ),
    Case("GlobalMaxPool", 22, [X.astype(BF)], [np.array([[[[6]], [[0]]]], BF)]),
    Case("GlobalLpPool", 22, [f32([[[3, 4]]]).astype(BF)], [np.array([[[5]]], BF)]),
    Case("GlobalAveragePool", 22, [np.array([[[1.0, 2.0]]])], [np.array([[[1.5]]])]),
    Case("GlobalAveragePool", 22, [np.zeros((0, 3, 2), np.float32)], [np.zeros((0, 3, 1), np.float32)]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_a_vector_is_refused(op: str) -> None:
    assert_refused(Case(op, 22, [f32([1, 2])], [...]), "rank 1")
    assert_contradiction(make_inference(op, 22, [floats(3)]), "rank 1")


def test_spatial_axes_become_one() -> None:
    assert infer_shape(make_inference("GlobalMaxPool", 22, [floats(N, 3, None, N)])) == (N, 3, 1, 1)
    assert infer_shape(make_inference("GlobalMaxPool", 22, [TensorType(FLOAT)])) is None
