"""Quantization of elements: to the nearest number, ties to even, saturated, by the formulas of the specification."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.elementwise.operators import scalar
from sardonyx._src.compile.elementwise.quantization import LIMITS, as_float
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Number, Scalar
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

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


def numbers() -> Array:
    drawn = np.random.default_rng(0).normal(0, 90, 300)
    return np.concatenate([SPECIAL, drawn, np.round(drawn) + 0.5, drawn * 300]).astype(np.float32)


def computed(value: Scalar | None, inputs: list[Array], dtype: DataType, lanes: int) -> Array:
    assert value is not None, "kernels know the operator"
    made = np.zeros(max((one.shape for one in inputs), key=len), dtype.numpy)
    y, storage = guarded.tensor(made)
    given = [guarded.tensor(one) for one in inputs]
    step = with_lanes(elementwise(value, [t for t, _ in given], y), lanes)
    guarded.run(step, {storage: made, **{s: one for (_, s), one in zip(given, inputs, strict=True)}})
    return made


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", TYPES)
def test_floats_become_the_nearest_number_ties_to_even_and_nan_the_lowest(
    dtype: DataType, lanes: int
) -> None:
    x, scale, (low, high) = numbers(), np.float32(0.75), LIMITS[dtype]
    zero = np.array((low + high) // 3, dtype.numpy)
    types = [DataType.FLOAT, DataType.FLOAT, dtype]
    args: list[Scalar] = [Local("i0"), Number(float(scale)), Local("i1")]
    found = computed(scalar("QuantizeLinear", QUANTIZE, args, types), [x, zero], dtype, lanes)
    with np.errstate(all="ignore"):
        moved = np.rint(x / scale).astype(np.float64) + int(zero)
    want = np.clip(np.where(np.isnan(moved), low, moved), low, high).astype(dtype.numpy)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_become_what_they_stand_for(dtype: DataType, lanes: int) -> None:
    low, high = LIMITS[dtype]
    x = np.linspace(low, high, 257).astype(dtype.numpy)
    zero, scale = np.array(high, dtype.numpy), np.array(0.0123, np.float32)
    args: list[Scalar] = [Local("i0"), Local("i1"), Local("i2")]
    value = scalar("DequantizeLinear", DEQUANTIZE, args, [dtype, DataType.FLOAT, dtype])
    found = computed(value, [x, scale, zero], DataType.FLOAT, lanes)
    want = (x.astype(np.int64) - high).astype(np.float32) * scale
    np.testing.assert_array_equal(found, want)


def test_sums_of_32_bits_are_scaled() -> None:
    x = np.array([0, 1, -1, 2**31 - 1, -(2**31), 16777217], np.int32)
    value = scalar(
        "DequantizeLinear", DEQUANTIZE, [Local("i0"), Number(0.5)], [DataType.INT32, DataType.FLOAT]
    )
    np.testing.assert_array_equal(
        computed(value, [x], DataType.FLOAT, 16), x.astype(np.float32) * np.float32(0.5)
    )


def test_a_number_that_has_just_been_made_of_a_float_is_taken_as_that_float() -> None:
    types = [DataType.FLOAT, DataType.FLOAT]
    made = scalar("QuantizeLinear", QUANTIZE, [Local("x"), Number(0.5)], types)
    assert isinstance(made, Cast)
    assert as_float(made) is made.value
    again = scalar("DequantizeLinear", DEQUANTIZE, [made, Number(0.5)], [DataType.UINT8, DataType.FLOAT])
    assert again == Apply("mul", (made.value, Number(0.5)))


@pytest.mark.parametrize(
    ("op", "attributes", "types"),
    [
        (
            "QuantizeLinear",
            QUANTIZE | {"precision": DataType.FLOAT16.value},
            [DataType.FLOAT, DataType.FLOAT],
        ),
        (
            "QuantizeLinear",
            QUANTIZE | {"output_dtype": DataType.INT4.value},
            [DataType.FLOAT, DataType.FLOAT],
        ),
        ("QuantizeLinear", QUANTIZE, [DataType.INT32, DataType.FLOAT]),
        (
            "DequantizeLinear",
            DEQUANTIZE | {"output_dtype": DataType.FLOAT16.value},
            [DataType.INT8, DataType.FLOAT],
        ),
        ("DequantizeLinear", DEQUANTIZE, [DataType.UINT32, DataType.FLOAT]),
    ],
)
def test_other_types_are_left_to_the_host(
    op: str, attributes: dict[str, object], types: list[DataType]
) -> None:
    assert scalar(op, attributes, [Local("i0"), Local("i1")], types) is None


def test_wide_numbers_with_a_zero_point_are_left_to_the_host() -> None:
    types = [DataType.INT32, DataType.FLOAT, DataType.INT32]
    assert scalar("DequantizeLinear", DEQUANTIZE, [Local(f"i{i}") for i in range(3)], types) is None
