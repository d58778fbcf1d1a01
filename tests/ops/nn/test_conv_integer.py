import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, convolve, settings
from ops.tensor.operator_facets import N, assert_contradiction, assert_refused, infer_types, make_inference
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol

H = symbol("H")


def u8(values: object) -> Array:
    return np.array(values, np.uint8)


def i8(values: object) -> Array:
    return np.array(values, np.int8)


def i32(values: object) -> Array:
    return np.array(values, np.int32)


X = u8([[[2, 3, 255]]])
W = u8([[[1, 10]]])

CASES = [
    Case("ConvInteger", 10, [X, W], [i32([[[32, 2553]]])]),
    Case("ConvInteger", 10, [X, W, u8(2)], [i32([[[10, 2531]]])], label="x_zero_point"),
    Case("ConvInteger", 10, [X, W, None, u8(1)], [i32([[[27, 2295]]])], label="w_zero_point"),
    Case("ConvInteger", 10, [X, W, u8([2]), u8([1])], [i32([[[9, 2277]]])], label="vectors of one"),
    Case("ConvInteger", 10, [X, W, u8(2)], [i32([[[0, 10, 2531, 253]]])], {"pads": [1, 1]}, "padding is the zero point"),
    Case("ConvInteger", 10, [X, u8([[[1]], [[5]]]), None, u8([0, 4])], [i32([[[2, 3, 255], [2, 3, 255]]])], label="a zero point each"),
    Case("ConvInteger", 10, [i8([[[-128, 127]]]), i8([[[-128, 127]]])], [i32([[[128 * 128 + 127 * 127]]])], label="int8"),
    Case("ConvInteger", 10, [u8([[[0, 255]]]), i8([[[-128, -128]]]), u8(255), i8(127)], [i32([[[255 * 255]]])], label="9 bits each"),
    Case("ConvInteger", 10, [X, W], [i32([[[32]]])], {"strides": [2]}),
    Case("ConvInteger", 10, [X, W], [i32([[[2552]]])], {"dilations": [2]}),
    Case("ConvInteger", 10, [X, W], [i32([[[32, 2553, 255]]])], {"auto_pad": "SAME_UPPER", "kernel_shape": [2]}),
    Case("ConvInteger", 10, [u8([[[2], [3]]]), u8([[[5]], [[7]]])], [i32([[[10], [21]]])], {"group": 2}),
    Case("ConvInteger", 10, [np.zeros((0, 1, 3), np.uint8), W], [np.zeros((0, 1, 2), np.int32)], label="no instances"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_sums_are_exact_where_float32_is_not_and_wrap_around() -> None:
    """An odd sum past 2^24, from where on float32 has even numbers alone, and past 2^31, where int32 wraps."""
    count = 40_000
    x = np.full((1, count, 1), 255, np.uint8)
    w = np.full((1, count, 1), 255, np.uint8)
    w[0, 0, 0] = 254
    total = count * 255 * 255 - 255
    assert total > 1 << 31
    assert_case(Case("ConvInteger", 10, [x, w], [i32([[[total - (1 << 32)]]])]))


@given(setting=settings(2), seed=st.integers(0, 9))
def test_every_setting_is_the_sum_over_taps(setting: Setting, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (1, 2, *setting.size)).astype(np.uint8)
    w = rng.integers(-128, 128, (2, 2, *setting.kernel)).astype(np.int8)
    expected = convolve(x.astype(float) - 100, w.astype(float) + 5, setting, 1).astype(np.int32)
    assert_case(Case("ConvInteger", 10, [x, w, u8(100), i8(-5)], [expected], setting.attributes))


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("ConvInteger", 10, [X, W, u8([1, 2])], [...]),
            r"x_zero_point must be a scalar; got shape \[2\]",
        ),
        (
            Case("ConvInteger", 10, [X, W, None, u8([1, 2])], [...]),
            r"the zero point must be a scalar or have shape \[1\]; got \[2\]",
        ),
        (Case("ConvInteger", 10, [X, u8([[[1], [2]]])], [...]), "a window|channels"),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_is_int32() -> None:
    x, w = TensorType(DataType.UINT8, (N, 3, H)), TensorType(DataType.INT8, (8, 3, 3))
    assert infer_types(make_inference("ConvInteger", 10, [x, w])) == [
        TensorType(DataType.INT32, (N, 8, H - 2))
    ]
    assert infer_types(make_inference("ConvInteger", 10, [None, None])) == [TensorType(DataType.INT32)]
    assert_contradiction(
        make_inference("ConvInteger", 10, [TensorType(DataType.UINT8, (N, 4, H)), w]),
        r"x must have W\[1\] \* group = 3 \* 1 channels; got 4",
    )
