"""Conversion of raw data, the bytes of `raw_data` and of external files, to arrays and back.

Elements are little-endian and of fixed width, without gaps.  Elements of fewer than 8 bits form one stream of
bits, lowest bits of the first byte first: two elements of 4 bits per byte, four of 2 bits per byte, four of
6 bits in three bytes.  Padding bits at the end are written as 0 and ignored when read.

Spec: onnx.proto, TensorProto.raw_data.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sardonyx._src.dtypes.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]  # the element type is known only at run time
Buffer: TypeAlias = bytes | bytearray | memoryview | mmap.mmap  # for an array, pass its `.data`

BIG_ENDIAN = sys.byteorder == "big"


def element_count(shape: Sequence[int]) -> int:
    """The number of elements of an array of a shape, exact for any dims; raises ValueError for a negative dim."""
    for axis, dim in enumerate(shape):
        if dim < 0:
            raise ValueError(
                f"dims[{axis}] of {list(shape)} must be a count of elements, 0 or more; got {dim}"
            )
    return math.prod(shape)


def nbytes(dtype: DataType, count: int) -> int:
    """The number of bytes of raw data of `count` elements, exact for any count.

    Raises ValueError for STRING and UNDEFINED, which have no fixed width.
    """
    return (count * dtype.bits + 7) // 8


def unpack(buffer: Buffer, dtype: DataType, shape: Sequence[int]) -> Array:
    """The array of raw data; it is read-only.

    For types of 8 bits and more it is a view of `buffer`, at any alignment.  Smaller elements are unpacked into new
    memory, and so are BOOL elements if their bytes are not all 0 or 1; any other byte counts as true.
    Raises ValueError for STRING and, before memory is allocated, for a buffer of another size than `shape` requires.
    """
    count = element_count(shape)
    size, expected = memoryview(buffer).nbytes, nbytes(dtype, count)
    if size != expected:
        raise ValueError(
            f"raw data of {dtype.name}{list(shape)} must have {expected} bytes; got {size}; "
            "correct the dims or the data"
        )
    if dtype.bits < 8:
        data = np.ndarray((size,), np.uint8, buffer=buffer)
        array = _unpack_codes(data, dtype.bits, count).view(dtype.numpy).reshape(shape)
    elif dtype is DataType.BOOL:
        array = truth(np.ndarray(shape, np.uint8, buffer=buffer))
    else:
        array = _to_native(np.ndarray(shape, dtype.numpy, buffer=buffer))
    array.flags.writeable = False
    return array


def pack(array: Array, dtype: DataType) -> memoryview:
    """The raw data of an array in C order, as read-only bytes: a view of `array` if that is stored in this way.

    Raises TypeError if the elements of `array` are not of `dtype`, and ValueError for STRING, which has no raw data.
    """
    bits = dtype.bits
    flat = flatten(array, dtype)
    if bits < 8:
        packed = _pack_codes(flat.view(np.uint8), bits)
    elif dtype is DataType.BOOL:
        packed = truth(flat.view(np.uint8)).view(np.uint8)
    else:
        packed = _to_native(flat).view(np.uint8)
    return packed.data.toreadonly()


def flatten(array: Array, dtype: DataType) -> Array:
    """The elements in C order, contiguous and in native byte order: [count], a view if possible.

    Raises TypeError if they are not of `dtype`.
    """
    if array.dtype != dtype.numpy and DataType.of(array.dtype) is not dtype:
        raise TypeError(
            f"the array must have dtype {dtype.numpy} for {dtype.name}; got {array.dtype}; cast it first"
        )
    return np.ascontiguousarray(array).reshape(-1).astype(dtype.numpy, copy=False)


def truth(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Bytes as bool, a view if all are 0 or 1: NumPy computes wrong results with any other byte in a bool."""
    has_other_bytes = data.max(initial=0) > 1
    return data.astype(np.bool_) if has_other_bytes else data.view(np.bool_)


def _to_native(array: Array) -> Array:
    """Converts little-endian to native byte order, or back; complex elements part by part."""
    return array.byteswap() if BIG_ENDIAN else array


def _unpack_codes(data: NDArray[np.uint8], bits: int, count: int) -> NDArray[np.uint8]:
    """The elements, each in the low bits of a byte of its own, the other bits 0: [count]."""
    if bits == 6:
        return _unpack_6bit(data)[:count]
    per_byte = 8 // bits
    codes = np.empty((data.size, per_byte), np.uint8)
    for position in range(per_byte):
        np.right_shift(data, position * bits, out=codes[:, position])
    codes &= (1 << bits) - 1
    elements: NDArray[np.uint8] = codes.reshape(-1)[:count]
    return elements


def _unpack_6bit(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The elements of all groups of four, three bytes each; the last group is filled up with zeros."""
    groups = -(-data.size // 3)
    padded = np.zeros(groups * 3, np.uint8)
    padded[: data.size] = data
    b0, b1, b2 = padded.reshape(groups, 3).T
    codes = np.empty((groups, 4), np.uint8)
    codes[:, 0] = b0
    codes[:, 1] = b0 >> 6 | b1 << 2
    codes[:, 2] = b1 >> 4 | b2 << 4
    codes[:, 3] = b2 >> 2
    codes &= 0x3F
    return codes.reshape(-1)


def _pack_codes(codes: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """The stream of the low `bits` of each byte: [ceil(count * bits / 8)]."""
    per_group = 4 if bits == 6 else 8 // bits
    groups = -(-codes.size // per_group)
    padded = np.zeros(groups * per_group, np.uint8)
    np.bitwise_and(codes, (1 << bits) - 1, out=padded[: codes.size])
    positions = padded.reshape(groups, per_group).T
    if bits == 6:
        return _pack_6bit(positions)[: -(-codes.size * 6 // 8)]
    packed: NDArray[np.uint8] = positions[0].copy()
    for position in range(1, per_group):
        packed |= positions[position] << (position * bits)
    return packed


def _pack_6bit(positions: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of groups of four elements: [3 * groups].  positions: [4, groups], row i has element i of each group."""
    c0, c1, c2, c3 = positions
    packed = np.empty((c0.size, 3), np.uint8)
    packed[:, 0] = c0 | c1 << 6
    packed[:, 1] = c1 >> 2 | c2 << 4
    packed[:, 2] = c2 >> 4 | c3 << 2
    return packed.reshape(-1)
