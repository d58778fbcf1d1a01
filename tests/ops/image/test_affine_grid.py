import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    make_inference,
    vec,
)
from sardonyx._src.ir.dims import symbol

H, W = symbol("H"), symbol("W")
SAME = f32([[[1, 0, 0], [0, 1, 0]]])
SQUARE = i64([1, 1, 2, 2])
CENTERS = f32([[[[-0.5, -0.5], [0.5, -0.5]], [[-0.5, 0.5], [0.5, 0.5]]]])
TURNED = f32([[[0, -1, 0], [1, 0, 0]]])
MOVED = f32([[[2, 0, 10], [0, 3, 20]]])
SAME_3D = np.concatenate([np.eye(3, dtype=np.float32), np.zeros((3, 1), np.float32)], 1)[None]

CASES = [
    Case("AffineGrid", 20, [SAME, SQUARE], [CENTERS]),
    Case("AffineGrid", 20, [SAME, SQUARE], [CENTERS * 2], {"align_corners": 1}),
    Case("AffineGrid", 20, [SAME, i64([1, 5, 1, 4])], [f32([[[[-0.75, 0], [-0.25, 0], [0.25, 0], [0.75, 0]]]])], label="x is the last axis"),
    Case("AffineGrid", 20, [SAME, i64([1, 1, 2, 3])], [f32([[[[-1, -1], [0, -1], [1, -1]], [[-1, 1], [0, 1], [1, 1]]]])], {"align_corners": 1}),
    Case("AffineGrid", 20, [MOVED, SQUARE], [CENTERS * f32([2, 3]) + f32([10, 20])], label="scaled and moved"),
    Case("AffineGrid", 20, [TURNED, SQUARE], [f32([[[[0.5, -0.5], [0.5, 0.5]], [[-0.5, -0.5], [-0.5, 0.5]]]])], label="turned"),
    Case("AffineGrid", 20, [SAME_3D, i64([1, 1, 1, 1, 2])], [f32([[[[[-0.5, 0, 0], [0.5, 0, 0]]]]])], label="three axes"),
    Case("AffineGrid", 20, [np.concatenate([SAME, MOVED]), i64([2, 1, 2, 2])], [np.concatenate([CENTERS, CENTERS * f32([2, 3]) + f32([10, 20])])], label="a map each"),
    *(Case("AffineGrid", 20, [SAME.astype(d), SQUARE], [CENTERS.astype(d)]) for d in (np.float16, np.float64, ml_dtypes.bfloat16)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("AffineGrid", 20, [SAME, i64([1, 1, 2])], [...]),
            r"theta must .*; got theta \[1, 2, 3\] and size \[1, 1, 2\]",
        ),
        (
            Case("AffineGrid", 20, [SAME, i64([2, 1, 2, 2])], [...]),
            r"theta must .*; got theta \[1, 2, 3\] and size \[2, 1, 2, 2\]",
        ),
        (
            Case("AffineGrid", 20, [SAME, i64([1, 1, 1, 2, 2])], [...]),
            r"theta must .*; got theta \[1, 2, 3\] and size \[1, 1, 1, 2, 2\]",
        ),
        (
            Case("AffineGrid", 20, [SAME, i64([1, 1, -2, 2])], [...]),
            r"theta must .*; got theta \[1, 2, 3\] and size \[1, 1, -2, 2\]",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    assert_too_large(Case("AffineGrid", 20, [SAME, i64([1, 1, 1 << 20, 1 << 20])], [...]))


def test_inference() -> None:
    assert infer_shape(
        make_inference("AffineGrid", 20, [floats(None, None, None), None], {1: vec(N, 3, H, W)})
    ) == (
        N,
        H,
        W,
        2,
    )
    new = (symbol("new0"), symbol("new1"), symbol("new2"))
    assert infer_shape(make_inference("AffineGrid", 20, [floats(N, 3, 4), None])) == (N, *new, 3)
    assert infer_shape(make_inference("AffineGrid", 20, [floats(N, None, None), None])) is None
    assert_contradiction(
        make_inference("AffineGrid", 20, [floats(N, 2, 3), None], {1: vec(N, 3, 4, H, W)}), "theta and size"
    )
    assert_contradiction(
        make_inference("AffineGrid", 20, [floats(N, 4, 5), None]),
        "theta must map points of 2 or 3 coordinates; got 4",
    )
    assert_contradiction(make_inference("AffineGrid", 20, [floats(N, 2), None]), "rank 2")
    assert_contradiction(
        make_inference("AffineGrid", 20, [floats(N, 2, 3), None], {1: vec(1, 2, 3)}),
        "size must have 4 or 5 entries; got 3",
    )
