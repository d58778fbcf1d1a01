"""What a tensor's record says of its data, without reading them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto

TYPED = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
EXTERNAL = 1
LAST_TYPE = int(max(DataType))
LARGEST = (1 << 63) - 1


def dtype_of(tensor: TensorProto) -> DataType | None:
    """The element type; None where it is undefined or none that exists."""
    number = tensor.data_type
    return DataType.numbered(number) if 0 < number <= LAST_TYPE else None


def count_of(tensor: TensorProto) -> int | None:
    """The number of elements; None where the dimensions make no sense."""
    return None if any(n < 0 for n in tensor.dims) else product(tensor.dims)


def product(dims: Sequence[int]) -> int | None:
    """The product of sizes; None where it passes 64 bits, which may be by far."""
    if 0 in dims:
        return 0
    count = 1
    for n in dims:
        count *= n
        if count > LARGEST:
            return None
    return count


def is_external(tensor: TensorProto) -> bool:
    return tensor.data_location == EXTERNAL


def data_fields(tensor: TensorProto) -> list[str]:
    """The fields that hold data."""
    values = tensor.__dict__
    return [name for name in ("raw_data", *TYPED) if name in values and len(values[name])]


def entries_of(dtype: DataType, count: int) -> int:
    """How many entries of its typed field `count` elements take."""
    if dtype.is_complex:
        return 2 * count
    packs = dtype is not DataType.STRING and dtype.bits in (2, 4)
    return dtypes.nbytes(dtype, count) if packs else count


def int64_elements(tensor: TensorProto) -> NDArray[np.int64] | None:
    """The elements of an INT64 tensor that has some, as many as its dimensions say, in its shape; else None."""
    count = count_of(tensor)
    if tensor.data_type != DataType.INT64 or not count or is_external(tensor):
        return None
    fields = data_fields(tensor)
    if fields == ["raw_data"] and len(tensor.raw_data) == 8 * count:
        flat = np.frombuffer(tensor.raw_data, "<i8")
    elif fields == ["int64_data"] and len(tensor.int64_data) == count:
        flat = np.asarray(tensor.int64_data, np.int64)
    else:
        return None
    return flat.reshape(tensor.dims)


def is_default(tensor: TensorProto, count: int) -> NDArray[np.bool_] | None:
    """For each element, whether it is zero or the empty string; None where the data are not at hand."""
    fields = data_fields(tensor)
    dtype = dtype_of(tensor)
    if dtype is None or is_external(tensor) or len(fields) != 1:
        return None
    if fields == ["string_data"]:
        return np.array([not len(one) for one in tensor.string_data], bool)
    if dtype is DataType.STRING:
        return None
    if fields == ["raw_data"] and dtype.bits % 8 == 0 and len(tensor.raw_data) == count * dtype.bits // 8:
        width = dtype.bits // 8
        values = np.frombuffer(tensor.raw_data, np.uint8).reshape(count, width)
        if dtype.is_float or dtype.is_complex:  # -0.0 is zero, too
            return np.asarray(np.frombuffer(tensor.raw_data, dtype.numpy.newbyteorder("<")) == 0)
        return np.asarray(~values.any(axis=1))
    if (
        fields[0] in ("float_data", "double_data", "int64_data", "int32_data", "uint64_data")
        and not dtype.is_complex
    ):
        found = np.asarray(getattr(tensor, fields[0]))
        return np.asarray(found == 0) if len(found) == count else None
    return None


def bytes_of(tensor: TensorProto) -> int | None:
    """How many bytes the elements take as raw data; None where that cannot be told."""
    dtype, count = dtype_of(tensor), count_of(tensor)
    return None if dtype in (None, DataType.STRING) or count is None else dtypes.nbytes(dtype, count)
