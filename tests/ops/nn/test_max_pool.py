import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, pool, settings
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_shape,
    infer_types,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import dim_min, symbol
from sardonyx._src.ops.inference import Inference

H = symbol("H")
INF = np.inf
LINE = f32([[[1, 3, 2, 5, 4]]])
IMAGE = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
VERSIONS = (1, 8, 10, 11, 12, 22)
WITH_INDICES = (8, 10, 11, 12, 22)

CASES = [
    *(Case("MaxPool", v, [LINE], [f32([[[3, 3, 5, 5]]])], {"kernel_shape": [2]}) for v in VERSIONS),
    *(
        Case("MaxPool", v, [LINE], [f32([[[3, 5]]]), i64([[[1, 3]]])], {"kernel_shape": [2], "strides": [2]}, "Indices")
        for v in WITH_INDICES
    ),
    Case("MaxPool", 1, [LINE], [f32([[[3, 5, 4]]])], {"kernel_shape": [2], "strides": [2], "auto_pad": "SAME_UPPER"}),
    Case("MaxPool", 1, [LINE], [f32([[[1, 3, 5]]])], {"kernel_shape": [2], "strides": [2], "auto_pad": "SAME_LOWER"}),
    Case("MaxPool", 22, [-LINE], [f32([[[-1, -2, -4]]])], {"kernel_shape": [2], "strides": [2], "pads": [1, 0]}, "pads are not zeros"),
    Case("MaxPool", 10, [LINE], [f32([[[2, 5, 4]]])], {"kernel_shape": [2], "dilations": [2]}, "dilations"),
    Case("MaxPool", 10, [LINE], [f32([[[3, 5, 4]]])], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}, "ceil_mode"),
    *(Case(
        "MaxPool", v, [LINE], [f32([[[1, 5, -INF]]]), i64([[[0, 3, -1]]])],
        {"kernel_shape": [1], "strides": [3], "pads": [0, 1], "ceil_mode": 1}, "a window of padding alone",
    ) for v in (10, 11)),
    *(Case(
        "MaxPool", v, [LINE], [f32([[[1, 5]]]), i64([[[0, 3]]])],
        {"kernel_shape": [1], "strides": [3], "pads": [0, 1], "ceil_mode": 1}, "no window starts in the padding at the end",
    ) for v in (12, 22)),
    Case("MaxPool", 22, [LINE], [f32([[[5]]])], {"kernel_shape": [4], "strides": [2], "auto_pad": "VALID", "ceil_mode": 1}, "VALID has no part of a window"),
    Case("MaxPool", 22, [IMAGE], [f32([[[[5, 6], [8, 9]]]]), i64([[[[4, 5], [7, 8]]]])], {"kernel_shape": [2, 2]}),
    Case(
        "MaxPool", 22, [IMAGE], [f32([[[[5, 6], [8, 9]]]]), i64([[[[4, 7], [5, 8]]]])],
        {"kernel_shape": [2, 2], "storage_order": 1}, "column-major",
    ),
    Case(
        "MaxPool", 8, [np.concatenate([IMAGE, -IMAGE], 1)], [f32([[[[9]], [[-1]]]]), i64([[[[8]], [[9]]]])],
        {"kernel_shape": [3, 3]}, "Indices count in the whole tensor",
    ),
    Case(
        "MaxPool", 8, [np.concatenate([IMAGE, IMAGE[..., ::-1]])], [f32([[[[9]]], [[[9]]]]), i64([[[[8]]], [[[11]]]])],
        {"kernel_shape": [3, 3], "storage_order": 1}, "column-major within each channel",
    ),
    Case("MaxPool", 22, [f32([[[2, 2, 1]]])], [f32([[[2]]]), i64([[[0]]])], {"kernel_shape": [3]}, "the first of equals"),
    Case("MaxPool", 22, [f32([[[1, np.nan, 3]]])], [f32([[[np.nan]]]), i64([[[1]]])], {"kernel_shape": [3]}, "NaN"),
    Case("MaxPool", 22, [f32([[[-INF, -INF]]])], [f32([[[-INF]]]), i64([[[0]]])], {"kernel_shape": [2]}, "-inf has a place"),
    Case("MaxPool", 22, [f32([[[np.nan]]])], [f32([[[np.nan, np.nan]]])], {"kernel_shape": [2], "pads": [1, 1]}),
    Case("MaxPool", 12, [np.array([[[-3, -5]]], np.int8)], [np.array([[[-3, -3, -5]]], np.int8)], {"kernel_shape": [2], "pads": [1, 1]}),
    Case("MaxPool", 12, [np.array([[[3, 255]]], np.uint8)], [np.array([[[255]]], np.uint8)], {"kernel_shape": [2]}),
    Case("MaxPool", 1, [LINE.astype(np.float16)], [np.array([[[3, 5]]], np.float16)], {"kernel_shape": [2], "strides": [2]}),
    Case("MaxPool", 22, [LINE.astype(ml_dtypes.bfloat16)], [np.array([[[3, 5]]], ml_dtypes.bfloat16)], {"kernel_shape": [2], "strides": [2]}),
    Case("MaxPool", 22, [LINE.astype(np.float64)], [np.array([[[5.0]]])], {"kernel_shape": [5]}),
    Case("MaxPool", 22, [np.zeros((2, 0, 3), np.float32)], [np.zeros((2, 0, 2), np.float32), np.zeros((2, 0, 2), np.int64)], {"kernel_shape": [2]}, "no channels"),
    Case("MaxPool", 22, [np.zeros((1, 1, 0), np.float32)], [np.zeros((1, 1, 0), np.float32), np.zeros((1, 1, 0), np.int64)], {"kernel_shape": [1]}, "no elements"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(setting=settings(), seed=st.integers(0, 9))
def test_every_setting_takes_the_greatest_element(setting: Setting, seed: int) -> None:
    x = np.random.default_rng(seed).permutation(2 * 2 * math.prod(setting.size)).astype(np.float32)
    x = x.reshape(2, 2, *setting.size)
    expected = pool(x, setting, lambda values: max(values, default=-INF)).astype(np.float32)
    places = np.argsort(x, axis=None)  # where each value, which are all different, lies
    indices = np.where(expected < 0, -1, places[np.maximum(expected, 0).astype(np.int64)])
    assert_case(
        Case(
            "MaxPool",
            22,
            [x],
            [expected, indices],
            {"kernel_shape": list(setting.kernel), **setting.attributes},
        )
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("MaxPool", 22, [f32([1, 2])], [...], {"kernel_shape": [1]}), "rank 1"),
        (
            Case("MaxPool", 22, [LINE], [...], {"kernel_shape": [1, 1]}),
            r"kernel_shape must have 1 entries; got 2: \[1, 1\]",
        ),
        (
            Case("MaxPool", 22, [LINE], [...], {"kernel_shape": [9]}),
            r"a window of 9 must .*; got 5 elements \+ 0 \+ 0 padding",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_both_outputs_have_the_shape_of_the_windows() -> None:
    inference = make_inference(
        "MaxPool", 22, [floats(N, 3, H)], outputs=2, kernel_shape=(3,), strides=(2,), pads=(1, 1)
    )
    dims = (N, 3, (H - 1) // 2 + 1)
    assert infer_types(inference) == [floats(*dims), TensorType(DataType.INT64, dims)]


def test_ceil_mode_differs_by_version() -> None:
    ends = {11: (3, (H + 1) // 3 + 1), 12: (2, dim_min((H + 1) // 3 + 1, (H + 2) // 3))}
    for version, (number, expression) in ends.items():
        for size, expected in ((6, number), (H, expression)):
            inference = make_inference(
                "MaxPool",
                version,
                [floats(1, 1, size)],
                kernel_shape=(2,),
                strides=(3,),
                pads=(0, 1),
                ceil_mode=1,
            )
            assert infer_shape(inference) == (1, 1, expected)


def test_an_unknown_rank_is_that_of_the_kernel() -> None:
    assert infer_shape(make_inference("MaxPool", 22, [TensorType(FLOAT)], kernel_shape=(3, 3))) == (None,) * 4


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("MaxPool", 22, [floats(1, 1, 2)], kernel_shape=(5,)),
            r"a window of 5 must .*; got 2 elements \+ 0 \+ 0 padding",
        ),
        (
            make_inference("MaxPool", 22, [floats(1, 1, 2)], kernel_shape=(1, 1)),
            "kernel and input must .*; got 2 and 1",
        ),
        (make_inference("MaxPool", 22, [floats(1)], kernel_shape=(1,)), "rank 1"),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)
