import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    f32,
    infer_types,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue

H = symbol("H")


def u8(values: object) -> Array:
    return np.array(values, np.uint8)


def i8(values: object) -> Array:
    return np.array(values, np.int8)


def i32(values: object) -> Array:
    return np.array(values, np.int32)


X = u8([[[12, 13, 15]]])  # minus its zero point: 2, 3, 5
W = i8([[[1, 10]]])  # sums 32 and 53
ONE, ZERO = f32(1), i8(0)


def inputs(
    x: Array = X, w: Array = W, *, by: float = 1, y0: Array | None = None, bias: Array | None = None
) -> list[RuntimeValue]:
    """Scales 0.5 and 2, and `by` for the result, so that the quantized result is the sum over `by`."""
    y0 = u8(0) if y0 is None else y0
    return [x, f32(0.5), u8(10), w, f32(2), ZERO, f32(by), y0, *([] if bias is None else [bias])]


CASES = [
    Case("QLinearConv", 10, inputs(), [u8([[[32, 53]]])]),
    Case("QLinearConv", 10, inputs(by=2), [u8([[[16, 26]]])], label="26.5 rounds to even"),
    Case("QLinearConv", 10, inputs(i8([[[12, 13]]]).view(np.uint8), W, by=64), [u8([[[0]]])], label="0.5 rounds to even"),
    Case("QLinearConv", 10, inputs(y0=u8(100)), [u8([[[132, 153]]])], label="zero point"),
    Case("QLinearConv", 10, inputs(y0=u8(210)), [u8([[[242, 255]]])], label="saturates above"),
    Case("QLinearConv", 10, inputs(w=i8([[[-1, -10]]])), [u8([[[0, 0]]])], label="saturates below"),
    Case("QLinearConv", 10, inputs(w=i8([[[-1, -10]]]), by=0.25, y0=i8(-10)), [i8([[[-128, -128]]])], label="int8"),
    Case("QLinearConv", 10, inputs(bias=i32([7])), [u8([[[39, 60]]])], label="bias"),
    Case("QLinearConv", 10, [X, f32(0.5), u8(10), i8([[[3]], [[7]]]), f32([2, 4]), i8([1, 5]), f32(2), u8(0)],
         [u8([[[2, 3, 5], [4, 6, 10]]])], label="scales and zero points by channel"),
    Case("QLinearConv", 10, inputs(), [u8([[[20, 32, 53, 5]]])], {"pads": [1, 1]}, "padding is the zero point"),
    Case("QLinearConv", 10, inputs(), [u8([[[32]]])], {"strides": [2], "kernel_shape": [2], "auto_pad": "VALID"}),
    Case("QLinearConv", 10, inputs(), [u8([[[52]]])], {"dilations": [2]}),
    Case("QLinearConv", 10, inputs(u8([[[12], [13]]]), i8([[[5]], [[7]]])), [u8([[[10], [21]]])], {"group": 2}),
    Case("QLinearConv", 10, inputs(np.zeros((0, 1, 3), np.uint8)), [np.zeros((0, 1, 2), np.uint8)], label="no instances"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([X, f32([1, 2]), u8(0), W, ONE, ZERO, ONE, u8(0)], r"x_scale must be a scalar; got shape \[2\]"),
        ([X, ONE, u8(0), W, ONE, ZERO, ONE, u8([0, 1])], r"y_zero_point must be a scalar; got shape \[2\]"),
        (
            [X, ONE, u8(0), W, f32([1, 2]), ZERO, ONE, u8(0)],
            r"w_scale must be a scalar or have shape \[1\]; got \[2\]",
        ),
        (
            [X, ONE, u8(0), W, ONE, i8([0, 0]), ONE, u8(0)],
            r"the zero point must be a scalar or have shape \[1\]; got \[2\]",
        ),
        (
            [X, ONE, u8(0), W, ONE, ZERO, ONE, u8(0), i32([1, 2])],
            r"the bias must have shape \[1\]; got \[2\]",
        ),
    ],
)
def test_bad_values_are_refused(values: list[RuntimeValue], match: str) -> None:
    assert_refused(Case("QLinearConv", 10, values, [...]), match)


def test_the_result_has_the_type_of_its_zero_point() -> None:
    x, w = TensorType(DataType.UINT8, (N, 3, H)), TensorType(DataType.INT8, (8, 3, 3))
    zero = TensorType(DataType.INT8, ())
    assert infer_types(make_inference("QLinearConv", 10, [x, None, None, w, None, None, None, zero])) == [
        TensorType(DataType.INT8, (N, 8, H - 2))
    ]
    assert_contradiction(
        make_inference("QLinearConv", 10, [TensorType(DataType.UINT8, (N, 4, H)), None, None, w]),
        r"x must have W\[1\] \* group = 3 \* 1 channels; got 4",
    )
