"""Scales, zero points and integers of activations and weights, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.dtypes import DataType
from sardonyx._src.quantize.activations.parameters import (
    BIAS_LIMIT,
    ActivationParameters,
    Range,
    activation_parameters,
    integer_weight,
)

U8, I8 = DataType.UINT8, DataType.INT8


@pytest.mark.parametrize(
    ("span", "dtype", "scale", "zero_point"),
    [
        (Range(0, 255), U8, 1, 0),
        (Range(3, 255), U8, 1, 0),  # zero has an integer of its own
        (Range(-51, 204), U8, 1, 51),
        (Range(-255, -7), U8, 1, 255),
        (Range(0, 255), I8, 1, -128),
        (Range(-128, 127), I8, 1, 0),
        (Range(0, 0), U8, 1, 0),
    ],
)
def test_a_range_with_zero_is_spanned(span: Range, dtype: DataType, scale: float, zero_point: int) -> None:
    parameters = activation_parameters(span, dtype)
    assert (float(parameters.scale), parameters.zero_point) == (scale, zero_point)


def test_numbers_are_rounded_to_even_and_saturate() -> None:
    parameters = ActivationParameters(np.float32(0.5), 10, U8)
    integers = parameters.quantize(np.array([-9, -5, 0, 0.25, 0.75, 1000], np.float32))
    assert integers.tolist() == [0, 0, 10, 10, 12, 255]
    assert parameters.dequantize(integers).tolist() == [-5, -5, 0, 0, 1, 122.5]


def test_each_channel_of_a_weight_has_its_scale_and_its_bias_their_product() -> None:
    weight = np.array([[127, -63.5, 1], [0, 2.54, -1.27]], np.float32)
    operand = ActivationParameters(np.float32(0.5), 3, U8)
    written = integer_weight(weight, 0, np.array([10, -0.02], np.float32), operand)
    np.testing.assert_allclose(written.scales, [1, 0.02], rtol=1e-6)
    assert written.integers.tolist() == [[127, -64, 1], [0, 127, -64]]  # ties are rounded to even
    assert written.bias is not None and written.bias.tolist() == [20, -2]
    np.testing.assert_allclose(written.bias_scales(operand), [0.5, 0.01], rtol=1e-6)


def test_a_large_bias_fits_by_a_larger_scale() -> None:
    operand = ActivationParameters(np.float32(1e-3), 0, U8)
    written = integer_weight(np.full((1, 4), 1e-6, np.float32), 0, np.array([500], np.float32), operand)
    assert written.bias is not None and abs(int(written.bias[0])) <= BIAS_LIMIT
    assert written.bias[0] * written.bias_scales(operand)[0] == pytest.approx(500, rel=1e-5)


def test_channels_of_zeros_stay_zeros() -> None:
    operand = ActivationParameters(np.float32(1), 0, U8)
    written = integer_weight(np.zeros((2, 3), np.float32), 0, None, operand)
    assert written.scales.tolist() == [1, 1] and not written.integers.any()
