"""Typed fields of tensors (`int32_data`, `float_data` etc.): conversion to and from arrays.

A field holds one number per element, with three exceptions: complex elements have two (real part, imaginary
part); elements of 4 and 2 bits are packed as in raw data, one byte per number; floats of fewer than 32 bits
are written as the unsigned integer that has the same bits.  This integer, or byte, is the "code" of an element.

Spec: onnx.proto, TensorProto.float_data, .int32_data, .int64_data, .double_data, .uint64_data, .string_data.
"""

from __future__ import annotations

from array import array as number_array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sardonyx._src.dtypes.packing import Array, element_count, flatten, nbytes, pack, truth, unpack
from sardonyx._src.dtypes.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray

Values: TypeAlias = "Sequence[int] | Sequence[float] | NDArray[np.generic]"

ENTRY_DTYPES: dict[str, np.dtype[Any]] = {
    "float_data": np.dtype(np.float32),
    "double_data": np.dtype(np.float64),
    "int32_data": np.dtype(np.int32),
    "int64_data": np.dtype(np.int64),
    "uint64_data": np.dtype(np.uint64),
}
# Type codes of the module `array` for the entries of the integer fields.
TYPECODE = {
    "int32_data": "i",
    "int64_data": "q",
    "uint64_data": "Q",
}

ELSEWHERE = {  # all other types are in int32_data
    DataType.FLOAT: "float_data",
    DataType.COMPLEX64: "float_data",
    DataType.STRING: "string_data",
    DataType.INT64: "int64_data",
    DataType.DOUBLE: "double_data",
    DataType.COMPLEX128: "double_data",
    DataType.UINT32: "uint64_data",
    DataType.UINT64: "uint64_data",
}


def field_of(dtype: DataType) -> str:
    """The name of TensorProto's typed field for an element type; ValueError for UNDEFINED."""
    if dtype is DataType.UNDEFINED:
        raise ValueError("UNDEFINED has no field; give the tensor an element type")
    return ELSEWHERE.get(dtype, "int32_data")


def from_field(field: str, values: Values, dtype: DataType, shape: Sequence[int]) -> Array:
    """The array of a typed field's numbers; read-only, and a view of `values` if they have the same representation.

    Raises ValueError if `field` is not the field for `dtype`, if the number of entries does not match `shape`, or
    if an entry is invalid for `dtype` (300 for INT8, 64 for a type of 6 bits, 2 for BOOL), and TypeError for a
    fraction in an integer field.  `string_data` is read by `strings`.
    """
    _require_field(field, dtype)
    expected = _entry_count(dtype, element_count(shape))
    if len(values) != expected:
        raise ValueError(
            f"{field} of {dtype.name}{list(shape)} must have {expected} entries; got {len(values)}; "
            "correct the dims or the data"
        )
    if field in TYPECODE:
        codes = _codes(field, values, dtype)
        if dtype.bits < 6:
            return unpack(codes.data, dtype, shape)
        flat = codes.view(dtype.numpy)
    else:
        flat = _floats(field, values).view(dtype.numpy)
    result = flat.reshape(shape)
    result.flags.writeable = False
    return result


def to_field(array: Array, dtype: DataType) -> tuple[str, Array]:
    """The typed field for an array, and its numbers in C order: [entries].

    They have the field's own type (float32, float64, int32, int64 or uint64), are read-only, and a
    view of `array` if it has the same representation.  Raises TypeError if the elements of `array` are not of
    `dtype`.  STRING is written by `string_data`.
    """
    field = field_of(dtype)
    _require_field(field, dtype)
    flat = flatten(array, dtype)
    if field not in TYPECODE:
        values = flat.view(ENTRY_DTYPES[field])
    elif dtype.bits < 6:
        values = np.asarray(pack(flat, dtype)).astype(ENTRY_DTYPES[field])
    else:
        values = _plain_codes(flat, dtype).astype(ENTRY_DTYPES[field], copy=False)
    values.flags.writeable = False
    return field, values


def _require_field(field: str, dtype: DataType) -> None:
    if field != field_of(dtype):
        raise ValueError(f"{field} cannot hold {dtype.name}; it belongs in {field_of(dtype)}")
    if dtype is DataType.STRING:
        raise ValueError(
            "string_data holds no numbers; use strings() to read it and string_data() to write it"
        )


def _entry_count(dtype: DataType, count: int) -> int:
    if dtype.is_complex:
        return 2 * count
    return nbytes(dtype, count) if dtype.bits < 6 else count


def _code_dtype(dtype: DataType) -> np.dtype[Any]:
    """The integer type of a code: it has the bits of one element, or of one byte of packed elements."""
    if dtype.is_integer and dtype.bits >= 8:
        return dtype.numpy
    return np.dtype(np.uint16 if dtype.bits == 16 else np.uint8)


def _limits(dtype: DataType) -> tuple[int, int]:
    """The least and the greatest entry that a field may hold for `dtype`."""
    if dtype is DataType.BOOL:
        return 0, 1
    if dtype.bits == 6:
        return 0, 0x3F
    info = np.iinfo(_code_dtype(dtype))
    return info.min, info.max


def _codes(field: str, values: Values, dtype: DataType) -> Array:
    """The entries of an integer field, each checked against the limits of `dtype`."""
    entries: Array = values if isinstance(values, np.ndarray) else _as_array(field, values)
    if entries.dtype.kind not in "iuO":
        raise TypeError(f"{field} must have entries of an integer dtype; got {entries.dtype}")
    code = _code_dtype(dtype)
    if dtype.is_integer and entries.dtype == code:
        return np.ascontiguousarray(entries)  # every entry fits
    low, high = _limits(dtype)
    if entries.size and (entries.min() < low or entries.max() > high):
        index = int(np.argmax((entries < low) | (entries > high)))
        raise ValueError(
            f"{field}[{index}] must be from {low} to {high} for {dtype.name}; got {entries[index]}"
        )
    return np.ascontiguousarray(entries, dtype=code)


def _as_array(field: str, values: Sequence[float]) -> Array:
    """Integers as an array of the field's type, or of objects if one of them is too large for the field.

    NumPy would truncate fractions and, before version 2, wrap numbers that are too large; the module `array` refuses both.
    """
    try:
        return np.asarray(number_array(TYPECODE[field], values))
    except OverflowError:
        return np.array(values, dtype=object)
    except TypeError as error:
        raise TypeError(f"{field} must hold integers: {error}") from None


def _floats(field: str, values: Values) -> Array:
    """The entries of a float field; ValueError for a finite number that would become infinite."""
    entries = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else np.float64)
    if entries.dtype.kind != "f":
        raise TypeError(f"{field} must have entries of a float dtype; got {entries.dtype}")
    if entries.dtype == ENTRY_DTYPES[field]:
        return np.ascontiguousarray(entries)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = entries.astype(ENTRY_DTYPES[field])
    lost = np.isinf(stored) & np.isfinite(entries)
    if lost.any():
        index = int(np.argmax(lost))
        limit = np.finfo(stored.dtype).max
        raise ValueError(f"{field}[{index}] must be at most {limit}; got {entries[index]}")
    return stored


def _plain_codes(flat: Array, dtype: DataType) -> Array:
    """The codes of elements of 6 bits and more, which are not packed."""
    if dtype is DataType.BOOL:
        return truth(flat.view(np.uint8)).view(np.uint8)
    codes = flat.view(_code_dtype(dtype))
    return codes & 0x3F if dtype.bits == 6 else codes
