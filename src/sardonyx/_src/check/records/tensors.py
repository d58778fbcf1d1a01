"""Element type, element count and data fields of a tensor record, without reading the data where possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto

TYPED_DATA_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
EXTERNAL = 1
LAST_ELEMENT_TYPE = int(max(DataType))
MAX_INT64 = (1 << 63) - 1


def dtype_of(tensor: TensorProto) -> DataType | None:
    """The element type; None if it is undefined or unknown."""
    number = tensor.data_type
    return DataType.from_number(number) if 0 < number <= LAST_ELEMENT_TYPE else None


def count_of(tensor: TensorProto) -> int | None:
    """The number of elements; None if a dimension is negative or the product exceeds 64 bits."""
    return None if any(n < 0 for n in tensor.dims) else product(tensor.dims)


def product(dims: Sequence[int]) -> int | None:
    """The product of sizes; None if it exceeds 64 bits."""
    if 0 in dims:
        return 0
    count = 1
    for n in dims:
        count *= n
        if count > MAX_INT64:
            return None
    return count


def is_external(tensor: TensorProto) -> bool:
    return tensor.data_location == EXTERNAL


def data_fields(tensor: TensorProto) -> list[str]:
    """The fields that hold data."""
    values = tensor.__dict__
    return [name for name in ("raw_data", *TYPED_DATA_FIELDS) if name in values and len(values[name])]


def entries_of(dtype: DataType, count: int) -> int:
    """The number of entries of the typed field that hold `count` elements."""
    if dtype.is_complex:
        return 2 * count
    packs = dtype is not DataType.STRING and dtype.bits in (2, 4)
    return dtypes.nbytes(dtype, count) if packs else count


def int64_elements(tensor: TensorProto) -> NDArray[np.int64] | None:
    """The elements of a non-empty INT64 tensor in its shape; None if there are none or their count is wrong."""
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


def is_default_value(tensor: TensorProto, count: int) -> NDArray[np.bool_] | None:
    """For each element, whether it is zero or the empty string; None if the data cannot be decoded."""
    fields = data_fields(tensor)
    dtype = dtype_of(tensor)
    if dtype is None or is_external(tensor) or len(fields) != 1:
        return None
    if fields == ["string_data"]:
        return np.array([not len(text) for text in tensor.string_data], bool)
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
        entries = np.asarray(getattr(tensor, fields[0]))
        return np.asarray(entries == 0) if len(entries) == count else None
    return None


def bytes_of(tensor: TensorProto) -> int | None:
    """The size of the elements as raw data; None for strings and invalid tensors."""
    dtype, count = dtype_of(tensor), count_of(tensor)
    return None if dtype in (None, DataType.STRING) or count is None else dtypes.nbytes(dtype, count)
