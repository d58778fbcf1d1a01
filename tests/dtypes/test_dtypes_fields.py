"""Typed fields against hand-written numbers and against the onnx package."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.dtypes import Array, DataType, field_of, from_field, nbytes, to_field, unpack

NUMERIC = [t for t in DataType if t not in (DataType.UNDEFINED, DataType.STRING)]
SHAPES = [(), (0,), (1,), (2,), (3,), (5,), (7,), (2, 0, 3), (3, 5)]

QUIET: dict[DataType, tuple[type[np.unsignedinteger[Any]], int]] = {  # exponent and quiet bit, all ones
    DataType.FLOAT: (np.uint32, 0x7FC00000),
    DataType.COMPLEX64: (np.uint32, 0x7FC00000),
    DataType.DOUBLE: (np.uint64, 0x7FF80000_00000000),
    DataType.COMPLEX128: (np.uint64, 0x7FF80000_00000000),
}

by_type = pytest.mark.parametrize("dtype", NUMERIC, ids=lambda t: t.text)
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def random_array(dtype: DataType, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Elements of random bits; every third float of 32 or 64 bits is a quiet NaN with a random payload."""
    draw = random.Random(f"{dtype.name} {shape} {seed}")
    raw = draw.randbytes(nbytes(dtype, int(np.prod(shape, dtype=np.int64))))
    if dtype is DataType.BOOL:
        return unpack(bytes(byte & 1 for byte in raw), dtype, shape)
    array = unpack(bytearray(raw), dtype, shape).copy()
    if dtype in QUIET:
        bits, quiet = QUIET[dtype]
        array.reshape(-1).view(bits)[::3] |= quiet
    return array


def wheel_array(field: str, values: Array, dtype: DataType, shape: tuple[int, ...]) -> Array:
    """The array that the onnx package decodes from a typed field."""
    tensor = onnx.TensorProto(data_type=dtype.value, dims=shape)
    getattr(tensor, field).extend(values.tolist())
    array: Array = onnx.numpy_helper.to_array(tensor)
    return array


@pytest.mark.parametrize("dtype", [*NUMERIC, DataType.STRING], ids=lambda t: t.text)
def test_field_is_the_one_of_the_specification(dtype: DataType) -> None:
    assert field_of(dtype) == onnx.helper.tensor_dtype_to_field(dtype.value)


def test_undefined_has_no_field() -> None:
    with pytest.raises(ValueError, match="UNDEFINED has no field"):
        field_of(DataType.UNDEFINED)


@by_type
@by_shape
def test_onnx_reads_what_to_field_writes(dtype: DataType, shape: tuple[int, ...]) -> None:
    array = random_array(dtype, shape)
    field, values = to_field(array, dtype)
    theirs = wheel_array(field, values, dtype, shape)
    assert theirs.shape == shape
    assert theirs.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", [t for t in NUMERIC if t.bits <= 16], ids=lambda t: t.text)
def test_onnx_agrees_on_every_code_of_a_small_type(dtype: DataType) -> None:
    count = 2 if dtype is DataType.BOOL else 1 << dtype.bits
    codes = np.arange(count).astype(np.uint16 if dtype.bits == 16 else np.uint8)
    array = codes.view(dtype.numpy)
    field, values = to_field(array, dtype)
    assert wheel_array(field, values, dtype, (count,)).tobytes() == codes.tobytes()
    assert from_field(field, values, dtype, (count,)).tobytes() == codes.tobytes()


@by_type
@by_shape
def test_from_field_inverts_to_field_bit_for_bit(dtype: DataType, shape: tuple[int, ...]) -> None:
    array = random_array(dtype, shape)
    field, values = to_field(array, dtype)
    back = from_field(field, values, dtype, shape)
    assert (back.dtype, back.shape) == (array.dtype, shape)
    assert back.tobytes() == array.tobytes()


@given(
    dtype=st.sampled_from([t for t in NUMERIC if not t.is_float and not t.is_complex]),
    seed=st.integers(0, 500),
)
def test_lists_and_arrays_of_entries_mean_the_same(dtype: DataType, seed: int) -> None:
    array = random_array(dtype, (5,), seed)
    field, values = to_field(array, dtype)
    assert from_field(field, values.tolist(), dtype, (5,)).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("dtype", "field", "entries", "values"),
    [
        (DataType.FLOAT, "float_data", [1.5, -2.0], [1.5, -2]),
        (DataType.COMPLEX64, "float_data", [1.0, 2.0, 3.0, -4.0], [1 + 2j, 3 - 4j]),
        (DataType.DOUBLE, "double_data", [0.1], [0.1]),
        (DataType.COMPLEX128, "double_data", [0.1, 0.2], [0.1 + 0.2j]),
        (DataType.INT64, "int64_data", [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        (DataType.UINT64, "uint64_data", [2**64 - 1, 0], [2**64 - 1, 0]),
        (DataType.UINT32, "uint64_data", [2**32 - 1], [2**32 - 1]),
        (DataType.INT32, "int32_data", [-(2**31)], [-(2**31)]),
        (DataType.INT16, "int32_data", [-2, 32767], [-2, 32767]),
        (DataType.INT8, "int32_data", [-128], [-128]),
        (DataType.UINT16, "int32_data", [65535], [65535]),
        (DataType.UINT8, "int32_data", [255], [255]),
        (DataType.BOOL, "int32_data", [1, 0], [True, False]),
        (DataType.FLOAT16, "int32_data", [0x3C00, 0xC000], [1.0, -2.0]),
        (DataType.BFLOAT16, "int32_data", [0x3F80, 0xC000], [1.0, -2.0]),
        (DataType.FLOAT8E4M3FN, "int32_data", [0x38, 0xFE], [1.0, -448.0]),
        (DataType.FLOAT8E4M3FNUZ, "int32_data", [0x40, 0xFF], [1.0, -240.0]),
        (DataType.FLOAT8E5M2, "int32_data", [0x3C, 0xFB], [1.0, -57344.0]),
        (DataType.FLOAT8E5M2FNUZ, "int32_data", [0x40, 0xFF], [1.0, -57344.0]),
        (DataType.FLOAT8E8M0, "int32_data", [0x7F, 0x80], [1.0, 2.0]),
        (DataType.FLOAT6E2M3, "int32_data", [0x08, 0x3F], [1.0, -7.5]),
        (DataType.FLOAT6E3M2, "int32_data", [0x0C, 0x3F], [1.0, -28.0]),
        (DataType.UINT4, "int32_data", [0x21, 0x0F], [1, 2, 15]),
        (DataType.INT4, "int32_data", [0xE1, 0x08], [1, -2, -8]),
        (DataType.FLOAT4E2M1, "int32_data", [0xF1, 0x02], [0.5, -6.0, 1.0]),
        (DataType.UINT2, "int32_data", [0xE4, 0x01], [0, 1, 2, 3, 1]),
        (DataType.INT2, "int32_data", [0xE4, 0x03], [0, 1, -2, -1, -1]),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else "",
)
def test_entries_and_values_are_those_of_the_specification(
    dtype: DataType, field: str, entries: list[float], values: list[float]
) -> None:
    array = np.array(values, None if dtype.bits < 32 else dtype.numpy).astype(dtype.numpy)
    assert from_field(field, entries, dtype, (len(values),)).tolist() == array.tolist()
    written, numbers = to_field(array, dtype)
    assert (written, numbers.tolist()) == (field, entries)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (DataType.FLOAT, np.float32),
        (DataType.COMPLEX128, np.float64),
        (DataType.INT8, np.int32),
        (DataType.INT4, np.int32),
        (DataType.FLOAT16, np.int32),
        (DataType.FLOAT6E2M3, np.int32),
        (DataType.BOOL, np.int32),
        (DataType.INT64, np.int64),
        (DataType.UINT32, np.uint64),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else "",
)
def test_numbers_have_the_dtype_of_the_field(dtype: DataType, expected: type[np.generic]) -> None:
    assert to_field(np.zeros(3, dtype.numpy), dtype)[1].dtype == expected


@pytest.mark.parametrize("payload", [0x7FA00001, 0xFFC01234], ids=["signalling", "quiet"])
def test_nan_payloads_survive_in_float_data(payload: int) -> None:
    array = np.array([payload], np.uint32).view(np.float32)
    field, values = to_field(array, DataType.FLOAT)
    assert from_field(field, values, DataType.FLOAT, (1,)).view(np.uint32).tolist() == [payload]


@pytest.mark.parametrize(
    "dtype",
    [DataType.FLOAT, DataType.DOUBLE, DataType.COMPLEX64, DataType.INT32, DataType.INT64, DataType.UINT64],
    ids=lambda t: t.text,
)
def test_entries_stored_as_the_elements_are_not_copied(dtype: DataType) -> None:
    array = np.ones((2, 3), dtype.numpy)
    field, values = to_field(array, dtype)
    assert np.shares_memory(array, values)
    assert np.shares_memory(from_field(field, values, dtype, (2, 3)), values)


@by_type
def test_results_are_read_only_and_arguments_stay_writable(dtype: DataType) -> None:
    array = np.zeros(2, dtype.numpy)
    field, values = to_field(array, dtype)
    assert not values.flags.writeable
    entries = values.copy()
    assert not from_field(field, entries, dtype, (2,)).flags.writeable
    assert array.flags.writeable
    assert entries.flags.writeable


def test_true_is_written_as_one_in_int32_data() -> None:
    array = np.array([0, 2], np.uint8).view(np.bool_)
    assert to_field(array, DataType.BOOL)[1].tolist() == [0, 1]


def test_bits_above_a_6bit_element_are_not_written() -> None:
    array = np.array([0xC1], np.uint8).view(DataType.FLOAT6E2M3.numpy)
    assert to_field(array, DataType.FLOAT6E2M3)[1].tolist() == [1]


def test_to_field_writes_c_order_whatever_the_strides() -> None:
    array = np.array([[1, 2], [3, 4]], np.int64, order="F")
    assert to_field(array, DataType.INT64)[1].tolist() == [1, 2, 3, 4]
