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
    i64,
    infer_shape,
    ints,
    make_inference,
)
from sardonyx._src.ir import TensorType

X = f32([1, 2, 3, 4, 5, 6]).reshape(1, 6, 1)
# Frames 1 2 3 4 and 3 4 5 6.
WHOLE = f32([[[10, 0], [-2, 2], [-2, 0], [-2, -2]], [[18, 0], [-2, 2], [-2, 0], [-2, -2]]])[None]
HALF = WHOLE[:, :, :3]
FOUR, STEP = i64(4), i64(2)
WINDOW = f32([0, 1, 1, 0])
WINDOWED = f32([[[5, 0], [-3, -2], [1, 0]], [[9, 0], [-5, -4], [1, 0]]])[None]  # of 0 2 3 0 and 0 4 5 0
COMPLEX = np.concatenate([X, -X], -1)
TURNED = np.stack([WHOLE[..., 0] + WHOLE[..., 1], WHOLE[..., 1] - WHOLE[..., 0]], -1)  # 1-i times WHOLE
TWICE = np.concatenate([X, 2 * X])

CASES = [
    Case("STFT", 17, [X, STEP, None, FOUR], [HALF]),
    Case("STFT", 17, [X, STEP, None, FOUR], [WHOLE], {"onesided": 0}),
    Case("STFT", 17, [X, STEP, f32([1, 1, 1, 1])], [HALF], label="length of the window"),
    Case("STFT", 17, [X, STEP, WINDOW], [WINDOWED], label="window"),
    Case("STFT", 17, [X, STEP, WINDOW, FOUR], [WINDOWED], label="window and length"),
    Case("STFT", 17, [X[:, :4], STEP], [HALF[:, :1]], label="one frame by default"),
    Case("STFT", 17, [X, i64([3]), None, i64([4])], [HALF[:, :1]], label="what is left over is left out"),
    Case("STFT", 17, [X, np.array(1, np.int32), None, np.array(6, np.int32)], [f32([[21, 0], [-3, 5.196152], [-3, 1.732051], [-3, 0]])[None, None]], label="int32"),
    Case("STFT", 17, [X, i64(9), None, i64(1)], [f32([[[[1, 0]]]])], label="frames of one element"),
    Case("STFT", 17, [TWICE, STEP, None, FOUR], [np.concatenate([HALF, 2 * HALF])], label="two signals"),
    Case("STFT", 17, [TWICE[:0], STEP, None, FOUR], [HALF[:0]], label="no signals"),
    Case("STFT", 17, [X[..., 0], STEP, None, FOUR], [HALF], label="signals without an axis of parts"),
    Case("STFT", 17, [TWICE[..., 0], STEP, None, FOUR], [np.concatenate([WHOLE, 2 * WHOLE])], {"onesided": 0}, "two signals of rank 2"),
    Case("STFT", 17, [f32([[1, 2]]), i64(1)], [f32([[[[3, 0], [-1, 0]]]])], label="two elements of rank 2"),
    Case("STFT", 17, [COMPLEX, STEP, None, FOUR], [TURNED], {"onesided": 0}, "complex"),
    *(Case("STFT", 17, [X.astype(d), STEP, WINDOW.astype(d)], [WINDOWED.astype(d)], label=np.dtype(d).name) for d in (np.float16, ml_dtypes.bfloat16, np.float64)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_what_does_not_fit_is_refused() -> None:
    assert_refused(
        Case("STFT", 17, [X[0, :, 0], STEP], [X]),
        r"the signal must be \[batch, n\] or \[batch, n, 1 or 2\]; got rank 1",
    )
    assert_refused(
        Case("STFT", 17, [np.concatenate([X, X, X], -1), STEP], [X]),
        r"the input must .*; got shape \[1, 6, 3\]",
    )
    assert_refused(Case("STFT", 17, [COMPLEX, STEP], [X]), "onesided must be 0 for a complex signal")
    assert_refused(Case("STFT", 17, [X, i64(0)], [X]), "frame_step must be >= 1; got 0")
    assert_refused(Case("STFT", 17, [X, i64([1, 2])], [X]), "frame_step must be a scalar; got 2")
    assert_refused(Case("STFT", 17, [X, STEP, None, i64(0)], [X]), "frame_length must be >= 1; got 0")
    assert_refused(
        Case("STFT", 17, [X, STEP, None, i64(7)], [X]),
        "the frame length must be in .*; got 7",
    )
    assert_refused(Case("STFT", 17, [X, STEP, WINDOW[:0]], [X]), "the frame length must .*; got 0")
    assert_refused(
        Case("STFT", 17, [X, STEP, WINDOW, i64(3)], [X]), r"the window must be \[3\]; got shape \[4\]"
    )
    assert_refused(
        Case("STFT", 17, [X, STEP, WINDOW[None]], [X]), r"the window must be a vector; got shape \[1, 4\]"
    )


def test_symbols_stay_in_the_shape() -> None:
    step = {1: i64(4)}
    x = floats(N, M, 1)
    assert infer_shape(make_inference("STFT", 17, [x, ints(), floats(16)], step)) == (
        N,
        (M - 16) // 4 + 1,
        9,
        2,
    )
    assert infer_shape(make_inference("STFT", 17, [x, ints(), floats(16)], step, onesided=0)) == (
        N,
        (M - 16) // 4 + 1,
        16,
        2,
    )
    assert infer_shape(make_inference("STFT", 17, [x, ints(), None, ints()], {**step, 3: i64(8)})) == (
        N,
        (M - 8) // 4 + 1,
        5,
        2,
    )
    assert infer_shape(make_inference("STFT", 17, [floats(N, 64, 1), ints()], step)) == (N, 1, 33, 2)
    assert infer_shape(make_inference("STFT", 17, [floats(N, 64), ints()], step)) == (N, 1, 33, 2)
    assert infer_shape(make_inference("STFT", 17, [floats(N, 2), ints()], step)) == (N, 1, 2, 2)
    assert infer_shape(make_inference("STFT", 17, [x, ints(), floats(16)])) == (N, None, 9, 2)
    assert infer_shape(make_inference("STFT", 17, [x, ints(), None, ints()], step)) == (N, None, None, 2)
    assert infer_shape(make_inference("STFT", 17, [TensorType(FLOAT), ints(), floats(16)], step)) == (
        None,
        None,
        9,
        2,
    )


def test_what_contradicts_the_shape_is_found() -> None:
    assert_contradiction(make_inference("STFT", 17, [floats(N), ints()]), "rank 1")
    assert_contradiction(
        make_inference("STFT", 17, [floats(N, M, 3), ints()]),
        "the last axis of the signal must have size 1 or 2; got 3",
    )
    assert_contradiction(make_inference("STFT", 17, [floats(N, M, 2), ints()]), "a complex signal")
    assert_contradiction(
        make_inference("STFT", 17, [floats(N, 4, 1), ints(), floats(8)]), "the frame length must .*; got 8"
    )
    assert_contradiction(
        make_inference("STFT", 17, [floats(N, M, 1), ints(), floats(8), ints()], {3: i64(4)}), "sizes 4 and 8"
    )
    assert_contradiction(
        make_inference("STFT", 17, [floats(N, M, 1), ints(), floats(2, 4)]),
        "the window must be a vector; got rank 2",
    )
    assert_contradiction(
        make_inference("STFT", 17, [floats(N, M, 1), ints()], {1: i64(0)}), "frame_step must be >= 1; got 0"
    )
