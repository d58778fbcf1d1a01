import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    infer_shape,
    make_inference,
)
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference

R = symbol("R")
X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
BF = ml_dtypes.bfloat16


def roi(*entries: float) -> Array:
    return f32([entries])


def size(height: int, width: int) -> dict[str, object]:
    return {"pooled_shape": [height, width]}


CASES = [
    *(Case("MaxRoiPool", v, [X, roi(0, 0, 0, 3, 3)], [f32([[[[5, 7], [13, 15]]]])], size(2, 2), "even bins") for v in (1, 22)),
    *(Case("MaxRoiPool", v, [X, roi(0, 0, 0, 3, 3)], [f32([[[[5, 6, 7], [9, 10, 11], [13, 14, 15]]]])], size(3, 3), "bins that overlap") for v in (1, 22)),
    *(Case("MaxRoiPool", v, [X, roi(0, 1, 2, 2, 3)], [f32([[[[14]]]])], size(1, 1), "both corners belong to it") for v in (1, 22)),
    Case("MaxRoiPool", 1, [X, roi(0, 2, 4, 4, 6)], [f32([[[[14]]]])], {**size(1, 1), "spatial_scale": 0.5}),
    Case("MaxRoiPool", 1, [X, roi(0, 0.5, 0.5, 1.25, 1.25)], [f32([[[[5]]]])], size(1, 1), "halves are rounded up"),
    Case("MaxRoiPool", 1, [-X, roi(0, -0.5, 0, 0, 0)], [f32([[[[0, 0]]]])], size(1, 2), "and away from zero below it"),
    Case("MaxRoiPool", 1, [X, roi(0, 2, 2, 0, 0)], [f32([[[[10]]]])], size(1, 1), "at least one pixel wide"),
    Case("MaxRoiPool", 1, [X, roi(0, 1, 1, 1, 1)], [f32([[[[5, 5], [5, 5]]]])], size(2, 2), "more bins than pixels"),
    Case("MaxRoiPool", 1, [-1 - X, roi(0, 3, 0, 6, 0)], [f32([[[[-4, 0]]]])], size(1, 2), "an empty bin gives 0"),
    Case("MaxRoiPool", 1, [-1 - X, roi(0, 9, 9, 9, 9)], [f32([[[[0]]]])], size(1, 1), "outside"),
    Case("MaxRoiPool", 1, [X, roi(0, -9, -9, 9, 0)], [f32([[[[3]]]])], size(1, 1), "cut at the image"),
    Case("MaxRoiPool", 1, [np.concatenate([X, X + 100]), f32([[1, 0, 0, 1, 0], [0, 0, 0, 0, 1]])], [f32([[[[101]]], [[[4]]]])], size(1, 1), "each its image"),
    Case("MaxRoiPool", 1, [np.concatenate([X, -X], 1), roi(0, 0, 0, 1, 1)], [f32([[[[5]], [[0]]]])], size(1, 1), "channels"),
    Case("MaxRoiPool", 1, [X, np.zeros((0, 5), np.float32)], [np.zeros((0, 1, 2, 3), np.float32)], size(2, 3), "no regions"),
    Case("MaxRoiPool", 1, [np.zeros((1, 1, 0, 0), np.float32), roi(0, 0, 0, 1, 1)], [f32([[[[0]]]])], size(1, 1), "no pixels"),
    Case("MaxRoiPool", 1, [f32([[[[-np.inf, np.nan]]]]), f32([[0, 0, 0, 0, 0], [0, 0, 0, 1, 0]])], [f32([[[[-np.inf]]], [[[np.nan]]]])], size(1, 1), "NaN and infinity"),
    Case("MaxRoiPool", 1, [X.astype(np.float16), roi(0, 0, 0, 1, 1).astype(np.float16)], [np.array([[[[5]]]], np.float16)], size(1, 1)),
    Case("MaxRoiPool", 1, [X.astype(np.float64), roi(0, 0, 0, 1, 1).astype(np.float64)], [np.array([[[[5.0]]]])], size(1, 1)),
    Case("MaxRoiPool", 22, [X.astype(BF), roi(0, 0, 0, 1, 1).astype(BF)], [np.array([[[[5]]]], BF)], size(1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("MaxRoiPool", 1, [X, roi(1, 0, 0, 1, 1)], [...], size(1, 1)),
            r"rois must be finite and name images in \[0, 1\)",
        ),
        (
            Case("MaxRoiPool", 1, [X, roi(-1, 0, 0, 1, 1)], [...], size(1, 1)),
            r"rois must be finite and name images in \[0, 1\)",
        ),
        (
            Case("MaxRoiPool", 1, [X, roi(0, 0, 0, 1, np.nan)], [...], size(1, 1)),
            r"rois must be finite and name images in \[0, 1\)",
        ),
        (
            Case("MaxRoiPool", 1, [X, roi(0, 0, 1, 1)], [...], size(1, 1)),
            r"X and rois must .*; got \[1, 1, 4, 4\], \[1, 4\] and pooled_shape \[1, 1\]",
        ),
        (
            Case("MaxRoiPool", 1, [X[0], roi(0, 0, 0, 1, 1)], [...], size(1, 1)),
            r"X and rois must .*; got \[1, 4, 4\], \[1, 5\] and pooled_shape \[1, 1\]",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    assert_too_large(Case("MaxRoiPool", 1, [X, roi(0, 0, 0, 1, 1)], [...], size(1 << 20, 1 << 20)))


def test_inference() -> None:
    assert infer_shape(
        make_inference("MaxRoiPool", 22, [floats(N, 3, None, None), floats(R, 5)], pooled_shape=(7, 5))
    ) == (
        R,
        3,
        7,
        5,
    )
    assert infer_shape(make_inference("MaxRoiPool", 1, [TensorType(FLOAT), None], pooled_shape=(7, 5))) == (
        None,
        None,
        7,
        5,
    )


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("MaxRoiPool", 1, [floats(1, 3, 4), None], pooled_shape=(1, 1)),
            "input 0 must have rank 4; got rank 3",
        ),
        (
            make_inference("MaxRoiPool", 1, [None, floats(R, 4)], pooled_shape=(1, 1)),
            "rois must have 5 entries, the image and two corners; got 4",
        ),
        (make_inference("MaxRoiPool", 1, [None, None], pooled_shape=(1,)), "a height and a width"),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)
