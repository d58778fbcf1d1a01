"""Raw data against hand-written bytes, against the onnx package, and against one big integer of all bits."""

from __future__ import annotations

import math
import mmap
import random
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sardonyx._src.dtypes.packing as packing
from sardonyx._src.dtypes import Array, DataType, element_count, nbytes, pack, unpack

FIXED = [t for t in DataType if t not in (DataType.UNDEFINED, DataType.STRING)]
SMALL = [t for t in FIXED if t.bits < 8]
WIDE = [t for t in FIXED if t.bits >= 8]
SHAPES = [(), (0,), (1,), (2,), (3,), (5,), (7,), (8,), (13,), (2, 0, 3), (3, 5), (2, 3, 11)]

by_type = pytest.mark.parametrize("dtype", FIXED, ids=lambda t: t.text)
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def codes_of(dtype: DataType, count: int, seed: int = 0) -> list[int]:
    """The bits of `count` random elements; BOOL has only 0 and 1."""
    draw = random.Random(f"{dtype.name} {count} {seed}")
    return [draw.getrandbits(1 if dtype is DataType.BOOL else dtype.bits) for _ in range(count)]


def raw_of(codes: list[int], dtype: DataType) -> bytes:
    """Raw data as specified: element i in the bits from i * width of one little-endian number."""
    number = sum(code << (i * dtype.bits) for i, code in enumerate(codes))
    return number.to_bytes(math.ceil(len(codes) * dtype.bits / 8), "little")


def array_of(codes: list[int], dtype: DataType) -> Array:
    """The array of these codes, element by element."""
    width = dtype.numpy.itemsize
    return np.frombuffer(b"".join(code.to_bytes(width, sys.byteorder) for code in codes), dtype.numpy)


def wheel_array(raw: bytes, dtype: DataType, shape: tuple[int, ...]) -> Array:
    """The array that the onnx package decodes from raw data."""
    tensor = onnx.TensorProto(data_type=dtype.value, dims=shape, raw_data=raw)
    array: Array = onnx.numpy_helper.to_array(tensor)
    return array


@by_type
@by_shape
def test_unpack_agrees_with_onnx_bit_for_bit(dtype: DataType, shape: tuple[int, ...]) -> None:
    raw = raw_of(codes_of(dtype, math.prod(shape)), dtype)
    ours, theirs = unpack(raw, dtype, shape), wheel_array(raw, dtype, shape)
    assert (ours.dtype, ours.shape) == (theirs.dtype, shape)
    assert ours.tobytes() == theirs.tobytes()


@by_type
@by_shape
def test_pack_agrees_with_onnx(dtype: DataType, shape: tuple[int, ...]) -> None:
    array = array_of(codes_of(dtype, math.prod(shape)), dtype).reshape(shape)
    assert bytes(pack(array, dtype)) == onnx.numpy_helper.from_array(array).raw_data


@pytest.mark.parametrize("dtype", [t for t in FIXED if t.bits <= 16], ids=lambda t: t.text)
def test_every_code_of_a_small_type_survives(dtype: DataType) -> None:
    codes = list(range(2 if dtype is DataType.BOOL else 1 << dtype.bits))
    array, raw = array_of(codes, dtype), raw_of(codes, dtype)
    assert unpack(raw, dtype, array.shape).tobytes() == array.tobytes()
    assert bytes(pack(array, dtype)) == raw == onnx.numpy_helper.from_array(array).raw_data


@given(dtype=st.sampled_from(FIXED), count=st.integers(0, 40), seed=st.integers(0, 1000))
def test_raw_data_is_one_stream_of_bits(dtype: DataType, count: int, seed: int) -> None:
    codes = codes_of(dtype, count, seed)
    array, raw = array_of(codes, dtype), raw_of(codes, dtype)
    assert unpack(raw, dtype, (count,)).tobytes() == array.tobytes()
    assert bytes(pack(array, dtype)) == raw
    assert nbytes(dtype, count) == len(raw)


def literal(values: list[float], dtype: DataType) -> Array:
    return np.array(values, np.float32).astype(dtype.numpy)


@pytest.mark.parametrize(
    ("dtype", "values", "raw"),
    [
        (DataType.UINT4, [1, 2, 15], b"\x21\x0f"),
        (DataType.INT4, [1, -2, -8], b"\xe1\x08"),
        (DataType.UINT2, [0, 1, 2, 3, 1], b"\xe4\x01"),
        (DataType.INT2, [0, 1, -2, -1, -1], b"\xe4\x03"),
        (DataType.FLOAT4E2M1, [0.5, -6, 1], b"\xf1\x02"),
        # codes 000001 000010 000011 000100 111111, lowest bits first
        (DataType.FLOAT6E2M3, [0.125, 0.25, 0.375, 0.5, -7.5], b"\x81\x30\x10\x3f"),
        (DataType.FLOAT6E3M2, [0.0625, 0.125, 0.1875, 0.25, -28], b"\x81\x30\x10\x3f"),
        (DataType.FLOAT8E8M0, [0.5, 1, 2], b"\x7e\x7f\x80"),
        (DataType.BFLOAT16, [1, -2], b"\x80\x3f\x00\xc0"),
        (DataType.FLOAT, [1], b"\x00\x00\x80\x3f"),
        (DataType.INT16, [-2], b"\xfe\xff"),
        (DataType.BOOL, [1, 0], b"\x01\x00"),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else "",
)
def test_values_have_the_bytes_of_the_specification(dtype: DataType, values: list[float], raw: bytes) -> None:
    array = literal(values, dtype)
    assert bytes(pack(array, dtype)) == raw
    assert unpack(raw, dtype, (len(values),)).tolist() == array.tolist()


def test_complex_elements_are_real_then_imaginary_part() -> None:
    raw = b"\x00\x00\x80\x3f\x00\x00\x00\x40"
    assert unpack(raw, DataType.COMPLEX64, (1,)).tolist() == [1 + 2j]
    assert bytes(pack(np.array([1 + 2j], np.complex64), DataType.COMPLEX64)) == raw


@pytest.mark.parametrize(
    ("dtype", "payload"),
    [
        (DataType.FLOAT, 0x7FA00001),
        (DataType.FLOAT, 0xFFC01234),
        (DataType.DOUBLE, 0x7FF40000_00000001),
        (DataType.COMPLEX64, 0x7FA00001_FFC01234),
        (DataType.COMPLEX128, 0x7FF40000_00000001_FFF80000_00001234),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else hex(x),
)
def test_nan_payloads_survive(dtype: DataType, payload: int) -> None:
    raw = payload.to_bytes(dtype.bits // 8, "little")
    array = unpack(raw, dtype, ())
    assert np.isnan(array)
    assert array.tobytes() == array_of([payload], dtype).tobytes() == wheel_array(raw, dtype, ()).tobytes()
    assert bytes(pack(array, dtype)) == raw


@pytest.mark.parametrize(
    ("dtype", "raw"), [(DataType.UINT4, b"\xf1"), (DataType.INT2, b"\xfd"), (DataType.FLOAT6E2M3, b"\xc1")]
)
def test_padding_bits_are_ignored(dtype: DataType, raw: bytes) -> None:
    array = unpack(raw, dtype, (1,))
    assert array.view(np.uint8).tolist() == [1]
    assert bytes(pack(array, dtype)) == b"\x01"


@pytest.mark.parametrize("dtype", SMALL, ids=lambda t: t.text)
def test_bits_above_an_element_do_not_leak_into_its_neighbors(dtype: DataType) -> None:
    dirty = np.array([0xFF, 0, 0xFF, 0], np.uint8).view(dtype.numpy)
    ones = (1 << dtype.bits) - 1
    assert bytes(pack(dirty, dtype)) == raw_of([ones, 0, ones, 0], dtype)


@pytest.mark.parametrize("dtype", WIDE, ids=lambda t: t.text)
def test_wide_types_are_views_both_ways(dtype: DataType) -> None:
    data = bytearray(raw_of(codes_of(dtype, 6), dtype))
    array = unpack(data, dtype, (2, 3))
    assert np.shares_memory(array, np.frombuffer(data, np.uint8))
    assert np.shares_memory(np.asarray(pack(array, dtype)), array)


@by_type
def test_unpacked_arrays_are_read_only(dtype: DataType) -> None:
    array = unpack(bytearray(nbytes(dtype, 3)), dtype, (3,))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[1]


def test_packed_bytes_are_read_only() -> None:
    assert pack(np.zeros(2, np.float32), DataType.FLOAT).readonly


def test_packing_leaves_the_array_writable() -> None:
    array = np.zeros(2, np.float32)
    pack(array, DataType.FLOAT)
    array[0] = 1


def test_a_view_may_start_at_an_odd_byte() -> None:
    data = memoryview(b"?\x01\x00\x00\x00\x02\x00\x00\x00")[1:]
    assert unpack(data, DataType.INT32, (2,)).tolist() == [1, 2]


def test_a_memory_map_is_viewed(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\x05\x00\xfb\xff")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        array = unpack(mapped, DataType.INT16, (2,))
        assert array.tolist() == [5, -5]
        assert not array.flags.owndata
        del array  # a map cannot be closed while it is viewed


def test_true_is_any_byte_but_zero() -> None:
    array = unpack(b"\x00\x01\x02\xff", DataType.BOOL, (4,))
    assert array.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_true_is_written_as_one() -> None:
    array = np.array([0, 2], np.uint8).view(np.bool_)
    assert bytes(pack(array, DataType.BOOL)) == b"\x00\x01"


@pytest.mark.parametrize("dtype", [DataType.INT4, DataType.INT16, DataType.FLOAT6E2M3], ids=lambda t: t.text)
def test_pack_writes_c_order_whatever_the_strides(dtype: DataType) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    expected = bytes(pack(array, dtype))
    assert bytes(pack(np.asfortranarray(array), dtype)) == expected
    assert bytes(pack(np.repeat(array, 2, axis=1)[:, ::2], dtype)) == expected


def test_pack_takes_big_endian_arrays() -> None:
    assert bytes(pack(np.array([1], ">i4"), DataType.INT32)) == b"\x01\x00\x00\x00"


@pytest.mark.parametrize(
    ("dtype", "raw", "reversed_parts"),
    [
        (DataType.INT32, b"\x01\x02\x03\x04", b"\x04\x03\x02\x01"),
        (DataType.BFLOAT16, b"\x01\x02\x03\x04", b"\x02\x01\x04\x03"),
        (DataType.COMPLEX64, b"\x01\x02\x03\x04\x05\x06\x07\x08", b"\x04\x03\x02\x01\x08\x07\x06\x05"),
        (DataType.UINT8, b"\x01\x02", b"\x01\x02"),
        (DataType.UINT4, b"\x21\x43", b"\x21\x43"),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else "",
)
def test_the_other_byte_order_swaps_each_part(
    dtype: DataType, raw: bytes, reversed_parts: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (len(raw) * 8 // dtype.bits,)
    native = unpack(reversed_parts, dtype, shape)
    monkeypatch.setattr(packing, "BIG_ENDIAN", not packing.BIG_ENDIAN)
    swapped = unpack(raw, dtype, shape)
    assert swapped.tobytes() == native.tobytes()
    assert bytes(pack(swapped, dtype)) == raw


@pytest.mark.parametrize(
    ("dtype", "shape", "count"),
    [
        (DataType.FLOAT, (2,), 8),
        (DataType.INT4, (3,), 2),
        (DataType.FLOAT6E3M2, (5,), 4),
        (DataType.BOOL, (), 1),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else "",
)
@pytest.mark.parametrize("off", [-1, 1])
def test_a_wrong_number_of_bytes_names_both(
    dtype: DataType, shape: tuple[int, ...], count: int, off: int
) -> None:
    with pytest.raises(ValueError, match=f"{dtype.name}.* must have {count} bytes; got {count + off};"):
        unpack(bytes(count + off), dtype, shape)


@by_type
def test_a_shape_without_end_takes_no_memory(dtype: DataType) -> None:
    count = (2**124 * dtype.bits) // 8
    with pytest.raises(ValueError, match=f"must have {count} bytes; got 1;"):
        unpack(b"?", dtype, (2**62, 2**62))


def test_a_negative_dim_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"dims\[1\] of \[0, -3\] must be a count of elements, 0 or more; got -3"
    ):
        unpack(b"", DataType.FLOAT, (0, -3))


def test_counts_are_exact_beyond_64_bits() -> None:
    assert element_count((2**40, 2**40)) == 2**80
    assert nbytes(DataType.FLOAT6E2M3, 2**80 + 1) == 6 * 2**77 + 1
    assert element_count(()) == 1


@pytest.mark.parametrize("dtype", [DataType.STRING, DataType.UNDEFINED], ids=lambda t: t.text)
def test_types_without_width_have_no_raw_data(dtype: DataType) -> None:
    for attempt in (lambda: unpack(b"", dtype, (0,)), lambda: pack(np.array(["a"], object), dtype)):
        with pytest.raises(ValueError, match=f"{dtype.name} has no fixed width"):
            attempt()


def test_pack_never_casts() -> None:
    with pytest.raises(TypeError, match="dtype float32 for FLOAT; got float64"):
        pack(np.zeros(1), DataType.FLOAT)
