"""QuantizeLinear and DequantizeLinear kernels follow the formulas of the specification."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operators import scalar_expression
from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_RANGES, as_float
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

LANES = (16, 8, 4, 1)
TYPES = (DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.INT16)
QUANTIZE = {"axis": 1, "block_size": 0, "output_dtype": 0, "precision": 0, "saturate": 1}
DEQUANTIZE = {"axis": 1, "block_size": 0, "output_dtype": 0}
SPECIAL = [
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    -2.5,
    0.0,
    -0.0,
    np.nan,
    np.inf,
    -np.inf,
    1e30,
    -1e30,
    3e9,
    -3e9,
    1e-40,
    126.5,
    127.5,
]


def sample_numbers() -> Array:
    numbers = np.random.default_rng(0).normal(0, 90, 300)
    return np.concatenate([SPECIAL, numbers, np.round(numbers) + 0.5, numbers * 300]).astype(np.float32)


def run_kernel(value: Scalar | None, inputs: list[Array], dtype: DataType, lanes: int) -> Array:
    assert value is not None, "the operator must have an expression"
    output = np.zeros(max((x.shape for x in inputs), key=len), dtype.numpy)
    y, buffer = guarded.tensor(output)
    tensors = [guarded.tensor(x) for x in inputs]
    step = with_lanes(elementwise_step(value, [t for t, _ in tensors], y), lanes)
    guarded.run(step, {buffer: output, **{s: x for (_, s), x in zip(tensors, inputs, strict=True)}})
    return output


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", TYPES)
def test_quantize_rounds_to_nearest_even_saturates_and_maps_nan_to_the_lowest(
    dtype: DataType, lanes: int
) -> None:
    x, scale, (low, high) = sample_numbers(), np.float32(0.75), QUANTIZED_RANGES[dtype]
    zero = np.array((low + high) // 3, dtype.numpy)
    types = [DataType.FLOAT, DataType.FLOAT, dtype]
    args: list[Scalar] = [Local("i0"), Number(float(scale)), Local("i1")]
    result = run_kernel(scalar_expression("QuantizeLinear", QUANTIZE, args, types), [x, zero], dtype, lanes)
    with np.errstate(all="ignore"):
        shifted = np.rint(x / scale).astype(np.float64) + int(zero)
    expected = np.clip(np.where(np.isnan(shifted), low, shifted), low, high).astype(dtype.numpy)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", TYPES)
def test_dequantize_subtracts_the_zero_point_and_scales(dtype: DataType, lanes: int) -> None:
    low, high = QUANTIZED_RANGES[dtype]
    x = np.linspace(low, high, 257).astype(dtype.numpy)
    zero, scale = np.array(high, dtype.numpy), np.array(0.0123, np.float32)
    args: list[Scalar] = [Local("i0"), Local("i1"), Local("i2")]
    value = scalar_expression("DequantizeLinear", DEQUANTIZE, args, [dtype, DataType.FLOAT, dtype])
    result = run_kernel(value, [x, scale, zero], DataType.FLOAT, lanes)
    expected = (x.astype(np.int64) - high).astype(np.float32) * scale
    np.testing.assert_array_equal(result, expected)


def test_dequantize_scales_int32_sums() -> None:
    x = np.array([0, 1, -1, 2**31 - 1, -(2**31), 16777217], np.int32)
    value = scalar_expression(
        "DequantizeLinear", DEQUANTIZE, [Local("i0"), Number(0.5)], [DataType.INT32, DataType.FLOAT]
    )
    np.testing.assert_array_equal(
        run_kernel(value, [x], DataType.FLOAT, 16), x.astype(np.float32) * np.float32(0.5)
    )


def test_dequantize_of_quantize_reuses_the_rounded_float() -> None:
    types = [DataType.FLOAT, DataType.FLOAT]
    quantized = scalar_expression("QuantizeLinear", QUANTIZE, [Local("x"), Number(0.5)], types)
    assert isinstance(quantized, Cast)
    assert as_float(quantized) is quantized.value
    dequantized = scalar_expression(
        "DequantizeLinear", DEQUANTIZE, [quantized, Number(0.5)], [DataType.UINT8, DataType.FLOAT]
    )
    assert dequantized == Apply("mul", (quantized.value, Number(0.5)))


@pytest.mark.parametrize(
    ("op", "attributes", "types"),
    [
        (
            "QuantizeLinear",
            QUANTIZE | {"precision": DataType.FLOAT8E5M2.value},
            [DataType.FLOAT, DataType.FLOAT],
        ),
        (
            "QuantizeLinear",
            QUANTIZE | {"output_dtype": DataType.UINT32.value},
            [DataType.FLOAT, DataType.FLOAT],
        ),
        ("QuantizeLinear", QUANTIZE, [DataType.INT64, DataType.FLOAT]),
        (
            "DequantizeLinear",
            DEQUANTIZE | {"output_dtype": DataType.DOUBLE.value},
            [DataType.INT8, DataType.FLOAT],
        ),
        ("DequantizeLinear", DEQUANTIZE, [DataType.UINT32, DataType.FLOAT]),
    ],
)
def test_other_types_have_no_expression(
    op: str, attributes: dict[str, object], types: list[DataType]
) -> None:
    assert scalar_expression(op, attributes, [Local("i0"), Local("i1")], types) is None


def test_int32_with_a_zero_point_has_no_expression() -> None:
    types = [DataType.INT32, DataType.FLOAT, DataType.INT32]
    assert (
        scalar_expression("DequantizeLinear", DEQUANTIZE, [Local(f"i{i}") for i in range(3)], types) is None
    )
