"""Tensor data as bytes: little-endian elements in C order; a string has its length before its bytes.

Spec: Open Inference Protocol v2, Binary Tensor Data Extension; the same bytes are `raw_input_contents` over gRPC.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from itertools import count

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.dtypes.strings import string_data
from sardonyx._src.ir import Array
from sardonyx._src.serve.protocol.codec_threads import yield_interpreter
from sardonyx._src.serve.protocol.datatypes import ELEMENT_TYPES
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import Allowance
from sardonyx._src.serve.protocol.tensor_shapes import check_count

LENGTH = struct.Struct("<I")
PIECE = 1 << 20  # bytes of a piece of numbers
PIECE_STRINGS = 1 << 10  # strings of a piece
STRING_BYTES = 64  # bytes of a Python string in an array, without its characters


def decode_tensor(
    name: str, datatype: str, shape: tuple[int, ...], data: memoryview, allowance: Allowance | None = None
) -> Array:
    """The tensor of an input: a view of `data` if they are aligned, else a copy.

    allowance: counts the bytes of copies and strings; None if they are few.
    Raises RequestFailure unless the data are exactly the elements of the shape.
    """
    element_type = ELEMENT_TYPES[datatype]
    if element_type is DataType.STRING:
        return decode_strings(name, shape, data, allowance)
    dtype = element_type.numpy
    if (expected := math.prod(shape) * dtype.itemsize) != len(data):
        why = f"must have {expected} bytes for shape {list(shape)} of {datatype}; got {len(data)}"
        raise invalid(name, why)
    if dtype == np.bool_ and len(data) and np.frombuffer(data, np.uint8).max() > 1:
        raise invalid(name, "must have bytes 0 and 1 for BOOL; got others")
    array = np.frombuffer(data, dtype).reshape(shape)
    if array.flags.aligned:
        return array
    if allowance is not None:
        allowance.add(len(data))
    return array.copy()


def decode_strings(name: str, shape: tuple[int, ...], data: memoryview, allowance: Allowance | None) -> Array:
    """A tensor of the datatype BYTES: each element consists of its length in 4 bytes, and its bytes."""
    if (expected := math.prod(shape)) * LENGTH.size > len(data):
        raise invalid(name, f"must have {expected} strings for shape {list(shape)}; got {len(data)} bytes")
    if allowance is not None:
        allowance.add(expected * STRING_BYTES + len(data))
    elements = list(iterate_strings(name, data))
    check_count(name, shape, len(elements))
    strings = np.empty(len(elements), object)
    strings[:] = elements
    return strings.reshape(shape)


def iterate_strings(name: str, data: memoryview) -> Iterator[str]:
    """The strings in `data`.  Bytes that are not UTF-8 become surrogate escapes, as in all string tensors of this package."""
    offset = 0
    for number in count():
        if offset == len(data):
            return
        if number % PIECE_STRINGS == 0:
            yield_interpreter()
        if offset + LENGTH.size > len(data):
            raise invalid(name, f"end within the length of a string, at byte {offset}")
        (length,) = LENGTH.unpack_from(data, offset)
        offset += LENGTH.size
        if length > len(data) - offset:
            raise invalid(name, f"have {len(data) - offset} bytes of a string of {length}, at byte {offset}")
        yield str(data[offset : offset + length], "utf-8", "surrogateescape")
        offset += length


def encode_pieces(tensor: Array) -> Iterator[memoryview]:
    """The bytes of an output in pieces; pieces of numbers have a megabyte and are views."""
    if tensor.dtype.kind in "OUT":
        flat = tensor.reshape(-1)
        for begin in range(0, flat.size, PIECE_STRINGS):
            items = string_data(flat[begin : begin + PIECE_STRINGS])
            yield memoryview(b"".join(LENGTH.pack(len(item)) + item for item in items))
        return
    data = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8).data
    yield from (data[begin : begin + PIECE] for begin in range(0, len(data), PIECE))


def invalid(name: str, why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, f"binary data of input {name!r} {why}")
